"""Shrinkage: never worse than the noisy counts, and what Bayes would say had he known the counts.

All draws are seeded, so that tests come out the same in every run; tolerances say what was measured.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from headcount.accounting.noise_distributions import DiscreteGaussian, DiscreteLaplace, NoiseDistribution
from headcount.adaptive import empirical_bayes
from headcount.adaptive.empirical_bayes import (
    _cell_posterior,
    _CellIndex,
    _Cells,
    _exponential_prior,
    _grid,
    _joint_prior,
    fit_priors,
)
from headcount.adaptive.posterior import NoisyPair, Posterior

Floats = NDArray[np.float64]

STEP = Fraction(1, 1 << 16)
LAPLACE: NoiseDistribution = DiscreteLaplace(Fraction(10), STEP)
GAUSSIAN: NoiseDistribution = DiscreteGaussian(Fraction(14), STEP)
LAWS = pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
SIZE = 4_000


def noise(law: NoiseDistribution, size: int, random: np.random.Generator) -> Floats:
    if isinstance(law, DiscreteLaplace):
        return random.laplace(0, float(law.scale), size)
    return random.normal(0, float(law.sigma), size)


def shrink(first: Floats, second: Floats, law: NoiseDistribution, level: float) -> tuple[Posterior, Posterior]:
    """What to make of counts that are all of one kind."""
    (shrinkage,) = fit_priors(NoisyPair(first, second), law, level, np.zeros(first.size, dtype=np.uint8))
    return shrinkage.estimate(first, second)


def sparse(random: np.random.Generator) -> Floats:
    return np.where(random.random(SIZE) < 0.03, random.exponential(200, SIZE), 0.0)


def zipf(random: np.random.Generator) -> Floats:
    return 4_000 / np.arange(1, SIZE + 1)


def equal(random: np.random.Generator) -> Floats:
    return np.full(SIZE, 30.0)


def bimodal(random: np.random.Generator) -> Floats:
    return np.where(random.random(SIZE) < 0.5, 5.0, 80.0)


def zero(random: np.random.Generator) -> Floats:
    return np.zeros(SIZE)


PRIORS = pytest.mark.parametrize(
    "prior", [sparse, zipf, equal, bimodal, zero], ids=lambda prior: str(prior.__name__)
)
Prior = Callable[[np.random.Generator], Floats]


def one_run(
    prior: Prior, law: NoiseDistribution, seed: int
) -> tuple[Floats, Floats, Floats, Floats, tuple[Posterior, Posterior]]:
    """True counts of two parts, the second a fifth of the first, their noisy ones, and what is made of them."""
    random = np.random.default_rng(seed)
    first = prior(random)
    second = first / 5
    noisy = first + noise(law, SIZE, random), second + noise(law, SIZE, random)
    return first, second, *noisy, shrink(*noisy, law, 0.95)


@LAWS
@PRIORS
def test_it_never_costs_accuracy(prior: Prior, law: NoiseDistribution) -> None:
    """The total squared error of 5 runs is at most 1.02 times that of the noisy counts, for each part."""
    before, after = np.zeros(2), np.zeros(2)
    for seed in range(5):
        first, second, noisy_first, two, posteriors = one_run(prior, law, seed)
        before += ((noisy_first - first) ** 2).sum(), ((two - second) ** 2).sum()
        after += ((posteriors[0].mean - first) ** 2).sum(), ((posteriors[1].mean - second) ** 2).sum()
    assert (after <= 1.02 * before).all(), after / before
    if prior in (sparse, zero, equal, zipf):
        assert (after < 0.7 * before).all(), after / before  # and where there is much to gain it gains


@LAWS
@PRIORS
def test_intervals_hold(prior: Prior, law: NoiseDistribution) -> None:
    """At least 94 % of 20,000, for each part, and they hold the guess itself."""
    covered = np.zeros(2)
    for seed in range(5):
        first, second, _, _, posteriors = one_run(prior, law, seed)
        for at, (truth, posterior) in enumerate(zip((first, second), posteriors, strict=True)):
            assert ((posterior.low <= posterior.mean) & (posterior.mean <= posterior.high)).all()
            assert (posterior.low >= 0).all()
            covered[at] += ((posterior.low - 1e-9 <= truth) & (truth <= posterior.high + 1e-9)).mean() / 5
    assert (covered >= 0.94).all(), covered


def bayes(noisy: Floats, sizes: Floats, shares: Floats, law: NoiseDistribution) -> Floats:
    """The posterior mean under a known prior, by definition."""
    likelihood = np.exp(law.log_ratio(noisy[:, None] - sizes[None, :])) * shares
    return np.asarray((likelihood * sizes).sum(axis=1) / likelihood.sum(axis=1))


@LAWS
@pytest.mark.parametrize(
    ("sizes", "shares"),
    [((0.0, 40.0), (0.8, 0.2)), ((0.0, 15.0, 60.0), (0.5, 0.3, 0.2)), ((25.0,), (1.0,))],
    ids=["two", "three", "one"],
)
def test_with_plenty_of_data_it_is_bayes(
    sizes: tuple[float, ...], shares: tuple[float, ...], law: NoiseDistribution
) -> None:
    """Of 60,000 counts, with nothing in the other part: off by a tenth of a deviation of the noise on average.

    And the squared error exceeds the least possible by at most 5 % and 2 % of the variance of the noise (measured:
    4 % of the variance altogether).
    """
    random = np.random.default_rng(7)
    points, weights = np.array(sizes), np.array(shares)
    truth = random.choice(points, 60_000, p=weights)
    noisy = truth + noise(law, truth.size, random)
    posterior, _ = shrink(noisy, noise(law, truth.size, random), law, 0.95)
    best = bayes(noisy, points, weights, law)
    deviation = law.variance**0.5
    assert np.abs(posterior.mean - best).mean() < 0.1 * deviation
    least = ((best - truth) ** 2).mean()
    assert ((posterior.mean - truth) ** 2).mean() < 1.05 * least + 0.02 * deviation**2


@LAWS
def test_one_part_speaks_for_the_other(law: NoiseDistribution) -> None:
    """A tenth of the items are popular in both groups; with the first part clear, the second is known better."""
    random = np.random.default_rng(2)
    popular = random.random(20_000) < 0.1
    first, second = np.where(popular, 300.0, 0.0), np.where(popular, 25.0, 0.0)
    noisy = first + noise(law, popular.size, random), second + noise(law, popular.size, random)
    _, together = shrink(*noisy, law, 0.95)
    _, alone = shrink(noise(law, popular.size, random), noisy[1], law, 0.95)
    error, before = (((posterior.mean - second) ** 2).mean() for posterior in (together, alone))
    assert error < 0.5 * before


def naive_joint(
    own_likelihood: Floats,
    two: Floats,
    starts: tuple[Floats, Floats],
    tally: NDArray[np.int64],
    apart: int,
    together: int,
) -> Floats:
    """The same steps of expectation-maximisation, an observation and a pair of sizes at a time."""
    pairs = [(i, j) for i in range(tally.shape[0]) for j in range(tally.shape[1]) for _ in range(tally[i, j])]
    own = []
    for side, likelihood in enumerate((own_likelihood, two)):
        prior = starts[side].tolist()
        for _ in range(apart):
            gathered = [0.0] * len(prior)
            for pair in pairs:
                parts = [share * likelihood[pair[side], at] for at, share in enumerate(prior)]
                gathered = [have + part / sum(parts) for have, part in zip(gathered, parts, strict=True)]
            prior = [mass / len(pairs) for mass in gathered]
        own.append(prior)
    joint = {(a, b): own[0][a] * own[1][b] for a in range(own_likelihood.shape[1]) for b in range(two.shape[1])}
    for _ in range(together):
        counted = dict.fromkeys(joint, 0.0)
        for i, j in pairs:
            parts_of = {(a, b): share * own_likelihood[i, a] * two[j, b] for (a, b), share in joint.items()}
            whole = sum(parts_of.values())
            for pair, part in parts_of.items():
                counted[pair] += part / whole / len(pairs)
        joint = counted
    return np.array([[joint[a, b] for b in range(two.shape[1])] for a in range(own_likelihood.shape[1])])


def test_intervals_are_what_a_plain_loop_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Size by size, until enough of the posterior is below; cells a block at a time, or all at once."""
    random = np.random.default_rng(2)
    grid, prior = np.array([0.0, 1.0, 2.5, 7.0]), random.random((4, 3))
    own, other = (
        _Cells(_CellIndex(0, np.arange(5)), np.arange(5.0), grid[:size], random.random((5, size)))
        for size in (4, 3)
    )
    posterior = own.likelihood[:, :, None] * (prior @ other.likelihood.T)[None]
    below = np.cumsum(posterior / posterior.sum(axis=1, keepdims=True), axis=1)
    for block in (1, 1 << 15):
        monkeypatch.setattr(empirical_bayes, "BLOCK", block)
        intervals = _cell_posterior(own, other, prior, 0.8)
        for row, two in itertools.product(range(5), range(5)):
            first = next(at for at in range(4) if below[row, at, two] >= 0.1)
            assert intervals.low[row, two] == (grid[first - 1] if first else 0.0)
            assert intervals.high[row, two] == next(grid[at] for at in range(4) if below[row, at, two] >= 0.9)


