"""Shares of classes by size, from noisy sums: what is found, and how sure that is. All draws are seeded."""

from __future__ import annotations

import numpy as np
import pytest

from headcount._internal.arrays import Floats
from headcount.adaptive.popularity_scale_up import ClassMeasurements, estimate_classes, random_walk_covariance
from headcount.bounds.counts.activity_histogram import UPPER_ENDS

RECORDS = UPPER_ENDS[2:10].astype(np.float64)
WEIGHTS = np.minimum(RECORDS, 4.0)
OCTAVES = np.arange(8.0) - 2.0
PEOPLE = np.power(0.7, np.arange(8.0))
PEOPLE /= PEOPLE.sum()


def walks(classes: int, noise: float, seed: int) -> tuple[ClassMeasurements, Floats]:
    """Classes of 1,000 people each whose share wanders by 0.2 an octave: what is measured, and the truth."""
    random = np.random.default_rng(seed)
    logs = random.multivariate_normal(np.zeros(8), 0.04 * random_walk_covariance(OCTAVES), classes, method="svd")
    users_by_class = PEOPLE * np.exp(logs)
    exact: Floats = np.asarray(
        1_000 * users_by_class / users_by_class.sum(axis=1, keepdims=True), dtype=np.float64
    )
    sums = exact + random.laplace(0, noise, exact.shape)
    weighed = exact @ WEIGHTS
    return ClassMeasurements(sums, 2 * noise**2, weighed, np.full(classes, 25.0), WEIGHTS), exact


@pytest.mark.parametrize(("narrowed", "enough"), [(1.0, True), (1 / 2, False)])
@pytest.mark.parametrize("noise", [1.0, 20.0, 100.0])
def test_ratios_are_as_sure_as_they_say(noise: float, narrowed: float, enough: bool) -> None:
    """Of 6,000 classes, 92 % have their ratio within 1.96 deviations; half of them would not be enough.

    Measured: 93.9 to 96 %. At 93.9 %, 92 % is 6 deviations off, less than one in a million; the seed is fixed.
    """
    measured, exact = walks(6_000, noise, 1)
    estimates = estimate_classes(
        measured, np.broadcast_to(PEOPLE, (1, 6_000, 8)), 0.04 * random_walk_covariance(OCTAVES)
    )
    logarithms, variances = (row[0] for row in estimates.log_ratios(RECORDS, WEIGHTS))
    log_errors = logarithms - np.log((exact @ RECORDS) / (exact @ WEIGHTS))
    assert ((np.abs(log_errors) <= 1.96 * narrowed * np.sqrt(variances)).mean() >= 0.92) == enough


def test_with_hardly_any_noise_classes_are_as_measured() -> None:
    measured, exact = walks(20, 1e-3, 2)
    estimate = estimate_classes(
        measured, np.broadcast_to(PEOPLE, (1, 20, 8)), 0.04 * random_walk_covariance(OCTAVES)
    )
    assert estimate.posterior.mean[0] == pytest.approx(exact, rel=0.02)


def test_close_measurements_pool_and_distant_ones_do_not() -> None:
    """Shares that wander far are taken to do so, and people who are where they are expected likewise."""
    measured, _ = walks(100, 5.0, 3)
    near, far, farther = (step**2 * random_walk_covariance(OCTAVES) for step in (0.02, 0.2, 0.8))
    expected = np.broadcast_to(PEOPLE, (3, 100, 8))
    assert np.argmax(estimate_classes(measured, expected, np.stack([near, far, farther])).log_likelihood) == 1
    tilted = np.stack([PEOPLE * np.exp(slope * OCTAVES) for slope in (-0.5, 0.0, 0.5)])
    tilted /= tilted.sum(axis=1, keepdims=True)
    expected = np.broadcast_to(tilted[:, None], (3, 100, 8))
    assert np.argmax(estimate_classes(measured, expected, far).log_likelihood) == 1


def test_no_noise_makes_a_ratio_absurd() -> None:
    measured, _ = walks(50, 5_000.0, 4)
    estimate = estimate_classes(
        measured, np.broadcast_to(PEOPLE, (1, 50, 8)), 2.0 * random_walk_covariance(OCTAVES)
    )
    logarithms, variances = estimate.log_ratios(RECORDS, WEIGHTS)
    usual = np.log((PEOPLE @ RECORDS) / (PEOPLE @ WEIGHTS))
    assert (np.abs(logarithms - usual) <= np.log(5) + 1e-9).all()
    assert (variances <= 1).all()
