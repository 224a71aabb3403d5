"""The tag assignments of a log, each once: one pass, twelve bytes for each row. Nothing is drawn."""

from __future__ import annotations

import numpy as np

from headcount.engines.engine import Progress, silent
from headcount.events.encoding import Tally
from headcount.events.tagged import TagLog
from headcount.events.tagging import TaggedLog, Tagging


def tagging(log: TagLog, progress: Progress = silent) -> tuple[Tagging, Tally]:
    """Collect who gave which tag to which resource, and what was met on the way.

    >>> log = TagLog.listing([("ann", "a", "x"), ("ann", "a", "x"), ("bob", "b", "y")],
    ...                      resources=["a", "b"], vocabulary=["x", "z"])
    >>> found, _ = tagging(log)
    >>> found.size, found.people
    (1, 1)
    """
    coded = TaggedLog(log)
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for batch in coded.batches():
        counts = batch.cells >= 0
        tags = np.empty(0, dtype=np.int32) if batch.contexts is None else batch.contexts
        parts.append((batch.users[counts], batch.cells[counts], tags[counts]))
        progress("reading tags", coded.tally.rows, log.source.rows)
    empty = np.empty(0, dtype=np.int32)
    user, resource, tag = (np.concatenate([empty, *(part[at] for part in parts)]) for at in range(3))
    people, user = np.unique(user, return_inverse=True)
    sizes = {"resources": len(log.catalogue.ids), "tags": len(log.vocabulary.ids)}
    return Tagging.of(user, resource, tag, people=people.size, **sizes), coded.tally
