"""How far a released count may lie from what it estimates: interval half-widths from the noise law alone.

A count that carries one noise draw has an exact interval in closed form. A consistent count is a weighted sum
of many draws; its law is computed by convolution on a fine grid, and the half-width is widened by the largest
error the grid can make, so the stated level is never undercut.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount.answers.consistency import Weights
from headcount.noise_law import DiscreteLaplace

_STEPS = 200  # grid steps per standard deviation and term; the interval is widened by at most 1/400 sd
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
    deviation = math.sqrt(sum(term.variance for term in used))
    step = deviation / (_STEPS * draws)
    size = 1 << math.ceil(math.log2(2 * _REACH * _STEPS * draws))
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
