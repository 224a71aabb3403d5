"""The reference engine: plain NumPy, slow, obviously right. The oracle that other engines must equal."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from headcount.arrays import Draws, Integers
from headcount.bounding import (
    Bound,
    Bounded,
    BoundedCounts,
    BoundedTotals,
    FixedRange,
    GroupSample,
    OffsetBound,
    PairBound,
    Rows,
    Sample,
    SparseCounts,
    Support,
    certify,
    certify_activity,
    certify_sparse,
    check_limit,
)
from headcount.engines import draws
from headcount.engines.cells import cells
from headcount.engines.engine import Table, columns_of
from headcount.engines.plain_ratings import plain_offsets, plain_pairs
from headcount.engines.plain_support import plain_support
from headcount.engines.tagging import tagging
from headcount.engines.totals import totals
from headcount.events.encoding import EncodedLog
from headcount.events.grid import Grid
from headcount.events.log import EventLog
from headcount.events.tagged import TagLog
from headcount.events.tagging import Tagging


class ReferenceEngine:
    """Holds the whole log in memory and sorts it.

    >>> from headcount.bounding import Sample
    >>> log = EventLog.of([("ann", "tea"), ("ann", "tea"), ("bob", "rye")], items=["rye", "tea"])
    >>> ReferenceEngine().count(log, Sample(1), bytes(16)).items.sensitive_values.tolist()
    [1, 1]
    """

    def count(self, log: EventLog, bound: Bound, secret: bytes) -> BoundedCounts:
        """Keep, per user, the records of smallest priority, or weigh them all, and count."""
        users, cells, keys = _eligible(log, secret)
        taken = draws.admitted(keys, bound.admission)[users]
        users, cells = users[taken], cells[taken]
        shape = (len(log.catalogue.ids), log.width)
        if bound.unit == 1:
            users, cells = _kept(users, cells, keys, bound, log.width)
        items = _weighed(*_columns(log, "items", users, cells), bound, shape[0], 1)
        edges = _weighed(*_columns(log, "edges", users, cells), bound, log.cells, log.width)
        groups = (2,) if bound.apart else ()
        return certify(bound, log.counting, items.reshape(*groups, -1), edges.reshape(*groups, *shape))

    def activity(self, log: EventLog, table: Table, most: int, secret: bytes) -> Bounded:
        """Count the users by the number of their records."""
        check_limit(most, "most")
        users, cells, _ = _eligible(log, secret)
        records = np.bincount(_columns(log, table, users, cells)[0])
        places = np.minimum(records[records > 0], most)
        return certify_activity(np.bincount(places, minlength=most + 1)[1:].astype(np.int64))

    def rows(self, log: EventLog, table: Table, most: int, secret: bytes) -> Rows:
        """Sort the records by the number of records that their users have."""
        users, cells, keys = _eligible(log, secret)
        width = columns_of(log, table, most)
        if log.counting == "records":
            users, cells = _kept(users, cells, keys, Sample(most), log.width)
        users, columns = _columns(log, table, users, cells)
        records = np.bincount(users)[users]
        order = np.argsort(records, kind="stable")
        sums, starts = np.unique(records[order], return_index=True)
        ends = np.append(starts, users.size)
        return Rows(sums, ends, columns[order].astype(np.int32), width=width, most=most)

    def sparse(self, log: EventLog, table: Table, secret: bytes) -> SparseCounts:
        """Count the people behind each column that somebody is in."""
        log = replace(log, counting="users")
        users, cells, _ = _eligible(log, secret)
        columns, people = np.unique(_columns(log, table, users, cells)[1], return_counts=True)
        size = len(log.catalogue.ids) if table == "items" else log.cells
        return certify_sparse(columns.astype(np.int32), people.astype(np.int32), size)

    def support(self, log: EventLog, limit: int, secret: bytes) -> Support:
        """Choose each person's items one by one."""
        return plain_support(log, limit, secret)

    def totals(self, log: EventLog, limit: int, within: FixedRange | None) -> BoundedTotals:
        """Add up what each person did: plain enough as it is."""
        return totals(log, limit, within)[0]

    def offsets(self, log: EventLog, bound: OffsetBound) -> Bounded:
        """Add up each user's distances one by one."""
        return plain_offsets(log, bound)

    def pairs(self, log: EventLog, bound: PairBound) -> Bounded:
        """Add up each user's pairs one by one."""
        return plain_pairs(log, bound)

    def cells(self, log: EventLog, grid: Grid, groups: str | None, bound: GroupSample, secret: bytes) -> Bounded:
        """Sort the people of a table into the cells of a grid: plain enough as it is."""
        return cells(log, grid, groups, bound, secret)

    def tagging(self, log: TagLog) -> Tagging:
        """Collect the assignments: plain enough as it is."""
        return tagging(log)[0]


