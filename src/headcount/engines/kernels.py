"""Compiled loops of the local engine: two streamed passes that keep each user's best records.

The first pass (:func:`census`) counts every user's records, and keeps for every (user, cell) an upper bound of
how often it occurs, in a fixed table of small counters shared by whatever hashes to the same place. The second
(:func:`select`) keeps the ``limit`` records of smallest priority per user in a heap. A record whose cell is
certain to occur once has number 0 among its equals. One that may have equals is counted exactly, but only if
one of its possible numbers could still enter its user's heap; so the exact counts stay few, and no pass ever
holds the events.

Users are dealt to threads by code; each thread owns its users' state, so there is nothing to merge or lock.
"""

from __future__ import annotations

import numpy as np
from numba import njit, uint64

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MANY = 255  # a counter at its end: the cell may occur any number of times


@njit(cache=True, nogil=True, inline="always")
def _mix(x):  # type: ignore[no-untyped-def]
    x = (x ^ (x >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> uint64(27))) * uint64(0x94D049BB133111EB)
    return x ^ (x >> uint64(31))


@njit(cache=True, nogil=True, inline="always")
def _place(user, cell, mask):  # type: ignore[no-untyped-def]
    x = (uint64(user) << uint64(32) | uint64(cell)) * _GOLDEN
    return ((x ^ (x >> uint64(29))) * uint64(0xBF58476D1CE4E5B9)) >> uint64(24) & mask


@njit(cache=True, nogil=True)
def census(users, cells, times, part, parts, totals, bounds):  # type: ignore[no-untyped-def]
    """Add a batch to the totals of this part's users and to the bounds on how often a cell occurs."""
    mask = uint64(bounds.size - 1)
    for row in range(users.size):
        user, cell = users[row], cells[row]
        if user % parts != part or cell < 0:
            continue
        weight = times[row] if times.size else np.int64(1)
        totals[user] += weight
        if bounds.size > 1:
            place = _place(user, cell, mask)
            bounds[place] = min(bounds[place] + weight, _MANY)


@njit(cache=True, nogil=True)
def tally_contexts(users, cells, times, width, tallies):  # type: ignore[no-untyped-def]
    """Count how many records each user has in each context."""
    for row in range(users.size):
        if cells[row] >= 0:
            tallies[users[row], cells[row] % width] += times[row] if times.size else np.int64(1)


@njit(cache=True, nogil=True)
def _offer(user, priority, cell, first, heap, held, fill, worst):  # type: ignore[no-untyped-def]
    """Put a record into its user's heap (largest priority first), in place of the largest if it is full."""
    begin, room = first[user], first[user + 1] - first[user]
    if fill[user] < room:
        at = np.int64(fill[user])
        fill[user] += 1
        while at > 0:
            parent = (at - 1) >> 1
            above, its = heap[begin + parent], held[begin + parent]
            if above > priority or (above == priority and its > cell):
                break
            heap[begin + at], held[begin + at] = above, its
            at = parent
    else:
        if heap[begin] < priority or (heap[begin] == priority and held[begin] <= cell):
            return
        at = np.int64(0)
        while True:
            child = 2 * at + 1
            if child >= room:
                break
            if child + 1 < room and (
                heap[begin + child + 1] > heap[begin + child]
                or (heap[begin + child + 1] == heap[begin + child] and held[begin + child + 1] > held[begin + child])
            ):
                child += 1
            below, its = heap[begin + child], held[begin + child]
            if below < priority or (below == priority and its <= cell):
                break
            heap[begin + at], held[begin + at] = below, its
            at = child
    heap[begin + at] = priority
    held[begin + at] = cell
    if fill[user] == room:
        worst[user] = heap[begin]


