"""Partial sums: split a measurement into cells that another system adds up, and seal their total.

An engine on several machines deals users to parts, measures each part by itself, and lets the cells of all parts
be added up by whatever adds integers there. Nobody may be in two parts: then one user moves one of them, and the
sensitivity of the whole is that of a part. So what is put together is sealed here, with all that the measure of
nobody says, as :meth:`~headcount.bounds.bounded.Bounded.with_others` does for two parts.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount._internal.arrays import Integers
from headcount.bounds.bounded import SEAL, Bounded, BoundedGroup
from headcount.bounds.counts.users_per_column import SparseCounts, UsersPerColumn
from headcount.bounds.keys.key_support import BoundedKeySupport, KeySupport
from headcount.bounds.keys.key_weights import BoundedKeyWeights

Measured = TypeVar("Measured")

CELLS = pa.schema(
    [
        ("part", pa.int32()),
        ("place", pa.int64()),
        ("name", pa.binary()),
        ("high", pa.int64()),
        ("low", pa.int64()),
    ]
)
"""A cell that is not zero, or an item of a list: table, place or name, and the value in two halves.

The value is high · 2^32 + low with low below 2^32, so that neither half of a sum of 2^31 values outgrows 64 bits.
"""

KEYS = ("part", "place", "name")
HALVES = ("high", "low")

_MAX_SUM = 2**62
_MAX_USERS = 2**31 - 1


def to_cells(measured: Any) -> pa.Table:
    """Return the cells of a measure that are not zero.

    >>> from headcount.bounds.counts.activity_histogram import ActivityHistogram
    >>> cells = to_cells(ActivityHistogram("items", 3).seal(np.array([5, 0, -1])))
    >>> cells.select(["place", "high", "low"]).to_pylist()
    [{'place': 0, 'high': 0, 'low': 5}, {'place': 2, 'high': -1, 'low': 4294967295}]
    """
    if isinstance(measured, SparseCounts):
        return _cells(0, measured.sensitive_columns, measured.sensitive_users)
    if isinstance(measured, BoundedKeySupport):
        return _named_cells(measured.sensitive_ids, measured.sensitive_users)
    if isinstance(measured, BoundedKeyWeights):
        return _named_cells(measured.sensitive_ids, measured.sensitive_weights)
    parts = []
    for number, table in enumerate(_tables(measured)):
        values = table.sensitive_values.ravel()
        places = np.flatnonzero(values)
        parts.append(_cells(number, places, values[places]))
    return pa.concat_tables(parts)


def from_cells(empty: Measured, cells: pa.Table) -> Measured:
    """Return the sum of all cells, as a measure of the same bound as that of nobody.

    A sum beyond 2^62 is cut there, which moves nobody's part of it any further.

    >>> from headcount.bounds.counts.activity_histogram import ActivityHistogram
    >>> bound = ActivityHistogram("items", 3)
    >>> one, other = (to_cells(bound.seal(np.array(values))) for values in ([1, 0, 2], [0, 0, 40]))
    >>> from_cells(bound.seal(np.zeros(3, np.int64)), pa.concat_tables([one, other])).sensitive_values
    array([ 1,  0, 42])
    """
    if cells.schema.names != CELLS.names or any(cells[name].null_count for name in CELLS.names if name != "name"):
        raise ValueError("these are no cells")
    summed = cells.group_by(list(KEYS)).aggregate([(half, "sum") for half in HALVES])
    part, place, high, low = (summed[name].to_numpy() for name in ("part", "place", "high_sum", "low_sum"))
    values = _whole(high, low)
    measured: Any
    if isinstance(empty, SparseCounts):
        order = np.argsort(place)
        users = np.minimum(values[order], _MAX_USERS).astype(np.int32)
        measured = UsersPerColumn.seal(_within(place[order], empty.size).astype(np.int32), users, empty.size)
    elif isinstance(empty, BoundedKeySupport):
        if values.min(initial=1) < 1:
            raise ValueError("somebody must be behind each item")
        ids = _ids(empty.sensitive_ids.type, place, summed["name"])
        measured = KeySupport(empty.limit).seal(ids, values)
    elif isinstance(empty, BoundedKeyWeights):
        if values.min(initial=0) < 0:
            raise ValueError("no weight may be below 0")
        ids = _ids(empty.sensitive_ids.type, place, summed["name"])
        measured = empty.bound.seal(ids, values, np.ones(values.size, dtype=np.bool_))
    else:
        tables = _tables(empty)
        if part.size and not 0 <= part.min() <= part.max() < len(tables):
            raise ValueError(f"there are {len(tables)} tables")
        filled = [
            _filled(table, place[part == number], values[part == number]) for number, table in enumerate(tables)
        ]
        measured = empty.with_parts(tuple(filled)) if isinstance(empty, BoundedGroup) else filled[0]
    return cast("Measured", measured)


def _tables(measured: Any) -> tuple[Bounded, ...]:
    """Return the tables that a measure holds, in a fixed order."""
    if isinstance(measured, BoundedGroup):
        return measured.parts
    if isinstance(measured, Bounded):
        return (measured,)
    raise TypeError(f"{type(measured).__name__} is no sum of cells")


def _named_cells(ids: pa.Array, values: Integers) -> pa.Table:
    """Return a cell for each item, whose id is its place if it is a whole number, and else its name."""
    if pa.types.is_integer(ids.type):
        return _cells(0, ids.to_numpy().view(np.int64), values)
    return _cells(0, np.zeros(len(ids), dtype=np.int64), values, ids.cast(pa.large_binary()).cast(pa.binary()))


def _cells(part: int, places: Integers | Any, values: Any, names: pa.Array | None = None) -> pa.Table:
    whole = np.asarray(values, dtype=np.int64)
    columns = [
        pa.repeat(pa.scalar(part, pa.int32()), whole.size),
        pa.array(np.asarray(places, dtype=np.int64)),
        pa.nulls(whole.size, pa.binary()) if names is None else names,
        pa.array(whole >> 32),
        pa.array(whole & 0xFFFFFFFF),
    ]
    return pa.Table.from_arrays(columns, schema=CELLS)


def _whole(high: Integers, low: Integers) -> Integers:
    """Return sums from the sums of their halves, cut at 2^62.

    >>> _whole(np.array([-1, 2**31, -(2**40)]), np.array([2**32 - 1, 7, 0])).tolist()
    [-1, 4611686018427387904, -4611686018427387904]
    """
    high = high + (low >> 32)
    exact = (np.clip(high, -(2**30) - 1, 2**30) << 32) + (low & 0xFFFFFFFF)
    return np.asarray(np.clip(exact, -_MAX_SUM, _MAX_SUM))


def _filled(table: Bounded, places: Integers, values: Integers) -> Bounded:
    """Return a table of zeros with the given values, and all else as it is."""
    flat = np.zeros(table.size, dtype=np.int64)
    flat[_within(places, table.size)] = values
    return table.with_values(flat.reshape(table.shape), SEAL)


def _within(places: Integers, size: int) -> Integers:
    if places.size and not 0 <= places.min() <= places.max() < size:
        raise ValueError(f"there are {size} places")
    return places


def _ids(kind: pa.DataType, places: Integers, names: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_integer(kind):
        return pa.array(places.view(np.uint64) if pa.types.is_uint64(kind) else places)
    if names.null_count:
        raise ValueError("an item has no name")
    return pc.cast(names.combine_chunks(), pa.large_binary()).cast(pa.large_string())
