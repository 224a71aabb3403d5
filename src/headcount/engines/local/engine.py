"""The local engine: passes over a log on several threads, and the cached records of the current log.

It equals the reference engine draw for draw. Users are dealt to blocks while the log is read (see
:mod:`headcount.engines.local.partitions`); then the blocks are gone through in parallel, with every user's whole
history at hand. What is in memory stays there between the stages of one release.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from headcount.bounds import Bound, Measured_co
from headcount.bounds.engine_interface import CollectedRows, SortedRows
from headcount.bounds.kernels.grouping import UserRange
from headcount.engines.engine import Progress, silent
from headcount.engines.local.encoded_rows import collect_rows, sort_rows_by_user
from headcount.engines.local.partitions import HeldPartitions, LogPartitions, PackedPartitions
from headcount.engines.local.record_store import RecordStore
from headcount.events.encode.passes import CodedBatch, EncodedLog, Reading, Tally
from headcount.events.log import EventLog
from headcount.events.sources.files.packed_store import PackedSource

MAX_CELLS_PER_THREAD = 1 << 24
"""Above so many sums one thread adds up, so that they are held once."""

Held = TypeVar("Held")


@dataclass
class LocalEngine:
    """Measures with ``threads`` threads and ``memory`` bytes of packed records; neither changes the result.

    >>> from headcount.bounds import SampleRecords
    >>> log = EventLog.of([("ann", "tea"), ("ann", "tea"), ("bob", "rye")], items=["rye", "tea"])
    >>> LocalEngine().measure(log, SampleRecords(1), bytes(16)).items.sensitive_values.tolist()
    [1, 1]
    """

    threads: int = field(default_factory=lambda: max(1, min(8, os.cpu_count() or 1)))
    memory: int = 320 << 20
    progress: Progress = silent
    tally: Tally | None = field(default=None, init=False, repr=False)
    """What the last pass met, for the curator's eyes."""

    _log: EventLog | None = field(default=None, init=False, repr=False)
    _cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)
    turn: threading.RLock = field(default_factory=threading.RLock, init=False, repr=False, compare=False)
    """Whose it is to go through a log: threads that share an engine would count what another one holds."""

    def __reduce__(self) -> tuple[type[Self], tuple[int, int, Progress]]:
        """Let another process begin anew: what is held stays here."""
        return type(self), (self.threads, self.memory, self.progress)

    def can(self, kind: type[Bound[Any]]) -> bool:
        """Say whether bounds of a kind can be measured: all that say how."""
        return kind.measure is not Bound.measure

    def measure(self, log: EventLog, bound: Bound[Measured_co], secret: bytes) -> Measured_co:
        """Add up, over all users, what the bound makes of each user's own records and draws."""
        with self.turn:
            return bound.measure(self, log, secret)

    def threads_for(self, sums: int) -> int:
        """Return how many threads may hold so many sums each."""
        return self.threads if sums <= MAX_CELLS_PER_THREAD else 1

    def cached(self, log: EventLog, what: object, make: Callable[[], Held]) -> Held:
        """Return what is held of a log, made now if it is not; another log's things are let go of first.

        Its records stay where the next log has the same ones and counts them otherwise.
        """
        if self._log is not log:
            same = self._log is not None and log.has_same_records(self._log)
            self._cache = (
                {LogPartitions: self._cache[LogPartitions]} if same and LogPartitions in self._cache else {}
            )
            self._log = log
        if what not in self._cache:
            self._cache[what] = make()
        held: Held = self._cache[what]
        return held

    def batches(self, encoded: EncodedLog, stage: str) -> Iterator[CodedBatch]:
        """Go through a log once, and keep the tally of its rows."""
        for batch in encoded.batches():
            yield batch
            self.progress(stage, encoded.tally.rows, encoded.log.source.rows)
        self.tally = encoded.tally

    def read(
        self, log: EventLog, reading: Reading, stage: str = "reading events"
    ) -> tuple[EncodedLog, CollectedRows]:
        """Read all rows of a log that count; they are not held."""
        coded = EncodedLog(log, reading)
        rows = collect_rows(coded, self.progress, stage)
        self.tally = coded.tally
        return coded, rows

    def read_sorted(
        self,
        log: EventLog,
        reading: Reading,
        beside: Callable[[CodedBatch], NDArray[np.integer[Any]]],
        stage: str = "reading events",
    ) -> SortedRows:
        """Read all rows of a log that count, in the order of their users; they are not held."""
        coded = EncodedLog(log, reading)
        rows = sort_rows_by_user(coded, beside, self.progress, stage)
        self.tally = coded.tally
        return rows

    def run_kernel(
        self,
        log: EventLog,
        secret: bytes,
        kernel: Callable[..., None],
        thread_arguments: Sequence[tuple[Any, ...]],
    ) -> None:
        """Run a kernel over all pieces of a log, on as many threads as there are arguments to ask it with."""
        walk = self.cached(log, LogPartitions, lambda: _open_walk(log, self.memory))
        free: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
        for arguments in thread_arguments:
            free.put(arguments)

        def take(piece: UserRange) -> None:
            own_arguments = free.get()  # there are as many as threads
            try:
                kernel(piece, *own_arguments)
            finally:
                free.put(own_arguments)

        with ThreadPoolExecutor(len(thread_arguments)) as pool:
            for pieces, ends, whole in walk.stages(secret, len(thread_arguments), pool, self.progress):
                # handing pieces to another thread takes longer than a small log, which is one piece
                taken = (
                    map(take, pieces) if len(thread_arguments) == 1 or len(pieces) == 1 else pool.map(take, pieces)
                )
                for end, _ in zip(ends, taken, strict=True):
                    self.progress("choosing records", end, whole)
        self.tally = walk.tally


def _open_walk(log: EventLog, memory: int) -> LogPartitions:
    if isinstance(log.source, PackedSource):
        return PackedPartitions(log.source)
    return HeldPartitions(RecordStore(log, memory))
