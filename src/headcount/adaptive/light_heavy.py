"""Light and heavy users: from two noisy tables to one table of counts with intervals.

Light users, within the limit, were counted in full; heavy ones were weighed. Items of a catalogue that are alike
(:mod:`headcount.adaptive.catalogue_smoothing`) are shrunk together, both tables at once
(:mod:`headcount.adaptive.empirical_bayes`), and brought to the totals that the noisy sums and the released
activity agree on. The heavy table is then scaled up: by what was measured of classes of items
(:mod:`headcount.adaptive.class_scale_up`), or by a model alone (:mod:`headcount.adaptive.scale_up`).

A count is a little less than its mean, given what was released, where that is uncertain: between the mean, which
makes squared errors small, and the median, which makes absolute ones small.

An interval is put together from the posteriors of both tables, how far scaling up may misjudge an item's heavy
users, how uncertain the released activity is, and how many heavier users noise may hide.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Bytes, Floats, Integers
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.adaptive.agreeing_sums import calibrate_sums, calibrate_total
from headcount.adaptive.blocks import BLOCK, NoisyPair, blocks
from headcount.adaptive.catalogue_smoothing import group_by_level
from headcount.adaptive.class_scale_up import Ratios, ReleasedProfile, assign_popularity_classes, fit_ratios
from headcount.adaptive.empirical_bayes import Posterior, Shrinkage, fit_priors, relative_variance
from headcount.adaptive.refinement.estimate import PriorEstimates
from headcount.adaptive.scale_up import Norm, ScaleUp, mean_ratio, scale_up, weights
from headcount.adaptive.undetected_users import UndetectedUsers, UserEstimates
from headcount.adaptive.users_by_size import interpolate_users

_ITEM_VARIANCE_SHARE = 0.15
"""How much items differ in how far a model misjudges them: a share of the unevenness of heavy users."""

_NORMAL_95 = 1.96
_SELECTION_BIAS = 1.25  # how much further downwards scaling up misjudges: the first were chosen for it
_MEDIAN_SHIFT = 0.15  # of the way to zero that a count goes of which nothing is known
_MIN_DETECTED_SCALES = 5.0  # scales of noise that all people must come to, or nothing is seen of them
_MIN_USER_SCALES = 2.5  # and this, or how active they seem to be is noise
_STEEPNESS = 4
# of people who come to so many scales of noise, or whose records to so many deviations, half may be made up
_FALSE_USER_SCALES, _FALSE_RECORD_SCALES = 2.0, 0.13
_MIN_POPULARITY = 1e-6  # people: less popular is nobody
_MIN_HEAVY_SCALES = 0.5  # scales of noise that heavy users must come to, or their table is noise


class _Calibration(NamedTuple):
    """What shrunken counts are multiplied by, to sum to what they should: intervals hold what they held, too."""

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
    """How counts of light and of heavy users are judged, of the items of one kind."""

    shrinkage: Shrinkage
    factors: tuple[_Calibration, _Calibration]

    def estimate(self, light: Floats, heavy: Floats) -> tuple[Posterior, Posterior]:
        own, others = self.shrinkage.estimate(light, heavy)
        return self.factors[0].times(own), self.factors[1].times(others)


@dataclass(frozen=True, eq=False)
class ShrinkageModel:
    """How both tables are shrunk, before the heavy one is scaled up. What they come to is made when asked for.

    ``weighed`` is what shrunken counts of heavy users sum to, ``distribution`` that of their noise, and ``light``
    that of light users' noise.
    """

    noisy: NoisyPair
    level_groups: Bytes
    group_models: tuple[_LevelGroup, ...]
    weighed: float
    distribution: NoiseDistribution
    people: UserEstimates
    limit: int
    norm: Norm
    level: float
    light: NoiseDistribution

    @cached_property
    def above(self) -> EstimatedActivity:
        """The heavy users."""
        return self.people.estimated.above(self.limit)

    @property
    def has_heavy(self) -> bool:
        """Whether there are heavy users, as far as noise lets that be seen."""
        everybody = self.people.estimated
        anybody = everybody.total_users > _MIN_USER_SCALES * everybody.scale
        return anybody and self.above.total_users > _MIN_HEAVY_SCALES * self.above.scale and self.weighed > 0

    @property
    def counts_whole(self) -> bool:
        """Whether counts are whole numbers that noise mostly leaves as they are: nobody is heavy then."""
        return not self.has_heavy and self.light.variance <= 1

    @property
    def has_users(self) -> bool:
        """Whether anybody is seen at all."""
        everybody = self.people.estimated
        return everybody.total_users > _MIN_DETECTED_SCALES * everybody.scale

    @cached_property
    def heavy_weight(self) -> float:
        """Which part of what is seen of heavy users to expect: less where noise may have made people up.

        There may be nobody, or nobody with that many records, which the numbers of people say little of.
        """
        everybody, heavy = self.people.estimated, self.above
        records, deviation = heavy.sum_of(heavy.records)
        if everybody.total_users <= 0 or records <= 0:
            return 1.0
        anybody = _detection_weight(everybody.total_users, _FALSE_USER_SCALES * everybody.scale)
        return anybody * _detection_weight(records, _FALSE_RECORD_SCALES * deviation)

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
        posteriors = _empty(light.size), _empty(light.size)
        for group in present.tolist():
            inside = groups == group
            for into, part in zip(
                posteriors, self.group_models[group].estimate(light[inside], heavy[inside]), strict=True
            ):
                into.mean[inside], into.low[inside], into.high[inside] = part.mean, part.low, part.high
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
        """Return the places of the items whose counts are largest, in the order of the catalogue.

        Before it is known how each is to be scaled up, heavy users' counts are scaled up alike.
        """
        ratio = mean_ratio(self.above, self.limit, self.norm) if self.has_heavy else 0.0
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
        """Return the classes of items of which to measure shares, with noise of that scale."""
        above = self.above
        weighed = weights(above.records, self.limit, self.norm) * above.records
        mean = (above.users * weighed).sum() / max(above.total_users, 1e-9)
        users = self.heavy()
        users /= max(mean, 1e-9)
        return assign_popularity_classes(users, scale)


def _empty(size: int) -> Posterior:
    return Posterior(np.empty(size), np.empty(size), np.empty(size))


def fit_shrinkage(
    noisy: NoisyPair,
    law: NoiseDistribution,
    users: UserEstimates,
    limit: int,
    norm: Norm = "l1",
    *,
    level: float = 0.95,
    light: NoiseDistribution | None = None,
) -> ShrinkageModel:
    """Find out how to shrink both tables together, and to bring them to their totals.

    Light users' noise may have a law of its own.
    """
    groups = users.estimated.within(limit), users.estimated.above(limit)
    level_groups = group_by_level(noisy, law.variance**0.5, mean_ratio(groups[1], limit, norm))
    shrinkages = fit_priors(noisy, law, level, level_groups, light)
    shrunk, sums, items = _group_sums(noisy, level_groups, shrinkages)
    factors = np.ones_like(shrunk) if len(shrinkages) == 1 else calibrate_sums(shrunk, sums, items * law.variance)
    summed = (shrunk * factors).sum(axis=1)
    totals = [
        1.0 if users.squares else calibrate_total(own, total, noisy.size * law.variance, group, limit, norm)
        for own, total, group in zip(summed.tolist(), sums.sum(axis=1).tolist(), groups, strict=True)
    ]
    group_models = tuple(
        _LevelGroup(shrinkage, (_Calibration.combine(own, totals[0]), _Calibration.combine(others, totals[1])))
        for shrinkage, (own, others) in zip(shrinkages, factors.T.tolist(), strict=True)
    )
    return ShrinkageModel(
        noisy,
        level_groups,
        group_models,
        float(summed[1] * totals[1]),
        law,
        users,
        limit,
        norm,
        level,
        light or law,
    )


def choose_ratios(model: ShrinkageModel, profile: ReleasedProfile | None = None) -> Ratios:
    """Return how the heavy table is to be scaled up: by what was measured of it, or by a model."""
    above = model.above
    if not model.has_heavy:
        return _ZeroRatios()
    if profile is not None:
        settings = model.limit, model.norm, profile, model.distribution.variance
        return fit_ratios(model.heavy(), above, *settings, squares=model.people.squares)
    full = scale_up(above, model.limit, model.norm, distinct=model.people.distinct)
    item_variance = _ITEM_VARIANCE_SHARE * above.log_variance * (1.0 if model.norm == "l1" else 0.25)
    return _ModelRatios(
        full, float(np.hypot(np.sqrt(item_variance), _activity_deviation(above, model.limit, model.norm)))
    )


class _ZeroRatios:
    """Heavy users are not seen: what their table holds is noise."""

    def at(self, weighed: Floats, where: slice | Integers) -> tuple[Floats, Floats]:  # noqa: ARG002
        return np.zeros(weighed.size), np.zeros(weighed.size)

    def shared(self, weighed: Floats, where: slice | Integers) -> Floats:  # noqa: ARG002
        return np.zeros(weighed.size)


class _ModelRatios(NamedTuple):
    """By a model of which items heavy users have."""

    full: ScaleUp
    deviation: float

    def at(self, weighed: Floats, where: slice | Integers) -> tuple[Floats, Floats]:  # noqa: ARG002
        full = self.full.apply(weighed)
        ratio = np.divide(full, weighed, out=np.ones_like(full), where=weighed > 0)
        return ratio, np.full(weighed.size, self.deviation)

    def shared(self, weighed: Floats, where: slice | Integers) -> Floats:  # noqa: ARG002
        return np.full(weighed.size, self.deviation)


def estimate_counts(model: ShrinkageModel, ratios: Ratios) -> Posterior:
    """Scale the heavy table up, and return the counts of all records, with intervals.

    >>> from headcount.accounting.noise_distributions import noise_distribution_from_json
    >>> law = noise_distribution_from_json({"law": "discrete-laplace", "scale": "1", "step": "1/100"})
    >>> activity = EstimatedActivity(np.array([1.0, 16.0]), np.array([50.0, 100.0]))
    >>> users = UserEstimates(activity, activity, distinct=False)
    >>> model = fit_shrinkage(NoisyPair(np.array([50.0, 0.0]), np.array([200.0, 200.0])), law, users, 4)
    >>> estimate_counts(model, choose_ratios(model)).mean.round(2).tolist()
    [849.96, 800.02]
    """
    counts = _empty(model.noisy.size)
    undetected = _undetected_users(model)
    for where in blocks(model.noisy.size):
        part = _estimate_block(model, ratios, where, undetected).no_more_than(model.people.max_item_count)
        counts.mean[where], counts.low[where], counts.high[where] = part.mean, part.low, part.high
    return counts


def _undetected_users(model: ShrinkageModel) -> UndetectedUsers:
    users, no_users_detected = model.people, not (model.has_heavy or model.has_users)
    possible_heavy = users.at_most.above(model.limit)
    return UndetectedUsers.among(
        model.above,
        possible_heavy,
        model.noisy.size,
        distinct=users.distinct,
        ratio=mean_ratio(possible_heavy, model.limit, model.norm) if no_users_detected else 0.0,
        per_item=users.per_item,
    )


def _estimate_block(model: ShrinkageModel, ratios: Ratios, where: slice, undetected: UndetectedUsers) -> Posterior:
    """Return the counts of some items, with intervals."""
    own, others = model.part(where)
    ratio, deviation = ratios.at(others.mean, where)
    full = Posterior(others.mean * ratio, others.low * ratio, others.high * ratio)
    ratio_width = _NORMAL_95 * deviation
    mean = own.mean + full.mean
    width = np.sqrt((own.high - own.mean) ** 2 + (full.high - full.mean) ** 2 + (ratio_width * full.mean) ** 2)
    low = own.low + full.low * np.exp(-_SELECTION_BIAS * ratio_width)
    high = np.maximum(mean + width, _upper_counts(model, where, np.maximum(ratio, undetected.ratio), ratio_width))
    high += undetected.may_add(full.mean)
    shift = _MEDIAN_SHIFT * _noisiness(mean, np.hypot(own.high - own.low, full.high - full.low))
    return Posterior(np.clip((own.mean + full.mean * model.heavy_weight) * (1 - shift), low, high), low, high)


def _upper_counts(model: ShrinkageModel, where: slice, ratios: Floats, misjudged: Floats) -> Floats:
    """Return how large counts may be that noise alone made as small as they were measured.

    Shrinkage is right on average over all items; of those that are largest in truth it makes too little. Whatever
    its count, an item's own measurement is no further from it than noise reaches.
    """
    light, heavy = model.noisy.part(where)
    measured = light + ratios * heavy
    own, others = (law.half_width(model.level) for law in (model.light, model.distribution))
    within = np.hypot(own, others * ratios)
    return np.asarray(measured + np.hypot(within, np.expm1(misjudged) * np.maximum(ratios * heavy, 0.0)))


def prior_estimates(model: ShrinkageModel, ratios: Ratios, counts: Posterior, places: Integers) -> PriorEstimates:
    """Say what is known of the items at some places, whose counts were worked out with these ratios."""
    own, others = model.at(places)
    ratio, deviation = ratios.at(others.mean, places)
    shared, full = ratios.shared(others.mean, places), ratio * others.mean
    return PriorEstimates(
        counts=Posterior(counts.mean[places], counts.low[places], counts.high[places]),
        noise=np.hypot(own.high - own.low, ratio * (others.high - others.low)) / (2 * _NORMAL_95),
        item_deviation=np.sqrt(np.maximum(deviation**2 - shared**2, 0.0)) * full,
        shared=shared * full,
        popularity=np.log(np.maximum(others.mean / model.limit, _MIN_POPULARITY)),
    )


def relative_variances(model: ShrinkageModel, ratios: Ratios) -> Floats:
    """Return how uncertain noise leaves each count, whatever scaling up may misjudge: relative variances."""
    variances = np.empty(model.noisy.size)
    for where in blocks(model.noisy.size):
        own, others = model.part(where)
        ratio, _ = ratios.at(others.mean, where)
        width = np.hypot(own.high - own.low, ratio * (others.high - others.low))
        variances[where] = relative_variance(own.mean + ratio * others.mean, width)
    return variances


def _detection_weight(signal: float, false_signal: float) -> float:
    """Return which part of what is seen to believe, where so much of it may be made up.

    >>> [_detection_weight(signal, 2.0) for signal in (1.0, 2.0, 4.0)]
    [0.058823529411764705, 0.5, 0.9411764705882353]
    """
    return signal**_STEEPNESS / (signal**_STEEPNESS + false_signal**_STEEPNESS)


def _noisiness(mean: Floats, width: Floats) -> Floats:
    """Return how uncertain noise makes counts whose posteriors are so wide: from 0, not at all, to 1.

    >>> _noisiness(np.array([100.0, 1.0]), np.array([4.0, 400.0])).round(2).tolist()
    [0.0, 1.0]
    """
    variance = relative_variance(mean, width)
    return np.asarray(variance / (1 + variance))


def _activity_deviation(heavy: EstimatedActivity, limit: int, norm: Norm) -> float:
    """Return how far ratios may be off, relatively, because of the noise of the released activity."""
    if heavy.total_users <= 0:
        return 0.0
    records = 2.0 ** np.arange(np.floor(np.log2(limit)), np.ceil(np.log2(heavy.records.max())) + 1)
    users_by_size = interpolate_users(heavy, records if records.size > 1 else np.append(records, 2 * records))
    records = records if records.size > 1 else np.append(records, 2 * records)
    full, weighed = users_by_size * records, users_by_size * records * weights(records, limit, norm)
    gradient = full / full.sum() - weighed / weighed.sum()
    variances = np.minimum(2 * heavy.scale**2 / np.maximum(users_by_size, 1.0) ** 2, 0.5)
    return float(np.sqrt((gradient**2 * variances).sum() + heavy.bin_position_error**2 / 4))


def _group_sums(
    noisy: NoisyPair, groups: Bytes, shrinkages: tuple[Shrinkage, ...]
) -> tuple[Floats, Floats, Floats]:
    """Return what shrunken counts sum to, and noisy ones, and how many there are: of each group and each kind."""
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
