"""Compiled sorting of rows by user and by two whole numbers, in place.

Everything happens in the arrays that are handed over, so that a row takes no more memory than its numbers do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Codes, Integers
from headcount._internal.compiled import Word, compiled

Numbers = NDArray[Any]  # whole numbers of any width, none below 0
_SOON = 1 << 12
"""So many numbers Numba's quicksort puts in order soon enough, in whatever order a user wrote them."""


@compiled
def count_rows(users: Codes, starts: Integers) -> None:
    """Count the rows of every user, a place ahead."""
    for row in range(users.size):
        starts[users[row] + 1] += 1


@compiled
def scatter(users: Codes, cells: Codes, beside: Numbers, ahead: Integers, out: Codes, out_beside: Codes) -> None:
    """Write every row where its user's next one belongs."""
    for row in range(users.size):
        at = ahead[users[row]]
        out[at], out_beside[at] = cells[row], beside[row]
        ahead[users[row]] = at + 1


@compiled
def _sift(numbers: Integers, root: Word, end: Word) -> None:
    """Move a number down until the heap below it has no larger one."""
    child = 2 * root + 1
    while child < end:
        if child + 1 < end and numbers[child] < numbers[child + 1]:
            child += 1
        if numbers[root] >= numbers[child]:
            return
        numbers[root], numbers[child] = numbers[child], numbers[root]
        root, child = child, 2 * child + 1


@compiled
def sort_numbers(numbers: Integers) -> None:
    """Sort in place; many by heapsort: for an order that a user can choose, quicksort takes quadratic time."""
    if numbers.size <= _SOON:
        numbers.sort()
        return
    for root in range(numbers.size // 2 - 1, -1, -1):
        _sift(numbers, root, numbers.size)
    for end in range(numbers.size - 1, 0, -1):
        numbers[0], numbers[end] = numbers[end], numbers[0]
        _sift(numbers, 0, end)


@compiled
def sort_rows(starts: Integers, cells: Codes, beside: Codes) -> None:
    """Sort every user's rows by both numbers."""
    for user in range(starts.size - 1):
        begin, end = starts[user], starts[user + 1]
        both = np.empty(end - begin, dtype=np.int64)
        for at in range(begin, end):
            both[at - begin] = np.int64(cells[at]) << 32 | np.int64(beside[at])
        sort_numbers(both)
        for at in range(begin, end):
            cells[at], beside[at] = both[at - begin] >> 32, both[at - begin] & 0xFFFFFFFF


@compiled
def average(starts: Integers, cells: Codes, values: Codes) -> None:
    """Make one row of each user's sorted rows of a cell, with the mean of their values; they move to the front."""
    to: Word = np.int64(0)
    at: Word = np.int64(0)
    for user in range(starts.size - 1):
        end = starts[user + 1]
        starts[user] = to
        while at < end:
            cell = cells[at]
            total: Word = np.int64(0)
            first = at
            while at < end and cells[at] == cell:
                total += values[at]
                at += 1
            many = at - first
            cells[to], values[to] = cell, (2 * total + many) // (2 * many)
            to += 1
    starts[starts.size - 1] = to


@compiled
def drop_equals(starts: Integers, cells: Codes, beside: Codes) -> None:
    """Keep each of every user's sorted rows once; they move to the front."""
    to: Word = np.int64(0)
    at: Word = np.int64(0)
    for user in range(starts.size - 1):
        end = starts[user + 1]
        starts[user] = to
        while at < end:
            if to == starts[user] or cells[to - 1] != cells[at] or beside[to - 1] != beside[at]:
                cells[to], beside[to] = cells[at], beside[at]
                to += 1
            at += 1
    starts[starts.size - 1] = to
