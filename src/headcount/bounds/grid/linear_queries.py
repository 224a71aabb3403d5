"""Linear counting queries over a public grid: 0/1 rows, their exact answers, distances and scores.

A query is a row of zeros and ones over the cells; rows are public. Rows of many cells are packed as bits, rows of
few as lists. What they add up to of bounded cells is bounded again: a row takes each cell once or not at all, so
no answer moves further than all cells together did.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise, repeat
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Flags, Floats, Integers
from headcount._internal.threads import parallel_map
from headcount.bounds.bounded import SEAL, Bounded, Scored, Sensitivity
from headcount.errors import UsageError

Numbers = TypeVar("Numbers", Floats, Integers)
Kind = TypeVar("Kind", bound=np.generic)

MAX_BYTES = 1 << 30
"""How much memory rows may take."""

_THREADS = 2
_FEW_BYTES = 1 << 14  # of rows


class LinearQueries:
    """Rows of zeros and ones over so many cells.

    >>> rows = LinearQueries.from_matrix([[1, 1, 0], [0, 0, 1]])
    >>> rows.sums(np.array([1.0, 2.0, 4.0])).tolist(), rows.sizes.tolist()
    ([3.0, 4.0], [2, 1])
    """

    def __init__(
        self, cells: int, packed: NDArray[np.uint8], listed: Sequence[Integers], places: Integers
    ) -> None:
        """Take packed rows, and lists of cells; ``places`` says which query each is, the packed ones first.

        What is taken is a copy that nobody can change, of rows that take each cell once or not at all.
        """
        blocks = -(-cells // 8)
        if cells < 1 or packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[0] != blocks:
            raise UsageError(f"packed queries over {cells:,} cells must be rows of {blocks:,} bytes")
        if cells % 8 and (packed[-1] >> (cells % 8)).any():
            raise UsageError(f"packed queries ask for cells beyond the last of {cells:,}")
        self.cells, self._packed = cells, _frozen_copy(packed)
        self._listed = tuple(_frozen_copy(cell_list) for cell_list in listed)
        for cell_list in self._listed:
            if cell_list.dtype.kind != "i" or cell_list.ndim != 1 or not _increasing(cell_list, cells):
                raise UsageError(
                    f"a listed query must name cells from 0 to {cells - 1:,}, each once, in their order",
                    remedy="make queries with LinearQueries.from_matrix, from rows of zeros and ones",
                )
        self._places = _frozen_copy(np.asarray(places))
        if not np.array_equal(np.sort(self._places, axis=None), np.arange(packed.shape[1] + len(self._listed))):
            raise UsageError("the places of queries must be each of 0, 1, 2, … once")

    @classmethod
    def from_matrix(cls, rows: object, cells: int | None = None) -> LinearQueries:
        """Make queries from a matrix of zeros and ones, a query a row."""
        try:
            matrix = np.asarray(rows)
        except ValueError:  # rows of different lengths
            matrix = np.empty(0)
        if matrix.ndim != 2 or not matrix.size or not np.isin(matrix, (0, 1)).all():
            raise UsageError(
                "queries must be rows of zeros and ones, one for each cell",
                remedy="give a matrix with a row a query and a column a cell",
            )
        if cells is not None and matrix.shape[1] != cells:
            raise UsageError(f"queries have {matrix.shape[1]:,} columns, but there are {cells:,} cells")
        packed = np.packbits(matrix.astype(bool), axis=1, bitorder="little")
        return cls.from_bits(packed, matrix.shape[1])

    @classmethod
    def from_bits(cls, bits: NDArray[np.uint8], cells: int) -> LinearQueries:
        """Make queries from packed rows, the first cell in the lowest bit (little order, to ``np.packbits``)."""
        return cls(cells, bits.T, (), np.arange(bits.shape[0]))

    @classmethod
    def from_masks(cls, masks: Iterable[NDArray[np.bool_]], cells: int) -> LinearQueries:
        """Make queries from one mask after the other, each kept as takes least memory."""
        packed: list[NDArray[np.uint8]] = []
        listed: list[Integers] = []
        many: list[int] = []
        few: list[int] = []
        taken = 0
        for place, mask in enumerate(masks):
            cell_list = np.flatnonzero(mask)
            if 4 * cell_list.size < -(-cells // 8):
                listed.append(cell_list.astype(np.int32))
                few.append(place)
                taken += 4 * cell_list.size
            else:
                packed.append(np.packbits(mask, bitorder="little"))
                many.append(place)
                taken += packed[-1].size
            if taken > MAX_BYTES:
                raise UsageError(
                    f"the first {place + 1:,} queries over {cells:,} cells take more memory than "
                    f"{MAX_BYTES >> 20:,} MiB",
                    remedy="ask fewer at a time, or use coarser bins",
                )
        bits = np.array(packed, dtype=np.uint8).reshape(len(packed), -(-cells // 8))
        return cls(cells, bits.T, listed, np.array(many + few, dtype=np.int64))

    @property
    def size(self) -> int:
        """How many queries there are."""
        return self._places.size

    @cached_property
    def sizes(self) -> Integers:
        """How many cells each query asks for."""
        from headcount.bounds.grid import kernels

        out = np.zeros(self.size, dtype=np.int64)
        many = np.zeros(self._packed.shape[1], dtype=np.int64)
        kernels.count_cells(self._packed, many)
        out[self._places] = np.concatenate([many, [cell_list.size for cell_list in self._listed]]).astype(np.int64)
        return out

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of all rows: what makes two sets of queries the same."""
        whole = hashlib.sha256(f"{self.cells}\0{self.size}\0".encode())
        for part in (self._places, self._packed, *self._listed):
            whole.update(np.ascontiguousarray(part).tobytes() + b"\0")
        return whole.hexdigest()

    def __repr__(self) -> str:
        return f"<{self.size} queries over {self.cells} cells, {self.digest}>"

    def mask(self, place: int) -> NDArray[np.bool_]:
        """Return the row of one query."""
        at = int(np.flatnonzero(self._places == place)[0])
        if at < self._packed.shape[1]:
            bits = np.unpackbits(np.ascontiguousarray(self._packed[:, at]), bitorder="little")
            return bits[: self.cells].astype(bool)
        row = np.zeros(self.cells, dtype=bool)
        row[self._listed[at - self._packed.shape[1]]] = True
        return row

    def inside(self, cells: Integers) -> Flags:
        """Say of some cells which query asks for them, a row a query.

        >>> LinearQueries.from_matrix([[1, 1, 0], [0, 0, 1]]).inside(np.array([0, 2])).tolist()
        [[True, False], [False, True]]
        """
        rows = np.zeros((self.size, cells.size), dtype=bool)
        many, few = np.split(self._places, [self._packed.shape[1]])
        rows[many] = (self._packed[cells >> 3] >> (cells & 7).astype(np.uint8)[:, None] & 1).T
        for place, cell_list in zip(few.tolist(), self._listed, strict=True):
            rows[place] = np.isin(cells, cell_list)
        return rows

    def sums(self, values: Floats) -> Floats:
        """Return the sum of the values in each query's cells."""
        return self._added_up(np.asarray(values, dtype=np.float64))

    def counts(self, values: Integers) -> Integers:
        """Return the sum of whole numbers in each query's cells, exactly."""
        return self._added_up(np.asarray(values, dtype=np.int64))

    def _added_up(self, values: Numbers) -> Numbers:
        from headcount.bounds.grid import kernels

        if values.shape != (self.cells,):
            raise ValueError(f"queries are over {self.cells} cells, not {values.shape}")
        padded = np.concatenate([values, np.zeros(-values.size % 8, dtype=values.dtype)])
        borders = np.linspace(0, self._packed.shape[0], _THREADS + 1).astype(np.int64)
        parts = np.zeros((_THREADS, self._packed.shape[1]), dtype=values.dtype)
        with parallel_map(_THREADS, few=self._packed.size < _FEW_BYTES) as run:
            blocks = [self._packed[first:end] for first, end in pairwise(borders)]
            list(run(kernels.packed_sums, blocks, repeat(padded), borders[:-1], parts))
        out = np.zeros(self.size, dtype=values.dtype)
        few = [values[cell_list].sum() for cell_list in self._listed]
        out[self._places] = np.concatenate([parts.sum(axis=0), np.array(few, dtype=values.dtype)])
        return out


