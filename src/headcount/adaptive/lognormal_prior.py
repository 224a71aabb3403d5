"""Log-normal prior for the noisy activity histogram: expected and largest plausible users per bin.

People's numbers of records are spread over many sizes, and in most logs nearly normally so on the scale of
logarithms. Fitted to all noisy bins at once, such a law says how many people noise may hide in a bin by itself,
and how few there are far out. Its parameters are averaged over all that fit, and priors keep it from tails that no
log has: most are spread over one to two octaves.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Floats

_MIDDLES = np.arange(-2.0, 13.0, 0.25)  # octaves
_SPREADS = np.array([0.25, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 1.8, 2.2, 2.7])
_UPPER_QUANTILE = 0.95
_MIN_RELATIVE_WEIGHT = 1e-6  # of the most likely law: there are hundreds of these, which together weigh nothing
_NORMAL_MIDPOINTS = np.array(
    [-1.4, -0.67, -0.21, 0.21, 0.67, 1.4]
)  # of a normal law, in deviations: each as likely
_PRIOR_MIDDLE, _PRIOR_SPREAD = (3.0, 3.0), (1.2, 0.6)


class LognormalPosterior(NamedTuple):
    """How likely each law is, given noisy numbers of users, and how many users it has in each bin.

    ``shapes`` are shares of users per bin; ``total_deviation`` is the deviation of the total number of users.
    """

    weights: Floats
    users: Floats
    shapes: Floats
    total_deviation: Floats

    def expected(self) -> Floats:
        """Return how many users to expect in each bin."""
        return np.asarray(self.weights @ self.users)

    def possible(self) -> Floats:
        """Return how many users each bin may have: no more in 95 of 100 laws, by how well they fit.

        How many users a law has is not known for sure either, which matters where there are few.
        """
        likely = self.weights > _MIN_RELATIVE_WEIGHT * self.weights.max()
        further = (
            np.multiply.outer(self.total_deviation[likely], _NORMAL_MIDPOINTS)[:, None, :]
            * self.shapes[likely, :, None]
        )
        possible = self.users[likely, :, None] + further
        users = np.moveaxis(possible, 1, 0).reshape(self.users.shape[1], -1)
        order = np.argsort(users, axis=1)  # before they are cut off at zero: sorting is slow where many are equal
        below = (
            np.cumsum(np.repeat(self.weights[likely], _NORMAL_MIDPOINTS.size)[order], axis=1)
            / _NORMAL_MIDPOINTS.size
        )
        bins = np.arange(len(users))
        return np.asarray(np.maximum(users[bins, order[bins, (below < _UPPER_QUANTILE).sum(axis=1)]], 0.0))


def expected_users(noisy: Floats, scale: float, upper_ends: NDArray[np.int64]) -> Floats:
    """Return how many users to expect in each bin, given noisy numbers with Laplace noise of that scale.

    The first bins end at the ``upper_ends``; there may be one more, which is open.

    >>> noisy = np.array([100.0, 210.0, 390.0, 205.0, 95.0, 20.0, 0.0, 40.0])
    >>> expected_users(noisy, 20.0, np.array([1, 2, 4, 8, 16, 32, 64, 128]))[5:].round() < [60, 20, 5]
    array([ True,  True,  True])
    """
    return fit_lognormals(noisy, scale, upper_ends).expected()


def possible_users(noisy: Floats, scale: float, upper_ends: NDArray[np.int64]) -> Floats:
    """Return how many users each bin may have: no more in 95 of 100 laws, by how well they fit.

    >>> noisy = np.array([100.0, 210.0, 390.0, 205.0, 95.0, 20.0])
    >>> possible_users(noisy, 20.0, np.array([1, 2, 4, 8, 16, 32])).round().tolist()[4:]
    [89.0, 12.0]
    """
    return fit_lognormals(noisy, scale, upper_ends).possible()


def fit_lognormals(noisy: Floats, scale: float, upper_ends: NDArray[np.int64]) -> LognormalPosterior:
    """Fit all laws: see :func:`expected_users`."""
    shapes, squares, logarithms = _lognormal_candidates(tuple(upper_ends.tolist()), noisy.size)
    users = np.maximum(shapes @ noisy / squares, 0.0)[:, None] * shapes
    likelihood = logarithms - np.abs(noisy - users).sum(axis=1) / scale
    weights = np.exp(likelihood - likelihood.max())
    return LognormalPosterior(np.asarray(weights / weights.sum()), users, shapes, scale * np.sqrt(2 / squares))


@cache
def _lognormal_candidates(upper_ends: tuple[int, ...], bins: int) -> tuple[Floats, Floats, Floats]:
    """Return which share of users each law has in each bin, sums of their squares, and the log of its prior."""
    log_ends = np.log2([0.5, *(end + 0.5 for end in upper_ends)])
    middles, spreads = (grid.ravel() for grid in np.meshgrid(_MIDDLES, _SPREADS, indexing="ij"))
    below = np.vectorize(math.erf)((log_ends - middles[:, None]) / (spreads[:, None] * math.sqrt(2)))
    inside = np.diff(below, axis=1, append=1.0)[:, :bins]
    prior = ((middles - _PRIOR_MIDDLE[0]) / _PRIOR_MIDDLE[1]) ** 2
    prior += ((spreads - _PRIOR_SPREAD[0]) / _PRIOR_SPREAD[1]) ** 2
    shapes = inside / np.maximum(inside.sum(axis=1, keepdims=True), 1e-12)
    return shapes, np.maximum((shapes**2).sum(axis=1), 1e-12), np.asarray(-prior / 2)
