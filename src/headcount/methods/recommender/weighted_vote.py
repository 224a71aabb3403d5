"""Weighted vote: the last step of every nearest-neighbour recommender, for many queries at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def weighted_vote(
    question: NDArray[np.int64],
    weights: Numbers,
    votes: Numbers,
    base: Numbers,
    fallback: Numbers,
    within: tuple[float, float],
) -> Numbers:
    """Return base + Σ w · vote / Σ |w| of each question, cut to a range; the fallback if no neighbour has weight.

    ``question`` says for each neighbour which question it answers.

    >>> weights, votes = np.array([3.0, 1.0]), np.array([5.0, 1.0])
    >>> weighted_vote(np.array([0, 0]), weights, votes, np.zeros(2), np.full(2, 2.5), (1, 5))
    array([4. , 2.5])
    """
    above = np.bincount(question, weights * votes, minlength=base.size)
    below = np.bincount(question, np.abs(weights), minlength=base.size)
    mean_vote = np.divide(above, below, out=np.zeros(base.size), where=below > 0)
    return np.clip(np.where(below > 0, base + mean_vote, fallback), *within)
