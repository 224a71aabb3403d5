"""Light and heavy users: shrink their two noisy tables together, and choose how to scale the heavy one up.

Light users, with at most θ records, were counted in full; heavy ones were down-weighted. Items of neighbouring
segments of the catalogue with similar counts (:mod:`headcount.adaptive.catalogue_smoothing`) are shrunk together,
both tables at once (:mod:`headcount.adaptive.empirical_bayes`). Posterior means need not sum to the sums of noisy
counts, though noise cancels in a sum: so they are calibrated to the totals that the noisy sums and the released
activity agree on. The heavy table is then scaled up: by what was measured of popularity classes
(:mod:`headcount.adaptive.popularity_scale_up`), or by a model alone (:mod:`headcount.adaptive.scale_up`). Counts
and intervals follow in :mod:`headcount.adaptive.intervals`.

Only released numbers are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Bytes, Floats, Integers
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.adaptive.activity_histogram import EstimatedActivity, UserEstimates
from headcount.adaptive.catalogue_smoothing import group_by_level
from headcount.adaptive.empirical_bayes import Shrinkage, fit_priors
from headcount.adaptive.popularity_scale_up import ReleasedProfile, assign_popularity_classes, fit_ratios
from headcount.adaptive.posterior import BLOCK, NoisyPair, Posterior, blocks
from headcount.adaptive.priors import PRIORS, Priors
from headcount.adaptive.scale_up import (
    ModelRatios,
    Norm,
    Ratios,
    ZeroRatios,
    interpolate_users,
    mean_ratio,
    scale_up,
    weights,
)


class _Calibration(NamedTuple):
    """Factors of shrunken counts that correct their sum; intervals keep what they enclosed before."""

    mean: float
    low: float
    high: float

    @classmethod
    def combine(cls, first: float, second: float) -> _Calibration:
        """Multiply by one factor, and then by another."""
        return cls(first * second, min(first, 1.0) * min(second, 1.0), max(first, 1.0) * max(second, 1.0))

    def times(self, shrunk: Posterior) -> Posterior:
        return Posterior(shrunk.mean * self.mean, shrunk.low * self.low, shrunk.high * self.high)


class _LevelGroup(NamedTuple):
    """How the counts of light and of heavy users are shrunk, of the items of one level group."""

    shrinkage: Shrinkage
    factors: tuple[_Calibration, _Calibration]

    def estimate(self, light: Floats, heavy: Floats) -> tuple[Posterior, Posterior]:
        own, others = self.shrinkage.estimate(light, heavy)
        return self.factors[0].times(own), self.factors[1].times(others)


@dataclass(frozen=True, eq=False)
class ShrinkageModel:
    """How both tables are shrunk, before the heavy one is scaled up.

    ``weighed`` is the sum of shrunken counts of heavy users, ``distribution`` that of their noise, and ``light``
    that of light users' noise.
    """

    noisy: NoisyPair
    level_groups: Bytes
    group_models: tuple[_LevelGroup, ...]
    weighed: float
    distribution: NoiseDistribution
    users: UserEstimates
    threshold: int
    norm: Norm
    level: float
    light: NoiseDistribution
    priors: Priors = PRIORS

    @cached_property
    def above(self) -> EstimatedActivity:
        """The heavy users."""
        return self.users.estimated.above(self.threshold)

    @property
    def has_heavy(self) -> bool:
        """Whether heavy users are detected."""
        tuned, heavy = self.priors.calibration, self.above
        if not self._exceed(tuned.min_user_scales):
            return False
        return heavy.total_users > tuned.min_heavy_scales * heavy.scale and self.weighed > 0

    @property
    def has_users(self) -> bool:
        """Whether any users are detected."""
        return self._exceed(self.priors.calibration.min_detected_scales)

    def _exceed(self, scales: float) -> bool:
        """Say whether all users together exceed so many scales of the noise."""
        everybody = self.users.estimated
        return everybody.total_users > scales * everybody.scale

    @property
    def counts_whole(self) -> bool:
        """Whether counts are whole numbers that noise mostly leaves as they are: no user is heavy then."""
        return not self.has_heavy and self.light.variance <= 1

    @cached_property
    def heavy_weight(self) -> float:
        """The share of the heavy users' counts to expect: less where they, or their records, may be noise."""
        tuned, everybody, heavy = self.priors.calibration, self.users.estimated, self.above
        records, deviation = heavy.sum_of(heavy.records, self.priors.histogram.within_bin_deviation)
        if everybody.total_users <= 0 or records <= 0:
            return 1.0
        steepness = tuned.detection_steepness
        anybody = _detection_weight(everybody.total_users, tuned.false_user_scales * everybody.scale, steepness)
        return anybody * _detection_weight(records, tuned.false_record_deviations * deviation, steepness)

    def part(self, where: slice) -> tuple[Posterior, Posterior]:
        """Return the shrunken counts of some items, of light users and of heavy ones."""
        whole = where == slice(0, self.noisy.size)
        return self._only_block if whole and self.noisy.size <= BLOCK else self._part(where)

    @cached_property
    def _only_block(self) -> tuple[Posterior, Posterior]:
        """Of all items, where that takes no more memory than a block of a long table."""
        return self._part(slice(0, self.noisy.size))

    def _part(self, where: slice | Integers) -> tuple[Posterior, Posterior]:
        light, heavy = self.noisy.part(where)
        groups = self.level_groups[where]
        present = np.flatnonzero(np.bincount(groups))
        if present.size == 1:
            return self.group_models[int(present[0])].estimate(light, heavy)
        posteriors = Posterior.empty(light.size), Posterior.empty(light.size)
        for group in present.tolist():
            inside = groups == group
            parts = self.group_models[group].estimate(light[inside], heavy[inside])
            for posterior, part in zip(posteriors, parts, strict=True):
                posterior[inside] = part
        return posteriors

    def at(self, places: Integers) -> tuple[Posterior, Posterior]:
        """Return the shrunken counts of the items at some places, of light users and of heavy ones."""
        return self._part(places)

    def heavy(self) -> Floats:
        """Return the shrunken counts of heavy users, of all items."""
        means = np.empty(self.noisy.size)
        for where in blocks(self.noisy.size):
            means[where] = self.part(where)[1].mean
        return means

    def largest(self, number: int) -> Integers:
        """Return the places of the items with the largest counts, in the order of the catalogue.

        Heavy users' counts are scaled up alike, since factors by item are not yet known.
        """
        ratio = mean_ratio(self.above, self.threshold, self.norm) if self.has_heavy else 0.0
        places, sizes = np.empty(0, dtype=np.int64), np.empty(0)
        for where in blocks(self.noisy.size):
            own, others = self.part(where)
            places = np.append(places, np.arange(where.start, where.start + own.mean.size))
            sizes = np.append(sizes, own.mean + ratio * others.mean)
            if places.size > number:
                first = np.argpartition(-sizes, number - 1)[:number]
                places, sizes = places[first], sizes[first]
        return np.sort(places)

    def classes(self, scale: float) -> Integers:
        """Return the popularity classes of which to measure the profile, with noise of that scale."""
        above = self.above
        weighed = weights(above.records, self.threshold, self.norm) * above.records
        mean = (above.users * weighed).sum() / max(above.total_users, 1e-9)
        users = self.heavy()
        users /= max(mean, 1e-9)
        return assign_popularity_classes(users, scale, self.priors.profile)


