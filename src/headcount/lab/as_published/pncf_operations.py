"""PNCF's two operations and their competitors: selecting neighbours and perturbing similarities.

All act on :class:`headcount.lab.recommender.candidates.Candidates` and draw floating-point noise: what is claimed
for them does not hold (see :mod:`headcount.lab.as_published.pncf`), so exact samplers would protect
nobody.

* Selection (Algorithm 2): k candidates without replacement, each round with probability ∝ exp(ε ŝ / (4 k S)). The
  largest k of ε ŝ / (4 k S) + Gumbel noise have the same law.
* S is the pair's recommendation-aware sensitivity, or the global one.
* ŝ = max(s, s_k - w) with w = min(s_k, (4 k RS / ε) ln(k (|v| - k) / ρ)), s_k the k-th largest similarity of the
  query, |v| its number of candidates and RS the largest of their sensitivities (theorem 3.4.1). The naive
  mechanism takes ŝ = s.
* Perturbation (3.4.1): s + Lap(2 S / ε); Algorithm 1 prints Lap(2 k S / ε).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Floats, Integers
from headcount.errors import UsageError
from headcount.lab.recommender.candidates import Candidates
from headcount.lab.recommender.similarity import GLOBAL, Metric
from headcount.noise import NoiseSource

_LEAST = 1e-9  # a sensitivity of 0 would be divided by


Perturbation = Literal["equation", "algorithm"]
PERTURBATIONS: tuple[Perturbation, ...] = ("equation", "algorithm")


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """How neighbours are drawn and perturbed with ε.

    ``sensitivity`` and ``truncated`` make the methods of the thesis: PNCF is ("recommendation", True), RS&NM
    ("recommendation", False), and GS&NM, which it also calls DP, ("global", False).
    """

    epsilon: float
    sensitivity: Literal["recommendation", "global"] = "recommendation"
    truncated: bool = True
    perturbation: Perturbation = "equation"
    rho: float = 0.05

    def __post_init__(self) -> None:
        if self.perturbation not in PERTURBATIONS:
            raise UsageError(
                f"similarities are perturbed as by the {' or the '.join(PERTURBATIONS)}", given=self.perturbation
            )


def sensitivities(some: Candidates, metric: Metric, mechanism: Mechanism) -> Floats:
    """Return the sensitivity that each candidate's noise is scaled by."""
    if mechanism.sensitivity == "global":
        return np.full(some.similarity.size, GLOBAL[metric])
    return np.maximum(some.sensitivity, _LEAST)


def kth_largest(some: Candidates, k: int) -> Floats:
    """Return s_k of each query: the k-th largest similarity, or the smallest where there are fewer."""
    top = some.ranked(some.similarity, k)
    least = np.full(some.base.size, np.inf)
    np.minimum.at(least, some.query[top], some.similarity[top])
    return np.where(np.isfinite(least), least, 0.0)


def truncation(some: Candidates, k: int, mechanism: Mechanism) -> tuple[Floats, Floats]:
    """Return s_k and w of each query; where all candidates are taken anyway, w is s_k."""
    many = np.bincount(some.query, minlength=some.base.size)
    largest = np.zeros(some.base.size)
    np.maximum.at(largest, some.query, some.sensitivity)
    at_k = kth_largest(some, k)
    odds = np.maximum(k * (many - k) / mechanism.rho, 1.0)
    wide = 4 * k * largest / mechanism.epsilon * np.log(odds)
    return at_k, np.where(many > k, np.minimum(at_k, wide), at_k)


def select(some: Candidates, k: int, scale: Floats, mechanism: Mechanism, noise: NoiseSource) -> Integers:
    """Draw k neighbours of each query; ``scale`` is the sensitivity of each candidate."""
    score = some.similarity
    if mechanism.truncated:
        at_k, w = truncation(some, k, mechanism)
        score = np.maximum(score, (at_k - w)[some.query])
    return some.ranked(mechanism.epsilon * score / (4 * k * scale) + gumbel(score.size, noise), k)


def perturbed(similarity: Floats, scale: Floats, k: int, mechanism: Mechanism, noise: NoiseSource) -> Floats:
    """Add Laplace noise to the similarities of the drawn neighbours."""
    times = 2 * k if mechanism.perturbation == "algorithm" else 2
    return similarity + times * scale / mechanism.epsilon * laplace(similarity.size, noise)


def uniform(count: int, noise: NoiseSource) -> Floats:
    """Return numbers between 0 and 1, neither of them among them, in steps of 2^-53."""
    words = noise.words(2 * count).astype(np.uint64)
    bits: NDArray[np.uint64] = (words[:count] << np.uint64(21)) | (words[count:] >> np.uint64(11))
    return (bits.astype(np.float64) + 0.5) * 2.0**-53


def gumbel(count: int, noise: NoiseSource) -> Floats:
    """Return Gumbel noise of scale 1."""
    return -np.log(-np.log(uniform(count, noise)))


def laplace(count: int, noise: NoiseSource) -> Floats:
    """Return Laplace noise of scale 1: exponential, with a random sign."""
    size = -np.log(uniform(count, noise))
    return np.where(noise.words(count) & np.uint32(1), size, -size)
