"""Partition rows by user into Arrow packets, which Spark moves without reading them.

A packet is an Arrow stream of some rows of one partition. So no type of a column is changed on the way, and Spark
moves a few large rows instead of very many small ones. Which partition somebody is in depends on the raw id alone.

A packet without rows says what a task met that is in no partition: for the curator, and added up by Spark as cells
are, so that a task which is run twice is counted once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headcount._internal.arrays import Draws
from headcount.bounds.kernels.draws import user_keys
from headcount.bounds.partial_sums import CELLS
from headcount.events.encode.id_table import numbers_of
from headcount.events.encode.text_columns import bytes_of, is_text, is_textual, plain, value_type
from headcount.events.log import EventLog
from headcount.events.sources.files.packed_store import Tally

PACKETS = pa.schema([("label", pa.int32()), ("rows", pa.binary()), ("read", pa.int64()), ("nobodys", pa.int64())])
PACKETS_IN_SPARK = "label int, rows binary, read bigint, nobodys bigint"

_TALLY_PART = -1  # no measure has such a table
_OUTSIDE, _UNKNOWN, _NULLS = range(3)
_HALF = 32  # bits

_PUBLIC_KEY = bytes(16)
_TOGETHER = 64 << 20  # bytes of rows that are dealt at once
_PACKET = 1 << 20  # bytes of rows in a packet, about
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


@dataclass
class ReadCounts:
    """How many rows were read, and how many of those that fulfil the conditions are nobody's."""

    read: int = 0
    without_user: int = 0

    def packet(self, label: int) -> pa.RecordBatch:
        """Return it as a packet."""
        columns = [[label], [None], [self.read], [self.without_user]]
        arrays = [pa.array(values, field.type) for values, field in zip(columns, PACKETS, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=PACKETS)


def packet_schema(log: EventLog, columns: Sequence[str]) -> pa.Schema:
    """Return the columns as they are in packets: text written out, and all else as it is declared."""
    return pa.schema([(name, _plain(log.type_of(name))) for name in columns])


def valid_rows(
    batches: Iterable[pa.RecordBatch], log: EventLog, schema: pa.Schema, read_counts: ReadCounts
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of somebody that fulfil the conditions of a log: its user and all columns of the schema."""
    for raw in batches:
        read_counts.read += raw.num_rows
        batch = log.sound(raw)
        for condition in log.conditions:
            batch = batch.filter(pa.array(condition.holds(batch))) if batch.num_rows else batch
        read_counts.without_user += batch.column(log.roles.user).null_count
        batch = batch.filter(pc.is_valid(batch.column(log.roles.user)))
        columns = [_cast(batch.column(field.name), field.type) for field in schema]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def partition_rows(
    batches: Iterable[pa.RecordBatch], log: EventLog, schema: pa.Schema, labels: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    """Yield the packets of all rows that are somebody's, each in the partition of its user, and what was met."""
    read_counts = ReadCounts()
    rows = valid_rows(batches, log, schema, read_counts)
    yield from pack_rows(((batch, keys_of(batch.column(log.roles.user))) for batch in rows), labels)
    yield read_counts.packet(labels[0])


def pack_rows(keyed: Iterable[tuple[pa.RecordBatch, Draws]], labels: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """Yield packets of rows, given the key of each: rows of one key are in one partition."""
    held: list[pa.RecordBatch] = []
    keys: list[Draws] = []
    size = 0
    for batch, own in keyed:
        held.append(batch)
        keys.append(own)
        size += batch.nbytes
        if size >= _TOGETHER:
            yield _packets(held, np.concatenate(keys), labels)
            held, keys, size = [], [], 0
    if held:
        yield _packets(held, np.concatenate(keys), labels)


def unpack_rows(packets: Iterable[pa.RecordBatch], read_counts: ReadCounts) -> Iterator[pa.RecordBatch]:
    """Yield the rows that are in packets, and add up what these say was met."""
    for batch in packets:
        read_counts.read += pc.sum(batch.column("read")).as_py() or 0
        read_counts.without_user += pc.sum(batch.column("nobodys")).as_py() or 0
        for rows in batch.column("rows").drop_null():
            with pa.ipc.open_stream(rows.as_buffer()) as stream:
                yield from stream


def keys_of(column: pa.Array) -> Draws:
    """Return a number for each id of a column without gaps, which depends on the id alone.

    >>> first, second, third = keys_of(pa.array(["ann", "bob", "ann"]))
    >>> bool(first == third), bool(first == second)
    (True, False)
    """
    if not is_textual(column.type):
        return user_keys(numbers_of(column).astype(np.int64), _PUBLIC_KEY)
    if not is_text(column.type):  # a column without values has no rows left
        return np.zeros(len(column), dtype=np.uint64)
    data, offsets = bytes_of(plain(column))
    return user_keys((data[offsets[0] :], offsets[1:] - offsets[0]), _PUBLIC_KEY)


def _packets(batches: list[pa.RecordBatch], keys: Draws, labels: Sequence[int]) -> pa.RecordBatch:
    table = pa.Table.from_batches(batches)
    parts: NDArray[np.int64] = (keys % np.uint64(len(labels))).astype(np.int64)
    order = np.argsort(parts, kind="stable")
    sorted_rows = table.take(pa.array(order)).combine_chunks()
    ends = np.cumsum(np.bincount(parts, minlength=len(labels)))
    rows = max(1, int(_PACKET * table.num_rows / max(1, table.nbytes)))
    label: list[int] = []
    packets: list[bytes] = []
    for place, (begin, end) in enumerate(zip(np.append(0, ends[:-1]).tolist(), ends.tolist(), strict=True)):
        for first in range(begin, end, rows):
            label.append(labels[place])
            packets.append(_packet(sorted_rows.slice(first, min(rows, end - first))))
    nothing = pa.repeat(pa.scalar(0, pa.int64()), len(packets))
    columns = [pa.array(label, pa.int32()), pa.array(packets, pa.binary()), nothing, nothing]
    return pa.RecordBatch.from_arrays(columns, schema=PACKETS)


def _packet(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_COMPRESSED) as stream:
        stream.write_table(rows)
    packet: bytes = sink.getvalue().to_pybytes()
    return packet


def _plain(kind: pa.DataType) -> pa.DataType:
    return pa.large_string() if is_text(kind) else value_type(kind)


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    column = plain(column)
    return column if column.type == kind else column.cast(kind)


def cells_of(tally: Tally) -> pa.Table:
    """Return the tally of one partition as cells: rows of a result, as accumulators count a repeated task twice.

    >>> tally_of(cells_of(Tally(outside_catalogue=2, nulls={"item": 3})), ReadCounts(9, 1), "user")
    Tally(rows=9, outside_catalogue=2, unknown_context=0, nulls={'user': 1, 'item': 3})
    """
    nulls = [(_NULLS, name.encode(), number) for name, number in tally.nulls.items()]
    numbers = [(_OUTSIDE, None, tally.outside_catalogue), (_UNKNOWN, None, tally.unknown_context), *nulls]
    low = (1 << _HALF) - 1
    rows = [
        {"part": _TALLY_PART, "place": place, "name": name, "high": number >> _HALF, "low": number & low}
        for place, name, number in numbers
        if number
    ]
    return pa.Table.from_pylist(rows, CELLS)


def tally_of(cells: pa.Table, read_counts: ReadCounts, user: str) -> Tally:
    """Return what all partitions met, and those who read the rows."""
    tally = Tally(rows=read_counts.read, nulls={user: read_counts.without_user})
    for cell in cells.filter(pc.equal(cells["part"], _TALLY_PART)).to_pylist():
        number = (cell["high"] << _HALF) + cell["low"]
        if cell["place"] == _OUTSIDE:
            tally.outside_catalogue += number
        elif cell["place"] == _UNKNOWN:
            tally.unknown_context += number
        else:
            name = cell["name"].decode()
            tally.nulls[name] = tally.nulls.get(name, 0) + number
    return tally


def without_tally(cells: pa.Table) -> pa.Table:
    """Return the cells of the measure itself."""
    return cells.filter(pc.not_equal(cells["part"], _TALLY_PART))
