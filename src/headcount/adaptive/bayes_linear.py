"""Bayes linear (Gaussian-linear) updates: posterior mean and variance, given noisy linear observations.

The best linear estimate needs only means and covariances. No logarithm of a noisy number is taken, and sums are
right on average. :func:`update` is for noisy values of the quantities themselves: users by size
(:mod:`headcount.adaptive.scale_up`) and refined counts (:mod:`headcount.adaptive.refinement.estimate`).
:func:`update_many` is for noisy linear combinations of them, with many priors at once, and says how likely each
prior makes the measurements: class profiles (:mod:`headcount.adaptive.popularity_scale_up`).

Reference
    M. Goldstein, D. Wooff. Bayes Linear Statistics: Theory and Methods. Wiley, 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Floats


@dataclass(frozen=True, eq=False)
class LinearPosterior:
    """Posterior mean and covariance."""

    mean: Floats
    covariance: Floats

    @property
    def deviation(self) -> Floats:
        """The standard deviation of each value."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))


def update(
    prior_mean: Floats, prior_covariance: Floats, measured: Floats, noise_covariance: Floats
) -> LinearPosterior:
    """Combine what is expected of some values with noisy measurements of them.

    >>> posterior = update(np.zeros(1), np.eye(1), np.array([4.0]), 3 * np.eye(1))
    >>> posterior.mean.tolist(), posterior.covariance.tolist()
    ([1.0], [[0.75]])
    """
    gain = np.linalg.solve(prior_covariance + noise_covariance, prior_covariance).T
    mean = prior_mean + gain @ (measured - prior_mean)
    return LinearPosterior(mean, prior_covariance - gain @ prior_covariance)


def update_many(
    prior_mean: Floats,
    prior_covariance: Floats,
    observation: Floats,
    measured: Floats,
    noise_variances: Floats,
) -> tuple[LinearPosterior, Floats]:
    """Combine priors with noisy linear measurements; return posteriors, and the log likelihood of each prior.

    A row of ``observation`` says how much of each value a measurement has. The last axes of both means are the
    values and the measurements; the axes before are batches.

    >>> prior = np.zeros((1, 1, 1)), np.eye(1)[None, None]
    >>> posterior, likelihood = update_many(*prior, np.eye(1), np.array([[4.0]]), np.array([[3.0]]))
    >>> posterior.mean.tolist(), posterior.covariance.tolist(), likelihood.round(3).tolist()
    ([[[1.0]]], [[[[0.75]]]], [[-2.693]])
    """
    cross_covariance = prior_covariance @ observation.T
    noise_covariance = np.eye(len(observation)) * noise_variances[:, None, :]
    residual_covariance = observation @ cross_covariance + noise_covariance
    residual = measured - prior_mean @ observation.T
    inverse = np.linalg.inv(residual_covariance)
    weighted_residual = (inverse @ residual[..., None])[..., 0]
    log_likelihood = -((residual * weighted_residual).sum(axis=-1) + np.linalg.slogdet(residual_covariance)[1]) / 2
    posterior = LinearPosterior(
        mean=prior_mean + (cross_covariance @ weighted_residual[..., None])[..., 0],
        covariance=prior_covariance - cross_covariance @ inverse @ np.swapaxes(cross_covariance, -1, -2),
    )
    return posterior, log_likelihood
