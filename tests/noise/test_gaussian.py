"""Discrete Gaussian noise: the exact law from both samplers, a sigma that pays, and a grant that is spent once.

Every test of a law is a chi-square test against exact probabilities with pooled tails, at ``laws.LEVEL`` = 1e-7.
It is two-sided: the right sigma is accepted, one that is off by 5 % is rejected. Seeded samples are the same in
every run; with randomness of the operating system a false alarm comes once in 10 million tests.
"""

from __future__ import annotations

import math
import time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import DiscreteGaussian
from headcount.accounting.zcdp import rho_for
from headcount.bounds import Bounded, SampleRecords, WeightToThreshold
from headcount.bounds.counts.sample_records import SampleUsers
from headcount.bounds.scores.candidate_scores import count_scores
from headcount.errors import GrantError, HeadcountError, UsageError
from headcount.noise import OperatingSystemNoise, SeededNoise, add_noise, gaussian
from headcount.noise.gaussian import confirm, draw, sampler_integers, sigma_for
from headcount.noise.samplers.kernels import discrete
from headcount.noise.samplers.kernels.discrete import Shape
from headcount.noise.selection.exponential import choose_candidate
from tests.support.distributions import LEVEL, binomial, fits_gaussian, gaussian_epsilon

DRAWS = 200_000
SIGMAS = [
    Fraction(1, 2),
    Fraction(1),
    Fraction(3, 2),
    Fraction(2375485, 524288),  # 4.53: what a sensitivity of 1 needs at ε = 1, δ = 1e-6
    Fraction(8388607, 8192),
    Fraction(1024),
    Fraction(2**28),
    Fraction(2**31 - 1),
]
WRONG = (Fraction(105, 100), Fraction(95, 100))
epsilons = st.decimals(min_value=Decimal("0.001"), max_value=Decimal(100), places=6)
deltas = st.integers(1, 40).map(lambda n: Decimal(3).scaleb(-n))


def counts(values: list[int], limit: int = 2, bound: Any = SampleRecords) -> Bounded:
    exact = np.array(values, dtype=np.int64)
    sealed: Bounded = bound(limit).seal("users", exact, exact[:, None]).items
    return sealed


# The law


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_the_bulk_sampler_has_the_exact_distribution(sigma: Fraction) -> None:
    values = draw(DiscreteGaussian(sigma), DRAWS, SeededNoise(1))
    assert fits_gaussian(values, sigma) > LEVEL
    for wrong in WRONG:
        assert fits_gaussian(values, sigma * wrong) < LEVEL


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(3, 2), Fraction(1024), Fraction(2**28)], ids=str)
def test_opendp_has_the_exact_distribution(sigma: Fraction) -> None:
    """Randomness of the operating system: a false alarm once in 10 million runs of each sigma."""
    values = gaussian.opendp_release(np.zeros(50_000, dtype=np.int64), DiscreteGaussian(sigma))
    assert fits_gaussian(values, sigma) > LEVEL
    for wrong in WRONG:
        assert fits_gaussian(values, sigma * wrong) < LEVEL


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_sampler_whose_sigma_is_off_is_rejected(wrong: Fraction) -> None:
    for sigma in (Fraction(3, 2), Fraction(1024)):
        values = draw(DiscreteGaussian(Fraction(round(sigma * wrong * 1000), 1000)), DRAWS, SeededNoise(2))
        assert fits_gaussian(values, sigma) < LEVEL


@pytest.mark.parametrize("broken", ["rounded", "zero twice", "laplace"])
def test_broken_samplers_are_rejected(broken: str) -> None:
    generator = np.random.default_rng(1)
    if broken == "rounded":  # a continuous Gaussian, rounded, has 1/12 more variance
        values = np.round(generator.normal(0, 1, DRAWS)).astype(np.int64)
    elif broken == "zero twice":  # -0 and 0 are told apart, so that zero comes too often
        kept = np.abs(draw(DiscreteGaussian(Fraction(1)), 3 * DRAWS, SeededNoise(3)))
        values = (kept[generator.random(kept.size) < np.where(kept == 0, 1, 0.5)])[:DRAWS]
        values = values * generator.choice([-1, 1], values.size)
    else:
        values = np.round(generator.laplace(0, math.sqrt(0.5), DRAWS)).astype(np.int64)
    assert fits_gaussian(values, Fraction(1)) < LEVEL


