"""Read all counted rows of a log into arrays, in their own order or sorted by user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount._internal.arrays import Codes
from headcount.bounds.engine_interface import CollectedRows, Progress, SortedRows, silent
from headcount.bounds.kernels import sort_rows
from headcount.events.encode.passes import CodedBatch, EncodedLog


def collect_rows(coded: EncodedLog, progress: Progress = silent, stage: str = "reading events") -> CollectedRows:
    """Read a log once, and keep the rows that count.

    >>> from headcount.events.log import EventLog
    >>> log = EventLog.of([("ann", "tea"), ("bob", "rye"), ("ann", "oat")], items=["rye", "tea"])
    >>> collect_rows(EncodedLog(log)).cells.tolist()
    [1, 0]
    """
    parts: list[list[NDArray[Any]]] = [[] for _ in range(5)]
    for batch in coded.batches():
        counts = batch.cells >= 0
        for part, column in zip(
            parts, (batch.users, batch.cells, batch.times, batch.contexts, batch.values), strict=True
        ):
            if column is not None:
                part.append(column[counts])
        progress(stage, coded.tally.rows, coded.log.source.rows)
    users, cells, times, contexts, values = parts
    none = np.empty(0, dtype=np.int32)
    return CollectedRows(
        np.concatenate([none, *users]),
        np.concatenate([none, *cells]),
        np.concatenate(times) if times else None,
        np.concatenate(contexts) if contexts else None,
        np.concatenate(values) if values else None,
    )


def sort_rows_by_user(
    coded: EncodedLog,
    beside: Callable[[CodedBatch], NDArray[np.integer[Any]]],
    progress: Progress = silent,
    stage: str = "reading events",
) -> SortedRows:
    """Read a log once, and sort the rows that count by user, cell and another number that is not below 0.

    Rows are held twice for a while, in batches and in order, and never more than that.

    >>> from headcount.events.log import EventLog
    >>> log = EventLog.of([("ann", "tea"), ("bob", "rye"), ("ann", "rye")], items=["rye", "tea"])
    >>> sort_rows_by_user(EncodedLog(log), lambda batch: batch.cells).cells.tolist()
    [0, 1, 0]
    """
    batches: list[tuple[Codes, Codes, NDArray[np.integer[Any]]]] = []
    for batch in coded.batches():
        counts = batch.cells >= 0
        batches.append((batch.users[counts], batch.cells[counts], beside(batch)[counts]))
        progress(stage, coded.tally.rows, coded.log.source.rows)
    pa.default_memory_pool().release_unused()  # what was read is gone, and Arrow keeps its room for more
    starts = np.zeros(coded.users.size + 1, dtype=np.int64)
    for users, _, _ in batches:
        sort_rows.count_rows(users, starts)
    np.cumsum(starts, out=starts)
    ahead = starts[:-1].copy()
    cells, others = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1], dtype=np.int32)
    while batches:
        sort_rows.scatter(*batches.pop(), ahead, cells, others)
    sort_rows.sort_rows(starts, cells, others)
    return SortedRows(starts, cells, others)
