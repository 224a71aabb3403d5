"""What a log-normal law expects of noisy bins: near the truth where it holds, and no tails that are not there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headcount.adaptive.lognormal_prior import expected_users
from headcount.bounds.counts.activity_histogram import BINS, UPPER_ENDS, bin_of

Floats = NDArray[np.float64]


def binned(spread: float, users: int = 20_000) -> Floats:
    records = np.ceil(np.random.default_rng(3).lognormal(1.5, spread, users)).astype(np.int64)
    return np.bincount(bin_of(records), minlength=BINS).astype(np.float64)


@pytest.mark.parametrize("spread", [0.6, 1.0])
def test_users_below_the_noise_are_expected(spread: float) -> None:
    """Bins of fewer than 100 people, after the most: within a scale of noise, which alone is 1.4 of that off."""
    exact, scale = binned(spread), 40.0
    random = np.random.default_rng(1)
    expectations = [expected_users(exact + random.laplace(0, scale, BINS), scale, UPPER_ENDS) for _ in range(50)]
    few = (exact < 100) & (np.arange(BINS) > exact.argmax())
    assert exact[few].sum() > 0
    assert np.sqrt(((np.array(expectations) - exact) ** 2).mean(axis=0))[few].max() < scale
    assert np.mean(expectations, axis=0)[few].sum() > 0.25 * exact[few].sum()


def test_noise_far_out_is_not_believed() -> None:
    """6 scales, once, where nobody is: of these 240 people less than one is expected."""
    noisy = binned(0.8)
    for far in range(14, BINS):
        raised = noisy.copy()
        raised[far] += 240
        assert expected_users(raised, 40.0, UPPER_ENDS)[14:].sum() < 1


@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=BINS, max_size=BINS),
    st.floats(0.01, 1e5),
    st.integers(1, BINS),
)
def test_expected_users_are_finite_for_any_noise(noisy: list[int], scale: float, bins: int) -> None:
    ends = UPPER_ENDS[: min(bins, UPPER_ENDS.size)]
    expectation = expected_users(np.array(noisy[:bins], dtype=np.float64), scale, ends)
    assert expectation.shape == (bins,)
    assert np.isfinite(expectation).all()
    assert (expectation >= 0).all()