def _frozen_copy(values: NDArray[Kind]) -> NDArray[Kind]:
    """Return a copy that cannot be written to, its rows one after the other."""
    copied = np.array(values, order="C")
    copied.setflags(write=False)
    return copied


def _increasing(cells: Integers, most: int) -> bool:
    return cells.size == 0 or bool(cells[0] >= 0 and cells[-1] < most and (np.diff(cells) > 0).all())


def exact_answers(cells: Bounded, queries: LinearQueries) -> Bounded:
    """Return what every query adds up to.

    A row of zeros and ones moves by no more than the L1 of the cells; q rows together by q times that in L1. Of a
    class of its own, rows could add up to anything.

    >>> cells = Bounded(np.array([5, 3, 1]), Sensitivity(l1=2, l2_squared=4, linf=2), SEAL)
    >>> exact_answers(cells, LinearQueries.from_matrix([[1, 1, 0], [0, 1, 1]])).sensitivity
    Sensitivity(l1=4, l2_squared=8, linf=2)
    """
    if type(cells) is not Bounded:
        raise TypeError(f"queries are answered from Bounded cells alone, not from {type(cells).__name__}")
    if type(queries) is not LinearQueries:
        raise TypeError(f"only LinearQueries are answered, not {type(queries).__name__}")
    cells_l1, size = cells.sensitivity.l1, queries.size
    sensitivity = Sensitivity(l1=size * cells_l1, l2_squared=size * cells_l1**2, linf=cells_l1)
    return Bounded(
        queries.counts(cells.sensitive_values), sensitivity, SEAL, unit=cells.unit, admission=cells.admission
    )


