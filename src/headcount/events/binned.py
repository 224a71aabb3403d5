"""A table of people read through a public grid: who, in which cell, of which group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headcount.arrays import Codes
from headcount.errors import UsageError
from headcount.events.catalogue import NoCatalogue
from headcount.events.column_types import check_id_type, check_value_type
from headcount.events.encoding import CodedBatch, EncodedLog
from headcount.events.grid import Grid, NumberBins, ValueBins
from headcount.events.ids import Ids, catalogue_codes, ids_for
from headcount.events.log import EventLog
from headcount.events.store import PackedSource, Tally
from headcount.events.texts import is_textual
from headcount.events.values import finite_numbers


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
        check_id_type(log.type_of(groups), "group", groups)
    for bins in grid.bins:
        if isinstance(bins, ValueBins):
            _places(bins, log.type_of(bins.column))
        else:
            check_value_type(log.type_of(bins.column), bins.column)


class BinnedLog(EncodedLog):
    """Reads a table in passes of coded batches; a cell of -1 does not count, a group of -1 is nobody else's."""

    def __init__(self, log: EventLog, grid: Grid, groups: str | None = None) -> None:
        check_table(log, grid, groups)
        self.log = replace(log, catalogue=NoCatalogue())
        self.tally = Tally()
        self._grid, self._groups = grid, groups
        self.users: Ids = ids_for(log.type_of(log.roles.user), None, None, log.roles.user)
        self.groups: Ids | None = None
        if groups is not None:
            self.groups = ids_for(log.type_of(groups), None, None, groups)
        self._codes = [_coder(bins, log.type_of(bins.column)) for bins in grid.bins]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that must be read."""
        own = (*self._grid.columns, *((self._groups,) if self._groups is not None else ()))
        return tuple(dict.fromkeys((*self.log.columns, *own)))

    def _coded(self, batch: pa.RecordBatch, contexts: Codes | None) -> CodedBatch:  # noqa: ARG002
        users = self.users.codes(batch.column(self.log.roles.user))
        cells = np.zeros(batch.num_rows, dtype=np.int32)
        inside = np.ones(batch.num_rows, dtype=bool)
        for bins, codes in zip(self._grid.bins, self._codes, strict=True):
            place = codes(batch.column(bins.column))
            inside &= place >= 0
            cells = cells * np.int32(bins.size) + place
        self.tally.outside_catalogue += int(np.count_nonzero(~inside))
        return CodedBatch(users, np.where(inside, cells, np.int32(-1)), None, contexts=self._group_codes(batch))

    def _group_codes(self, batch: pa.RecordBatch) -> Codes | None:
        if self.groups is None or self._groups is None:
            return None
        column = batch.column(self._groups)
        there = pc.is_valid(column)
        codes = np.full(batch.num_rows, -1, dtype=np.int32)
        codes[there.to_numpy(zero_copy_only=False)] = self.groups.codes(column.filter(there))
        return codes


def _coder(bins: NumberBins | ValueBins, kind: pa.DataType) -> Callable[[pa.Array], Codes]:
    if isinstance(bins, NumberBins):
        return lambda column: _number_places(bins, column)
    look_up, rest = _places(bins, kind), np.int32(len(bins.values) if bins.other else -1)

    def places(column: pa.Array) -> Codes:
        there = pc.is_valid(column)
        found = np.full(len(column), -1, dtype=np.int32)
        found[there.to_numpy(zero_copy_only=False)] = look_up(column.filter(there))
        return np.where(found < 0, rest, found)

    return places


def _places(bins: ValueBins, kind: pa.DataType) -> Callable[[pa.Array], Codes]:
    """Return how the listed values of a column are found; refuse a column of another type."""
    check_id_type(kind, "value", bins.column)
    if is_textual(kind):  # as every number is in a CSV file, and a column without values
        listed = pa.array([str(each) for each in bins.values], pa.string())
    elif isinstance(bins.values[0], str):
        raise UsageError(
            f"column {bins.column!r} holds {kind}, but its bins list texts",
            remedy="list the values as they are in the column",
        )
    else:
        listed = pa.array(bins.values, pa.int64())
    look_up: Callable[[pa.Array], Codes] = catalogue_codes(listed)
    return look_up


def _number_places(bins: NumberBins, column: pa.Array) -> Codes:
    numbers: NDArray[np.float64] = finite_numbers(column).to_numpy(zero_copy_only=False)
    missing = np.isnan(numbers)
    inner = np.array(bins.edges[1:-1], dtype=np.float64)
    places = np.searchsorted(inner, np.where(missing, bins.edges[0], numbers), side="right").astype(np.int32)
    return np.where(missing, np.int32(-1), places)
