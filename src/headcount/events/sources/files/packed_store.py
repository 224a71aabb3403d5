"""Packed store: a log's records on disk, encoded and grouped by user, for fast repeated releases.

A store is a folder of arrays that are mapped into memory, and ``store.json``, which says how the log was read and
how each array must look. Everything is written aside first and renamed into place, so an interrupted run leaves
nothing that looks like a store. It holds raw events: for the curator alone.

::

    starts.npy      where each user's entries begin, and where the last one's end
    cells.npy       the cell of each entry, ascending within a user
    times.npy       how many equal records each entry stands for; absent if that is 1 throughout
    users.npy       the raw ids of the users; for text, user_bytes.npy and user_ends.npy
    catalogue.parquet
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from headcount.errors import DataError, HeadcountError, SurroundingsError, UsageError, param
from headcount.events.sources.files import formats

FORMAT = "headcount-store"
VERSION = 1
DESCRIPTION = "store.json"
CATALOGUE = "catalogue.parquet"
NUMBERS, TEXTS = ("users",), ("user_bytes", "user_ends")

Raw = NDArray[np.int64] | tuple[NDArray[np.uint8], NDArray[np.int64]]
Entries = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64] | None]
CatalogueIds = tuple[str, ...] | tuple[int, ...]
Stamp = tuple[int, int]

_REMEDY = "pack it again"


@dataclass
class Tally:
    """The rows that one pass left out, for the curator alone: never in a release."""

    rows: int = 0
    outside_catalogue: int = 0
    unknown_context: int = 0
    nulls: dict[str, int] = field(default_factory=dict)


class PackedUsers:
    """The raw ids of a store's users; the code of a user is their place in it."""

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self.size = int((raw[1] if isinstance(raw, tuple) else raw).size)

    def codes(self, column: pa.Array, *, may_add: bool = True) -> NDArray[np.int32]:  # noqa: ARG002
        """Refuse: the codes are in the store already."""
        raise TypeError("a store's users have their codes already")


@dataclass(frozen=True)
class PackedSource:
    """A store as the source of a log: it is grouped by user already, so it is read by entries, not by columns.

    ``times`` is empty if every entry stands for one record.
    """

    folder: Path
    description: dict[str, Any] = field(repr=False)
    starts: NDArray[np.int64] = field(repr=False, compare=False)
    cells: NDArray[Any] = field(repr=False, compare=False)
    times: NDArray[np.int32] = field(repr=False, compare=False)
    users: PackedUsers = field(repr=False, compare=False)
    stamps: dict[str, Stamp] = field(repr=False)

    @property
    def name(self) -> str:
        """The folder."""
        return str(self.folder)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns that the log was read from, with their types there."""
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(self.description["schema"])))

    def type_of(self, column: str) -> pa.DataType | None:
        """Return the type that a column had when it was read."""
        return self.schema.field(column).type if column in self.schema.names else None

    @property
    def names(self) -> list[str]:
        """The columns that the log was read from."""
        return list(self.schema.names)

    @property
    def events(self) -> dict[str, Any]:
        """The parameters of the log."""
        return dict(self.description["events"])

    @property
    def records(self) -> int:
        """How many records were packed."""
        return int(self.description["rows"])

    @property
    def rows(self) -> int | None:
        """How many rows a pass yields: entries if rows may stand for several records, else records."""
        return self.cells.size if "times" in self.description["events"] else self.records

    @property
    def tally(self) -> Tally:
        """The rows that were left out when the store was packed."""
        return Tally(**self.description["tally"])

    @property
    def assumes(self) -> tuple[str, ...]:
        """The assumptions about the source of the store."""
        return tuple(map(str, self.description.get("assumes", ())))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Refuse: the columns are gone."""
        raise TypeError("a store has no columns left to read")

    def whole_range(self, column: str) -> tuple[int, int] | None:  # noqa: ARG002
        """Nothing is known of a column by itself."""
        return None

    def entries(self) -> Iterator[Entries]:
        """Read users, cells and times, one pass; times are None unless rows may stand for several records."""
        self.refuse_if_changed()
        weighted = "times" in self.description["events"]
        for first in range(0, self.cells.size, formats.BATCH_ROWS):
            last = min(first + formats.BATCH_ROWS, self.cells.size)
            users, cells = _places(self.starts, first, last), self.cells[first:last].astype(np.int32)
            times = self.times[first:last].astype(np.int64) if self.times.size else np.ones(cells.size, np.int64)
            if weighted or not self.times.size:
                yield users, cells, times if weighted else None
                continue
            ends = np.concatenate([[0], np.cumsum(times)])
            for row in range(0, int(ends[-1]), formats.BATCH_ROWS):
                entry_places = _places(ends, row, min(row + formats.BATCH_ROWS, int(ends[-1])))
                yield users[entry_places], cells[entry_places], None
        self.refuse_if_changed()

    def refuse_if_changed(self) -> None:
        """Refuse a store that changed after it was opened, or packed."""
        if {name: _stamp(self.folder, name) for name in self.stamps} != self.stamps:
            raise DataError(
                f"{self.name} changed while it was being read", remedy="wait until it is complete, then run again"
            )
        _ = self._is_whole

    @cached_property
    def _is_whole(self) -> bool:
        """Look at every byte, once: what was damaged must not be counted, nor lead a kernel astray."""
        raw = self.users.raw
        arrays: dict[str, NDArray[Any]] = {"starts": self.starts, "cells": self.cells, "times": self.times}
        arrays |= dict(zip(TEXTS, raw, strict=True)) if isinstance(raw, tuple) else {NUMBERS[0]: raw}
        computed = checksums(arrays)
        for name, expected in self.description["arrays"].items():
            if computed[name] != expected["crc32"]:
                raise damaged(self.folder, f"{name}.npy does not hold what was packed")
        starts, cells = self.starts, self.cells
        unsigned = cells.view(f"u{cells.itemsize}")  # a cell below 0 is then above all others
        inside = not cells.size or int(unsigned.max()) < self.description["cells"]
        if starts[0] != 0 or starts[-1] != cells.size or (np.diff(starts) <= 0).any() or not inside:
            raise damaged(self.folder, "its arrays do not fit together")
        return True


