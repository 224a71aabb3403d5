"""How many of a few items people have: what activity lets expect, and what noise leaves of it."""

from __future__ import annotations

import numpy as np
import pytest

from headcount._internal.arrays import Floats
from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.adaptive.empirical_bayes import Posterior
from headcount.adaptive.refinement.subset_activity import (
    between,
    had_once,
    in_bins,
    part_that_fits,
    people_of_few,
    shared_alike,
)
from headcount.bounds.counts.activity_bins import BINS

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
        return in_bins(EstimatedActivity(number[number > 0].astype(np.float64), np.ones((number > 0).sum())))


def known(counts: Floats) -> Posterior:
    return Posterior(counts, counts, counts)


def test_who_draws_from_one_popularity_has_as_many_of_the_first_items_as_expected() -> None:
    world = World()
    found = in_bins(had_once(world.activity(once=True), world.counts(once=True)))
    there = world.having(once=True)
    clear = there > 1_000
    assert clear.sum() >= 4
    assert found[clear] == pytest.approx(there[clear], rel=0.25)
    assert np.abs(found - there).sum() < 0.12 * there.sum()


def test_expected_people_have_the_counts_that_they_were_worked_out_from() -> None:
    world = World()
    found, counts = had_once(world.activity(once=True), world.counts(once=True)), world.counts(once=True)
    assert found.total_records == pytest.approx(counts.sum(), rel=1e-6)


def test_records_that_all_items_share_alike_are_as_many_as_they_are() -> None:
    world = World()
    found = shared_alike(world.activity(once=False), 0.4)
    assert found.total_records == pytest.approx(0.4 * world.users.size, rel=0.05)


@pytest.mark.parametrize(("once", "low", "high"), [(True, 0.0, 0.35), (False, 0.6, 1.0)])
def test_whether_people_come_back_is_told_by_what_was_released(once: bool, low: float, high: float) -> None:
    """Who has one item only, many times, is spread over sizes as all that they have is."""
    world = World(again=0.9)
    activity, counts = world.activity(once=once), world.counts(once=once)
    share = counts.sum() / (world.once[0] if once else world.users).size
    noisy = world.having(once=once) + np.random.default_rng(1).laplace(0, 50, BINS)
    mean, _, most = part_that_fits(noisy, 50.0, had_once(activity, counts), shared_alike(activity, share))
    assert low <= mean <= high
    assert most >= mean


def test_what_stands_out_is_taken_as_released_and_the_rest_as_expected() -> None:
    world = World()
    activity, there = world.activity(once=True), world.having(once=True)
    counts = known(world.counts(once=True))
    random = np.random.default_rng(2)
    off = {}
    for scale in (20.0, 3_000.0):
        noisy = there + random.laplace(0, scale, BINS)
        found = people_of_few(noisy, scale, activity, activity, counts)
        off[scale] = np.abs(in_bins(found.estimated) - there).sum() / there.sum()
        clear = noisy > 6 * scale
        assert in_bins(found.estimated)[clear] == pytest.approx(noisy[clear], rel=1e-6)
        assert (in_bins(found.at_most) >= in_bins(found.estimated) - 1e-6).all()
        assert (found.deviations <= np.sqrt(2) * scale + 1e-9).all()
    assert off[20.0] < 0.01
    assert off[3_000.0] < 0.35, "noise alone is off by more than 0.9"
    assert np.abs(random.laplace(0, 3_000, 6)).sum() / there.sum() > 0.3


def test_nobody_is_made_up_by_noise_where_nobody_is_known() -> None:
    nobody = EstimatedActivity(np.ones(1), np.zeros(1))
    noisy = np.random.default_rng(4).laplace(0, 100, BINS)
    found = people_of_few(np.minimum(noisy, 300), 100.0, nobody, nobody, known(np.zeros(ITEMS)))
    assert found.estimated.total_users == pytest.approx(0.0)


def test_people_whom_noise_may_hide_are_no_more_than_it_leaves_room_for() -> None:
    people = EstimatedActivity(np.array([400.0]), np.array([2_000.0]))
    some = people_of_few(
        NONE, 500.0, EstimatedActivity(np.ones(1), np.ones(1)), people, known(np.full(ITEMS, 1_500.0))
    )
    assert 500 < some.hidden.max() <= 750 + 1e-3
    sure = people_of_few(
        NONE, 5.0, EstimatedActivity(np.ones(1), np.ones(1)), people, known(np.full(ITEMS, 1_500.0))
    )
    assert sure.hidden.max() <= 7.5 + 1e-3


def test_where_in_their_bins_people_are_is_expected() -> None:
    """Who has 400 records has nearly all of a few popular items: in their bin they are at its end."""
    people = EstimatedActivity(np.array([400.0]), np.array([2_000.0]))
    released = NONE.copy()
    released[5] = 2_000.0
    found = people_of_few(released, 5.0, people, people, known(np.full(ITEMS, 1_900.0))).estimated
    assert found.total_users == pytest.approx(2_000.0, rel=0.01)
    assert found.total_records / found.total_users > 22


def test_between_two_expectations_lie_their_sums() -> None:
    one, other = (
        EstimatedActivity(np.ones(1), np.full(1, 8.0)),
        EstimatedActivity(np.full(1, 2.0), np.full(1, 4.0)),
    )
    assert between(one, other, 0.5).total_records == pytest.approx((8 + 8) / 2)
