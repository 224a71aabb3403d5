"""A log as compact codes: one pass after the other, batch by batch, never whole in memory.

Each row becomes a user code and a cell (its item and context in the public catalogue), or -1 where it does not
count. User codes are the same in every pass. What a row becomes is a function of that row and of public settings:
each value is read by itself, and one that cannot be read is not counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headcount.arrays import Codes
from headcount.errors import DataError
from headcount.events.ahead import read_ahead
from headcount.events.ids import Ids, catalogue_codes, ids_for
from headcount.events.kernels import interning
from headcount.events.log import EventLog
from headcount.events.store import PackedSource, Tally
from headcount.events.texts import sound_batch
from headcount.events.values import repetitions

__all__ = ["CodedBatch", "EncodedLog", "Tally"]


@dataclass(frozen=True)
class CodedBatch:
    """Some rows: who, which cell (-1: does not count), and how many records each stands for (None: one).

    Where items are in no catalogue, cells are items, and contexts stand apart; where people are in groups, these
    are the contexts. Values come where they are needed.
    """

    users: Codes
    cells: Codes
    times: NDArray[np.int64] | None
    contexts: Codes | None = None
    values: NDArray[np.float64] | None = None


class EncodedLog:
    """Reads an :class:`EventLog` in passes of coded batches."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.tally = Tally()
        if isinstance(log.source, PackedSource):
            self.users: Ids = log.source.users
            return
        kind = log.type_of(log.roles.user)
        known = log.source.whole_range(log.roles.user) if pa.types.is_integer(kind) else None
        self.users = ids_for(kind, known, log.source.rows, log.roles.user)
        self._items = catalogue_codes(log.catalogue.as_type(log.type_of(log.roles.item), log.roles.item))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that must be read."""
        return self.log.columns

    def batches(self) -> Iterator[CodedBatch]:
        """Read the log once; rows without user or item, or whose value cannot be read, are left out."""
        log = self.log
        if isinstance(log.source, PackedSource):
            yield from self._packed(log.source)
            return
        wanted = (*self._needed, log.roles.times)
        self.tally = Tally(nulls={name: 0 for name in wanted if name is not None})
        for batch, contexts in read_ahead(self._prepared()):
            yield self._coded(batch, contexts)

    def _prepared(self) -> Iterator[tuple[pa.RecordBatch, Codes | None]]:
        """Do what needs no table of ids, so that it can be done while the batch before is given its codes."""
        for raw in self.log.source.batches(self.columns):
            self.tally.rows += raw.num_rows
            batch = self._without_nulls(self._fulfilling(self._sound(raw)))
            if batch.num_rows:
                yield batch, None if self.log.context is None else self.log.context.codes(batch)

    def _packed(self, source: PackedSource) -> Iterator[CodedBatch]:
        """Read a store; what was met when it was packed is known in the end."""
        self.tally = Tally()
        for users, cells, times in source.entries():
            self.tally.rows += users.size
            yield CodedBatch(users, cells, times)
        self.tally = source.tally

    def _sound(self, raw: pa.RecordBatch) -> pa.RecordBatch:
        try:
            return sound_batch(raw)
        except pa.ArrowException as error:  # codes that stand for nothing: no row can write that
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

    @property
    def _needed(self) -> tuple[str, ...]:
        """The columns without which a row does not count."""
        roles = self.log.roles
        return tuple(dict.fromkeys(each for each in (roles.user, roles.item, roles.value) if each is not None))

    def _without_nulls(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for name in self._needed:
            column = batch.column(name)
            if column.null_count:
                self.tally.nulls[name] += column.null_count
                batch = batch.filter(pc.is_valid(column))
        return batch

    def _coded(self, batch: pa.RecordBatch, contexts: Codes | None) -> CodedBatch:
        roles = self.log.roles
        users = self.users.codes(batch.column(roles.user))
        cells = self._items(batch.column(roles.item))
        if contexts is not None:
            outside, unknown = interning.combine(cells, contexts, self.log.width, cells)
            self.tally.unknown_context += unknown
        else:
            outside = int(np.count_nonzero(cells < 0))
        self.tally.outside_catalogue += outside
        return CodedBatch(users, *self._repeated(batch, cells))

    def _repeated(self, batch: pa.RecordBatch, cells: Codes) -> tuple[Codes, NDArray[np.int64] | None]:
        """Return the cells, and how many records each row stands for; one that stands for none has no cell."""
        name = self.log.roles.times
        if name is None:
            return cells, None
        times, there = repetitions(batch.column(name))
        self.tally.nulls[name] += int(np.count_nonzero(~there))
        return np.where(times == 0, np.int32(-1), cells), times