def fit_shrinkage(
    noisy: NoisyPair,
    distribution: NoiseDistribution,
    users: UserEstimates,
    threshold: int,
    norm: Norm = "l1",
    *,
    level: float = 0.95,
    light: NoiseDistribution | None = None,
    priors: Priors = PRIORS,
) -> ShrinkageModel:
    """Fit how to shrink both tables together, and to calibrate them to their totals.

    Light users' noise may have a distribution of its own.
    """
    variance = distribution.variance
    groups = users.estimated.within(threshold), users.estimated.above(threshold)
    heavy_ratio = mean_ratio(groups[1], threshold, norm)
    level_groups = group_by_level(noisy, variance**0.5, heavy_ratio, priors.levels)
    shrinkages = fit_priors(noisy, distribution, level, level_groups, light, priors.shrinkage)
    shrunk, sums, items = _group_sums(noisy, level_groups, shrinkages)
    factors = np.ones_like(shrunk)
    if len(shrinkages) > 1:
        factors = calibrate_sums(shrunk, sums, items * variance, priors.calibration.sum_deviation)
    summed = (shrunk * factors).sum(axis=1)
    totals = [
        1.0
        if users.squares
        else calibrate_total(own, total, noisy.size * variance, _weighted_records(group, threshold, norm, priors))
        for own, total, group in zip(summed.tolist(), sums.sum(axis=1).tolist(), groups, strict=True)
    ]
    group_models = tuple(
        _LevelGroup(shrinkage, (_Calibration.combine(own, totals[0]), _Calibration.combine(others, totals[1])))
        for shrinkage, (own, others) in zip(shrinkages, factors.T.tolist(), strict=True)
    )
    return ShrinkageModel(
        noisy=noisy,
        level_groups=level_groups,
        group_models=group_models,
        weighed=float(summed[1] * totals[1]),
        distribution=distribution,
        users=users,
        threshold=threshold,
        norm=norm,
        level=level,
        light=light or distribution,
        priors=priors,
    )