def test_the_joint_prior_is_what_a_plain_loop_finds() -> None:
    random = np.random.default_rng(4)
    tally, grid = random.integers(0, 4, (3, 2)), np.array([0.0, 1.0, 2.5, 7.0])
    own, two = (
        _Cells(
            _CellIndex(0, np.arange(cells)), np.arange(1.0, cells + 1), grid[:size], random.random((cells, size))
        )
        for cells, size in ((3, 4), (2, 3))
    )
    starts = tuple(
        _exponential_prior(cells.grid, float(cells.middles @ tally.sum(axis=axis)) / tally.sum())
        for cells, axis in ((own, 1), (two, 0))
    )
    joint_prior = _joint_prior(own, two, tally.astype(np.float64))
    expected = naive_joint(own.likelihood, two.likelihood, (starts[0], starts[1]), tally, 25, 10)
    assert np.allclose(
        joint_prior, 0.9997 * expected + 0.0003 / expected.size, atol=1e-5
    )  # three of 10,000 of any size
    assert joint_prior.sum() == pytest.approx(1)


def test_large_counts_keep_their_order_where_nearly_all_is_noise() -> None:
    """A prior that falls faster than noise does would take all for equal, and a ranking would be chance."""
    random = np.random.default_rng(5)
    noisy = np.concatenate([noise(LAPLACE, SIZE, random), [45.0, 60.0, 75.0, 90.0]])
    light, heavy = shrink(noisy, noise(LAPLACE, noisy.size, random) * 0.0, LAPLACE, 0.95)
    assert (np.diff(light.mean[-4:]) > 0.01).all()
    assert light.mean[-4:].max() < 90.0 < noisy[:-4].max() * 2
    assert heavy.mean.max() < 1.0


