"""Noise allocation: the weight of each contrast that minimises the total variance of the answers.

The answers' variances add up to the sum, over components, of energy over precision. Weights g of blocks (see
:mod:`headcount.bounds.grid.contrasts`) make the precision, and they cost privacy: the sum of their squares in L2,
their sum in L1.

In L2 no block tells of another component than its own, and the best weights are known in closed form: the
precision of a component is in proportion to the root of its energy over its cost (Xiao et al., theorem 5). In L1
a block over long columns tells of all that lies in it, and the best weights are looked for, step by step, from
two starts. All numbers here are public: the queries, the shape of the grid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from headcount._internal.arrays import Floats
from headcount.bounds import Norm
from headcount.bounds.grid.contrasts import Subset, contrasts_sensitivity

_FINE = 64  # the smallest weight that is rounded to a whole number: by less than one in a hundred
_FEW = 600  # components that are looked at against each other
_STEPS = 300
_NOTHING = 1e-3  # weights so much smaller than the largest are left out, where others tell the same


@dataclass(frozen=True)
class ContrastWeights:
    """Weights of blocks, and the precision of each component: what noise of variance 1 would leave of it."""

    shape: tuple[int, ...]
    norm: Norm
    weights: Mapping[Subset, int]
    precision: Mapping[Subset, float]

    def variance(self, energy: Mapping[Subset, float]) -> float:
        """Return the sum of all answers' variances, for noise that pays for one record at ε = 1, or ρ = 1/2."""
        moved = contrasts_sensitivity(1, self.shape, self.weights, self.norm)
        spread = 2 * moved.l1**2 if self.norm == "l1" else moved.l2_squared
        return spread * sum(amount / self.precision[some] for some, amount in energy.items())


def allocate_noise(energy: Mapping[Subset, float], shape: tuple[int, ...], norm: Norm) -> ContrastWeights:
    """Return whole weights that are best for energies in components, or nearly so.

    >>> allocate_noise({(): 4.0, (0,): 1.0, (1,): 1.0}, (2, 3), "l2").weights
    {(): 186, (0,): 132, (1,): 64}
    """
    return _best(tuple(energy.items()), shape, norm)


@lru_cache(maxsize=64)
def _best(energy: tuple[tuple[Subset, float], ...], shape: tuple[int, ...], norm: Norm) -> ContrastWeights:
    """Return the weights for :func:`allocate_noise`; every stage of a release needs the same ones."""
    some = [subset for subset, _ in energy]
    energies = np.array([own for _, own in energy])
    if norm == "l2" or len(some) > _FEW or all(shape[place] == 2 for subset in some for place in subset):
        own = np.array([_precision_of(shape, subset, subset, norm) for subset in some])
        cost = np.array([float(_cost(shape, subset, norm)) for subset in some])
        best = (energies / (own * cost)) ** (1 / 4) if norm == "l2" else np.cbrt(energies / (own * cost))
    else:
        best = _searched(some, energies, shape)
    kept = best > (_NOTHING * best.max() if norm == "l1" else 0.0)
    whole = np.rint(best * (_FINE / best[kept].min())).astype(np.int64)
    weights = {subset: int(weight) for subset, weight, there in zip(some, whole, kept, strict=True) if there}
    return ContrastWeights(shape, norm, weights, precision(weights, some, shape, norm))


def precision(
    weights: Mapping[Subset, int], components: Sequence[Subset], shape: tuple[int, ...], norm: Norm
) -> dict[Subset, float]:
    """Return how precise each component is told by all blocks together, for noise of variance 1."""
    if norm == "l2":
        return {subset: weights[subset] ** 2 * _precision_of(shape, subset, subset, norm) for subset in components}
    precisions = dict.fromkeys(components, 0.0)
    for block, weight in weights.items():
        for subset in _inside(block, shape):
            if subset in precisions:
                precisions[subset] += weight**2 * _precision_of(shape, block, subset, norm)
    return precisions


def _searched(some: Sequence[Subset], energies: Floats, shape: tuple[int, ...]) -> Floats:
    """Look for the weights that make the least variance at L1 = 1, from all blocks and from the largest."""
    tells = np.array([[_precision_of(shape, block, subset, "l1") for subset in some] for block in some])
    largest = np.array([not any(set(subset) < set(other) for other in some) for subset in some])
    starts = [np.cbrt(energies / np.diag(tells)), np.where(largest, 1.0, 1e-4)]
    best, least = starts[0], np.inf
    for start in starts:
        g = start / start.sum()
        for _ in range(_STEPS):
            precisions = g**2 @ tells
            gain = g * (tells @ (energies / precisions**2))
            g = g * np.sqrt(gain / (g @ gain))
            g /= g.sum()
        g = np.where(g > _NOTHING * g.max(), g, 0.0)
        precisions = g**2 @ tells
        if (precisions > 0).all() and (variance := float((energies / precisions).sum()) * g.sum() ** 2) < least:
            best, least = g, variance
    return best


def _inside(block: Subset, shape: tuple[int, ...]) -> list[Subset]:
    """Return the components that a block coded for L1 tells of: without any of its long columns."""
    result: list[Subset] = [()]
    for place in block:
        result = [(*subset, place) for subset in result] + (result if shape[place] != 2 else [])
    return result


def _precision_of(shape: tuple[int, ...], block: Subset, component: Subset, norm: Norm) -> float:
    """Return how precisely a block of weight 1 tells of a component: what its code multiplies squares by."""
    value = 1.0
    for place, size in enumerate(shape):
        if place not in block:
            value *= 0 if place in component else size
        elif size == 2:
            value *= 2 if place in component else 0
        elif norm == "l2":
            value *= size**2 if place in component else 0
    return value


def _cost(shape: tuple[int, ...], block: Subset, norm: Norm) -> int:
    if norm == "l1":
        return 1
    return prod(1 if shape[place] == 2 else shape[place] * (shape[place] - 1) for place in block)
