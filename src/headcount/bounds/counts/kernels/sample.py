"""Compiled sampling: keep the records of lowest priority of each user, and count or collect them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Codes, Draws, Integers
from headcount._internal.compiled import Word, compiled, inlined, uint64
from headcount.bounds.kernels.draws import GOLDEN, mix
from headcount.bounds.kernels.grouping import UserRange
from headcount.bounds.kernels.histories import (
    Modes,
    add_rows,
    find_slot,
    keep_one_context,
    mask_for,
    next_users,
    records_in,
    scratch_for,
    write_distinct_columns,
)

_MOST_BITS = 1 << 21  # bits for cells that fit the processor's cache
_STEP = 1 << 9  # draws made at once
_MOST_RANKED = 1 << 9  # of the lowest draws: beyond, a heap is quicker than comparing all with all
_NO_BAR = np.uint64(0xFFFFFFFFFFFFFFFF)


class SampleSettings(NamedTuple):
    """How many records of a user are kept, by their items' ranks, of so many bits, first; and of which users."""

    limit: int
    ranks: Integers
    bits: int
    admission: np.uint64
    everyone: bool


class CountTables(NamedTuple):
    """Where a thread counts: cells, and items."""

    edges: Integers
    items: Integers


class SampleScratch(NamedTuple):
    """Scratch space of one thread: a bit for each cell, all zero; some draws; the low ones, and their cells."""

    marks: Draws
    draws: Draws
    lowest: Draws
    theirs: Codes


def sample_scratch_for(cells: int, *, weighted: bool) -> SampleScratch:
    """Return scratch space; there are no bits where cells are too many, or do not tell equal records apart.

    Rows with weights do not. In a packed store equal records are one entry: the first of a cell is the only one.
    """
    words = cells // 64 + 1 if cells <= _MOST_BITS and not weighted else 0
    most = _MOST_RANKED + _STEP
    room = np.empty(_STEP, np.uint64), np.empty(most, np.uint64), np.empty(most, np.int32)
    return SampleScratch(np.zeros(words, np.uint64), *room)


@inlined
def _after(priority: Word, cell: Word, other: Word, its: Word) -> Word:
    return priority > other or (priority == other and cell > its)


@compiled
def _push(priority: Word, cell: Word, heap: Draws, held: Codes, size: Word) -> Word:
    """Put a record into a heap (last to keep on top), in place of the top if it is full; return its size."""
    if size < heap.size:
        at = size
        while at > 0:
            parent = (at - 1) >> 1
            if _after(heap[parent], held[parent], priority, cell):
                break
            heap[at], held[at] = heap[parent], held[parent]
            at = parent
        size += 1
    else:
        if not _after(heap[0], held[0], priority, cell):
            return size
        at = 0
        while True:
            child = 2 * at + 1
            if child >= heap.size:
                break
            if child + 1 < heap.size and _after(heap[child + 1], held[child + 1], heap[child], held[child]):
                child += 1
            if not _after(heap[child], held[child], priority, cell):
                break
            heap[at], held[at] = heap[child], held[child]
            at = child
    heap[at] = priority
    held[at] = cell
    return size


