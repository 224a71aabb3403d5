"""How many of a few items people have: what activity lets expect, and what noise leaves of it."""

from __future__ import annotations

import numpy as np
import pytest

from headcount._internal.arrays import Floats
from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.adaptive.posterior import Posterior
from headcount.adaptive.refinement.subset_activity import (
    distinct_draws_activity,
    equal_share_activity,
    estimate_mixing_weight,
    estimate_subset_activity,
    mix_activities,
    users_per_bin,
)
from headcount.bounds.counts.activity_histogram import BINS

ITEMS = 24
PEOPLE = 40_000
NONE = np.zeros(BINS)


class World:
    """People who draw items by one popularity, and how many of the first items each of them has."""

    def __init__(self, *, again: float = 0.0, seed: int = 3) -> None:
        random = np.random.default_rng(seed)
        shares = 1 / np.arange(1, 2_001)
        shares /= shares.sum()
        sizes = np.minimum(random.geometric(0.08, PEOPLE), 100)
        users = np.repeat(np.arange(PEOPLE), sizes)
        items = random.choice(shares.size, users.size, p=shares)
        favourites = random.choice(shares.size, PEOPLE, p=shares)
        loyal = random.random(users.size) < again
        items[loyal] = favourites[users[loyal]]
        self.users, self.items = users, items
        self.once = np.unique(np.stack([users, items]), axis=1)

    def activity(self, *, once: bool) -> EstimatedActivity:
        users = self.once[0] if once else self.users
        records, people = np.unique(np.bincount(users), return_counts=True)
        return EstimatedActivity(records[1:].astype(np.float64), people[1:].astype(np.float64))

    def counts(self, *, once: bool) -> Floats:
        items = self.once[1] if once else self.items
        return np.bincount(items, minlength=2_000)[:ITEMS].astype(np.float64)

    def having(self, *, once: bool) -> Floats:
        users, items = self.once if once else (self.users, self.items)
        number = np.bincount(users[items < ITEMS], minlength=PEOPLE)
        return users_per_bin(EstimatedActivity(number[number > 0].astype(np.float64), np.ones((number > 0).sum())))


def exact_posterior(counts: Floats) -> Posterior:
    return Posterior(counts, counts, counts)


def test_who_draws_from_one_popularity_has_as_many_of_the_first_items_as_expected() -> None:
    world = World()
    users_by_bin = users_per_bin(distinct_draws_activity(world.activity(once=True), world.counts(once=True)))
    there = world.having(once=True)
    clear = there > 1_000
    assert clear.sum() >= 4
    assert users_by_bin[clear] == pytest.approx(there[clear], rel=0.25)
    assert np.abs(users_by_bin - there).sum() < 0.12 * there.sum()


def test_expected_users_reproduce_the_counts_they_were_derived_from() -> None:
    world = World()
    activity, counts = (
        distinct_draws_activity(world.activity(once=True), world.counts(once=True)),
        world.counts(once=True),
    )
    assert activity.total_records == pytest.approx(counts.sum(), rel=1e-6)


def test_records_that_all_items_share_alike_are_as_many_as_they_are() -> None:
    world = World()
    activity = equal_share_activity(world.activity(once=False), 0.4)
    assert activity.total_records == pytest.approx(0.4 * world.users.size, rel=0.05)


@pytest.mark.parametrize(("once", "low", "high"), [(True, 0.0, 0.35), (False, 0.6, 1.0)])
def test_released_counts_show_whether_users_return(once: bool, low: float, high: float) -> None:
    """Who has one item only, many times, is spread over sizes as all that they have is."""
    world = World(again=0.9)
    activity, counts = world.activity(once=once), world.counts(once=once)
    share = counts.sum() / (world.once[0] if once else world.users).size
    noisy = world.having(once=once) + np.random.default_rng(1).laplace(0, 50, BINS)
    mean, _, most = estimate_mixing_weight(
        noisy, 50.0, distinct_draws_activity(activity, counts), equal_share_activity(activity, share)
    )
    assert low <= mean <= high
    assert most >= mean


def test_what_stands_out_is_taken_as_released_and_the_rest_as_expected() -> None:
    world = World()
    activity, there = world.activity(once=True), world.having(once=True)
    counts = exact_posterior(world.counts(once=True))
    random = np.random.default_rng(2)
    errors = {}
    for scale in (20.0, 3_000.0):
        noisy = there + random.laplace(0, scale, BINS)
        few_activity = estimate_subset_activity(noisy, scale, activity, activity, counts)
        errors[scale] = np.abs(users_per_bin(few_activity.estimated) - there).sum() / there.sum()
        clear = noisy > 6 * scale
        assert users_per_bin(few_activity.estimated)[clear] == pytest.approx(noisy[clear], rel=1e-6)
        assert (users_per_bin(few_activity.upper) >= users_per_bin(few_activity.estimated) - 1e-6).all()
        assert (few_activity.deviations <= np.sqrt(2) * scale + 1e-9).all()
    assert errors[20.0] < 0.01
    assert errors[3_000.0] < 0.35, "noise alone is off by more than 0.9"
    assert np.abs(random.laplace(0, 3_000, 6)).sum() / there.sum() > 0.3


def test_noise_adds_no_users_to_an_empty_log() -> None:
    nobody = EstimatedActivity(np.ones(1), np.zeros(1))
    noisy = np.random.default_rng(4).laplace(0, 100, BINS)
    activity = estimate_subset_activity(
        np.minimum(noisy, 300), 100.0, nobody, nobody, exact_posterior(np.zeros(ITEMS))
    )
    assert activity.estimated.total_users == pytest.approx(0.0)


def test_undetected_users_are_bounded_by_the_noise() -> None:
    people = EstimatedActivity(np.array([400.0]), np.array([2_000.0]))
    some = estimate_subset_activity(
        NONE, 500.0, EstimatedActivity(np.ones(1), np.ones(1)), people, exact_posterior(np.full(ITEMS, 1_500.0))
    )
    assert 500 < some.undetected.max() <= 750 + 1e-3
    sure = estimate_subset_activity(
        NONE, 5.0, EstimatedActivity(np.ones(1), np.ones(1)), people, exact_posterior(np.full(ITEMS, 1_500.0))
    )
    assert sure.undetected.max() <= 7.5 + 1e-3


def test_users_get_their_expected_place_in_a_bin() -> None:
    """Who has 400 records has nearly all of a few popular items: in their bin they are at its end."""
    people = EstimatedActivity(np.array([400.0]), np.array([2_000.0]))
    released = NONE.copy()
    released[5] = 2_000.0
    estimated = estimate_subset_activity(
        released, 5.0, people, people, exact_posterior(np.full(ITEMS, 1_900.0))
    ).estimated
    assert estimated.total_users == pytest.approx(2_000.0, rel=0.01)
    assert estimated.total_records / estimated.total_users > 22


def test_between_two_expectations_lie_their_sums() -> None:
    lower, other = (
        EstimatedActivity(np.ones(1), np.full(1, 8.0)),
        EstimatedActivity(np.full(1, 2.0), np.full(1, 4.0)),
    )
    assert mix_activities(lower, other, 0.5).total_records == pytest.approx((8 + 8) / 2)
