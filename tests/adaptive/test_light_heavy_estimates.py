"""From two noisy tables to one: exact without noise, closer than the noisy ones with it, intervals that hold.

All draws are seeded, so that tests come out the same in every run; tolerances say what was measured.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from headcount._internal.arrays import Floats, Integers
from headcount.accounting.noise_distributions import DiscreteGaussian, DiscreteLaplace, NoiseDistribution
from headcount.adaptive.activity_histogram import EstimatedActivity, UserEstimates
from headcount.adaptive.intervals import estimate_counts
from headcount.adaptive.light_heavy_estimates import choose_ratios, fit_shrinkage
from headcount.adaptive.posterior import NoisyPair, Posterior, blocks
from headcount.adaptive.scale_up import Norm, scale_up, weights


def combine(light: Floats, heavy: Floats, *given: Any, **more: Any) -> Posterior:
    """What both tables say without any measured shares."""
    draft = fit_shrinkage(NoisyPair(light, heavy), *given, **more)
    return estimate_counts(draft, choose_ratios(draft))


STEP = Fraction(1, 1 << 16)
TINY: NoiseDistribution = DiscreteLaplace(Fraction(1, 1000), STEP)
LIMIT = 4
NORMS = pytest.mark.parametrize("norm", ["l1", "l2"])


def people(
    activity: EstimatedActivity, *, distinct: bool = False, most: EstimatedActivity | None = None
) -> UserEstimates:
    return UserEstimates(activity, most or activity, distinct)


@pytest.mark.parametrize("law", [TINY, DiscreteGaussian(Fraction(1, 700), STEP)], ids=["laplace", "gaussian"])
@NORMS
def test_without_noise_records_come_out_as_they_were(law: NoiseDistribution, norm: Norm) -> None:
    """Heavy users of one activity share items evenly: light counts plus all of theirs, within 1 in 100."""
    activity = EstimatedActivity(np.array([2.0, 40.0]), np.array([500.0, 100.0]))
    light, full = np.array([700.0, 200.0, 100.0, 0.0]), np.array([2_400.0, 1_000.0, 400.0, 200.0])
    heavy = full * weights(np.array([40.0]), LIMIT, norm)
    posterior = combine(light, heavy, law, people(activity), LIMIT, norm)
    assert posterior.mean == pytest.approx(light + full, rel=0.01)
    assert ((posterior.low <= light + full + 0.5) & (light + full - 0.5 <= posterior.high)).all()


def test_heavy_users_are_scaled_up_by_the_curve() -> None:
    activity = EstimatedActivity(np.array([8.0, 80.0]), np.array([50.0, 50.0]))
    heavy = np.geomspace(0.5, 25, 40)
    curve = scale_up(activity, LIMIT, "l1", distinct=True)
    posterior = combine(np.zeros(40), heavy, TINY, people(activity, distinct=True), LIMIT)
    heavy_total, _ = activity.sum_of(weights(activity.records, LIMIT, "l1") * activity.records)
    shares = posterior.mean / curve.apply(heavy)
    assert heavy_total == 400
    assert np.ptp(shares) < 0.02  # all by the same curve, up to one factor for the total
    assert shares.mean() == pytest.approx(1, abs=0.05)


def test_totals_follow_the_more_precise_of_two_sums() -> None:
    """The noisy counts sum to 600 here, and the activity says 500: it depends on how sure each is of it."""
    light = np.full(100, 6.0)
    for scale, sure, total in ((Fraction(1, 100), 50.0, 600), (Fraction(100), 0.0, 500)):
        law = DiscreteLaplace(scale, STEP)
        activity = EstimatedActivity(np.array([1.0]), np.array([500.0]), sure)
        posterior, _ = fit_shrinkage(NoisyPair(light, np.zeros(100)), law, people(activity), LIMIT).part(
            slice(None)
        )
        assert posterior.mean.sum() == pytest.approx(total, rel=0.05)


class Simulated:
    """3,000 items; light users have them by Zipf's law, and heavy ones of two activities by nearly the same."""

    def __init__(self, law: NoiseDistribution, norm: Norm, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.distribution, self.norm = law, norm
        self.activity = EstimatedActivity(np.array([2.0, 20.0, 90.0]), np.array([20_000.0, 2_000.0, 200.0]))
        q = random.permutation(1 / np.arange(1, 3_001))
        q /= q.sum()
        self.light = random.poisson(40_000 * q).astype(np.float64)
        self.others = [random.poisson(n * users * q).astype(np.float64) for n, users in ((20, 2_000), (90, 200))]
        user_weights = weights(self.activity.records[1:], LIMIT, norm)
        self.heavy = user_weights[0] * self.others[0] + user_weights[1] * self.others[1]
        self.truth = self.light + self.others[0] + self.others[1]
        self.noisy = self.light + self.noise(random, q.size), self.heavy + self.noise(random, q.size)

    def noise(self, random: np.random.Generator, size: int) -> Floats:
        if isinstance(self.distribution, DiscreteLaplace):
            return random.laplace(0, float(self.distribution.scale), size)
        return random.normal(0, float(self.distribution.sigma), size)


SETTINGS = pytest.mark.parametrize(
    ("law", "norm"),
    [(DiscreteLaplace(Fraction(8), STEP), "l1"), (DiscreteGaussian(Fraction(12), STEP), "l2")],
    ids=["laplace", "gaussian"],
)


@SETTINGS
def test_it_beats_scaling_up_the_noisy_tables(law: NoiseDistribution, norm: Norm) -> None:
    """By more than half, in mean squared error over 3 seeds; and the total is within 5 %, and no more by 2 %.

    Uncertain counts are a little less than their mean, so that the total comes short (measured: 2.5 and 3.7 %).
    """
    before, after = 0.0, 0.0
    for seed in range(3):
        world = Simulated(law, norm, seed)
        posterior = combine(*world.noisy, law, people(world.activity), LIMIT, norm)
        heavy = world.activity.above(LIMIT)
        plain = world.noisy[0] + scale_up(heavy, LIMIT, norm, distinct=False).apply(world.noisy[1])
        before += ((plain - world.truth) ** 2).mean()
        after += ((posterior.mean - world.truth) ** 2).mean()
        assert 0.95 * world.truth.sum() < posterior.mean.sum() < 1.02 * world.truth.sum()
        assert (posterior.mean >= 0).all()
    assert after < 0.5 * before


@SETTINGS
def test_intervals_hold_on_average(law: NoiseDistribution, norm: Norm) -> None:
    """95 % of 9,000 (a deviation of 0.23 %), and the right way round; and a tighter level is tighter."""
    covered, widths = [], []
    for seed in range(3):
        world = Simulated(law, norm, seed)
        posterior = combine(*world.noisy, law, people(world.activity), LIMIT, norm)
        covered.append(((posterior.low <= world.truth) & (world.truth <= posterior.high)).mean())
        assert ((posterior.low <= posterior.mean) & (posterior.mean <= posterior.high)).all()
        assert (posterior.low >= 0).all()
        less = combine(*world.noisy, law, people(world.activity), LIMIT, norm, level=0.6)
        widths.append(((less.high - less.low).mean(), (posterior.high - posterior.low).mean()))
    assert np.mean(covered) >= 0.95
    assert all(less < more for less, more in widths)


@pytest.mark.parametrize(("users", "is_believed"), [(480.0, False), (520.0, True)])
def test_activity_of_hardly_any_users_is_ignored(users: float, is_believed: bool) -> None:
    """Below 2.5 scales of noise it is made of empty bins: counts came to 50 times the truth for that."""
    activity = EstimatedActivity(np.array([400.0]), np.array([users]), scale=200.0)
    noisy = np.random.default_rng(1).laplace(0.3, 10.0, (2, 2_000))
    draft = fit_shrinkage(NoisyPair(*noisy), DiscreteLaplace(Fraction(10), STEP), people(activity), LIMIT)
    assert draft.has_heavy == is_believed
    posterior = estimate_counts(draft, choose_ratios(draft))
    assert (posterior.mean.sum() > 20 * users) == is_believed
    assert np.median(posterior.high) > 400.0, "intervals allow for what may be hidden"


def test_possibly_spurious_users_are_scaled_up_little() -> None:
    """At 2.5 scales of noise, the least at which anything is, most of it; at 30 all; intervals stay."""
    rows = np.full(200, 90.0)

    def posterior_with(scale: float) -> Posterior:
        activity = EstimatedActivity(np.array([20.0]), np.array([3_000.0]), scale=scale)
        draft = fit_shrinkage(
            NoisyPair(np.zeros(200), rows), DiscreteLaplace(Fraction(1), STEP), people(activity), LIMIT
        )
        return estimate_counts(draft, Misjudged())

    sure, less, most = (posterior_with(scale) for scale in (0.0, 1_100.0, 100.0))
    signal_to_noise = (3_000 / 1_100) ** 4
    assert less.mean.sum() == pytest.approx(sure.mean.sum() * signal_to_noise / (signal_to_noise + 2**4), rel=0.05)
    assert most.mean.sum() == pytest.approx(sure.mean.sum(), rel=0.01)
    assert (less.high >= sure.mean).all()
    assert (less.low <= less.mean).all()


class Misjudged:
    """Ratios of one, each of which may be off by a quarter."""

    def at(self, weighed: Floats, where: slice | Integers) -> tuple[Floats, Floats]:
        return np.ones(weighed.size), np.full(weighed.size, 0.25)

    def shared(self, weighed: Floats, where: slice | Integers) -> Floats:
        return np.full(weighed.size, 0.25)


@pytest.mark.parametrize("block", [3, 1 << 20])
def test_the_largest_counts_are_of_both_groups_wherever_they_are(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heavy users' records, a tenth of which is weighed, are scaled up before counts are compared."""
    monkeypatch.setattr("headcount.adaptive.light_heavy_estimates.blocks", lambda size: blocks(size, block))
    activity = EstimatedActivity(np.array([2.0, 40.0]), np.array([500.0, 100.0]))
    light = np.array([0.0, 300.0, 20.0, 180.0, 500.0, 0.0, 0.0])
    heavy = np.array([0.0, 100.0, 190.0, 0.0, 0.0, 60.0, 50.0])
    draft = fit_shrinkage(NoisyPair(light, heavy), TINY, people(activity), LIMIT)
    assert draft.largest(3).tolist() == [1, 2, 5]
    assert draft.largest(5).tolist() == [1, 2, 4, 5, 6]
    assert draft.largest(9).tolist() == list(range(7))


def test_low_ends_allow_for_being_among_the_largest() -> None:
    """What is released as largest was chosen for that: low ends go a quarter further than 95 of 100 items ask for.

    With a tenth, 92 % of the released top 20 of kosarak were enclosed over 20 releases, and with a quarter 96 %.
    """
    activity = EstimatedActivity(np.array([20.0]), np.array([3_000.0]))
    light, heavy = np.zeros(30), np.linspace(200, 600, 30)
    pair = NoisyPair(light, heavy)
    draft = fit_shrinkage(pair, DiscreteLaplace(Fraction(1, 100), STEP), people(activity), LIMIT)
    posterior, exact = estimate_counts(draft, Misjudged()), draft.part(slice(0, 30))[1]
    assert posterior.low == pytest.approx(exact.low * np.exp(-1.25 * 1.96 * 0.25), rel=0.01)


def test_hidden_users_raise_the_high_ends_alone() -> None:
    """As many as the noise may hide, and where users count, no more than these."""
    activity = EstimatedActivity(np.array([2.0, 20.0]), np.array([1_000.0, 100.0]))
    more = EstimatedActivity(np.array([2.0, 20.0, 500.0]), np.array([1_000.0, 100.0, 7.0]))
    light, heavy = np.linspace(0, 90, 30), np.linspace(0, 40, 30)
    law = DiscreteLaplace(Fraction(2), STEP)
    for distinct in (True, False):
        sure = combine(light, heavy, law, people(activity, distinct=distinct), LIMIT)
        unsure = combine(light, heavy, law, people(activity, distinct=distinct, most=more), LIMIT)
        assert np.array_equal(sure.mean, unsure.mean)
        assert np.array_equal(sure.low, unsure.low)
        added = unsure.high - sure.high
        assert (added > 0).all()
        assert added.max() <= 7 + 1e-9 if distinct else added.sum() >= 3_500


def test_empty_groups() -> None:
    nobody = EstimatedActivity(np.empty(0), np.empty(0))
    for distinct in (True, False):
        posterior = combine(
            np.zeros(3), np.zeros(3), DiscreteLaplace(Fraction(5), STEP), people(nobody, distinct=distinct), 1
        )
        assert np.isfinite([posterior.mean, posterior.low, posterior.high]).all()
        assert (posterior.mean >= 0).all()
