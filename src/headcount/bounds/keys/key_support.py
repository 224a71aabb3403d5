"""How many people stand behind each item of a private list: for a threshold alone, and shown to nobody."""

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


class SupportCounts:
    """Items that somebody has, and how many people each: made by :func:`certify_support`, accepted by noise.

    One person joining or leaving changes the number of people behind at most ``limit`` items, by 1 each, and may
    bring new items or take some away. Both the list and its length are private: it has no size that one could ask
    for, and its representation does not tell any.
    """

    __slots__ = ("_ids", "_limit", "_people")

    def __init__(self, ids: pa.Array, people: Integers, limit: int, seal: object) -> None:
        if seal is not SEAL:
            raise TypeError("SupportCounts are made by headcount.bounds alone; see certify_support")
        self._ids = ids
        self._people = people
        self._people.flags.writeable = False
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
    def sensitive_people(self) -> Integers:
        """The number of people behind each item, 1 or more: for the noise layer, and for tests."""
        return self._people

    def with_others(self, other: SupportCounts) -> SupportCounts:
        """Add other people: nobody may be in both; see :meth:`~headcount.bounds.bounded.Bounded.with_others`."""
        if self._limit != other._limit:
            raise ValueError(f"{self} and {other} are not of the same bound")
        both = pa.concat_arrays([self._ids, other._ids.cast(self._ids.type)]).dictionary_encode()
        people = np.zeros(len(both.dictionary), dtype=np.int64)
        np.add.at(people, both.indices.to_numpy(), np.concatenate([self._people, other._people]))
        return certify_support(both.dictionary, people, self._limit)

    def __repr__(self) -> str:
        return f"<SupportCounts of at most {self.limit} items per person>"


@dataclass(frozen=True)
class Support(Bound[SupportCounts]):
    """Each person once behind at most ``limit`` random ones of their different items, which nobody lists.

    Where each user keeps one context alone, records of their other contexts do not count.
    """

    limit: int

    def __post_init__(self) -> None:
        check_limit(self.limit, "select_limit")

    def reading(self, log: EventLog) -> Reading:
        """Items as they come up; contexts where each user keeps one alone."""
        return given_items(log)


def given_items(log: EventLog) -> Reading:
    """Read items as they come up, with their contexts where each user keeps one alone."""
    return Reading("given", "beside" if log.context_of == "user" else "none")


def certify_support(ids: pa.Array, people: Integers, limit: int) -> SupportCounts:
    """Turn an engine's number of people behind each item, at most ``limit`` items of each person, into support.

    Items that nobody kept are left out: that somebody had one of them, beyond their limit, must not show. The
    others are in the order of their ids, which hangs on no order of rows.

    >>> made = certify_support(pa.array(["tea", "rye", "oat"]), np.array([3, 0, 1]), 2)
    >>> made, made.sensitive_ids.to_pylist()
    (<SupportCounts of at most 2 items per person>, ['oat', 'tea'])
    """
    kept = people > 0
    ids, people = ids.filter(pa.array(kept)), people[kept]
    order = pc.sort_indices(ids)
    return SupportCounts(ids.take(order), people[order.to_numpy()], limit, SEAL)