def test_signs_are_symmetric_and_draws_independent() -> None:
    values = draw(DiscreteGaussian(Fraction(5, 2)), DRAWS, SeededNoise(1))
    positive, negative = int((values > 0).sum()), int((values < 0).sum())
    assert binomial(positive, positive + negative, 0.5) > LEVEL
    for lag in (1, 2, 64):
        assert stats.spearmanr(values[:-lag], values[lag:]).pvalue > LEVEL


def test_far_tails_exist() -> None:
    """P(|X| >= 4 sigma) is 6.3e-5: none in 200,000 draws would have probability 3e-6."""
    values = draw(DiscreteGaussian(Fraction(1000)), DRAWS, SeededNoise(1))
    far = int((np.abs(values) >= 4_000).sum())
    assert binomial(far, DRAWS, 2 * float(stats.norm.sf(3.9995))) > LEVEL


def test_a_tiny_sigma_gives_zeros() -> None:
    """At sigma 1/16 anything but 0 has probability 1e-55."""
    assert not draw(DiscreteGaussian(Fraction(1, 16)), 20_000, SeededNoise(1)).any()


# Cutting the stream of words into buffers


@pytest.mark.parametrize(
    "sigma", [Fraction(1, 2), Fraction(5, 2), Fraction(8388607, 8192), Fraction(2**28)], ids=str
)
def test_the_size_of_the_buffers_does_not_change_the_values(sigma: Fraction) -> None:
    words = SeededNoise(3).words(40_000)
    whole = fed(sigma, words, [words.size])
    assert whole.size > 1_500
    for sizes in ([1], [2], [3, 1, 7], [13], [1_000, 1]):
        cut = fed(sigma, words[:8_000], sizes)
        assert np.array_equal(cut, whole[: cut.size])
        assert cut.size > 250


def fed(sigma: Fraction, words: NDArray[np.uint32], sizes: list[int]) -> NDArray[np.int64]:
    """Feed the kernel with the stream in buffers of the given sizes, over and over."""
    out = np.empty(20_000, dtype=np.int64)
    left, filled, at, turn = np.empty(0, dtype=np.uint32), 0, 0, 0
    scale, *shape = sampler_integers(sigma)
    while at < words.size and filled < out.size:
        size = sizes[turn % len(sizes)]
        buffer = np.concatenate([left, words[at : at + size]])
        filled, used = discrete.draw(scale, 1, Shape(*shape), buffer, out, filled)
        assert 0 <= used <= buffer.size
        left, at, turn = buffer[used:], at + size, turn + 1
    return out[:filled]


def test_a_stream_of_equal_words_does_not_end_the_program() -> None:
    for word in (0, 1, 2**31, 2**32 - 1):
        for sigma in (Fraction(5, 2), Fraction(2**31 - 1)):
            scale, *shape = sampler_integers(sigma)
            words = np.full(100_000, word, dtype=np.uint32)
            out = np.empty(50, dtype=np.int64)
            filled, used = discrete.draw(scale, 1, Shape(*shape), words, out, 0)
            assert 0 <= filled <= 50
            assert 0 <= used <= words.size


