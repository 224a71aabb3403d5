"""Files of a release folder: names, digest, and the atomic rename into place.

The Release value and its reading and writing are in ``release``.

A folder is complete when ``release.json`` is in it: everything is written aside first and renamed into
place, so an interrupted run leaves nothing that looks like a release.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from headcount.errors import DataError, UsageError, param

TABLE = re.compile(r"(model/)?[a-z][a-z_]*")
"""How tables are named: those that make up a model are in a folder of their own."""


@dataclass(frozen=True)
class PublishedFolder:
    """A folder that was published before for the same request, as the ledger knows it."""

    folder: Path
    digest: str

    def copy_to(self, folder: Path) -> None:
        """Copy the release, and see that the copy is the one that was published."""
        for file_name in files_of(self.folder):
            (folder / file_name).parent.mkdir(exist_ok=True)
            shutil.copyfile(self.folder / file_name, folder / file_name)
        if folder_digest(folder) != self.digest:
            raise DataError(f"{self.folder} has changed since it was published", remedy="restore it")


def folder_digest(folder: Path) -> str:
    """Return the SHA-256 of a release folder: of its description and its tables; other files do not count."""
    return digest_of((name, (folder / name).read_bytes()) for name in files_of(folder))


def digest_of(files: Iterable[tuple[str, bytes]]) -> str:
    """Return the digest of a release folder from the names and contents of its files, in their order."""
    whole = hashlib.sha256()
    for name, content in files:
        whole.update(f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return whole.hexdigest()


def files_of(folder: Path) -> list[str]:
    """Return the names of the files that make up a release: its description and its tables."""
    try:
        tables = json.loads((folder / "release.json").read_text(encoding="utf-8"))["tables"]
        return ["release.json", *sorted(f"{table}.parquet" for table in tables if TABLE.fullmatch(table))]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{folder} is damaged ({error})", remedy="release again, or restore it") from error


def refuse_existing(target: Path, *, force: bool) -> None:
    """Refuse to overwrite, before any work is done; ``force`` replaces releases and empty folders only."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not force:
        raise UsageError.taken(target, param.out)
    if not (target / "release.json").is_file():
        raise UsageError(
            f"{target} exists and is not a release, so {param.force(True)} does not replace it",
            remedy=f"choose another {param.out}",
        )


def refuse_special(path: str | os.PathLike[str], given: str | None = None) -> None:
    """Refuse a pipe, a socket or a device where a file is needed: opening it may wait forever.

    The error names what the caller gave: a listed file may be named after a user.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # a missing file is refused where it is opened
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise UsageError(
            f"{path if given is None else given} is a pipe, a socket or a device",
            remedy="give a regular file; events may also come from standard input, as '-'",
        )


def move_into_place(aside: Path, target: Path) -> None:
    """Put a finished folder where it belongs, in place of what is there; whatever happens, one of both stays."""
    if not target.exists():
        aside.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
    try:
        target.rename(old / "previous")
        aside.rename(target)
    except BaseException:  # an interrupt, too, must not cost the previous release
        if not target.exists():
            (old / "previous").rename(target)
        raise
    finally:
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
