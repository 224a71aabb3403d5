"""The local engine: compiled kernels over grouped records, equal to the reference draw for draw.

Users are dealt to blocks. While the log is read, each batch is sorted by block and packed; then the blocks are
taken one by one, in parallel, with every user's whole history at hand. The packed records take 4 or 8 bytes
each and are held within a fixed amount of memory: what does not fit is read again in a further pass, with other
blocks. So memory follows the chosen amount, the users and the cells, never the length of the log.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.bounding import Bound, BoundedCounts, certify
from headcount.engines import draws, kernels
from headcount.engines.engine import Progress, silent
from headcount.events.encoding import CodedBatch, EncodedLog, Tally
from headcount.events.ids import NumberRange
from headcount.events.log import EventLog

Records = NDArray[Any]  # uint32 or int64

_BLOCK_BITS = 8
_BLOCKS = 1 << _BLOCK_BITS
_MANY_CELLS = 1 << 24  # above this one thread counts, so that the counts are held once
_NOTHING = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class _Dealt:
    """A batch sorted by block: where each block starts, the packed records, and their weights if any."""

    starts: NDArray[np.int64]
    records: Records
    weights: NDArray[np.int64]

    @property
    def size(self) -> int:
        return self.records.nbytes + self.weights.nbytes

    def block(self, number: int) -> slice:
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def first(self, blocks: int) -> _Dealt:
        """Return a copy that holds the first blocks alone."""
        end = int(self.starts[blocks])
        return _Dealt(self.starts[: blocks + 1].copy(), self.records[:end].copy(), self.weights[:end].copy())


@dataclass
class LocalEngine:
    """Counts with ``threads`` threads in ``memory`` bytes of packed records; neither changes the result."""

    threads: int = field(default_factory=lambda: max(1, min(8, os.cpu_count() or 1)))
    memory: int = 1 << 28
    progress: Progress = silent
    _held: _Held | None = field(default=None, repr=False)

    @property
    def tally(self) -> Tally | None:
        """What the last pass met, for the curator's eyes."""
        return None if self._held is None else self._held.encoded.tally

    def count(self, log: EventLog, bound: Bound, secret: bytes) -> BoundedCounts:
        """Keep what the bound allows of each user's records and count it."""
        held = self._held if self._held is not None and self._held.log is log else _Held(log)
        self._held = held
        threads = self.threads if log.cells <= _MANY_CELLS else 1
        with ThreadPoolExecutor(threads) as pool:
            items, edges = _Count(held, bound, secret, self, threads, pool).run()
        return certify(bound, log.counting, items, edges)


