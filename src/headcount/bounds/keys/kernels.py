"""Compiled key support: the few items of lowest priority of each user, whatever their order.

A history is what one person did, or did in one context. It has ``filled`` items so far, sorted by their priority,
which is a function of the person and the item: so an item that comes up again finds itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Codes, Draws
from headcount._internal.compiled import Word, compiled
from headcount.bounds.kernels.draws import GOLDEN, mix


@compiled
def keep_items(
    histories: Codes, items: Codes, keys: Draws, item_keys: Draws, filled: Codes, priorities: Draws, kept: Codes
) -> None:
    """Take rows in: the history and the item of each, -1 for one that does not count.

    ``keys`` has the key of each history's person; see :func:`headcount.bounds.draws.item_draws`.
    """
    limit = kept.shape[1]
    for row in range(items.size):
        item, history = items[row], histories[row]
        if item < 0:
            continue
        priority = mix(keys[history] + item_keys[item] * GOLDEN)
        size: Word = np.int64(filled[history])
        if size == limit and priority >= priorities[history, size - 1]:
            continue
        low: Word = np.int64(0)
        high: Word = size
        while low < high:
            middle = (low + high) // 2
            if priorities[history, middle] < priority:
                low = middle + 1
            else:
                high = middle
        place = low
        while place < size and priorities[history, place] == priority and kept[history, place] != item:
            place += 1
        if place < size and priorities[history, place] == priority:
            continue  # there already
        last = size - 1 if size == limit else size
        for at in range(last, low, -1):
            priorities[history, at] = priorities[history, at - 1]
            kept[history, at] = kept[history, at - 1]
        priorities[history, low] = priority
        kept[history, low] = item
        filled[history] = last + 1


@compiled
def count_users(chosen: NDArray[np.int64], filled: Codes, kept: Codes, users: NDArray[np.int64]) -> None:
    """Count, for each item, the chosen histories that keep it."""
    for at in range(chosen.size):
        history = chosen[at]
        for place in range(filled[history]):
            users[kept[history, place]] += 1
