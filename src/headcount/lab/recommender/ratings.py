"""A sparse matrix of ratings: one number for each pair of user and item.

Users and items are codes. A user who rated an item more than once counts with the mean of these ratings. How many
items there are is public, and said by whoever makes the value; nothing here is protected.

``ratings_of`` reads the exact ratings of a log, without privacy, for unproven published methods and attacks. A
proven method never sees them: it asks an engine for sums that are bounded already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount._internal.arrays import Codes, Floats, Integers
from headcount._internal.extras import require_package
from headcount.bounds.ratings.rating_bound import Raters
from headcount.engines.local.encoded_rows import collect_rows
from headcount.errors import UsageError, param
from headcount.events.encode.id_table import raw_ids
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog


@dataclass(frozen=True, eq=False)
class Ratings:
    """A sparse matrix of users × items, row by row: user u rated ``items[starts[u]:starts[u + 1]]``, in order.

    >>> ratings = Ratings.from_pairs([0, 0, 1, 0], [2, 0, 2, 2], [5.0, 1.0, 3.0, 4.0], n_items=3)
    >>> ratings.of_user(0)
    (array([0, 2], dtype=int32), array([1. , 4.5]))
    >>> ratings.sparse().toarray()
    array([[1. , 0. , 4.5],
           [0. , 0. , 3. ]])
    """

    starts: Integers
    items: Codes
    values: Floats
    n_items: int

    @classmethod
    def from_pairs(
        cls, users: ArrayLike, items: ArrayLike, values: ArrayLike, *, n_items: int, n_users: int | None = None
    ) -> Ratings:
        """Make ratings from three columns; several ratings of one item by one user become their mean."""
        who, what = np.asarray(users, dtype=np.int64), np.asarray(items, dtype=np.int64)
        many = int(who.max(initial=-1)) + 1 if n_users is None else n_users
        if what.size and not (what.min() >= 0 and what.max() < n_items and who.min() >= 0 and who.max() < many):
            raise ValueError(f"codes must lie within {many} users and {n_items} items")
        pairs, place, times = np.unique(who * n_items + what, return_inverse=True, return_counts=True)
        sums = np.bincount(place, np.asarray(values, dtype=np.float64), minlength=pairs.size)
        counts = np.bincount(pairs // n_items, minlength=many)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        return cls(starts, (pairs % n_items).astype(np.int32), sums / times, n_items)

    @property
    def n_users(self) -> int:
        """How many users there are, those without any rating included."""
        return self.starts.size - 1

    @cached_property
    def users(self) -> Codes:
        """The user of each rating."""
        return np.repeat(np.arange(self.n_users, dtype=np.int32), self.counts)

    @property
    def counts(self) -> Integers:
        """How many items each user rated."""
        return np.diff(self.starts)

    @cached_property
    def mean(self) -> float:
        """The mean of all ratings; 0 if there are none."""
        return float(self.values.mean()) if self.values.size else 0.0

    @cached_property
    def means(self) -> Floats:
        """The mean rating of each user; of one who rated nothing, the mean of all ratings."""
        sums = np.add.reduceat(np.append(self.values, 0.0), self.starts[:-1]) if self.n_users else self.values
        return np.where(self.counts > 0, sums / np.maximum(self.counts, 1), self.mean)

    @cached_property
    def transposed(self) -> Ratings:
        """The same ratings with the roles of users and items swapped."""
        turned = self.sparse().tocsc()
        turned.sort_indices()
        return Ratings(turned.indptr.astype(np.int64), turned.indices.astype(np.int32), turned.data, self.n_users)

    def of_user(self, user: int) -> tuple[Codes, Floats]:
        """Return what one user rated, and how."""
        own = slice(self.starts[user], self.starts[user + 1])
        return self.items[own], self.values[own]

    def sparse(self) -> Any:
        """Return the matrix as SciPy holds it."""
        with require_package("a matrix of ratings", "scipy", "lab"):
            from scipy.sparse import csr_array

        return csr_array((self.values, self.items, self.starts), shape=(self.n_users, self.n_items))

    def only(self, kept: NDArray[np.bool_]) -> Ratings:
        """Return some of the ratings; users and items keep their codes."""
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
        return Ratings(ends[self.starts], self.items[kept], self.values[kept], self.n_items)

    def joined(self, items: Codes, values: Floats, times: int) -> Ratings:
        """Return the ratings of all, and of ``times`` more users who each rated the same items alike."""
        order = np.argsort(items, kind="stable")
        more = self.starts[-1] + items.size * np.arange(1, times + 1)
        return Ratings(
            np.concatenate([self.starts, more]),
            np.concatenate([self.items, np.tile(items[order], times).astype(np.int32)]),
            np.concatenate([self.values, np.tile(values[order], times)]),
            self.n_items,
        )


class RawRatings(NamedTuple):
    """The ratings of a log, and the code of each person who rated, by the text of their id."""

    ratings: Ratings
    people: Mapping[str, int]


def ratings_of(log: EventLog) -> RawRatings:
    """Return who gave which item how much; items are coded in the order of the catalogue.

    There is one rating for each pair of user and item: the mean of what the user gave it, each value cut to the
    declared range first. A row that stands for several records weighs as much as they do.
    """
    if log.roles.value is None or log.value_range is None:
        raise UsageError(
            "ratings need a value", remedy=f"name its column with {param.value}, and {param.value_range('LO,HI')}"
        )
    if not log.has_catalogue:
        raise UsageError("ratings need a catalogue of items", remedy=f"name one with {param.items}")
    low, high = (float(end) for end in log.value_range)
    coded = EncodedLog(log, Raters().reading(log))
    rows, size = collect_rows(coded), len(log.catalogue.ids)
    if rows.values is None:
        return RawRatings(Ratings.from_pairs([], [], [], n_items=size), {})
    weights = np.ones(rows.users.size) if rows.times is None else rows.times.astype(np.float64)
    sums = np.clip(rows.values, low, high) * weights
    pairs, place = np.unique(rows.users.astype(np.int64) * size + rows.cells, return_inverse=True)
    total, weight = (np.bincount(place, values, pairs.size) for values in (sums, weights))
    ratings = Ratings.from_pairs(pairs // size, pairs % size, total / weight, n_items=size)
    named = enumerate(raw_ids(coded.users)[: ratings.n_users])
    return RawRatings(ratings, {str(name): code for code, name in named})
