"""Class profile: each user's records as fractions over item classes, by the user's number of records.

A person of size n stands between two neighbouring powers of two, at both of them in part: in such parts that the
mean of the two is n. Each record adds 1/n there, to the class of its item. So the sum over all sizes of size times
what is found there is the number of records in a class, exactly, wherever between the powers people are.

The size is the number of records; where people are counted, that of different items (or pairs of item and
context). With ``norm`` "l2" and records it is the sum of squares of the numbers of records of each item, which is
what weighing by squares goes by, and each record still adds 1/size.

Why one person moves no more than is said
    A size is at least the number of records that are added up, so that a person adds at most 1 in all, over both
    powers of two and all classes; parts are cut down to whole multiples of 2^-16. Classes are public.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Integers
from headcount.bounds.bound import FIXED_POINT, Bound, CountTable, Norm, columns_of
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity
from headcount.bounds.counts.activity_bins import UPPER_ENDS
from headcount.events.log import EventLog

PROFILE_SIZES = UPPER_ENDS
"""The powers of two that people stand at, those that bins of activity end at; with more, they are at the last."""

MAX_CLASSES = 64

NO_SIZE_CAP = 1 << 62


@dataclass(frozen=True, eq=False)
class ClassProfile(Bound[Bounded]):
    """Each person once, spread over the ``classes`` of the columns of a table, at the person's size.

    Only people of a size above ``above`` are counted, and those above ``most`` stand where ``most`` is.
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


def seal_class_profile(sums: Integers, bound: ClassProfile) -> Bounded:
    """Turn an engine's sums, one row a size and one column a class, into bounded values."""
    if sums.shape != (PROFILE_SIZES.size, bound.number):
        raise ValueError(f"there must be {PROFILE_SIZES.size} sizes of {bound.number} classes, not {sums.shape}")
    return Bounded(sums, Sensitivity.of_l1(1).times(FIXED_POINT), SEAL, unit=FIXED_POINT)
