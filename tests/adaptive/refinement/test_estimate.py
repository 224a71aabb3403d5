"""What a closer look makes of counts: ratios of few items, and two estimates put together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headcount._internal.arrays import Floats
from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.adaptive.posterior import Posterior
from headcount.adaptive.refinement.estimate import PriorEstimates, SubsetModel
from headcount.adaptive.refinement.subset_activity import SubsetActivity
from headcount.bounds.counts.activity_histogram import BINS

ITEMS = 8
NONE = np.zeros(BINS)


def few_of(
    broad: PriorEstimates, people: EstimatedActivity, at_most: EstimatedActivity | None = None, *, distinct: bool
) -> SubsetModel:
    """Say that so many people have so many of the items, each bin off by the noise it has."""
    deviations = np.full(BINS, np.sqrt(2) * people.scale)
    return SubsetModel(broad, broad.counts.mean, SubsetActivity(people, at_most or people, deviations), distinct)


def broad_posterior(
    counts: Floats, *, noise: float = 0.0, differ: float = 0.0, shared: float = 0.0
) -> PriorEstimates:
    """Say that counts are known, each off by so much, relatively, and intervals as wide as that."""
    half_widths = 1.96 * np.sqrt(noise**2 + differ**2 + shared**2) * counts
    return PriorEstimates(
        Posterior(counts, counts - half_widths, counts + half_widths),
        noise * counts,
        differ * counts,
        shared * counts,
        np.log(counts),
    )


def drawn(random: np.random.Generator, people: int) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Draw who has which of a few items, each by chance and some people more of all."""
    eager = random.normal(0, 1, people)[:, None]
    has_item = random.random((people, ITEMS)) < 1 / (1 + np.exp(np.linspace(0, 2.5, ITEMS) - eager))
    return np.asarray(has_item[has_item.any(axis=1)])


def as_released(number: Floats) -> EstimatedActivity:
    records, users = np.unique(number, return_counts=True)
    return EstimatedActivity(records.astype(np.float64), users.astype(np.float64))


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_ratios_of_independently_held_items_are_per_item(limit: int) -> None:
    """Those of popular items are smaller: who has them has fewer others beside."""
    having = drawn(np.random.default_rng(5), 40_000)
    number = having.sum(axis=1)
    weighed = (having * np.minimum(1, limit / number)[:, None]).sum(axis=0)
    people = as_released(number)
    counts = having.sum(axis=0).astype(np.float64)
    ratios = few_of(broad_posterior(counts), people, distinct=True).ratios(limit)
    assert ratios.factor == pytest.approx(counts / weighed, rel=0.04)
    assert (np.diff(ratios.factor) > 0).all()


def test_where_records_share_alike_in_all_items_there_is_one_ratio() -> None:
    """Of records both are averaged over: who has items at most once, and who has them many times."""
    people = EstimatedActivity(np.array([2.0, 40.0]), np.array([500.0, 100.0]))
    counts = np.geomspace(1_000, 100, ITEMS)
    ratios, once = (
        few_of(broad_posterior(counts), people, distinct=distinct).ratios(4) for distinct in (False, True)
    )
    alike = 5_000 / (1_000 + 400)
    assert ratios.factor == pytest.approx(np.sqrt(alike * once.factor), rel=0.01)
    assert ratios.common > np.abs(np.log(alike / once.factor)).mean() / 2 - 0.01


def test_a_threshold_above_all_users_leaves_nothing_to_scale() -> None:
    people = EstimatedActivity(np.array([1.0, 3.0]), np.array([500.0, 100.0]))
    ratios = few_of(broad_posterior(np.full(ITEMS, 100.0)), people, distinct=True).ratios(4)
    assert ratios.factor == pytest.approx(1.0)
    assert ratios.own_deviation == pytest.approx(0.0)
    assert ratios.common == pytest.approx(0.0)


def test_ratios_are_one_where_no_user_is_observed() -> None:
    nobody = EstimatedActivity(np.empty(0), np.empty(0))
    ratios = few_of(broad_posterior(np.full(ITEMS, 100.0)), nobody, distinct=False).ratios(1)
    assert ratios.factor.tolist() == [1.0] * ITEMS


def test_more_noise_asks_for_a_smaller_limit() -> None:
    having = drawn(np.random.default_rng(6), 5_000)
    people = as_released(having.sum(axis=1))
    few = few_of(broad_posterior(having.sum(axis=0).astype(np.float64), differ=0.5), people, distinct=True)
    chosen = [few.best_threshold([(k, noise * k) for k in (1, 2, 4, 8)]) for noise in (0.1, 100.0, 1e4)]
    assert chosen[0] == 8
    assert chosen == sorted(chosen, reverse=True)
    assert chosen[-1] == 1


