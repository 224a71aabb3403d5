"""The base class of bounds on item counts and item-context counts, and what measuring them shares."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Flags, Integers
from headcount.bounds import draws
from headcount.bounds.bound import Bound, Counting, CountTable, Norm, check_limit
from headcount.bounds.bounded import ALL_USERS, SEAL, Bounded, BoundedCounts, Sensitivity, root_above
from headcount.bounds.counts.kernels.sample import (
    CountTables,
    SampleScratch,
    SampleSettings,
    count_sampled,
    sample_scratch_for,
)
from headcount.bounds.counts.kernels.weight import WeightSettings, count_weighted
from headcount.bounds.engine_interface import Passes, sum_over_histories
from headcount.bounds.kernels.histories import Modes
from headcount.events.encode.id_table import secret_words
from headcount.events.log import EventLog

NO_INTEGERS = np.empty(0, dtype=np.int64)
NO_FLAGS = np.empty(0, dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class ItemSubset:
    """The items at some places of the catalogue, each once; records of other items are dropped before a bound.

    Which items is public: listed beforehand, or released by a mechanism that was paid for. Whether a record is
    left out is a function of that record alone, so what is left of a user is bounded as everything was, and a sum
    over users stays one.

    >>> ItemSubset(np.array([2, 0])).of_items(4).tolist()
    [True, False, True, False]
    """

    places: NDArray[np.int64]

    def of_items(self, items: int) -> NDArray[np.bool_]:
        """Say of each of so many items whether it is one of them; refuse places beyond: kernels do not look."""
        places = self.places
        if places.ndim != 1 or places.dtype != np.int64 or np.unique(places).size != places.size:
            raise ValueError("items must be named by whole numbers, each once")
        if places.size and not 0 <= places.min() <= places.max() < items:
            raise ValueError(f"places must lie within a catalogue of {items} items")
        flags = np.zeros(items, dtype=np.bool_)
        flags[places] = True
        return flags


@dataclass(frozen=True)
class CountBound(Bound[BoundedCounts]):
    """At most ``limit`` records (or distinct item-context pairs) of a user; what is said here holds for most.

    ``admission`` says how many of 2^64 users are taken into account at all, by lot.
    """

    limit: int
    admission = ALL_USERS

    def __post_init__(self) -> None:
        check_limit(self.limit)

    @property
    def ranks(self) -> NDArray[np.int64] | None:
        """The rank of each item, best first and ties equal, or None where all records are alike."""
        return None

    @property
    def unit(self) -> int:
        """How many units make one record: 1 where records are kept whole, or ``FIXED_POINT``."""
        return 1

    @property
    def norm(self) -> Norm:
        """What is limited: a user's sum ("l1"), or the sum of squares ("l2")."""
        return "l1"

    @property
    def apart(self) -> bool:
        """Whether users within the limit and users above it are counted in two tables, one after the other."""
        return False

    @property
    def among(self) -> ItemSubset | None:
        """The items that are looked at, or None where all are."""
        return None

    def sensitivity(self, counting: Counting, columns: int | None = None) -> Sensitivity:
        """Return how far one user's kept records can move the counts, in the bound's units.

        All kept records may hit one cell when records are counted; a user counts once a cell when users are.
        Where the sum of squares is limited, k cells move by at most √(k · limit) in L1, so the number of columns
        matters.
        """
        limit = self.limit
        if self.norm == "l2":
            if columns is None:
                raise ValueError("a limited sum of squares moves counts as far as there are columns")
            largest = 1 if counting == "users" else root_above(limit)
            return Sensitivity(root_above(limit * columns), l2_squared=limit, linf=largest).times(self.unit)
        if counting == "users":
            return Sensitivity(l1=limit, l2_squared=limit, linf=1).times(self.unit)
        return Sensitivity(l1=limit, l2_squared=limit**2, linf=limit).times(self.unit)

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> BoundedCounts:
        """Keep what the bound allows of each user's records, or weight them all, and count."""
        tables = 2 if self.apart else 1
        cells, items = tables * log.cells, tables * len(log.catalogue.ids)
        weighting = WeightSettings(
            self.limit, self.unit, 0, self.norm == "l2", self.apart, marked_items(log, self.among), NO_INTEGERS
        )

        def room() -> tuple[object, ...]:
            sums = CountTables(np.zeros(cells, dtype=np.int64), np.zeros(items, dtype=np.int64))
            if self.unit == 1:
                return modes_of(log), sample_settings(self), scratch_of(log), sums
            return modes_of(log), weighting, sums

        kernel = count_sampled if self.unit == 1 else count_weighted
        sums = sum_over_histories(passes, log, secret, kernel, cells, room)
        groups = (2,) if self.apart else ()
        edges = sums.edges.reshape(*groups, -1, log.width)
        by_item = edges.sum(axis=-1) if log.counting == "records" else sums.items.reshape(*groups, -1)
        return self.seal(log.counting, by_item, edges)

    def seal(self, counting: Counting, items: Integers, edges: Integers) -> BoundedCounts:
        """Turn counts under the bound into bounded values that noise accepts."""

        def sealed(values: Integers) -> Bounded:
            sensitivity = self.sensitivity(counting, values.size // 2 if self.apart else values.size)
            admission = Fraction(self.admission, ALL_USERS)
            return Bounded(values, sensitivity, SEAL, unit=self.unit, admission=admission, apart=self.apart)

        return BoundedCounts(sealed(items), sealed(edges))


def count_by_activity(
    passes: Passes,
    log: EventLog,
    secret: bytes,
    table: CountTable,
    most: int,
    *,
    squares: bool = False,
    among: Flags = NO_FLAGS,
    ends: Integers = NO_INTEGERS,
) -> NDArray[np.int64]:
    """Return how many users are in each place: with 1, 2, … ``most`` records, or up to some ends."""
    places = ends.size + 1 if ends.size else most
    settings = WeightSettings(most, 1, column_width(log, table), squares, False, among, ends)

    def room() -> tuple[object, ...]:
        return modes_of(log), settings, CountTables(np.zeros(places, dtype=np.int64), NO_INTEGERS)

    users: NDArray[np.int64] = sum_over_histories(passes, log, secret, count_weighted, places, room).edges
    return users


def modes_of(log: EventLog) -> Modes:
    """Return how a log's records count."""
    return Modes(log.width, log.counting == "users", log.context_of == "user", secret_words()[0])


def sample_settings(bound: CountBound) -> SampleSettings:
    """Return what the sampling kernel keeps of each user."""
    ranks = NO_INTEGERS if bound.ranks is None else bound.ranks
    lot = np.uint64(bound.admission % ALL_USERS), bound.admission == ALL_USERS
    return SampleSettings(bound.limit, ranks, draws.rank_bits(bound.ranks), *lot)


def scratch_of(log: EventLog) -> SampleScratch:
    """Return one thread's scratch space for sampling."""
    return sample_scratch_for(log.cells, weighted=log.roles.times is not None)


def marked_items(log: EventLog, among: ItemSubset | None) -> Flags:
    """Mark the items of a subset; no marks at all mean all items."""
    return NO_FLAGS if among is None else among.of_items(len(log.catalogue.ids))


def column_width(log: EventLog, table: CountTable) -> int:
    """Return how many cells make one column of a table."""
    return log.width if table == "items" else 1


def split_light_and_heavy(counts: Bounded) -> tuple[Bounded, Bounded]:
    """Split the tables of users within a limit and of all others: no user is in both.

    Records of the first count whole, so their table is one of whole numbers, and moves by whole numbers.

    >>> reach = Sensitivity(l1=3, l2_squared=3, linf=1).times(4)
    >>> both = Bounded(np.array([[8, 0], [3, 6]]), reach, SEAL, unit=4, apart=True)
    >>> light, heavy = split_light_and_heavy(both)
    >>> light.sensitive_values.tolist(), light.sensitivity, heavy.sensitivity == both.sensitivity
    ([2, 0], Sensitivity(l1=3, l2_squared=3, linf=1), True)
    """
    if type(counts) is not Bounded or not counts.apart:
        raise TypeError(f"{counts} does not tell people within a limit from all others")
    whole, weighed = counts.sensitive_values
    unit, sensitivity, admission = counts.unit, counts.sensitivity, counts.admission
    records = Sensitivity(sensitivity.l1 // unit, sensitivity.l2_squared // unit**2, sensitivity.linf // unit)
    return (
        Bounded(whole // unit, records, SEAL, admission=admission),
        Bounded(weighed, sensitivity, SEAL, unit=unit, admission=admission),
    )
