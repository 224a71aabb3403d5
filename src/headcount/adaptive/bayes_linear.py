"""What people of each size have in each class of items, given noisy sums and a rough idea of what to expect.

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

_HEIGHT_OFF = 0.1  # how far the height of a class may be off, relatively
_FARTHEST = 3.0  # variance of a logarithm beyond which nothing more is allowed for
_LEAST, _MOST = 0.2, 5.0  # of the ratio that is expected: what more noise says is not believed
_UNSURE = 1.0  # variance of the logarithm of a ratio of which nothing is known


@dataclass(frozen=True, eq=False)
class Measured:
    """What was released: of each class (rows) at each size, and what all its people weigh.

    ``weights`` says what a person weighs at each size, and ``noise`` and ``uncertain`` are variances.
    """

    sums: Floats
    noise: float
    weighed: Floats
    uncertain: Floats
    weights: Floats


def wandering(octaves: Floats) -> Floats:
    """Return the covariance of a walk that starts at octave 0 and takes a step of deviation 1 an octave.

    >>> wandering(np.array([-1.0, 0.0, 2.0, 3.0])).tolist()
    [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 3.0]]
    """
    far, side = np.abs(octaves), np.sign(octaves)
    return np.asarray(np.where(np.equal.outer(side, side), np.minimum.outer(far, far), 0.0))


@dataclass(frozen=True, eq=False)
class Estimated:
    """What each class has at each size, given each of several expectations, and how well each of them fits."""

    expected: Floats
    mean: Floats
    covariance: Floats
    fits: Floats

    def log_ratios(self, above: Floats, below: Floats) -> tuple[Floats, Floats]:
        """Return the logarithm of the ratio of two weighted sums over sizes, and its variance."""
        under = np.maximum(self.mean @ below, _LEAST * (self.expected @ below))
        usual = (self.expected @ above) / (self.expected @ below)
        ratio = np.clip(self.mean @ above / under, _LEAST * usual, _MOST * usual)
        moves = above / (ratio * under)[..., None] - below / under[..., None]
        variance = ((moves[..., None, :] @ self.covariance)[..., 0, :] * moves).sum(axis=-1)
        return np.log(ratio), np.clip(variance, 0.0, _UNSURE)


def estimated(measured: Measured, expected: Floats, wander: Floats) -> Estimated:
    """Estimate what each class has at each size, for each of the expectations.

    ``expected`` has parts of people that sum to 1, and ``wander`` the covariance of their logarithms: the last
    axes of both are sizes, the one before that of ``expected`` is classes, and the first one possibilities.

    >>> measured = Measured(np.array([[60.0, 45.0]]), 100.0, np.array([100.0]), np.array([1.0]), np.ones(2))
    >>> alike = np.array([[[0.5, 0.5]]])
    >>> estimated(measured, alike, wandering(np.array([0.0, 1.0]))).mean.round().tolist()
    [[[52.0, 48.0]]]
    """
    size, weights = expected.shape[-1], measured.weights
    heights = measured.weighed / np.maximum(expected @ weights, 1e-12)
    prior = heights[..., None] * expected
    unsure = np.expm1(np.minimum(wander, _FARTHEST)) + _HEIGHT_OFF**2
    unsure = (prior[..., :, None] * prior[..., None, :]) * (unsure if wander.ndim == 2 else unsure[:, None])
    looks = np.vstack([np.eye(size), weights])
    seen = unsure @ looks.T
    noise = np.column_stack([np.full_like(measured.sums, measured.noise), measured.uncertain])
    spread = looks @ seen + np.eye(size + 1) * noise[:, None, :]
    off = np.column_stack([measured.sums, measured.weighed]) - prior @ looks.T
    inverse = np.linalg.inv(spread)
    pulled = (inverse @ off[..., None])[..., 0]
    fits = -((off * pulled).sum(axis=-1) + np.linalg.slogdet(spread)[1]) / 2
    return Estimated(
        expected=prior,
        mean=prior + (seen @ pulled[..., None])[..., 0],
        covariance=unsure - seen @ inverse @ np.swapaxes(seen, -1, -2),
        fits=fits.sum(axis=-1),
    )
