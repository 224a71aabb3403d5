"""Compiled sums over users' ratings: offsets, pairs, centered co-occurrence, factor gradients and sampled pairs.

Everything up to the one factor that shortens a user is computed in integers, or in floating point in one fixed
order, so that the reference implementations get the same numbers.

A centered user is b x - c g, of which x is short and g the same for all. So what a user adds to a pair is b² where
they have both items, less b c g for each that they have, and c² g g: these are added up apart, and put together
once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Codes, Integers
from headcount._internal.compiled import Word, compiled, inlined
from headcount.bounds.counts.kernels.sample import SampleScratch, SampleSettings, sample_user
from headcount.bounds.kernels.grouping import UserRange
from headcount.bounds.kernels.histories import (
    Modes,
    keep_one_context,
    next_users,
    records_in,
    scratch_for,
    write_distinct_columns,
)

ROUNDING_MARGIN = 1 - 2.0**-31  # more than rounding could add


@inlined
def clip(number: int, furthest: int) -> int:
    """Cut a number to lie within what is furthest."""
    return min(max(number, -furthest), furthest)


@compiled
def offset_sums(
    starts: Integers, items: Codes, values: Codes, first: int, last: int, limit: int, squares: bool,
    usual: int, shy: int, furthest: int, sums: Integers,
) -> None:  # fmt: skip
    """Add the users from ``first`` to ``last`` to the sums: see ``RatingOffsets``."""
    half = 512
    for user in range(first, last):
        begin, end = starts[user], starts[user + 1]
        number = end - begin
        if number == 0:
            continue
        total = 0
        for at in range(begin, end):
            total += values[at]
        mean = (total + shy * usual) // (number + shy)
        length = 0
        for at in range(begin, end):
            residual = clip(values[at] - mean, furthest)
            length += 100 * residual * residual + 81 * half * half if squares else 10 * abs(residual) + 9 * half
        factor = 1.0
        if squares and length > 81 * limit * limit:
            factor = 9.0 * limit / math.sqrt(float(length)) * ROUNDING_MARGIN
        elif not squares and length > 9 * limit:
            factor = 9.0 * limit / length * ROUNDING_MARGIN
        for at in range(begin, end):
            residual = clip(values[at] - mean, furthest)
            item = items[at]
            sums[0, item] += int(factor * residual * 10.0 / 9.0)  # toward zero
            sums[1, item] += int(factor * half)


@compiled
def pair_sums(
    starts: Integers, items: Codes, values: Codes, first: int, last: int, limit: int, squares: bool,
    usual: int, shy: int, furthest: int, places: Codes, size: int, offsets: Integers, sums: Integers,
) -> None:  # fmt: skip
    """Add the users from ``first`` to ``last`` to the sums over pairs: see ``RatingCovariance``.

    Without offsets every item counts 1.
    """
    kept = np.empty(size, dtype=np.int64)
    at_place = np.empty(size, dtype=np.int64)
    for user in range(first, last):
        begin, end = starts[user], starts[user + 1]
        number = end - begin
        mean = 0
        if offsets.size:
            total = 0
            for at in range(begin, end):
                total += values[at] - offsets[items[at]]
            mean = (total + shy * usual) // (number + shy)
        n_items = 0
        length = before = 0.0
        for at in range(begin, end):
            place = places[items[at]]
            if place < 0:
                continue
            residual = 1024
            if offsets.size:
                residual = clip(values[at] - offsets[items[at]] - mean, furthest)
            weight = float(residual * residual) if squares else float(abs(residual))
            length += weight * before
            before += weight
            at_place[n_items], kept[n_items] = place, residual
            n_items += 1
        allowed = float(limit) * 1048576.0 * ROUNDING_MARGIN
        factor = 1.0
        if squares and length > allowed * allowed:
            factor = math.sqrt(allowed / math.sqrt(length))
        elif not squares and length > allowed:
            factor = math.sqrt(allowed / length)
        for at in range(n_items):
            kept[at] = int(factor * kept[at] / 4.0)  # toward zero
        for at in range(n_items):
            row = at_place[at] * (2 * size - at_place[at] - 1) // 2 - at_place[at] - 1
            for other in range(at + 1, n_items):
                sums[row + at_place[other]] += kept[at] * kept[other]


@inlined
def _fits_norm(b: int, c: int, own: Integers, along: int, squares: int, others: int, length: int) -> bool:
    """Say whether b x - c g is short enough; ``others`` is Σ g⁴ over the items that the user does not have."""
    total = b * b * own.size - 2 * b * c * along + c * c * squares
    if total > 2 * length:
        return False
    fourth = c * c * c * c * others
    for g in own:
        residual = b - c * g
        fourth += residual * residual * residual * residual
    return total * total - fourth <= 2 * length * length


@compiled
def centered_cooccurrence_sums(
    starts: Integers, items: Codes, values: Codes, first: int, last: int,  # noqa: ARG001 - as all over ratings
    places: Codes, common: Integers, length: int, most: int, sums: Integers,
) -> None:  # fmt: skip
    """Add the users from ``first`` to ``last``: see ``CenteredCooccurrence``.

    The sums of b² over pairs come first, then those of b c over items, and last that of c².
    """
    size = common.size
    pairs = size * (size - 1) // 2
    squares = fourths = 0
    for g in common:
        squares += g * g
        fourths += g * g * g * g
    at_place, own = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for user in range(first, last):
        n_items = along = 0
        others = fourths
        for at in range(starts[user], starts[user + 1]):
            place = places[items[at]]
            if place >= 0:
                g = common[place]
                at_place[n_items], own[n_items] = place, g
                along += g
                others -= g * g * g * g
                n_items += 1
        if n_items == 0:
            continue
        b, c = most, 0
        left = float(n_items) - (float(along) * float(along) / float(squares) if squares else 0.0)
        if left * most * most > 2.0 * length:  # no larger b will do: the sum of squares is at least left · b²
            b = min(most, int(math.sqrt(2.0 * length / left)) + 1)
        while b > 0:
            c = (2 * b * along + squares) // (2 * squares) if squares else 0
            if _fits_norm(b, c, own[:n_items], along, squares, others, length):
                break
            b -= 1
        if b == 0:
            continue
        sums[pairs + size] += c * c
        for at in range(n_items):
            sums[pairs + at_place[at]] += b * c
            row = at_place[at] * (2 * size - at_place[at] - 1) // 2 - at_place[at] - 1
            for other in range(at + 1, n_items):
                sums[row + at_place[other]] += b * b


@inlined
def _solve(table: Integers, sums: Integers, furthest: int, rows: np.ndarray, taste: Integers) -> None:
    """Solve table · taste = sums by elimination, without exchanging rows: the table is positive definite.

    The taste comes in whole units of 1/1024, toward zero.
    """
    size = sums.size
    for row in range(size):
        for column in range(size):
            rows[row, column] = float(table[row, column])
        rows[row, size] = float(sums[row])
    for row in range(size):
        for column in range(row + 1, size):
            part = rows[column, row] / rows[row, row]
            for at in range(row, size + 1):
                rows[column, at] -= part * rows[row, at]
    for row in range(size - 1, -1, -1):
        for column in range(row + 1, size):
            rows[row, size] -= rows[row, column] * rows[column, size]
        rows[row, size] /= rows[row, row]
    for row in range(size):
        taste[row] = int(min(max(1024.0 * rows[row, size], -float(furthest)), float(furthest)))


@compiled
def factor_gradient_sums(
    starts: Integers, items: Codes, values: Codes, first: int, last: int, limit: int, usual: int, shy: int,
    furthest: int, furthest_factor: int, divided: int, places: Codes, factors: Integers, offsets: Integers,
    sums: Integers,
) -> None:  # fmt: skip
    """Add the users from ``first`` to ``last`` to the sums: see ``FactorGradients``."""
    size, depth = factors.shape
    at_place, residuals = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    table, right_side = np.empty((depth, depth), dtype=np.int64), np.empty(depth, dtype=np.int64)
    taste, rows = np.empty(depth, dtype=np.int64), np.empty((depth, depth + 1))
    allowed = limit * ROUNDING_MARGIN
    for user in range(first, last):
        begin, end = starts[user], starts[user + 1]
        total = 0
        for at in range(begin, end):
            total += values[at] - offsets[items[at]]
        mean = (total + shy * usual) // (end - begin + shy)
        n_items = squared_residuals = 0
        table[:], right_side[:] = 0, 0
        for k in range(depth):
            table[k, k] = 1048576
        for at in range(begin, end):
            place = places[items[at]]
            if place < 0:
                continue
            residual = clip(values[at] - offsets[items[at]] - mean, furthest)
            at_place[n_items], residuals[n_items] = place, residual
            n_items += 1
            squared_residuals += residual * residual
            for k in range(depth):
                right_side[k] += factors[place, k] * residual
                for m in range(depth):
                    table[k, m] += factors[place, k] * factors[place, m]
        _solve(table, right_side, furthest_factor, rows, taste)
        squares = products = 0
        for k in range(depth):
            squares += taste[k] * taste[k]
            for m in range(k, depth):
                both = taste[k] * taste[m]
                products += both * both
        length = float(squares) * float(squared_residuals) + (n_items / divided) * (n_items / divided) * float(
            products
        )
        factor = 1.0
        if length > allowed * allowed:
            factor = allowed / math.sqrt(length)
        for at in range(n_items):
            for k in range(depth):
                sums[at_place[at] * depth + k] += int(factor * (residuals[at] * taste[k]))  # toward zero
        column = size * depth
        for k in range(depth):
            for m in range(k, depth):
                sums[column] += int(factor * (n_items * taste[k] * taste[m]) / divided)
                column += 1


class PairSums(NamedTuple):
    """Where a thread counts the pairs of items."""

    pairs: Integers


@compiled
def count_item_pairs(
    piece: UserRange, modes: Modes, keeping: SampleSettings, spare: SampleScratch, places: Codes, many: Word,
    paired: PairSums,
) -> None:  # fmt: skip
    """Keep what is allowed of every user's records, and count each two items that they are about.

    ``places`` has the place of each item among ``many`` ones, -1 for others.
    """
    sums = paired.pairs
    room, run = scratch_for(0, 0), np.int64(0)
    reached = piece.first
    while reached < piece.last:
        reached, users, room = next_users(piece, keeping.limit, reached, room)
        starts, cells, weights, keys = users
        slots, numbers, heap, held = room
        for user in range(keys.size):
            begin, end = starts[user], starts[user + 1]
            if modes.one_context and begin < end:
                end = keep_one_context(cells, weights, begin, end, modes.width, keys[user])
            if begin == end:
                continue
            total = records_in(weights, begin, end)
            size, run = sample_user(
                cells[begin:end], weights[begin:end], total, keys[user], keeping, modes, spare, slots, numbers,
                run,
                heap, held,
            )  # fmt: skip
            run += 1
            different = write_distinct_columns(held, 0, size, modes.width, modes.secret, held, run, slots)
            size = 0
            for at in range(different):
                place = places[held[at]]
                if place >= 0:
                    held[size] = place
                    size += 1
            mine = held[:size]
            mine.sort()
            for first in range(size):
                row = mine[first] * many - mine[first] * (mine[first] + 1) // 2 - mine[first] - 1
                for second in range(first + 1, size):
                    sums[row + mine[second]] += 1
