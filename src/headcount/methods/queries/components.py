"""Components of queries: their energy in each subset of columns (main effects, pairs, triples). Public.

Every table of numbers over a grid is a sum of components, one for each subset of the columns: what these columns
together tell and fewer do not. They are orthogonal. The *energy* of a query in a component is the square of what
falls to it: that much of the component's noise its answer has. A count over few columns has energy in few
components, and what no query has any energy in need not be measured.

Reference
    Y. Xiao, G. He, D. Zhang, D. Kifer. An Optimal and Scalable Matrix Mechanism for Noisy Marginals under Convex
    Loss Functions. NeurIPS 2023.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Floats
from headcount.bounds import LinearQueries
from headcount.bounds.grid.contrasts import Subset

MOST = 1 << 13
"""How many components may be told apart; queries that look at more ask for all cells."""

_WORK = 1 << 24  # cells of queries over the same columns that are looked at; of more, some stand for all
_LEAST = 1e-3  # the energy of a component, against the average, that queries not looked at may have in it


@dataclass(frozen=True)
class Energies:
    """The energy of each query, by the columns it looks at: ``places`` of queries, and a row for each of them.

    A row has 2^k numbers, one for each subset of k columns, the last column running quickest.
    """

    shape: tuple[int, ...]
    places: Mapping[Subset, NDArray[np.int64]]
    rows: Mapping[Subset, Floats]
    """Of many queries over the same columns, those of some of them, evenly spaced."""

    @property
    def components(self) -> dict[Subset, float]:
        """The energy of all queries together in each component that has any; that of none at all is the mean's."""
        energy_by_subset = dict[Subset, float]()
        for columns, rows in self.rows.items():
            times = self.places[columns].size / rows.shape[0]
            energy = rows.sum(axis=0) * times
            if times > 1:
                sizes = np.array([prod(self.shape[place] - 1 for place in some) for some in subsets(columns)])
                energy = np.maximum(energy, _LEAST * energy.sum() / sizes.sum() * sizes)
            for some, more in zip(subsets(columns), energy.tolist(), strict=True):
                energy_by_subset[some] = energy_by_subset.get(some, 0.0) + more
        most = max(energy_by_subset.values(), default=0.0)
        return {some: energy for some, energy in energy_by_subset.items() if energy > 1e-12 * most} or {(): 1.0}


def energies(queries: LinearQueries, shape: tuple[int, ...]) -> Energies | None:
    """Return the energies of queries over a grid; None if they look at too many columns together.

    >>> rows = LinearQueries.from_matrix([[1, 0, 1, 0], [0, 1, 0, 1]])
    >>> {some: round(energy, 9) for some, energy in energies(rows, (2, 2)).components.items()}
    {(): 2.0, (1,): 2.0}
    """
    places = dict[Subset, list[int]]()
    kept = dict[Subset, _Kept]()
    for place in range(queries.size):
        columns, mask = _narrow(queries.mask(place).reshape(shape))
        places.setdefault(columns, []).append(place)
        kept.setdefault(columns, _Kept()).add(mask)
        if 1 << len(columns) > MOST:
            return None
    if len({entry for columns in places for entry in subsets(columns)}) > MOST:
        return None
    rows = dict[Subset, Floats]()
    for columns, some in kept.items():
        outside = prod(size for place, size in enumerate(shape) if place not in columns)
        rows[columns] = _squares(np.stack(some.masks)) * outside
    return Energies(shape, {columns: np.array(entry) for columns, entry in places.items()}, rows)


class _Kept:
    """Queries over the same columns: all, or every second, fourth, … if they are many."""

    def __init__(self) -> None:
        self.masks: list[NDArray[np.bool_]] = []
        self._every, self._n_masks = 1, 0

    def add(self, mask: NDArray[np.bool_]) -> None:
        if self._n_masks % self._every == 0:
            self.masks.append(mask)
        self._n_masks += 1
        if len(self.masks) > 1 and len(self.masks) * mask.size > _WORK:
            self.masks, self._every = self.masks[::2], 2 * self._every


def variances(
    queries: LinearQueries, query_energies: Energies, component_variances: Mapping[Subset, float]
) -> Floats:
    """Return the variance of every answer, if that of every component that queries have energy in is known."""
    out = np.zeros(queries.size)
    for columns, places in query_energies.places.items():
        subset_variances = np.array([component_variances.get(some, 0.0) for some in subsets(columns)])
        rows = query_energies.rows[columns]
        if rows.shape[0] == places.size:
            out[places] = rows @ subset_variances
            continue
        outside = prod(size for place, size in enumerate(query_energies.shape) if place not in columns)
        for place in places:
            _, mask = _narrow(queries.mask(int(place)).reshape(query_energies.shape))
            out[place] = (_squares(mask[None]) @ subset_variances)[0] * outside
    return out


def subsets(columns: Subset) -> list[Subset]:
    """Return all subsets of some columns, in the order of a row of energies.

    >>> subsets((1, 4))
    [(), (4,), (1,), (1, 4)]
    """
    result: list[Subset] = [()]
    for place in columns:
        result = [subset for some in result for subset in (some, (*some, place))]
    return result


def transformed(values: Floats, axes: tuple[int, ...], *, back: bool = False) -> Floats:
    """Turn values into coordinates of components, orthonormal along each axis, that of the mean first; or back."""
    for axis in axes:
        basis = _basis(values.shape[axis])
        values = np.moveaxis(np.tensordot(basis.T if back else basis, values, (1, axis)), 0, axis)
    return values


def by_component(shape: tuple[int, ...], numbers: Mapping[Subset, float]) -> Floats:
    """Return, for every coordinate of a grid, the number of the component that it belongs to, or 0."""
    small = np.zeros((2,) * len(shape))
    for some, number in numbers.items():
        small[tuple(int(place in some) for place in range(len(shape)))] = number
    for axis, size in enumerate(shape):
        small = np.repeat(small, [1, size - 1], axis=axis)
    return small


def _narrow(mask: NDArray[np.bool_]) -> tuple[Subset, NDArray[np.bool_]]:
    """Return the columns that a query looks at, and which of their cells it takes."""
    columns = []
    for axis in range(mask.ndim):
        first = mask.take([0], axis)
        if mask.shape[axis] > 1 and (mask != first).any():
            columns.append(axis)
        else:
            mask = first
    return tuple(columns), mask.reshape([mask.shape[axis] for axis in columns])


def _squares(masks: NDArray[np.bool_]) -> Floats:
    """Return the energy of each query over the same columns, in each subset of them."""
    axes = tuple(range(1, masks.ndim))
    energy = transformed(masks.astype(np.float64), axes) ** 2
    for axis in axes:
        energy = np.add.reduceat(energy, [0, 1], axis=axis)
    return np.asarray(energy.reshape(masks.shape[0], -1))


@lru_cache(maxsize=256)
def _basis(size: int) -> Floats:
    """Return an orthonormal basis, the first vector constant: Helmert's."""
    basis = np.zeros((size, size))
    basis[0] = 1
    for row in range(1, size):
        basis[row, :row], basis[row, row] = 1, -row
    return np.asarray(basis / np.sqrt((basis**2).sum(axis=1, keepdims=True)))
