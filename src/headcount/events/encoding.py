"""A log as compact codes: one pass after the other, batch by batch, never whole in memory.

Each row becomes a user code and a cell (its item and context in the public catalogue), or -1 where it does not
count. User codes are the same in every pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headcount.errors import DataError
from headcount.events import kernels
from headcount.events.ahead import read_ahead
from headcount.events.formats import value_type
from headcount.events.ids import Codes, Ids, catalogue_codes, ids_for
from headcount.events.log import EventLog
from headcount.events.store import PackedSource, Tally

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
        schema = log.source.schema
        kind = schema.field(log.roles.user).type
        known = log.source.whole_range(log.roles.user) if pa.types.is_integer(kind) else None
        self.users = ids_for(kind, known, log.source.rows, log.roles.user)
        self._items = catalogue_codes(log.catalogue.as_type(schema.field(log.roles.item).type, log.roles.item))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that must be read."""
        return self.log.columns

    def batches(self) -> Iterator[CodedBatch]:
        """Read the log once; nulls in user or item are refused at the end unless the log drops them."""
        log = self.log
        if isinstance(log.source, PackedSource):
            yield from self._packed(log.source)
            return
        needed = (log.roles.user, log.roles.item, log.roles.value)
        self.tally = Tally(nulls={name: 0 for name in needed if name is not None})
        for raw in read_ahead(iter(log.source.batches(self.columns))):
            self.tally.rows += raw.num_rows
            try:
                batch = self._without_nulls(self._fulfilling(_without_views(raw)))
                coded = self._coded(batch) if batch.num_rows else None
            except (pa.ArrowException, UnicodeError) as error:
                raise DataError(
                    f"{log.source.name} cannot be read ({' '.join(str(error).split())[:200]})",
                    remedy="check that it is complete and not damaged",
                ) from error
            if coded is not None:
                yield coded
        if not log.drop_nulls:
            self._refuse_nulls()

    def _packed(self, source: PackedSource) -> Iterator[CodedBatch]:
        """Read a store; what was met when it was packed is known in the end."""
        self.tally = Tally()
        for users, cells, times in source.entries():
            self.tally.rows += users.size
            yield CodedBatch(users, cells, times)
        self.tally = source.tally

    def _fulfilling(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for condition in self.log.conditions:
            if batch.num_rows:
                kept = condition.holds(batch)
                batch = batch if kept.all() else batch.filter(pa.array(kept))
        return batch

    def _without_nulls(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for name in self.tally.nulls:
            column = batch.column(name)
            missing = column.null_count
            if pa.types.is_dictionary(column.type) and column.dictionary.null_count:
                missing = pc.sum(pc.is_null(column)).as_py()
            if missing:
                self.tally.nulls[name] += missing
                batch = batch.filter(pc.is_valid(column))
        return batch

    def _coded(self, batch: pa.RecordBatch) -> CodedBatch:
        roles = self.log.roles
        users = self.users.codes(batch.column(roles.user))
        cells = self._items(batch.column(roles.item))
        if self.log.context is not None:
            contexts = self.log.context.codes(batch)
            outside, unknown = kernels.combine(cells, contexts, self.log.width, cells)
            self.tally.unknown_context += unknown
        else:
            outside = int(np.count_nonzero(cells < 0))
        self.tally.outside_catalogue += outside
        if roles.times is None:
            return CodedBatch(users, cells, None)
        times = repetitions(batch.column(roles.times), roles.times)
        return CodedBatch(users, np.where(times == 0, np.int32(-1), cells), times)

    def _refuse_nulls(self) -> None:
        empty = {name: count for name, count in self.tally.nulls.items() if count}
        if empty:
            lacks = {name: "holds no number" if name == self.log.roles.value else "is empty" for name in empty}
            found = " and ".join(
                f"column {name!r} {lacks[name]} in {count:,} {'row' if count == 1 else 'rows'}"
                for name, count in empty.items()
            )
            raise DataError(
                f"in {self.log.source.name}, {found}",
                remedy="correct the file, or leave those rows out with --drop-nulls",
            )


def _without_views(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Lay text views, as Polars hands them over, out as plain text: Arrow can filter nothing else."""
    viewed = [at for at, kind in enumerate(batch.schema.types) if pa.types.is_string_view(value_type(kind))]
    for at in viewed:
        column = batch.column(at)
        if pa.types.is_dictionary(column.type):
            texts = column.dictionary.cast(pa.string())
            column = pa.DictionaryArray.from_arrays(column.indices, texts)
        else:
            column = column.cast(pa.string())
        batch = batch.set_column(at, batch.schema.names[at], column)
    return batch


def repetitions(column: pa.Array, name: str) -> NDArray[np.int64]:
    """Return how many records each row stands for."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    remedy = f"correct the file, or leave such rows out with --where '{name} >= 0'"
    if column.null_count:
        raise DataError(
            f"column {name!r} does not say for {column.null_count:,} of its rows how many records they stand for",
            remedy=remedy,
        )
    try:
        values: NDArray[np.int64] = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
        odd: object = next((int(each) for each in (values.min(), values.max()) if not 0 <= each < 2**31), None)
    except pa.ArrowException:
        values, odd = np.empty(0, dtype=np.int64), _first_odd(column)
    if odd is not None:
        raise DataError(
            f"column {name!r} holds {odd!r}, but a row stands for 0 to {2**31 - 1:,} records", remedy=remedy
        )
    return values


def _first_odd(column: pa.Array) -> object:
    texts = (str(each) for each in column.to_pylist())
    return next((text for text in texts if not re.fullmatch(r"\d{1,18}", text)), "a number that is too large")
