"""The record store: a log's records packed and sorted by blocks of users, within a memory limit.

Each batch is sorted by block while the next one is read. What does not fit is left out and read again later, with
other blocks; so memory follows the chosen amount, not the length of the log. Should a single block outgrow it, the
store grows: the records of one block's users must fit.

A record takes as many bytes as the users met so far ask for. Where their number is not known beforehand, what is
held is made wider as they turn up.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount.bounds.kernels.grouping import HeldRecords, sort_into_blocks
from headcount.engines.engine import Progress
from headcount.events.encode.id_table import NumberRange
from headcount.events.encode.passes import FEW_ROWS, CodedBatch, EncodedLog
from headcount.events.log import EventLog

_MOST_BLOCK_BITS = 13
_USER_BITS_IN_A_BLOCK = 6
_LOW_BITS = 16
_GROUPED = 1 << 16  # records about which are grouped by user at once: they fit the processor's cache
_NO_TIMES = np.empty(0, dtype=np.int64)


class RecordStore:
    """The blocks of a log that are in memory: ``blocks`` of them, from ``first_block`` on."""

    def __init__(self, log: EventLog, memory: int) -> None:
        self.log = log
        self.encoded = EncodedLog(log)
        self.cell_bits = max(1, (log.cells - 1).bit_length())
        n_users = self.encoded.users.size if isinstance(self.encoded.users, NumberRange) else None
        spare_bits = _MOST_BLOCK_BITS if n_users is None else n_users.bit_length() - _USER_BITS_IN_A_BLOCK
        self.block_bits = max(0, min(_MOST_BLOCK_BITS, spare_bits))
        self._memory, self._weighted = memory, log.roles.times is not None
        upper = self._upper_type(n_users or 0)
        room = self._room(upper)
        self.low = np.empty(room, dtype=np.uint16)
        self.high = np.empty(room, dtype=upper)
        self.weights = np.empty(room if self._weighted else 0, dtype=np.int32)
        self._whole: NDArray[Any] = np.empty(0, dtype=np.uint32)
        self.first_block, self.blocks = 0, 0
        self._clear()

    @property
    def all_blocks(self) -> int:
        """How many blocks there are in all."""
        return 1 << self.block_bits

    @property
    def nonempty_blocks(self) -> int:
        """How many of the blocks that are held have anybody, the first ones: users are dealt in turns."""
        return max(0, min(self.blocks, self.encoded.users.size - self.first_block))

    @property
    def records(self) -> HeldRecords:
        """What is held, as kernels take it."""
        return HeldRecords(
            self.low, self.high, self.weights, self.bases, self.starts, self.first_block, self.block_bits,
            self.cell_bits, max(1, _GROUPED * self.blocks // max(1, self._size)),
        )  # fmt: skip

    def fill(self, first_block: int, progress: Progress, pool: ThreadPoolExecutor) -> None:
        """Read the log and hold as many blocks, from the given one on, as the memory takes."""
        if self.blocks and self.first_block == first_block:
            return
        self.first_block, self.blocks = first_block, self._expected(first_block)
        self._clear()
        try:
            self._read(progress, pool)
        except BaseException:
            self.blocks = 0  # half a log must not be taken for the whole one by the next count
            raise

    def _read(self, progress: Progress, pool: ThreadPoolExecutor) -> None:
        dealing: Future[NDArray[np.int32]] | None = None
        for batch in self.encoded.batches():
            if dealing is not None:
                self._settle(dealing.result())
            self._widen(batch.users.size)
            self._make_room(batch.users.size)
            dealing = None
            if batch.users.size < FEW_ROWS:
                self._settle(self._deal(batch))
            else:
                dealing = pool.submit(self._deal, batch)
            progress("reading events", self.encoded.tally.rows, self.log.source.rows)
        if dealing is not None:
            self._settle(dealing.result())
        self.bases = np.array(self._bases, dtype=np.int64)
        self.starts = np.array(self._starts, dtype=np.int32).reshape(len(self._bases), self.blocks + 1)
        self._starts.clear()
        if self._size >= FEW_ROWS:
            pa.default_memory_pool().release_unused()  # batches are gone, and Arrow keeps their room for more

    def _clear(self) -> None:
        self._size = 0
        self._bases: list[int] = []
        self._starts: list[NDArray[np.int32]] = []

    def _expected(self, first_block: int) -> int:
        """How many blocks should fit, going by the number of rows where it is known."""
        left = self.all_blocks - first_block
        rows = self.log.source.rows
        if not rows:
            return left
        passes = -(-rows * left // (self.all_blocks * self._room(self.high.dtype)))
        return max(1, -(-left // max(1, passes)))

    def _deal(self, batch: CodedBatch) -> NDArray[np.int32]:
        starts = np.empty(self.blocks + 1, dtype=np.int32)
        wide = np.uint32 if self.high.itemsize <= 2 else np.uint64
        if self._whole.size < batch.users.size or self._whole.dtype != wide:
            self._whole = np.empty(batch.users.size, dtype=wide)
        free = slice(self._size, self._size + batch.users.size)
        sort_into_blocks(
            batch.users, batch.cells, _NO_TIMES if batch.times is None else batch.times, self.block_bits,
            self.first_block, self.cell_bits, starts, self._whole[: batch.users.size], self.low[free],
            self.high[free], self.weights[free],
        )  # fmt: skip
        return starts

    def _settle(self, starts: NDArray[np.int32]) -> None:
        self._bases.append(self._size)
        self._starts.append(starts)
        self._size += int(starts[-1])

    def _upper_type(self, users: int) -> np.dtype[Any]:
        """Return what holds the bits of a record above its low ones, of so many users."""
        return _type_of((max(0, users - 1) >> self.block_bits).bit_length() + self.cell_bits - _LOW_BITS)

    def _room(self, upper: np.dtype[Any]) -> int:
        """Return how many records fit into the chosen amount of memory."""
        return max(1, self._memory // (_LOW_BITS // 8 + upper.itemsize + (4 if self._weighted else 0)))

    def _widen(self, rows: int) -> None:
        """Let the records that are held, and so many more, have the bits that all users met so far ask for."""
        upper = self._upper_type(self.encoded.users.size)
        if upper.itemsize <= self.high.itemsize:
            return
        self._leave_out(self._room(upper) - rows)
        room = max(self._room(upper), self._size)
        self.low, self.weights = self.low[:room], self.weights[:room]
        narrow, self.high = self.high, np.empty(self.low.size, dtype=upper)
        self.high[: self._size] = narrow[: self._size]

    def _make_room(self, rows: int) -> None:
        """Leave out blocks until a batch fits; with one block left, take more memory."""
        self._leave_out(self.low.size - rows)
        if self._size + rows > self.low.size:
            more = self._size + rows
            self.low = np.concatenate([self.low, np.empty(more, dtype=self.low.dtype)])
            self.high = np.concatenate([self.high, np.empty(more, dtype=self.high.dtype)])
            if self._weighted:
                self.weights = np.concatenate([self.weights, np.empty(more, dtype=self.weights.dtype)])

    def _leave_out(self, room: int) -> None:
        """Leave out the later half of the blocks until what is held fits, or one block is left."""
        while self._size > room and self.blocks > 1:
            self.blocks = (self.blocks + 1) // 2
            batches, self._size = list(zip(self._bases, self._starts, strict=True)), 0
            self._bases, self._starts = [], []
            for base, starts in batches:
                self._move(base, int(starts[self.blocks]))
                self._settle(starts[: self.blocks + 1])

    def _move(self, base: int, count: int) -> None:
        for array in (self.low, self.high, self.weights):
            if array.size:
                array[self._size : self._size + count] = array[base : base + count]


def _type_of(bits: int) -> np.dtype[Any]:
    """Return what holds so many bits above the low ones of a record."""
    return np.dtype(np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32)
