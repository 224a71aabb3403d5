"""Scaling up as measured: classes of items, and ratios that find out who has what. All draws are seeded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.adaptive.popularity_scale_up import ReleasedProfile, assign_popularity_classes, fit_ratios
from headcount.adaptive.scale_up import Norm, weights
from headcount.bounds.counts.activity_histogram import UPPER_ENDS

Floats = NDArray[np.float64]
LIMIT = 4


@given(st.lists(st.floats(-50, 1e6), min_size=1, max_size=300), st.floats(0.1, 1e3))
def test_classes_part_the_items_by_popularity(people: list[float], scale: float) -> None:
    """Each is in one class; classes are numbered from the most popular on; and there are few."""
    counts = np.array(people)
    classes = assign_popularity_classes(counts, scale)
    held = np.bincount(classes, minlength=1)
    assert classes.shape == counts.shape
    assert (held > 0).all()
    assert held.size <= 16
    for lower, other in zip(range(held.size), range(1, held.size), strict=False):
        assert counts[classes == lower].min() >= counts[classes == other].max()
    sums = np.bincount(classes, weights=np.maximum(counts, 0))
    assert held.size == 1 or sums.min() >= 20 * scale * (1 - 1e-9), "a class does not stand out of the noise"


class World:
    """Heavy people of 5 to 400 records of 220 items, of which 20 are far more popular than the others.

    A person of n records has a share of them about these 20 that falls as n^-slope.
    """

    def __init__(self, slope: float, norm: Norm, scale: float, seed: int = 1) -> None:
        random = np.random.default_rng(seed)
        n = np.floor(5 * 80 ** random.random(4_000))
        first = 0.8 * (n / 5) ** -slope
        few, many = (np.arange(size, 2 * size) ** -0.5 for size in (20, 200))
        chances = np.hstack([np.outer(first, few / few.sum()), np.outer(1 - first, many / many.sum())])
        user_weights = weights(n, LIMIT, norm)
        self.full = (n[:, None] * chances).sum(axis=0)
        self.weighed = ((n * user_weights)[:, None] * chances).sum(axis=0)
        self.classes = assign_popularity_classes(chances.sum(axis=0), max(scale, 1.0))
        sums = np.zeros((UPPER_ENDS.size, int(self.classes.max()) + 1))
        power = np.floor(np.log2(n)).astype(np.int64)
        part = n / 2.0**power - 1
        for kind in range(sums.shape[1]):
            share = chances[:, self.classes == kind].sum(axis=1)
            np.add.at(sums[:, kind], power, share * (1 - part))
            np.add.at(sums[:, kind], power + 1, share * part)
        self.shares = ReleasedProfile(sums + random.laplace(0, scale, sums.shape), scale, self.classes)
        records, users = np.unique(n, return_counts=True)
        self.heavy = EstimatedActivity(records, users.astype(np.float64))
        self.norm = norm
        self.noise = scale

    def estimated_ratios(self) -> Floats:
        class_ratios = fit_ratios(self.weighed, self.heavy, LIMIT, self.norm, self.shares, 2 * self.noise**2)
        return class_ratios.at(self.weighed, slice(None))[0]


NORMS = pytest.mark.parametrize("norm", ["l1", "l2"])


@NORMS
def test_with_hardly_any_noise_classes_sum_to_the_truth(norm: Norm) -> None:
    """Within 2 % in each class of items, whether or not the active have other items than others."""
    for slope in (0.0, 0.4):
        world = World(slope, norm, 0.01)
        full = world.weighed * world.estimated_ratios()
        sums, exact = (np.bincount(world.classes, weights=counts) for counts in (full, world.full))
        assert sums == pytest.approx(exact, rel=0.02)


@NORMS
def test_a_difference_between_items_is_recovered_from_noise(norm: Norm) -> None:
    """What the active have more of is scaled up more: half of the difference at least, in each of 5 releases.

    One ratio for all would make no difference; the total is within 20 % (measured: 14 %).
    """
    world = World(0.4, norm, 0.0)
    parts = slice(20), slice(20, 220)
    exact = [world.full[part].sum() / world.weighed[part].sum() for part in parts]
    for seed in range(5):
        noisy = World(0.4, norm, 20.0, seed)
        full = noisy.weighed * noisy.estimated_ratios()
        ratios = [full[part].sum() / noisy.weighed[part].sum() for part in parts]
        assert np.log(ratios[1] / ratios[0]) > 0.5 * np.log(exact[1] / exact[0]) > 0.15
        assert full.sum() == pytest.approx(noisy.full.sum(), rel=0.2)


def test_where_all_are_alike_noise_makes_no_difference() -> None:
    """One ratio for all, within 25 % for 95 % of items, in each of 5 releases."""
    for seed in range(5):
        world = World(0.0, "l1", 20.0, seed)
        errors = np.abs(world.estimated_ratios() / (world.full / world.weighed) - 1)
        assert np.quantile(errors, 0.95) < 0.25
