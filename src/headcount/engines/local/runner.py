"""What all measures of the local engine share: its threads and memory, and the log that is at hand.

Users are dealt to blocks while the log is read (see :mod:`headcount.engines.local.partitions`); then the blocks
are gone through in parallel, with every user's whole history at hand. What is in memory stays there between the
stages of one release.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from headcount.bounds.kernels.grouping import Piece
from headcount.engines.engine import Progress, silent
from headcount.engines.local.partitions import HeldWalk, PackedWalk, Walk
from headcount.engines.local.record_store import HeldLog
from headcount.engines.local.row_reader import Collected, Sorted, collected, sorted_by_user
from headcount.events.encode.passes import CodedBatch, EncodedLog, Reading, Tally
from headcount.events.log import EventLog
from headcount.events.sources.files.packed_store import PackedSource

MANY_CELLS = 1 << 24
"""Above so many sums one thread adds up, so that they are held once."""

Held = TypeVar("Held")


@dataclass
class Passes:
    """Goes through logs with ``threads`` threads and ``memory`` bytes of records; neither changes a result."""

    threads: int = field(default_factory=lambda: max(1, min(8, os.cpu_count() or 1)))
    memory: int = 320 << 20
    progress: Progress = silent
    tally: Tally | None = field(default=None, init=False, repr=False)
    """What the last pass met, for the curator's eyes."""

    _log: EventLog | None = field(default=None, init=False, repr=False)
    _held: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)
    turn: threading.RLock = field(default_factory=threading.RLock, init=False, repr=False, compare=False)
    """Whose it is to go through a log: threads that share an engine would count what another one holds."""

    def __reduce__(self) -> tuple[type[Self], tuple[int, int, Progress]]:
        """Let another process begin anew: what is held stays here."""
        return type(self), (self.threads, self.memory, self.progress)

    def threads_for(self, sums: int) -> int:
        """Return how many threads may hold so many sums each."""
        return self.threads if sums <= MANY_CELLS else 1

    def once(self, log: EventLog, what: object, make: Callable[[], Held]) -> Held:
        """Return what is held of a log, made now if it is not; another log's things are let go of first.

        Its records stay where the next log has the same ones and counts them otherwise.
        """
        if self._log is not log:
            same = self._log is not None and log.has_the_records_of(self._log)
            self._held = {Walk: self._held[Walk]} if same and Walk in self._held else {}
            self._log = log
        if what not in self._held:
            self._held[what] = make()
        held: Held = self._held[what]
        return held

    def read(self, log: EventLog, reading: Reading, stage: str = "reading events") -> tuple[EncodedLog, Collected]:
        """Read all rows of a log that count; they are not held."""
        coded = EncodedLog(log, reading)
        rows = collected(coded, self.progress, stage)
        self.tally = coded.tally
        return coded, rows

    def read_sorted(
        self,
        log: EventLog,
        reading: Reading,
        beside: Callable[[CodedBatch], NDArray[np.integer[Any]]],
        stage: str = "reading events",
    ) -> Sorted:
        """Read all rows of a log that count, in the order of their users; they are not held."""
        coded = EncodedLog(log, reading)
        rows = sorted_by_user(coded, beside, self.progress, stage)
        self.tally = coded.tally
        return rows

    def each(
        self, log: EventLog, secret: bytes, kernel: Callable[..., None], asked: Sequence[tuple[Any, ...]]
    ) -> None:
        """Run a kernel over all pieces of a log, on as many threads as there are arguments to ask it with."""
        walk = self.once(log, Walk, lambda: _walk_through(log, self.memory))
        free: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
        for each in asked:
            free.put(each)

        def take(piece: Piece) -> None:
            rest = free.get()  # there are as many as threads
            try:
                kernel(piece, *rest)
            finally:
                free.put(rest)

        with ThreadPoolExecutor(len(asked)) as pool:
            for pieces, ends, whole in walk.stages(secret, len(asked), pool, self.progress):
                # handing pieces to another thread takes longer than a small log, which is one piece
                taken = map(take, pieces) if len(asked) == 1 or len(pieces) == 1 else pool.map(take, pieces)
                for end, _ in zip(ends, taken, strict=True):
                    self.progress("choosing records", end, whole)
        self.tally = walk.tally


def _walk_through(log: EventLog, memory: int) -> Walk:
    if isinstance(log.source, PackedSource):
        return PackedWalk(log.source)
    return HeldWalk(HeldLog(log, memory))
