"""Pairs of neighbouring logs for an audit, made by removing one user from your own log. Not private.

Who they are is never said, only how much they did; and nothing of the log is kept in what is said of the pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from headcount.errors import DataError
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog
from headcount.lab.audit.adjacent_logs import Pair, drawn
from headcount.releases.formatting import some

MOST_RECORDS = 2_000_000
_WORK = 100_000_000  # records that all runs of one log may have, about
_NUMBERS = 5_000_000  # that are seen of them, about
_FEWEST_RUNS = 1_000


def pairs_of(log: EventLog, progress: Callable[[str, int, int | None], None]) -> tuple[Pair, ...]:
    """Return pairs that differ in the most active person of a log, in a typical one, and in the least active.

    >>> log = EventLog.of([("ann", "tea"), ("ann", "rye"), ("bob", "tea")], items=["rye", "tea"])
    >>> [(pair.name, pair.person) for pair in pairs_of(log, lambda *_: None)]
    [('the most active person', (1, 0)), ('the least active person', (1,))]
    """
    users, items = _records(log, progress)
    if not users.size:
        raise DataError(
            f"{log.source.name} has no record that counts", remedy="check --items, --item and the conditions"
        )
    order = np.argsort(users, kind="stable")
    starts = np.flatnonzero(np.diff(users[order], prepend=-1))
    histories = [tuple(part.tolist()) for part in np.split(items[order], starts[1:])]
    by_size = sorted(range(len(histories)), key=lambda user: len(histories[user]))
    places = {len(by_size) // 2: "a typical person", 0: "the least active person", -1: "the most active person"}
    names = {by_size[place]: name for place, name in places.items()}  # one person may be all of them
    chosen = sorted(names, key=lambda user: -len(histories[user]))
    pairs = drawn(histories, len(log.catalogue.ids), chosen)
    return tuple(replace(pair, name=names[user]) for pair, user in zip(pairs, chosen, strict=True))


def affordable(runs: int, pairs: tuple[Pair, ...]) -> int:
    """Return how many runs of a log take minutes, not hours; no more than are asked for."""
    records = sum(map(len, pairs[0].crowd)) + len(pairs[0].person)
    return min(runs, max(_FEWEST_RUNS, min(_WORK // records, _NUMBERS // pairs[0].items)))


def without_log(pair: dict[str, Any]) -> dict[str, Any]:
    """Return what may be said of a pair: everything but the records."""
    return {name: value for name, value in pair.items() if name not in ("crowd", "person")}


def _records(log: EventLog, progress: Callable[[str, int, int | None], None]) -> tuple[Any, Any]:
    """Return the user and the item of every record that counts, by their codes."""
    encoded = EncodedLog(log)
    users, items, records = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
    for batch in encoded.batches():
        counts = batch.cells >= 0
        times = 1 if batch.times is None else batch.times[counts]
        records += int(np.sum(times)) if batch.times is not None else int(counts.sum())
        if records > MOST_RECORDS:
            raise DataError(
                f"{log.source.name} has more than {some(MOST_RECORDS, 'record')} that count, too many to audit",
                remedy="take a part of it with --where, or with --since and --until",
            )
        users.append(np.repeat(batch.users[counts].astype(np.int64), times))
        items.append(np.repeat(batch.cells[counts].astype(np.int64) // log.width, times))
        progress("reading events", encoded.tally.rows, log.source.rows)
    return np.concatenate(users), np.concatenate(items)
