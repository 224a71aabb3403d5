"""Spools: standard input, one-shot streams and files of the web, copied to a private temporary folder.

A web server neither lists its files nor keeps them, so one copy serves all passes. What an address says in front
of ``@`` is sent as a password to that server alone, never to where it redirects.
"""

from __future__ import annotations

import base64
import io
import shutil
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

import pyarrow as pa

from headcount._internal.files import ScratchFolder
from headcount.errors import DataError, HeadcountError, SurroundingsError, UsageError
from headcount.events.sources.files.formats import TextOptions, reading
from headcount.events.sources.files.paths import redact, scrub

if TYPE_CHECKING:
    from http.client import HTTPResponse


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
            stdin: Any = sys.stdin
            content = stdin.buffer if hasattr(stdin, "buffer") else io.BytesIO(stdin.read().encode())
            shutil.copyfileobj(content, out, 1 << 20)
        with raw.open("rb") as file:
            start = file.read(1 << 12)
        of_rows = ".jsonl" if text.format == "jsonl" else None if text.header else ".csv"
        path = raw.rename(raw.with_name("input" + (of_rows or _ending(start))))
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


_SILENCE = 60  # seconds without a byte after which a server is taken for gone


def fetched(addresses: Sequence[str]) -> tuple[Spool, list[str]]:
    """Copy files from the web; return what keeps them, and their paths."""
    for place, address in enumerate(addresses):
        if "*" in redact(address):
            raise UsageError(
                f"{redact(address)} is a pattern", remedy="a web server lists no files: name each of them"
            )
        if address in addresses[:place]:
            raise UsageError(f"{redact(address)} is given twice", remedy="name every file once")
    spool = Spool(redact(addresses[0]))
    paths = [spool.folder / str(number) / _path(address) for number, address in enumerate(addresses)]
    for address, path in zip(addresses, paths, strict=True):
        try:
            _fetch(address, path)
        except HeadcountError:
            spool.delete()
            raise
    return spool, [str(path) for path in paths]


def _path(address: str) -> Path:
    """Return the path of an address, with its ``key=value`` folders, as one that lies below another."""
    parts = [unquote(part) for part in urlsplit(redact(address)).path.split("/")]
    return Path(*(part.replace("/", "_") for part in parts if part not in ("", ".", "..")))


def _fetch(address: str, path: Path) -> None:
    """Copy one file; a copy that is shorter than announced is no copy."""
    import urllib.error
    from http.client import HTTPException

    try:
        with _opened(address) as answer:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as out:
                shutil.copyfileobj(answer, out, 1 << 20)
                length = answer.headers.get("Content-Length")
                if length is not None and out.tell() != int(length):
                    raise OSError(f"it ended after {out.tell():,} of {int(length):,} bytes")
        return
    except urllib.error.HTTPError as error:
        missing = error.code in (404, 410)
        reasons = {401: "it asks for a password", 403: "it refuses to hand it over"}
        reason = reasons.get(error.code, f"the server says {error.code}")
        kind = DataError if missing or error.code in reasons else SurroundingsError
        fetch_error = kind(
            f"{redact(address)} {'does not exist' if missing else f'cannot be read ({reason})'}",
            remedy="check the address",
        )
    except (OSError, HTTPException, ValueError) as error:
        fetch_error = SurroundingsError(
            f"{redact(address)} cannot be fetched ({scrub(str(error), address)})", remedy="try again"
        )
    raise fetch_error from None


def _opened(address: str) -> HTTPResponse:
    import urllib.request

    parts = urlsplit(address)
    credentials, at, place = parts.netloc.rpartition("@")
    request = urllib.request.Request(  # noqa: S310 - the scheme was looked at
        urlunsplit(parts._replace(netloc=place, fragment="")), headers={"User-Agent": "headcount"}
    )
    if at:
        secret = base64.b64encode(unquote(credentials).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {secret}")
    answer: HTTPResponse = urllib.request.urlopen(request, timeout=_SILENCE)  # noqa: S310
    return answer