@given(st.integers(1, 1 << 23), st.integers(0, 23))
def test_the_numbers_of_the_sampler_fit(n: int, power: int) -> None:
    """Every intermediate number stays below 2^63, and what is drawn below stays within 32 bits."""
    sigma = Fraction(n, 1 << power)
    scale, slope, middle, first, second = sampler_integers(sigma)
    furthest = scale * (discrete.MOST_SCALES + 1)
    assert max(furthest * slope, middle) < 2**63
    assert first * second < 2**63
    assert max(2 * scale, first, second) < 2**32
    y = 7 * scale  # the same x as the definition's
    assert Fraction(abs(y * slope - middle), first * second) == abs(y / sigma - sigma / scale)
    assert discrete.MOST_SCALES**2 > 2**20 * gaussian._WORDS_PER_DRAW


def test_parts_that_do_not_fit_are_refused() -> None:
    for sigma in (Fraction(2**23 + 1, 2), Fraction(1, 2**24), Fraction(2**31)):
        with pytest.raises(UsageError, match="cannot be drawn"):
            sampler_integers(sigma)


def test_it_is_quick() -> None:
    """About 5 million draws a second of processor time were measured; a fifth of that must do."""
    law = DiscreteGaussian(Fraction(2**20))
    draw(law, 10, SeededNoise(1))  # compiles
    best = math.inf
    for _ in range(3):
        begin = time.process_time()
        draw(law, 400_000, SeededNoise(1))
        best = min(best, time.process_time() - begin)
    assert best < 0.4


# Sigma pays


def exact_delta(sigma: float, moved: int, epsilon: float) -> float:
    """Return the exact δ of one count that moves by ``moved``: Σ max(0, p(x) - e^ε p(x - moved))."""
    reach = math.ceil(40 * sigma) + moved
    places = np.arange(-reach, reach + 1)
    mass = np.exp(-0.5 * (places / sigma) ** 2)
    total = mass.sum()
    shifted = np.exp(-0.5 * ((places - moved) / sigma) ** 2)
    return float(np.maximum(mass - math.exp(epsilon) * shifted, 0).sum() / total)


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "3", "8"])
@pytest.mark.parametrize("delta", ["0.1", "0.001", "1e-6", "1e-9"])
@pytest.mark.parametrize("moved", [1, 2, 5])
def test_the_exact_privacy_curve_holds(epsilon: str, delta: str, moved: int) -> None:
    """Enumerated, in one dimension; the conversion is not tight, but a third of sigma does break the promise."""
    sigma = float(sigma_for(moved**2, Cost.of(epsilon, delta).rho))
    assert exact_delta(sigma, moved, float(epsilon)) <= float(delta)
    assert exact_delta(sigma / 3, moved, float(epsilon)) > float(delta)


@given(st.integers(1, 10**8), epsilons, deltas)
def test_sigma_never_undercuts_is_hardly_rounded_and_fits(
    l2_squared: int, epsilon: Decimal, delta: Decimal
) -> None:
    exact = math.sqrt(l2_squared / (2 * rho_for(epsilon, delta)))
    assume(exact < 2**31 - 1)
    sigma = sigma_for(l2_squared, Cost.of(epsilon, delta).rho)
    assert exact * (1 - 1e-12) <= sigma
    assert sigma < 1 or sigma <= exact * (1 + 3e-7)
    back = gaussian_epsilon(float(sigma), math.sqrt(l2_squared), float(delta))
    assert back <= float(epsilon) * (1 + 1e-9)
    if sigma >= 1 and epsilon > Decimal("0.1") and delta < Decimal("0.001"):
        assert back >= float(epsilon) * (1 - 1e-5)
    sampler_integers(sigma)
    confirm(sigma, l2_squared, Cost.of(epsilon, delta))
    with pytest.raises(HeadcountError, match="does not pay"):
        confirm(sigma * Fraction(999, 1000), l2_squared, Cost.of(epsilon, delta))


def test_sigma_is_better_than_the_plain_conversion() -> None:
    """ρ = (√(ln 1/δ + ε) - √(ln 1/δ))² is what the textbook gives."""
    for epsilon, delta in ((0.1, 1e-6), (1.0, 1e-6), (5.0, 1e-9)):
        plain = (math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))) ** 2
        assert float(rho_for(Decimal(str(epsilon)), Decimal(str(delta)))) > plain


