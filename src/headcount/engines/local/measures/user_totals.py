"""Local measurement of user totals: one pass, two numbers of memory per user. Nothing is drawn."""

from __future__ import annotations

import numpy as np

from headcount.bounds import BoundedTotals, UserTotals, seal_user_totals
from headcount.engines.local.runner import LocalRunner
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog


def measure_user_totals(passes: LocalRunner, log: EventLog, bound: UserTotals, secret: bytes) -> BoundedTotals:  # noqa: ARG001
    """Add up each person's records, and the distances of their values from the middle of a range.

    Sums that outgrow 64 bits wrap around, whatever the order of the rows: a person's part is cut to what one
    person may add afterwards.
    """
    coded, within = EncodedLog(log, bound.reading(log)), bound.within
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
        passes.progress("adding up", coded.tally.rows, log.source.rows)
    passes.tally = coded.tally
    return seal_user_totals(records, None if within is None else distances, bound)
