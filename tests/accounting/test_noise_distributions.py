"""The exact law that releases carry: against sums over its probabilities."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headcount.accounting.noise_distributions import (
    DiscreteGaussian,
    DiscreteLaplace,
    noise_distribution_from_json,
)
from tests.support.distributions import laplace_upper_tail

scales = st.one_of(
    st.fractions(min_value=Fraction(1, 20), max_value=30, max_denominator=1000),
    st.integers(1, 40).map(Fraction),
)


def probabilities(scale: Fraction) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    reach = max(60, math.ceil(45 * scale))
    places = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(places) / float(scale))
    return places, weights / weights.sum()


@given(scales)
def test_variance_and_distribution_function(scale: Fraction) -> None:
    law = DiscreteLaplace(scale)
    places, weights = probabilities(scale)
    assert law.variance == pytest.approx(float(weights @ places**2), rel=1e-9)
    shown = law.cdf(places.astype(np.float64))
    assert np.allclose(shown, np.cumsum(weights), atol=1e-12)
    assert np.allclose(law.cdf(places.astype(np.float64) + 0.5), shown, atol=1e-12)
    assert law.alpha == pytest.approx(math.exp(-1 / scale))


@given(scales, st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.999]))
def test_the_half_width_is_the_smallest_that_covers(scale: Fraction, level: float) -> None:
    width = DiscreteLaplace(scale).half_width(level)
    places, weights = probabilities(scale)
    covered = [float(weights[np.abs(places) <= w].sum()) for w in (width - 1, width)]
    assert covered[1] >= level - 1e-12
    assert width == 0 or covered[0] < level


@pytest.mark.parametrize("scale", [Fraction(10**6), Fraction(2**31 - 1), Fraction(10**9, 7)])
def test_huge_scales(scale: Fraction) -> None:
    law = DiscreteLaplace(scale)
    width = round(law.half_width(0.95))
    assert 2 * laplace_upper_tail(scale, width + 1) <= 0.05 + 1e-9
    assert 2 * laplace_upper_tail(scale, width - 1) > 0.05 - 1e-9
    assert law.variance == pytest.approx(2 * float(scale) ** 2, rel=1e-6)


def test_a_tiny_scale() -> None:
    law = DiscreteLaplace(Fraction(1, 50))
    assert law.half_width(0.95) == 0
    assert law.variance == pytest.approx(2 * math.exp(-50), rel=1e-9)


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=2**31 - 1))
def test_a_distribution_round_trips_exactly(scale: Fraction) -> None:
    law = DiscreteLaplace(scale)
    assert DiscreteLaplace.from_json(json.loads(json.dumps(law.to_json()))) == law


# The discrete Gaussian


def bell(sigma: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    reach = max(20, math.ceil(12 * sigma))
    places = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 * (places / sigma) ** 2)
    return places, weights / weights.sum()


@pytest.mark.parametrize("sigma", [Fraction(1, 4), Fraction(1), Fraction(7, 2), Fraction(31), Fraction(32),
                                   Fraction(1000, 3), Fraction(5000)], ids=str)  # fmt: skip
def test_the_bell_is_exact(sigma: Fraction) -> None:
    law = DiscreteGaussian(sigma)
    places, weights = bell(float(sigma))
    assert law.variance == pytest.approx(float(weights @ places**2), rel=1e-12)
    shown = law.cdf(places.astype(np.float64))
    assert np.abs(shown - np.cumsum(weights)).max() < 1e-13
    assert np.array_equal(law.cdf(places.astype(np.float64) + 0.5), shown)
    for level in (0.5, 0.9, 0.95, 0.999):
        width = law.half_width(level)
        covered = [float(weights[np.abs(places) <= w].sum()) for w in (width - 1, width)]
        assert covered[1] >= level - 1e-12
        assert width == 0 or covered[0] < level


def test_a_fine_bell() -> None:
    """With ten million steps per sigma, the law is the continuous one."""
    law = DiscreteGaussian(Fraction(150), step=Fraction(150, 10**7))
    assert law.half_width(0.95) == pytest.approx(150 * 1.959963984540054, rel=1e-7)
    assert law.variance == pytest.approx(150**2)
    assert law.cdf(np.array([-1e9, 1e9])).tolist() == [0, 1]
    assert law.times(Fraction(3)).half_width(0.95) == pytest.approx(3 * law.half_width(0.95))
    assert law.divided(3).half_width(0.95) == pytest.approx(law.half_width(0.95) / 3)


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=2**31 - 1), st.sampled_from(["counts", "group sums"]))
def test_any_distribution_round_trips_exactly(spread: Fraction, on: str) -> None:
    for law in (DiscreteGaussian(spread, Fraction(1, 65536), on), DiscreteLaplace(spread, Fraction(1), on)):
        assert noise_distribution_from_json(json.loads(json.dumps(law.to_json()))) == law
    with pytest.raises(KeyError):
        noise_distribution_from_json({"law": "gumbel", "scale": "1"})
