"""How far a released count may lie from what it estimates: interval half-widths from the noise law alone.

A count that carries one noise draw has an exact interval in closed form. A consistent count is a weighted sum
of many draws; its law is computed by convolution on a fine grid, and the half-width is widened by the largest
error the grid can make, so the stated level is never undercut. Thousands of draws are bounded instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount.answers.consistency import Weights
from headcount.noise_law import DiscreteLaplace

# up to few draws a fine grid, up to many a coarse one, beyond that a bound
_FEW, _MANY = 64, 4096
# grid steps per standard deviation and draw: the interval is widened by half a step a draw
_FINE, _COARSE = 100, 24
_REACH = 24  # standard deviations covered either way; what lies beyond is counted as outside


@dataclass(frozen=True)
class Term:
    """``copies`` independent draws from ``law``, each multiplied by ``weight``."""

    weight: float
    law: DiscreteLaplace
    copies: int = 1

    @property
    def variance(self) -> float:
        """The variance this term adds."""
        return self.copies * self.weight**2 * self.law.variance


def half_width(terms: Sequence[Term], level: float) -> float:
    """Return w such that the weighted sum of all draws lies within ±w with probability at least ``level``.

    >>> law = DiscreteLaplace.from_json({"scale": "10"})
    >>> half_width([Term(1.0, law)], 0.95)
    30.0
    >>> 31 < half_width([Term(0.8, law), Term(0.2, law, copies=4)], 0.99) < 42
    True
    """
    used = [term for term in terms if term.weight and term.copies]
    if len(used) == 1 and used[0].copies == 1:
        return abs(used[0].weight) * used[0].law.half_width(level)
    draws = sum(term.copies for term in used)
    if draws > _MANY:  # nine tenths of the risk for the few, one tenth for the many, whose sum is tame
        few, many = [t for t in used if t.copies <= _FEW], [t for t in used if t.copies > _FEW]
        risk = 1 - level
        return (half_width(few, 1 - 0.9 * risk) if few else 0.0) + _tail_bound(many, 1 - 0.1 * risk)
    steps = (_FINE if draws <= _FEW else _COARSE) * draws
    step = math.sqrt(sum(term.variance for term in used)) / steps
    size = 1 << math.ceil(math.log2(2 * _REACH * steps))
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    for term in used:
        spectrum *= np.fft.rfft(np.fft.ifftshift(_on_grid(term, step, size))) ** term.copies
    density = np.fft.fftshift(np.fft.irfft(spectrum, size))
    return _covering_radius(density, level) * step + draws * step / 2


def consistent_half_widths(
    items: DiscreteLaplace, edges: DiscreteLaplace, weights: Weights, level: float
) -> tuple[float, float]:
    """Return the half-widths of an item and of an edge after :func:`consistency.reconcile`."""
    h = weights.contexts
    spread = (1 - weights.edges) / h
    item = half_width([Term(weights.item, items), Term(weights.edges, edges, copies=h)], level)
    edge = half_width(
        [Term(weights.item / h, items), Term(1 - spread, edges), Term(spread, edges, copies=h - 1)], level
    )
    return item, edge


def _tail_bound(terms: Sequence[Term], level: float) -> float:
    """Return a half-width by Chernoff's bound: always enough, if somewhat too wide."""
    reach = min(float(1 / term.law.scale) / abs(term.weight) for term in terms)
    rates = reach * np.linspace(0.001, 0.999, 999)
    growth = np.full(rates.size, math.log(2 / (1 - level)))
    for term in terms:
        alpha, turn = term.law.alpha, rates * abs(term.weight) * float(term.law.step)
        moment = np.log1p(-alpha * np.exp(turn)) + np.log1p(-alpha * np.exp(-turn))
        growth += term.copies * (2 * math.log1p(-alpha) - moment)
    return float(np.min(growth / rates))


def _on_grid(term: Term, step: float, size: int) -> NDArray[np.float64]:
    """Return the probability that one weighted draw falls into each grid cell, centred on zero."""
    borders = np.asarray((np.arange(size + 1) - size // 2 - 0.5) * (step / abs(term.weight)), dtype=np.float64)
    mass: NDArray[np.float64] = np.diff(term.law.cdf(borders))
    return mass


def _covering_radius(density: NDArray[np.float64], level: float) -> int:
    centre = density.size // 2
    right = np.cumsum(density[centre + 1 :])
    left = np.cumsum(density[centre - 1 : 0 : -1])
    covered = density[centre] + right[: left.size] + left
    return int(np.searchsorted(covered, level)) + 1
