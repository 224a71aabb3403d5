"""Logs cached for worker processes: packed, or raw where no public item list exists.

A store needs a catalogue, and where items are to be selected there is none. Such a log is kept as one Parquet file
of the columns that are read, with the words that describe it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headcount.engines.engine import Progress
from headcount.engines.local.pack import pack
from headcount.events.catalogue import Catalogue
from headcount.events.encode.passes import EncodedLog, Reading
from headcount.events.log import EventLog, packed_log, read_events
from headcount.events.sources.files.packed_store import DESCRIPTION, PackedSource, open_store


class CachedLog(Protocol):
    """A log that lies in a folder, and that another process opens."""

    @property
    def fingerprint(self) -> str:
        """All that its counts hang on."""

    def open(self) -> EventLog:
        """Describe the log again."""

    def counted(self) -> EventLog:
        """Describe it with the items that its truth is counted for."""


def cache_log(log: EventLog, folder: Path, progress: Progress) -> CachedLog:
    """Put a log into a folder, or take the store that it is."""
    if log.selects:
        return RawLog.from_log(log, folder)
    store = log.source.folder if isinstance(log.source, PackedSource) else pack(log, folder, progress=progress)
    return PackedLog(str(store), log.counting, log.context_of)


@dataclass(frozen=True)
class PackedLog:
    """A packed log, and what is chosen anew whenever it is opened."""

    store: str
    counting: str
    context_of: str

    @cached_property
    def fingerprint(self) -> str:
        """The arrays by their checksums, the catalogue, and how records are counted."""
        description = json.loads((Path(self.store) / DESCRIPTION).read_text(encoding="utf-8"))
        kept = {name: description[name] for name in ("arrays", "catalogue", "cells", "events")}
        return json.dumps([kept, self.counting, self.context_of], sort_keys=True)

    def open(self) -> EventLog:
        """Describe the log again."""
        return packed_log(
            open_store(self.store),
            count="users" if self.counting == "users" else "records",
            context_of="user" if self.context_of == "user" else "record",
        )

    def counted(self) -> EventLog:
        """It has its catalogue."""
        return self.open()


@dataclass(frozen=True)
class RawLog:
    """A log whose items are to be selected: a file of its rows, and its description as JSON."""

    file: str
    words: str

    @classmethod
    def from_log(cls, log: EventLog, folder: Path) -> RawLog:
        """Write the columns that are read, for their owner alone."""
        folder.mkdir(mode=0o700, parents=True)
        path = folder / "events.parquet"
        rows = iter(log.source.batches(log.columns))
        first = next(rows, None)
        if first is None:
            declared = pa.schema([(column, log.type_of(column)) for column in log.columns])
            first = pa.RecordBatch.from_pylist([], schema=declared)
        with pq.ParquetWriter(path, first.schema, compression="zstd") as file:
            for batch in chain([first], rows):
                file.write_batch(batch)
        return cls(str(path), json.dumps(log.describe(), sort_keys=True))

    @cached_property
    def fingerprint(self) -> str:
        """The rows, and how they are read."""
        return json.dumps([hashlib.sha256(Path(self.file).read_bytes()).hexdigest(), self.words])

    def open(self) -> EventLog:
        """Describe the log again."""
        words: dict[str, Any] = json.loads(self.words)
        if "contexts" in words:
            words["context"] = list(words["contexts"])
        return read_events(self.file, **words)

    def counted(self) -> EventLog:
        """Describe it with every item that anybody has: nothing of this is private."""
        return with_every_item(self.open())


def with_every_item(log: EventLog) -> EventLog:
    """Return a log with a catalogue: its own, or where it has none all items that anybody has, in order.

    >>> log = EventLog.of([("ann", "tea"), ("bob", "rye"), ("bob", "tea")], items=None)
    >>> with_every_item(log).catalogue.ids
    ('rye', 'tea')
    """
    if not log.selects:
        return log
    coded = EncodedLog(log, Reading("given", "none"))
    had = set[int]()
    for batch in coded.batches():
        had.update(np.unique(batch.cells[(batch.users >= 0) & (batch.cells >= 0)]).tolist())
    if coded.items is None:
        raise TypeError("items have codes here")
    items = sorted(coded.items.ids.take(pa.array(sorted(had), pa.int64())).to_pylist())
    return replace(log, catalogue=Catalogue.selected(items, log.type_of(log.roles.item)))