def _eligible(log: EventLog, secret: bytes) -> tuple[Integers, Integers, Draws]:
    """Return the user and cell of every record that counts, and every user's key."""
    encoded = EncodedLog(log)
    users, cells = _records(encoded)
    keys = user_keys(encoded, secret)
    if log.context_of == "user":
        tallies = np.zeros((encoded.users.size, log.width), dtype=np.int64)
        np.add.at(tallies, (users, cells % log.width), 1)
        chosen = draws.chosen_contexts(tallies, keys)
        inside = cells % log.width == chosen[users]
        users, cells = users[inside], cells[inside]
    if log.counting == "users":
        users, cells = np.unique(np.stack([users, cells]), axis=1)
    return users, cells, keys


def _columns(log: EventLog, table: Table, users: Integers, cells: Integers) -> tuple[Integers, Integers]:
    """Return the user and column of every record in a table; where users are counted, each pair once."""
    if table == "edges":
        return users, cells
    columns = cells // log.width
    if log.counting == "records":
        return users, columns
    users, columns = np.unique(np.stack([users, columns]), axis=1)
    return users, columns


def _weighed(users: Integers, columns: Integers, bound: Bound, size: int, width: int) -> Integers:
    """Count each record with its weight, in the bound's units; an item has ``width`` columns."""
    records = np.bincount(users)
    above = records > bound.limit
    weights = np.full(users.size, bound.unit, dtype=np.int64)
    if bound.unit > 1:
        factors = None if bound.leaning is None else bound.leaning.factors[columns // width]
        for user in np.flatnonzero(above):
            mine = users == user
            alike = np.ones(records[user], dtype=np.int64)
            weights[mine] = shares_of_limit(alike if factors is None else factors[mine], bound)
    groups = above[users] if bound.apart else np.zeros(users.size, dtype=np.int64)
    totals = np.zeros((2 if bound.apart else 1) * size, dtype=np.int64)
    np.add.at(totals, groups * size + columns, weights)
    return totals


def shares_of_limit(factors: Integers, bound: Bound) -> Integers:
    """Return what each record of a user above the limit weighs, in units, given its factor.

    Records whose share would be more than 1 weigh 1; the others share the rest of the limit by their factors.

    >>> from headcount.bounding import Scale
    >>> (shares_of_limit(np.array([8, 1, 1, 1, 1]), Scale(3)) / 2**16).tolist()
    [1.0, 0.5, 0.5, 0.5, 0.5]
    """
    if bound.norm == "l2":
        squared = bound.unit**2 * bound.limit // factors.size
        return np.full(factors.size, math.isqrt(squared), dtype=np.int64)
    full = np.zeros(factors.size, dtype=bool)
    while True:
        left, others = bound.limit - np.count_nonzero(full), factors[~full].sum()
        more = ~full & (left * factors > others)
        if not more.any():
            return np.where(full, bound.unit, bound.unit * left * factors // others)
        full |= more


def user_keys(encoded: EncodedLog, secret: bytes) -> Draws:
    """Return every user's key, from the raw ids."""
    raw = encoded.users.raw
    if isinstance(raw, tuple):
        data, ends = raw
        starts = np.concatenate([[0], ends[:-1]]) if ends.size else ends
        named: list[int | str] = [bytes(data[begin:end]).decode() for begin, end in zip(starts, ends, strict=True)]
    else:
        named = raw.tolist()
    return np.array([draws.user_key(secret, each) for each in named], dtype=np.uint64)


def _records(encoded: EncodedLog) -> tuple[Integers, Integers]:
    users, cells = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for batch in encoded.batches():
        inside = batch.cells >= 0
        times = np.ones(batch.cells.size, dtype=np.int64) if batch.times is None else batch.times
        users.append(np.repeat(batch.users[inside], times[inside]).astype(np.int64))
        cells.append(np.repeat(batch.cells[inside], times[inside]).astype(np.int64))
    return np.concatenate(users), np.concatenate(cells)


def _kept(users: Integers, cells: Integers, keys: Draws, bound: Bound, width: int) -> tuple[Integers, Integers]:
    order = np.lexsort((cells, users))
    users, cells = users[order], cells[order]
    numbers = _number_within([users, cells])
    drawn = draws.record_draws(keys[users], cells, numbers)
    ranks = None if bound.ranks is None else bound.ranks[cells // width]
    priority = draws.priorities(drawn, ranks, draws.rank_bits(bound.ranks))
    order = np.lexsort((cells, priority, users))
    users, cells = users[order], cells[order]
    inside = _number_within([users]) < bound.limit
    return users[inside], cells[inside]


def _number_within(sorted_columns: list[Integers]) -> Integers:
    """Number the rows of each run of equal rows, from 0."""
    size = sorted_columns[0].size
    changes = np.ones(size, dtype=bool)
    changes[1:] = np.any([column[1:] != column[:-1] for column in sorted_columns], axis=0)
    starts = np.flatnonzero(changes)
    return np.arange(size) - np.repeat(starts, np.diff(np.append(starts, size)))