def _places(starts: NDArray[np.int64], first: int, last: int) -> NDArray[np.int32]:
    """Return which run each position from ``first`` to before ``last`` is in; runs begin at ``starts``.

    >>> _places(np.array([0, 2, 5]), 1, 4).tolist()
    [0, 1, 1]
    """
    low = int(np.searchsorted(starts, first, "right")) - 1
    high = int(np.searchsorted(starts, last, "left"))
    inside = np.clip(starts[low : high + 1], first, last)
    return np.repeat(np.arange(low, high, dtype=np.int32), inside[1:] - inside[:-1])


def is_store(events: Any) -> bool:
    """Tell whether a path leads to a store, whole or damaged."""
    if not isinstance(events, str | os.PathLike):
        return False
    try:
        path = Path(os.fspath(events)) / DESCRIPTION
        return path.is_file() and ((path.parent / "cells.npy").exists() or FORMAT in path.read_text("utf-8"))
    except (OSError, ValueError):
        return False


def damaged(folder: Path, reason: str) -> DataError:
    """Return the error for a store that is not as it was written."""
    return DataError(f"{folder} is damaged: {reason}", remedy=_REMEDY)


def open_store(path: str | os.PathLike[str]) -> PackedSource:
    """Open a store: its description is read and its arrays are mapped, not read."""
    folder = Path(path)
    try:
        description = _description(folder)
        names = [DESCRIPTION, CATALOGUE, *(f"{name}.npy" for name in description["arrays"])]
        stamps = {name: _stamp(folder, name) for name in names}
        arrays = {name: _mapped(folder, name, how) for name, how in description["arrays"].items()}
        users = tuple(arrays[name] for name in (TEXTS if TEXTS[0] in arrays else NUMBERS))
        times = arrays.get("times", np.empty(0, dtype=np.int32))
        ids = PackedUsers((users[0], users[1]) if len(users) == 2 else users[0])
        source = PackedSource(folder, description, arrays["starts"], arrays["cells"], times, ids, stamps)
        _check_description(source)
        if source.users.size != source.starts.size - 1 or source.times.size not in (0, source.cells.size):
            raise damaged(folder, "its arrays do not fit together")
    except HeadcountError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error, pa.ArrowException) as error:
        raise damaged(folder, f"{DESCRIPTION} cannot be understood ({error})") from error
    return source


def read_stored_catalogue(source: PackedSource) -> tuple[CatalogueIds, tuple[str | None, ...]]:
    """Return the ids and labels of a store's catalogue."""
    path, expected = source.folder / CATALOGUE, source.description["catalogue"]
    try:
        content = path.read_bytes()
        if zlib.crc32(content) != expected["crc32"]:
            raise damaged(source.folder, f"{CATALOGUE} does not hold what was packed")
        table = pq.read_table(pa.BufferReader(content))
        texts, labels = table["id"].to_pylist(), tuple(table["label"].to_pylist())
    except OSError as error:
        raise SurroundingsError(f"{path} cannot be read ({error.strerror or error})") from error
    except (KeyError, pa.ArrowException) as error:
        raise damaged(source.folder, f"{CATALOGUE} cannot be read ({error})") from error
    return (tuple(int(text) for text in texts) if expected["ids"] == "numbers" else tuple(texts)), labels


