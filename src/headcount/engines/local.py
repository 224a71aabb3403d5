"""The local engine: compiled kernels over grouped records, equal to the reference draw for draw.

Users are dealt to blocks while the log is read (see :mod:`headcount.engines.walking`); then the blocks are gone
through in parallel, with every user's whole history at hand.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headcount.bounding import (
    EVERYONE,
    Bound,
    Bounded,
    BoundedCounts,
    BoundedTotals,
    FixedRange,
    GroupSample,
    OffsetBound,
    PairBound,
    Rows,
    SparseCounts,
    Support,
    certify,
    certify_activity,
    certify_sparse,
    check_limit,
)
from headcount.engines import draws
from headcount.engines.cells import cells
from headcount.engines.engine import Progress, Table, columns_of, silent
from headcount.engines.holding import HeldLog
from headcount.engines.kernels.gathering import Gathered, gather
from headcount.engines.kernels.histories import Modes
from headcount.engines.kernels.keeping import Counts, Keeping, keep
from headcount.engines.kernels.weighing import Weighing, weigh
from headcount.engines.rating_sums import offsets, pairs
from headcount.engines.ratings import Rated, read_ratings
from headcount.engines.sparse import PeopleTable, count_people, merged
from headcount.engines.support import support
from headcount.engines.tagging import tagging
from headcount.engines.totals import totals
from headcount.engines.walking import HeldWalk, PackedWalk, Walk
from headcount.events.encoding import Tally
from headcount.events.grid import Grid
from headcount.events.log import EventLog
from headcount.events.store import PackedSource
from headcount.events.tagged import TagLog
from headcount.events.tagging import Tagging

_MANY_CELLS = 1 << 24  # above this one thread counts, so that the counts are held once
_NOTHING = np.empty(0, dtype=np.int64)


@dataclass
class LocalEngine:
    """Counts with ``threads`` threads and ``memory`` bytes of packed records; neither changes the result.

    What is in memory stays there between the stages of one release.
    """

    threads: int = field(default_factory=lambda: max(1, min(8, os.cpu_count() or 1)))
    memory: int = 320 << 20
    progress: Progress = silent
    _log: EventLog | None = field(default=None, repr=False)
    _walk: Walk | None = field(default=None, repr=False)
    _rated: tuple[EventLog, Rated] | None = field(default=None, repr=False)
    _tally: Tally | None = field(default=None, repr=False)

    @property
    def tally(self) -> Tally | None:
        """What the last pass met, for the curator's eyes."""
        return self._tally if self._walk is None else self._walk.tally

    def count(self, log: EventLog, bound: Bound, secret: bytes) -> BoundedCounts:
        """Keep what the bound allows of each user's records, or weigh them all, and count."""
        groups = (2,) if bound.apart else ()
        size = 2 if bound.apart else 1
        threads = self.threads if size * log.cells <= _MANY_CELLS else 1
        edges = np.zeros((threads, size * log.cells), dtype=np.int64)
        items = np.zeros((threads, size * len(log.catalogue.ids)), dtype=np.int64)
        counts = [Counts(edges[part], items[part]) for part in range(threads)]
        if bound.unit == 1:
            ranks = _NOTHING if bound.ranks is None else bound.ranks
            lot = np.uint64(bound.admission % EVERYONE), bound.admission == EVERYONE
            keeping = Keeping(bound.limit, ranks, draws.rank_bits(bound.ranks), *lot)
            self._each(log, secret, keep, [(_modes(log), keeping, each) for each in counts])
        else:
            factors = _NOTHING if bound.leaning is None else bound.leaning.of_items(len(log.catalogue.ids))
            weighing = Weighing(bound.limit, bound.unit, 0, bound.norm == "l2", bound.apart, factors)
            self._each(log, secret, weigh, [(_modes(log), weighing, each) for each in counts])
        whole = edges.sum(axis=0).reshape(*groups, -1, log.width)
        counted = whole.sum(axis=-1) if log.counting == "records" else items.sum(axis=0).reshape(*groups, -1)
        return certify(bound, log.counting, counted, whole)

    def activity(self, log: EventLog, table: Table, most: int, secret: bytes) -> Bounded:
        """Count the users by the number of their records."""
        check_limit(most, "most")
        threads = self.threads if most <= _MANY_CELLS else 1
        users = np.zeros((threads, most), dtype=np.int64)
        weighing = Weighing(1, 1, _width(log, table), False, False, _NOTHING)
        self._each(log, secret, weigh, [(_modes(log), weighing, Counts(part, _NOTHING)) for part in users])
        return certify_activity(users[0] if threads == 1 else users.sum(axis=0))

    def rows(self, log: EventLog, table: Table, most: int, secret: bytes) -> Rows:
        """Sort the records by the number of records that their users have: one pass to count, one to collect."""
        width = columns_of(log, table, most)
        users = self.activity(log, table, most, secret).sensitive_values
        sums = np.arange(1, most + 1)
        ends = np.cumsum(sums * users)
        ahead = np.concatenate([[0, 0], ends[:-1]])
        columns = np.empty(ends[-1], dtype=np.int32)
        keeping = Keeping(most, _NOTHING, 0, np.uint64(0), True)
        gathered = Gathered(_width(log, table), ahead, columns)
        self._each(log, secret, gather, [(_modes(log), keeping, log.cells, gathered)])
        there = users > 0
        starts = np.concatenate([[0], ends[there]])
        return Rows(sums[there], starts, columns, width=width, most=most)

    def sparse(self, log: EventLog, table: Table, secret: bytes) -> SparseCounts:
        """Count people into one hash table a thread, and put these together."""
        tables = [PeopleTable() for _ in range(self.threads)]
        asked = _modes(log), _width(log, table)
        self._each(log, secret, count_people, [(*asked, each) for each in tables])
        size = len(log.catalogue.ids) if table == "items" else log.cells
        return certify_sparse(*merged(tables), size)

    def support(self, log: EventLog, limit: int, secret: bytes) -> Support:
        """Keep each person's first items, as their draws order them, while the log is read."""
        return support(log, limit, secret, self.progress)

    def totals(self, log: EventLog, limit: int, within: FixedRange | None) -> BoundedTotals:
        """Add up what each person did, while the log is read."""
        found, self._tally = totals(log, limit, within, self.progress)
        return found

    def offsets(self, log: EventLog, bound: OffsetBound) -> Bounded:
        """Add up each user's distances, a share of the users on every thread."""
        return offsets(self._ratings(log), bound, self.threads)

    def pairs(self, log: EventLog, bound: PairBound) -> Bounded:
        """Add up each user's pairs; where there are many, one thread does, so that the sums are held once."""
        return pairs(self._ratings(log), bound, self.threads if bound.pairs <= _MANY_CELLS else 1)

    def _ratings(self, log: EventLog) -> Rated:
        """Return the ratings of a log, which stay in memory between the stages of one release."""
        if self._rated is None or self._rated[0] is not log:
            self._rated = None
            self._rated = log, read_ratings(log, self.progress)
        return self._rated[1]

    def cells(self, log: EventLog, grid: Grid, groups: str | None, bound: GroupSample, secret: bytes) -> Bounded:
        """Sort the people of a table into the cells of a grid."""
        return cells(log, grid, groups, bound, secret, self.progress)

    def tagging(self, log: TagLog) -> Tagging:
        """Collect the assignments while the log is read."""
        found, self._tally = tagging(log, self.progress)
        return found

    def _each(
        self, log: EventLog, secret: bytes, kernel: Callable[..., None], asked: Sequence[tuple[Any, ...]]
    ) -> None:
        """Run a kernel over all pieces of a log, on as many threads as there are arguments to ask it with."""
        walk = self._walk
        if walk is None or self._log is not log:
            self._walk = None  # let go of another log's records first
            walk = _walk_through(log, self.memory)
            self._log, self._walk = log, walk
        threads = len(asked)
        with ThreadPoolExecutor(threads) as pool:
            for together in walk.pieces(secret, threads, pool, self.progress):
                if len(together) == 1:  # handing one piece to another thread takes longer than a small log
                    kernel(together[0], *asked[0])
                else:
                    list(pool.map(lambda piece, rest: kernel(piece, *rest), together, asked[: len(together)]))


def _walk_through(log: EventLog, memory: int) -> Walk:
    if isinstance(log.source, PackedSource):
        return PackedWalk(log.source)
    return HeldWalk(HeldLog(log, memory))


def _modes(log: EventLog) -> Modes:
    return Modes(log.width, log.counting == "users", log.context_of == "user")


def _width(log: EventLog, table: Table) -> int:
    """Return how many cells make one column of a table."""
    return log.width if table == "items" else 1
