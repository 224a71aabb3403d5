"""All rows of a log that count, in memory: the one loop that collects them, whatever they are read for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.arrays import Codes
from headcount.engines.engine import Progress, silent
from headcount.events.encoding import EncodedLog


@dataclass(frozen=True)
class Collected:
    """Rows that count: who, which cell, how many records, and what else was read, None for what was not."""

    users: Codes
    cells: Codes
    times: NDArray[np.int64] | None
    contexts: Codes | None
    values: NDArray[np.float64] | None

    def repeated(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the user and the cell of every single record."""
        users, cells = self.users.astype(np.int64), self.cells.astype(np.int64)
        return (
            (users, cells) if self.times is None else (np.repeat(users, self.times), np.repeat(cells, self.times))
        )


def collected(coded: EncodedLog, progress: Progress = silent, stage: str = "reading events") -> Collected:
    """Read a log once, and keep the rows that count.

    >>> from headcount.events.log import EventLog
    >>> log = EventLog.of([("ann", "tea"), ("bob", "rye"), ("ann", "oat")], items=["rye", "tea"])
    >>> collected(EncodedLog(log)).cells.tolist()
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
    return Collected(
        np.concatenate([none, *users]),
        np.concatenate([none, *cells]),
        np.concatenate(times) if times else None,
        np.concatenate(contexts) if contexts else None,
        np.concatenate(values) if values else None,
    )