@pytest.mark.parametrize("mean", [0.0001, 0.01, 0.5, 3.0, 60.0])
def test_a_prior_starts_with_the_mean_it_should_have(mean: float) -> None:
    grid = _grid(100.0, 1e-4)
    shares = _exponential_prior(grid, mean)
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()
    assert shares @ grid == pytest.approx(mean)


@LAWS
def test_what_stands_far_above_the_noise_stays(law: NoiseDistribution) -> None:
    random = np.random.default_rng(5)
    deviation = law.variance**0.5
    noisy = np.concatenate([noise(law, 2_000, random), [7 * deviation, 50 * deviation, 1e6]])
    posterior, _ = shrink(noisy, noise(law, noisy.size, random), law, 0.95)
    assert posterior.mean[-3:].tolist() == pytest.approx(noisy[-3:].tolist())
    width = law.half_width(0.95)
    assert posterior.high[-3:] - noisy[-3:] == pytest.approx([width] * 3)
    assert (noisy[-3:] - posterior.low[-3:] >= width - 1e-6).all()


def test_of_very_many_counts_the_largest_noise_is_not_taken_as_it_is() -> None:
    """40,000 items that nobody has: noise reaches 7 deviations, and no interval says that an item has any."""
    law = LAPLACE
    random = np.random.default_rng(5)
    noisy = np.append(noise(law, 40_000, random), 7.2 * law.variance**0.5)
    posterior, _ = shrink(noisy, noise(law, noisy.size, random), law, 0.95)
    assert posterior.low[-1] == 0
    assert posterior.mean[-1] < 0.7 * noisy[-1]


@LAWS
def test_units_and_order_do_not_matter(law: NoiseDistribution) -> None:
    """Ten times the counts and the noise: ten times the guess. The parts swapped: the guesses swapped."""
    first, second = one_run(zipf, law, 1)[2:4]
    posteriors = shrink(first, second, law, 0.95)
    larger = law.times(Fraction(10))
    for posterior, other in zip(posteriors, shrink(first * 10, second * 10, larger, 0.95), strict=True):
        assert np.allclose(posterior.mean * 10, other.mean, rtol=1e-6)
        assert np.allclose(posterior.high * 10, other.high, rtol=1e-3)
    for posterior, other in zip(posteriors, reversed(shrink(second, first, law, 0.95)), strict=True):
        assert np.allclose(posterior.mean, other.mean, rtol=1e-6)
    order = np.random.default_rng(1).permutation(first.size)
    moved, _ = shrink(first[order], second[order], law, 0.95)
    assert np.allclose(moved.mean, posteriors[0].mean[order], rtol=1e-6)


@LAWS
@pytest.mark.parametrize("size", [1, 2])
def test_hardly_any_counts(law: NoiseDistribution, size: int) -> None:
    for value in (-1e4, -20.0, 0.0, 20.0, 1e4):
        for part in shrink(np.full(size, value), np.zeros(size), law, 0.95):
            assert np.isfinite([part.mean, part.low, part.high]).all()
            assert (part.mean >= 0).all()
            assert ((part.low <= part.mean) & (part.mean <= part.high)).all()
