"""Compiled class profiles of users, and counts of a few top items on the same pass.

On the same way the records of some items are told apart, and counted by themselves: see
``bounds.counts.top_item_counts``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Codes, Integers
from headcount._internal.compiled import Word, compiled, inlined, uint64
from headcount.bounds.counts.kernels.weight import place_of, weight_of
from headcount.bounds.kernels import scratch
from headcount.bounds.kernels.grouping import HeldRecords, UserRange, add_ungrouped, next_sizes
from headcount.bounds.kernels.histories import (
    MOST_OF_ONE,
    MOST_SQUARES,
    Modes,
    keep_one_context,
    next_users,
    records_in,
    scratch_for,
    squares_in,
    write_distinct_columns,
)

_MANY = 1 << 46
"""With so many records and more, as rows that stand for many can have, units of them are counted with care."""


class ClassProfileSettings(NamedTuple):
    """What sharing asks for: the width of the table's columns in cells, classes, and whom to count.

    Classes are of columns where a column counts once, and of cells where every record does: rows need no division.
    Some items may stand beside the ``number`` classes, as if each were one: ``kinds`` says which class it is in.
    Their records are weighed under each of the ``limits``, and users counted by how much of them they have, up to
    each of the ``ends``: of users beyond ``most`` each record weighs less to begin with.
    """

    column_width: int
    classes: Codes
    number: int
    above: int
    most: int
    unit: int
    squares: bool
    kinds: Integers
    limits: Integers
    ends: Integers


class ClassProfileSums(NamedTuple):
    """What is summed up.

    ``sums`` has a row of classes for each power of two that a size can be at, the first being 1. Of items that are
    looked at, ``people`` has a place for each end and one beyond; ``weighed`` has a row for each limit, of what
    users above it add there; and ``whole`` what users add from that limit on, however large.
    """

    sums: Integers
    people: Integers
    weighed: Integers
    whole: Integers


@inlined
def _size_power(size: Word, last: Word) -> Word:
    """Return which power of two a size is at or above, or the last one."""
    power: Word = np.int64(0)
    while power < last and np.int64(2) << power <= size:
        power += 1
    return power


@compiled
def _fraction(unit: Word, many: Word, size: Word) -> Word:
    """Return ``unit * many // size``, of no more than ``size``; bit by bit where the product would not fit."""
    if many < np.int64(_MANY):
        return unit * many // size
    if many >= size:
        return unit
    quotient, remainder = np.int64(0), many
    while unit > 1:
        unit, quotient, remainder = unit >> 1, 2 * quotient, 2 * remainder
        if remainder >= size:
            quotient, remainder = quotient + 1, remainder - size
    return quotient