@compiled
def _sample_numbered(
    cells: Codes, weights: Integers, key: Word, bar: Word, ranks: Integers, bits: Word, width: Word,
    distinct: Word, secret: Word, marks: Draws, slots: Integers, numbers: Integers, run: Word, heap: Draws,
    held: Codes,
) -> Word:  # fmt: skip
    """Keep the records of smallest priority, none above ``bar``, of one user in ``heap``; return how many.

    Equal records are numbered: ``marks`` has a bit for every cell and tells the first record of a cell from its
    equals, ``slots`` and ``numbers`` count those. Where there are too many cells for bits, ``marks`` is empty and
    all records are counted. It is all zero before and after.
    """
    size: Word = np.int64(0)
    worst = bar  # the largest priority that may still enter
    mask = mask_for(cells.size)
    shift = uint64(64 - bits)
    weighted = weights.size > 0 and not distinct
    for at in range(cells.size):
        cell = np.int64(cells[at])
        top = uint64(0)
        if bits > 0:
            top = uint64(ranks[cell // width]) << shift
            if top > worst:
                continue  # so are all its equals, from here on
        weight = weights[at] if weighted else np.int64(1)
        number: Word = np.int64(0)
        bit = uint64(1) << uint64(cell & 63)
        if marks.size > 0 and marks[cell >> 6] & bit == 0:
            marks[cell >> 6] |= bit
        else:
            slot = find_slot(cell, secret, run, mask, slots)
            if slots[slot] == np.int64(run) << 32 | cell:
                number = numbers[slot]
            else:
                slots[slot] = np.int64(run) << 32 | cell
                number = np.int64(1) if marks.size > 0 else np.int64(0)
            numbers[slot] = number + weight
            if distinct and number > 0:
                continue
        first = mix(key + uint64(cell + 1) * GOLDEN)
        for record_number in range(number, number + weight):
            draw = first if record_number == 0 else mix(first + uint64(record_number) * GOLDEN)
            priority = top | (draw >> uint64(bits))
            if priority <= worst:
                size = _push(priority, cell, heap, held, size)
                if size == heap.size and heap[0] < worst:
                    worst = heap[0]
    if marks.size > 0:
        for at in range(cells.size):
            marks[cells[at] >> 6] = 0
    return size


@compiled
def _has_repeats(cells: Codes, marks: Draws) -> Word:
    """Whether any cell comes twice; ``marks`` is all zero before and after."""
    twice = uint64(0)
    for at in range(cells.size):
        place = uint64(cells[at])
        word, bit = marks[place >> uint64(6)], uint64(1) << (place & uint64(63))
        twice |= word & bit
        marks[place >> uint64(6)] = word | bit
    for at in range(cells.size):
        marks[uint64(cells[at]) >> uint64(6)] = 0
    return twice != 0


@compiled
def _sample_distinct(
    cells: Codes, key: Word, bar: Word, draws: Draws, lowest: Draws, theirs: Codes, heap: Draws, held: Codes
) -> Word:
    """Do what :func:`_sample_numbered` does for one user's records if no two are equal and none precedes another.

    Draws are made without a branch between them, so that the processor makes several at once. So are the few that
    are not above the bar compared, each with all; unless these are many, which go through the heap.
    """
    limit, size, candidates = uint64(heap.size), np.int64(0), uint64(0)
    ranked = 2 * limit <= uint64(_MOST_RANKED)
    for start in range(0, cells.size, _STEP):
        some = cells[start : start + _STEP]
        for at in range(some.size):
            draws[at] = mix(key + uint64(some[at] + 1) * GOLDEN)
        for at in range(some.size):
            lowest[candidates], theirs[candidates] = draws[at], some[at]
            candidates += uint64(draws[at] <= bar)
        if not ranked or candidates > uint64(_MOST_RANKED):
            ranked = False
            for at in range(candidates):
                size = _push(lowest[at], np.int64(theirs[at]), heap, held, size)
            candidates = uint64(0)
    if ranked and candidates >= limit:
        for at in range(candidates):
            before = uint64(0)
            for other in range(candidates):
                before += uint64(lowest[other] < lowest[at])
            held[size] = theirs[at]  # there is room for all of the user's records, and one place beyond the limit
            size += np.int64(before < limit)
    return size


@inlined
def _likely_threshold(limit: Word, total: Word, bits: Word) -> Word:
    """Return a priority that about ``limit`` records and some more stay below, to spare the heap the others."""
    enough = limit + 3 * np.sqrt(limit) + 1
    if bits > 0 or enough >= total:
        return _NO_BAR
    return uint64(enough / total * 2.0**64)


@compiled
def sample_user(
    cells: Codes, weights: Integers, total: Word, key: Word, keeping: SampleSettings, modes: Modes,
    spare: SampleScratch,
    slots: Integers, numbers: Integers, run: Word, heap: Draws, held: Codes,
) -> tuple[Word, Word]:  # fmt: skip
    """Keep at most ``limit`` of one user's ``total`` records in ``held``; return how many, and the last run."""
    limit, ranks, bits, _, _ = keeping
    marks, draws, lowest, theirs = spare
    room = min(limit, total)
    bar = _likely_threshold(limit, total, bits)
    size: Word = np.int64(0)
    heap = heap[:room]
    plain = bar != _NO_BAR and marks.size > 0 and (weights.size == 0 or modes.distinct)
    if plain and not _has_repeats(cells, marks):
        size = _sample_distinct(cells, key, bar, draws, lowest, theirs, heap, held)
        bar = _NO_BAR  # if it was too low, all are looked at
    while size < room:
        run += 1
        size = _sample_numbered(
            cells, weights, key, bar, ranks, bits, modes.width, modes.distinct, modes.secret, marks, slots,
            numbers, run, heap, held,
        )  # fmt: skip
        if bar == _NO_BAR:
            break
        bar = _NO_BAR  # the bar was too low
    return size, run


@inlined
def _is_admitted(key: Word, keeping: SampleSettings) -> Word:
    return keeping.everyone or mix(mix(key)) < keeping.admission


@compiled
def count_sampled(
    piece: UserRange, modes: Modes, keeping: SampleSettings, spare: SampleScratch, counts: CountTables
) -> None:
    """Keep what the bound allows of every user's records, and count it.

    Edges count kept records, or kept cells if ``distinct``; items count the distinct items among kept cells, and
    are left alone otherwise.
    """
    edges, items = counts
    room, run = scratch_for(0, 0), np.int64(0)
    reached = piece.first
    while reached < piece.last:
        reached, users, room = next_users(piece, keeping.limit, reached, room)
        starts, cells, weights, keys = users
        slots, numbers, heap, held = room
        for user in range(keys.size):
            if not _is_admitted(keys[user], keeping):
                continue
            begin, end = starts[user], starts[user + 1]
            if modes.one_context and begin < end:
                end = keep_one_context(cells, weights, begin, end, modes.width, keys[user])
            if begin == end:
                continue
            total = records_in(weights, begin, end)
            if total <= keeping.limit and not modes.distinct:
                add_rows(edges, cells, weights, begin, end, np.int64(1))
                continue
            mine, times = cells[begin:end], weights[begin:end]
            size, run = sample_user(
                mine, times, total, keys[user], keeping, modes, spare, slots, numbers, run, heap, held
            )  # fmt: skip
            for at in range(size):
                edges[held[at]] += 1
            if modes.distinct:
                run += 1
                for at in range(size):
                    item = np.int64(held[at]) // modes.width
                    slot = find_slot(item, modes.secret, run, mask_for(size), slots)
                    if slots[slot] != np.int64(run) << 32 | item:
                        slots[slot] = np.int64(run) << 32 | item
                        items[item] += 1


class CollectedColumns(NamedTuple):
    """Columns, ``width`` cells each, and for each number of records where the next user's go."""

    width: int
    ahead: Integers
    columns: Codes


@compiled
def collect_columns(
    piece: UserRange, modes: Modes, keeping: SampleSettings, spare: SampleScratch, gathered: CollectedColumns
) -> None:
    """Write the columns of every user's records, at most ``keeping.limit`` random ones, where ``ahead`` says."""
    column_width, ahead, columns = gathered
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
            if modes.distinct:
                run += 1
                size = write_distinct_columns(cells, begin, end, column_width, modes.secret, held, run, slots)
            elif total <= keeping.limit:
                to = ahead[total]
                for at in range(begin, end):
                    for _ in range(weights[at] if weights.size > 0 else 1):
                        columns[to] = cells[at] // column_width
                        to += 1
                ahead[total] = to
                continue
            else:
                size, run = sample_user(
                    cells[begin:end], weights[begin:end], total, keys[user], keeping, modes, spare, slots, numbers,
                    run, heap, held,
                )  # fmt: skip
                for at in range(size):
                    held[at] = held[at] // column_width
            to = ahead[size]
            for at in range(size):
                columns[to + at] = held[at]
            ahead[size] = to + size
