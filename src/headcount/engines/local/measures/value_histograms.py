"""Local measurement of value histograms: one pass, memory for each user's distinct cells."""

from __future__ import annotations

import numpy as np

from headcount._internal.arrays import Integers
from headcount.bounds import Bounded, UserGroups, UserValues, seal_user_groups, seal_user_values
from headcount.bounds.values.user_totals import prorate
from headcount.engines.local.runner import LocalRunner
from headcount.events.encode.passes import CodedBatch, EncodedLog
from headcount.events.log import EventLog

_HELD = 1 << 22  # rows that are put together at a time
_MOST_RECORDS = 1 << 40  # of one person in one place: beyond that there is no difference

Held = tuple[Integers, Integers]
"""A number for each person and place, and how many records are there."""


def measure_user_values(passes: LocalRunner, log: EventLog, bound: UserValues, secret: bytes) -> Bounded:  # noqa: ARG001
    """Weigh the records that each person has in each place."""
    width = bound.groups(log) * bound.grid.size
    keys, records = _records_by_place(passes, log, bound, width)
    sums = np.zeros(width, dtype=np.int64)
    np.add.at(sums, keys % width, _weights_of_places(keys // width, records, bound))
    return seal_user_values(sums.reshape(-1, bound.grid.size), bound)


def measure_user_groups(passes: LocalRunner, log: EventLog, bound: UserGroups, secret: bytes) -> Bounded:  # noqa: ARG001
    """Count people in their groups, those where they have the most records first, then in public order."""
    width = bound.weighed.groups(log)
    keys, records = _records_by_place(passes, log, bound.weighed, width)
    users, places = keys // width, keys % width
    order = np.lexsort((places, -records, users))
    users, places = users[order], places[order]
    starts = np.searchsorted(users, users)
    kept = places[np.arange(users.size) - starts < bound.limit]
    return seal_user_groups(np.bincount(kept, minlength=width).astype(np.int64), bound)


def _records_by_place(passes: LocalRunner, log: EventLog, bound: UserValues, width: int) -> Held:
    """Add up how many records each person has in each place: keys tell both, and are sorted."""
    coded = EncodedLog(log, bound.reading(log))
    held, more, rows = _nothing(), [_nothing()], 0
    for batch in coded.batches():
        more.append(_places(batch, bound, width))
        rows += len(batch.users)
        if rows > _HELD:
            held, more, rows = _merge([held, *more]), [], 0
        passes.progress("weighing values", coded.tally.rows, log.source.rows)
    passes.tally = coded.tally
    keys, records = _merge([held, *more])
    there = records > 0
    return keys[there], records[there]


def _nothing() -> Held:
    return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)


def _merge(parts: list[Held]) -> Held:
    keys, places = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    records = np.zeros(keys.size, dtype=np.int64)
    np.add.at(records, places, np.concatenate([part[1] for part in parts]))
    return keys, records


def _weights_of_places(users: Integers, records: Integers, bound: UserValues) -> Integers:
    """Return what each place of a person gets; those of one person come after each other, in order.

    >>> _weights_of_places(np.array([0, 0, 1]), np.array([3, 1, 1]), UserValues(2)).tolist()
    [384, 128, 256]
    """
    up_to = np.cumsum(np.clip(records, 0, _MOST_RECORDS))
    first = np.ones(users.size, dtype=np.bool_)
    first[1:] = users[1:] != users[:-1]
    starts, person = np.flatnonzero(first), np.cumsum(first) - 1
    before = np.concatenate([[0], up_to])[starts]
    ends = np.append(starts[1:], users.size)[: starts.size] - 1
    mine, whole = up_to - before[person], (up_to[ends] - before)[person]
    nearest = (prorate(mine, np.maximum(whole, 1), 2 * bound.most) + 1) // 2
    weighed = np.where(whole > bound.limit, nearest, mine * bound.unit)
    added = np.diff(weighed, prepend=0)
    added[starts] = weighed[starts]
    return np.asarray(added)


def _places(batch: CodedBatch, bound: UserValues, width: int) -> Held:
    counts = batch.cells >= 0
    group = {None: None, "contexts": batch.contexts, "items": batch.cells}[bound.by]
    place = np.zeros(len(batch.users), dtype=np.int64) if group is None else group * np.int64(bound.grid.size)
    if batch.values is not None:
        place = place + bound.grid.cells_of(batch.values)
    times = np.ones(len(batch.users), dtype=np.int64) if batch.times is None else batch.times
    return _merge([((batch.users * np.int64(width) + place)[counts], times[counts])])
