"""Scaling up, measured: how much heavy users' weighted counts amount to in full, by how popular an item is.

A heavy user's records count in part. How much an item's heavy count has to be scaled up depends on how active the
people are who have it, and that differs between items: everybody has what is popular, few others have the rest. So
items are put into classes of released popularity, and for each class it is released what share of their records
people of each size have in it (:mod:`headcount.bounding.shares`). Single numbers of these are too noisy to divide
by. So for each class, its share is taken to change with size as share ∝ s · 2^(β · octave): s is what it would be
if all drew from one popularity and counted once (or a part of that, whatever fits best), and the slopes β of all
classes are estimated together: they lie around a line over popularity, about as far from it as the classes
themselves say. What is left over between measured and fitted shares is believed where it stands out of the noise.

Only released numbers are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from headcount.answers.activity import UPPER_ENDS, EstimatedActivity
from headcount.answers.scaling import POPULARITIES, Norm, chances, weights
from headcount.arrays import Flags, Floats, Integers

Places = Integers

_MOST_CLASSES = 16
_ENOUGH = 20.0  # scales of noise that the people of a class must come to
_SINGLE = 5  # so many classes may be of one item
_GROWTH = 1.3  # how much larger classes get after these

_SLOPES = np.linspace(-2.0, 2.0, 81)
_SHAPES = (0.0, 0.5, 1.0)
_SPREADS = (0.02, 0.05, 0.1, 0.2, 0.35)  # of slopes around their line
_LINE = (0.3, 0.15)  # deviations of the line's height and slope, before anything is measured
_WEIGHED_OFF = 0.1  # how far shrunken counts of a class may be off in sum, relatively
_ITEMS_SPREAD = 3.0  # how much more the slopes of items differ than those of classes, as variances
_MOST_LEFT_OVER = 0.25
_POINTS = 60
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(7)


@dataclass(frozen=True, eq=False)
class ReleasedShares:
    """What was released: one row a size, one column a class, with Laplace noise of a scale, in people."""

    sums: Floats
    scale: float
    classes: Places


class Ratios(Protocol):
    """How much weighted counts of heavy users amount to in full."""

    def of(self, weighed: Floats, where: slice) -> tuple[Floats, Floats]:
        """Return the ratio of each of some items, which weigh so much, and how far it may be off, relatively."""
        ...


@dataclass(frozen=True, eq=False)
class MeasuredRatios:
    """By popularity, linear between points of its logarithm; classes of one item have their own."""

    classes: Places
    alone: Flags  # of classes
    own: Floats
    own_off: Floats
    points: Floats
    curve: Floats
    off: Floats
    limit: int

    def of(self, weighed: Floats, where: slice) -> tuple[Floats, Floats]:
        """Return the ratio of each of some items, and how far it may be off, relatively."""
        classes, at = self.classes[where], _logarithms(weighed, self.limit)
        alone = self.alone[classes]
        return (
            np.where(alone, self.own[classes], np.interp(at, self.points, self.curve)),
            np.where(alone, self.own_off[classes], np.interp(at, self.points, self.off)),
        )


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
    weighed: Floats, heavy: EstimatedActivity, limit: int, norm: Norm, released: ReleasedShares, variance: float
) -> MeasuredRatios:
    """Return how to scale up: ``weighed`` are shrunken weighted counts of heavy users, with noise of a variance.

    >>> rng = np.random.default_rng(1)
    >>> heavy = EstimatedActivity(np.array([16.0, 64.0]), np.array([3000.0, 1000.0]))
    >>> sums = np.zeros((21, 2))
    >>> sums[4], sums[6] = [2000, 1000], [200, 800]  # the second class is of the more active
    >>> weighed = np.array([8800.0, 7200.0])
    >>> found = ratios(weighed, heavy, 4, "l1", ReleasedShares(sums, 5.0, np.arange(2)), 10.0)
    >>> found.of(weighed, slice(None))[0].round(1).tolist()
    [5.1, 9.4]
    """
    scene = _Scene.of(weighed, heavy, limit, norm, released, variance)
    fit = max((_fitted(scene, power) for power in _SHAPES), key=lambda each: each.likelihood)
    corrected = _left_over(scene, fit)
    own, own_off = scene.ratio(fit.slopes, fit.variances, scene.shapes**fit.power)
    own = own * corrected
    # items of a class of many lie on the line, moved by what the classes around them are off
    first, last = _logarithms(np.array([weighed.min(), weighed.max()]), limit) - scene.centre
    points = np.linspace(min(first, scene.popularity.min()) - 0.01, last + 0.01, _POINTS)
    order = np.argsort(scene.popularity)
    known, moved = scene.popularity[order], (fit.slopes - fit.on_line(scene.popularity))[order]
    slopes = fit.on_line(np.clip(points, known[0], known[-1])) + np.interp(points, known, moved)
    shapes = scene.shapes_at(np.exp(points + scene.centre) * limit) ** fit.power
    common = np.full(_POINTS, fit.variances.mean())
    curve, _ = scene.ratio(slopes, common, shapes)
    _, off = scene.ratio(slopes, common + _ITEMS_SPREAD * fit.spread, shapes)
    curve *= np.exp(np.interp(points, known, np.log(np.maximum(corrected, 1e-3))[order]))
    return MeasuredRatios(
        classes=released.classes,
        alone=scene.sizes == 1,
        own=own,
        own_off=own_off,
        points=points + scene.centre,
        curve=curve,
        off=off,
        limit=limit,
    )


@dataclass(frozen=True, eq=False)
class _Scene:
    """What is known before slopes are fitted: sizes that people are at, classes, and what was measured of them."""

    records: Floats
    counted: Floats  # what a person of each size weighs in all
    people: Floats
    measured: Floats  # one row a class
    noise: float
    weighed: Floats
    uncertain: Floats
    sizes: Floats
    shapes: Floats
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
    ) -> _Scene:
        first = limit.bit_length() - 1
        last = max(int(np.ceil(np.log2(heavy.records.max()))), first + 1)
        rows = slice(first, min(last, UPPER_ENDS.size - 1) + 1)
        records = UPPER_ENDS[rows].astype(np.float64)
        sizes = np.bincount(released.classes).astype(np.float64)
        sums = np.asarray(np.bincount(released.classes, weights=weighed), dtype=np.float64)
        logs = _logarithms(sums / sizes, limit)
        centre = float((logs * sums).sum() / max(sums.sum(), 1e-9))
        return cls(
            records=records,
            counted=weights(records, limit, norm) * records,
            people=spread_over(heavy, records),
            measured=released.sums[rows].T,
            noise=2 * released.scale**2,
            weighed=sums,
            uncertain=0.7 * sizes * variance + (_WEIGHED_OFF * sums) ** 2 * (sizes > 1) + limit**2,
            sizes=sizes,
            shapes=_shapes_at(sums / sizes, records, heavy, limit, norm),
            popularity=logs - centre,
            centre=centre,
            heavy=heavy,
            limit=limit,
            norm=norm,
        )

    @property
    def octaves(self) -> Floats:
        """The sizes on the scale that slopes are on, from the middle of all people."""
        logs = np.log2(self.records)
        return np.asarray(logs - (self.people * logs).sum() / self.people.sum())

    def shapes_at(self, weighed: Floats) -> Floats:
        """Return how the share of items of that weight falls with size, at the sizes of this."""
        return _shapes_at(weighed, self.records, self.heavy, self.limit, self.norm)

    def expected(self, slopes: Floats, shapes: Floats) -> Floats:
        """Return the share of people at each size, of all that a class has, for each slope."""
        found = self.people * shapes * np.exp(np.multiply.outer(slopes, self.octaves))
        return np.asarray(found / found.sum(axis=-1, keepdims=True))

    def ratio(self, slopes: Floats, variances: Floats, shapes: Floats) -> tuple[Floats, Floats]:
        """Return the mean ratio of full to weighted counts, and its relative deviation, over normal slopes."""
        deviations = np.sqrt(variances)

        def at(steps: float) -> Floats:
            there = self.people * shapes * np.exp((slopes + steps * deviations)[:, None] * self.octaves)
            return np.asarray((there @ self.records) / (there @ self.counted))

        mean = sum(weight * at(node) for node, weight in zip(_NODES, _NODE_WEIGHTS, strict=True))
        return np.asarray(mean / _NODE_WEIGHTS.sum()), np.asarray(np.abs(np.log(at(1.0) / at(-1.0))) / 2)


def _shapes_at(weighed: Floats, records: Floats, heavy: EstimatedActivity, limit: int, norm: Norm) -> Floats:
    """Return how the share of items of that weight falls with size, if all draw alike and count once."""
    curve = chances(heavy, POPULARITIES) @ (heavy.users * weights(heavy.records, limit, norm))
    draws = np.outer(np.interp(weighed, curve, POPULARITIES), records)
    return np.asarray(np.where(draws > 0, -np.expm1(-draws) / np.maximum(draws, 1e-300), 1.0))


@dataclass(frozen=True, eq=False)
class _Fit:
    power: float
    likelihood: float
    line: Floats
    slopes: Floats
    variances: Floats
    spread: float

    def on_line(self, popularity: Floats) -> Floats:
        return np.asarray(self.line[0] + self.line[1] * popularity)


def spread_over(activity: EstimatedActivity, records: Floats) -> Floats:
    """Put people at the two sizes around theirs, in such parts that the mean of the two is theirs.

    >>> spread_over(EstimatedActivity(np.array([5.0, 20.0]), np.array([8.0, 1.0])), np.array([4.0, 8.0])).tolist()
    [6.0, 3.0]
    """
    own = np.clip(activity.records, records[0], records[-1])
    below = np.clip(np.searchsorted(records, own, side="right") - 1, 0, records.size - 2)
    part = (own - records[below]) / (records[below + 1] - records[below])
    first = np.bincount(below, weights=activity.users * (1 - part), minlength=records.size)
    return np.asarray(first + np.bincount(below + 1, weights=activity.users * part, minlength=records.size))


def _fitted(scene: _Scene, power: float) -> _Fit:
    """Fit the slopes of all classes together, for one power of the shape."""
    shapes = scene.shapes**power
    found = np.stack([_likelihood(scene, place, shapes[place]) for place in range(scene.sizes.size)])
    return _around_a_line(scene, power, found)


def _likelihood(scene: _Scene, place: int, shape: Floats) -> Floats:
    """Return the logarithm of the likelihood of each slope for a class, with the best height of each."""
    expected = scene.expected(_SLOPES, shape)
    squares, along = (expected**2).sum(axis=1), expected @ scene.measured[place]
    height, variance = along / squares, scene.noise / squares
    counted = expected @ scene.counted
    other, other_variance = scene.weighed[place] / counted, scene.uncertain[place] / counted**2
    off = ((scene.measured[place] - height[:, None] * expected) ** 2).sum(axis=1) / scene.noise
    return np.asarray(-(off + (height - other) ** 2 / (variance + other_variance)) / 2)


def _around_a_line(scene: _Scene, power: float, likelihoods: Floats) -> _Fit:
    """Pool the slopes: normal around a line over popularity, with a spread that is averaged over."""
    weighted = np.exp(likelihoods - likelihoods.max(axis=1, keepdims=True) - _SLOPES**2 / 2)
    weighted /= weighted.sum(axis=1, keepdims=True)
    means = weighted @ _SLOPES
    squares = np.maximum(weighted @ _SLOPES**2 - means**2, 1e-4)
    precisions = np.maximum(1 / squares - 1, 1e-3)  # without the standard normal that kept it finite
    slopes, own = means / squares / precisions, 1 / precisions
    columns = np.stack([np.ones_like(slopes), scene.popularity], axis=1)
    before = np.diag(1 / np.square(_LINE))
    lines, posteriors, variances, chances_of = [], [], [], []
    for spread in _SPREADS:
        precision = 1 / (own + spread**2)
        information = columns.T @ (precision[:, None] * columns) + before
        target = columns.T @ (precision * slopes)
        line = np.linalg.solve(information, target)
        kept = spread**2 / (spread**2 + own)
        lines.append(line)
        posteriors.append(columns @ line + kept * (slopes - columns @ line))
        of_line = ((columns @ np.linalg.inv(information)) * columns).sum(axis=1)
        variances.append(of_line * (1 - kept) ** 2 + kept * own)
        fits = np.log(precision * own).sum() - (precision * slopes**2).sum() + target @ line
        chances_of.append((fits - np.linalg.slogdet(information)[1]) / 2)
    most = max(chances_of)
    each = np.exp(np.array(chances_of) - most)
    total, each = float(each.sum()), each / each.sum()
    mean = each @ np.array(posteriors)
    return _Fit(
        power=power,
        likelihood=float(np.log(total) + most + likelihoods.max(axis=1).sum()),
        line=each @ np.array(lines),
        slopes=mean,
        variances=each @ (np.array(variances) + (np.array(posteriors) - mean) ** 2),
        spread=float(each @ np.square(_SPREADS)),
    )


def _left_over(scene: _Scene, fit: _Fit) -> Floats:
    """Return the factor by which what is measured beyond the fit changes the ratio of each class."""
    shapes = scene.shapes**fit.power
    expected = np.concatenate([scene.expected(fit.slopes[[at]], shapes[at]) for at in range(scene.sizes.size)])
    counted = expected @ scene.counted
    along = (expected * scene.measured).sum(axis=1) / scene.noise + scene.weighed * counted / scene.uncertain
    heights = along / ((expected**2).sum(axis=1) / scene.noise + counted**2 / scene.uncertain)
    fitted = np.maximum(heights, 0.0)[:, None] * expected
    off = scene.measured - fitted
    squares = (fitted**2).sum()
    found = ((off**2).sum() - scene.noise * off.size) / squares if squares > 0 else 0.0
    variance = np.clip(found, 0.0, _MOST_LEFT_OVER) * fitted**2
    believed = np.maximum(fitted + variance / (variance + scene.noise) * off, 0.0)

    def ratio(people: Floats) -> Floats:
        return np.asarray((people @ scene.records) / np.maximum(people @ scene.counted, 1e-9))

    return np.asarray(np.where(fitted.sum(axis=1) > 0, ratio(believed) / np.maximum(ratio(fitted), 1e-9), 1.0))