def _description(folder: Path) -> dict[str, Any]:
    try:
        data = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(
            f"{folder} is not a store: {DESCRIPTION} cannot be read ({error.strerror or error})",
            remedy="give the folder that `headcount pack --to` wrote",
        ) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("version") != VERSION:
        given = data if isinstance(data, dict) else {}
        raise DataError(
            f"{folder / DESCRIPTION} has format {given.get('format')!r}, version {given.get('version')!r}",
            remedy=f"this program reads {FORMAT}, version {VERSION}; {_REMEDY}",
        )
    return data


def _check_description(source: PackedSource) -> None:
    """Read all that is looked up later, so that missing or odd entries show now."""
    description = source.description
    catalogue, tally = description["catalogue"], source.tally
    whole = [description["cells"], source.records, catalogue["crc32"]]
    whole += [array["crc32"] for array in description["arrays"].values()]
    whole += [tally.rows, tally.outside_catalogue, tally.unknown_context, *tally.nulls.values()]
    if not all(isinstance(number, int) and number >= 0 for number in whole):
        raise ValueError("a number is none")
    _ = source.schema, source.events, catalogue["digest"], catalogue["ids"]


def _mapped(folder: Path, name: str, expected: dict[str, Any]) -> NDArray[Any]:
    path = folder / f"{name}.npy"
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise damaged(folder, f"{path.name} cannot be read ({error})") from error
    if array.shape != (expected["size"],) or array.dtype != np.dtype(expected["type"]):
        raise damaged(folder, f"{path.name} holds {array.dtype} of shape {array.shape}, not what was packed")
    return np.asarray(array)


def _stamp(folder: Path, name: str) -> Stamp:
    """Return how large and how old a file is."""
    try:
        info = (folder / name).stat()
    except OSError as error:
        raise damaged(folder, f"{name} is missing") from error
    return info.st_size, info.st_mtime_ns


def refuse_existing_store(target: Path, *, force: bool) -> None:
    """Refuse to overwrite, before any work is done; ``force`` replaces stores and empty folders only."""
    above = next((parent for parent in target.absolute().parents if parent.exists()), None)
    if above is not None and not above.is_dir():
        raise UsageError(f"{above} is a file, so {target} cannot be made", remedy=f"choose another {param.to}")
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not force:
        raise UsageError.taken(target, param.to)
    if not is_store(target):
        raise UsageError(
            f"{target} exists and is not a store, so {param.force(True)} does not replace it",
            remedy=f"choose another {param.to}",
        )


_POLYNOMIAL = 0xEDB88320  # of CRC-32, its highest power left out; the lowest bit stands for the highest power
_UNIT_POLYNOMIAL = 1 << 31
_PART = 1 << 22  # bytes, below which starting a thread does not pay
_THREADS = max(1, min(8, os.cpu_count() or 1))


def checksums(arrays: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    """Return the CRC-32 of the bytes of each array.

    >>> import numpy as np
    >>> checksums({"digits": np.frombuffer(b"123456789", dtype=np.uint8)}) == {"digits": 0xCBF43926}
    True
    """
    with ThreadPoolExecutor(_THREADS) as pool:
        return {name: _checksum(memoryview(array.data).cast("B"), pool) for name, array in arrays.items()}


def _checksum(data: memoryview, pool: ThreadPoolExecutor) -> int:
    parts = max(1, min(_THREADS, len(data) // _PART))
    if parts == 1:
        return zlib.crc32(data)
    borders = [len(data) * part // parts for part in range(parts + 1)]
    checksums_of_parts = pool.map(lambda border: zlib.crc32(data[border[0] : border[1]]), pairwise(borders))
    whole = 0
    for (first, last), part in zip(pairwise(borders), checksums_of_parts, strict=True):
        whole = combine_checksums(whole, part, last - first)
    return whole


def combine_checksums(first: int, second: int, size: int) -> int:
    """Return the checksum of two parts from those of each, the second of so many bytes.

    >>> combine_checksums(zlib.crc32(b"tea"), zlib.crc32(b"time"), 4) == zlib.crc32(b"teatime")
    True
    """
    return _times(first, _power(8 * size)) ^ second


def _power(bits: int) -> int:
    """Return the remainder of x to a power."""
    power, square = _UNIT_POLYNOMIAL, _UNIT_POLYNOMIAL >> 1
    while bits:
        power = _times(power, square) if bits & 1 else power
        square, bits = _times(square, square), bits >> 1
    return power


def _times(left: int, right: int) -> int:
    """Return the remainder of a product."""
    product = 0
    while left:
        if left & _UNIT_POLYNOMIAL:
            product ^= right
        left = left << 1 & 0xFFFFFFFF
        right = right >> 1 ^ (_POLYNOMIAL if right & 1 else 0)
    return product