@compiled
def _add_to_sizes(tally: Integers, size: Word, most: Word, unit: Word, sums: Integers) -> None:
    """Spread a user, who has so many records of each class, over the two powers of two around their size."""
    number = tally.size
    last = np.int64(sums.size // number - 1)
    stand = min(size, np.int64(most))
    power = _size_power(stand, last)
    whole = np.int64(1) << power
    for kind in range(number):
        if tally[kind] == 0:
            continue
        part = _fraction(np.int64(unit), tally[kind], size)
        further: Word = np.int64(0)
        if power < last:
            further = part * (stand - whole) // whole
            sums[(power + 1) * number + kind] += further
        sums[power * number + kind] += part - further


@compiled
def _count_top_items(
    tally: Integers,
    all_records: Word,
    most: Word,
    unit: Word,
    squares: Word,
    limits: Integers,
    ends: Integers,
    users_by_place: Integers,
    weighed: Integers,
    whole: Integers,
) -> None:
    """Count a user who has so many records of each of some items: see :class:`ClassProfileSums`."""
    items, size = tally.size, np.int64(0)
    for item in range(items):
        n_records = tally[item]
        if not squares:
            size += n_records
        elif n_records > MOST_OF_ONE or size == MOST_SQUARES:
            size = np.int64(MOST_SQUARES)
        else:
            size = min(size + n_records * n_records, np.int64(MOST_SQUARES))
    if size == 0:
        return
    unit_weight, stand = unit, size
    if all_records > most:
        unit_weight = unit * most // all_records
        stand = max((size * unit_weight + unit - 1) // unit, np.int64(1))
    users_by_place[place_of(stand, stand, ends)] += 1
    for rung in range(limits.size):
        weight = weight_of(size, limits[rung], unit, squares)
        if weight >= unit_weight:
            for item in range(items):
                whole[rung * items + item] += unit_weight * tally[item]
            break
        for item in range(items):
            weighed[rung * items + item] += weight * tally[item]


@compiled
def _count_user(tally: Integers, size: Word, sharing: ClassProfileSettings, shared: ClassProfileSums) -> None:
    """Count a user of a size, who has so many records of each class, and of each item beside them."""
    _, _, number, above, most, unit, squares, kinds, limits, ends = sharing
    if kinds.size > 0:
        mine, parts = tally[number:], (shared.people, shared.weighed, shared.whole)
        _count_top_items(mine, size, most, unit, squares, limits, ends, *parts)
    if size > above:
        for item in range(kinds.size):
            tally[kinds[item]] += tally[number + item]
        _add_to_sizes(tally[:number], size, most, unit, shared.sums)


@compiled
def _profile_ungrouped(
    held: HeldRecords | None,
    users: Word,
    at: Word,
    last: Word,
    modes: Modes,
    sharing: ClassProfileSettings,
    shared: ClassProfileSums,
) -> Word:
    """Share users whose every row is a record, which then need not be grouped; return where to go on."""
    if held is not None:  # Numba leaves out what is asked of None
        alike = not (modes.distinct or modes.one_context or sharing.squares)
        width = sharing.number + sharing.kinds.size
        while alike and held.weights.size == 0 and at < last:
            first = at
            at, sizes = next_sizes(held, users, first, last)
            rows, user_weights = scratch.zeros(sizes.size), scratch.integers(sizes.size)
            counted = np.int64(0)
            for user in range(sizes.size):
                user_weights[user] = 1
                if sizes[user] > sharing.above or (sizes[user] > 0 and sharing.kinds.size > 0):
                    counted += 1
                    rows[user] = counted * width  # the row before is of all who do not count
            tallies = scratch.zeros((counted + 1) * width)
            add_ungrouped(held, first, at, rows, user_weights, sharing.classes, tallies)
            for user in range(sizes.size):
                if rows[user] > 0:
                    _count_user(tallies[rows[user] : rows[user] + width], sizes[user], sharing, shared)
    return at


@compiled
def profile_users(piece: UserRange, modes: Modes, sharing: ClassProfileSettings, shared: ClassProfileSums) -> None:
    """Spread every user over the classes of their records: see :class:`ClassProfileSettings`."""
    column_width, classes, number, above, _, _, squares, kinds, _, _ = sharing
    tally = scratch.zeros(number + kinds.size)
    room, run = scratch_for(0, 0), np.int64(0)
    reached = _profile_ungrouped(piece.held, piece.keys.size, piece.first, piece.last, modes, sharing, shared)
    while reached < piece.last:
        reached, users, room = next_users(piece, 0, reached, room)
        starts, cells, weights, keys = users
        slots, numbers, _, held = room
        for user in range(keys.size):
            begin, end = starts[user], starts[user + 1]
            if modes.one_context and begin < end:
                end = keep_one_context(cells, weights, begin, end, modes.width, keys[user])
            if begin == end:
                continue
            run += 1
            if modes.distinct:
                size = write_distinct_columns(
                    cells, begin, end, np.int64(column_width), modes.secret, held, run, slots
                )
            elif squares:
                size = squares_in(
                    cells, weights, begin, end, np.int64(modes.width), modes.secret, run, slots, numbers
                )
            else:
                size = records_in(weights, begin, end)
            if size <= above and kinds.size == 0:
                continue
            for kind in range(tally.size):  # one by one: assigning a slice takes seconds to compile
                tally[kind] = 0
            if modes.distinct:
                for at in range(size):
                    tally[classes[held[at]]] += 1
            else:
                for at in range(begin, end):
                    tally[uint64(classes[uint64(cells[at])])] += weights[at] if weights.size > 0 else 1
            _count_user(tally, size, sharing, shared)
