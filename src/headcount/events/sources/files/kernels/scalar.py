"""Compiled kernels that parse integers, decimal numbers and ISO 8601 times from single texts.

Texts come as one array of bytes and where each of them begins and ends. Blanks around them do not count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Bytes, Flags, Integers
from headcount._internal.compiled import Word, compiled, inlined, uint64

NOT, READ, INSTANT, ASK = 0, 1, 2, 3
"""No such thing; read (a number, or a time on the wall's clock); a moment; written as Python alone can read it."""

_DAY = 86_400_000_000
_NO_DATE, _NO_OFFSET = -1_000_000, 10_000
_MOST_DIGITS = 18
_EXACT_DIGITS = 15  # whole numbers of so many digits, and powers of ten up to 22, are exact in floating point
_EXACT_POWER = 22


@inlined
def is_digit(byte: Word) -> Word:
    """Whether a byte writes a digit."""
    return 48 <= byte <= 57


@inlined
def _is_blank(byte: Word) -> Word:
    return byte == 32 or 9 <= byte <= 13


@compiled
def _trimmed(data: Bytes, begin: Word, end: Word) -> tuple[Word, Word]:
    while begin < end and _is_blank(data[uint64(begin)]):
        begin += 1
    while end > begin and _is_blank(data[uint64(end - 1)]):
        end -= 1
    return begin, end


@compiled
def whole_numbers(data: Bytes, offsets: Integers, out: Integers, status: Bytes) -> None:
    """Read whole numbers of up to 18 digits."""
    for row in range(out.size):
        begin, end = _trimmed(data, offsets[row], offsets[row + 1])
        status[row] = NOT
        sign: Word = np.int64(1)
        if begin < end and (data[begin] == 43 or data[begin] == 45):
            sign = np.int64(44) - np.int64(data[begin])
            begin += 1
        if not 0 < end - begin <= _MOST_DIGITS:
            continue
        number: Word = np.int64(0)
        while begin < end and is_digit(data[begin]):
            number = number * 10 + np.int64(data[begin]) - 48
            begin += 1
        if begin == end:
            out[row] = sign * number
            status[row] = READ


@compiled
def numbers(
    data: Bytes, offsets: Integers, powers: NDArray[np.float64], out: NDArray[np.float64], status: Bytes
) -> None:
    """Read decimal numbers, with or without a fraction and an exponent; those with many digits are left to Python.

    What is read here is the nearest number that floating point has: one exact number times or divided by another
    is rounded once.
    """
    for row in range(out.size):
        begin, end = _trimmed(data, offsets[row], offsets[row + 1])
        status[row] = NOT
        negative = begin < end and data[begin] == 45
        if begin < end and (data[begin] == 43 or data[begin] == 45):
            begin += 1
        mantissa: Word = np.int64(0)
        digits: Word = np.int64(0)
        places: Word = np.int64(0)
        point = False
        while begin < end and (is_digit(data[begin]) or (data[begin] == 46 and not point)):
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
            while begin < end and is_digit(data[begin]):
                shift = min(shift * 10 + np.int64(data[begin]) - 48, np.int64(100_000))
                begin += 1
            power += sign * shift
        if begin < end:
            continue
        if digits > _EXACT_DIGITS or abs(power) > _EXACT_POWER:
            status[row] = ASK
            continue
        value: Word = np.float64(mantissa)
        value = value * powers[power] if power >= 0 else value / powers[-power]
        out[row] = -value if negative else value
        status[row] = READ


@compiled
def _two(data: Bytes, at: Word, end: Word) -> Word:
    """Return the number that two digits write, or -1."""
    if at + 2 > end:
        return np.int64(-1)
    place = uint64(at)  # no place is negative, which spares the compiler looking
    tens, ones = np.int64(data[place]) - 48, np.int64(data[place + uint64(1)]) - 48
    return tens * 10 + ones if 0 <= tens <= 9 and 0 <= ones <= 9 else np.int64(-1)


@compiled
def _days(year: Word, month: Word, day: Word) -> Word:
    """Return the days from 1 January 1970 to a date from the year 1 on, or -1,000,000 if there is no such date."""
    if year < 1 or not 1 <= month <= 12 or day < 1:
        return np.int64(_NO_DATE)
    full, of_four = uint64(year - 1), uint64(year) & uint64(3)
    leap = of_four == 0 and (uint64(year) % uint64(100) != 0 or uint64(year) % uint64(400) == 0)
    length = np.int64(30) + ((month + (month >> 3)) & 1)  # 31 in January, March, …, July, August, October, …
    if month == 2:
        length = np.int64(28) + leap
    if day > length:
        return np.int64(_NO_DATE)
    before = np.int64(full * uint64(365) + full // uint64(4) - full // uint64(100) + full // uint64(400))
    of_months = (np.int64(uint64(367 * month - 362) // uint64(12))) - (0 if month <= 2 else 2 - leap)
    return before + of_months + day - 1 - 719_162


@compiled
def _offset(data: Bytes, at: Word, end: Word) -> Word:
    """Return the minutes of an offset ``±HH[[:]MM]`` that ends here, or 10,000 if it is none."""
    sign = np.int64(44) - np.int64(data[uint64(at)])
    hours, minutes = _two(data, at + 1, end), np.int64(0)
    at += 3
    if at < end:
        at += data[uint64(at)] == 58
        minutes = _two(data, at, end)
        at += 2
    good = at == end and abs(sign) == 1 and 0 <= hours <= 23 and 0 <= minutes <= 59
    return sign * (hours * 60 + minutes) if good else np.int64(_NO_OFFSET)


@compiled
def _iso_time(data: Bytes, begin: Word, end: Word) -> tuple[Word, Word]:
    """Read ``YYYY-MM-DD``, with or without ``HH[:MM[:SS[.FRACTION]]]`` and an offset; return it and what it is."""
    none = np.int64(0), np.int64(NOT)
    if end - begin < 10 or data[uint64(begin + 4)] != 45 or data[uint64(begin + 7)] != 45:
        return none
    century, year = _two(data, begin, end), _two(data, begin + 2, end)
    days = _days(century * 100 + year, _two(data, begin + 5, end), _two(data, begin + 8, end))
    if century < 0 or year < 0 or days == _NO_DATE:
        return none
    at: Word = begin + 10
    if at == end:
        return days * _DAY, np.int64(READ)
    between = data[uint64(at)]
    hour, minute, second = _two(data, at + 1, end), np.int64(0), np.int64(0)
    if (between != 32 and between | 32 != 116) or not 0 <= hour <= 23:  # a blank, t or T
        return none
    at += 3
    micros: Word = np.int64(0)
    if at < end and data[uint64(at)] == 58:
        minute = _two(data, at + 1, end)
        at += 3
        if at < end and data[uint64(at)] == 58:
            second = _two(data, at + 1, end)
            at += 3
            if at < end and (data[uint64(at)] == 46 or data[uint64(at)] == 44):
                at += 1
                first, step = at, np.int64(100_000)
                while at < end and is_digit(data[uint64(at)]):
                    micros += (np.int64(data[uint64(at)]) - 48) * step
                    step //= 10
                    at += 1
                if at == first:
                    return none
    if not (0 <= minute <= 59 and 0 <= second <= 59):
        return none
    micros += days * _DAY + ((hour * 60 + minute) * 60 + second) * 1_000_000
    if at == end:
        return micros, np.int64(READ)
    if data[uint64(at)] | 32 == 122 and at + 1 == end:  # z or Z
        return micros, np.int64(INSTANT)
    ahead = _offset(data, at, end)
    if ahead == _NO_OFFSET:
        return none
    return micros - ahead * 60_000_000, np.int64(INSTANT)


@compiled
def iso_times(
    data: Bytes,
    offsets: Integers,
    first: Word,
    last: Word,
    out: Integers,
    there: Flags,
    instant: Flags,
    ask: Flags,
) -> Word:
    """Read times in the usual forms of ISO 8601, in microseconds since 1970, from ``first`` to ``last``.

    Texts in other forms are marked in ``ask``, to be left to Python; returns how many there are.
    """
    left = 0
    for row in range(out.size):
        begin, end = _trimmed(data, offsets[row], offsets[row + 1])
        micros, kind = _iso_time(data, begin, end)
        there[row] = kind != NOT and first <= micros <= last
        instant[row] = kind == INSTANT
        out[row] = micros if there[row] else 0
        ask[row] = kind == NOT and end > begin
        left += ask[row]
    return left


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
