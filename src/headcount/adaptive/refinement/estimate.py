"""A closer look at the first items: their counts, from what each person has of these few items alone.

Among a few items people have few records. A limit on these cuts off next to nothing, so that counts need hardly be
scaled up, and noise pays for little. What they are scaled up by follows from how many of these items people have,
which is released. Where people are counted, items are taken to be had by chance: each with odds of its own, and so
many in all. Where records are counted, a person may also have one item many times, and then all items share alike
in everybody's records; both are averaged over, and how far they are from each other is one of the things that are
uncertain.

Two estimates of each count are then put together: what was known before, whose errors items of like popularity
share, and what was measured, whose ratios all share. An end of an interval comes from what was known to that side:
there it may be much less sure, as where noise hides people.

Only released numbers are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Flags, Floats
from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.adaptive.empirical_bayes import Posterior
from headcount.adaptive.refinement.subset_activity import PeopleOfFew
from headcount.adaptive.scale_up import Norm, weights
from headcount.adaptive.undetected_users import of_one_item
from headcount.bounds.counts.activity_bins import BINS, UPPER_ENDS, bin_of

_NORMAL_95 = 1.96
# deviations that ends are away: what is released first was chosen for being large, and what was known before
# allows for more upwards than is usual, but where people may have one item many times
_DOWN, _UP, _UP_OF_RECORDS = 2.2, 1.9, 2.1
_NOISE_REACHES, _MISJUDGED = 4.0, 2.5  # deviations that estimates are from each other by no chance
_NOT_SURE = 0.2  # how far such a part is off at least
_ITEMS_DIFFER = 0.4  # how far single items are from the ratio expected of them, as a share of its logarithm
_ALIKE_WITHIN = 1.5  # e-folds of popularity within which errors are shared
_IN_THEIR_BINS = 0.08  # how far all the records of a bin may be off, for where in it people are
_SINGLE_BINS = 2  # the first ones, of people with 1 and with 2
_ROUNDS = 12
_MOST_STEPS, _NEAR_ENOUGH = 60, 1e-9
_FARTHEST = 40.0  # logarithm of odds that are as good as certain
_LEAST_ODDS = 1e-300
_SMALLEST = 1e-3  # of the largest count, that counts are taken to be at least
_MOST_OFF = 1.0  # what more a ratio may be off, relatively, is not told apart


@dataclass(frozen=True, eq=False)
class Known:
    """What was known of some counts before, and how far they may be off, as deviations.

    ``noise`` is what noise makes of that, ``differ`` how far each is misjudged by itself, and ``shared`` how far
    together with items as popular. ``popularity`` is on a scale of logarithms.
    """

    counts: Posterior
    noise: Floats
    differ: Floats
    shared: Floats
    popularity: Floats

    @property
    def errors_in_common(self) -> Floats:
        """The covariance of what is shared."""
        apart = np.abs(np.subtract.outer(self.popularity, self.popularity))
        return np.asarray(np.outer(self.shared, self.shared) * np.exp(-apart / _ALIKE_WITHIN))

    def apart(self, upwards: bool | None = None) -> Floats:
        """Return how far each is off by itself: to be expected, or at most to one side."""
        own: Floats = np.hypot(self.noise, self.differ)
        if upwards is None:
            return own
        end = self.counts.high - self.counts.mean if upwards else self.counts.mean - self.counts.low
        return np.asarray(np.sqrt(np.maximum((end / _NORMAL_95) ** 2 - self.shared**2, own**2)))


class LimitRatios(NamedTuple):
    """What weighted counts amount to in full, and how far that may be off, relatively.

    ``apart`` is of each item by itself, ``common`` of all, and ``hidden`` how much more it is, on a scale of
    logarithms, if noise hides people with many records.
    """

    each: Floats
    apart: Floats
    common: float
    hidden: float


@dataclass(frozen=True, eq=False)
class Few:
    """Some items: what is known of their counts, and how many people have how many records of them.

    Who has which is worked out from ``counts``, the best there are. ``distinct`` says that people have each item
    once at most, ``squares`` that their numbers of records are sums of squares, and ``cap`` is a public one on how
    many records of a person count.
    """

    known: Known
    counts: Floats
    having: PeopleOfFew
    distinct: bool
    norm: Norm = "l1"
    squares: bool = False
    cap: int | None = None

    @property
    def people(self) -> EstimatedActivity:
        """How many people are estimated to have how many records."""
        return self.having.estimated

    def ratios(self, limit: int) -> LimitRatios:
        """Return what weighted counts amount to in full under a limit.

        >>> zero = np.zeros(2)
        >>> known = Known(Posterior(np.array([250.0, 150.0]), zero, zero), zero, zero, zero, zero)
        >>> people = EstimatedActivity(np.array([1.0, 2.0]), np.array([200.0, 100.0]))
        >>> few = Few(known, known.counts.mean, PeopleOfFew(people, people, np.zeros(BINS)), distinct=True)
        >>> few.ratios(1).each.round(2).tolist(), few.ratios(2).each.tolist()
        ([1.25, 1.49], [1.0, 1.0])
        """
        if self.people.total_users <= 0:
            nothing = np.zeros(self.known.noise.size)
            return LimitRatios(nothing + 1, nothing, 0.0, 0.0)
        each = weights(self.people.records, limit, self.norm)
        chances, records = self._having
        found = np.log((chances @ records) / (chances @ (records * each)))
        apart, between, hidden = _ITEMS_DIFFER * found, 0.0, 0.0
        if not self.distinct:
            alike, most = (self._alike(people, limit) for people in (self.people, self.having.at_most))
            part, off, _ = self.having.alike
            between, hidden = float(np.mean(np.abs(found - alike))) * max(off, _NOT_SURE), most - alike
            found = (1 - part) * found + part * alike
        common = float(np.hypot(between, self._off(each)))
        return LimitRatios(np.exp(found), apart, min(common, _MOST_OFF), min(max(hidden, 0.0), _MOST_OFF))

    def _alike(self, people: EstimatedActivity, limit: int) -> float:
        """Return the logarithm of the ratio of all items where all share alike in everybody's records."""
        full = people.users * (np.sqrt(people.records) if self.squares else people.records)
        return float(np.log(full.sum() / (full @ weights(people.records, limit, self.norm))))

    @cached_property
    def _having(self) -> tuple[Floats, Floats]:
        """The chances of each item (rows) for people of each number of records, and how often such people have it.

        They have it or not, and as many of all as they have records; who has more has all, and some again.
        """
        people = self.people
        counts = np.maximum(self.counts, max(_SMALLEST * float(self.counts.max(initial=0.0)), 1e-9))
        having = np.minimum(people.records, counts.size * (1 - _SMALLEST))
        times = people.records / np.minimum(people.records, counts.size)
        records = people.users * (np.sqrt(times) if self.squares else times)
        parts = counts / counts.sum()
        odds, active = parts, np.zeros(having.size)
        for _ in range(_ROUNDS):
            chances, active = _chances(odds, having, active)
            full = chances @ records
            odds = odds * (parts * full.sum() / full)
        return _chances(odds, having, active)[0], records

    def best_limit(self, deviations: Sequence[tuple[int, float]]) -> int:
        """Return the limit, of some with the noise they call for, that leaves least uncertain.

        What is left counts relatively: a small count is worth as much as a large one.
        """
        return min(deviations, key=lambda each: float(np.log(self.left(*each)).sum()))[0]

    def left(self, limit: int, deviation: float) -> Floats:
        """Return how uncertain each count will be with a limit and its noise: variances."""
        ratios, counts = self.ratios(limit), self.known.counts.mean
        off = ratios.apart**2 + ratios.common**2 + ratios.hidden**2 / 4
        fresh = (ratios.each * deviation) ** 2 + off * counts**2
        before = self.known.apart(upwards=True) ** 2 + self.known.shared**2
        return np.asarray(1 / sum(1 / np.maximum(each, 1e-18) for each in (fresh, before)))

    def together(self, weighed: Floats, limit: int, deviation: float) -> Posterior:
        """Put what was known and weighted counts that were measured, with noise of a deviation, together.

        >>> counts = Posterior(np.array([90.0, 60.0]), np.array([0.0, 0.0]), np.array([190.0, 160.0]))
        >>> known = Known(counts, np.full(2, 50.0), np.zeros(2), np.zeros(2), np.zeros(2))
        >>> people = EstimatedActivity(np.array([1.0, 2.0]), np.array([80.0, 30.0]))
        >>> few = Few(known, counts.mean, PeopleOfFew(people, people, np.zeros(BINS)), distinct=True)
        >>> found = few.together(np.array([100.0, 40.0]), 2, 10.0)
        >>> [each.round().tolist() for each in (found.mean, found.low, found.high)]
        [[100.0, 41.0], [78.0, 19.0], [118.0, 59.0]]
        """
        ratios = self.ratios(limit)
        best = self._combined(ratios, weighed, deviation, self.known.apart())
        down = self._combined(ratios, weighed, deviation, self.known.apart(upwards=False))
        half = ratios.hidden / 2
        more = ratios._replace(each=ratios.each * np.exp(half), common=float(np.hypot(ratios.common, half)))
        up = self._combined(more, weighed, deviation, self.known.apart(upwards=True))
        mean, reach = np.maximum(best.mean, 0.0), _UP if self.distinct else _UP_OF_RECORDS
        low = np.clip(down.mean - _DOWN * down.deviation, 0.0, mean)
        before = self.known.counts
        high = before.high
        if ratios.hidden < _MOST_OFF:
            high = np.minimum(up.mean + self._with_hidden(reach * up.deviation, limit), high)
        few = self._from_few(ratios, weighed, deviation)
        return Posterior(
            np.asarray(np.where(few, before.mean, mean)),
            np.asarray(np.where(few, before.low, low)),
            np.asarray(np.where(few, before.high, np.maximum(high, mean))),
        )

    def _from_few(self, ratios: LimitRatios, weighed: Floats, deviation: float) -> Flags:
        """Say which items come from few people with much of them, of whom a look sees as little as of others.

        What was known is then further above what was measured than noise and what both may misjudge allow for.
        """
        counts = self.known.counts.mean
        noise = np.hypot(ratios.each * deviation, self.known.noise)
        misjudged = np.hypot(
            np.hypot(self.known.differ, self.known.shared), np.hypot(ratios.apart, ratios.common) * counts
        )
        above = counts - ratios.each * weighed > _NOISE_REACHES * noise + _MISJUDGED * misjudged
        return np.asarray(above & (not self.distinct))

    def _with_hidden(self, off: Floats, limit: int) -> Floats:
        """Return how far up counts may be off, with what people whom noise may hide add where that has an end.

        Of what they have, the limit lets a part be measured. It takes two chances for a count to be off that far
        and for so many people to be hidden. But who has one item alone is hidden by design; and where weights go
        by squares little else is uncertain, and in some logs so many are hidden.
        """
        if not self.distinct:
            return off if self.cap is None else off + of_one_item(self.cap, limit)
        items = self.known.noise.size
        ends = np.minimum(UPPER_ENDS[: bin_of(np.array([items]))[0] + 1], items).astype(np.float64)
        hidden = (self.having.hidden[: ends.size] * (1 - weights(ends, limit, self.norm))).max()
        return np.asarray(np.hypot(off, hidden) if self.norm == "l1" else off + hidden)

    def _off(self, each: Floats) -> float:
        """Return how far ratios may be off, relatively: for how many people there are, and for where they are.

        Where records are weighed down to a limit, what they weigh follows their number less, or not at all.
        """
        people = self.people
        full, weighed = people.users * people.records, people.users * people.records * each
        above, below = full / full.sum(), weighed / weighed.sum()
        follows = np.where(each < 1, 0.0 if self.norm == "l1" else 0.5, 1.0)
        places = bin_of(np.ceil(people.records).astype(np.int64))
        users, moves, places_move = (
            np.bincount(places, weights=part, minlength=BINS)
            for part in (people.users, above - below, above - follows * below)
        )
        relative = np.divide(moves, users, out=np.zeros_like(moves), where=users > 0)
        by_noise = ((relative * self.having.deviations) ** 2).sum()
        in_bins = _IN_THEIR_BINS**2 * (places_move[_SINGLE_BINS:] ** 2).sum()
        return float(np.sqrt(by_noise + in_bins))

    def _combined(self, ratios: LimitRatios, weighed: Floats, deviation: float, apart: Floats) -> _Combined:
        """Return the best linear estimate from both.

        Ratios are off in proportion to what was known of a count. Were it to what was measured, small measurements
        would be taken for sure ones, and an error that all share would draw all counts down.
        """
        before = self.known.errors_in_common + np.diag(apart**2 + 1e-12)
        prior = self.known.counts.mean
        of = np.maximum(prior, 0.0)
        noise = np.diag((ratios.each * deviation) ** 2 + (ratios.apart * of) ** 2)
        noise += ratios.common**2 * np.outer(of, of)
        gain = np.linalg.solve(before + noise, before).T
        mean = prior + gain @ (ratios.each * weighed - prior)
        return _Combined(mean, np.sqrt(np.maximum(np.diag(before - gain @ before), 0.0)))


