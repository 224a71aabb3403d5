"""Build a Spark frame of packets from a log, all rows of a user in one partition."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headcount.bounds import Bound
from headcount.engines.spark.partition_rows import PACKETS, PACKETS_IN_SPARK, packet_schema, partition_rows
from headcount.engines.spark.session import set_for_now
from headcount.engines.spark.steps import PartitionRows, ReadFiles, RegroupUsers
from headcount.engines.spark.tasks import task_of
from headcount.errors import USE_LOCAL_ENGINE, UsageError
from headcount.events.log import EventLog
from headcount.events.sources.files.file_source import FileSource, parts_of
from headcount.events.sources.frames import SparkSource
from headcount.events.sources.source import TableSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FEW_PACKETS = {"spark.sql.execution.arrow.maxRecordsPerBatch": "64"}
"""So that packets, of about 1 MB, come to a task in batches of 64 MB."""

_PART_BYTES = 64 << 20  # of files, that make one partition
_BEYOND = 1 << 50
_LABELS_TRIED = 40  # for each partition


def check_source(log: EventLog) -> None:
    """Refuse a log that Spark's tasks cannot read."""
    if not isinstance(log.source, FileSource | SparkSource | TableSource):
        raise UsageError(
            f"Spark cannot read {log.source.name}: it takes raw files, tables of Spark and Arrow tables",
            remedy=f"{USE_LOCAL_ENGINE}, or give Spark what it was made from",
        )


def without_rows(log: EventLog, bound: Bound[Any]) -> tuple[EventLog, pa.Schema]:
    """Return the log as tasks measure it, and the columns that they get.

    It is without its rows, its conditions are fulfilled, and no more is in it than is read.
    """
    reading = bound.reading(log)
    lean = reading.narrowed(replace(log, conditions=()))
    schema = packet_schema(log, reading.columns(lean))
    return replace(lean, source=TableSource(schema.empty_table(), log.source.name)), schema


def partitioned_frame(
    session: SparkSession, log: EventLog, bound: Bound[Any], partitions: int | None
) -> DataFrame:
    """Return the packets of all users that a bound is measured of, each partition with users of its own."""
    many = partitions or _partitions_for(session, log)
    labels = partition_labels(session, many)
    packets = _read(session, log, bound, labels, many)
    frame = packets.repartition(many, "label")
    reading = bound.reading(log)
    if reading.groups is not None:
        lean, schema = without_rows(log, bound)
        step = RegroupUsers(lean, reading, schema, labels)
        with set_for_now(session, FEW_PACKETS):
            frame = frame.mapInArrow(task_of(step), PACKETS_IN_SPARK).repartition(many, "label")
    return frame


def _read(
    session: SparkSession, log: EventLog, bound: Bound[Any], labels: tuple[int, ...], most_tasks: int
) -> DataFrame:
    """Return the packets as they are dealt where rows are read; many small files are read by few tasks."""
    source, (lean, schema) = log.source, without_rows(log, bound)
    columns = bound.reading(log).columns(log)
    kinds = {name: source.type_of(name) for name in columns}
    read_log = replace(lean, conditions=log.conditions, source=TableSource(pa.schema(kinds).empty_table()))
    if isinstance(source, SparkSource):
        deal = PartitionRows(read_log, pa.schema(kinds), schema, labels)
        return source.selected(columns).mapInArrow(task_of(deal), PACKETS_IN_SPARK)
    if isinstance(source, FileSource):
        parts = parts_of(source)
        files = FileSource(source.files, source.filesystem, source.format, source.text, given=source.given)
        read = ReadFiles(read_log, files, parts, kinds, schema, labels)
        numbers = session.range(0, len(parts), 1, numPartitions=min(len(parts), most_tasks))
        return numbers.mapInArrow(task_of(read), PACKETS_IN_SPARK)
    packets = partition_rows(source.batches(columns), read_log, schema, labels)
    return session.createDataFrame(pa.Table.from_batches(packets, PACKETS))


@lru_cache
def partition_labels(session: SparkSession, partitions: int) -> tuple[int, ...]:
    """Return a number for each partition that Spark puts exactly there; it is Spark that says so."""
    tried = session.range(0, _LABELS_TRIED * partitions, 1, numPartitions=1).selectExpr("CAST(id AS INT) AS label")
    places = tried.selectExpr("label", f"pmod(hash(label), {partitions}) AS place").toArrow()
    first = dict(zip(reversed(places["place"].to_pylist()), reversed(places["label"].to_pylist()), strict=True))
    return tuple(first.values())


def _partitions_for(session: SparkSession, log: EventLog) -> int:
    """Return how many partitions to deal users to, by how much there is to read."""
    least = int(session.sparkContext.defaultParallelism)
    if isinstance(log.source, FileSource):
        size = sum(file_size or 0 for file_size, _ in log.source.stamps())
    elif isinstance(log.source, SparkSource):
        size = _expected_size(log.source.frame)
    else:
        size = 0
    if size > _BEYOND:  # what Spark says where it does not know
        return max(least, int(str(session.conf.get("spark.sql.shuffle.partitions"))))
    return max(least, math.ceil(size / _PART_BYTES))


def _expected_size(frame: DataFrame) -> int:
    """Return how many bytes Spark expects a frame to have, going by its files, tables and statistics."""
    return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
