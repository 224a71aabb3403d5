"""Confidence intervals: half-widths of released counts, computed from the noise distribution alone.

A count that carries one noise draw has an exact interval in closed form. A consistent count is a weighted sum
of many draws; its law is computed by convolution on a fine grid, and the half-width is widened by the largest
error the grid can make, so the stated level is never undercut. Thousands of draws are bounded instead.

A weighted sum of discrete Gaussian draws, each with several steps to its standard deviation, is normal but for
lying between steps: given all the others, the draw with the finest weighted step puts the sum on a lattice of that
step, so half of it more is enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from headcount.accounting.noise_distributions import DiscreteGaussian, DiscreteLaplace, NoiseDistribution
from headcount.releases.reconcile import Weights

# up to few draws a fine grid, up to many a coarse one, beyond that a bound
_FEW, _MANY = 64, 4096
# grid steps per standard deviation and draw: the interval is widened by half a step a draw
_FINE, _COARSE = 100, 24
_MIN_NORMAL_STEPS = 8  # steps per standard deviation from which on a discrete Gaussian is as good as a normal
_GRID_DEVIATIONS = 24  # standard deviations covered either way; what lies beyond is counted as outside


@dataclass(frozen=True)
class Term:
    """``copies`` independent draws from ``distribution``, each multiplied by ``weight``."""

    weight: float
    distribution: NoiseDistribution
    copies: int = 1

    @property
    def variance(self) -> float:
        """The variance this term adds."""
        return self.copies * self.weight**2 * self.distribution.variance


def half_width(terms: Sequence[Term], level: float) -> float:
    """Return w such that the weighted sum of all draws lies within ±w with probability at least ``level``.

    >>> law = DiscreteLaplace.from_json({"scale": "10"})
    >>> half_width([Term(1.0, law)], 0.95)
    30.0
    >>> 31 < half_width([Term(0.8, law), Term(0.2, law, copies=4)], 0.99) < 42
    True
    """
    return _half_width(tuple(terms), level)


@lru_cache(maxsize=256)  # many releases ask for the same
def _half_width(terms: tuple[Term, ...], level: float) -> float:
    used = [term for term in terms if term.weight and term.copies]
    if len(used) == 1 and used[0].copies == 1:
        return abs(used[0].weight) * used[0].distribution.half_width(level)
    gaussian = [term.distribution for term in used if isinstance(term.distribution, DiscreteGaussian)]
    if len(gaussian) == len(used) and all(law.sigma >= _MIN_NORMAL_STEPS * law.step for law in gaussian):
        finest = min(abs(term.weight) * float(term.distribution.step) for term in used)
        deviation = math.sqrt(sum(term.variance for term in used))
        return NormalDist().inv_cdf((1 + level) / 2) * deviation + finest / 2
    draws = sum(term.copies for term in used)
    if draws > _MANY:  # nine tenths of the risk for the few, one tenth for the many, whose sum is tame
        few, many = [t for t in used if t.copies <= _FEW], [t for t in used if t.copies > _FEW]
        risk = 1 - level
        return (half_width(few, 1 - 0.9 * risk) if few else 0.0) + _tail_bound(many, 1 - 0.1 * risk)
    steps = (_FINE if draws <= _FEW else _COARSE) * draws
    step = math.sqrt(sum(term.variance for term in used)) / steps
    size = 1 << math.ceil(math.log2(2 * _GRID_DEVIATIONS * steps))
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    for term in used:
        spectrum *= np.fft.rfft(np.fft.ifftshift(_on_grid(term, step, size))) ** term.copies
    density = np.fft.fftshift(np.fft.irfft(spectrum, size))
    return _covering_radius(density, level) * step + draws * step / 2


def consistent_half_widths(
    items: NoiseDistribution, item_contexts: NoiseDistribution, weights: Weights, level: float
) -> tuple[float, float]:
    """Return the half-widths of an item and of an edge after :func:`consistency.reconcile`."""
    h = weights.contexts
    spread = (1 - weights.edges) / h
    item = half_width([Term(weights.item, items), Term(weights.edges, item_contexts, copies=h)], level)
    edge = half_width(
        [
            Term(weights.item / h, items),
            Term(1 - spread, item_contexts),
            Term(spread, item_contexts, copies=h - 1),
        ],
        level,
    )
    return item, edge


def _tail_bound(terms: Sequence[Term], level: float) -> float:
    """Return a half-width by Chernoff's bound: always enough, if somewhat too wide."""
    spread = math.sqrt(sum(term.variance for term in terms))
    max_rate = min([30 / spread, *(_max_rate(term) for term in terms)])
    rates = max_rate * np.linspace(0.001, 0.999, 999)
    growth = np.full(rates.size, math.log(2 / (1 - level)))
    for term in terms:
        growth += term.copies * _log_moment(term, rates)
    return float(np.min(growth / rates))


def _max_rate(term: Term) -> float:
    """Return the rate below which a weighted draw has exponential moments."""
    return (
        float(1 / term.distribution.scale) / abs(term.weight)
        if isinstance(term.distribution, DiscreteLaplace)
        else math.inf
    )


def _log_moment(term: Term, rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of E exp(rate · X), or what it cannot exceed, for a weighted draw X.

    A discrete Gaussian grows no faster than a normal of its sigma (Canonne, Kamath and Steinke, corollary 17).
    """
    distribution = term.distribution
    if isinstance(distribution, DiscreteGaussian):
        return np.asarray((rates * term.weight * float(distribution.sigma)) ** 2 / 2, dtype=np.float64)
    turn = rates * abs(term.weight) * float(distribution.step)
    moment = np.log1p(-distribution.alpha * np.exp(turn)) + np.log1p(-distribution.alpha * np.exp(-turn))
    return np.asarray(2 * math.log1p(-distribution.alpha) - moment, dtype=np.float64)


def _on_grid(term: Term, step: float, size: int) -> NDArray[np.float64]:
    """Return the probability that one weighted draw falls into each grid cell, centred on zero."""
    borders = np.asarray((np.arange(size + 1) - size // 2 - 0.5) * (step / abs(term.weight)), dtype=np.float64)
    mass: NDArray[np.float64] = np.diff(term.distribution.cdf(borders))
    return mass


def _covering_radius(density: NDArray[np.float64], level: float) -> int:
    centre = density.size // 2
    right = np.cumsum(density[centre + 1 :])
    left = np.cumsum(density[centre - 1 : 0 : -1])
    covered = density[centre] + right[: left.size] + left
    return int(np.searchsorted(covered, level)) + 1
