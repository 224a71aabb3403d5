"""Scaling up, measured: how much heavy users' weighted counts amount to in full, by how popular an item is.

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
from headcount.adaptive.bayes_linear import Measured, estimated, wandering
from headcount.adaptive.scale_up import POPULARITIES, Norm, chances, weights
from headcount.adaptive.users_by_size import PeopleAtSizes, parts_at_sizes, people_at_sizes
from headcount.bounds.counts.activity_bins import UPPER_ENDS

Places = Integers

_MOST_CLASSES = 16
_ENOUGH = 20.0  # scales of noise that the people of a class must come to
_SINGLE = 5  # so many classes may be of one item
_GROWTH = 1.3  # how much larger classes get after these

# what is expected: powers of the shape, and how slopes change with popularity
_SHAPES, _TILTS = (0.0, 0.5, 1.0), np.linspace(-0.2, 0.2, 9)
_USUAL_TILT = 0.1  # its deviation, before anything is measured
_ROUNDS = 4  # in which what is expected of all classes comes to the people there are
# how far classes are from that: deviations of their own slopes, and of steps from size to size
_OWN_SLOPES, _STEPS = (0.02, 0.05, 0.1, 0.2), (0.05, 0.1, 0.2)
_USUAL_WANDER = (0.05, 0.1)
_WEIGHED_OFF = 0.1  # how far shrunken counts of a class may be off in sum, relatively
# deviation of the steps that items of one class take apart from each other: of few items, and of more than so many
_FEW_STEP, _ITEMS_STEP, _FEW = 0.25, 0.35, 8
_POINTS = 60


@dataclass(frozen=True, eq=False)
class ReleasedShares:
    """What was released: one row a size, one column a class, with Laplace noise of a scale, in people."""

    sums: Floats
    scale: float
    classes: Places


class Ratios(Protocol):
    """How much weighted counts of heavy users amount to in full."""

    def of(self, weighed: Floats, where: slice | Integers) -> tuple[Floats, Floats]:
        """Return the ratio of each of some items, which weigh so much, and how far it may be off, relatively."""
        ...

    def shared(self, weighed: Floats, where: slice | Integers) -> Floats:
        """Return how far it may be off together with those of items as popular."""
        ...


@dataclass(frozen=True, eq=False)
class MeasuredRatios:
    """By popularity, linear between points of its logarithm; classes of one item have their own.

    ``differ`` is the part of ``off`` by which items as popular differ from each other.
    """

    classes: Places
    alone: Flags  # of classes
    own: Floats
    own_off: Floats
    points: Floats
    curve: Floats
    off: Floats
    differ: Floats
    limit: int

    def of(self, weighed: Floats, where: slice | Integers) -> tuple[Floats, Floats]:
        """Return the ratio of each of some items, and how far it may be off, relatively."""
        classes, at = self.classes[where], _logarithms(weighed, self.limit)
        alone = self.alone[classes]
        return (
            np.where(alone, self.own[classes], np.interp(at, self.points, self.curve)),
            np.where(alone, self.own_off[classes], np.interp(at, self.points, self.off)),
        )

    def shared(self, weighed: Floats, where: slice | Integers) -> Floats:
        """Return how far it may be off together with those of items as popular, relatively."""
        classes, at = self.classes[where], _logarithms(weighed, self.limit)
        rest = np.sqrt(np.maximum(self.off**2 - self.differ**2, 0.0))
        return np.where(self.alone[classes], self.own_off[classes], np.interp(at, self.points, rest))


def _logarithms(weighed: Floats, limit: int) -> Floats:
    """Return how popular items are: the logarithm of how many people weigh as much."""
    return np.asarray(np.log(np.maximum(weighed, 1e-6 * limit) / limit))


def classes_of(people: Floats, scale: float) -> Places:
    """Put items into classes by how many people's records they have, so that each class stands out of the noise.

    ``people`` says how much of heavy users each item has, all of a user's records together making one. The most
    popular items are classes by themselves if they have enough.

    >>> classes_of(np.array([1.0, 900.0, 20.0, 300.0, 60.0]), 4.0).tolist()
    [2, 0, 2, 1, 2]
    """
    order = np.argsort(-people, kind="stable")
    summed = people[order]
    np.cumsum(np.maximum(summed, 0.0, out=summed), out=summed)
    enough, starts, fewest = _ENOUGH * scale, [0], 1.0
    while len(starts) < _MOST_CLASSES:
        before = summed[starts[-1] - 1] if starts[-1] else 0.0
        end = max(int(np.searchsorted(summed, before + enough)) + 1, starts[-1] + int(fewest))
        if end >= summed.size or summed[-1] - summed[end - 1] < enough:
            break
        starts.append(end)
        if len(starts) > _SINGLE:
            fewest = fewest * _GROWTH + 0.5
    classes = np.empty(people.size, dtype=np.int64)
    for number, (start, end) in enumerate(pairwise([*starts, people.size])):
        classes[order[start:end]] = number
    return classes


def ratios(
    weighed: Floats,
    heavy: EstimatedActivity,
    limit: int,
    norm: Norm,
    released: ReleasedShares,
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
    >>> found = ratios(weighed, heavy, 4, "l1", ReleasedShares(sums, 5.0, np.arange(2)), 10.0)
    >>> found.of(weighed, slice(None))[0].round(1).tolist()
    [5.1, 9.3]
    """
    scene = _Scene.of(weighed, heavy, limit, norm, released, variance, squares=squares)
    fit = _fitted(scene)
    common = scene.known.relative_deviation(scene.records, scene.measured.weights)
    # items of a class of many lie on the curve that is expected, moved as far as the classes around them are
    first, last = _logarithms(np.array([weighed.min(), weighed.max()]), limit) - scene.centre
    points = np.linspace(min(first, scene.popularity.min()) - 0.01, last + 0.01, _POINTS)
    order = np.argsort(scene.popularity)
    usual, expected = fit.expected(scene, scene.popularity, points)
    known, moved = scene.popularity[order], (fit.logarithms - usual)[order]
    curve = expected + np.interp(points, known, moved)
    differ = np.interp(points, known, (scene.items_differ**2)[order])
    between = np.interp(points, known, fit.variances[order]) + differ
    return MeasuredRatios(
        classes=released.classes,
        alone=scene.sizes == 1,
        own=np.exp(fit.logarithms),
        own_off=np.sqrt(fit.variances + common**2),
        points=points + scene.centre,
        curve=np.exp(curve),
        off=np.sqrt(between + common**2),
        differ=np.sqrt(differ),
        limit=limit,
    )


