"""The statistical tests themselves: they keep their false-alarm rate and see what they are there to see."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.support.distributions import (
    binomial,
    fits,
    fits_laplace,
    laplace_cuts,
    laplace_probabilities,
    laplace_upper_tail,
    loses_more_than,
)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(200, 9), Fraction(10**6)], ids=str)
def test_cells_cover_everything_and_expect_enough(scale: Fraction) -> None:
    cuts = laplace_cuts(scale, 10_000)
    probabilities = laplace_probabilities(scale, cuts)
    assert math.fsum(probabilities) == pytest.approx(1)
    assert min(probabilities) * 10_000 >= 20
    alpha = math.exp(-1 / scale)
    if 0 in cuts and 1 in cuts:
        assert probabilities[cuts.index(1)] == pytest.approx((1 - alpha) / (1 + alpha))
    assert laplace_upper_tail(scale, 1) == pytest.approx(alpha / (1 + alpha))


def exact_sample(scale: float, size: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The difference of two geometric variables is discrete Laplace."""
    generator = np.random.default_rng(seed)
    p = -math.expm1(-1 / scale)
    return generator.geometric(p, size) - generator.geometric(p, size)


def test_p_values_of_the_true_distribution_are_uniform() -> None:
    """Of 200 p-values, about 20 lie below 0.1; more than 45 has probability 1e-7."""
    small = sum(fits_laplace(exact_sample(3, 2_000, seed), Fraction(3)) < 0.1 for seed in range(200))
    assert small <= 45


def test_loss_of_laplace_pairs() -> None:
    """DLap(1) and the same shifted by 1 lose exactly 1; shifted by 2 they lose 2."""
    here, there = exact_sample(1, 20_000, 1).tolist(), exact_sample(1, 20_000, 2)
    for shift, epsilon, holds in ((1, 1.0, True), (1, 0.85, False), (2, 2.0, True), (2, 1.7, False)):
        p = loses_more_than(epsilon, here, (there + shift).tolist())
        assert (p > 1e-7) is holds
        assert (loses_more_than(epsilon, (there + shift).tolist(), here) > 1e-7) is holds


def test_an_impossible_outcome_is_rejected() -> None:
    """Without noise one outcome on one side gives the user away."""
    assert loses_more_than(1.0, [3] * 100, [2] * 100) < 1e-7
    assert fits({"a": 5, "b": 1}, {"a": 1.0}) == 0
    assert fits({"a": 5}, {"a": 1.0}) == 1


def test_binomial_is_two_sided() -> None:
    assert binomial(100, 1_000, 0.1) > 0.9
    assert binomial(300, 1_000, 0.1) < 1e-7
    assert binomial(20, 1_000, 0.1) < 1e-7
