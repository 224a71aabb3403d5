"""The bulk sampler and OpenDP's: both have the exact discrete Laplace law, at every scale.

Every test of a law is a chi-square test against exact probabilities with pooled tails. It is two-sided: the right
scale is accepted, 1.3 times and 1/1.3 times it are rejected, at one level, ``laws.LEVEL`` = 1e-7. Seeded samples
are the same in every run; with randomness of the operating system a false alarm comes once in 10 million tests.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from headcount.accounting.budget import Grant
from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.bounds import SampleRecords
from headcount.noise import OperatingSystemNoise, SeededNoise, add_noise, laplace
from headcount.noise.laplace import draw, scale_for
from headcount.noise.samplers.kernels import discrete
from tests.mutants.methods import SAMPLERS
from tests.support.distributions import LEVEL, binomial, fits_laplace, laplace_upper_tail
from tests.support.small_logs import scale_of

DRAWS = 60_000
SCALES = [
    Fraction(1),
    Fraction(1, 3),
    Fraction(200, 9),
    Fraction(10**6),
    scale_for(7, Fraction("0.123456789012345678")),  # rounded up
    scale_for(1, Fraction("1.000000000000000001")),  # rounded up to just above 1
    Fraction(355, 113),
    Fraction(2**31 - 1, 2**31 - 2),  # the largest parts there are
]
WRONG = (Fraction(13, 10), Fraction(10, 13))


def by_bulk_sampler(scale: Fraction, size: int = DRAWS, seed: int = 1) -> NDArray[np.int64]:
    return draw(DiscreteLaplace(scale), size, SeededNoise(seed))


def by_opendp(scale: Fraction, size: int) -> NDArray[np.int64]:
    return laplace.opendp_release(np.zeros(size, dtype=np.int64), DiscreteLaplace(scale))


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_bulk_sampler_has_the_exact_distribution(scale: Fraction) -> None:
    values = by_bulk_sampler(scale)
    assert fits_laplace(values, scale) > LEVEL
    for wrong in WRONG:
        assert fits_laplace(values, scale * wrong) < LEVEL


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(1, 3), Fraction(200, 9), Fraction(10**6)], ids=str)
def test_opendp_has_the_exact_distribution(scale: Fraction) -> None:
    """Randomness of the operating system: a false alarm once in 10 million runs of each scale."""
    values = by_opendp(scale, 20_000)
    assert fits_laplace(values, scale) > LEVEL
    for wrong in WRONG:
        assert fits_laplace(values, scale * wrong) < LEVEL


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(200, 9)], ids=str)
def test_the_bulk_sampler_with_real_randomness(scale: Fraction) -> None:
    """As :func:`draw` is used for long vectors, by two threads; a false alarm once in 10 million runs."""
    values = draw(DiscreteLaplace(scale), 150_000, OperatingSystemNoise())
    assert fits_laplace(values, scale) > LEVEL
    for wrong in WRONG:
        assert fits_laplace(values, scale * wrong) < LEVEL


def test_a_tiny_scale_gives_zeros() -> None:
    """At scale 1/50 anything but 0 has probability 4e-22."""
    assert not by_bulk_sampler(Fraction(1, 50)).any()
    assert not by_opendp(Fraction(1, 50), 5_000).any()


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(200, 9), Fraction(10**6)], ids=str)
def test_signs_are_symmetric(scale: Fraction) -> None:
    values = by_bulk_sampler(scale)
    positive, negative = int((values > 0).sum()), int((values < 0).sum())
    assert binomial(positive, positive + negative, 0.5) > LEVEL
    sizes = stats.mannwhitneyu(values[values > 0], -values[values < 0])
    assert sizes.pvalue > LEVEL


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(200, 9)], ids=str)
@pytest.mark.parametrize("lag", [1, 2, 64])
def test_draws_are_independent(scale: Fraction, lag: int) -> None:
    """Rank correlation between neighbours, and a table of signs: false-alarm rate ``laws.LEVEL`` each."""
    values = by_bulk_sampler(scale)
    assert stats.spearmanr(values[:-lag], values[lag:]).pvalue > LEVEL
    table = np.histogram2d(np.sign(values[:-lag]), np.sign(values[lag:]), bins=3)[0]
    assert stats.chi2_contingency(table).pvalue > LEVEL
    shown = np.repeat(values[::2], 2)  # a sampler that repeats itself would be seen
    assert stats.spearmanr(shown[:-1], shown[1:]).pvalue < LEVEL


@pytest.mark.parametrize("name", SAMPLERS)
def test_broken_samplers_are_rejected(name: str) -> None:
    for seed in range(3):
        assert fits_laplace(SAMPLERS[name](Fraction(1), DRAWS, seed), Fraction(1)) < LEVEL


def test_far_tails_exist() -> None:
    """P(|X| >= 8 scales) is 3.3e-4: none in 60,000 draws would have probability 2e-9."""
    values = by_bulk_sampler(Fraction(10))
    far = int((np.abs(values) >= 80).sum())
    assert binomial(far, DRAWS, 2 * laplace_upper_tail(Fraction(10), 80)) > LEVEL


# Cutting the stream of words into buffers


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(200, 9), Fraction(10**6)], ids=str)
def test_the_size_of_the_buffers_does_not_change_the_values(scale: Fraction) -> None:
    words = SeededNoise(3).words(40_000)
    whole = fed(scale, words, [words.size])
    assert whole.size > 1_500
    for sizes in ([1], [2], [3, 1, 7], [13], [1_000, 1]):
        cut = fed(scale, words[:8_000], sizes)
        assert np.array_equal(cut, whole[: cut.size])
        assert cut.size > 250


def fed(scale: Fraction, words: NDArray[np.uint32], sizes: list[int]) -> NDArray[np.int64]:
    """Feed the kernel with the stream in buffers of the given sizes, over and over."""
    out = np.empty(20_000, dtype=np.int64)
    left, filled, at, turn = np.empty(0, dtype=np.uint32), 0, 0, 0
    while at < words.size and filled < out.size:
        size = sizes[turn % len(sizes)]
        buffer = np.concatenate([left, words[at : at + size]])
        filled, used = discrete.draw(scale.numerator, scale.denominator, None, buffer, out, filled)
        assert 0 <= used <= buffer.size
        left, at, turn = buffer[used:], at + size, turn + 1
    return out[:filled]


def test_a_stream_of_equal_words_does_not_end_the_program() -> None:
    """Degenerate words make degenerate values, in finite time, and never more words than there are."""
    for word in (0, 1, 2**31, 2**32 - 1):
        words = np.full(500, word, dtype=np.uint32)
        out = np.empty(50, dtype=np.int64)
        filled, used = discrete.draw(200, 9, None, words, out, 0)
        assert 0 <= filled <= 50
        assert 0 <= used <= 500


def test_chunks_of_noise_are_independent() -> None:
    size = 3 * (1 << 16)
    for source in (SeededNoise(1), OperatingSystemNoise()):
        values = draw(DiscreteLaplace(Fraction(1000)), size, source)
        parts = values.reshape(3, -1)
        assert (parts[0] == parts[1]).mean() < 0.01
        assert (parts[1] == parts[2]).mean() < 0.01


def test_seeded_draws_repeat_and_others_do_not() -> None:
    law = DiscreteLaplace(Fraction(1000))
    assert np.array_equal(draw(law, 100, SeededNoise(1)), draw(law, 100, SeededNoise(1)))
    assert not np.array_equal(draw(law, 100, SeededNoise(1)), draw(law, 100, SeededNoise(2)))
    real = OperatingSystemNoise()
    assert not np.array_equal(draw(law, 100, real), draw(law, 100, real))
    assert real.key() != real.key()
    assert len(real.key()) == len(SeededNoise(1).key()) == 16
    assert draw(law, 0, real).size == 0


# The two doors of ``add_noise``: short vectors go to OpenDP, long ones to the bulk sampler


@pytest.mark.parametrize("size", [1_999, 2_000, 5_000])
def test_add_has_the_exact_distribution_with_either_sampler(size: int) -> None:
    """Randomness of the operating system: a false alarm once in 10 million runs."""
    exact = np.arange(size)
    noisy = add_noise(
        SampleRecords(3).seal("records", exact, exact[:, None]).items, Grant("0.9"), OperatingSystemNoise()
    )
    assert scale_of(noisy.distribution) == Fraction(10, 3)
    noise = noisy.values - exact
    assert fits_laplace(noise, scale_of(noisy.distribution)) > LEVEL
    for wrong in (Fraction(5, 3), Fraction(20, 3)):
        assert fits_laplace(noise, wrong) < LEVEL