class _Held:
    """A log's records as far as they fit in memory, kept between the stages of one release."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.encoded = EncodedLog(log)
        self.cell_bits = max(1, (log.cells - 1).bit_length())
        self.first_block = 0
        self.blocks = 0
        self.batches: list[_Dealt] = []

    @property
    def users_per_block(self) -> int:
        return -(-self.encoded.users.size // _BLOCKS)

    @property
    def packed(self) -> type[np.uint32] | type[np.int64]:
        """The integer that records are packed into: 4 bytes if the number of users is known to allow it."""
        known = isinstance(self.encoded.users, NumberRange)
        return np.uint32 if known and self.users_per_block << self.cell_bits <= 2**32 else np.int64

    def fill(self, first_block: int, engine: LocalEngine, pool: ThreadPoolExecutor) -> None:
        """Read the log and hold as many blocks, from the given one on, as the memory takes."""
        if self.batches and self.first_block == first_block:
            return
        self.first_block, self.blocks = first_block, self._expected(first_block, engine.memory)
        self.batches = []
        try:
            self._read(engine, pool)
        except BaseException:
            self.batches = []  # half a log must not be taken for the whole one by the next count
            raise

    def _read(self, engine: LocalEngine, pool: ThreadPoolExecutor) -> None:
        size = 0
        for dealt in self._dealt(engine, pool):
            self.batches.append(dealt.first(self.blocks) if dealt.starts.size - 1 > self.blocks else dealt)
            size += self.batches[-1].size
            while size > engine.memory and self.blocks > 1:
                self.blocks = (self.blocks + 1) // 2
                self.batches = [batch.first(self.blocks) for batch in self.batches]
                size = sum(batch.size for batch in self.batches)

    def block(self, number: int) -> tuple[Records, NDArray[np.int64]]:
        """Return all records of one of the held blocks, and their weights."""
        slices = [(batch, batch.block(number - self.first_block)) for batch in self.batches]
        records = [batch.records[part] for batch, part in slices]
        weights = [batch.weights[part] for batch, part in slices if batch.weights.size]
        empty = np.empty(0, dtype=self.packed)
        return np.concatenate([empty, *records]), np.concatenate([_NOTHING, *weights])

    def _expected(self, first_block: int, memory: int) -> int:
        """How many blocks should fit, going by the number of rows where it is known."""
        left = _BLOCKS - first_block
        rows = self.log.source.rows
        if not rows:
            return left
        passes = -(-rows * np.dtype(self.packed).itemsize * left // (_BLOCKS * memory))
        return max(1, -(-left // max(1, passes)))

    def _dealt(self, engine: LocalEngine, pool: ThreadPoolExecutor) -> Iterator[_Dealt]:
        """Deal every batch in the background while the next one is read."""
        waiting: Future[_Dealt] | None = None
        rows = self.log.source.rows
        for batch in self.encoded.batches():
            if waiting is not None:
                yield waiting.result()
            waiting = pool.submit(self._deal, batch, self.blocks, self.packed)
            engine.progress("reading events", self.encoded.tally.rows, rows)
        if waiting is not None:
            yield waiting.result()

    def _deal(self, batch: CodedBatch, blocks: int, packed: type[np.uint32] | type[np.int64]) -> _Dealt:
        times = _NOTHING if batch.times is None else batch.times
        starts = np.empty(blocks + 1, dtype=np.int64)
        records = np.empty(batch.users.size, dtype=packed)
        weights = np.empty(times.size, dtype=np.int64)
        kernels.deal(
            batch.users, batch.cells, times, _BLOCK_BITS, self.first_block, blocks, self.cell_bits, starts,
            records, weights,
        )  # fmt: skip
        end = int(starts[-1])
        if end < records.size:
            records, weights = records[:end].copy(), weights[:end].copy()
        return _Dealt(starts, records, weights)


class _Count:
    """One count of one log under one bound."""

    def __init__(
        self,
        held: _Held,
        bound: Bound,
        secret: bytes,
        engine: LocalEngine,
        threads: int,
        pool: ThreadPoolExecutor,
    ) -> None:
        self._held, self._bound, self._secret, self._engine = held, bound, secret, engine
        self._threads, self._pool = threads, pool
        self._ranks = bound.ranks if bound.ranks is not None else _NOTHING
        self._bits = draws.rank_bits(bound.ranks)
        items = len(held.log.catalogue.ids)
        self._edges = [np.zeros(held.log.cells, dtype=np.int64) for _ in range(threads)]
        self._items = [np.zeros(items, dtype=np.int64) for _ in range(threads)]

    def run(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Go through all blocks, in as many passes as the memory asks for."""
        first_block = 0
        while first_block < _BLOCKS:
            self._held.fill(first_block, self._engine, self._pool)
            end = first_block + self._held.blocks
            keys = self._user_keys()
            list(self._pool.map(lambda part: self._share(part, first_block, end, keys), range(self._threads)))  # noqa: B023
            first_block = end
        edges = sum(self._edges[1:], start=self._edges[0]).reshape(-1, self._held.log.width)
        if self._held.log.counting == "records":
            return edges.sum(axis=1), edges
        return sum(self._items[1:], start=self._items[0]), edges

    def _share(self, part: int, first_block: int, end: int, keys: draws.Draws) -> None:
        """Take every ``threads``-th block."""
        log = self._held.log
        for number in range(first_block + part, end, self._threads):
            records, weights = self._held.block(number)
            if records.size == 0:
                continue
            mine = keys[number::_BLOCKS]
            starts, cells, grouped = kernels.group(records, weights, self._held.cell_bits, mine.size)
            kernels.keep_block(
                starts, cells, grouped, mine, self._bound.limit, self._ranks, self._bits, log.width,
                log.counting == "users", log.context_of == "user", self._edges[part], self._items[part],
            )  # fmt: skip
            self._engine.progress("choosing records", number + 1, _BLOCKS)

    def _user_keys(self) -> draws.Draws:
        raw = self._held.encoded.users.raw
        k0, k1 = np.frombuffer(self._secret, dtype="<u8").astype(np.uint64)
        if isinstance(raw, tuple):
            data, ends = raw
        else:
            data = raw.astype("<i8").view(np.uint8)
            ends = np.arange(8, 8 * raw.size + 1, 8, dtype=np.int64)
        keys = np.empty(ends.size, dtype=np.uint64)
        kernels.keys_of_texts(k0, k1, data, ends, keys)
        return keys
