"""Compiled loops of scores: sums of squares, and one sweep over all clipping thresholds.

All in 64-bit integers, so that what is promised of the results holds to the last digit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Codes, Integers
from headcount._internal.compiled import Word, compiled, uint64


@compiled
def sum_of_squares(values: Integers) -> tuple[Word, Word]:
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
    sums: Integers, starts: Integers, columns: Codes, first: Word, unit: Word, counts: Integers, heavy: Integers
) -> None:
    """Count the records in each column from ``first`` on, once whole and once as ``unit`` / r, cut down."""
    width = counts.size
    for row in range(sums.size):
        share = unit // max(sums[row], 1)
        for at in range(starts[row], starts[row + 1]):
            column = columns[at] - first
            if 0 <= column < width:
                counts[column] += 1
                heavy[column] += share


@compiled
def sweep(
    sums: Integers, starts: Integers, columns: Codes, first: Word, unit: Word, bits: Word, base: Word,
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
            share = unit // max(sums[row], 1)
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
