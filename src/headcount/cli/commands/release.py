"""``headcount release``: write item counts and item-context counts of an event log to a release folder."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headcount.cli import options
from headcount.cli.charged import charged_options, show, spend
from headcount.cli.commands.top import nothing_selected, show_totals
from headcount.methods.counts import FAMILY
from headcount.methods.registry import table
from headcount.releases.formatting import some

if TYPE_CHECKING:
    from headcount.releases.release import Release


@click.command(
    "release",
    short_help=FAMILY.short_help,
    epilog=options.example(
        "headcount release visits.parquet --user user --item venue \\",
        "  --context weekday:time --items venues.csv \\",
        "  --epsilon 1 --out friday/",
    ),
)
@charged_options(FAMILY)
def command(**flags: Any) -> None:
    """Release item counts and item-by-context counts under user-level differential privacy.

    EVENTS are Parquet, CSV, JSON lines or Arrow files, globs, folders, URIs, - for standard input, or a packed
    store.
    """
    spent = spend(FAMILY, flags)
    if spent is None:
        return
    release = spent.release
    held = {name: rows for name, rows in release.tables.items() if not table(name).beside}
    beside = "".join(f", and {table(name).beside}" for name in release.tables if table(name).beside)
    summary = " and ".join(some(rows.num_rows, table(name).noun) for name, rows in held.items())
    nothing = not any(rows.num_rows for rows in held.values())
    has_totals = "totals" in release.tables and not nothing
    above: Callable[[], None] | None = partial(show_totals, release) if has_totals else None
    words = nothing_selected(release) if nothing else f"{summary}, of {release.bounded}{beside}"
    show(spent, flags, words, *_next(release, spent.folder, nothing=nothing), above=above)


def _next(release: Release, target: Path, *, nothing: bool) -> list[list[str]]:
    """Return commands to go on with."""
    folder = str(target)
    best = ["headcount", "top", folder]
    if "totals" in release.tables:
        best = ["headcount", "export", folder, "--to", f"{target.name or 'totals'}-sheets"]
    elif "items" not in release.tables:
        best += ["--context", (release.contexts or ("",))[0]]
    page = ["headcount", "report", folder, "--to", f"{target.name or 'release'}.html"]
    explain = ["headcount", "explain", folder]
    return [explain] if nothing else [best, explain, page]
