"""Contrasts: equal to plain matrices, and moved as far as is declared, not further."""

from __future__ import annotations

from functools import reduce
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headcount.bounds import Norm
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity
from headcount.bounds.grid.contrasts import (
    Subset,
    contrasts,
    contrasts_sensitivity,
    decode_blocks,
    order_subsets,
    split_blocks,
)
from headcount.errors import UsageError

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
norms = st.sampled_from(("l1", "l2"))


def plain(shape: tuple[int, ...], some: Subset, norm: Norm) -> NDArray[np.int64]:
    """The matrix of one block, as the docstring says it."""
    factors = []
    for place, n in enumerate(shape):
        if place not in some:
            factors.append(np.ones((1, n), dtype=np.int64))
        elif n == 2:
            factors.append(np.array([[1, -1]]))
        elif norm == "l1":
            factors.append(np.eye(n, dtype=np.int64))
        else:
            factors.append(n * np.eye(n, dtype=np.int64) - 1)
    return reduce(np.kron, factors)


def weights_of(shape: tuple[int, ...], seed: int) -> dict[Subset, int]:
    """Some blocks, in any order, with any weights."""
    draw = np.random.default_rng(seed)
    every = [axes for order in range(len(shape) + 1) for axes in combinations(range(len(shape)), order)]
    some = draw.permutation(len(every))[: draw.integers(1, len(every) + 1)]
    return {every[place]: int(draw.integers(1, 9)) for place in some}


def bounded(values: NDArray[np.int64], reach: int) -> Bounded:
    return Bounded(values, Sensitivity(reach, reach**2, reach), SEAL)


@given(shapes, norms, st.integers(0, 2**32), st.integers(1, 7))
def test_they_are_those_of_a_plain_matrix_and_move_as_declared(
    shape: tuple[int, ...], norm: Norm, seed: int, reach: int
) -> None:
    """One record moves them by exactly what is declared, in L1 and L2, in whatever cell it is."""
    weights = weights_of(shape, seed)
    matrix = np.vstack([weights[some] * plain(shape, some, norm) for some in order_subsets(weights, len(shape))])
    values = np.random.default_rng(seed).integers(0, 1000, (matrix.shape[1],))
    measured = contrasts(bounded(values, reach), shape, weights, norm)
    assert measured.sensitive_values.tolist() == (matrix @ values).tolist()
    moved = measured.sensitivity
    longest = all(shape[place] > 1 or norm == "l1" for some in weights for place in some)
    for cell in matrix.T:
        assert reach * np.abs(cell).sum() <= moved.l1
        assert reach**2 * (cell**2).sum() <= moved.l2_squared
        assert reach * np.abs(cell).max() <= moved.linf
        if longest:
            assert (reach * np.abs(cell).sum(), reach**2 * (cell**2).sum()) == (moved.l1, moved.l2_squared)
    blocks = split_blocks((matrix @ values).astype(np.float64), shape, weights)
    assert set(blocks) == set(weights)
    back = decode_blocks({some: weights[some] * block for some, block in blocks.items()}, shape, norm)
    assert np.allclose(back.ravel(), matrix.T @ (matrix @ values), rtol=1e-12)


def test_a_group_moves_them_no_further_than_its_records_one_by_one() -> None:
    """Over all ways to put three records into six cells, with any signs: exactly Δ times one record at worst."""
    shape, weights = (2, 3), {(): 1, (0,): 2, (1,): 3, (0, 1): 1}
    matrix = np.vstack([weights[some] * plain(shape, some, "l2") for some in order_subsets(weights, 2)])
    moved = contrasts_sensitivity(3, shape, weights, "l2")
    furthest = 0
    for cells in product(range(6), repeat=3):
        for signs in product((1, -1), repeat=3):
            step = matrix[:, list(cells)] @ np.array(signs)
            furthest = max(furthest, int((step**2).sum()))
    assert furthest == moved.l2_squared


def test_only_bounded_cells_of_the_grid_with_whole_weights_are_taken() -> None:
    cells = bounded(np.arange(6), 1)
    with pytest.raises(TypeError, match="Bounded"):
        contrasts(np.arange(6), (2, 3), {(): 1}, "l1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no grid"):
        contrasts(cells, (2, 2), {(): 1}, "l1")
    for wrong in ({}, {(): 0}, {(): -1}, {(): 1.5}, {(): True}):
        with pytest.raises(ValueError, match="whole and positive"):
            contrasts(cells, (2, 3), wrong, "l1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="columns of the grid"):
        contrasts(cells, (2, 3), {(1, 0): 1}, "l1")


def test_numbers_that_would_not_fit_are_refused_beforehand() -> None:
    with pytest.raises(UsageError, match="too fine"):
        contrasts_sensitivity(1 << 20, (1000, 1000, 10), {(0, 1, 2): 64}, "l2")
