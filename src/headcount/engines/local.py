"""The local engine: compiled kernels over grouped records, equal to the reference draw for draw.

Users are dealt to blocks while the log is read (see :mod:`headcount.engines.holding`); then the blocks are gone
through in parallel, with every user's whole history at hand.
"""

from __future__ import annotations

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from headcount.bounding import Bound, BoundedCounts, certify
from headcount.engines import draws, kernels
from headcount.engines.engine import Progress, silent
from headcount.engines.holding import HeldLog
from headcount.events.encoding import Tally
from headcount.events.log import EventLog

_MANY_CELLS = 1 << 24  # above this one thread counts, so that the counts are held once
_STEPS = 16  # how often a thread reports its progress
_NO_RANKS = np.empty(0, dtype=np.int64)


@dataclass
class LocalEngine:
    """Counts with ``threads`` threads and ``memory`` bytes of packed records; neither changes the result."""

    threads: int = field(default_factory=lambda: max(1, min(8, os.cpu_count() or 1)))
    memory: int = 320 << 20
    progress: Progress = silent
    _held: HeldLog | None = field(default=None, repr=False)

    @property
    def tally(self) -> Tally | None:
        """What the last pass met, for the curator's eyes."""
        return None if self._held is None else self._held.encoded.tally

    def count(self, log: EventLog, bound: Bound, secret: bytes) -> BoundedCounts:
        """Keep what the bound allows of each user's records and count it.

        What is in memory stays there between the stages of one release.
        """
        if self._held is None or self._held.log is not log:
            self._held = HeldLog(log, self.memory)
        threads = self.threads if log.cells <= _MANY_CELLS else 1
        with ThreadPoolExecutor(threads) as pool:
            items, edges = _count(self._held, bound, secret, threads, pool, self.progress)
        return certify(bound, log.counting, items, edges)


def _count(
    held: HeldLog, bound: Bound, secret: bytes, threads: int, pool: ThreadPoolExecutor, progress: Progress
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Go through all blocks, in as many passes as the memory asks for."""
    log = held.log
    edges = np.zeros((threads, log.cells), dtype=np.int64)
    items = np.zeros((threads, len(log.catalogue.ids)), dtype=np.int64)
    ranks = _NO_RANKS if bound.ranks is None else bound.ranks
    bits = draws.rank_bits(bound.ranks)
    first_block = 0

    def keep(keys: draws.Draws, part: int, piece: tuple[int, int]) -> None:
        first, last = piece
        kernels.keep_blocks(
            held.low, held.high, held.weights, held.bases, held.starts, first, last, held.first_block,
            held.block_bits, held.cell_bits, keys, bound.limit, ranks, bits, log.width, log.counting == "users",
            log.context_of == "user", edges[part], items[part],
        )  # fmt: skip

    while first_block < held.all_blocks:
        held.fill(first_block, progress, pool)
        keys = user_keys(held, secret)
        borders = np.linspace(0, held.blocks, min(held.blocks, threads * _STEPS) + 1).astype(int).tolist()
        pieces = list(itertools.pairwise(borders))
        for step in range(0, len(pieces), threads):
            together = pieces[step : step + threads]
            list(pool.map(partial(keep, keys), range(threads), together))
            progress("choosing records", first_block + together[-1][1], held.all_blocks)
        first_block += held.blocks
    whole = edges.sum(axis=0).reshape(-1, log.width)
    return (whole.sum(axis=1) if log.counting == "records" else items.sum(axis=0)), whole


def user_keys(held: HeldLog, secret: bytes) -> draws.Draws:
    """Return every user's key, from the raw ids."""
    raw = held.encoded.users.raw
    k0, k1 = np.frombuffer(secret, dtype="<u8").astype(np.uint64)
    if isinstance(raw, tuple):
        data, ends = raw
    else:
        data = raw.astype("<i8").view(np.uint8)
        ends = np.arange(8, 8 * raw.size + 1, 8, dtype=np.int64)
    keys = np.empty(ends.size, dtype=np.uint64)
    kernels.keys_of_texts(k0, k1, data, ends, keys)
    return keys
