"""Text files as blocks of whole UTF-8 lines: decompression, decoding and line splitting.

Every line is decoded by itself, so no byte of one can change how another is read. Bytes that the encoding does not
know become bytes that are no UTF-8, so that the value they stand in is missing and nothing else. A line longer
than 16 MiB is left out.

Where each byte stands for a letter, Headcount decodes first and then looks for line ends: in EBCDIC they are other
bytes than in ASCII. UTF-16 and UTF-32 have units of two and four bytes. A program that writes such text writes
whole units, so no row shifts the next, and a lone surrogate is one unknown unit. Other encodings use the bytes of
line ends for nothing else, so a line is cut first and each decoder starts afresh.
"""

from __future__ import annotations

import codecs
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
from numpy.typing import NDArray

BLOCK_BYTES = 1 << 23
LONGEST_LINE = 1 << 24
_MARK = "\ufeff".encode()  # of the byte order, which may stand at the start of a line
_UNKNOWN = "headcount-unknown"
NEWLINE, ANY_END = (b"\n",), (b"\n", b"\r")
_THREADS = max(1, min(4, os.cpu_count() or 1))

_scratch = threading.local()

T = TypeVar("T")


def _no_text(error: UnicodeError) -> tuple[str, int]:
    """Stand in for bytes that are no text: half a surrogate pair, which no UTF-8 holds."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\udcff", error.end


codecs.register_error(_UNKNOWN, _no_text)


def blocks_of(
    filesystem: pafs.FileSystem, path: str, encoding: str = "utf-8", ends: Sequence[bytes] = ANY_END
) -> Iterator[bytes]:
    """Read a file as blocks of whole lines."""
    yield from _whole_lines(_decoded(_pieces(filesystem, path), encoding, ends), ends)


def first_line(filesystem: pafs.FileSystem, path: str, encoding: str) -> bytes:
    """Return the first line that is not blank, without its end; nothing if there is none."""
    for block in blocks_of(filesystem, path, encoding):
        for line in block.splitlines():
            if line.removeprefix(_MARK):
                return line.removeprefix(_MARK)
    return b""


def parse_blocks(blocks: Iterator[bytes], parse: Callable[[bytes], T]) -> Iterator[T]:
    """Parse blocks on several threads, in their order."""
    with ThreadPoolExecutor(_THREADS) as pool:
        pending: deque[Future[T]] = deque()
        try:
            for block in blocks:
                pending.append(pool.submit(parse, block))
                if len(pending) > _THREADS:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def room_for(size: int, columns: int, more: int = 0) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return where a kernel writes texts and their ends: for a thread to use again and again.

    Memory that is never written to is never taken.
    """
    rows = size // 2 + 2  # a row is a byte and its line's end at least
    held: tuple[NDArray[np.uint8], NDArray[np.int64]] | None = getattr(_scratch, "held", None)
    if held is None or held[0].shape[0] != columns or held[0].shape[1] < size + more or held[1].shape[1] < rows:
        texts, ends = (columns, size + size // 4 + more), (columns, rows + rows // 4)
        held = _scratch.held = np.empty(texts, dtype=np.uint8), np.empty(ends, dtype=np.int64)
    held[1][:, 0] = 0
    return held


def text_columns(
    texts: NDArray[np.uint8], ends: NDArray[np.int64], there: NDArray[np.bool_], names: list[str]
) -> pa.RecordBatch:
    """Make text columns of what a kernel wrote: bytes, where each row's end, and which rows have one."""
    rows = there.shape[1]
    arrays = []
    for column in range(len(names)):
        valid = there[column]
        bitmap = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
        buffers = [bitmap, _kept(ends[column, : rows + 1]), _kept(texts[column, : ends[column, rows]])]
        arrays.append(pa.Array.from_buffers(pa.large_string(), rows, buffers))
    return pa.RecordBatch.from_arrays(arrays, names=names)


def _kept(values: NDArray[Any]) -> pa.Buffer:
    """Copy an array into Arrow's own memory, which is used again."""
    buffer = pa.allocate_buffer(values.nbytes)
    np.frombuffer(buffer, dtype=values.dtype)[:] = values
    return buffer


def _pieces(filesystem: pafs.FileSystem, path: str) -> Iterator[bytes]:
    with filesystem.open_input_stream(path, compression="detect") as stream:
        while piece := stream.read(BLOCK_BYTES):
            yield piece


def unit_of(encoding: str) -> Literal["byte", "unit", "line"] | None:
    """Return the unit that Headcount decodes in an encoding; None if rows would depend on each other.

    ISO-2022-KR declares its letters once for all lines. Some of Python's codecs stop at a text they cannot decode.

    >>> unit_of("cp037"), unit_of("utf-16"), unit_of("shift_jis"), unit_of("iso2022_kr"), unit_of("idna")
    ('byte', 'unit', 'line', None, None)
    """
    codec = codecs.lookup(encoding)
    if codec.name.startswith(("utf-16", "utf-32")):
        return "unit"
    home = getattr(codec.incrementaldecoder, "__module__", "")
    module = sys.modules[home] if home.startswith("encodings.") else None
    if (
        codec.name in ("ascii", "iso8859-1")
        or hasattr(module, "decoding_table")
        or hasattr(module, "decoding_map")
    ):
        return "byte"
    by_line = codec.name in ("utf-8", "utf-8-sig", "utf-7") or hasattr(module, "mbc")
    return "line" if by_line and codec.name != "iso2022_kr" else None


def _decoded(pieces: Iterator[bytes], encoding: str, ends: Sequence[bytes]) -> Iterator[bytes]:
    name, unit = codecs.lookup(encoding).name, unit_of(encoding)
    if name in ("utf-8", "utf-8-sig"):
        yield from pieces
    elif unit == "unit":
        decoder = codecs.getincrementaldecoder(name)(errors=_UNKNOWN)
        for piece in pieces:
            yield _utf8(decoder.decode(piece))
        yield _utf8(decoder.decode(b"", final=True))
    elif unit == "byte":
        is_ebcdic = b"\n".decode(name, _UNKNOWN) != "\n"
        for piece in pieces:
            text = piece.decode(name, _UNKNOWN)
            yield _utf8(text.replace("\x85", "\n") if is_ebcdic else text)  # NEL ends the lines of a mainframe
    else:
        for block in _whole_lines(pieces, ends):
            yield _utf8("".join(line.decode(name, _UNKNOWN) + "\n" for line in block.splitlines()))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _whole_lines(pieces: Iterator[bytes], ends: Sequence[bytes]) -> Iterator[bytes]:
    """Cut pieces where lines end; how long a line is decides whether it is left out, not where it is cut."""
    begun: list[bytes] = []
    size = 0
    for piece in pieces:
        last = _last(piece, ends) + 1
        if not last:
            size += len(piece)
            if size <= LONGEST_LINE:
                begun.append(piece)
            continue
        first = _first(piece, ends)
        whole = size + first <= LONGEST_LINE
        yield b"".join([*begun, memoryview(piece)[:last]]) if whole else piece[first:last]
        begun, size = [piece[last:]], len(piece) - last
    if size <= LONGEST_LINE and any(begun):
        yield b"".join(begun)


def _first(piece: bytes, ends: Sequence[bytes]) -> int:
    """Return where the first line ends; none that ends later is looked for."""
    place = len(piece)
    for end in ends:
        place_of_end = piece.find(end, 0, place)
        place = place if place_of_end < 0 else place_of_end
    return place


def _last(piece: bytes, ends: Sequence[bytes]) -> int:
    """Return where the last line ends, or -1; none that ends earlier is looked for."""
    place = -1
    for end in ends:
        place = max(place, piece.rfind(end, place + 1))
    return place


def as_array(block: bytes) -> NDArray[Any]:
    """Return bytes as numbers."""
    return np.frombuffer(block, dtype=np.uint8)
