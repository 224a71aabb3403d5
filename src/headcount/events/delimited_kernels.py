"""The compiled loop that splits lines of delimited text into cells, each line by itself.

A cell in quotes may hold the delimiter, and a quote written twice; it ends at its own line whatever it holds, so
that no line can change how another one is read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount.compiling import Word, compiled

Bytes = NDArray[np.uint8]

_NEWLINE, _RETURN, _QUOTE = 10, 13, 34


@compiled
def is_mark(data: Bytes, at: Word, end: Word) -> Word:
    """Whether a mark of the byte order stands here: at the start of a line it is no part of it."""
    return at + 3 <= end and data[at] == 0xEF and data[at + 1] == 0xBB and data[at + 2] == 0xBF


@compiled
def split(
    data: Bytes,
    delimiter: Word,
    slots: NDArray[np.int32],
    exact: Word,
    texts: NDArray[np.uint8],
    ends: NDArray[np.int32],
) -> Word:
    """Write the cells that are wanted of every line that is not blank; return how many lines there are.

    ``slots[cell]`` says which column of ``texts`` takes the cell of that number, -1 for none; the text of a row
    ends at ``ends[column, row + 1]``, where that of the next one begins. A line with an open quote has only empty
    cells, and so has one without all cells of ``slots``, or where ``exact`` with more of them.
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
                at += 1
                sound = False
                while at < data.size and data[at] != _NEWLINE and data[at] != _RETURN:
                    if data[at] == _QUOTE:
                        at += 1
                        if at == data.size or data[at] != _QUOTE:
                            sound = True
                            break
                    if wanted:
                        texts[taker, write] = data[at]
                        write += 1
                    at += 1
            while at < data.size and data[at] != delimiter and data[at] != _NEWLINE and data[at] != _RETURN:
                if wanted:
                    texts[taker, write] = data[at]
                    write += 1
                at += 1
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
