"""``release.report`` and ``release.export``: write a release as a web page or as spreadsheets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from headcount.errors import UsageError, param
from headcount.releases.release import Release
from headcount.reports.spreadsheets import write_sheets


def report(release: Release, to: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write a release as one self-contained web page, and return its path.

    Parameters:
        release: What to write.
        to: The page to write, such as "friday.html".
        force: Replace a file that is there already.
    """
    if Path(to).is_file() and not force:
        raise UsageError.taken(to, param.to)
    from headcount.reports.release import write_release_page

    return write_release_page(release, to)


def export(
    release: Release,
    to: str | os.PathLike[str],
    *,
    format: Literal["csv", "xlsx"] | None = None,  # noqa: A002  (the name of the flag)
    force: bool = False,
) -> list[Path]:
    """Write the tables of a release, with what they promise, as CSV or Excel files, and return their paths.

    Parameters:
        release: What to write.
        to: The folder to write to, or a workbook such as "friday.xlsx".
        format: Which files: "csv", one for each table, or "xlsx", one workbook. By default the ending decides.
        force: Replace files that are there already.
    """
    if format not in (None, "csv", "xlsx"):
        raise UsageError(f"{param.format} must be csv or xlsx", given=format)
    return write_sheets(release, Path(to), format, force=force)