@pytest.mark.parametrize(
    ("epsilon", "delta", "words"),
    [("1", "1e-101", "delta must be at least 1e-100"), ("10001", "1e-6", "epsilon must be at most 10000"),
     ("1e-9", "1e-9", "more than can be drawn")],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_and_costs_nothing(epsilon: str, delta: str, words: str) -> None:
    grant = Grant(epsilon, delta)
    with pytest.raises(UsageError, match=words):
        add_noise(counts([1], limit=1_000), grant, SeededNoise(1))
    assert grant.spend().epsilon == Decimal(epsilon)


# Adding it


@pytest.mark.parametrize("source", [OperatingSystemNoise(), SeededNoise(1)], ids=lambda s: str(type(s).__name__))
@pytest.mark.parametrize("size", [0, 1, 5_000])
def test_add_spends_the_grant_and_keeps_the_shape(source: Any, size: int) -> None:
    exact = np.zeros((size, 3), dtype=np.int64)
    bounded = SampleRecords(4).seal("users", exact[:, 0].copy(), exact).edges
    grant = Grant("0.5", "1e-6")
    noisy = add_noise(bounded, grant, source)
    assert noisy.values.shape == (size, 3)
    assert noisy.values.dtype == np.int64
    assert noisy.distribution == DiscreteGaussian(sigma_for(4, grant.cost.rho))
    assert grant.is_spent
    assert not exact.any()
    with pytest.raises(GrantError, match="already spent"):
        add_noise(bounded, grant, source)


@pytest.mark.parametrize("size", [1_999, 5_000])
def test_add_has_the_exact_distribution_with_either_sampler(size: int) -> None:
    """Randomness of the operating system: a false alarm once in 10 million runs."""
    noisy = add_noise(counts([7] * size), Grant("0.9", "1e-6"), OperatingSystemNoise())
    assert isinstance(noisy.distribution, DiscreteGaussian)
    assert fits_gaussian(noisy.values - 7, noisy.distribution.sigma) > LEVEL
    assert fits_gaussian(noisy.values - 7, noisy.distribution.sigma * 2) < LEVEL


def test_weights_get_noise_on_their_own_grid() -> None:
    noisy = add_noise(counts([0] * 20_000, limit=1, bound=WeightToThreshold), Grant("1", "1e-6"), SeededNoise(1))
    assert isinstance(noisy.distribution, DiscreteGaussian)
    assert noisy.distribution.step == Fraction(1, 1 << 16)
    assert fits_gaussian(noisy.values, noisy.distribution.sigma / noisy.distribution.step) > LEVEL
    assert float(noisy.distribution.sigma) == pytest.approx(4.530878, rel=1e-6)


def test_what_it_refuses() -> None:
    with pytest.raises(GrantError, match="needs δ"):
        _ = Cost.of("1").rho
    grant = Grant("1", "1e-6")
    drawn = counts([1], bound=lambda limit: SampleUsers(limit, 1 << 60))
    with pytest.raises(TypeError, match="drawn by lot"):
        add_noise(drawn, grant, SeededNoise(1))
    with pytest.raises(TypeError, match="Bounded"):
        add_noise(np.zeros(3), grant, SeededNoise(1))  # type: ignore[arg-type]
    assert not grant.is_spent


def test_nothing_is_drawn_unless_opendp_confirms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaussian, "sigma_for", lambda *_: Fraction(4))
    grant = Grant("1", "1e-6")
    with pytest.raises(HeadcountError, match="does not pay"):
        add_noise(counts([1]), grant, SeededNoise(1))
    assert not grant.is_spent


def test_what_uses_no_delta_refuses_it() -> None:
    grant = Grant("1", "1e-6")
    with pytest.raises(GrantError, match="uses no δ, but this grant has δ"):
        choose_candidate(count_scores(counts([1, 2])), grant, SeededNoise(1))
    assert grant.spend().delta == Decimal("1e-6")  # a refusal costs nothing
