"""The local engine: compiled kernels over streamed batches, equal to the reference draw for draw.

Memory follows users and limits, not events: two passes over the source, one heap of at most ``limit`` records
for every user who has more than that, and a fixed table of small counters.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headcount.bounding import Bound, BoundedCounts, certify
from headcount.engines import draws, kernels
from headcount.engines.engine import Progress, silent
from headcount.events.encoding import CodedBatch, EncodedLog
from headcount.events.log import EventLog

_NO_TIMES = np.empty(0, dtype=np.int64)
_LARGEST_BOUNDS = 1 << 27  # bytes for the bounds on repeated cells, whatever the length of the log
_MANY_CELLS = 1 << 24  # above this one thread counts, so that the counts are held once


@dataclass
class LocalEngine:
    """Counts with ``threads`` threads; neither their number nor the size of batches changes the result."""

    threads: int = field(default_factory=lambda: max(1, min(8, os.cpu_count() or 1)))
    progress: Progress = silent

    def count(self, log: EventLog, bound: Bound, secret: bytes) -> BoundedCounts:
        """Take a census of the users, then keep and count what the bound allows."""
        parts = self.threads if log.cells <= _MANY_CELLS else 1
        with ThreadPoolExecutor(parts) as pool:
            run = _Run(log, bound, secret, parts, pool, self.progress)
            items, edges = run.distinct() if log.counting == "users" else run.records()
        return certify(bound, log.counting, items, edges)


class _Run:
    """One count of one log: the state that its passes share."""

    def __init__(
        self, log: EventLog, bound: Bound, secret: bytes, parts: int, pool: ThreadPoolExecutor, progress: Progress
    ) -> None:
        self._log, self._bound, self._parts, self._pool, self._progress = log, bound, parts, pool, progress
        self._encoded = EncodedLog(log)
        self._secret = secret
        self._ranks = bound.ranks if bound.ranks is not None else np.empty(0, dtype=np.int64)
        self._bits = draws.rank_bits(bound.ranks)
        self._totals = np.zeros(self._encoded.users.size, dtype=np.int64)
        self._passes = 0

    def records(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count kept records."""
        self._choose_contexts()
        bounds = [np.zeros(self._bounds_size(), dtype=np.uint8) for _ in range(self._parts)]
        self._census(bounds)
        self._make_heaps(np.where(self._totals > self._bound.limit, self._bound.limit, 0))
        counts = [np.zeros(self._log.cells, dtype=np.int64) for _ in range(self._parts)]
        exact = [_ExactCounts() for _ in range(self._parts)]

        def select(batch: CodedBatch, times: NDArray[np.int64], part: int) -> None:
            table, row = exact[part], 0
            while True:
                row, table.entries = kernels.select(
                    batch.users, batch.cells, times, row, part, self._parts, self._totals, bounds[part],
                    self._bound.limit, self._keys, self._ranks, self._bits, self._log.width, self._first,
                    self._heap, self._held, self._fill, self._worst, table.names, table.numbers, table.entries,
                    counts[part],
                )  # fmt: skip
                if row == batch.users.size:
                    return
                table.grow()

        self._pass(select, "choosing records")
        edges = sum(counts[1:], start=counts[0])
        kernels.count_held(self._first, self._held, self._fill, edges)
        edges = edges.reshape(-1, self._log.width)
        return edges.sum(axis=1), edges

    def distinct(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count users: each once for every kept cell, and once for every item among those."""
        self._choose_contexts()
        self._census([np.zeros(1, dtype=np.uint8)] * self._parts)
        self._make_heaps(np.minimum(self._totals, self._bound.limit))

        def select(batch: CodedBatch, times: NDArray[np.int64], part: int) -> None:
            cells = np.where(times > 0, batch.cells, np.int32(-1)) if times.size else batch.cells
            kernels.select_distinct(
                batch.users, cells, part, self._parts, self._keys, self._ranks, self._bits,
                self._log.width, self._first, self._heap, self._held, self._fill, self._worst,
            )  # fmt: skip

        self._pass(select, "choosing records")
        edges = np.zeros(self._log.cells, dtype=np.int64)
        items = np.zeros(len(self._log.catalogue.ids), dtype=np.int64)
        kernels.count_held(self._first, self._held, self._fill, edges)
        kernels.count_held_items(self._first, self._held, self._fill, self._log.width, items)
        return items, edges.reshape(-1, self._log.width)

    def _choose_contexts(self) -> None:
        if self._log.context_of != "user":
            return
        tallies = np.zeros((self._encoded.users.size, self._log.width), dtype=np.int64)
        for batch in self._batches("choosing contexts"):
            missing = self._encoded.users.size - tallies.shape[0]
            if missing > 0:
                tallies = np.pad(tallies, ((0, max(missing, tallies.shape[0])), (0, 0)))
            times = _NO_TIMES if batch.times is None else batch.times
            kernels.tally_contexts(batch.users, batch.cells, times, self._log.width, tallies)
        size = self._encoded.users.size
        self._encoded.keep_contexts(draws.chosen_contexts(tallies[:size], self._user_keys()))

    def _census(self, bounds: list[NDArray[np.uint8]]) -> None:
        def census(batch: CodedBatch, times: NDArray[np.int64], part: int) -> None:
            kernels.census(batch.users, batch.cells, times, part, self._parts, self._totals, bounds[part])

        self._pass(census, "counting people's records")
        self._totals = self._totals[: self._encoded.users.size]
        self._keys = self._user_keys()

    def _make_heaps(self, rooms: NDArray[np.int64]) -> None:
        self._first = np.zeros(rooms.size + 1, dtype=np.int64)
        np.cumsum(rooms, out=self._first[1:])
        self._heap = np.empty(int(self._first[-1]), dtype=np.uint64)
        self._held = np.empty(int(self._first[-1]), dtype=np.int32)
        self._fill = np.zeros(rooms.size, dtype=np.int32)
        self._worst = np.full(rooms.size, np.iinfo(np.uint64).max, dtype=np.uint64)

    def _pass(self, work: Callable[[CodedBatch, NDArray[np.int64], int], None], stage: str) -> None:
        """Give every batch to all threads, reading the next one meanwhile."""
        waiting: list[Future[None]] = []
        for batch in self._batches(stage):
            for future in waiting:
                future.result()
            self._make_room()
            times = _NO_TIMES if batch.times is None else batch.times
            waiting = [self._pool.submit(work, batch, times, part) for part in range(self._parts)]
        for future in waiting:
            future.result()

    def _make_room(self) -> None:
        missing = self._encoded.users.size - self._totals.size
        if missing > 0:
            self._totals = np.concatenate([self._totals, np.zeros(missing + self._totals.size, dtype=np.int64)])

    def _batches(self, stage: str) -> Iterator[CodedBatch]:
        rows = self._log.source.rows
        for batch in self._encoded.batches():
            yield batch
            self._progress(stage, self._encoded.tally.rows, rows)

    def _bounds_size(self) -> int:
        """Two counters a row where that is affordable: a power of two for each part."""
        wanted = 2 * (self._log.source.rows or _LARGEST_BOUNDS)
        whole = 1 << max(12, min(_LARGEST_BOUNDS.bit_length() - 1, int(wanted).bit_length()))
        return max(2, 1 << ((whole // self._parts).bit_length() - 1))

    def _user_keys(self) -> draws.Draws:
        raw = self._encoded.users.raw
        k0, k1 = np.frombuffer(self._secret, dtype="<u8").astype(np.uint64)
        if isinstance(raw, tuple):
            data, ends = raw
        else:
            data = raw.astype("<i8").view(np.uint8)
            ends = np.arange(8, 8 * raw.size + 1, 8, dtype=np.int64)
        keys = np.empty(ends.size, dtype=np.uint64)
        kernels.keys_of_texts(k0, k1, data, ends, keys)
        return keys


class _ExactCounts:
    """How many records each possibly repeated cell has had so far: open addressing over (user, cell)."""

    def __init__(self) -> None:
        self.names = np.empty(1 << 12, dtype=np.uint64)
        self.numbers = np.zeros(1 << 12, dtype=np.int64)
        self.entries = 0

    def grow(self) -> None:
        names = np.empty(2 * self.names.size, dtype=np.uint64)
        numbers = np.zeros(names.size, dtype=np.int64)
        kernels.copy_entries(self.names, self.numbers, names, numbers)
        self.names, self.numbers = names, numbers
