"""Key support for private item selection: the number of users of each item that no public list names.

Weights by earlier rounds are in key_weights.

A user's items are ordered by :func:`headcount.bounds.draws.item_draws`, a keyed function of that user's raw id and
the raw id of the item, and the first ``limit`` different ones count. So no choice depends on other users, nor on
the order of rows.

Measuring takes one pass. Memory follows the number of users times ``limit`` (12 bytes each), and the number of
items, not that of events; where each user keeps one context alone, the number of pairs of user and context times
``limit``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headcount._internal.arrays import Draws, Integers
from headcount.bounds import draws
from headcount.bounds.bound import Bound, check_limit
from headcount.bounds.bounded import SEAL
from headcount.bounds.engine_interface import Passes
from headcount.bounds.kernels.draws import user_keys
from headcount.bounds.keys import kernels
from headcount.bounds.keys.item_cache import observed_items
from headcount.events.encode.id_table import Ids, NumberTable
from headcount.events.encode.passes import EncodedLog, Reading
from headcount.events.log import EventLog


class BoundedKeySupport:
    """Items that somebody has, and how many users each: made by :meth:`KeySupport.seal`, accepted by noise.

    One user joining or leaving changes the number of users behind at most ``limit`` items, by 1 each, and may
    bring new items or take some away. Both the list and its length are private: it has no size that one could ask
    for, and its representation does not tell any.
    """

    __slots__ = ("_ids", "_limit", "_users")

    def __init__(self, ids: pa.Array, users: Integers, limit: int, seal: object) -> None:
        if seal is not SEAL:
            raise TypeError("BoundedKeySupport is made by headcount.bounds alone; see KeySupport.seal")
        self._ids = ids
        self._users = users
        self._users.flags.writeable = False
        self._limit = limit

    @property
    def limit(self) -> int:
        """How many items one user stands behind at most."""
        return self._limit

    @property
    def sensitive_ids(self) -> pa.Array:
        """The items: for the noise layer, and for tests."""
        return self._ids

    @property
    def sensitive_users(self) -> Integers:
        """The number of users behind each item, 1 or more: for the noise layer, and for tests."""
        return self._users

    def with_others(self, other: BoundedKeySupport) -> BoundedKeySupport:
        """Add other users: nobody may be in both; see :meth:`~headcount.bounds.bounded.Bounded.with_others`."""
        if self._limit != other._limit:
            raise ValueError(f"{self} and {other} are not of the same bound")
        both = pa.concat_arrays([self._ids, other._ids.cast(self._ids.type)]).dictionary_encode()
        users = np.zeros(len(both.dictionary), dtype=np.int64)
        np.add.at(users, both.indices.to_numpy(), np.concatenate([self._users, other._users]))
        return KeySupport(self._limit).seal(both.dictionary, users)

    def __repr__(self) -> str:
        return f"<BoundedKeySupport of at most {self.limit} items per person>"


@dataclass(frozen=True)
class KeySupport(Bound[BoundedKeySupport]):
    """Each user once behind at most ``limit`` random ones of their different items, which nobody lists.

    Where each user keeps one context alone, records of their other contexts do not count.
    """

    limit: int

    def __post_init__(self) -> None:
        check_limit(self.limit, "select_limit")

    def reading(self, log: EventLog) -> Reading:
        """Items as they come up; contexts where each user keeps one alone."""
        return observed_items(log)

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> BoundedKeySupport:
        """Count the users behind each item, at most ``limit`` different items of each user."""
        coded = EncodedLog(log, self.reading(log))
        if coded.items is None:
            raise TypeError("support is of items as they come up")
        users, items = _Keys(coded.users, secret), _Keys(coded.items.table, secret)
        histories = _Histories(users, self.limit, 0 if coded.log.context is None else coded.log.width)
        for batch in coded.batches():
            histories.take(batch.users, batch.contexts, batch.cells, batch.times, items.up_to_date())
            passes.progress("selecting items", coded.tally.rows, log.source.rows)
        users_by_item = np.zeros(coded.items.table.size, dtype=np.int64)
        histories.count(users_by_item)
        return self.seal(coded.items.ids, users_by_item)

    def seal(self, ids: pa.Array, users: Integers) -> BoundedKeySupport:
        """Turn the number of users behind each item, at most ``limit`` items of each user, into support.

        Items that no user kept are left out: that a user had one of them, beyond their limit, must not show. The
        others are in the order of their ids, which depends on no order of rows.

        >>> support = KeySupport(2).seal(pa.array(["tea", "rye", "oat"]), np.array([3, 0, 1]))
        >>> support, support.sensitive_ids.to_pylist()
        (<BoundedKeySupport of at most 2 items per person>, ['oat', 'tea'])
        """
        kept = users > 0
        ids, users = ids.filter(pa.array(kept)), users[kept]
        order = pc.sort_indices(ids)
        return BoundedKeySupport(ids.take(order), users[order.to_numpy()], self.limit, SEAL)


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
    """What each user did, or did in each context if there are ``width`` of them to tell apart."""

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
        """Count the users who keep each item, in the one context that is theirs."""
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
        """Return the key of each history's user, from those of all users."""
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
