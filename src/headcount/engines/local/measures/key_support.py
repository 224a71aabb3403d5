"""Local measurement of key support: the users of each item, for a few random items of each user.

A person's items are ordered by :func:`headcount.bounds.draws.item_draws`, a keyed function of that person's raw
id and the raw id of the item, and the first ``limit`` different ones count. So nobody's choice hangs on anybody
else, nor on the order of rows. Where each user keeps one context alone, records of their other contexts do not
count.

One pass over the log. Memory follows the number of people times ``limit`` (12 bytes each), and the number of
items, not that of events; with ``--context-of user``, the number of pairs of person and context times ``limit``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount._internal.arrays import Draws, Integers
from headcount.bounds import BoundedKeySupport, KeySupport, draws, seal_key_support
from headcount.bounds.keys.kernels import key_support as kernels
from headcount.engines.local.partitions import user_keys
from headcount.engines.local.runner import LocalRunner
from headcount.events.encode.id_table import Ids, NumberTable
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog


def measure_key_support(passes: LocalRunner, log: EventLog, bound: KeySupport, secret: bytes) -> BoundedKeySupport:
    """Count the people behind each item, at most ``limit`` different items of each person."""
    coded = EncodedLog(log, bound.reading(log))
    if coded.items is None:
        raise TypeError("support is of items as they come up")
    users, items = _Keys(coded.users, secret), _Keys(coded.items.table, secret)
    histories = _Histories(users, bound.limit, 0 if coded.log.context is None else coded.log.width)
    for batch in coded.batches():
        histories.take(batch.users, batch.contexts, batch.cells, batch.times, items.up_to_date())
        passes.progress("selecting items", coded.tally.rows, log.source.rows)
    users_by_item = np.zeros(coded.items.table.size, dtype=np.int64)
    histories.count(users_by_item)
    return seal_key_support(coded.items.ids, users_by_item, bound.limit)


class _Keys:
    """The keys of the raw ids in a table that grows."""

    def __init__(self, ids: Ids, secret: bytes) -> None:
        self._ids, self._secret = ids, secret
        self._keys = np.empty(0, dtype=np.uint64)
        self._n_keyed = 0

    def up_to_date(self) -> Draws:
        """Return the keys of all ids that have come up so far."""
        n_keyed, size = self._n_keyed, self._ids.size
        if n_keyed < size:
            if size > self._keys.size:
                self._keys = _enlarged(self._keys, size)
            raw = self._ids.raw
            if isinstance(raw, tuple):
                data, ends = raw
                begin = ends[n_keyed - 1] if n_keyed else np.int64(0)
                raw = data[begin:], ends[n_keyed:] - begin
            else:
                raw = raw[n_keyed:]
            self._keys[n_keyed:size] = user_keys(raw, self._secret)
            self._n_keyed = size
        return self._keys


class _Histories:
    """What each person did, or did in each context if there are ``width`` of them to tell apart."""

    def __init__(self, users: _Keys, limit: int, width: int) -> None:
        self._users, self._limit, self._width = users, limit, width
        self._pairs = NumberTable()
        self._size = 0
        self._filled = np.zeros(0, dtype=np.int32)
        self._priorities = np.empty((0, limit), dtype=np.uint64)
        self._kept = np.empty((0, limit), dtype=np.int32)
        self._records = np.zeros(0, dtype=np.int64)
        self._keys, self._keyed = np.empty(0, dtype=np.uint64), 0

    def take(
        self,
        users: NDArray[np.int32],
        contexts: NDArray[np.int32] | None,
        items: NDArray[np.int32],
        times: Integers | None,
        item_keys: Draws,
    ) -> None:
        """Take rows in."""
        histories, keys = users, self._users.up_to_date()
        size = int(users.max(initial=-1)) + 1
        if contexts is not None:
            pairs = users.astype(np.int64) * self._width + contexts
            histories, size = self._pairs.codes(pa.array(pairs)), self._pairs.size
        self._make_room(max(size, self._size))
        if contexts is not None:
            keys = self._keys_of_pairs(keys)
            counted = items >= 0
            weights = counted if times is None else times * counted
            np.add.at(self._records, histories, weights)
        kernels.keep_items(histories, items, keys, item_keys, self._filled, self._priorities, self._kept)

    def count(self, users_by_item: Integers) -> None:
        """Count the people who keep each item, in the one context that is theirs."""
        chosen = np.arange(self._size)
        if self._width:
            pairs = self._pairs.raw
            users, contexts = pairs // self._width, pairs % self._width
            tickets = draws.context_tickets(self._users.up_to_date()[users], contexts)
            unknown = contexts == self._width - 1
            there = np.flatnonzero(self._records)
            order = there[np.lexsort((tickets[there], -self._records[there], unknown[there], users[there]))]
            first = np.ones(order.size, dtype=np.bool_)
            first[1:] = users[order[1:]] != users[order[:-1]]
            chosen = order[first]
        kernels.count_users(chosen, self._filled, self._kept, users_by_item)

    def _keys_of_pairs(self, users: Draws) -> Draws:
        """Return the key of each history's person, from those of all persons."""
        raw = self._pairs.raw
        if raw.size > self._keys.size:
            self._keys = _enlarged(self._keys, raw.size)
        self._keys[self._keyed : raw.size] = users[raw[self._keyed :] // self._width]
        self._keyed = raw.size
        return self._keys

    def _make_room(self, size: int) -> None:
        if size > self._filled.size:
            self._filled = _enlarged(self._filled, size)
            self._priorities = _enlarged(self._priorities, size)
            self._kept = _enlarged(self._kept, size)
            if self._width:
                self._records = _enlarged(self._records, size)
        self._size = size


def _enlarged(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return the array with room for at least so many rows, zeros at the end."""
    larger = np.zeros((max(size, 2 * len(array)), *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
