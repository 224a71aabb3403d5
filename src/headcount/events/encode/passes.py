"""Encoding passes: read a log in batches of user codes and cell codes, never whole in memory.

Each row becomes a user code and a cell, or -1 where it does not count; what a cell is, and what comes beside it,
is said by a :class:`Reading`. User codes are the same in every pass. What a row becomes is a function of that row
and of public settings: each value is read by itself, and one that cannot be read is not counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headcount._internal.arrays import Codes
from headcount.errors import DataError
from headcount.events.catalogue import NoCatalogue
from headcount.events.encode import kernels
from headcount.events.encode.cells import (
    Coder,
    GivenItems,
    GridCells,
    GroupCodes,
    ListedItems,
    check_table,
    one_cell,
)
from headcount.events.encode.id_table import Ids, LookUp, ids_for, room_for_codes
from headcount.events.grid import Grid
from headcount.events.log import EventLog
from headcount.events.sources.files.packed_store import PackedSource, Tally
from headcount.events.sources.files.scalar import finite_numbers, repetitions

__all__ = ["COUNTED", "CodedBatch", "EncodedLog", "Reading", "Tally"]


@dataclass(frozen=True)
class Reading:
    """The reading of each row, beside its user: public, and the same for every row.

    ``cells`` says what a cell is: an item of the catalogue ("listed"), an item that gets a code when it first
    comes up ("given"), one cell for all ("any"), or a cell of a grid. ``contexts`` says what becomes of the log's
    contexts: cells are of item and context ("within"), or of items and the contexts stand beside them, unknown
    ones in the last place ("beside"); without a listed one a row may not count ("required"); or they are not read
    ("none"). ``groups`` names a column of groups of users, which then stand beside the cells, -1 for none. With
    ``values`` those come along, and a row without a finite one does not count.
    """

    cells: Literal["listed", "given", "any"] | Grid = "listed"
    contexts: Literal["within", "beside", "required", "none"] = "within"
    groups: str | None = None
    values: bool = False

    def narrowed(self, log: EventLog) -> EventLog:
        """Return the log as far as it is read: itself, if that is all of it."""
        if self.contexts == "none" and (log.context, log.context_of) != (None, "record"):
            log = replace(log, context=None, context_of="record")
        if isinstance(self.cells, Grid) and not isinstance(log.catalogue, NoCatalogue):
            log = replace(log, catalogue=NoCatalogue())
        return log

    def columns(self, log: EventLog) -> tuple[str, ...]:
        """Return the columns that must be read of a log."""
        own = self.cells.columns if isinstance(self.cells, Grid) else ()
        grouped = () if self.groups is None else (self.groups,)
        return tuple(dict.fromkeys((*self.narrowed(log).columns, *own, *grouped)))


COUNTED = Reading()
"""Items of the catalogue in their contexts, as most counts are of."""


@dataclass(frozen=True)
class CodedBatch:
    """Some rows: who, which cell (-1: does not count), and how many records each stands for (None: one).

    Contexts, or groups of users, and values come if the reading requests them.
    """

    users: Codes
    cells: Codes
    times: NDArray[np.int64] | None
    contexts: Codes | None = None
    values: NDArray[np.float64] | None = None


class EncodedLog:
    """Reads an :class:`EventLog` in passes of coded batches.

    >>> log = EventLog.of([("ann", "tea"), ("bob", "rye"), ("ann", "oat")], items=["rye", "tea"])
    >>> [(batch.users.tolist(), batch.cells.tolist()) for batch in EncodedLog(log).batches()]
    [([0, 1, 0], [1, 0, -1])]
    """

    def __init__(self, log: EventLog, reading: Reading = COUNTED) -> None:
        if isinstance(reading.cells, Grid):
            check_table(log, reading.cells, reading.groups)
        self._stored_width = log.width
        self.log = log = reading.narrowed(log)
        self.reading, self.columns = reading, reading.columns(log)
        self.tally = Tally()
        self.items: GivenItems | None = None
        self.groups: GroupCodes | None = None
        if isinstance(log.source, PackedSource):
            self.users: Ids = log.source.users
            return
        kind = log.type_of(log.roles.user)
        grouped = reading.cells == "listed" and not reading.values  # then codes alone tell users apart
        counted = pa.types.is_integer(log.source.type_of(log.roles.user))
        id_range = log.source.whole_range(log.roles.user) if grouped and counted else None
        self.users = ids_for(kind, id_range, log.source.rows, log.roles.user)
        if reading.groups is not None:
            self.groups = GroupCodes(log, reading.groups)
        self._cells: Coder = one_cell
        if isinstance(reading.cells, Grid):
            self._cells = GridCells(log, reading.cells)
        elif reading.cells == "listed":
            self._cells = ListedItems(log)
        elif reading.cells == "given":
            self._cells = self.items = GivenItems(log)

    def batches(self) -> Iterator[CodedBatch]:
        """Read the log once; rows without user or item, or whose value cannot be read, are left out."""
        log = self.log
        if isinstance(log.source, PackedSource):
            yield from self._packed(log.source)
            return
        wanted = (*self._needed, log.roles.times)
        self.tally = Tally(nulls={name: 0 for name in wanted if name is not None})
        few = log.source.rows is not None and log.source.rows < FEW_ROWS
        for batch, contexts in self._prepared() if few else read_ahead(self._prepared()):
            yield self._coded(batch, contexts)

    def _prepared(self) -> Iterator[tuple[pa.RecordBatch, LookUp | Codes | None]]:
        """Do what needs no table of ids, so that it can be done while the batch before is given its codes."""
        for raw in self.log.source.batches(self.columns):
            self.tally.rows += raw.num_rows
            batch = self._without_nulls(self._valued(self._fulfilling(self._sound(raw))))
            if batch.num_rows:
                yield batch, self._contexts(batch)

    def _packed(self, source: PackedSource) -> Iterator[CodedBatch]:
        """Read a store, whose cells are of item and context; the tally is known in the end."""
        self.tally = Tally()
        for users, stored, times in source.entries():
            self.tally.rows += users.size
            if self.reading.contexts == "within" or self._stored_width == 1:
                yield CodedBatch(users, stored, times)
                continue
            cells, contexts = np.divmod(stored, np.int32(self._stored_width))
            if self.reading.contexts == "required":
                contexts[contexts == self._stored_width - 1] = -1
                cells[contexts < 0] = -1
            yield CodedBatch(users, cells, times, None if self.reading.contexts == "none" else contexts)
        self.tally = source.tally

    def _sound(self, raw: pa.RecordBatch) -> pa.RecordBatch:
        try:
            return self.log.sound(raw)
        except pa.ArrowException as error:  # offsets that point nowhere: no row can write that
            raise DataError(
                f"{self.log.source.name} cannot be read ({' '.join(str(error).split())[:200]})",
                remedy="check that it is complete and not damaged",
            ) from error

    def _fulfilling(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for condition in self.log.conditions:
            if batch.num_rows:
                kept = condition.holds(batch)
                batch = batch if kept.all() else batch.filter(pa.array(kept))
        return batch

    def _valued(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Take any value but a finite number for missing, if values are read."""
        value = self.log.roles.value
        if value is None or not self.reading.values:
            return batch
        place = batch.schema.get_field_index(value)
        return batch.set_column(place, value, finite_numbers(self.log.roles.numbers.plain(batch, value)))

    @property
    def _needed(self) -> tuple[str, ...]:
        """The columns without which a row does not count."""
        roles = self.log.roles
        return tuple(
            dict.fromkeys(column for column in (roles.user, roles.item, roles.value) if column is not None)
        )

    def _without_nulls(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for name in self._needed:
            column = batch.column(name)
            if column.null_count:
                self.tally.nulls[name] += column.null_count
                batch = batch.filter(pc.is_valid(column))
        return batch

    def _contexts(self, batch: pa.RecordBatch) -> LookUp | Codes | None:
        """Return the codes of contexts, or how they are looked up where cells are then made at once."""
        context = self.log.context
        if context is None:
            return None
        context_look_up = context.look_up(batch) if self.reading.contexts == "within" else None
        return context.codes(batch) if context_look_up is None else context_look_up

    def _within(self, batch: pa.RecordBatch, contexts: LookUp | Codes) -> tuple[Codes, int, int]:
        """Return the cells of items in contexts, and how many items are not listed and contexts unknown."""
        items = self._cells.look_up(batch) if isinstance(self._cells, ListedItems) else None
        if items is not None and isinstance(contexts, LookUp):
            cells = room_for_codes(batch.num_rows)
            return cells, *kernels.look_up_cells(*items, *contexts, self.log.width, cells)
        cells = self._cells(batch) if items is None else items.codes()
        contexts = contexts.codes() if isinstance(contexts, LookUp) else contexts
        return cells, *kernels.combine(cells, contexts, self.log.width, cells)

    def _coded(self, batch: pa.RecordBatch, contexts: LookUp | Codes | None) -> CodedBatch:
        roles = self.log.roles
        users = self.users.codes(batch.column(roles.user))
        if contexts is not None and (isinstance(contexts, LookUp) or self.reading.contexts == "within"):
            cells, outside, unknown = self._within(batch, contexts)
            self.tally.unknown_context += unknown
            contexts = None
        else:
            cells = self._cells(batch)
            if contexts is not None and self.reading.contexts == "required":
                cells[contexts < 0] = -1
            elif contexts is not None:
                contexts = np.where(contexts < 0, np.int32(self.log.width - 1), contexts)
            outside = int(np.count_nonzero(cells < 0))
        self.tally.outside_catalogue += outside
        values = None
        if self.reading.values and roles.value is not None:
            values = batch.column(roles.value).to_numpy(zero_copy_only=False)
        beside = contexts if self.groups is None else self.groups(batch)
        return CodedBatch(users, *self._repeated(batch, cells), beside, values)

    def _repeated(self, batch: pa.RecordBatch, cells: Codes) -> tuple[Codes, NDArray[np.int64] | None]:
        """Return the cells, and how many records each row stands for; one that stands for none has no cell."""
        name = self.log.roles.times
        if name is None:
            return cells, None
        times, there = repetitions(self.log.roles.numbers.plain(batch, name))
        self.tally.nulls[name] += int(np.count_nonzero(~there))
        return np.where(times == 0, np.int32(-1), cells), times


T = TypeVar("T")


_DEPTH = 2

FEW_ROWS = 1 << 12
"""Below so many rows, starting a thread takes longer than its work."""


def read_ahead(values: Iterator[T]) -> Iterator[T]:
    """Yield the values in order, always a few of them fetched beforehand.

    >>> list(read_ahead(iter("tea")))
    ['t', 'e', 'a']
    """
    with ThreadPoolExecutor(1) as reader:  # one thread: it asks for one value after the other
        pending = deque(reader.submit(_next, values) for _ in range(_DEPTH))
        try:
            while (fetched := pending.popleft().result()) is not None:
                pending.append(reader.submit(_next, values))
                yield fetched[0]
        finally:
            for future in pending:
                future.cancel()


def _next(values: Iterator[T]) -> tuple[T] | None:
    """Return the next value, wrapped, or None at the end."""
    for value in values:
        return (value,)
    return None
