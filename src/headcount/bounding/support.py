"""How many people stand behind each item of a private list: for a threshold alone, and shown to nobody."""

from __future__ import annotations

import pyarrow as pa

from headcount.arrays import Integers
from headcount.bounding.bounded import SEAL
from headcount.bounding.bounds import check_limit


class Support:
    """Items that somebody has, and how many people each: made by :func:`certify_support`, accepted by noise.

    One person joining or leaving changes the number of people behind at most ``limit`` items, by 1 each, and may
    bring new items or take some away. Both the list and its length are private: it has no size that one could ask
    for, and its representation does not tell any.
    """

    __slots__ = ("_ids", "_limit", "_people")

    def __init__(self, ids: pa.Array, people: Integers, limit: int, seal: object) -> None:
        if seal is not SEAL:
            raise TypeError("Support is made by headcount.bounding alone; see certify_support")
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

    def __repr__(self) -> str:
        return f"<Support of at most {self.limit} items per person>"


def certify_support(ids: pa.Array, people: Integers, limit: int) -> Support:
    """Turn an engine's number of people behind each item, at most ``limit`` items of each person, into support.

    Items that nobody kept are left out: that somebody had one of them, beyond their limit, must not show.

    >>> import numpy as np
    >>> made = certify_support(pa.array(["rye", "tea"]), np.array([0, 3]), 2)
    >>> made, made.sensitive_ids.to_pylist()
    (<Support of at most 2 items per person>, ['tea'])
    """
    check_limit(limit, "select_limit")
    kept = people > 0
    return Support(ids.filter(pa.array(kept)), people[kept], limit, SEAL)
