"""The Spark engine: equal to the local engine draw for draw, whatever the partitions.

Rows are read inside Spark's tasks and dealt by user; each partition is measured by the local engine inside its
task; Spark adds the cells of all partitions up. The driver holds cells, and nothing of a user or an event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headcount.bounds import Bound, Measured_co
from headcount.bounds.partial_sums import CELLS, HALVES, KEYS, from_cells
from headcount.engines.engine import Progress, silent
from headcount.engines.local.engine import LocalEngine
from headcount.engines.spark.partition_frames import FEW_PACKETS, check_source, partitioned_frame, without_rows
from headcount.engines.spark.partition_rows import ReadCounts, tally_of, without_tally
from headcount.engines.spark.session import (
    open_session,
    report_progress,
    set_for_now,
    table_of,
    to_headcount_error,
)
from headcount.engines.spark.steps import CELLS_IN_SPARK, MeasurePartition
from headcount.engines.spark.tasks import task_of
from headcount.events.log import EventLog
from headcount.events.sources.files.packed_store import Tally
from headcount.events.sources.frames import SparkSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class SparkEngine:
    """Measures on Spark: in the given session, in that of the log's frame, in the active one, or in a new one.

    Users are dealt to so many ``partitions``, which changes no result; by default as many as there is to read.
    ``conf`` says what a new session is like. What was dealt stays on the executors' disks between the stages of
    one release, and is let go of when another log comes, or with :meth:`close`.
    """

    session: SparkSession | None = None
    partitions: int | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    progress: Progress = silent
    tally: Tally | None = field(default=None, init=False, repr=False)
    """What the last measure met, for the curator's eyes."""

    _held: dict[Any, tuple[DataFrame, ReadCounts]] = field(default_factory=dict, init=False, repr=False)
    _log: EventLog | None = field(default=None, init=False, repr=False)

    def can(self, kind: type[Bound[Any]]) -> bool:
        """Say whether bounds of a kind can be measured: all that are sums over users."""
        return kind.is_sum and LocalEngine().can(kind)

    def check(self, log: EventLog) -> None:
        """Refuse a log that Spark cannot read, and surroundings that Spark does not run in."""
        check_source(log)
        self._session(log)

    def measure(self, log: EventLog, bound: Bound[Measured_co], secret: bytes) -> Measured_co:
        """Add up, over all users, what the bound makes of each user's own records and own draws."""
        check_source(log)
        lean, schema = without_rows(log, bound)
        empty = LocalEngine(threads=1).measure(lean, bound, secret)
        session = self._session(log)
        with self.reporting("measuring"):
            packets, read_counts = self._dealt(session, log, bound)
            step = MeasurePartition(lean, bound, secret, schema)
            with set_for_now(session, FEW_PACKETS):
                cells = packets.mapInArrow(task_of(step), CELLS_IN_SPARK)
                summed = cells.groupBy(*KEYS).sum(*HALVES).toDF(*CELLS.names).toArrow().cast(CELLS)
        self.tally = tally_of(summed, read_counts, log.roles.user)
        return from_cells(empty, without_tally(summed))

    def table(self, name: str) -> DataFrame:
        """Return a table of Spark's catalogues."""
        self.session = self.session or open_session(self.conf)
        return table_of(self.session, name)

    def close(self) -> None:
        """Let go of what is kept on the executors; the session stays."""
        for frame, _ in self._held.values():
            frame.unpersist()
        self._held.clear()
        self._log = None

    def _session(self, log: EventLog) -> SparkSession:
        if self.session is None:
            source = log.source
            self.session = (
                source.frame.sparkSession if isinstance(source, SparkSource) else open_session(self.conf)
            )
        session: SparkSession = self.session
        return session

    def _dealt(self, session: SparkSession, log: EventLog, bound: Bound[Any]) -> tuple[DataFrame, ReadCounts]:
        """Return what is dealt of a log, and what was met on the way, made now if it is not at hand.

        Another log's is let go of first.
        """
        if self._log is None or self._log.source is not log.source:
            self.close()
        self._log = log
        what = (bound.reading(log), bound.reading(log).columns(log), log.roles, log.conditions)
        if what not in self._held:
            from pyspark import StorageLevel

            frame = partitioned_frame(session, log, bound, self.partitions).persist(StorageLevel.DISK_ONLY)
            try:
                with report_progress(session, self.progress, "reading events"):
                    read_counts = ReadCounts(
                        *(int(total or 0) for total in frame.groupBy().sum("read", "nobodys").first() or ())
                    )
            except BaseException:
                frame.unpersist()
                raise
            self._held[what] = frame, read_counts
        return self._held[what]

    @contextmanager
    def reporting(self, stage: str) -> Iterator[None]:
        """Show how far Spark is, and tell what went wrong as Headcount does."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        self.session = self.session or open_session(self.conf)
        try:
            with report_progress(self.session, self.progress, stage):
                yield
        except (PySparkException, Py4JError, ConnectionError) as error:
            raise to_headcount_error(error, "Spark could not finish") from error
