"""How many of a few items people have: what is released of that, and what their activity lets expect.

How many people have 1, 2, 3-4, … of a few items is released, with noise that may hide most of it. But it is known
how many records people have, and how popular the items are. If everybody drew from the same popularity, that would
say how many of these items people have; and mostly it says it well, where an item counts once (docs/methods/
adaptive.md). Where records count, people may also have one item many times: then all share alike in everybody's
records. What to expect lies between the two.

A bin that stands out of the noise is taken as it was released, and any other by precision. Where in its bin people
are is expected, too.

Only released numbers are used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Floats
from headcount.adaptive.activity_histogram import CLEAR, HIDDEN_SCALES, EstimatedActivity, evenly_spread, tidied
from headcount.adaptive.empirical_bayes import Posterior
from headcount.adaptive.scale_up import chances
from headcount.bounds.counts.activity_bins import BINS, bin_of

# how far what is expected may be off, relatively: where items count once, and where not
_OFF_ONCE, _OFF = 0.5, 1.0
_AT_MOST = 1.65  # deviations of that which people may be more
_TASTES = 0.5  # how much people's shares of a few items differ, as a deviation of logarithms
_HEIGHTS = np.array([-1.4, -0.67, -0.21, 0.21, 0.67, 1.4])  # of a normal law, in deviations: each as likely
_PARTS = np.linspace(0.0, 1.0, 6)
_USUAL_PARTS = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])  # in many logs nobody has an item twice
_MOST_PARTS = 0.95
_HALVINGS = 32
_RAREST, _COMMONEST = -40.0, 5.0  # logarithms of popularity
_ROUNDS = 4
_LEAST_REST = 0.1  # of what people draw, that is about other items
_NOBODY = 1e-9


class Part(NamedTuple):
    """How far from one expectation to another what was released lies: mean, deviation and most of what fits."""

    mean: float
    deviation: float
    most: float


UNKNOWN = Part(0.5, 0.5, 1.0)
"""Where nothing was released of it."""


@dataclass(frozen=True, eq=False)
class PeopleOfFew:
    """How many people have how many records of a few items, and how many may; deviations are those of bins.

    Records may lie between items that people have once and items that all share ``alike``: that says how far.
    """

    estimated: EstimatedActivity
    at_most: EstimatedActivity
    deviations: Floats
    alike: Part = UNKNOWN

    @property
    def hidden(self) -> Floats:
        """How many more people there may be in each bin."""
        return np.maximum(in_bins(self.at_most) - in_bins(self.estimated), 0.0)


def in_bins(activity: EstimatedActivity) -> Floats:
    """Return how many people are in each bin."""
    places = bin_of(np.ceil(activity.records).astype(np.int64))
    return np.asarray(np.bincount(places, weights=activity.users, minlength=BINS), dtype=np.float64)


def people_of_few(
    released: Floats,
    scale: float,
    estimated: EstimatedActivity,
    at_most: EstimatedActivity,
    counts: Posterior,
    part: float | None = None,
) -> PeopleOfFew:
    """Say how many people have how many of some items, of which it was released with Laplace noise of a scale.

    It is known how active all people are, as ``estimated`` and ``at_most``, and how large the counts of the items.
    ``part`` is the part of all records that are about them; without it an item counts once.

    >>> people = EstimatedActivity(np.array([1.0, 2.0, 9.0]), np.array([900.0, 400.0, 50.0]))
    >>> counts = Posterior(*np.full((3, 4), 60.0))
    >>> noisy = np.array([160.0, 12.0, -9.0] + [0.0] * 19)
    >>> found = people_of_few(noisy, 10.0, people, people, counts)
    >>> found.estimated.users.round().tolist()
    [160.0, 15.0, 2.0, 0.0]
    """
    expected, possible = had_once(estimated, counts.mean), had_once(at_most, counts.high)
    if part is None:
        return _joined(released, scale, expected, possible, counts.mean.size)
    alike = shared_alike(estimated, part)
    told = part_that_fits(released, scale, expected, alike)
    expected = between(expected, alike, told.mean)
    possible = between(possible, shared_alike(at_most, part), told.most)
    return replace(_joined(released, scale, expected, possible, None), alike=told)


def _joined(
    released: Floats, scale: float, expected: EstimatedActivity, possible: EstimatedActivity, most: int | None
) -> PeopleOfFew:
    """Put what was released together with what is expected and possible; nobody has more than ``most``."""
    usual, more = in_bins(expected), np.maximum(in_bins(possible), in_bins(expected))
    noise, off = 2 * scale**2, (_OFF if most is None else _OFF_ONCE)
    variances = (off * usual) ** 2
    kept = np.divide(variances, variances + noise, out=np.zeros(BINS), where=variances > 0)
    stands_out = tidied(released, scale, most)
    clear = stands_out > CLEAR * scale
    users = np.where(clear, stands_out, np.maximum(usual + kept * (released - usual), 0.0))
    room = np.maximum(released, 0.0) + HIDDEN_SCALES * scale
    raised = np.where(clear, users, np.maximum(np.minimum((1 + _AT_MOST * off) * more, room), users))
    return PeopleOfFew(
        _placed(users, expected, scale, most),
        _placed(raised, possible, scale, most),
        np.sqrt(np.where(clear, noise, kept * noise)),
    )


def _placed(users: Floats, expected: EstimatedActivity, scale: float, most: int | None) -> EstimatedActivity:
    """Put so many people into each bin: where they are expected in it, or evenly where nobody is."""
    usual = in_bins(expected)
    alone = evenly_spread(np.where(usual > _NOBODY, 0.0, users), scale, most)
    places = bin_of(np.ceil(expected.records).astype(np.int64))
    each = expected.users * np.divide(users, usual, out=np.zeros(BINS), where=usual > _NOBODY)[places]
    there = each > 0
    records = np.append(expected.records[there], alone.records)
    order = np.argsort(records, kind="stable")
    return EstimatedActivity(records[order], np.append(each[there], alone.users)[order], scale)


def had_once(people: EstimatedActivity, counts: Floats) -> EstimatedActivity:
    """Return how many have 1, 2, … of some items, if all draw from one popularity and an item counts once.

    ``counts`` says how many have each of them. Whoever has many items drew popular ones again and again.

    >>> people = EstimatedActivity(np.array([2.0]), np.array([100.0]))
    >>> had_once(people, np.array([50.0, 50.0])).users.round().tolist()
    [50.0, 25.0]
    """
    drawn = people
    for _ in range(_ROUNDS):
        popularities = _popularities(drawn, counts)
        drawn = replace(drawn, records=_draws(people.records, popularities))
    likely = chances(drawn, _popularities(drawn, counts))
    having = np.zeros((counts.size + 1, people.users.size))
    having[0] = 1.0
    for each in likely:
        having[1:] = having[1:] * (1 - each) + having[:-1] * each
        having[0] *= 1 - each
    numbers = np.arange(counts.size + 1.0)
    having[numbers[:, None] > people.records] = 0.0  # nobody has more of these items than of all
    having *= likely.sum(axis=0) / np.maximum(numbers @ having, _NOBODY)
    return EstimatedActivity(numbers[1:], having[1:] @ people.users, people.scale)


def _popularities(people: EstimatedActivity, counts: Floats) -> Floats:
    """Return the popularities at which items have these counts."""
    low, high = np.full(counts.size, _RAREST), np.full(counts.size, _COMMONEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        more = chances(people, np.exp(middle)) @ people.users > counts
        low, high = np.where(more, low, middle), np.where(more, middle, high)
    return np.asarray(np.exp((low + high) / 2))


def _draws(records: Floats, popularities: Floats) -> Floats:
    """Return how often people drew who have so many different items, of which all but some are rare.

    >>> _draws(np.array([1.0, 12.0]), np.array([0.5, 0.1])).round(1).tolist()
    [1.1, 25.2]
    """
    rest = max(1 - float(popularities.sum()), _LEAST_REST)
    low, high = records, records / rest
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        more = -np.expm1(-np.outer(popularities, middle)).sum(axis=0) + rest * middle > records
        low, high = np.where(more, low, middle), np.where(more, middle, high)
    return np.asarray((low + high) / 2)


def shared_alike(people: EstimatedActivity, part: float) -> EstimatedActivity:
    """Return how many have how many records of some items, if these have that part of everybody's records.

    A person's own part differs from that, and by chance.

    >>> found = shared_alike(EstimatedActivity(np.array([400.0]), np.array([60.0])), 0.1)
    >>> found.records.round().tolist(), found.users.round().tolist()
    ([18.0, 25.0, 32.0, 39.0, 49.0, 71.0], [10.0, 10.0, 10.0, 10.0, 10.0, 10.0])
    """
    expected = np.maximum(people.records * part, _NOBODY)
    anything = -np.expm1(-expected)
    records = expected / anything
    wide = np.sqrt(np.log1p(_TASTES**2 * np.minimum(expected, 1.0) + (1 - 1 / records) / records))
    each = np.maximum(records * np.exp(np.multiply.outer(_HEIGHTS, wide) - wide**2 / 2), 1.0)
    users: Floats = np.broadcast_to(people.users * anything / _HEIGHTS.size, each.shape)
    found, places = np.unique(each.round(6), return_inverse=True)
    each_place = np.bincount(places.ravel(), weights=users.ravel()).astype(np.float64)
    return EstimatedActivity(found, each_place, people.scale)


def between(one: EstimatedActivity, other: EstimatedActivity, part: float) -> EstimatedActivity:
    """Return what lies between the two: that part of the other, and of the one what is left.

    >>> one, other = EstimatedActivity(np.ones(1), np.array([4.0])), EstimatedActivity(np.array([2.0]), np.ones(1))
    >>> between(one, other, 0.25).users.tolist()
    [3.0, 0.25]
    """
    records = np.append(one.records, other.records)
    users = np.append((1 - part) * one.users, part * other.users)
    order = np.argsort(records, kind="stable")
    return EstimatedActivity(records[order], users[order], one.scale)


def part_that_fits(released: Floats, scale: float, one: EstimatedActivity, other: EstimatedActivity) -> Part:
    """Return how far between two expectations what was released lies.

    >>> one, other = (EstimatedActivity(np.full(1, of), np.full(1, 50 * of)) for of in (1.0, 8.0))
    >>> noisy = np.append([48.0], np.zeros(21))
    >>> [round(each, 2) for each in part_that_fits(noisy, 5.0, one, other)]
    [0.0, 0.01, 0.0]
    """
    users = (1 - _PARTS[:, None]) * in_bins(one) + _PARTS[:, None] * in_bins(other)
    scales = np.hypot(scale, _OFF_ONCE * users / np.sqrt(2))
    fits = -(np.abs(released - users) / scales + np.log(scales)).sum(axis=1)
    likely = _USUAL_PARTS * np.exp(fits - fits.max())
    likely /= likely.sum()
    most = _PARTS[int(np.searchsorted(np.cumsum(likely), _MOST_PARTS))]
    mean = float(likely @ _PARTS)
    return Part(mean, float(np.sqrt(likely @ (_PARTS - mean) ** 2)), float(most))
