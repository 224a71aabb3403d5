"""Compiled kernel that splits lines of delimited text into cells, each line independently.

A cell in quotes may hold the delimiter, and a quote written twice; it ends at its own line whatever it holds, so
that no line can change how another one is read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Bytes
from headcount._internal.compiled import Word, compiled, inlined, uint64
from headcount.events.encode.kernels import word_at

ROOM = 8
"""How many bytes more than it needs a column has: texts are written eight bytes at a time."""

_NEWLINE, _RETURN, _QUOTE = 10, 13, 34
_ONES, _TOPS = uint64(0x0101010101010101), uint64(0x8080808080808080)


@compiled
def is_mark(data: Bytes, at: Word, end: Word) -> Word:
    """Whether a mark of the byte order stands here: at the start of a line it is no part of it."""
    return at + 3 <= end and data[at] == 0xEF and data[at + 1] == 0xBB and data[at + 2] == 0xBF


@inlined
def _zero_bytes(word: Word) -> Word:
    """Mark the lowest byte of eight that is zero by its top bit; bytes above it may be marked as well."""
    return (word - _ONES) & ~word & _TOPS


@inlined
def _before(marks: Word) -> Word:
    """Return how many bytes lie before the lowest one that is marked."""
    return np.int64((((marks & (~marks + uint64(1))) - uint64(1)) & _ONES) * _ONES >> uint64(56)) - 1


@inlined
def _write_word(out: Bytes, column: Word, at: Word, word: Word) -> None:
    """Write eight bytes; the compiler makes one store of it."""
    row, place = uint64(column), uint64(at)
    out[row, place] = np.uint8(word)
    out[row, place + uint64(1)] = np.uint8(word >> uint64(8))
    out[row, place + uint64(2)] = np.uint8(word >> uint64(16))
    out[row, place + uint64(3)] = np.uint8(word >> uint64(24))
    out[row, place + uint64(4)] = np.uint8(word >> uint64(32))
    out[row, place + uint64(5)] = np.uint8(word >> uint64(40))
    out[row, place + uint64(6)] = np.uint8(word >> uint64(48))
    out[row, place + uint64(7)] = np.uint8(word >> uint64(56))


@compiled
def _copied(data: Bytes, at: Word, stop: Word, texts: Bytes, column: Word, write: Word) -> tuple[Word, Word]:
    """Copy what is before a letter or the end of the line to a column, if that is 0 or more.

    Returns where that is, and where the text ends.
    """
    stops, ends, returns = uint64(stop) * _ONES, uint64(_NEWLINE) * _ONES, uint64(_RETURN) * _ONES
    while at + 8 <= data.size:
        word = word_at(data, at)
        marks = _zero_bytes(word ^ stops) | _zero_bytes(word ^ ends) | _zero_bytes(word ^ returns)
        if column >= 0:
            _write_word(texts, column, write, word)
        if marks != 0:
            size = _before(marks)
            return at + size, write + size
        at, write = at + 8, write + 8
    while at < data.size and data[at] != stop and data[at] != _NEWLINE and data[at] != _RETURN:
        if column >= 0:
            texts[column, write] = data[at]
            write += 1
        at += 1
    return at, write


@compiled
def split(
    data: Bytes,
    delimiter: Word,
    slots: NDArray[np.int32],
    exact: Word,
    texts: NDArray[np.uint8],
    ends: NDArray[np.int64],
) -> Word:
    """Write the cells that are wanted of every line that is not blank; return how many lines there are.

    ``slots[cell]`` says which column of ``texts`` takes the cell of that number, -1 for none; the text of a row
    ends at ``ends[column, row + 1]``, where that of the next one begins. A line with an open quote has only empty
    cells, and so has one without all cells of ``slots``, or where ``exact`` with more of them. A column of
    ``texts`` has room for all of ``data`` and ``ROOM`` bytes more.
    """
    cells, columns = slots.size, ends.shape[0]
    row: Word = np.int64(0)
    at: Word = np.int64(0)
    while at < data.size:
        if data[at] == _NEWLINE or data[at] == _RETURN:
            at += 1
            continue
        if is_mark(data, at, data.size):
            at += 3
            continue
        for column in range(columns):
            ends[column, row + 1] = ends[column, row]
        cell: Word = np.int64(0)
        sound = True
        while True:
            taker: Word = slots[cell] if cell < cells else np.int32(-1)
            wanted = taker >= 0
            write: Word = np.int64(ends[taker, row]) if wanted else np.int64(0)
            if at < data.size and data[at] == _QUOTE:
                sound = False
                while not sound and at < data.size and data[at] == _QUOTE:
                    at, write = _copied(data, at + 1, _QUOTE, texts, taker, write)
                    if at < data.size and data[at] == _QUOTE:
                        at += 1
                        sound = at == data.size or data[at] != _QUOTE
                        if not sound and wanted:
                            texts[taker, write] = _QUOTE
                            write += 1
            at, write = _copied(data, at, delimiter, texts, taker, write)
            if wanted:
                ends[taker, row + 1] = write
            cell += 1
            if not sound or at == data.size or data[at] != delimiter:
                break
            at += 1
        if not sound or cell < cells or (exact and cell > cells):
            for column in range(columns):
                ends[column, row + 1] = ends[column, row]
        row += 1
    return row
