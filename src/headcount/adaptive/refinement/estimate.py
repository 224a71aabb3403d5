"""Refinement, estimation: combine prior counts of the first items with their second measurement.

The measurement is in measure; users by records of these items are in subset_activity.

Among a few items users have few records. A threshold on these cuts off next to nothing, so counts need hardly be
scaled up, and noise pays for little. The factors follow from how many of these items users have, which is
released. Where users are counted, items are taken to be had by chance: each with odds of its own, and so many in
all. Where records are counted, a user may also have one item many times, and then all items have equal shares in
every user's records; both are averaged over, and their difference is part of the error.

Two estimates of each count are then combined: that before, whose errors items of like popularity share, and the
measured one, whose factors all share. Each end of an interval uses the uncertainty of the earlier estimate on that
side, which may be much larger, as where noise conceals users.

Only released numbers are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Flags, Floats, Integers
from headcount.adaptive.activity_histogram import EstimatedActivity, UserEstimates
from headcount.adaptive.bayes_linear import LinearPosterior, update
from headcount.adaptive.intervals import undetected_per_item
from headcount.adaptive.light_heavy_estimates import ShrinkageModel
from headcount.adaptive.posterior import Posterior, laplace_scale
from headcount.adaptive.priors import NORMAL_95, PRIORS, Priors, RefinementPriors
from headcount.adaptive.refinement.subset_activity import SubsetActivity, estimate_subset_activity
from headcount.adaptive.scale_up import Norm, Ratios, weights
from headcount.bounds import Noisy
from headcount.bounds.counts.activity_histogram import UPPER_ENDS, bin_of

_MAX_NEWTON_STEPS, _NEWTON_TOLERANCE = 60, 1e-9
_MAX_LOG_ODDS = 40.0  # logarithm of odds that are as good as certain
_MIN_ODDS = 1e-300
_SMALLEST = 1e-9


@dataclass(frozen=True, eq=False)
class PriorEstimates:
    """Earlier estimates of some counts, and their deviations.

    ``noise`` is the deviation of the noise, ``item_deviation`` that of each item's own scale-up error, ``shared``
    that of the error it shares with items of similar popularity. ``popularity`` is a logarithm.
    """

    counts: Posterior
    noise: Floats
    item_deviation: Floats
    shared: Floats
    popularity: Floats

    def shared_covariance(self, correlation_length: float) -> Floats:
        """Return the covariance of shared errors, which falls with the distance in popularity."""
        apart = np.abs(np.subtract.outer(self.popularity, self.popularity))
        return np.asarray(np.outer(self.shared, self.shared) * np.exp(-apart / correlation_length))

    def own_deviation(self, upwards: bool | None = None) -> Floats:
        """Return the deviation of each count alone: the expected one, or the largest on one side."""
        own: Floats = np.hypot(self.noise, self.item_deviation)
        if upwards is None:
            return own
        end = self.counts.high - self.counts.mean if upwards else self.counts.mean - self.counts.low
        return np.asarray(np.sqrt(np.maximum((end / NORMAL_95) ** 2 - self.shared**2, own**2)))


def prior_estimates(model: ShrinkageModel, ratios: Ratios, counts: Posterior, places: Integers) -> PriorEstimates:
    """Return the earlier estimates of the items at some places, whose counts came from these factors."""
    own, others = model.at(places)
    ratio, deviation = ratios.at(others.mean, places)
    shared, full = ratios.shared(others.mean, places), ratio * others.mean
    return PriorEstimates(
        counts=counts[places],
        noise=np.hypot(own.high - own.low, ratio * (others.high - others.low)) / (2 * NORMAL_95),
        item_deviation=np.sqrt(np.maximum(deviation**2 - shared**2, 0.0)) * full,
        shared=shared * full,
        popularity=np.log(np.maximum(others.mean / model.threshold, model.priors.counts.min_popularity)),
    )


class ScaleUpFactors(NamedTuple):
    """Ratios of full to weighted counts, and their relative deviations.

    ``own_deviation`` is of each item alone, ``common`` of all; ``undetected`` is how much larger the factor is, as
    a logarithm, if there are undetected heavy users.
    """

    factor: Floats
    own_deviation: Floats
    common: float
    undetected: float


@dataclass(frozen=True, eq=False)
class SubsetModel:
    """The refined items: earlier estimates of their counts, and users by number of records of them.

    Which users have which items follows from ``counts``, the best there are. ``distinct`` says that users have
    each item once at most, ``squares`` that their numbers of records are sums of squares, and ``cap`` is a public
    maximum of records per user.
    """

    prior: PriorEstimates
    counts: Floats
    subset_activity: SubsetActivity
    distinct: bool
    norm: Norm = "l1"
    squares: bool = False
    cap: int | None = None
    priors: Priors = PRIORS

    @property
    def tuned(self) -> RefinementPriors:
        """The constants of refinement."""
        return self.priors.refinement

    @property
    def activity(self) -> EstimatedActivity:
        """The estimated activity."""
        return self.subset_activity.estimated

    def ratios(self, threshold: int) -> ScaleUpFactors:
        """Return the factors of weighted counts under a threshold.

        >>> zero = np.zeros(2)
        >>> prior = PriorEstimates(Posterior(np.array([250.0, 150.0]), zero, zero), zero, zero, zero, zero)
        >>> activity = EstimatedActivity(np.array([1.0, 2.0]), np.array([200.0, 100.0]))
        >>> subset = SubsetActivity(activity, activity, np.zeros(22))
        >>> few = SubsetModel(prior, prior.counts.mean, subset, distinct=True)
        >>> few.ratios(1).factor.round(2).tolist(), few.ratios(2).factor.tolist()
        ([1.25, 1.49], [1.0, 1.0])
        """
        if self.activity.total_users <= 0:
            nothing = np.zeros(self.prior.noise.size)
            return ScaleUpFactors(nothing + 1, nothing, 0.0, 0.0)
        tuned, record_weights = self.tuned, weights(self.activity.records, threshold, self.norm)
        chances, records = self._inclusion
        log_ratios = np.log((chances @ records) / (chances @ (records * record_weights)))
        item_deviation, between, undetected = tuned.item_deviation * log_ratios, 0.0, 0.0
        if not self.distinct:
            equal_share, upper = (
                self._equal_share_log_ratio(activity, threshold)
                for activity in (self.activity, self.subset_activity.upper)
            )
            part, mixing_deviation, _ = self.subset_activity.mixing
            distance = float(np.mean(np.abs(log_ratios - equal_share)))
            between = distance * max(mixing_deviation, tuned.min_mixing_deviation)
            undetected = upper - equal_share
            log_ratios = (1 - part) * log_ratios + part * equal_share
        common = float(np.hypot(between, self._common_deviation(record_weights)))
        return ScaleUpFactors(
            np.exp(log_ratios),
            item_deviation,
            min(common, tuned.max_deviation),
            min(max(undetected, 0.0), tuned.max_deviation),
        )

    def _equal_share_log_ratio(self, activity: EstimatedActivity, threshold: int) -> float:
        """Return the log factor of all items where all have equal shares in every user's records."""
        full = activity.users * (np.sqrt(activity.records) if self.squares else activity.records)
        return float(np.log(full.sum() / (full @ weights(activity.records, threshold, self.norm))))

    @cached_property
    def _inclusion(self) -> tuple[Floats, Floats]:
        """The chances of each item (rows) for users of each number of records, and how often such users have it.

        They have it or not, and as many of all as they have records; users with more have all, and some again.
        """
        activity, smallest = self.activity, self.tuned.min_relative_count
        counts = np.maximum(self.counts, max(smallest * float(self.counts.max(initial=0.0)), 1e-9))
        having = np.minimum(activity.records, counts.size * (1 - smallest))
        times = activity.records / np.minimum(activity.records, counts.size)
        records = activity.users * (np.sqrt(times) if self.squares else times)
        parts = counts / counts.sum()
        odds, active = parts, np.zeros(having.size)
        for _ in range(self.tuned.inclusion_rounds):
            chances, active = _inclusion_chances(odds, having, active)
            full = chances @ records
            odds = odds * (parts * full.sum() / full)
        return _inclusion_chances(odds, having, active)[0], records

    def best_threshold(self, deviations: Sequence[tuple[int, float]]) -> int:
        """Return the threshold, of some with the deviation of their noise, with the smallest remaining variance.

        Variances count relatively: a small count is worth as much as a large one.
        """
        return min(deviations, key=lambda choice: float(np.log(self.remaining_variance(*choice)).sum()))[0]

    def remaining_variance(self, threshold: int, deviation: float) -> Floats:
        """Return the variance of each count with a threshold and its noise."""
        ratios, counts = self.ratios(threshold), self.prior.counts.mean
        relative_variance = ratios.own_deviation**2 + ratios.common**2 + ratios.undetected**2 / 4
        fresh = (ratios.factor * deviation) ** 2 + relative_variance * counts**2
        prior_variance = self.prior.own_deviation(upwards=True) ** 2 + self.prior.shared**2
        return np.asarray(1 / sum(1 / np.maximum(variances, 1e-18) for variances in (fresh, prior_variance)))

    def combine(self, weighed: Floats, threshold: int, deviation: float) -> Posterior:
        """Combine the earlier estimates with measured weighted counts, with noise of a deviation.

        >>> counts = Posterior(np.array([90.0, 60.0]), np.array([0.0, 0.0]), np.array([190.0, 160.0]))
        >>> prior = PriorEstimates(counts, np.full(2, 50.0), np.zeros(2), np.zeros(2), np.zeros(2))
        >>> activity = EstimatedActivity(np.array([1.0, 2.0]), np.array([80.0, 30.0]))
        >>> subset = SubsetActivity(activity, activity, np.zeros(22))
        >>> few = SubsetModel(prior, counts.mean, subset, distinct=True)
        >>> posterior = few.combine(np.array([100.0, 40.0]), 2, 10.0)
        >>> [values.round().tolist() for values in (posterior.mean, posterior.low, posterior.high)]
        [[100.0, 41.0], [78.0, 19.0], [118.0, 59.0]]
        """
        ratios, prior, tuned = self.ratios(threshold), self.prior, self.tuned
        best = self._linear_update(ratios, weighed, deviation, prior.own_deviation())
        down = self._linear_update(ratios, weighed, deviation, prior.own_deviation(upwards=False))
        half = ratios.undetected / 2
        more = ratios._replace(factor=ratios.factor * np.exp(half), common=float(np.hypot(ratios.common, half)))
        up = self._linear_update(more, weighed, deviation, prior.own_deviation(upwards=True))
        mean = np.maximum(best.mean, 0.0)
        low = np.clip(down.mean - tuned.lower_deviations * down.deviation, 0.0, mean)
        high = prior.counts.high
        if ratios.undetected < tuned.max_deviation:
            deviations = tuned.upper_deviations if self.distinct else tuned.upper_deviations_of_records
            reach = self._add_undetected(deviations * up.deviation, threshold)
            high = np.minimum(up.mean + reach, high)
        combined = Posterior(mean, low, np.asarray(np.maximum(high, mean)))
        concentrated = self._is_concentrated(ratios, weighed, deviation)
        return combined.replace(concentrated, prior.counts[concentrated])

    def _is_concentrated(self, ratios: ScaleUpFactors, weighed: Floats, deviation: float) -> Flags:
        """Say which items come from few users with many records of them, of which a refinement measures little.

        The earlier estimate then exceeds the measured one by more than noise and the errors of factors allow for.
        """
        counts = self.prior.counts.mean
        noise = np.hypot(ratios.factor * deviation, self.prior.noise)
        misjudged = np.hypot(
            np.hypot(self.prior.item_deviation, self.prior.shared),
            np.hypot(ratios.own_deviation, ratios.common) * counts,
        )
        reach = self.tuned.noise_deviations * noise + self.tuned.scale_up_deviations * misjudged
        return np.asarray((counts - ratios.factor * weighed > reach) & (not self.distinct))

    def _add_undetected(self, deviations: Floats, threshold: int) -> Floats:
        """Return upper deviations of counts with the records of undetected users, where these are bounded.

        The threshold lets a part of these records be measured. A large error and many undetected users are two
        independent chances. But users with one item alone are concealed by design; and where weights go by squares
        little else is uncertain, and some logs have as many undetected users.
        """
        if not self.distinct:
            if self.cap is None:
                return deviations
            return deviations + undetected_per_item(self.cap, threshold, self.priors.counts.users_at_cap)
        items = self.prior.noise.size
        ends = np.minimum(UPPER_ENDS[: bin_of(np.array([items]))[0] + 1], items).astype(np.float64)
        undetected = (
            self.subset_activity.undetected[: ends.size] * (1 - weights(ends, threshold, self.norm))
        ).max()
        return np.asarray(np.hypot(deviations, undetected) if self.norm == "l1" else deviations + undetected)

    def _common_deviation(self, record_weights: Floats) -> float:
        """Return the relative deviation of all factors: for the number of users, and for their positions in bins.

        Where records are down-weighted to a threshold, their weight follows their number less, or not at all.
        """
        activity = self.activity
        full, weighed = activity.users * activity.records, activity.users * activity.records * record_weights
        above, below = full / full.sum(), weighed / weighed.sum()
        follows = np.where(record_weights < 1, 0.0 if self.norm == "l1" else 0.5, 1.0)
        users, gradient, places_move = (
            activity.per_bin(part) for part in (activity.users, above - below, above - follows * below)
        )
        relative = np.divide(gradient, users, out=np.zeros_like(gradient), where=users > 0)
        by_noise = ((relative * self.subset_activity.deviations) ** 2).sum()
        in_bins = self.tuned.within_bin_deviation**2 * (places_move[self.tuned.single_bins :] ** 2).sum()
        return float(np.sqrt(by_noise + in_bins))

    def _linear_update(
        self, ratios: ScaleUpFactors, weighed: Floats, deviation: float, own_deviation: Floats
    ) -> LinearPosterior:
        """Return the best linear estimate from both.

        Errors of factors are in proportion to the earlier estimate of a count. In proportion to the measured one,
        small measurements would count as certain, and a shared error would draw all counts down.
        """
        prior, positive_prior = self.prior, np.maximum(self.prior.counts.mean, 0.0)
        prior_covariance = prior.shared_covariance(self.tuned.correlation_length)
        prior_covariance = prior_covariance + np.diag(own_deviation**2 + 1e-12)
        noise_covariance = np.diag((ratios.factor * deviation) ** 2 + (ratios.own_deviation * positive_prior) ** 2)
        noise_covariance += ratios.common**2 * np.outer(positive_prior, positive_prior)
        return update(prior.counts.mean, prior_covariance, ratios.factor * weighed, noise_covariance)


