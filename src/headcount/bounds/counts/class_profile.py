"""Class profile: each user's records as fractions over item classes, by the user's number of records.

A user of size n stands between two neighbouring powers of two, at both of them in part: in such parts that the
mean of the two is n. Each record adds 1/n there, to the class of its item. So the sum over all sizes of size times
what is found there is the number of records in a class, exactly, wherever between the powers users are.

The size is the number of records; where users are counted, that of different items (or pairs of item and
context). With ``norm`` "l2" and records it is the sum of squares of the numbers of records of each item, which is
what weighing by squares goes by, and each record still adds 1/size.

Why one user moves no more than is said
    A size is at least the number of records that are added up, so that a user adds at most 1 in all, over both
    powers of two and all classes; parts are cut down to whole multiples of 2^-16. Classes are public.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Integers
from headcount.bounds.bound import FIXED_POINT, CountTable, Norm, VectorBound, columns_of
from headcount.bounds.bounded import Bounded, Sensitivity
from headcount.bounds.counts.activity_histogram import UPPER_ENDS
from headcount.bounds.counts.count_bound import NO_INTEGERS, column_width, modes_of
from headcount.bounds.counts.kernels.class_profile import ClassProfileSettings, ClassProfileSums, profile_users
from headcount.bounds.engine_interface import Passes, sum_over_histories
from headcount.events.log import EventLog

PROFILE_SIZES = UPPER_ENDS
"""The powers of two that users stand at, those that bins of activity end at; with more, they are at the last."""

MAX_CLASSES = 64

NO_SIZE_CAP = 1 << 62


@dataclass(frozen=True, eq=False)
class ClassProfile(VectorBound):
    """Each user once, spread over the ``classes`` of the columns of a table, at the user's size.

    Only users of a size above ``above`` are counted, and those above ``most`` stand where ``most`` is.
    ``classes`` has one number for each column, from 0 on.
    """

    table: CountTable
    classes: NDArray[np.int64]
    above: int = 0
    norm: Norm = "l1"
    most: int = NO_SIZE_CAP

    @property
    def number(self) -> int:
        """How many classes there are."""
        return int(self.classes.max(initial=0)) + 1

    def of_columns(self, log: EventLog) -> NDArray[np.int64]:
        """Return the classes, which must be those of the table's columns: kernels do not look."""
        columns = columns_of(log, self.table)
        if self.classes.shape != (columns,) or self.classes.dtype != np.int64:
            raise ValueError(f"there must be {columns} classes, not {self.classes.shape} of {self.classes.dtype}")
        if self.classes.min(initial=0) < 0 or self.number > MAX_CLASSES:
            raise ValueError(f"classes must lie between 0 and {MAX_CLASSES - 1}")
        return self.classes

    @property
    def unit(self) -> int:
        """Fractions are whole multiples of 2^-16."""
        return FIXED_POINT

    @property
    def shape(self) -> tuple[int, int]:
        """A row for each size and a column for each class."""
        return PROFILE_SIZES.size, self.number

    def sensitivity(self, size: int) -> Sensitivity:  # noqa: ARG002
        """Return how far one user moves the profile: by 1 in all."""
        return Sensitivity.of_l1(1).times(FIXED_POINT)

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> Bounded:
        """Spread the users over classes of columns, at their sizes."""
        classes = self.of_columns(log)
        sums = sum_class_profiles(passes, log, secret, self, classes, TopItems())
        return self.seal(sums.sums.reshape(self.shape))


class TopItems(NamedTuple):
    """Items that the kernel counts beside the classes: the class of each, limits and ends; none by default."""

    classes: Integers = NO_INTEGERS
    limits: Integers = NO_INTEGERS
    ends: Integers = NO_INTEGERS


def sum_class_profiles(
    passes: Passes, log: EventLog, secret: bytes, bound: ClassProfile, columns: Integers, top: TopItems
) -> ClassProfileSums:
    """Sum up classes of columns, and top items beside them, whose columns have the classes from ``number`` on."""
    width = column_width(log, bound.table)
    classes = columns.astype(np.min_scalar_type(bound.number + top.classes.size))
    if log.counting == "records":
        classes = np.repeat(classes, width)
    settings = ClassProfileSettings(
        width, classes, bound.number, bound.above, bound.most, FIXED_POINT, bound.norm == "l2",
        top.classes, top.limits, top.ends,
    )  # fmt: skip
    counts = top.limits.size * top.classes.size
    sizes = PROFILE_SIZES.size * bound.number, top.ends.size + 1, counts, counts

    def room() -> tuple[object, ...]:
        return modes_of(log), settings, ClassProfileSums(*(np.zeros(size, dtype=np.int64) for size in sizes))

    sums: ClassProfileSums = sum_over_histories(passes, log, secret, profile_users, sizes[0], room)
    return sums
