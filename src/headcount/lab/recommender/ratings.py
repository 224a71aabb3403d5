"""A sparse matrix of ratings: one number for each pair of user and item.

Users and items are codes. A user who rated an item more than once counts with the mean of these ratings. How many
items there are is public, and said by whoever makes the value; nothing here is protected.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount._internal.arrays import Codes, Floats, Integers
from headcount._internal.extras import require_package


@dataclass(frozen=True, eq=False)
class Ratings:
    """A sparse matrix of users × items, row by row: user u rated ``items[starts[u]:starts[u + 1]]``, in order.

    >>> ratings = Ratings.of([0, 0, 1, 0], [2, 0, 2, 2], [5.0, 1.0, 3.0, 4.0], n_items=3)
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
    def of(
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
