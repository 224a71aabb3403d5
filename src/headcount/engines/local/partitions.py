"""Partitions of a log: pieces with every user's whole history, for threads to share.

A log is read, dealt to blocks of users and held in memory as far as that goes
(:mod:`headcount.engines.local.record_store`); a packed store is grouped by user already and only looked at.
Either way a kernel gets a :class:`~headcount.bounds.kernels.grouping.UserRange`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

import numpy as np

from headcount.bounds.kernels.draws import user_keys
from headcount.bounds.kernels.grouping import PackedRecords, UserRange
from headcount.engines.engine import Progress
from headcount.engines.local.record_store import RecordStore
from headcount.events.encode.passes import Tally
from headcount.events.sources.files.packed_store import PackedSource

_STEPS = 16  # pieces for each thread: whoever is ahead takes more of them


class Stage(NamedTuple):
    """Pieces that may be taken at once, in any order, and how far one has come with each of them."""

    pieces: Sequence[UserRange]
    ends: Sequence[int]
    all: int


class LogPartitions(Protocol):
    """A way through a log."""

    @property
    def tally(self) -> Tally:
        """What the last pass met."""

    def stages(self, secret: bytes, threads: int, pool: ThreadPoolExecutor, progress: Progress) -> Iterator[Stage]:
        """Go through the log once, in pieces for so many threads."""


class HeldPartitions:
    """Through a log in memory, read again in as many passes as its memory asks for."""

    def __init__(self, held: RecordStore) -> None:
        self.held = held

    @property
    def tally(self) -> Tally:
        """What the last pass met."""
        return self.held.encoded.tally

    def stages(self, secret: bytes, threads: int, pool: ThreadPoolExecutor, progress: Progress) -> Iterator[Stage]:
        """Go through all blocks."""
        held, first_block = self.held, 0
        while first_block < held.all_blocks:
            held.fill(first_block, progress, pool)
            keys = user_keys(held.encoded.users.raw, secret)
            blocks = held.nonempty_blocks
            borders = np.linspace(0, blocks, min(blocks, threads * _STEPS) + 1).astype(int).tolist()
            records = held.records
            pieces = [UserRange(records, None, keys, first, last) for first, last in itertools.pairwise(borders)]
            yield Stage(pieces, [first_block + last for last in borders[1:]], held.all_blocks)
            first_block += held.blocks
            progress("choosing records", first_block, held.all_blocks)


class PackedPartitions:
    """Through a packed store, in pieces of about as many records each."""

    def __init__(self, source: PackedSource) -> None:
        self.source = source

    @property
    def tally(self) -> Tally:
        """What was met when the store was packed."""
        return self.source.tally

    def stages(
        self,
        secret: bytes,
        threads: int,
        pool: ThreadPoolExecutor,  # noqa: ARG002
        progress: Progress,  # noqa: ARG002
    ) -> Iterator[Stage]:
        """Go through all users."""
        self.source.refuse_if_changed()
        starts = self.source.starts
        packed = PackedRecords(starts, self.source.cells, self.source.times)
        keys = user_keys(self.source.users.raw, secret)
        shares = np.linspace(0, starts[-1], threads * _STEPS + 1).astype(np.int64)
        borders = np.unique(np.searchsorted(starts, shares)).tolist()
        pieces = [UserRange(None, packed, keys, first, last) for first, last in itertools.pairwise(borders)]
        yield Stage(pieces, [int(starts[last]) for last in borders[1:]], int(starts[-1]))
