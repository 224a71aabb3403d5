"""Key support for private item selection: the number of users of each item that no public list names.

Weights by earlier rounds are in key_weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount._internal.arrays import Integers
from headcount.bounds.bound import Bound, check_limit
from headcount.bounds.bounded import SEAL
from headcount.events.encode.passes import Reading
from headcount.events.log import EventLog


class BoundedKeySupport:
    """Items that somebody has, and how many people each: made by :func:`seal_key_support`, accepted by noise.

    One person joining or leaving changes the number of people behind at most ``limit`` items, by 1 each, and may
    bring new items or take some away. Both the list and its length are private: it has no size that one could ask
    for, and its representation does not tell any.
    """

    __slots__ = ("_ids", "_limit", "_users")

    def __init__(self, ids: pa.Array, users: Integers, limit: int, seal: object) -> None:
        if seal is not SEAL:
            raise TypeError("BoundedKeySupport is made by headcount.bounds alone; see seal_key_support")
        self._ids = ids
        self._users = users
        self._users.flags.writeable = False
        self._limit = limit

    @property
    def limit(self) -> int:
        """How many items one person stands behind at most."""
        return self._limit

    @property
    def sensitive_ids(self) -> pa.Array:
        """The items: for the noise layer, and for tests."""
        return self._ids

    @property
    def sensitive_users(self) -> Integers:
        """The number of people behind each item, 1 or more: for the noise layer, and for tests."""
        return self._users

    def with_others(self, other: BoundedKeySupport) -> BoundedKeySupport:
        """Add other people: nobody may be in both; see :meth:`~headcount.bounds.bounded.Bounded.with_others`."""
        if self._limit != other._limit:
            raise ValueError(f"{self} and {other} are not of the same bound")
        both = pa.concat_arrays([self._ids, other._ids.cast(self._ids.type)]).dictionary_encode()
        users = np.zeros(len(both.dictionary), dtype=np.int64)
        np.add.at(users, both.indices.to_numpy(), np.concatenate([self._users, other._users]))
        return seal_key_support(both.dictionary, users, self._limit)

    def __repr__(self) -> str:
        return f"<BoundedKeySupport of at most {self.limit} items per person>"


@dataclass(frozen=True)
class KeySupport(Bound[BoundedKeySupport]):
    """Each person once behind at most ``limit`` random ones of their different items, which nobody lists.

    Where each user keeps one context alone, records of their other contexts do not count.
    """

    limit: int

    def __post_init__(self) -> None:
        check_limit(self.limit, "select_limit")

    def reading(self, log: EventLog) -> Reading:
        """Items as they come up; contexts where each user keeps one alone."""
        return observed_items(log)


def observed_items(log: EventLog) -> Reading:
    """Read items as they come up, with their contexts where each user keeps one alone."""
    return Reading("given", "beside" if log.context_of == "user" else "none")


def seal_key_support(ids: pa.Array, users: Integers, limit: int) -> BoundedKeySupport:
    """Turn an engine's number of people behind each item, at most ``limit`` items of each person, into support.

    Items that nobody kept are left out: that somebody had one of them, beyond their limit, must not show. The
    others are in the order of their ids, which hangs on no order of rows.

    >>> made = seal_key_support(pa.array(["tea", "rye", "oat"]), np.array([3, 0, 1]), 2)
    >>> made, made.sensitive_ids.to_pylist()
    (<BoundedKeySupport of at most 2 items per person>, ['oat', 'tea'])
    """
    kept = users > 0
    ids, users = ids.filter(pa.array(kept)), users[kept]
    order = pc.sort_indices(ids)
    return BoundedKeySupport(ids.take(order), users[order.to_numpy()], limit, SEAL)