@dataclass(frozen=True, eq=False)
class _Scene:
    """What is known before shares are fitted: sizes that people are at, classes, and what was measured of them."""

    records: Floats
    known: PeopleAtSizes
    measured: Measured
    sizes: Floats
    popularity: Floats
    centre: float
    heavy: EstimatedActivity
    limit: int
    norm: Norm

    @classmethod
    def of(
        cls,
        weighed: Floats,
        heavy: EstimatedActivity,
        limit: int,
        norm: Norm,
        released: ReleasedShares,
        variance: float,
        *,
        squares: bool,
    ) -> _Scene:
        first = limit.bit_length() - 1
        last = max(int(np.ceil(np.log2(heavy.records.max()))), first + 1)
        rows = slice(first, min(last, UPPER_ENDS.size - 1) + 1)
        records = UPPER_ENDS[rows].astype(np.float64)
        sizes = np.bincount(released.classes).astype(np.float64)
        sums = np.asarray(np.bincount(released.classes, weights=weighed), dtype=np.float64)
        logs = _logarithms(sums / sizes, limit)
        centre = float((logs * sums).sum() / max(sums.sum(), 1e-9))
        measured, noise = released.sums[rows].T, 2 * released.scale**2
        return cls(
            records=records,
            known=parts_at_sizes(heavy, records, measured.sum(axis=0))
            if squares
            else people_at_sizes(heavy, records, measured.sum(axis=0), noise * sizes.size),
            measured=Measured(
                sums=measured,
                noise=noise,
                weighed=sums,
                uncertain=0.7 * sizes * variance + (_WEIGHED_OFF * sums) ** 2 * (sizes > 1) + limit**2,
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
        logs, people = np.log2(self.records), self.known.people
        return np.asarray(logs - (people * logs).sum() / people.sum())

    @property
    def items_differ(self) -> Floats:
        """How far the ratios of items of one class are from each other, relatively: less where all are popular."""
        full, weighed = (self.known.people * each for each in (self.records, self.measured.weights))
        moves = full / full.sum() - weighed / weighed.sum()
        steps = np.where(self.sizes > _FEW, _ITEMS_STEP, _FEW_STEP)
        return np.asarray(steps * min(float(np.sqrt(moves @ wandering(self.octaves) @ moves)), 1.0))

    @cached_property
    def weighed_by_popularity(self) -> Floats:
        """What items weigh whose popularity is each of ``POPULARITIES``, if all draw alike and count once."""
        heavy = self.heavy
        each = heavy.users * weights(heavy.records, self.limit, self.norm)
        return np.asarray(chances(heavy, POPULARITIES) @ each)

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
        people = np.maximum(self.known.people, 1e-9 * self.known.people.sum())
        whole, moved = people.sum(), np.broadcast_to(people, (tilts.size, people.size))
        sloping = self.sloping(tilts, powers, self.popularity)
        for _ in range(_ROUNDS):
            found = sloping.of(moved)
            heights = self.measured.weighed / (found @ self.measured.weights)
            sums = (heights[..., None] * found).sum(axis=1)
            moved = moved * people / np.maximum(sums / sums.sum(axis=1, keepdims=True) * whole, 1e-300)
        return sloping.of(moved), moved

    def sloping(self, tilts: Floats, powers: Floats, popularity: Floats) -> _Sloping:
        """Return how the share of items of that popularity changes with size."""
        known = np.clip(popularity, self.popularity.min(), self.popularity.max())
        slopes = np.multiply.outer(np.multiply.outer(tilts, known), self.octaves)
        return _Sloping(self.shapes_at(popularity) ** powers[:, None, None], np.exp(slopes))


class _Sloping(NamedTuple):
    """How the share of some items changes with size: for each tilt and power, each item and each size."""

    shapes: Floats
    slopes: Floats

    def of(self, people: Floats) -> Floats:
        """Return which part of their people is at each size, where so many people are there."""
        found = people[:, None] * self.shapes * self.slopes
        return np.asarray(found / found.sum(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False)
class _Fit:
    """What is expected, on average over all that fits; and the ratio of each class, with its variance."""

    power: float
    tilt: float
    logarithms: Floats
    variances: Floats

    def expected(self, scene: _Scene, *popularities: Floats) -> list[Floats]:
        """Return the logarithms of the ratios that are expected of items of each of these popularities."""
        tilt, power = np.array([self.tilt]), np.array([self.power])
        moved = scene.expected(tilt, power)[1]
        parts = (scene.sloping(tilt, power, each).of(moved)[0] for each in popularities)
        return [np.log((people @ scene.records) / (people @ scene.measured.weights)) for people in parts]


def _fitted(scene: _Scene) -> _Fit:
    """Weigh all expectations by how well they fit, and average over them what they make of each class."""
    powers, tilts = (np.array(each) for each in zip(*product(_SHAPES, _TILTS), strict=True))
    before = -((tilts / _USUAL_TILT) ** 2) / 2
    expected, _ = scene.expected(tilts, powers)
    steps, lines = wandering(scene.octaves), np.outer(scene.octaves, scene.octaves)

    def wander(own_slope: float, step: float) -> Floats:
        return np.asarray(own_slope**2 * lines + step**2 * steps)

    first = estimated(scene.measured, expected, wander(*_USUAL_WANDER))
    best = expected[[int(np.argmax(first.fits + before))]]
    further = np.stack([wander(*each) for each in product(_OWN_SLOPES, _STEPS)])
    likely = _chances(estimated(scene.measured, np.repeat(best, len(further), axis=0), further).fits)
    found = estimated(scene.measured, expected, np.tensordot(likely, further, axes=1))
    likely = _chances(found.fits + before)
    logarithms, variances = found.log_ratios(scene.records, scene.measured.weights)
    mean = np.log(likely @ np.exp(logarithms))
    return _Fit(
        power=float(likely @ powers),
        tilt=float(likely @ tilts),
        logarithms=mean,
        variances=likely @ (variances + (logarithms - mean) ** 2),
    )


def _chances(fits: Floats) -> Floats:
    """Return probabilities in proportion to the exponentials of these.

    >>> _chances(np.array([1000.0, 1000.0])).tolist()
    [0.5, 0.5]
    """
    each = np.exp(fits - fits.max())
    return np.asarray(each / each.sum())
