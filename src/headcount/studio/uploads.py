"""Uploads: streamed to disk, bounded in size, removed if incomplete."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from headcount.errors import CallerError, SurroundingsError, UsageError
from headcount.studio.security.secrets import fresh_id
from headcount.studio.settings import Settings

FOLDER = "uploads"
_PART = ".part"
ALLOWED_EXTENSIONS = (
    ".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".parquet", ".jsonl", ".ndjson", ".jsonl.gz",
    ".arrow", ".feather", ".db", ".sqlite", ".duckdb", ".toml",
)  # fmt: skip
"""What may be sent: logs, catalogues, databases in a file, and bins."""
_SPARE = 512 * 1024**2
"""Bytes that stay free on the disk."""
_LONGEST = 100
_STEP = 1024**2


class TooLargeError(CallerError):
    """A file that is larger than may be sent."""


class Upload:
    """A file that comes in: written aside, and put into its place when it is whole.

    Used as a context, it is removed unless :meth:`finish` was reached.
    """

    def __init__(self, settings: Settings, name: str, length: int | None = None) -> None:
        self.name = checked_name(name)
        self._most = settings.limits.upload_bytes
        self._settings = settings
        self._written = 0
        if length is not None:
            self._check(length)
        self._folder = settings.files / FOLDER / fresh_id()
        self._aside = self._folder / _PART
        try:
            self._folder.mkdir(mode=0o700, parents=True)
            self._file = self._aside.open("xb")
        except OSError as error:
            raise _cannot_keep() from error

    def write(self, part: bytes) -> None:
        """Take in the next part."""
        self._check(self._written + len(part))
        try:
            self._file.write(part)
        except OSError as error:
            self.cancel()
            raise _cannot_keep() from error
        self._written += len(part)

    def finish(self) -> str:
        """Put the file into its place, and return its name among the files of the studio."""
        if not self._written:
            self.cancel()
            raise UsageError("the file is empty", remedy="choose another one")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._aside.rename(self._folder / self.name)
        return f"{FOLDER}/{self._folder.name}/{self.name}"

    def cancel(self) -> None:
        """Remove what came so far."""
        self._file.close()
        if self._aside.exists():
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self.cancel()

    def _check(self, size: int) -> None:
        if size > self._most:
            self._give_up()
            raise TooLargeError(
                f"the file is larger than {self._most // 1024**2:,} MB, which is the most that may be sent",
                remedy="let whoever runs the studio put it into its folder",
            )
        if shutil.disk_usage(self._settings.files).free - (size - self._written) < _SPARE:
            self._give_up()
            raise SurroundingsError("there is no room left for this file", remedy="make room on the server's disk")

    def _give_up(self) -> None:
        if hasattr(self, "_file"):
            self.cancel()


def _cannot_keep() -> SurroundingsError:
    return SurroundingsError("the file cannot be kept", remedy="see whether the disk is full")


async def receive(settings: Settings, parts: AsyncIterator[bytes], name: str, length: int | None = None) -> str:
    """Keep what a request streams, such as ``request.stream()``; what does not come whole is removed."""
    with Upload(settings, name, length) as upload:
        async for part in parts:
            upload.write(part)
        return upload.finish()


def keep(settings: Settings, file: BinaryIO, name: str, length: int | None = None) -> str:
    """Keep a file that was taken out of a form."""
    with Upload(settings, name, length) as upload:
        while part := file.read(_STEP):
            upload.write(part)
        return upload.finish()


def remove_partial_uploads(settings: Settings) -> None:
    """Remove what came in while the server ended."""
    for part in settings.files.glob(f"{FOLDER}/*/{_PART}"):
        shutil.rmtree(part.parent, ignore_errors=True)


def list_files(settings: Settings) -> list[str]:
    """Return the names of all files of the studio that something can be made of, without those that come in."""
    root = settings.files
    paths = (path.relative_to(root) for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(path.as_posix() for path in paths if not any(part.startswith(".") for part in path.parts))


def checked_name(name: str) -> str:
    """Return the name that a file is kept by: the last part of what was sent, of plain characters.

    >>> checked_name("My visits (1).csv"), checked_name("../../etc/passwd.csv")
    ('My_visits_1.csv', 'passwd.csv')
    """
    last = re.split(r"[\\/]", name)[-1]
    plain = re.sub(r"[^\w.-]+", "_", last, flags=re.ASCII).strip("._-")
    plain = re.sub(r"_+(?=\.)", "", plain)[-_LONGEST:]
    if not plain.lower().endswith(ALLOWED_EXTENSIONS) or not Path(plain).stem:
        raise UsageError(
            "files of this kind are not taken",
            given=last[:80],
            remedy=f"send one that ends in {', '.join(ALLOWED_EXTENSIONS)}",
        )
    return plain
