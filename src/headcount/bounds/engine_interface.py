"""What a bound asks of the engine that measures it: passes over a log, and what one pass collects.

Engines implement :class:`Passes`; bounds are written against it and import no engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Codes, Integers
from headcount.events.encode.passes import CodedBatch, EncodedLog, Reading
from headcount.events.log import EventLog

Progress = Callable[[str, int, int | None], None]
"""Called with the stage, the rows done and the rows in all (None: unknown)."""

Cached = TypeVar("Cached")


@dataclass(frozen=True)
class CollectedRows:
    """Rows that count: user, cell, number of records, and what else was read, None for what was not."""

    users: Codes
    cells: Codes
    times: NDArray[np.int64] | None
    contexts: Codes | None
    values: NDArray[np.float64] | None

    def repeated(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the user and the cell of every single record."""
        users, cells = self.users.astype(np.int64), self.cells.astype(np.int64)
        return (
            (users, cells) if self.times is None else (np.repeat(users, self.times), np.repeat(cells, self.times))
        )


@dataclass(frozen=True)
class SortedRows:
    """Rows that count: ``cells[starts[u] : starts[u + 1]]`` are user u's, rising, and ``beside`` as well."""

    starts: Integers
    cells: Codes
    beside: Codes


class Passes(Protocol):
    """Passes over a log, on several threads, and memory between the stages of one release."""

    threads: int

    @property
    def progress(self) -> Progress:
        """What shows how far a stage is."""

    def threads_for(self, sums: int) -> int:
        """Return how many threads may hold so many sums each."""

    def cached(self, log: EventLog, what: object, make: Callable[[], Cached]) -> Cached:
        """Return what is held of a log, made now if it is not."""

    def batches(self, encoded: EncodedLog, stage: str) -> Iterator[CodedBatch]:
        """Go through a log once, and keep the tally of its rows."""

    def read(self, log: EventLog, reading: Reading, stage: str = ...) -> tuple[EncodedLog, CollectedRows]:
        """Read all rows of a log that count."""

    def read_sorted(
        self,
        log: EventLog,
        reading: Reading,
        beside: Callable[[CodedBatch], NDArray[np.integer[Any]]],
        stage: str = ...,
    ) -> SortedRows:
        """Read all rows of a log that count, sorted by user, cell and another number."""

    def run_kernel(
        self,
        log: EventLog,
        secret: bytes,
        kernel: Callable[..., None],
        thread_arguments: Sequence[tuple[Any, ...]],
    ) -> None:
        """Run a kernel over the users' whole histories, on as many threads as there are arguments."""


def silent(stage: str, done: int, total: int | None) -> None:
    """Show no progress."""


def sum_over_histories(
    passes: Passes, log: EventLog, secret: bytes, kernel: Callable[..., None], sums: int, room: Callable[[], Any]
) -> Any:
    """Run a kernel over all users' histories and add up what the threads have summed.

    ``room`` makes the arguments of one thread, the last of them a tuple of empty sums, about ``sums`` in all.
    """
    rooms = [room() for _ in range(passes.threads_for(sums))]
    passes.run_kernel(log, secret, kernel, rooms)
    total = rooms[0][-1]
    for thread_room in rooms[1:]:
        for summed, part in zip(total, thread_room[-1], strict=True):
            np.add(summed, part, out=summed)
    return total
