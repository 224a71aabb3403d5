"""Cell codes: map one or several columns of a batch to integer codes; -1 for rows that do not count.

Codes follow the order of occurrence, which is private: no draw and no release may depend on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headcount._internal.arrays import Codes
from headcount.errors import UsageError
from headcount.events.encode.column_types import check_column_type, whole_ids
from headcount.events.encode.id_table import Ids, Listed, LookUp, ids_for
from headcount.events.encode.text_columns import is_textual
from headcount.events.grid import Grid, NumberBins, ValueBins
from headcount.events.log import EventLog
from headcount.events.sources.files.packed_store import PackedSource
from headcount.events.sources.files.scalar import finite_numbers

Coder = Callable[[pa.RecordBatch], Codes]

_MOST_CODES = 2**31 - 1


class ListedItems:
    """Places in the public catalogue."""

    def __init__(self, log: EventLog) -> None:
        self._column = log.roles.item
        self._listed = Listed(log.catalogue.as_type(log.type_of(self._column), self._column))

    def __call__(self, batch: pa.RecordBatch) -> Codes:
        """Return the place of each row's item."""
        return self._listed.codes(batch.column(self._column))

    def look_up(self, batch: pa.RecordBatch) -> LookUp | None:
        """Return how the places are looked up, where no item need be searched for."""
        return self._listed.look_up(batch.column(self._column))


class GivenItems:
    """Items of a log without a catalogue, each with a code from its first occurrence.

    The items and their number are private. An empty text does not count: no catalogue could list it.
    """

    def __init__(self, log: EventLog) -> None:
        self._column = log.roles.item
        self._kind = log.type_of(self._column)
        self.table: Ids = ids_for(self._kind, None, None, self._column)
        self._nameless = int(self.table.codes(pa.array([""]))[0]) if is_textual(self._kind) else -1

    def __call__(self, batch: pa.RecordBatch) -> Codes:
        """Return the code of each row's item."""
        codes = self.table.codes(batch.column(self._column))
        return np.where(codes != self._nameless, codes, np.int32(-1))

    @property
    def ids(self) -> pa.Array:
        """The raw ids of all items, by their codes; the empty text is the first, if there are texts."""
        raw = self.table.raw
        if isinstance(raw, tuple):
            data, ends = raw
            places = np.concatenate([np.zeros(1, dtype=np.int64), ends])
            buffers = [None, pa.py_buffer(places), pa.py_buffer(data)]
            return pa.Array.from_buffers(pa.large_string(), ends.size, buffers)
        return pa.array(raw.view(np.uint64) if pa.types.is_uint64(self._kind) else raw)


class GroupCodes:
    """Groups of users, each with a code from its first occurrence."""

    def __init__(self, log: EventLog, column: str) -> None:
        self._column = column
        self.table: Ids = ids_for(log.type_of(column), None, None, column)

    def __call__(self, batch: pa.RecordBatch) -> Codes:
        """Return the code of each row's group."""
        return _codes_of_present(batch.column(self._column), self.table.codes)


class GridCells:
    """Cells of a public grid."""

    def __init__(self, log: EventLog, grid: Grid) -> None:
        self._bins = [(bins, _coder(bins, log)) for bins in grid.bins]
        self._start = np.int32(0) if grid.cells <= _MOST_CODES else np.int64(0)

    def __call__(self, batch: pa.RecordBatch) -> Codes:
        """Return the cell that each row is in."""
        cells = np.full(batch.num_rows, self._start)
        inside = np.ones(batch.num_rows, dtype=bool)
        for bins, codes in self._bins:
            place = codes(batch.column(bins.column))
            inside &= place >= 0
            cells = cells * self._start.dtype.type(bins.size) + place
        # of a wide grid they have 64 bits, as all who measure grids make of them anyway
        return cast("Codes", np.where(inside, cells, self._start.dtype.type(-1)))


def one_cell(batch: pa.RecordBatch) -> Codes:
    """Return the same cell for all rows."""
    return np.zeros(batch.num_rows, dtype=np.int32)


def check_table(log: EventLog, grid: Grid, groups: str | None) -> None:
    """Refuse a log that the grid does not fit, before any record is read."""
    if isinstance(log.source, PackedSource):
        raise UsageError("a packed store holds items, not the columns that bins are of", remedy="query the table")
    if log.context is not None or log.roles.times is not None or log.roles.value is not None:
        raise UsageError(
            "queries count the records of a table: they take no context, value or times",
            remedy="leave these out, and name columns in the bins",
        )
    for column in (*grid.columns, *((groups,) if groups is not None else ())):
        log.type_of(column)
    if groups is not None:
        check_column_type(log.type_of(groups), "group", groups)
    for bins in grid.bins:
        if isinstance(bins, ValueBins):
            _places(bins, log.type_of(bins.column))
        else:
            check_column_type(log.type_of(bins.column), "values", bins.column)


def _codes_of_present(column: pa.Array, codes: Callable[[pa.Array], Codes]) -> Codes:
    """Return the codes of values, -1 where one is missing."""
    column = whole_ids(column)
    there = pc.is_valid(column)
    codes_of_rows = np.full(len(column), -1, dtype=np.int32)
    codes_of_rows[there.to_numpy(zero_copy_only=False)] = codes(column.filter(there))
    return codes_of_rows


def _coder(bins: NumberBins | ValueBins, log: EventLog) -> Callable[[pa.Array], Codes]:
    if isinstance(bins, NumberBins):
        notation = log.roles.numbers.notation_of(bins.column)
        return lambda column: _number_places(bins, notation.plain(column))
    look_up, rest = _places(bins, log.type_of(bins.column)), np.int32(len(bins.values) if bins.other else -1)

    def places(column: pa.Array) -> Codes:
        positions = _codes_of_present(column, look_up)
        return np.where(positions < 0, rest, positions)

    return places


def _places(bins: ValueBins, kind: pa.DataType) -> Callable[[pa.Array], Codes]:
    """Return how the listed values of a column are found; refuse a column of another type."""
    check_column_type(kind, "value", bins.column)
    if is_textual(kind):  # as every number is in a CSV file, and a column without values
        listed = pa.array([str(value) for value in bins.values], pa.string())
    elif isinstance(bins.values[0], str):
        raise UsageError(
            f"column {bins.column!r} holds {kind}, but its bins list texts",
            remedy="list the values as they are in the column",
        )
    else:
        listed = pa.array(bins.values, pa.int64())
    return Listed(listed).codes


def _number_places(bins: NumberBins, column: pa.Array) -> Codes:
    numbers: NDArray[np.float64] = finite_numbers(column).to_numpy(zero_copy_only=False)
    missing = np.isnan(numbers)
    inner = np.array(bins.edges[1:-1], dtype=np.float64)
    places = np.searchsorted(inner, np.where(missing, bins.edges[0], numbers), side="right").astype(np.int32)
    return np.where(missing, np.int32(-1), places)