@pytest.mark.parametrize(("deviation", "measured_counts"), [(0.1, True), (1e6, False)])
def test_the_surer_of_both_counts(deviation: float, measured_counts: bool) -> None:
    people = EstimatedActivity(np.array([1.0]), np.array([1_000.0]))
    before, measured = np.full(ITEMS, 100.0), np.full(ITEMS, 150.0)
    posterior = few_of(broad_posterior(before, noise=0.2), people, distinct=True).combine(measured, 1, deviation)
    assert posterior.mean == pytest.approx(measured if measured_counts else before, rel=0.01)
    assert (posterior.high - posterior.low < 1.0).all() == measured_counts


def test_an_error_that_all_share_draws_no_count_below_both() -> None:
    """It would, were errors in proportion to what was measured: then small measurements would be the sure ones."""
    random = np.random.default_rng(7)
    people = EstimatedActivity(np.array([1.0, 30.0]), np.array([300.0, 60.0]), scale=60.0)
    few = few_of(broad_posterior(np.full(ITEMS, 300.0), noise=0.3, shared=0.1), people, distinct=False)
    ratios = few.ratios(4)
    assert ratios.common > 0.3
    for _ in range(20):
        measured = 300 + random.laplace(0, 60, ITEMS)
        mean = few.combine(measured / ratios.factor, 4, 60 / float(ratios.factor[0])).mean
        assert min(measured.mean(), 300) - 25 < mean.mean() < max(measured.mean(), 300) + 25


def test_undetected_users_raise_upper_ends_alone() -> None:
    people = EstimatedActivity(np.array([1.0, 4.0]), np.array([500.0, 100.0]))
    more = EstimatedActivity(np.array([1.0, 4.0, 8.0]), np.array([500.0, 100.0, 60.0]))
    before, measured = broad_posterior(np.full(ITEMS, 120.0), differ=0.5), np.full(ITEMS, 110.0)
    observed = few_of(before, people, distinct=False).combine(measured, 4, 5.0)
    hidden = few_of(before, people, more, distinct=False).combine(measured, 4, 5.0)
    assert hidden.mean == pytest.approx(observed.mean)
    assert hidden.low == pytest.approx(observed.low)
    assert (hidden.high > 1.15 * observed.high).all()


def test_undetected_users_raise_upper_ends_of_user_counts() -> None:
    """Where people are counted each adds one to a count at most, of which the limit lets a part be measured.

    That, and being off in another way, are two chances.
    """
    people = EstimatedActivity(np.array([1.0]), np.array([500.0]), scale=10.0)
    more = EstimatedActivity(np.array([1.0, 7.0]), np.array([500.0, 80.0]))
    before, measured = broad_posterior(np.full(ITEMS, 120.0), differ=0.5), np.full(ITEMS, 110.0)
    posteriors = [
        few_of(before, people, at_most, distinct=True).combine(measured, limit, 5.0)
        for limit, at_most in ((8, people), (8, more), (4, people), (4, more))
    ]
    up = [posterior.high - posterior.mean for posterior in posteriors]
    assert up[1] == pytest.approx(up[0])
    assert up[2] == pytest.approx(up[0])
    assert up[3] == pytest.approx(np.hypot(up[0], 80 / 2))
    by_squares = [
        replace(few_of(before, people, at_most, distinct=True), norm="l2").combine(measured, 2, 5.0)
        for at_most in (people, more)
    ]
    assert by_squares[1].high == pytest.approx(by_squares[0].high + 80 * (1 - np.sqrt(2 / 8)))


def test_prior_upper_end_stays_where_refinement_may_miss_most_users() -> None:
    people = EstimatedActivity(np.array([1.0]), np.array([500.0]))
    more = EstimatedActivity(np.array([1.0, 300.0]), np.array([500.0, 40.0]))
    before = broad_posterior(np.full(ITEMS, 120.0), differ=3.0)
    observed, hidden = (
        few_of(before, people, upper_activity, distinct=False) for upper_activity in (people, more)
    )
    assert hidden.ratios(1).undetected > 0.99
    assert (hidden.combine(np.full(ITEMS, 60.0), 1, 5.0).high == before.counts.high).all()
    assert (observed.combine(np.full(ITEMS, 60.0), 1, 5.0).high < 100).all()