class _Combined(NamedTuple):
    mean: Floats
    deviation: Floats


def _chances(odds: Floats, having: Floats, near: Floats) -> tuple[Floats, Floats]:
    """Return the chance of each item (rows) for people who have so many of all of them, and how active they are.

    That is by how much the logarithms of all odds are higher for them; it is looked for from what is near.

    >>> _chances(np.array([1.0, 1.0, 4.0]), np.array([1.5]), np.zeros(1))[0].round(2).tolist()
    [[0.39], [0.39], [0.72]]
    """
    logarithms = np.log(np.maximum(odds, _LEAST_ODDS))[:, None]
    low, high, active = np.full(having.size, -_FARTHEST), np.full(having.size, _FARTHEST), near
    for _ in range(_MOST_STEPS):
        found = _likely(logarithms + active)
        over = found.sum(axis=0) - having
        if np.all(np.abs(over) <= _NEAR_ENOUGH * having):
            break
        low, high = np.where(over > 0, low, active), np.where(over > 0, active, high)
        further = active - over / np.maximum((found * (1 - found)).sum(axis=0), _LEAST_ODDS)  # Newton's step
        active = np.where((further > low) & (further < high), further, (low + high) / 2)
    return _likely(logarithms + active), active


def _likely(logarithms: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(logarithms, -_FARTHEST, _FARTHEST))))
