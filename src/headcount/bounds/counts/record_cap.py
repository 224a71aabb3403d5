"""All users' records, capped per user, for DPSense-S scores alone; unsealed, as it is no sum over users.

That is no sum that noise could be added to, so it has no sensitivity and is not sealed: only
:func:`~headcount.bounds.scores.candidate_scores.scaled_scores` takes it, and makes scores with a sensitivity of
it. An engine that cannot hold the records of all people does without.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Integers
from headcount.bounds.bound import Bound, CountTable, check_limit, columns_of
from headcount.events.log import EventLog


class CappedRecords:
    """The columns of all users' records, sorted by how many records the user has.

    ``columns[starts[k] : starts[k + 1]]`` belong to users with ``sums[k]`` records each, at most ``most``; there
    are ``width`` columns.
    """

    __slots__ = ("columns", "most", "starts", "sums", "width")

    def __init__(
        self, sums: Integers, starts: Integers, columns: NDArray[np.int32], *, width: int, most: int
    ) -> None:
        self.sums, self.starts, self.columns = sums, starts, columns
        self.width, self.most = width, most

    def with_others(self, other: CappedRecords) -> CappedRecords:
        """Put the records of other people beside these."""
        if (self.width, self.most) != (other.width, other.most):
            raise ValueError(f"{self} and {other} are not of the same bound")
        lengths = np.concatenate([np.repeat(rows.sums, np.diff(rows.starts)) for rows in (self, other)])
        order = np.argsort(lengths, kind="stable")
        sums, starts = np.unique(lengths[order], return_index=True)
        columns = np.concatenate([self.columns, other.columns])[order]
        return CappedRecords(sums, np.append(starts, columns.size), columns, width=self.width, most=self.most)

    def __repr__(self) -> str:
        return f"<CappedRecords of at most {self.most} records over {self.width} columns>"


@dataclass(frozen=True)
class RecordCap(Bound[CappedRecords]):
    """The columns of each person's records in a table, at most ``most`` random ones of them."""

    table: CountTable
    most: int

    def __post_init__(self) -> None:
        check_limit(self.most, "most")

    def width(self, log: EventLog) -> int:
        """Return how many columns there are; where users are counted, nobody has more records than that."""
        columns = columns_of(log, self.table)
        if log.counting == "users" and self.most < columns:
            raise ValueError(
                f"different {self.table} are not cut down: most must be at least {columns}, not {self.most}"
            )
        return columns
