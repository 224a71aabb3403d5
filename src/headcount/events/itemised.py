"""A log whose items are in no catalogue: every item gets a code when it first comes up.

Which items there are, and how many, is private. Codes are an internal convenience: nothing that is drawn or
released may depend on them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from headcount.arrays import Codes
from headcount.events.encoding import CodedBatch, EncodedLog
from headcount.events.ids import Ids, ids_for
from headcount.events.log import EventLog
from headcount.events.store import Tally
from headcount.events.texts import is_textual


class ItemisedLog(EncodedLog):
    """Reads a log in passes of coded batches, in which ``cells`` are items.

    An item that is an empty text does not count: no catalogue could list it. Contexts are read where each user
    keeps one alone.
    """

    def __init__(self, log: EventLog) -> None:
        if log.context_of == "record":  # contexts make no difference: they need not be read
            log = replace(log, context=None)
        self.log = log
        self.tally = Tally()
        self._kind = log.type_of(log.roles.item)
        self.users: Ids = ids_for(log.type_of(log.roles.user), None, None, log.roles.user)
        self.items: Ids = ids_for(self._kind, None, None, log.roles.item)
        self._nameless: Codes = (
            self.items.codes(pa.array([""])) if is_textual(self._kind) else np.array([-1], np.int32)
        )

    @property
    def ids(self) -> pa.Array:
        """The raw ids of all items, by their codes; the empty text is the first, if there are texts."""
        raw = self.items.raw
        if isinstance(raw, tuple):
            data, ends = raw
            places = np.concatenate([np.zeros(1, dtype=np.int64), ends])
            buffers = [None, pa.py_buffer(places), pa.py_buffer(data)]
            return pa.Array.from_buffers(pa.large_string(), ends.size, buffers)
        return pa.array(raw.view(np.uint64) if pa.types.is_uint64(self._kind) else raw)

    def _coded(self, batch: pa.RecordBatch, contexts: Codes | None) -> CodedBatch:
        roles, context = self.log.roles, self.log.context
        users = self.users.codes(batch.column(roles.user))
        items = self.items.codes(batch.column(roles.item))
        items, times = self._repeated(batch, np.where(items != self._nameless[0], items, np.int32(-1)))
        if context is not None and contexts is not None:
            contexts = np.where(contexts < 0, np.int32(context.size), contexts)
        return CodedBatch(users, items, times, contexts)