def _inclusion_chances(odds: Floats, subset_sizes: Floats, near: Floats) -> tuple[Floats, Floats]:
    """Return the chance of each item (rows) for users who have so many of all of them, and how active they are.

    Activity is the logarithm by which all odds are higher for them; the search starts ``near`` a solution.

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


@dataclass(frozen=True, eq=False)
class Subset:
    """The refined items with their released histogram; ``share`` is their part of all records, if these count."""

    prior: PriorEstimates
    share: float | None
    histogram: Noisy
    users: UserEstimates
    norm: Norm
    priors: Priors = PRIORS

    def model(self, counts: Floats) -> SubsetModel:
        """Return which users have these items, if they have such counts."""
        subset_activity = estimate_subset_activity(
            self.histogram.counts,
            laplace_scale(self.histogram.distribution),
            self.users.estimated,
            self.users.upper,
            replace(self.prior.counts, mean=counts),
            self.share,
            self.priors,
        )
        distinct, squares, cap = self.users.distinct, self.users.squares, self.users.cap
        return SubsetModel(
            self.prior, counts, subset_activity, distinct, self.norm, squares, cap, priors=self.priors
        )

    @cached_property
    def first_model(self) -> SubsetModel:
        """Which users have these items, by the earlier counts."""
        return self.model(self.prior.counts.mean)

    def refine(self, noisy: Noisy, threshold: int) -> Posterior:
        """Return the counts of these items, given noisy weighted counts under a threshold."""
        measured = noisy.counts, threshold, noisy.distribution.variance**0.5
        best = self.first_model.combine(*measured)
        for _ in range(self.priors.refinement.subset_rounds):
            best = self.model(best.mean).combine(*measured)
        return best.no_more_than(self.users.max_item_count)


def refined_subset(
    model: ShrinkageModel, ratios: Ratios, counts: Posterior, places: Integers, histogram: Noisy
) -> Subset:
    """Describe the items at some places, whose counts came from these factors, with their released histogram."""
    prior = prior_estimates(model, ratios, counts, places)
    share = None
    if not model.users.distinct:
        share = float(prior.counts.mean.sum() / max(counts.mean.sum(), _SMALLEST))
    return Subset(prior, share, histogram, model.users, model.norm, model.priors)


@dataclass(frozen=True, eq=False)
class RefinedCounts:
    """Earlier and refined counts of some items."""

    places: Integers
    before: Posterior
    counts: Posterior

    def for_contexts(self, counts: Posterior, relative_variances: Floats) -> tuple[Posterior, Floats]:
        """Return all counts as contexts are estimated from, and the relative variance of each by noise.

        A refinement narrows intervals of contexts by half of the log ratio: the users of an item in one context
        are others than all its users, and have other factors.
        """
        mean, low, high = self.counts.mean, counts.low.copy(), counts.high.copy()
        down, up = (
            np.maximum(half_width, 0.0) for half_width in (mean - self.before.low, self.before.high - mean)
        )
        low[self.places] = np.minimum(mean - np.sqrt(down * (mean - self.counts.low)), self.counts.low)
        high[self.places] = np.maximum(mean + np.sqrt(up * (self.counts.high - mean)), self.counts.high)
        noise = relative_variances.copy()
        noise[self.places] = np.minimum(relative_variances[self.places], self.counts.relative_variance)
        return Posterior(counts.mean, low, high), noise
