"""The functions that Spark tasks run: read files, partition users, regroup groups, measure. All are pure.

A task that is run again, or twice at once, gives the same rows: nothing depends on the machine, on the order
of rows or on the number of the attempt.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount.bounds import Bound
from headcount.bounds.grid.user_group_cells import assign_all_groups
from headcount.bounds.kernels.draws import user_keys
from headcount.bounds.partial_sums import to_cells
from headcount.engines.local.engine import LocalEngine
from headcount.engines.spark.partition_rows import (
    ReadCounts,
    cells_of,
    keys_of,
    pack_rows,
    partition_rows,
    unpack_rows,
)
from headcount.errors import DataError
from headcount.events.encode.passes import Reading
from headcount.events.log import EventLog
from headcount.events.sources.files.file_source import FilePart, FileSource, rows_of
from headcount.events.sources.source import Source, TableSource, open_source

CELLS_IN_SPARK = "part int, place bigint, name binary, high bigint, low bigint"
_HELD = 256 << 20  # bytes of a partition's rows that are held in memory; more go to a file
_CELLS = 1 << 16  # that are sent at once

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class ReadFiles:
    """Reads the parts of files whose numbers it is given, and deals their rows."""

    log: EventLog
    source: FileSource
    parts: tuple[FilePart, ...]
    wanted: dict[str, pa.DataType]
    schema: pa.Schema
    labels: tuple[int, ...]

    def __call__(self, numbers: Batches) -> Batches:
        """Yield packets."""
        return partition_rows(self._read(numbers), self.log, self.schema, self.labels)

    def _read(self, numbers: Batches) -> Batches:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                part = self.parts[number]
                try:
                    yield from rows_of(self.source, part, self.wanted)
                except DataError as error:
                    if not isinstance(error.__cause__, FileNotFoundError) and "does not exist" not in str(error):
                        raise
                    raise DataError(
                        f"{part.path} is not there for an executor",
                        remedy="files must be where all machines see them under the same path",
                    ) from error


@dataclass(frozen=True)
class PartitionRows:
    """Deals the rows of a Spark frame."""

    log: EventLog
    wanted: pa.Schema
    schema: pa.Schema
    labels: tuple[int, ...]

    def __call__(self, batches: Batches) -> Batches:
        """Yield packets."""
        declared = (
            pa.RecordBatch.from_arrays(
                [pc.cast(column, field.type) for column, field in zip(batch.columns, self.wanted, strict=True)],
                schema=self.wanted,
            )
            for batch in batches
        )
        return partition_rows(declared, self.log, self.schema, self.labels)


@dataclass(frozen=True)
class RegroupUsers:
    """Deals users anew, those of one group to one partition: each user is whole already."""

    log: EventLog
    reading: Reading
    schema: pa.Schema
    labels: tuple[int, ...]

    def __call__(self, packets: Batches) -> Batches:
        """Yield packets."""
        read_counts = ReadCounts()
        source = _source_of(unpack_rows(packets, read_counts), self.schema)
        log = replace(self.log, source=source)
        coded, rows = LocalEngine(threads=1).read(log, self.reading)
        if coded.groups is None or rows.contexts is None:
            raise TypeError("there are no groups to bring together")
        own = assign_all_groups(coded, rows)
        of_groups = user_keys(coded.groups.table.raw, bytes(16))

        def keyed() -> Iterator[tuple[pa.RecordBatch, Any]]:
            for batch in source.batches(self.schema.names):
                users = batch.column(log.roles.user)
                codes = coded.users.codes(users, may_add=False)
                group = np.where(codes >= 0, own[codes], -1)
                keys = keys_of(users)
                keys[group >= 0] = of_groups[group[group >= 0]]
                yield batch, keys

        return itertools.chain(pack_rows(keyed(), self.labels), [read_counts.packet(self.labels[0])])


@dataclass(frozen=True)
class MeasurePartition:
    """Measures the users of a partition with the local engine, and gives the cells that are not zero.

    Beside them come those that say what was met, for the curator.
    """

    log: EventLog
    bound: Bound[Any]
    secret: bytes
    schema: pa.Schema

    def __call__(self, packets: Batches) -> Batches:
        """Yield cells."""
        rows = unpack_rows(packets, ReadCounts())
        first = next(rows, None)
        if first is None:
            return
        source = _source_of(itertools.chain([first], rows), self.schema)
        engine = LocalEngine(threads=1)
        measured = engine.measure(replace(self.log, source=source), self.bound, self.secret)
        yield from to_cells(measured).to_batches(max_chunksize=_CELLS)
        if engine.tally is not None:
            yield from cells_of(engine.tally).to_batches()


def _source_of(rows: Batches, schema: pa.Schema) -> Source:
    """Return the rows of a partition: in memory, or in a private temporary file if they are many."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in rows:
        held.append(batch)
        size += batch.nbytes
        if size > _HELD:
            return open_source(pa.RecordBatchReader.from_batches(schema, itertools.chain(held, rows)))
    return TableSource(pa.Table.from_batches(held, schema))
