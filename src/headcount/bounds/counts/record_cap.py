"""All users' records, capped per user, for DPSense-S scores alone; unsealed, as it is no sum over users.

That is no sum that noise could be added to, so it has no sensitivity and is not sealed: only
:func:`~headcount.bounds.scores.candidate_scores.scaled_scores` takes it, and makes scores with a sensitivity of
it. An engine that cannot hold the records of all users does without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Integers
from headcount.bounds.bound import Bound, CountTable, check_limit, columns_of
from headcount.bounds.counts.count_bound import (
    column_width,
    count_by_activity,
    modes_of,
    sample_settings,
    scratch_of,
)
from headcount.bounds.counts.kernels.sample import CollectedColumns, collect_columns
from headcount.bounds.counts.sample_records import SampleRecords
from headcount.bounds.engine_interface import Passes
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
        """Put the records of other users beside these."""
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
    """The columns of each user's records in a table, at most ``most`` random ones of them."""

    table: CountTable
    most: int
    is_sum: ClassVar[bool] = False

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

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> CappedRecords:
        """Sort the records by the number of records that their users have: one pass counts, one collects."""
        width = self.width(log)
        users = count_by_activity(passes, log, secret, self.table, self.most)
        sums = np.arange(1, self.most + 1)
        ends = np.cumsum(sums * users)
        ahead = np.concatenate([[0, 0], ends[:-1]])
        columns = np.empty(ends[-1], dtype=np.int32)
        collected = CollectedColumns(column_width(log, self.table), ahead, columns)
        arguments = modes_of(log), sample_settings(SampleRecords(self.most)), scratch_of(log), collected
        passes.run_kernel(log, secret, collect_columns, [arguments])
        there = users > 0
        starts = np.concatenate([[0], ends[there]])
        return CappedRecords(sums[there], starts, columns, width=width, most=self.most)
