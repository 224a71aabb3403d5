"""Contrasts of a grid: the main effects and interactions of its columns as blocks of whole numbers.

Here are the linear map and its sensitivity; noise and inference are in the query methods.

A block is about some of the columns. Along each of these the cells of a grid are *coded*, along all others they
are added up:

- a column of two values by their difference, (1, -1);
- a longer one, for noise that is paid for in L2, by its n values less their mean, all times n: n I - J. What this
  leaves out, the mean, other blocks tell;
- a longer one, for noise that is paid for in L1, by its values as they are: the difference from their mean would
  move by nearly twice as much in L1.

Each block is multiplied by a weight, a whole number. So one vector with one noise tells some blocks well and
others less so; blocks that nobody asks for are left out.

Why it is bounded
    One record is in one cell. To the block of the columns A it adds the product, over the columns in A, of one
    column of each code, times the weight g. The L1 of such a product is the product of the L1 of its factors, and
    so for L2 and L∞. A column of (1, -1) and of I has 1 in every norm; one of n I - J has n - 1 once and -1 n - 1
    times: 2 (n - 1) in L1, n (n - 1) in L2 squared, n - 1 in L∞. Summed over blocks that is what one record
    moves, in whatever cell: m₁ in L1, √m₂ in L2. Cells that move by Δ in L1 are Δ records at most, joining or
    leaving, and by the triangle inequality they move all blocks together by at most Δ m₁ in L1 and Δ √m₂ in L2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import prod

import numpy as np

from headcount._internal.arrays import Floats, Integers
from headcount.bounds.bound import Norm
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity
from headcount.errors import UsageError, param

Subset = tuple[int, ...]
"""Places of columns, in their order."""

_MOST_L2_SQUARED = 1 << 62


def contrasts(cells: Bounded, shape: tuple[int, ...], weights: Mapping[Subset, int], norm: Norm) -> Bounded:
    """Return the blocks of a grid of some shape, each times its weight, one after the other.

    >>> cells = Bounded(np.array([5, 3, 1, 0]), Sensitivity(l1=1, l2_squared=1, linf=1), SEAL)
    >>> told = contrasts(cells, (2, 2), {(): 1, (1,): 1, (0, 1): 3}, "l2")
    >>> told.sensitive_values, told.sensitivity
    (array([9, 3, 3]), Sensitivity(l1=5, l2_squared=11, linf=3))
    """
    if type(cells) is not Bounded:
        raise TypeError(f"contrasts are of Bounded cells alone, not of {type(cells).__name__}")
    if prod(shape) != cells.size:
        raise ValueError(f"{cells.size} cells are no grid of {shape}")
    sensitivity = contrasts_sensitivity(cells.sensitivity.l1, shape, weights, norm)
    parts = [
        weights[subset] * block.ravel()
        for subset, block in encode_blocks(cells.sensitive_values, shape, weights, norm)
    ]
    return Bounded(np.concatenate(parts), sensitivity, SEAL, unit=cells.unit, admission=cells.admission)


def contrasts_sensitivity(
    max_records: int, shape: tuple[int, ...], weights: Mapping[Subset, int], norm: Norm
) -> Sensitivity:
    """Return how far cells that move by ``max_records`` in L1 move their weighed contrasts."""
    if not weights or any(type(weight) is not int or weight < 1 for weight in weights.values()):
        raise ValueError("contrasts need weights that are whole and positive")
    if any(list(subset) != sorted(set(subset) & set(range(len(shape)))) for subset in weights):
        raise ValueError(f"contrasts are over columns of the grid, in their order, not over {sorted(weights)}")
    weighted_codes = [
        (weight, [_code_sensitivity(shape[place], norm) for place in subset]) for subset, weight in weights.items()
    ]
    l1 = sum(weight * prod(code.l1 for code in factors) for weight, factors in weighted_codes)
    squared = sum(weight**2 * prod(code.l2_squared for code in factors) for weight, factors in weighted_codes)
    linf = max(weight * prod(code.linf for code in factors) for weight, factors in weighted_codes)
    if squared * max_records**2 > _MOST_L2_SQUARED:
        raise UsageError(
            f"a grid of {' × '.join(map(str, shape))} cells is too fine for contrasts of so many columns",
            remedy=f"use {param.method('histogram')}, or ask for fewer columns together",
        )
    return Sensitivity(max_records * l1, max_records**2 * squared, max_records * linf)


def encode_blocks(
    values: Integers, shape: tuple[int, ...], subsets: Collection[Subset], norm: Norm
) -> Iterator[tuple[Subset, Integers]]:
    """Yield the blocks that are wanted, in the order of :func:`order_subsets`, without weights.

    Columns are added up or coded one after the other, so that blocks share what they have in common.
    """

    def walk(
        partial_sums: Integers, subset: Subset, place: int, blocks: Collection[Subset]
    ) -> Iterator[tuple[Subset, Integers]]:
        if place == len(shape):
            yield subset, partial_sums
            return
        without, inside = _split_by_column(blocks, place)
        if without:
            yield from walk(partial_sums.sum(axis=len(subset)), subset, place + 1, without)
        if inside:
            yield from walk(_encode(partial_sums, len(subset), norm), (*subset, place), place + 1, inside)

    yield from walk(values.reshape(shape), (), 0, subsets)


def decode_blocks(blocks: Mapping[Subset, Floats], shape: tuple[int, ...], norm: Norm) -> Floats:
    """Return the transpose of :func:`encode_blocks`: released blocks, each spread over its cells.

    >>> decode_blocks({(): np.array(2.0), (1,): np.array([1.0])}, (1, 2), "l2")
    array([[3., 1.]])
    """

    def walk(subset: Subset, place: int, inner: Collection[Subset]) -> Floats:
        if place == len(shape):
            return blocks[subset]
        axis, (without, inside) = len(subset), _split_by_column(inner, place)
        terms = list[Floats]()
        if without:
            terms.append(np.repeat(np.expand_dims(walk(subset, place + 1, without), axis), shape[place], axis))
        if inside:
            terms.append(_decode(walk((*subset, place), place + 1, inside), axis, shape[place], norm))
        return np.asarray(sum(terms), dtype=np.float64)

    return walk((), 0, blocks)


def split_blocks(values: Floats, shape: tuple[int, ...], subsets: Collection[Subset]) -> dict[Subset, Floats]:
    """Cut a vector of contrasts into its blocks, each with an axis for every column."""
    blocks, begin = dict[Subset, Floats](), 0
    for subset in order_subsets(subsets, len(shape)):
        sizes = [1 if shape[place] == 2 else shape[place] for place in subset]
        blocks[subset] = values[begin : begin + prod(sizes)].reshape(sizes)
        begin += prod(sizes)
    return blocks


def order_subsets(subsets: Collection[Subset], columns: int) -> list[Subset]:
    """Return subsets in the order in which their blocks come.

    >>> order_subsets([(0, 1), (1,), (), (0,)], 2)
    [(), (1,), (0,), (0, 1)]
    """
    return sorted(subsets, key=lambda subset: [place in subset for place in range(columns)])


def _split_by_column(blocks: Collection[Subset], place: int) -> tuple[list[Subset], list[Subset]]:
    return [block for block in blocks if place not in block], [block for block in blocks if place in block]


def _encode(values: Integers, axis: int, norm: Norm) -> Integers:
    size = values.shape[axis]
    if size == 2:
        return np.asarray(values.take([0], axis) - values.take([1], axis))
    return values if norm == "l1" else np.asarray(size * values - values.sum(axis=axis, keepdims=True))


def _decode(values: Floats, axis: int, size: int, norm: Norm) -> Floats:
    if size == 2:
        return np.concatenate([values, -values], axis)
    return values if norm == "l1" else np.asarray(size * values - values.sum(axis=axis, keepdims=True))


def _code_sensitivity(size: int, norm: Norm) -> Sensitivity:
    """Return how far one record moves the code of a column."""
    if size == 2 or norm == "l1":
        return Sensitivity(1, 1, 1)
    return Sensitivity(2 * (size - 1), size * (size - 1), size - 1)
