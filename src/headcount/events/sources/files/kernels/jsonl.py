"""Compiled kernel that splits JSON lines into member texts; numbers are kept as written.

The grammar is that of RFC 8259. A line that is not an object has only missing values, and so have members that
are absent, null, lists or objects; of two members of the same name the last one counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Bytes
from headcount._internal.compiled import Word, compiled
from headcount.events.sources.files.kernels.scalar import is_digit
from headcount.events.sources.files.kernels.split_csv import is_mark

_NEWLINE, _QUOTE, _BACKSLASH, _COLON, _COMMA = 10, 34, 92, 58, 44
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = 123, 125, 91, 93
_BAD = -1
DEPTH = 64  # how deep lists and objects may lie in each other


@compiled
def _past_blanks(data: Bytes, at: Word, end: Word) -> Word:
    while at < end and (data[at] == 32 or data[at] == 9 or data[at] == 13):
        at += 1
    return at


@compiled
def _hex(data: Bytes, at: Word, end: Word) -> Word:
    """Return the number that four hexadecimal digits write, or -1."""
    if at + 4 > end:
        return np.int64(_BAD)
    number: Word = np.int64(0)
    for place in range(at, at + 4):
        byte = np.int64(data[place])
        if is_digit(byte):
            digit = byte - 48
        elif 97 <= byte | 32 <= 102:
            digit = (byte | 32) - 87
        else:
            return np.int64(_BAD)
        number = number * 16 + digit
    return number


@compiled
def _string_end(data: Bytes, at: Word, end: Word) -> Word:
    """Return where the quote stands that ends a string which begins at ``at``, or -1 if it is not sound."""
    while at < end:
        byte = data[at]
        if byte == _QUOTE:
            return at
        if byte < 32:
            return np.int64(_BAD)
        if byte == _BACKSLASH:
            at += 1
            if at == end:
                return np.int64(_BAD)
            mark = data[at]
            if mark == 117:  # u
                if _hex(data, at + 1, end) < 0:
                    return np.int64(_BAD)
                at += 4
            elif not (
                mark in (_QUOTE, _BACKSLASH, 47) or mark in (98, 102, 110, 114, 116)  # / b f n r t
            ):
                return np.int64(_BAD)
        at += 1
    return np.int64(_BAD)


@compiled
def _plain(mark: Word) -> Word:
    """Return the byte that a letter after a backslash stands for."""
    if mark == 98:
        return 8
    if mark == 102:
        return 12
    if mark == 110:
        return 10
    if mark == 114:
        return 13
    return 9 if mark == 116 else mark


@compiled
def _unescape(data: Bytes, at: Word, end: Word, out: Bytes, write: Word) -> Word:
    """Write a sound string as UTF-8; return where it ends, or -1 if it holds half a surrogate pair."""
    while at < end:
        if data[at] != _BACKSLASH:
            out[write] = data[at]
            write += 1
            at += 1
            continue
        if data[at + 1] != 117:
            out[write] = _plain(data[at + 1])
            write += 1
            at += 2
            continue
        point = _hex(data, at + 2, end)
        at += 6
        if 0xD800 <= point < 0xE000:
            low = np.int64(_BAD)
            if point < 0xDC00 and at + 6 <= end and data[at] == _BACKSLASH and data[at + 1] == 117:
                low = _hex(data, at + 2, end)
            if not 0xDC00 <= low < 0xE000:
                return np.int64(_BAD)
            point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00)
            at += 6
        if point < 0x80:
            out[write] = point
            write += 1
        elif point < 0x800:
            out[write] = 0xC0 | point >> 6
            out[write + 1] = 0x80 | point & 0x3F
            write += 2
        elif point < 0x10000:
            out[write] = 0xE0 | point >> 12
            out[write + 1] = 0x80 | point >> 6 & 0x3F
            out[write + 2] = 0x80 | point & 0x3F
            write += 3
        else:
            out[write] = 0xF0 | point >> 18
            out[write + 1] = 0x80 | point >> 12 & 0x3F
            out[write + 2] = 0x80 | point >> 6 & 0x3F
            out[write + 3] = 0x80 | point & 0x3F
            write += 4
    return write


@compiled
def _past_digits(data: Bytes, at: Word, end: Word) -> Word:
    """Return where digits end that begin at ``at``, or -1 if there is none."""
    first = at
    while at < end and is_digit(data[at]):
        at += 1
    return at if at > first else np.int64(_BAD)


@compiled
def _number_end(data: Bytes, at: Word, end: Word) -> Word:
    """Return where a number ends, or -1 if it is not written as JSON has it."""
    if at < end and data[at] == 45:
        at += 1
    first = at
    at = _past_digits(data, at, end)
    if at < 0 or (data[first] == 48 and at > first + 1):
        return np.int64(_BAD)
    if at < end and data[at] == 46:
        at = _past_digits(data, at + 1, end)
    if 0 <= at < end and data[at] | 32 == 101:  # e or E
        at += 1
        if at < end and (data[at] == 43 or data[at] == 45):
            at += 1
        at = _past_digits(data, at, end)
    return at


@compiled
def _word_end(data: Bytes, at: Word, end: Word) -> Word:
    """Return where ``true``, ``false`` or ``null`` ends, or -1."""
    first = data[at]
    size = 5 if first == 102 else 4
    if at + size > end:
        return np.int64(_BAD)
    word = (116, 114, 117, 101, 0) if first == 116 else (110, 117, 108, 108, 0)
    if first == 102:
        word = (102, 97, 108, 115, 101)
    for place in range(size):
        if data[at + place] != word[place]:
            return np.int64(_BAD)
    return at + size


@compiled
def _scalar_end(data: Bytes, at: Word, end: Word) -> Word:
    """Return where a string, number, truth value or null ends, or -1."""
    if data[at] == _QUOTE:
        close = _string_end(data, at + 1, end)
        return close if close < 0 else close + 1
    if data[at] == 45 or is_digit(data[at]):
        return _number_end(data, at, end)
    return _word_end(data, at, end)


@compiled
def _past_key(data: Bytes, at: Word, end: Word) -> Word:
    """Return where the value of a member begins whose name begins at ``at``, or -1."""
    at = _past_blanks(data, at, end)
    if at == end or data[at] != _QUOTE:
        return np.int64(_BAD)
    at = _string_end(data, at + 1, end)
    if at < 0:
        return np.int64(_BAD)
    at = _past_blanks(data, at + 1, end)
    return at + 1 if at < end and data[at] == _COLON else np.int64(_BAD)


@compiled
def _value_end(data: Bytes, at: Word, end: Word, stack: Bytes) -> Word:
    """Return where any value ends that begins at ``at``, or -1."""
    depth: Word = np.int64(0)
    while True:
        at = _past_blanks(data, at, end)
        if at == end:
            return np.int64(_BAD)
        opened = data[at]
        if opened in (_OPEN, _OPEN_LIST):
            if depth == stack.size:
                return np.int64(_BAD)
            stack[depth] = opened + 2  # how it closes
            depth += 1
            at = _past_blanks(data, at + 1, end)
            if at == end or data[at] != opened + 2:
                if opened == _OPEN:
                    at = _past_key(data, at, end)
                    if at < 0:
                        return np.int64(_BAD)
                continue
        else:
            at = _scalar_end(data, at, end)
            if at < 0:
                return np.int64(_BAD)
        more = False
        while depth > 0 and not more:
            at = _past_blanks(data, at, end)
            if at == end:
                return np.int64(_BAD)
            if data[at] == stack[depth - 1]:
                depth -= 1
                at += 1
            elif data[at] == _COMMA:
                more = True
                at += 1
                if stack[depth - 1] == _CLOSE:
                    at = _past_key(data, at, end)
                    if at < 0:
                        return np.int64(_BAD)
            else:
                return np.int64(_BAD)
        if not more:
            return at


@compiled
def _which(data: Bytes, begin: Word, end: Word, names: Bytes, name_ends: NDArray[np.int64]) -> Word:
    """Return which of the wanted names the bytes from ``begin`` to ``end`` are, or -1."""
    first: Word = np.int64(0)
    for column in range(name_ends.size):
        last = name_ends[column]
        if last - first == end - begin:
            at: Word = np.int64(0)
            while at < end - begin and data[begin + at] == names[first + at]:
                at += 1
            if at == end - begin:
                return column
        first = last
    return np.int64(_BAD)


@compiled
def _column(
    data: Bytes, begin: Word, end: Word, names: Bytes, name_ends: NDArray[np.int64], scratch: Bytes
) -> Word:
    """Return which column a member's name, as it is written, asks for, or -1."""
    for at in range(begin, end):
        if data[at] == _BACKSLASH:
            size = _unescape(data, begin, end, scratch, 0)
            return _which(scratch, 0, size, names, name_ends) if size >= 0 else np.int64(_BAD)
    return _which(data, begin, end, names, name_ends)