def test_an_item_held_mostly_by_few_users_keeps_its_prior() -> None:
    """Three have 100 records of the first item each, of which a limit of 2 lets next to nothing be seen.

    Noise or a misjudged ratio may do the same, and where people are counted nobody has an item many times.
    """
    people = EstimatedActivity(np.array([1.0]), np.array([1_000.0]))
    counts = np.full(ITEMS, 200.0)
    counts[0] += 300
    sure, noisy, unsure = (broad_posterior(counts, **{word: 0.05}) for word in ("noise", "noise", "differ"))
    measured = np.full(ITEMS, 200.0)
    posterior = few_of(sure, people, distinct=False).combine(measured, 2, 10.0)
    assert (posterior.mean[0], posterior.low[0], posterior.high[0]) == (
        500,
        sure.counts.low[0],
        sure.counts.high[0],
    )
    assert posterior.mean[1:] == pytest.approx(measured[1:], rel=0.05)
    assert few_of(unsure, people, distinct=False).combine(measured, 2, 10.0).mean[0] == 500
    for more in ({"noise": 0.3}, {"differ": 0.3}, {"shared": 0.3}):
        assert (
            few_of(broad_posterior(counts, **more), people, distinct=False).combine(measured, 2, 10.0).mean[0]
            < 300
        )
    assert few_of(noisy, people, distinct=True).combine(measured, 2, 10.0).mean[0] < 300


def test_under_a_cap_few_users_with_one_item_raise_upper_ends() -> None:
    """By 2.2 times what the limit cuts off of a person with all that the cap allows."""
    people = EstimatedActivity(np.array([1.0]), np.array([500.0]))
    before, measured = broad_posterior(np.full(ITEMS, 120.0), differ=2.0), np.full(ITEMS, 110.0)
    plain = few_of(before, people, distinct=False)
    for limit in (4, 30):
        high = plain.combine(measured, limit, 5.0).high
        assert replace(plain, cap=50).combine(measured, limit, 5.0).high == pytest.approx(
            high + 2.2 * (50 - limit)
        )


def test_no_count_is_too_small_for_a_limit_to_heed() -> None:
    """A large count alone calls for a limit that cuts nothing off of anybody; its noise would be that of all."""
    people = EstimatedActivity(np.array([1.0, 2.0, 4.0]), np.array([5_000.0, 1_500.0, 375.0]))
    counts, limits = np.full(ITEMS, 200.0), [(k, 10.0 * k) for k in (1, 2, 4, 8)]
    counts[0] = 5_000.0
    few = few_of(broad_posterior(counts, differ=0.5), people, distinct=True)
    alone = min(limits, key=lambda bounds: few.remaining_variance(*bounds)[0])
    assert (few.best_threshold(limits), alone[0]) == (2, 4)


def test_interval_ends_use_the_prior_of_the_same_side() -> None:
    """Where counts may be far larger than what was made of them, a measurement that says so is believed."""
    people = EstimatedActivity(np.array([1.0]), np.array([1_000.0]))
    mean = np.full(ITEMS, 10.0)
    counts = Posterior(mean, mean * 0, mean + 400)
    few = few_of(PriorEstimates(counts, mean * 0.5, mean * 0, mean * 0, mean), people, distinct=True)
    posterior = few.combine(np.full(ITEMS, 150.0), 1, 40.0)
    assert (posterior.mean < 20).all()
    assert (posterior.high > 150).all()


def coverage(random: np.random.Generator, *, claimed: float, runs: int = 150) -> float:
    """Return how often intervals hold where noise has a deviation of 40 and 40 or another one is claimed."""
    people, held = EstimatedActivity(np.array([1.0]), np.array([1_000.0])), []
    for _ in range(runs):
        before = np.full(ITEMS, 300.0)
        truth = before * (1 + random.normal(0, 0.2, ITEMS))
        measured = truth + random.laplace(0, 40 / np.sqrt(2), ITEMS)
        posterior = few_of(broad_posterior(before, noise=0.2), people, distinct=True).combine(measured, 1, claimed)
        held.append((posterior.low <= truth) & (truth <= posterior.high))
    return float(np.mean(held))


def test_intervals_hold_as_often_as_they_say() -> None:
    """Down 2.2 and up 1.9 deviations: 96 % of a normal law; of 1,200 below 0.90 less than once in 10^6; seeded."""
    assert 0.90 < coverage(np.random.default_rng(8), claimed=40.0) < 0.97
    assert coverage(np.random.default_rng(8), claimed=15.0) < 0.85, "too small a noise is seen"
