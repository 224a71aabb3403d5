"""Compiled loops of maps and scores: the fast Walsh-Hadamard transform, and one sweep over all limits.

All in 64-bit integers, so that what is promised of the results holds to the last digit. The transform is also
used on released numbers, which may be floating-point.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.compiling import Word, compiled, inlined, uint64

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]

_CACHED = 1 << 13  # so many values are transformed at once, within the processor's cache


@inlined
def _butterfly(values: NDArray[Any], begin: Word, end: Word, half: Word) -> None:
    """Replace pairs that are ``half`` apart by their sum and difference."""
    for start in range(begin, end, 2 * half):
        left, right = values[start : start + half], values[start + half : start + 2 * half]
        for at in range(half):
            a, b = left[at], right[at]
            left[at], right[at] = a + b, a - b


@inlined
def _two_butterflies(values: NDArray[Any], begin: Word, end: Word, half: Word) -> None:
    """Do two rounds at once, ``half`` and twice as much: memory is what they wait for."""
    for start in range(begin, end, 4 * half):
        one, two = values[start : start + half], values[start + half : start + 2 * half]
        three, four = values[start + 2 * half : start + 3 * half], values[start + 3 * half : start + 4 * half]
        for at in range(half):
            a, b = one[at] + two[at], one[at] - two[at]
            c, d = three[at] + four[at], three[at] - four[at]
            one[at], two[at], three[at], four[at] = a + c, b + d, a - c, b - d


@compiled
def walsh_hadamard(values: NDArray[Any]) -> None:
    """Transform in place, in natural order; the number of values is a power of two."""
    block = min(values.size, _CACHED)
    for begin in range(0, values.size, block):
        half = 1
        while 4 * half <= block:
            _two_butterflies(values, begin, begin + block, half)
            half *= 4
        if half < block:
            _butterfly(values, begin, begin + block, half)
    half = block
    while 4 * half <= values.size:
        _two_butterflies(values, 0, values.size, half)
        half *= 4
    if half < values.size:
        _butterfly(values, 0, values.size, half)


@inlined
def _next_by_sequency(at: Word, number: Word, size: Word) -> Word:
    """Return the natural place of coefficient ``number`` + 1, given that of ``number``.

    The place is the bit-reversed Gray code, of which one bit changes from each number to the next.
    """
    bit, rest = size >> 1, number + 1
    while rest & 1 == 0:
        bit, rest = bit >> 1, rest >> 1
    return at ^ bit


@compiled
def by_sequency(natural: NDArray[Any], out: NDArray[Any]) -> None:
    """Put coefficients into the order of rising numbers of sign changes."""
    at = 0
    for number in range(out.size):
        out[number] = natural[at]
        at = _next_by_sequency(at, number, natural.size)


@compiled
def from_sequency(coefficients: NDArray[Any], out: NDArray[Any]) -> None:
    """Put the first coefficients back into their natural places."""
    at = 0
    for number in range(coefficients.size):
        out[at] = coefficients[number]
        at = _next_by_sequency(at, number, out.size)


@compiled
def energy(values: Integers) -> tuple[Word, Word]:
    """Return the sum of squares, exactly, as the high and the low 64 bits of a number below 2^128."""
    high, low = uint64(0), uint64(0)
    mask = uint64(0xFFFFFFFF)
    for at in range(values.size):
        value = uint64(abs(values[at]))
        top, bottom = value >> uint64(32), value & mask
        middle = top * bottom  # value² = top² · 2^64 + middle · 2^33 + bottom²
        high += top * top + (middle >> uint64(31))
        for part in (bottom * bottom, (middle & uint64(0x7FFFFFFF)) << uint64(33)):
            low += part
            if low < part:
                high += uint64(1)
    return high, low


@compiled
def begin_sweep(
    sums: Integers, starts: Integers, columns: Codes, first: Word, one: Word, counts: Integers, heavy: Integers
) -> None:
    """Count the records in each column from ``first`` on, once whole and once as ``one`` / r, cut down."""
    width = counts.size
    for row in range(sums.size):
        share = one // max(sums[row], 1)
        for at in range(starts[row], starts[row + 1]):
            column = columns[at] - first
            if 0 <= column < width:
                counts[column] += 1
                heavy[column] += share


@compiled
def sweep(
    sums: Integers, starts: Integers, columns: Codes, first: Word, one: Word, bits: Word, base: Word,
    counts: Integers, light: Integers, heavy: Integers, turns: NDArray[np.uint8], turned: Integers,
    row: Word, limit: Word, out: Integers,
) -> Word:  # fmt: skip
    """Write the distance of the scaled column counts from the true ones, for limits from ``limit`` on.

    ``out`` has a row for each limit and a column for each factor ``base``, ``base`` + 1, … hundredths; returns the
    first row of a user above the last limit, to go on from. Between calls are kept: how many records are of users
    at or below the limit (``light``), the summed shares of the others (``heavy``), from which factor on each
    column is over-counted (``turns``: it only ever falls, since counts only grow with the limit), and how many
    records are in columns of each such factor (``turned``).
    """
    factors = out.shape[1]
    scaled = np.empty(factors + 1, dtype=np.int64)
    total = turned.sum() * base << bits
    for step in range(out.shape[0]):
        while row < sums.size and sums[row] <= limit:
            share = one // max(sums[row], 1)
            for at in range(starts[row], starts[row + 1]):
                column = columns[at] - first
                if 0 <= column < counts.size:
                    light[column] += 1
                    heavy[column] -= share
            row += 1
        scaled[:] = 0
        for column in range(counts.size):
            count = (light[column] << bits) + ((limit * heavy[column]) >> bits)
            turn = np.int64(turns[column])
            while turn > 0 and (base + turn - 1) * count >= counts[column] * base << bits:
                turned[turn] -= counts[column]
                turn -= 1
                turned[turn] += counts[column]
                turns[column] = turn
            scaled[turn] += count
        every, over, over_true = scaled.sum(), np.int64(0), np.int64(0)
        for factor in range(factors):
            over += scaled[factor]
            over_true += turned[factor] * base << bits
            out[step, factor] = (total - 2 * over_true) - (base + factor) * (every - 2 * over)
        limit += 1
    return row
