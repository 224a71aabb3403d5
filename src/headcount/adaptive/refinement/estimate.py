"""Refinement, estimation: combine prior counts of the first items with their second measurement.

The measurement is in refinement.measure; users by records of these items are in subset_activity.

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
from headcount.adaptive.refinement.subset_activity import SubsetActivity
from headcount.adaptive.scale_up import Norm, weights
from headcount.adaptive.undetected_users import undetected_per_item
from headcount.bounds.counts.activity_histogram import BINS, UPPER_ENDS, bin_of

_NORMAL_95 = 1.96
# deviations that ends are away: what is released first was chosen for being large, and what was known before
# allows for more upwards than is usual, but where people may have one item many times
_LOWER_DEVIATIONS, _UPPER_DEVIATIONS, _UPPER_DEVIATIONS_OF_RECORDS = 2.2, 1.9, 2.1
_NOISE_DEVIATIONS, _SCALE_UP_DEVIATIONS = 4.0, 2.5  # deviations that estimates are from each other by no chance
_MIN_MIXING_DEVIATION = 0.2  # how far such a part is off at least
_ITEM_DEVIATION = 0.4  # how far single items are from the ratio expected of them, as a share of its logarithm
_CORRELATION_LENGTH = 1.5  # e-folds of popularity within which errors are shared
_WITHIN_BIN_DEVIATION = 0.08  # how far all the records of a bin may be off, for where in it people are
_SINGLE_BINS = 2  # the first ones, of people with 1 and with 2
_ROUNDS = 12
_MAX_NEWTON_STEPS, _NEWTON_TOLERANCE = 60, 1e-9
_MAX_LOG_ODDS = 40.0  # logarithm of odds that are as good as certain
_MIN_ODDS = 1e-300
_SMALLEST = 1e-3  # of the largest count, that counts are taken to be at least
_MAX_DEVIATION = 1.0  # what more a ratio may be off, relatively, is not told apart


@dataclass(frozen=True, eq=False)
class PriorEstimates:
    """What was known of some counts before, and how far they may be off, as deviations.

    ``noise`` is the deviation of the noise, ``item_deviation`` that of each item's own scale-up error, ``shared``
    that of the error it shares with items of similar popularity. ``popularity`` is a logarithm.
    """

    counts: Posterior
    noise: Floats
    item_deviation: Floats
    shared: Floats
    popularity: Floats

    @property
    def shared_covariance(self) -> Floats:
        """The covariance of what is shared."""
        apart = np.abs(np.subtract.outer(self.popularity, self.popularity))
        return np.asarray(np.outer(self.shared, self.shared) * np.exp(-apart / _CORRELATION_LENGTH))

    def own_deviation(self, upwards: bool | None = None) -> Floats:
        """Return how far each is off by itself: to be expected, or at most to one side."""
        own: Floats = np.hypot(self.noise, self.item_deviation)
        if upwards is None:
            return own
        end = self.counts.high - self.counts.mean if upwards else self.counts.mean - self.counts.low
        return np.asarray(np.sqrt(np.maximum((end / _NORMAL_95) ** 2 - self.shared**2, own**2)))


class ScaleUpFactors(NamedTuple):
    """What weighted counts amount to in full, and how far that may be off, relatively.

    ``own_deviation`` is of each item alone, ``common`` of all; ``undetected`` is how much larger the factor is, as
    a logarithm, if there are undetected heavy users.
    """

    factor: Floats
    own_deviation: Floats
    common: float
    undetected: float


@dataclass(frozen=True, eq=False)
class SubsetModel:
    """Some items: what is known of their counts, and how many people have how many records of them.

    Who has which is worked out from ``counts``, the best there are. ``distinct`` says that people have each item
    once at most, ``squares`` that their numbers of records are sums of squares, and ``cap`` is a public one on how
    many records of a person count.
    """

    prior: PriorEstimates
    counts: Floats
    subset_activity: SubsetActivity
    distinct: bool
    norm: Norm = "l1"
    squares: bool = False
    cap: int | None = None

    @property
    def activity(self) -> EstimatedActivity:
        """How many people are estimated to have how many records."""
        return self.subset_activity.estimated

    def ratios(self, limit: int) -> ScaleUpFactors:
        """Return what weighted counts amount to in full under a limit.

        >>> zero = np.zeros(2)
        >>> prior = PriorEstimates(Posterior(np.array([250.0, 150.0]), zero, zero), zero, zero, zero, zero)
        >>> activity = EstimatedActivity(np.array([1.0, 2.0]), np.array([200.0, 100.0]))
        >>> subset = SubsetActivity(activity, activity, np.zeros(BINS))
        >>> few = SubsetModel(prior, prior.counts.mean, subset, distinct=True)
        >>> few.ratios(1).factor.round(2).tolist(), few.ratios(2).factor.tolist()
        ([1.25, 1.49], [1.0, 1.0])
        """
        if self.activity.total_users <= 0:
            nothing = np.zeros(self.prior.noise.size)
            return ScaleUpFactors(nothing + 1, nothing, 0.0, 0.0)
        record_weights = weights(self.activity.records, limit, self.norm)
        chances, records = self._inclusion
        log_ratios = np.log((chances @ records) / (chances @ (records * record_weights)))
        item_deviation, between, undetected = _ITEM_DEVIATION * log_ratios, 0.0, 0.0
        if not self.distinct:
            equal_share, most = (
                self._equal_share_log_ratio(activity, limit)
                for activity in (self.activity, self.subset_activity.at_most)
            )
            part, mixing_deviation, _ = self.subset_activity.mixing
            between, undetected = (
                float(np.mean(np.abs(log_ratios - equal_share))) * max(mixing_deviation, _MIN_MIXING_DEVIATION),
                most - equal_share,
            )
            log_ratios = (1 - part) * log_ratios + part * equal_share
        common = float(np.hypot(between, self._common_deviation(record_weights)))
        return ScaleUpFactors(
            np.exp(log_ratios),
            item_deviation,
            min(common, _MAX_DEVIATION),
            min(max(undetected, 0.0), _MAX_DEVIATION),
        )

    def _equal_share_log_ratio(self, activity: EstimatedActivity, limit: int) -> float:
        """Return the logarithm of the ratio of all items where all share alike in everybody's records."""
        full = activity.users * (np.sqrt(activity.records) if self.squares else activity.records)
        return float(np.log(full.sum() / (full @ weights(activity.records, limit, self.norm))))

    @cached_property
    def _inclusion(self) -> tuple[Floats, Floats]:
        """The chances of each item (rows) for people of each number of records, and how often such people have it.

        They have it or not, and as many of all as they have records; who has more has all, and some again.
        """
        activity = self.activity
        counts = np.maximum(self.counts, max(_SMALLEST * float(self.counts.max(initial=0.0)), 1e-9))
        having = np.minimum(activity.records, counts.size * (1 - _SMALLEST))
        times = activity.records / np.minimum(activity.records, counts.size)
        records = activity.users * (np.sqrt(times) if self.squares else times)
        parts = counts / counts.sum()
        odds, active = parts, np.zeros(having.size)
        for _ in range(_ROUNDS):
            chances, active = _inclusion_chances(odds, having, active)
            full = chances @ records
            odds = odds * (parts * full.sum() / full)
        return _inclusion_chances(odds, having, active)[0], records

    def best_limit(self, deviations: Sequence[tuple[int, float]]) -> int:
        """Return the limit, of some with the noise they call for, that leaves least uncertain.

        What is left counts relatively: a small count is worth as much as a large one.
        """
        return min(deviations, key=lambda choice: float(np.log(self.remaining_variance(*choice)).sum()))[0]

    def remaining_variance(self, limit: int, deviation: float) -> Floats:
        """Return how uncertain each count will be with a limit and its noise: variances."""
        ratios, counts = self.ratios(limit), self.prior.counts.mean
        relative_variance = ratios.own_deviation**2 + ratios.common**2 + ratios.undetected**2 / 4
        fresh = (ratios.factor * deviation) ** 2 + relative_variance * counts**2
        prior_variance = self.prior.own_deviation(upwards=True) ** 2 + self.prior.shared**2
        return np.asarray(1 / sum(1 / np.maximum(variances, 1e-18) for variances in (fresh, prior_variance)))

    def combine(self, weighed: Floats, limit: int, deviation: float) -> Posterior:
        """Put what was known and weighted counts that were measured, with noise of a deviation, together.

        >>> counts = Posterior(np.array([90.0, 60.0]), np.array([0.0, 0.0]), np.array([190.0, 160.0]))
        >>> prior = PriorEstimates(counts, np.full(2, 50.0), np.zeros(2), np.zeros(2), np.zeros(2))
        >>> activity = EstimatedActivity(np.array([1.0, 2.0]), np.array([80.0, 30.0]))
        >>> subset = SubsetActivity(activity, activity, np.zeros(BINS))
        >>> few = SubsetModel(prior, counts.mean, subset, distinct=True)
        >>> posterior = few.combine(np.array([100.0, 40.0]), 2, 10.0)
        >>> [values.round().tolist() for values in (posterior.mean, posterior.low, posterior.high)]
        [[100.0, 41.0], [78.0, 19.0], [118.0, 59.0]]
        """
        ratios = self.ratios(limit)
        best = self._linear_update(ratios, weighed, deviation, self.prior.own_deviation())
        down = self._linear_update(ratios, weighed, deviation, self.prior.own_deviation(upwards=False))
        half = ratios.undetected / 2
        more = ratios._replace(factor=ratios.factor * np.exp(half), common=float(np.hypot(ratios.common, half)))
        up = self._linear_update(more, weighed, deviation, self.prior.own_deviation(upwards=True))
        mean, upper_deviations = (
            np.maximum(best.mean, 0.0),
            _UPPER_DEVIATIONS if self.distinct else _UPPER_DEVIATIONS_OF_RECORDS,
        )
        low = np.clip(down.mean - _LOWER_DEVIATIONS * down.deviation, 0.0, mean)
        before = self.prior.counts
        high = before.high
        if ratios.undetected < _MAX_DEVIATION:
            high = np.minimum(up.mean + self._add_undetected(upper_deviations * up.deviation, limit), high)
        few = self._is_concentrated(ratios, weighed, deviation)
        return Posterior(
            np.asarray(np.where(few, before.mean, mean)),
            np.asarray(np.where(few, before.low, low)),
            np.asarray(np.where(few, before.high, np.maximum(high, mean))),
        )

    def _is_concentrated(self, ratios: ScaleUpFactors, weighed: Floats, deviation: float) -> Flags:
        """Say which items come from few people with much of them, of whom a look sees as little as of others.

        What was known is then further above what was measured than noise and what both may misjudge allow for.
        """
        counts = self.prior.counts.mean
        noise = np.hypot(ratios.factor * deviation, self.prior.noise)
        misjudged = np.hypot(
            np.hypot(self.prior.item_deviation, self.prior.shared),
            np.hypot(ratios.own_deviation, ratios.common) * counts,
        )
        above = counts - ratios.factor * weighed > _NOISE_DEVIATIONS * noise + _SCALE_UP_DEVIATIONS * misjudged
        return np.asarray(above & (not self.distinct))

    def _add_undetected(self, deviations: Floats, limit: int) -> Floats:
        """Return how far up counts may be off, with what people whom noise may hide add where that has an end.

        Of what they have, the limit lets a part be measured. It takes two chances for a count to be off that far
        and for so many people to be hidden. But who has one item alone is hidden by design; and where weights go
        by squares little else is uncertain, and in some logs so many are hidden.
        """
        if not self.distinct:
            return deviations if self.cap is None else deviations + undetected_per_item(self.cap, limit)
        items = self.prior.noise.size
        ends = np.minimum(UPPER_ENDS[: bin_of(np.array([items]))[0] + 1], items).astype(np.float64)
        undetected = (self.subset_activity.undetected[: ends.size] * (1 - weights(ends, limit, self.norm))).max()
        return np.asarray(np.hypot(deviations, undetected) if self.norm == "l1" else deviations + undetected)

    def _common_deviation(self, record_weights: Floats) -> float:
        """Return how far ratios may be off, relatively: for how many people there are, and for where they are.

        Where records are weighed down to a limit, what they weigh follows their number less, or not at all.
        """
        activity = self.activity
        full, weighed = activity.users * activity.records, activity.users * activity.records * record_weights
        above, below = full / full.sum(), weighed / weighed.sum()
        follows = np.where(record_weights < 1, 0.0 if self.norm == "l1" else 0.5, 1.0)
        places = bin_of(np.ceil(activity.records).astype(np.int64))
        users, gradient, places_move = (
            np.bincount(places, weights=part, minlength=BINS)
            for part in (activity.users, above - below, above - follows * below)
        )
        relative = np.divide(gradient, users, out=np.zeros_like(gradient), where=users > 0)
        by_noise = ((relative * self.subset_activity.deviations) ** 2).sum()
        in_bins = _WITHIN_BIN_DEVIATION**2 * (places_move[_SINGLE_BINS:] ** 2).sum()
        return float(np.sqrt(by_noise + in_bins))

    def _linear_update(
        self, ratios: ScaleUpFactors, weighed: Floats, deviation: float, own_deviation: Floats
    ) -> _LinearEstimate:
        """Return the best linear estimate from both.

        Ratios are off in proportion to what was known of a count. Were it to what was measured, small measurements
        would be taken for sure ones, and an error that all share would draw all counts down.
        """
        prior_covariance = self.prior.shared_covariance + np.diag(own_deviation**2 + 1e-12)
        prior_mean = self.prior.counts.mean
        positive_prior = np.maximum(prior_mean, 0.0)
        noise_covariance = np.diag((ratios.factor * deviation) ** 2 + (ratios.own_deviation * positive_prior) ** 2)
        noise_covariance += ratios.common**2 * np.outer(positive_prior, positive_prior)
        gain = np.linalg.solve(prior_covariance + noise_covariance, prior_covariance).T
        mean = prior_mean + gain @ (ratios.factor * weighed - prior_mean)
        return _LinearEstimate(mean, np.sqrt(np.maximum(np.diag(prior_covariance - gain @ prior_covariance), 0.0)))


