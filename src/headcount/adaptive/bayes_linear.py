"""Bayes linear (Gaussian-linear) update: users of each size in each popularity class from noisy sums.

What is expected of a class is given up to its height. How far the truth is from that is unknown but smooth: its
logarithm goes up or down along a line, with a slope that nobody knows, and wanders by a random step from each size
to the next. Means and covariances of that are carried over to the sums themselves, where the noise is; so the best
estimate is linear in what was measured, nothing is made of the logarithm of a noisy number, and sums are right on
average. How likely what was measured is says which expectation, slopes and steps fit.

Reference
    M. Goldstein, D. Wooff. Bayes Linear Statistics: Theory and Methods. Wiley, 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Floats

_TOTAL_DEVIATION = 0.1  # how far the height of a class may be off, relatively
_MAX_LOG_COVARIANCE = 3.0  # variance of a logarithm beyond which nothing more is allowed for
_MIN_RATIO, _MAX_RATIO = 0.2, 5.0  # of the ratio that is expected: what more noise says is not believed
_MAX_LOG_VARIANCE = 1.0  # variance of the logarithm of a ratio of which nothing is known


@dataclass(frozen=True, eq=False)
class ClassMeasurements:
    """What was released: of each class (rows) at each size, and what all its people weigh.

    ``weights`` says what a person weighs at each size, and ``noise`` and ``weighed_variance`` are variances.
    """

    sums: Floats
    noise: float
    weighed: Floats
    weighed_variance: Floats
    weights: Floats


def random_walk_covariance(octaves: Floats) -> Floats:
    """Return the covariance of a walk that starts at octave 0 and takes a step of deviation 1 an octave.

    >>> random_walk_covariance(np.array([-1.0, 0.0, 2.0, 3.0])).tolist()
    [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 3.0]]
    """
    far, side = np.abs(octaves), np.sign(octaves)
    return np.asarray(np.where(np.equal.outer(side, side), np.minimum.outer(far, far), 0.0))


@dataclass(frozen=True, eq=False)
class ClassEstimates:
    """What each class has at each size, given each of several expectations, and how well each of them fits."""

    expected: Floats
    mean: Floats
    covariance: Floats
    log_likelihood: Floats

    def log_ratios(self, above: Floats, below: Floats) -> tuple[Floats, Floats]:
        """Return the logarithm of the ratio of two weighted sums over sizes, and its variance."""
        denominator = np.maximum(self.mean @ below, _MIN_RATIO * (self.expected @ below))
        prior_ratio = (self.expected @ above) / (self.expected @ below)
        ratio = np.clip(self.mean @ above / denominator, _MIN_RATIO * prior_ratio, _MAX_RATIO * prior_ratio)
        gradient = above / (ratio * denominator)[..., None] - below / denominator[..., None]
        variance = ((gradient[..., None, :] @ self.covariance)[..., 0, :] * gradient).sum(axis=-1)
        return np.log(ratio), np.clip(variance, 0.0, _MAX_LOG_VARIANCE)


def estimate_classes(measured: ClassMeasurements, expected: Floats, covariance: Floats) -> ClassEstimates:
    """Estimate what each class has at each size, for each of the expectations.

    ``expected`` has parts of people that sum to 1, and ``covariance`` the covariance of their logarithms: the last
    axes of both are sizes, the one before that of ``expected`` is classes, and the first one possibilities.

    >>> sums, weighed = np.array([[60.0, 45.0]]), np.array([100.0])
    >>> measured = ClassMeasurements(sums, 100.0, weighed, np.array([1.0]), np.ones(2))
    >>> alike = np.array([[[0.5, 0.5]]])
    >>> estimate_classes(measured, alike, random_walk_covariance(np.array([0.0, 1.0]))).mean.round().tolist()
    [[[52.0, 48.0]]]
    """
    size, weights = expected.shape[-1], measured.weights
    totals = measured.weighed / np.maximum(expected @ weights, 1e-12)
    prior_mean = totals[..., None] * expected
    prior_covariance = np.expm1(np.minimum(covariance, _MAX_LOG_COVARIANCE)) + _TOTAL_DEVIATION**2
    prior_covariance = (prior_mean[..., :, None] * prior_mean[..., None, :]) * (
        prior_covariance if covariance.ndim == 2 else prior_covariance[:, None]
    )
    observation = np.vstack([np.eye(size), weights])
    cross_covariance = prior_covariance @ observation.T
    noise_variances = np.column_stack([np.full_like(measured.sums, measured.noise), measured.weighed_variance])
    residual_covariance = observation @ cross_covariance + np.eye(size + 1) * noise_variances[:, None, :]
    residual = np.column_stack([measured.sums, measured.weighed]) - prior_mean @ observation.T
    inverse = np.linalg.inv(residual_covariance)
    weighted_residual = (inverse @ residual[..., None])[..., 0]
    log_likelihood = -((residual * weighted_residual).sum(axis=-1) + np.linalg.slogdet(residual_covariance)[1]) / 2
    return ClassEstimates(
        expected=prior_mean,
        mean=prior_mean + (cross_covariance @ weighted_residual[..., None])[..., 0],
        covariance=prior_covariance - cross_covariance @ inverse @ np.swapaxes(cross_covariance, -1, -2),
        log_likelihood=log_likelihood.sum(axis=-1),
    )
