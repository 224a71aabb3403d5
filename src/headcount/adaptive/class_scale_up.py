"""Scale-up factors by popularity class, measured: from the released class profile of heavy users.

The factors without a measured profile, from a model alone, are in scale_up.

A heavy user's records count in part. How much an item's heavy count has to be scaled up depends on how active the
people are who have it, and that differs between items: everybody has what is popular, few others have the rest. So
items are put into classes of released popularity, and for each class it is released what share of their records
people of each size have in it (:mod:`headcount.bounds.counts.class_profile`). Single numbers of these are too
noisy to divide by. So the share of a class is expected to change with size as s · exp(β · octave): s is what it
would be if all drew from one popularity and counted once (or a part of that), β lies on a line over popularity,
and all classes together have what people have. From there shares are taken to wander
(:mod:`headcount.adaptive.bayes_linear`). Ratios are averaged over all that fits.

Items of one class differ as well, which nothing that is released tells: by how much was found on public logs
(docs/methods/adaptive.md).

Only released numbers are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import NamedTuple, Protocol

import numpy as np

from headcount._internal.arrays import Flags, Floats, Integers
from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.adaptive.bayes_linear import ClassMeasurements, estimate_classes, random_walk_covariance
from headcount.adaptive.scale_up import POPULARITIES, Norm, inclusion_chances, weights
from headcount.adaptive.users_by_size import UsersBySize, estimate_users_by_size, fit_fractional_users
from headcount.bounds.counts.activity_histogram import UPPER_ENDS

Places = Integers

_MAX_CLASSES = 16
_MIN_CLASS_SCALES = 20.0  # scales of noise that the people of a class must come to
_SINGLE_ITEM_CLASSES = 5  # so many classes may be of one item
_GROWTH = 1.3  # how much larger classes get after these

# what is expected: powers of the shape, and how slopes change with popularity
_POWERS, _TILTS = (0.0, 0.5, 1.0), np.linspace(-0.2, 0.2, 9)
_TILT_DEVIATION = 0.1  # its deviation, before anything is measured
_ROUNDS = 4  # in which what is expected of all classes comes to the people there are
# how far classes are from that: deviations of their own slopes, and of steps from size to size
_SLOPE_DEVIATIONS, _STEP_DEVIATIONS = (0.02, 0.05, 0.1, 0.2), (0.05, 0.1, 0.2)
_INITIAL_WALK = (0.05, 0.1)
_WEIGHED_DEVIATION = 0.1  # how far shrunken counts of a class may be off in sum, relatively
# deviation of the steps that items of one class take apart from each other: of few items, and of more than so many
_FEW_STEP, _ITEMS_STEP, _FEW = 0.25, 0.35, 8
_POINTS = 60


@dataclass(frozen=True, eq=False)
class ReleasedProfile:
    """What was released: one row a size, one column a class, with Laplace noise of a scale, in people."""

    sums: Floats
    scale: float
    classes: Places


class Ratios(Protocol):
    """How much weighted counts of heavy users amount to in full."""

    def at(self, weighed: Floats, where: slice | Integers) -> tuple[Floats, Floats]:
        """Return the ratio of each of some items, which weigh so much, and how far it may be off, relatively."""
        ...

    def shared(self, weighed: Floats, where: slice | Integers) -> Floats:
        """Return how far it may be off together with those of items as popular."""
        ...


@dataclass(frozen=True, eq=False)
class MeasuredRatios:
    """By popularity, linear between points of its logarithm; classes of one item have their own.

    ``item_deviation`` is the part of ``deviation`` by which items as popular differ from each other.
    """

    classes: Places
    single_item: Flags  # of classes
    own: Floats
    own_deviation: Floats
    points: Floats
    curve: Floats
    deviation: Floats
    item_deviation: Floats
    limit: int

    def at(self, weighed: Floats, where: slice | Integers) -> tuple[Floats, Floats]:
        """Return the ratio of each of some items, and how far it may be off, relatively."""
        classes, at = self.classes[where], _log_popularity(weighed, self.limit)
        single_item = self.single_item[classes]
        return (
            np.where(single_item, self.own[classes], np.interp(at, self.points, self.curve)),
            np.where(single_item, self.own_deviation[classes], np.interp(at, self.points, self.deviation)),
        )

    def shared(self, weighed: Floats, where: slice | Integers) -> Floats:
        """Return how far it may be off together with those of items as popular, relatively."""
        classes, at = self.classes[where], _log_popularity(weighed, self.limit)
        rest = np.sqrt(np.maximum(self.deviation**2 - self.item_deviation**2, 0.0))
        return np.where(self.single_item[classes], self.own_deviation[classes], np.interp(at, self.points, rest))


def _log_popularity(weighed: Floats, limit: int) -> Floats:
    """Return how popular items are: the logarithm of how many people weigh as much."""
    return np.asarray(np.log(np.maximum(weighed, 1e-6 * limit) / limit))


def assign_popularity_classes(users: Floats, scale: float) -> Places:
    """Put items into classes by how many people's records they have, so that each class stands out of the noise.

    ``users`` says how much of heavy users each item has, all of a user's records together making one. The most
    popular items are classes by themselves if they have enough.

    >>> assign_popularity_classes(np.array([1.0, 900.0, 20.0, 300.0, 60.0]), 4.0).tolist()
    [2, 0, 2, 1, 2]
    """
    order = np.argsort(-users, kind="stable")
    summed = users[order]
    np.cumsum(np.maximum(summed, 0.0, out=summed), out=summed)
    enough, starts, fewest = _MIN_CLASS_SCALES * scale, [0], 1.0
    while len(starts) < _MAX_CLASSES:
        before = summed[starts[-1] - 1] if starts[-1] else 0.0
        end = max(int(np.searchsorted(summed, before + enough)) + 1, starts[-1] + int(fewest))
        if end >= summed.size or summed[-1] - summed[end - 1] < enough:
            break
        starts.append(end)
        if len(starts) > _SINGLE_ITEM_CLASSES:
            fewest = fewest * _GROWTH + 0.5
    classes = np.empty(users.size, dtype=np.int64)
    for number, (start, end) in enumerate(pairwise([*starts, users.size])):
        classes[order[start:end]] = number
    return classes


def fit_ratios(
    weighed: Floats,
    heavy: EstimatedActivity,
    limit: int,
    norm: Norm,
    released: ReleasedProfile,
    variance: float,
    *,
    squares: bool = False,
) -> MeasuredRatios:
    """Return how to scale up: ``weighed`` are shrunken weighted counts of heavy users, with noise of a variance.

    ``squares`` says that people's sizes are sums of squares.

    >>> rng = np.random.default_rng(1)
    >>> heavy = EstimatedActivity(np.array([16.0, 64.0]), np.array([3000.0, 1000.0]))
    >>> sums = np.zeros((21, 2))
    >>> sums[4], sums[6] = [2000, 1000], [200, 800]  # the second class is of the more active
    >>> weighed = np.array([8800.0, 7200.0])
    >>> model = fit_ratios(weighed, heavy, 4, "l1", ReleasedProfile(sums, 5.0, np.arange(2)), 10.0)
    >>> model.at(weighed, slice(None))[0].round(1).tolist()
    [5.1, 9.3]
    """
    model = _ClassModel.build(weighed, heavy, limit, norm, released, variance, squares=squares)
    fit = _average_fits(model)
    common = model.users_by_size.relative_deviation(model.records, model.measured.weights)
    # items of a class of many lie on the curve that is expected, moved as far as the classes around them are
    first, last = _log_popularity(np.array([weighed.min(), weighed.max()]), limit) - model.centre
    points = np.linspace(min(first, model.popularity.min()) - 0.01, last + 0.01, _POINTS)
    order = np.argsort(model.popularity)
    prior, expected = fit.expected(model, model.popularity, points)
    sorted_popularity, shifts = model.popularity[order], (fit.logarithms - prior)[order]
    curve = expected + np.interp(points, sorted_popularity, shifts)
    differ = np.interp(points, sorted_popularity, (model.item_deviation**2)[order])
    between = np.interp(points, sorted_popularity, fit.variances[order]) + differ
    return MeasuredRatios(
        classes=released.classes,
        single_item=model.sizes == 1,
        own=np.exp(fit.logarithms),
        own_deviation=np.sqrt(fit.variances + common**2),
        points=points + model.centre,
        curve=np.exp(curve),
        deviation=np.sqrt(between + common**2),
        item_deviation=np.sqrt(differ),
        limit=limit,
    )


@dataclass(frozen=True, eq=False)
class _ClassModel:
    """What is known before shares are fitted: sizes that people are at, classes, and what was measured of them."""

    records: Floats
    users_by_size: UsersBySize
    measured: ClassMeasurements
    sizes: Floats
    popularity: Floats
    centre: float
    heavy: EstimatedActivity
    limit: int
    norm: Norm

    @classmethod
    def build(
        cls,
        weighed: Floats,
        heavy: EstimatedActivity,
        limit: int,
        norm: Norm,
        released: ReleasedProfile,
        variance: float,
        *,
        squares: bool,
    ) -> _ClassModel:
        first = limit.bit_length() - 1
        last = max(int(np.ceil(np.log2(heavy.records.max()))), first + 1)
        rows = slice(first, min(last, UPPER_ENDS.size - 1) + 1)
        records = UPPER_ENDS[rows].astype(np.float64)
        sizes = np.bincount(released.classes).astype(np.float64)
        sums = np.asarray(np.bincount(released.classes, weights=weighed), dtype=np.float64)
        logs = _log_popularity(sums / sizes, limit)
        centre = float((logs * sums).sum() / max(sums.sum(), 1e-9))
        measured, noise = released.sums[rows].T, 2 * released.scale**2
        return cls(
            records=records,
            users_by_size=fit_fractional_users(heavy, records, measured.sum(axis=0))
            if squares
            else estimate_users_by_size(heavy, records, measured.sum(axis=0), noise * sizes.size),
            measured=ClassMeasurements(
                sums=measured,
                noise=noise,
                weighed=sums,
                weighed_variance=0.7 * sizes * variance
                + (_WEIGHED_DEVIATION * sums) ** 2 * (sizes > 1)
                + limit**2,
                weights=weights(records, limit, norm) * records,
            ),
            sizes=sizes,
            popularity=logs - centre,
            centre=centre,
            heavy=heavy,
            limit=limit,
            norm=norm,
        )

    @cached_property
    def octaves(self) -> Floats:
        """The sizes on the scale that slopes are on, from the middle of all people."""
        logs, users = np.log2(self.records), self.users_by_size.users
        return np.asarray(logs - (users * logs).sum() / users.sum())

    @property
    def item_deviation(self) -> Floats:
        """How far the ratios of items of one class are from each other, relatively: less where all are popular."""
        full, weighed = (
            self.users_by_size.users * size_weights for size_weights in (self.records, self.measured.weights)
        )
        gradient = full / full.sum() - weighed / weighed.sum()
        steps = np.where(self.sizes > _FEW, _ITEMS_STEP, _FEW_STEP)
        return np.asarray(
            steps * min(float(np.sqrt(gradient @ random_walk_covariance(self.octaves) @ gradient)), 1.0)
        )

    @cached_property
    def weighed_by_popularity(self) -> Floats:
        """What items weigh whose popularity is each of ``POPULARITIES``, if all draw alike and count once."""
        heavy = self.heavy
        user_weights = heavy.users * weights(heavy.records, self.limit, self.norm)
        return np.asarray(inclusion_chances(heavy, POPULARITIES) @ user_weights)

    def shapes_at(self, popularity: Floats) -> Floats:
        """Return how the share of items of that popularity falls with size, if all draw alike and count once."""
        weighed = np.exp(popularity + self.centre) * self.limit
        draws = np.multiply.outer(np.interp(weighed, self.weighed_by_popularity, POPULARITIES), self.records)
        return np.asarray(np.where(draws > 0, -np.expm1(-draws) / np.maximum(draws, 1e-300), 1.0))

    def expected(self, tilts: Floats, powers: Floats) -> tuple[Floats, Floats]:
        """Return which part of the people of each class is at each size, for tilts and powers of the shape.

        People have all their records in some class. So what all classes have at a size is brought to the people
        who are there: beside it is returned what that took.
        """
        users = np.maximum(self.users_by_size.users, 1e-9 * self.users_by_size.users.sum())
        whole, adjusted_users = users.sum(), np.broadcast_to(users, (tilts.size, users.size))
        profile = self.size_profile(tilts, powers, self.popularity)
        for _ in range(_ROUNDS):
            size_shares = profile.distribute(adjusted_users)
            heights = self.measured.weighed / (size_shares @ self.measured.weights)
            sums = (heights[..., None] * size_shares).sum(axis=1)
            adjusted_users = (
                adjusted_users * users / np.maximum(sums / sums.sum(axis=1, keepdims=True) * whole, 1e-300)
            )
        return profile.distribute(adjusted_users), adjusted_users

    def size_profile(self, tilts: Floats, powers: Floats, popularity: Floats) -> _SizeProfile:
        """Return how the share of items of that popularity changes with size."""
        clipped_popularity = np.clip(popularity, self.popularity.min(), self.popularity.max())
        slopes = np.multiply.outer(np.multiply.outer(tilts, clipped_popularity), self.octaves)
        return _SizeProfile(self.shapes_at(popularity) ** powers[:, None, None], np.exp(slopes))


class _SizeProfile(NamedTuple):
    """How the share of some items changes with size: for each tilt and power, each item and each size."""

    shapes: Floats
    slopes: Floats

    def distribute(self, users: Floats) -> Floats:
        """Return which part of their people is at each size, where so many people are there."""
        unnormalised = users[:, None] * self.shapes * self.slopes
        return np.asarray(unnormalised / unnormalised.sum(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False)
class _Fit:
    """What is expected, on average over all that fits; and the ratio of each class, with its variance."""

    power: float
    tilt: float
    logarithms: Floats
    variances: Floats

    def expected(self, model: _ClassModel, *popularities: Floats) -> list[Floats]:
        """Return the logarithms of the ratios that are expected of items of each of these popularities."""
        tilt, power = np.array([self.tilt]), np.array([self.power])
        adjusted_users = model.expected(tilt, power)[1]
        parts = (
            model.size_profile(tilt, power, popularity).distribute(adjusted_users)[0]
            for popularity in popularities
        )
        return [np.log((users @ model.records) / (users @ model.measured.weights)) for users in parts]


def _average_fits(model: _ClassModel) -> _Fit:
    """Weigh all expectations by how well they fit, and average over them what they make of each class."""
    powers, tilts = (np.array(values) for values in zip(*product(_POWERS, _TILTS), strict=True))
    log_prior = -((tilts / _TILT_DEVIATION) ** 2) / 2
    expected, _ = model.expected(tilts, powers)
    steps, lines = random_walk_covariance(model.octaves), np.outer(model.octaves, model.octaves)

    def log_covariance(own_slope: float, step: float) -> Floats:
        return np.asarray(own_slope**2 * lines + step**2 * steps)

    first = estimate_classes(model.measured, expected, log_covariance(*_INITIAL_WALK))
    best = expected[[int(np.argmax(first.log_likelihood + log_prior))]]
    further = np.stack(
        [log_covariance(*deviations) for deviations in product(_SLOPE_DEVIATIONS, _STEP_DEVIATIONS)]
    )
    posterior_weights = _softmax(
        estimate_classes(model.measured, np.repeat(best, len(further), axis=0), further).log_likelihood
    )
    estimates = estimate_classes(model.measured, expected, np.tensordot(posterior_weights, further, axes=1))
    posterior_weights = _softmax(estimates.log_likelihood + log_prior)
    logarithms, variances = estimates.log_ratios(model.records, model.measured.weights)
    mean = np.log(posterior_weights @ np.exp(logarithms))
    return _Fit(
        power=float(posterior_weights @ powers),
        tilt=float(posterior_weights @ tilts),
        logarithms=mean,
        variances=posterior_weights @ (variances + (logarithms - mean) ** 2),
    )


def _softmax(log_weights: Floats) -> Floats:
    """Return probabilities in proportion to the exponentials of these.

    >>> _softmax(np.array([1000.0, 1000.0])).tolist()
    [0.5, 0.5]
    """
    exponentials = np.exp(log_weights - log_weights.max())
    return np.asarray(exponentials / exponentials.sum())