@njit(cache=True, nogil=True)
def select(  # type: ignore[no-untyped-def]
    users, cells, times, row, part, parts, totals, bounds, limit, keys, ranks, bits, width,
    first, heap, held, fill, worst, repeated, numbers, entries, counts,
):  # fmt: skip
    """Take a batch from ``row`` on; return the row reached and the number of exactly counted cells.

    Users within the limit are counted outright. Stops early when the table of exact counts is half full.
    """
    mask = uint64(bounds.size - 1)
    slots = uint64(repeated.size - 1)
    shift = uint64(64 - bits)
    while row < users.size:
        user, cell = users[row], cells[row]
        if user % parts != part or cell < 0:
            row += 1
            continue
        weight = times[row] if times.size else np.int64(1)
        if totals[user] <= limit:
            counts[cell] += weight
            row += 1
            continue
        top = uint64(0)
        if bits > 0:
            top = uint64(ranks[cell // width]) << shift
            if top > worst[user]:
                row += 1
                continue
        most = np.int64(bounds[_place(user, cell, mask)])
        draw = _mix(keys[user] + uint64(cell + 1) * _GOLDEN)
        begin = np.int64(0)
        if most > weight or most == _MANY:
            may_enter = most == _MANY or top | (draw >> uint64(bits)) <= worst[user]
            number = np.int64(1)
            while not may_enter and number < most:
                may_enter = top | (_mix(draw + uint64(number) * _GOLDEN) >> uint64(bits)) <= worst[user]
                number += 1
            if not may_enter:
                row += 1
                continue
            if 2 * (entries + 1) > repeated.size:
                return row, entries
            name = uint64(user) << uint64(32) | uint64(cell)
            slot = _mix(name) & slots
            while numbers[slot] > 0 and repeated[slot] != name:
                slot = (slot + uint64(1)) & slots
            if numbers[slot] == 0:
                repeated[slot] = name
                entries += 1
            begin = numbers[slot]
            numbers[slot] += weight
        for number in range(begin, begin + weight):
            ticket = draw if number == 0 else _mix(draw + uint64(number) * _GOLDEN)
            priority = top | (ticket >> uint64(bits))
            if priority <= worst[user]:
                _offer(user, priority, cell, first, heap, held, fill, worst)
        row += 1
    return row, entries


@njit(cache=True, nogil=True)
def select_distinct(  # type: ignore[no-untyped-def]
    users, cells, part, parts, keys, ranks, bits, width, first, heap, held, fill, worst
):  # fmt: skip
    """As :func:`select`, for distinct cells: a cell that is held already is not taken again."""
    shift = uint64(64 - bits)
    for row in range(users.size):
        user, cell = users[row], cells[row]
        if user % parts != part or cell < 0:
            continue
        top = uint64(ranks[cell // width]) << shift if bits > 0 else uint64(0)
        if top > worst[user]:
            continue
        priority = top | (_mix(keys[user] + uint64(cell + 1) * _GOLDEN) >> uint64(bits))
        if priority > worst[user]:
            continue
        known = False
        for at in range(first[user], first[user] + fill[user]):
            if heap[at] == priority and held[at] == cell:
                known = True
                break
        if not known:
            _offer(user, priority, cell, first, heap, held, fill, worst)


@njit(cache=True, nogil=True)
def copy_entries(repeated, numbers, to_repeated, to_numbers):  # type: ignore[no-untyped-def]
    """Move exact counts to a larger table."""
    slots = uint64(to_repeated.size - 1)
    for at in range(repeated.size):
        if numbers[at] > 0:
            slot = _mix(repeated[at]) & slots
            while to_numbers[slot] > 0:
                slot = (slot + uint64(1)) & slots
            to_repeated[slot] = repeated[at]
            to_numbers[slot] = numbers[at]


@njit(cache=True, nogil=True)
def count_held(first, held, fill, counts):  # type: ignore[no-untyped-def]
    """Add the records that the heaps hold to the counts."""
    for user in range(fill.size):
        for at in range(first[user], first[user] + fill[user]):
            counts[held[at]] += 1


@njit(cache=True, nogil=True)
def count_held_items(first, held, fill, width, counts):  # type: ignore[no-untyped-def]
    """Count each user once for every item among the cells held."""
    for user in range(fill.size):
        mine = np.sort(held[first[user] : first[user] + fill[user]])
        last = np.int64(-1)
        for cell in mine:
            item = cell // width
            if item != last:
                counts[item] += 1
                last = item


@njit(cache=True, nogil=True, inline="always")
def _rotate(x, by):  # type: ignore[no-untyped-def]
    return (x << uint64(by)) | (x >> uint64(64 - by))


@njit(cache=True, nogil=True, inline="always")
def _sip(a, b, c, d):  # type: ignore[no-untyped-def]
    a += b
    b = _rotate(b, 13) ^ a
    a = _rotate(a, 32)
    c += d
    d = _rotate(d, 16) ^ c
    a += d
    d = _rotate(d, 21) ^ a
    c += b
    b = _rotate(b, 17) ^ c
    c = _rotate(c, 32)
    return a, b, c, d


@njit(cache=True, nogil=True)
def _siphash(k0, k1, data, begin, end):  # type: ignore[no-untyped-def]
    a, b = k0 ^ uint64(0x736F6D6570736575), k1 ^ uint64(0x646F72616E646F6D)
    c, d = k0 ^ uint64(0x6C7967656E657261), k1 ^ uint64(0x7465646279746573)
    length = end - begin
    for block in range(length // 8 + 1):
        word = uint64(length & 0xFF) << uint64(56) if block == length // 8 else uint64(0)
        for at in range(8 * block, min(8 * block + 8, length)):
            word |= uint64(data[begin + at]) << uint64(8 * (at - 8 * block))
        d ^= word
        a, b, c, d = _sip(a, b, c, d)
        a, b, c, d = _sip(a, b, c, d)
        a ^= word
    c ^= uint64(0xFF)
    for _ in range(4):
        a, b, c, d = _sip(a, b, c, d)
    return a ^ b ^ c ^ d


@njit(cache=True, nogil=True)
def keys_of_texts(k0, k1, data, ends, out):  # type: ignore[no-untyped-def]
    """Write the key of every text; whole numbers come as texts of 8 bytes."""
    for at in range(ends.size):
        out[at] = _siphash(k0, k1, data, ends[at - 1] if at > 0 else np.int64(0), ends[at])
