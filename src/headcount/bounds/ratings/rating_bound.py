"""The base of bounds on ratings: users' ratings in memory, and integer sums over users on several threads.

A user rates an item once: a rating is a whole number of 1/1024 of a quarter of the declared range, counted from
its lower end. So a range from 1 to 5 gives 0 to 4096, and everything here is said for that range; others are
stretched to it. What a user adds is computed from their own ratings and from released numbers alone, and
shortened until it keeps the limit.

Where a user rated an item more than once, the mean counts. Without a value column it is only known which items a
user has. All ratings are held, in 8 bytes each, and in some 20 while they are sorted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Integers
from headcount._internal.threads import parallel_map
from headcount.bounds.bound import VectorBound
from headcount.bounds.bounded import Bounded, Sensitivity
from headcount.bounds.engine_interface import Passes
from headcount.bounds.kernels.sort_rows import average
from headcount.events.encode.passes import FEW_ROWS, CodedBatch, Reading
from headcount.events.log import EventLog
from headcount.events.roles import Range

UNITS_PER_STAR = 1024
"""How many units make one star, a quarter of the range of ratings."""

PRIOR_RATING = 2662
"""The usual rating, 3.6 stars of 1 to 5: where little is known of a user, what they are taken to give."""

PRIOR_RATINGS = 5
"""As many usual ratings are added to each user's own, so that one rating does not make a character."""

MAX_RESIDUAL = 2 * UNITS_PER_STAR
"""Ratings are cut where they lie this far from what is expected."""

WHOLE_RANGE = 4 * UNITS_PER_STAR

MAX_ITEMS = 1 << 13
"""Of so many items at most are the pairs counted: a user's sums then fit 64 bits."""


@dataclass(frozen=True)
class UserRatings:
    """All ratings: ``items[starts[u] : starts[u + 1]]`` are user u's, rising, and ``values`` beside them.

    Items are places in the catalogue of ``size`` items; values are whole units above the lower end of the range.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    values: NDArray[np.int32]
    size: int

    @property
    def users(self) -> int:
        """How many users there are, some of them perhaps without ratings."""
        return self.starts.size - 1


class RatingBound(VectorBound):
    """What users rated, or have; nothing is drawn."""

    draws: ClassVar[bool] = False

    def reading(self, log: EventLog) -> Reading:  # noqa: ARG002
        """Items of the catalogue, and values where the log has them."""
        return Reading("listed", "none", values=True)

    def sum_over_users(
        self,
        passes: Passes,
        rated: UserRatings,
        kernel: Callable[..., None],
        settings: tuple[Any, ...],
        shape: tuple[int, ...],
    ) -> NDArray[np.int64]:
        """Run a kernel over ranges of the users with about as many ratings each, and add up the sums."""
        threads = passes.threads_for(shape[-1])
        cuts = np.linspace(0, rated.starts[-1], threads + 1).astype(np.int64)
        borders = np.searchsorted(rated.starts, cuts)
        borders[0], borders[-1] = 0, rated.users
        thread_sums = [np.zeros(shape, dtype=np.int64) for _ in range(threads)]

        def run(part: tuple[int, int], sums: NDArray[np.int64]) -> None:
            kernel(rated.starts, rated.items, rated.values, *part, *settings, sums)

        with parallel_map(threads, few=rated.items.size < FEW_ROWS) as mapped:
            list(mapped(run, itertools.pairwise(borders.tolist()), thread_sums))
        for part_sums in thread_sums[1:]:
            thread_sums[0] += part_sums
        return thread_sums[0]


@dataclass(frozen=True)
class Raters(RatingBound):
    """Each user once who rated, or has, anything."""

    @property
    def shape(self) -> tuple[int]:
        """One number."""
        return (1,)

    def sensitivity(self, size: int) -> Sensitivity:  # noqa: ARG002
        """A user counts once."""
        return Sensitivity.of_l1(1)

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> Bounded:  # noqa: ARG002
        """Count the users who rated, or have, anything."""
        return self.seal(np.count_nonzero(np.diff(ratings_of(passes, log).starts), keepdims=True))


class ItemPairs:
    """The pairs of ``items``, at most ``MAX_ITEMS`` rising places of the catalogue."""

    items: Integers

    def __post_init__(self) -> None:
        if self.items.size > MAX_ITEMS or (np.diff(self.items) <= 0).any() or (self.items < 0).any():
            raise ValueError(f"items must be at most {MAX_ITEMS} rising places")

    @property
    def pairs(self) -> int:
        """How many pairs of items there are: the first item with all later ones, and so on."""
        return self.items.size * (self.items.size - 1) // 2

    @property
    def shape(self) -> tuple[int]:
        """One sum for each pair."""
        return (self.pairs,)

    def places(self, items: int) -> NDArray[np.int32]:
        """Return the place of each item of the catalogue among those listed, -1 for others."""
        places = np.full(items, -1, dtype=np.int32)
        places[self.items] = np.arange(self.items.size)
        return places


def ratings_of(passes: Passes, log: EventLog) -> UserRatings:
    """Return the ratings of a log, which stay in memory between the stages of one release."""
    return passes.cached(log, Raters().reading(log), lambda: read_ratings(passes, log))


def read_ratings(passes: Passes, log: EventLog) -> UserRatings:
    """Read all ratings of a log."""
    value_range = log.value_range

    def units(batch: CodedBatch) -> NDArray[np.int16]:
        if batch.values is None or value_range is None:
            return np.zeros(batch.cells.size, dtype=np.int16)
        return _units_of(batch.values, value_range).astype(np.int16)

    rows = passes.read_sorted(log, Raters().reading(log), units)
    average(rows.starts, rows.cells, rows.beside)
    rated = rows.starts[-1]
    return UserRatings(rows.starts, rows.cells[:rated], rows.beside[:rated], len(log.catalogue.ids))


def _units_of(values: NDArray[np.float64], within: Range) -> NDArray[np.int64]:
    """Cut values to their range, and stretch it: whole units above its lower end."""
    low, high = map(float, within)
    stretched = (np.clip(values, low, high) - low) * (WHOLE_RANGE / (high - low))
    return np.rint(np.clip(stretched, 0, WHOLE_RANGE)).astype(np.int64)
