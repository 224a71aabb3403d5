"""Spools: standard input and one-shot streams copied to a private temporary file for repeated passes."""

from __future__ import annotations

import io
import shutil
import sys
import zlib
from typing import IO, Any

import pyarrow as pa

from headcount._internal.scratch_folders import ScratchFolder
from headcount.errors import SurroundingsError, UsageError
from headcount.events.sources.files.formats import TextOptions, reading


class Spool:
    """A private temporary folder with one file; it goes when nothing refers to it, or when the program ends."""

    def __init__(self, shown: str) -> None:
        try:
            scratch = ScratchFolder()
        except OSError as error:
            raise SurroundingsError(
                f"{shown} cannot be kept for a second pass ({error})", remedy="point TMPDIR to a folder with room"
            ) from error
        self.shown, self._scratch = shown, scratch
        self.folder, self.delete = scratch.path, scratch.delete

    def failed(self, error: OSError) -> SurroundingsError:
        """Delete the folder and return the error to raise."""
        self.delete()
        return SurroundingsError(
            f"{self.shown} cannot be kept for a second pass ({error.strerror or error})",
            remedy="free some room, or point TMPDIR to a folder that has it",
        )


def spool_input(text: TextOptions) -> tuple[Spool, str]:
    """Copy standard input to a spool; return the spool and the path.

    Its first bytes say whether it is compressed, Parquet or Arrow, and else it is delimited text. Where the first
    line is a row already (JSON lines, text without a header) only the flags say so: no row has a say in how others
    are read.
    """
    if sys.stdin is None:
        raise UsageError("'-' stands for standard input, but there is none", remedy="give a file")
    spool = Spool("standard input")
    raw = spool.folder / "input"
    try:
        with raw.open("wb") as out:
            shutil.copyfileobj(_bytes_in(sys.stdin), out, 1 << 20)
        with raw.open("rb") as file:
            start = file.read(1 << 12)
        path = raw.rename(raw.with_name("input" + (_of_rows(text) or _ending(start))))
    except OSError as error:
        raise spool.failed(error) from error
    return spool, str(path)


def spool_stream(events: Any) -> tuple[Spool, str]:
    """Write an Arrow stream to a spool. Return the spool and the path."""
    spool = Spool("the Arrow stream")
    path = str(spool.folder / "stream.arrow")
    with reading(spool.shown):
        reader = pa.RecordBatchReader.from_stream(events)
    try:
        with pa.OSFile(path, "wb") as out, pa.ipc.new_stream(out, reader.schema) as writer:
            while True:
                try:
                    with reading(spool.shown):
                        batch = reader.read_next_batch()
                except StopIteration:
                    break
                writer.write_batch(batch)
    except OSError as error:
        raise spool.failed(error) from error
    return spool, path


def _bytes_in(stdin: Any) -> IO[bytes]:
    buffer: IO[bytes] | None = getattr(stdin, "buffer", None)
    return io.BytesIO(stdin.read().encode()) if buffer is None else buffer


def _of_rows(text: TextOptions) -> str | None:
    """Return the file ending where the flags say that the first line is a row."""
    return ".jsonl" if text.format == "jsonl" else None if text.header else ".csv"


def _ending(start: bytes) -> str:
    """Return the file ending that the first bytes call for.

    >>> _ending(b"PAR1"), _ending(b"user,item")
    ('.parquet', '.csv')
    """
    if start.startswith(b"\x1f\x8b"):
        try:
            return _ending(zlib.decompressobj(wbits=31).decompress(start)) + ".gz"
        except zlib.error:
            return ".csv.gz"
    if start.startswith(b"PAR1"):
        return ".parquet"
    return ".arrow" if start.startswith((b"ARROW1", b"\xff\xff\xff\xff")) else ".csv"
