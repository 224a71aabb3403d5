"""Theorem 2 of Fan and Jin: the contribution bound with the lowest mean squared error of SRA, in closed form.

The model
    n people have M records each. A record is about item i with probability p, whatever all others are about. Of
    each person's records l are drawn, and counts get Laplace noise of scale l/ε₁. Then item i's count is off by

        MSE(l) = n l p (1 − p l / M) + 2 l² / ε₁² + (n l p − n M p)²                            (Eq. 21)

    on average, a parabola in l with its lowest point at

        l = (2 n² p² M − n p) / (4 / ε₁² − 2 n p² / M + 2 n² p²)                                (Eq. 22)

    That is about one item. Over all items the mean of Eq. 21 is a parabola as well, and its lowest point is Eq. 22
    with the means of p and p² in their places. That is what is computed here; with one item it is Eq. 22.

What it takes
    n, M, p and ε₁: public, declared or released numbers. Read off a private log they are not private, and neither
    is a limit that follows from them.

What it does not say
    People are not alike: a limit cuts off the records of the active alone, which Eq. 21 does not know. It counts
    the chance of the sample as if the log's own counts were drawn anew, so that it grows with l, though nothing is
    left to chance at l = M. The lowest point rises with ε₁, as the theorem has it, only where n M p² > p / 2 on
    average: of items that fewer than half a record is about, it is below 0 and falls.

Reference
    L. Fan, H. Jin. A Practical Framework for Privacy-Preserving Data Analytics. WWW 2015, theorem 2, appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Floats
from headcount.methods.prediction.errors import TableShape


@dataclass(frozen=True, kw_only=True)
class Alike:
    """People who are all alike: ``users`` (n) with ``records`` (M) each, about items of some popularities (p).

    ``copies`` says how many items share each popularity.

    >>> alike = Alike(users=1000, records=50, copies=np.array([100]), popularities=np.array([0.01]))
    >>> [alike.limit(epsilon) for epsilon in (0.01, 0.1, 1)]
    [1, 17, 49]
    """

    users: float
    records: float
    copies: Floats
    popularities: Floats

    @classmethod
    def from_shape(cls, shape: TableShape) -> Alike:
        """Take everybody of a table for the average person; how popular items are stays what it was."""
        copies, expected = shape.expected()
        counts = expected @ shape.activity.users
        users = shape.activity.total_users
        return cls(
            users=users,
            records=shape.activity.total_records / users,
            copies=copies,
            popularities=counts / (copies @ counts),
        )

    def error(self, limit: float, epsilon: float) -> float:
        """Return the mean of Eq. 21 over all items."""
        expected = self.users * limit * self.popularities
        chance = expected * (1 - self.popularities * limit / self.records)
        lost = expected - self.users * self.records * self.popularities
        return float(self.copies @ (chance + 2 * limit**2 / epsilon**2 + lost**2) / self.copies.sum())

    def lowest(self, epsilon: float) -> float:
        """Return Eq. 22: where the error is lowest, whole or not, possible or not."""
        n, m = self.users, self.records
        first, second = (float(self.copies @ self.popularities**power / self.copies.sum()) for power in (1, 2))
        return (2 * n**2 * second * m - n * first) / (4 / epsilon**2 - 2 * n * second / m + 2 * n**2 * second)

    def limit(self, epsilon: float) -> int:
        """Return the best limit that there is: whole, at least 1, and no more than anybody has."""
        return int(np.clip(np.rint(self.lowest(epsilon)), 1, max(1, np.floor(self.records))))
