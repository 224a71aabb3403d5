"""What neighbours say, weighed: the last step of every neighbourhood method, for many questions at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def weighed(
    question: NDArray[np.int64],
    weights: Numbers,
    said: Numbers,
    base: Numbers,
    fallback: Numbers,
    within: tuple[float, float],
) -> Numbers:
    """Return base + Σ w · said / Σ |w| of each question, cut to a range; the fallback where nobody has any weight.

    ``question`` says for each neighbour which question it answers.

    >>> weighed(np.array([0, 0]), np.array([3.0, 1.0]), np.array([5.0, 1.0]), np.zeros(2), np.full(2, 2.5), (1, 5))
    array([4. , 2.5])
    """
    above = np.bincount(question, weights * said, minlength=base.size)
    below = np.bincount(question, np.abs(weights), minlength=base.size)
    told = np.divide(above, below, out=np.zeros(base.size), where=below > 0)
    return np.clip(np.where(below > 0, base + told, fallback), *within)