def calibrate_sums(shrunk: Floats, noisy: Floats, variances: Floats, deviation: float) -> Floats:
    """Return factors that bring shrunken counts of level groups towards their noisy sums, by precision.

    A sum of shrunken counts has that relative ``deviation``.
    """
    precisions = 1 / variances, 1 / ((deviation * shrunk) ** 2 + 1e-9)
    totals = (noisy * precisions[0] + shrunk * precisions[1]) / (precisions[0] + precisions[1])
    return np.divide(np.maximum(totals, 0.0), shrunk, out=np.ones_like(shrunk), where=shrunk > 0)


def calibrate_total(shrunk: float, noisy: float, variance: float, released: tuple[float, float]) -> float:
    """Return the factor that brings shrunken counts to their total: by precision of noisy counts and activity.

    ``released`` are the total and its deviation as the released activity says them.
    """
    expected, deviation = released
    precisions = 1 / variance, 1 / (deviation + 1) ** 2
    total = (noisy * precisions[0] + expected * precisions[1]) / sum(precisions)
    return max(total, 0.0) / shrunk if shrunk > 0 else 1.0


def _weighted_records(group: EstimatedActivity, threshold: int, norm: Norm, priors: Priors) -> tuple[float, float]:
    """Return the weighted records of all users of a group, and the standard deviation of their sum."""
    weighed = weights(group.records, threshold, norm) * group.records
    return group.sum_of(weighed, priors.histogram.within_bin_deviation)


def choose_ratios(model: ShrinkageModel, profile: ReleasedProfile | None = None) -> Ratios:
    """Return how the heavy table is to be scaled up: by a released profile, or by a model."""
    above, users = model.above, model.users
    if not model.has_heavy:
        return ZeroRatios()
    settings = model.threshold, model.norm
    if profile is not None:
        return fit_ratios(
            model.heavy(), above, *settings, profile, model.distribution.variance,
            squares=users.squares, priors=model.priors,
        )  # fmt: skip
    share = model.priors.counts.item_variance_share
    item_variance = share * above.log_variance * (1.0 if model.norm == "l1" else 0.25)
    deviation = float(np.hypot(np.sqrt(item_variance), _activity_deviation(above, *settings, model.priors)))
    return ModelRatios(scale_up(above, *settings, distinct=users.distinct), deviation)


def _detection_weight(
    signal: float, false_signal: float, steepness: int = PRIORS.calibration.detection_steepness
) -> float:
    """Return the share of a signal to believe, where half of a signal of ``false_signal`` may be noise.

    >>> [_detection_weight(signal, 2.0) for signal in (1.0, 2.0, 4.0)]
    [0.058823529411764705, 0.5, 0.9411764705882353]
    """
    return signal**steepness / (signal**steepness + false_signal**steepness)


def _activity_deviation(heavy: EstimatedActivity, threshold: int, norm: Norm, priors: Priors) -> float:
    """Return the relative deviation of factors that comes from the noise of the released activity."""
    if heavy.total_users <= 0:
        return 0.0
    records = 2.0 ** np.arange(np.floor(np.log2(threshold)), np.ceil(np.log2(heavy.records.max())) + 1)
    records = records if records.size > 1 else np.append(records, 2 * records)
    users_by_size = interpolate_users(heavy, records)
    full, weighed = users_by_size * records, users_by_size * records * weights(records, threshold, norm)
    gradient = full / full.sum() - weighed / weighed.sum()
    noise = 2 * heavy.scale**2 / np.maximum(users_by_size, 1.0) ** 2
    variances = np.minimum(noise, priors.counts.max_activity_variance)
    position_error = heavy.bin_position_error(priors.histogram.bin_position_deviation)
    return float(np.sqrt((gradient**2 * variances).sum() + position_error**2 / 4))


def _group_sums(
    noisy: NoisyPair, groups: Bytes, shrinkages: tuple[Shrinkage, ...]
) -> tuple[Floats, Floats, Floats]:
    """Return the sums of shrunken and of noisy counts, and their number: a row per table, a column per group."""
    shrunk, sums, items = (np.zeros((2, len(shrinkages))) for _ in range(3))
    for where in blocks(noisy.size):
        light, heavy = noisy.part(where)
        for group in np.flatnonzero(np.bincount(groups[where])):
            inside = groups[where] == group
            mine = light[inside], heavy[inside]
            shrunk[:, group] += [table.sum() for table in shrinkages[group].means(*mine)]
            sums[:, group] += [table.sum() for table in mine]
            items[:, group] += mine[0].size
    return shrunk, sums, items
