"""Compiled loops that read numbers and times from text, each text by itself.

Texts come as one array of bytes and where each of them begins and ends. Blanks around them do not count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount.compiling import Word, compiled, inlined

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]

NOT, READ, INSTANT, ASK = 0, 1, 2, 3
"""No such thing; read (a number, or a time on the wall's clock); a moment; written as Python alone can read it."""

_DAY = 86_400_000_000
_MOST_DIGITS = 18
_EXACT_DIGITS = 15  # whole numbers of so many digits, and powers of ten up to 22, are exact in floating point
_EXACT_POWER = 22


@inlined
def _is_digit(byte: Word) -> Word:
    return 48 <= byte <= 57


@inlined
def _is_blank(byte: Word) -> Word:
    return byte == 32 or 9 <= byte <= 13


@compiled
def _trimmed(data: Bytes, begin: Word, end: Word) -> tuple[Word, Word]:
    while begin < end and _is_blank(data[begin]):
        begin += 1
    while end > begin and _is_blank(data[end - 1]):
        end -= 1
    return begin, end


@compiled
def whole_numbers(data: Bytes, offsets: Integers, out: Integers, found: Bytes) -> None:
    """Read whole numbers of up to 18 digits."""
    for row in range(out.size):
        begin, end = _trimmed(data, offsets[row], offsets[row + 1])
        found[row] = NOT
        sign: Word = np.int64(1)
        if begin < end and (data[begin] == 43 or data[begin] == 45):
            sign = np.int64(44) - np.int64(data[begin])
            begin += 1
        if not 0 < end - begin <= _MOST_DIGITS:
            continue
        number: Word = np.int64(0)
        while begin < end and _is_digit(data[begin]):
            number = number * 10 + np.int64(data[begin]) - 48
            begin += 1
        if begin == end:
            out[row] = sign * number
            found[row] = READ


@compiled
def numbers(
    data: Bytes, offsets: Integers, powers: NDArray[np.float64], out: NDArray[np.float64], found: Bytes
) -> None:
    """Read decimal numbers, with or without a fraction and an exponent; those with many digits are left to Python.

    What is read here is the nearest number that floating point has: one exact number times or divided by another
    is rounded once.
    """
    for row in range(out.size):
        begin, end = _trimmed(data, offsets[row], offsets[row + 1])
        found[row] = NOT
        negative = begin < end and data[begin] == 45
        if begin < end and (data[begin] == 43 or data[begin] == 45):
            begin += 1
        mantissa: Word = np.int64(0)
        digits: Word = np.int64(0)
        places: Word = np.int64(0)
        point = False
        while begin < end and (_is_digit(data[begin]) or (data[begin] == 46 and not point)):
            if data[begin] == 46:
                point = True
            else:
                if digits < _MOST_DIGITS:
                    mantissa = mantissa * 10 + np.int64(data[begin]) - 48
                digits += 1
                places += point
            begin += 1
        if digits == 0:
            continue
        power: Word = -places
        if begin < end and data[begin] | 32 == 101:  # e or E
            begin += 1
            sign: Word = np.int64(1)
            if begin < end and (data[begin] == 43 or data[begin] == 45):
                sign = np.int64(44) - np.int64(data[begin])
                begin += 1
            if begin == end:
                continue
            shift: Word = np.int64(0)
            while begin < end and _is_digit(data[begin]):
                shift = min(shift * 10 + np.int64(data[begin]) - 48, np.int64(100_000))
                begin += 1
            power += sign * shift
        if begin < end:
            continue
        if digits > _EXACT_DIGITS or abs(power) > _EXACT_POWER:
            found[row] = ASK
            continue
        value: Word = np.float64(mantissa)
        value = value * powers[power] if power >= 0 else value / powers[-power]
        out[row] = -value if negative else value
        found[row] = READ


@compiled
def _two(data: Bytes, at: Word, end: Word) -> Word:
    """Return the number that two digits write, or -1."""
    if at + 2 > end or not (_is_digit(data[at]) and _is_digit(data[at + 1])):
        return np.int64(-1)
    return np.int64(data[at]) * 10 + np.int64(data[at + 1]) - 528


@compiled
def _days(year: Word, month: Word, day: Word) -> Word:
    """Return the days from 1 January 1970 to a date, which may not exist; counted in years that begin in March."""
    shifted = year - (month <= 2)
    era = shifted // 400
    of_era = shifted - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


@compiled
def _month_length(year: Word, month: Word) -> Word:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


@compiled
def _iso_time(data: Bytes, begin: Word, end: Word) -> tuple[Word, Word]:
    """Read ``YYYY-MM-DD``, with or without ``HH[:MM[:SS[.FRACTION]]]`` and an offset; return it and what it is."""
    century, rest = _two(data, begin, end), _two(data, begin + 2, end)
    month, day = _two(data, begin + 5, end), _two(data, begin + 8, end)
    if century < 0 or rest < 0 or month < 0 or day < 0 or data[begin + 4] != 45 or data[begin + 7] != 45:
        return np.int64(0), NOT
    year = century * 100 + rest
    if year < 1 or not 1 <= month <= 12 or not 1 <= day <= _month_length(year, month):
        return np.int64(0), NOT
    micros: Word = _days(year, month, day) * _DAY
    at: Word = begin + 10
    if at == end:
        return micros, READ
    if data[at] != 32 and data[at] | 32 != 116:  # a blank, t or T
        return np.int64(0), NOT
    hour = _two(data, at + 1, end)
    if not 0 <= hour <= 23:
        return np.int64(0), NOT
    micros += hour * 3_600_000_000
    at += 3
    unit: Word = np.int64(60_000_000)
    while unit >= 1_000_000 and at < end and data[at] == 58:
        sixtieth = _two(data, at + 1, end)
        if not 0 <= sixtieth <= 59:
            return np.int64(0), NOT
        micros += sixtieth * unit
        unit //= 60
        at += 3
    if unit < 1_000_000 and at < end and (data[at] == 46 or data[at] == 44):
        first: Word = at + 1
        at += 1
        step: Word = np.int64(100_000)
        while at < end and _is_digit(data[at]):
            micros += (np.int64(data[at]) - 48) * step
            step //= 10
            at += 1
        if at == first:
            return np.int64(0), NOT
    if at == end:
        return micros, READ
    if data[at] | 32 == 122 and at + 1 == end:  # z or Z
        return micros, INSTANT
    if data[at] != 43 and data[at] != 45:
        return np.int64(0), NOT
    sign = np.int64(44) - np.int64(data[at])
    hours, minutes = _two(data, at + 1, end), np.int64(0)
    at += 3
    if at < end:
        at += data[at] == 58
        minutes = _two(data, at, end)
        at += 2
    if at != end or not 0 <= hours <= 23 or not 0 <= minutes <= 59:
        return np.int64(0), NOT
    return micros - sign * (hours * 60 + minutes) * 60_000_000, INSTANT


@compiled
def iso_times(data: Bytes, offsets: Integers, out: Integers, found: Bytes) -> None:
    """Read times in the usual forms of ISO 8601, in microseconds since 1970; other forms are left to Python."""
    for row in range(out.size):
        begin, end = _trimmed(data, offsets[row], offsets[row + 1])
        out[row], found[row] = _iso_time(data, begin, end)
        if found[row] == NOT and end > begin:
            found[row] = ASK


@compiled
def part(micros: Integers, there: NDArray[np.bool_], which: Word, out: NDArray[np.int32]) -> None:
    """Write the weekday (0), hour (1) or month (2) of times on the wall's clock, from 0 on; -1 for none."""
    for row in range(micros.size):
        if not there[row]:
            out[row] = -1
        elif which == 1:
            out[row] = micros[row] // 3_600_000_000 % 24
        elif which == 0:
            out[row] = (micros[row] // _DAY + 3) % 7
        else:
            days = micros[row] // _DAY + 719_468
            of_era = days % 146_097
            years = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
            of_year = of_era - (365 * years + years // 4 - years // 100)
            out[row] = ((5 * of_year + 2) // 153 + 2) % 12
