"""Packing: read a log once, or in as many passes as memory asks for, and write it as a store grouped by user.

See :mod:`headcount.events.sources.files.packed_store` for what a store is.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headcount.bounds.kernels.grouping import group_by_user
from headcount.engines.engine import Progress, silent
from headcount.engines.local import kernels as packing
from headcount.engines.local.record_store import RecordStore
from headcount.errors import Parameter, UsageError, param
from headcount.events.log import EventLog
from headcount.events.selection_targets import find_missing_lists
from headcount.events.sources.files.packed_store import PackedSource, Raw
from headcount.events.sources.files.packed_store_writer import StoreWriter

_STEP = 32  # blocks that are worked out before they are written


@dataclass(frozen=True)
class _Block:
    """The users of a block who have records, by their codes, and their entries."""

    codes: NDArray[np.int64]
    lengths: NDArray[np.int64]
    cells: NDArray[np.int32]
    times: NDArray[np.int32]


def pack(
    log: EventLog,
    target: str | os.PathLike[str],
    *,
    memory: int = 320 << 20,
    progress: Progress = silent,
    force: bool = False,
) -> Path:
    """Write a log as a store, whole or not at all; ``memory`` bytes of records are held, which changes nothing."""
    if isinstance(log.source, PackedSource):
        raise UsageError(f"{log.source.name} is packed already", remedy="copy the folder, or release from it")
    if log.roles.value is not None:
        raise UsageError(
            "a store keeps no values", remedy=f"leave {param.value} out, or release from the raw events"
        )
    for missing in find_missing_lists(log):
        raise UsageError(
            f"a store is packed with a public catalogue and contexts, and {missing.flag} has none before it "
            "spends",
            remedy=f"list the {missing.plural} with {Parameter(missing.listed)}, or release from the raw events",
        )
    threads = max(1, min(8, os.cpu_count() or 1))
    with StoreWriter(log, Path(target), force=force) as writer, ThreadPoolExecutor(threads) as pool:
        held = RecordStore(log, memory)
        first_block = 0
        while first_block < held.all_blocks:
            held.fill(first_block, progress, pool)
            raw = held.encoded.users.raw
            filled = np.flatnonzero((held.starts[:, 1:] - held.starts[:, :-1]).any(axis=0)).tolist()
            for step in range(0, len(filled), _STEP):
                together = filled[step : step + _STEP]
                for block in pool.map(partial(_merged, held), together):
                    writer.append(_ids(raw, block.codes), block.lengths, block.cells, block.times)
                progress("packing", first_block + together[-1] + 1, held.all_blocks)
            first_block += held.blocks
        progress("writing the store", 0, None)
        return writer.finish(held.encoded.tally)


def _merged(held: RecordStore, block: int) -> _Block:
    """Group one held block by user, and sort and merge each user's records."""
    number = held.first_block + block
    users = max(0, -(-(held.encoded.users.size - number) // held.all_blocks))
    low, high, repeats, bases, blocks, _, _, cell_bits, _ = held.records
    starts, cells, weights = group_by_user(low, high, repeats, bases, blocks, cell_bits, block, block + 1, users)
    lengths = np.empty(users, dtype=np.int64)
    out, times = np.empty(cells.size, dtype=np.int32), np.empty(cells.size, dtype=np.int32)
    entries = packing.merge(starts, cells, weights, held.cell_bits, lengths, out, times)
    active = np.flatnonzero(lengths)
    return _Block(active * held.all_blocks + number, lengths[active], out[:entries], times[:entries])


def _ids(raw: Raw, codes: NDArray[np.int64]) -> Raw:
    """Return the raw ids of some users."""
    if not isinstance(raw, tuple):
        return raw[codes]
    data, ends = raw
    lengths = ends[codes] - np.where(codes > 0, ends[codes - 1], 0)
    out, out_ends = np.empty(int(lengths.sum()), dtype=np.uint8), np.empty(codes.size, dtype=np.int64)
    packing.gather(data, ends, codes, out, out_ends)
    return out, out_ends
