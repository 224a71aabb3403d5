"""What each person did in all: one pass, and two numbers of memory for each person. Nothing is drawn."""

from __future__ import annotations

import numpy as np

from headcount.bounding import BoundedTotals, FixedRange, certify_totals
from headcount.engines.engine import Progress, silent
from headcount.events.encoding import Tally
from headcount.events.log import EventLog
from headcount.events.valued import ValuedLog


def totals(
    log: EventLog, limit: int, within: FixedRange | None, progress: Progress = silent
) -> tuple[BoundedTotals, Tally]:
    """Add up each person's records, and the distances of their values from the middle of a range.

    Beside it comes what was met on the way.

    Sums that outgrow 64 bits wrap around, whatever the order of the rows: a person's part is cut to what one
    person may add afterwards.

    >>> log = EventLog.of([("ann", "tea"), ("ann", "rye"), ("bob", "tea")], items=["rye", "tea"])
    >>> totals(log, 5, None)[0].records.sensitive_values
    array([3])
    """
    coded = ValuedLog(log)
    records, distances = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    for batch in coded.batches():
        counts = batch.cells >= 0
        times = counts.astype(np.int64) if batch.times is None else batch.times * counts
        if coded.users.size > records.size:
            more = max(coded.users.size, 2 * records.size) - records.size
            records = np.concatenate([records, np.zeros(more, dtype=np.int64)])
            distances = np.concatenate([distances, np.zeros(more, dtype=np.int64)])
        np.add.at(records, batch.users, times)
        if batch.values is not None and within is not None:
            # cut before anything else: no value can overflow, nor make NumPy warn of it
            cut = np.clip(batch.values, within.low / within.unit, within.high / within.unit)
            fixed = np.rint(cut * within.unit).astype(np.int64)
            np.add.at(distances, batch.users, (fixed - within.middle) * times)
        progress("adding up", coded.tally.rows, log.source.rows)
    return certify_totals(records, None if within is None else distances, limit, within), coded.tally