@compiled
def _copied(data: Bytes, at: Word, end: Word, out: Bytes, write: Word) -> tuple[Word, Word]:
    """Copy a string without escapes that begins at ``at``; return where its quote is, or -1, and where it ends.

    One with escapes, or that is not sound, is not for here: -1 as well.
    """
    while at < end:
        byte = data[at]
        if byte == _QUOTE:
            return at, write
        if byte < 32 or byte == _BACKSLASH:
            break
        out[write] = byte
        write += 1
        at += 1
    return np.int64(_BAD), write


@compiled
def _kept(data: Bytes, value: Word, end: Word, out: Bytes, write: Word) -> tuple[Word, Word]:
    """Write a string, number or truth value; return where it ends in the line, or -1, and in ``out``, or -1."""
    if data[value] != _QUOTE:
        at = _scalar_end(data, value, end)
        for place in range(value, at):
            out[write] = data[place]
            write += 1
        return at, write
    close, written = _copied(data, value + 1, end, out, write)
    if close >= 0:
        return close + 1, written
    close = _string_end(data, value + 1, end)
    if close < 0:
        return close, write
    return close + 1, _unescape(data, value + 1, close, out, write)


@compiled
def _members(
    data: Bytes, at: Word, end: Word, names: Bytes, name_ends: NDArray[np.int64], row: Word,
    texts: NDArray[np.uint8], ends: NDArray[np.int64], there: NDArray[np.bool_], scratch: Bytes, stack: Bytes,
) -> Word:  # fmt: skip
    """Write the wanted members of the object that begins at ``at``; return whether the line is an object."""
    if data[at] != _OPEN:
        return False
    at = _past_blanks(data, at + 1, end)
    if at < end and data[at] == _CLOSE:
        return _past_blanks(data, at + 1, end) == end
    while True:
        at = _past_blanks(data, at, end)
        if at == end or data[at] != _QUOTE:
            return False
        close = _string_end(data, at + 1, end)
        if close < 0:
            return False
        column = _column(data, at + 1, close, names, name_ends, scratch)
        at = _past_blanks(data, close + 1, end)
        if at == end or data[at] != _COLON:
            return False
        at = _past_blanks(data, at + 1, end)
        if at == end:
            return False
        first = data[at]
        if column < 0 or first in (_OPEN, _OPEN_LIST, 110):  # null
            at = _value_end(data, at, end, stack)
            write: Word = np.int64(_BAD)
        else:
            at, write = _kept(data, at, end, texts[column], ends[column, row])
        if at < 0:
            return False
        if column >= 0:
            there[column, row] = write >= 0
            ends[column, row + 1] = write if write >= 0 else ends[column, row]
        at = _past_blanks(data, at, end)
        if at == end:
            return False
        if data[at] == _CLOSE:
            return _past_blanks(data, at + 1, end) == end
        if data[at] != _COMMA:
            return False
        at += 1


@compiled
def split(
    data: Bytes, names: Bytes, name_ends: NDArray[np.int64], texts: NDArray[np.uint8], ends: NDArray[np.int64],
    there: NDArray[np.bool_], scratch: Bytes,
) -> Word:  # fmt: skip
    """Write the wanted members of every line that is not blank; return how many lines there are.

    The text of a row ends at ``ends[column, row + 1]``, where that of the next one begins; ``there`` says whether
    there is one.
    """
    stack = np.empty(DEPTH, dtype=np.uint8)
    columns = ends.shape[0]
    row: Word = np.int64(0)
    begin: Word = np.int64(0)
    while begin < data.size:
        end = begin
        while end < data.size and data[end] != _NEWLINE:
            end += 1
        at = _past_blanks(data, begin, end)
        if is_mark(data, at, end):
            at = _past_blanks(data, at + 3, end)
        begin = end + 1
        if at == end:
            continue
        for column in range(columns):
            ends[column, row + 1] = ends[column, row]
            there[column, row] = False
        if not _members(data, at, end, names, name_ends, row, texts, ends, there, scratch, stack):
            for column in range(columns):
                ends[column, row + 1] = ends[column, row]
                there[column, row] = False
        row += 1
    return row