class _LinearEstimate(NamedTuple):
    mean: Floats
    deviation: Floats


def _inclusion_chances(odds: Floats, subset_sizes: Floats, near: Floats) -> tuple[Floats, Floats]:
    """Return the chance of each item (rows) for people who have so many of all of them, and how active they are.

    That is by how much the logarithms of all odds are higher for them; it is looked for from what is near.

    >>> _inclusion_chances(np.array([1.0, 1.0, 4.0]), np.array([1.5]), np.zeros(1))[0].round(2).tolist()
    [[0.39], [0.39], [0.72]]
    """
    logarithms = np.log(np.maximum(odds, _MIN_ODDS))[:, None]
    low, high, active = np.full(subset_sizes.size, -_MAX_LOG_ODDS), np.full(subset_sizes.size, _MAX_LOG_ODDS), near
    for _ in range(_MAX_NEWTON_STEPS):
        chances = _sigmoid(logarithms + active)
        residual = chances.sum(axis=0) - subset_sizes
        if np.all(np.abs(residual) <= _NEWTON_TOLERANCE * subset_sizes):
            break
        low, high = np.where(residual > 0, low, active), np.where(residual > 0, active, high)
        further = active - residual / np.maximum((chances * (1 - chances)).sum(axis=0), _MIN_ODDS)  # Newton's step
        active = np.where((further > low) & (further < high), further, (low + high) / 2)
    return _sigmoid(logarithms + active), active


def _sigmoid(logarithms: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(logarithms, -_MAX_LOG_ODDS, _MAX_LOG_ODDS))))
