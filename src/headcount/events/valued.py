"""A log read for what each person did in all: its values, and all records where there is no catalogue."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from headcount.arrays import Codes
from headcount.events.encoding import CodedBatch, EncodedLog
from headcount.events.ids import Ids, catalogue_codes, ids_for
from headcount.events.log import EventLog
from headcount.events.store import PackedSource, Tally
from headcount.events.values import finite_numbers


class ValuedLog(EncodedLog):
    """Reads a log in passes of coded batches with values; a cell of 0 or more says that a row counts."""

    def __init__(self, log: EventLog) -> None:
        self.log = log = replace(log, context=None, context_of="record")
        self.tally = Tally()
        if isinstance(log.source, PackedSource):
            self.users: Ids = log.source.users
            return
        self.users = ids_for(log.type_of(log.roles.user), None, None, log.roles.user)
        if log.has_catalogue:
            self._items = catalogue_codes(log.catalogue.as_type(log.type_of(log.roles.item), log.roles.item))
        else:
            self._items = lambda column: np.zeros(len(column), dtype=np.int32)

    def _without_nulls(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Take what is no finite number for missing."""
        value = self.log.roles.value
        if value is not None:
            place = batch.schema.get_field_index(value)
            batch = batch.set_column(place, value, finite_numbers(batch.column(place)))
        return super()._without_nulls(batch)

    def _coded(self, batch: pa.RecordBatch, contexts: Codes | None) -> CodedBatch:  # noqa: ARG002
        roles = self.log.roles
        users = self.users.codes(batch.column(roles.user))
        cells = self._items(batch.column(roles.item))
        self.tally.outside_catalogue += int(np.count_nonzero(cells < 0))
        values = None if roles.value is None else batch.column(roles.value).to_numpy(zero_copy_only=False)
        return CodedBatch(users, *self._repeated(batch, cells), values=values)