def distances(answers: Bounded, estimates: Floats) -> Bounded:
    """Return how far each answer is from its public estimate, which is rounded to a whole number first.

    An estimate moves with nobody, so a distance moves by no more than the answer. What is no number counts as 0.
    """
    if type(answers) is not Bounded:
        raise TypeError(f"distances are of Bounded answers alone, not of {type(answers).__name__}")
    rounded = np.clip(np.nan_to_num(np.rint(estimates)), -(2.0**62), 2.0**62).astype(np.int64)
    gaps = np.asarray(np.abs(answers.sensitive_values - rounded))
    return Bounded(gaps, answers.sensitivity, SEAL, unit=answers.unit, admission=answers.admission)


def total_distance(table: Bounded, estimates: Floats) -> Bounded:
    """Return how far a table is from public estimates of its cells, in all, as one value.

    Each distance moves by no more than its cell, so that their sum moves by no more than the cells do in L1.

    >>> cells = Bounded(np.array([5, 3, 1]), Sensitivity(l1=2, l2_squared=4, linf=2), SEAL)
    >>> far = total_distance(cells, np.array([4.0, 4.0, 1.0]))
    >>> far.sensitive_values, far.sensitivity
    (array([2]), Sensitivity(l1=2, l2_squared=4, linf=2))
    """
    gaps = distances(table, estimates)
    summed = gaps.sensitive_values.sum(dtype=np.int64).reshape(1)
    sensitivity = Sensitivity.of_l1(gaps.sensitivity.l1)
    return Bounded(summed, sensitivity, SEAL, unit=table.unit, admission=table.admission)


def distance_scores(gaps: Bounded) -> Scored:
    """Weigh queries by how far their answers are from the estimates: the worst is the best candidate.

    A distance may grow for one query and shrink for another, by L∞ each: two candidates move by at most twice that
    differently.
    """
    if type(gaps) is not Bounded:
        raise TypeError(f"scores take Bounded values alone, not {type(gaps).__name__}")
    return Scored(gaps.sensitive_values.ravel().copy(), 2 * gaps.sensitivity.linf, SEAL)


def quantile(bounded: Bounded, level: float) -> Bounded:
    """Return the value that a share ``level`` of all values do not exceed, as one value.

    If every value moves by at most L∞, so does each one in order: no more values can lie below any limit that is
    L∞ higher than before. The place in the order is public.

    >>> values = Bounded(np.array([7, 1, 5]), Sensitivity(l1=6, l2_squared=12, linf=2), SEAL)
    >>> quantile(values, 0.5).sensitive_values, quantile(values, 0.5).sensitivity.l1
    (array([5]), 2)
    """
    if type(bounded) is not Bounded:
        raise TypeError(f"quantiles are of Bounded values alone, not of {type(bounded).__name__}")
    values = np.sort(bounded.sensitive_values.ravel())
    place = min(values.size - 1, max(0, int(np.ceil(level * values.size)) - 1))
    linf = bounded.sensitivity.linf
    return Bounded(
        values[place : place + 1].copy(),
        Sensitivity(linf, linf**2, linf),
        SEAL,
        unit=bounded.unit,
        admission=bounded.admission,
    )
