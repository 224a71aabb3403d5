"""The Spark engine gives what the local one gives: whatever is measured, wherever it lies, however it is dealt."""

from __future__ import annotations

import gc
import json
import math
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as pa_feather
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.bounds import Bound, SampleRecords
from headcount.bounds.counts.record_cap import RecordCap
from headcount.bounds.keys.key_support import KeySupport
from headcount.bounds.keys.key_weights import KeyWeights
from headcount.bounds.partial_sums import from_cells
from headcount.bounds.values.user_totals import UserTotals
from headcount.cli.main import main
from headcount.engines.local.engine import LocalEngine
from headcount.engines.spark import engine as spark_engine
from headcount.engines.spark import environment, partition_frames, session, tasks
from headcount.engines.spark.engine import SparkEngine
from headcount.engines.spark.partition_rows import keys_of
from headcount.errors import DataError, SurroundingsError, UsageError
from headcount.events.log import EventLog, read_events
from headcount.events.sources.files import file_source
from headcount.events.sources.files.packed_store import Tally
from headcount.events.sources.source import TableSource
from headcount.methods.counts.request import ReleaseRequest
from headcount.methods.request import request_of
from headcount.run.curator import Curator
from tests.bounds.test_partial_sums_of_groups import BOUNDS, SECRET, log_of, rows, shown
from tests.contracts.rows.raw_files import FORMATS
from tests.contracts.support.measurements import MEASUREMENTS, opened
from tests.seeded import running
from tests.seeded.cases import every_case
from tests.seeded.record import recorded
from tests.support import spark_session

# PySpark leaves the sockets that it collects through to the garbage collector
pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SUMS = [bound for bound in BOUNDS if not isinstance(bound, RecordCap)]
FAMILIES = (
    "counts: adaptive, contexts, epsilon 1",
    "selection: hpa, contexts",
    "selection: sra, users, by default",
    "rankings: one context each, k 12, per_context True, with_counts True",
    "neighbours: private, stars, epsilon 4, delta 1e-5",
    "tags: tag-model, 150 people, epsilon 6",
    "queries: histogram, households, 2 records, epsilon 0.5, options consistent=True",
)
"""A release of each family, and of items that are selected; of every method there is one in the slow suite."""


@pytest.fixture(scope="module")
def engine() -> Iterator[SparkEngine]:
    spark_engine = spark_session.engine()
    yield spark_engine
    spark_engine.close()
    gc.collect()


def _equal(engine: SparkEngine, log: EventLog, bound: Bound[Any], other: EventLog | None = None) -> Any:
    measured = shown(engine.measure(log, bound, SECRET))
    assert measured == shown(LocalEngine(threads=1).measure(other or log, bound, SECRET))
    return measured


@pytest.mark.parametrize("bound", SUMS, ids=lambda bound: type(bound).__name__)
def test_every_bound_is_measured_as_by_the_local_engine(bound: Bound[Any], engine: SparkEngine) -> None:
    _equal(engine, log_of(rows(), bound), bound)


def _user_table(many: int = 60) -> pa.Table:
    """Return rows of people, many of them of one alone, in households that are not all the same size."""
    draw = np.random.default_rng(5)
    users = np.where(draw.random(8 * many) < 0.4, 7, draw.integers(0, many, 8 * many))
    return pa.table(
        {
            "user": users,
            "item": draw.choice(["tea", "rye", "oat", "fig"], users.size),
            "place": draw.choice(["F", "M", "X"], users.size),
            "when": pa.array(draw.integers(0, 10**9, users.size)).cast(pa.timestamp("s")),
            "stars": draw.integers(1, 6, users.size).astype(np.float64),
            "many": draw.integers(0, 3, users.size),
            "age": draw.integers(0, 90, users.size),
            "home": np.where(draw.random(users.size) < 0.9, users // 5, draw.integers(0, 12, users.size)),
        }
    )


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("sample, context of user", "csv"),
        ("sample, times", "jsonl"),
        ("cells, groups", "parquet"),
        pytest.param("scale, roots", "parquet", marks=pytest.mark.slow),
        pytest.param("support, context of user", "csv", marks=pytest.mark.slow),
        pytest.param("spread of contexts of listed items", "csv", marks=pytest.mark.slow),
        pytest.param("cells, groups, other", "csv", marks=pytest.mark.slow),
    ],
)
def test_files_are_read_in_tasks_as_they_are_here(
    name: str, ending: str, engine: SparkEngine, tmp_path: Path
) -> None:
    measurement, table = MEASUREMENTS[name], _user_table()
    halves = table.slice(0, 100), table.slice(100)
    paths = [tmp_path / f"{place}.{ending}" for place in (1, 2)]
    for path, half in zip(paths, halves, strict=True):
        if ending == "parquet":
            pq.write_table(half, path, row_group_size=30)
        elif ending == "csv":
            half.to_pandas().to_csv(path, index=False)
        else:
            half.to_pandas().astype(str).to_json(path, orient="records", lines=True)
    log = opened(measurement.kind, paths, FORMATS["csv"], measurement.options)
    with (
        mock.patch.object(file_source, "PART_ROWS", 50),
        mock.patch.object(file_source.parts_of, "__defaults__", (50,)),
    ):
        measured = measurement.on(engine, log)
    local = LocalEngine()
    assert measured == measurement.on(local, log) != {}
    assert local.tally is None or _tally_of(engine.tally) == _tally_of(local.tally)


TYPES: dict[str, pa.Array] = {
    "user": pa.array([2**64 - 1, 2**64 - 1, 2**63, 7, 7, None], pa.uint64()),
    "coded user": pa.array(["ann", "ann", "", "Zoë", "Zoë", None]).dictionary_encode(),
    "large user": pa.array(["ann", "ann", "", "Zoë", "Zoë", None], pa.large_string()),
    "damaged user": pa.array([b"ann", b"\xff", b"ann", b"bob", b"\xff", None]).view(pa.string()),
    "small": pa.array([1, 1, 2, 3, 3, None], pa.int8()),
    "item": pa.array(["tea", "rye", "tea", "tea", "oat", "tea"], pa.string_view()),
    "instant": pa.array([1, 10**18, 3 * 10**17, None, 86_400 * 10**9, 7], pa.timestamp("ns", "Asia/Tokyo")),
    "moment": pa.array([datetime(2026, 3, day, 23, tzinfo=UTC) for day in range(1, 7)]).cast(pa.timestamp("s")),
    "day": pa.array([date(2026, 3, day) for day in range(1, 7)]),
    "exact": pa.array([Decimal("1.50"), Decimal("4.25"), None, Decimal("2.00"), Decimal("9.99"), None]),
    "number": pa.array([1.5, math.nan, math.inf, -0.0, None, 3.0], pa.float32()),
    "nothing": pa.nulls(6),
    "comma": pa.array(["1.234,5", "2,5", "12.34", None, "1,5", "2.000"]),
    "yes": pa.array([True, False, None, True, True, False]),
}
READ: tuple[dict[str, Any], ...] = (
    {"user": "user", "context": "hour:instant", "where": "small < 3"},
    {"user": "coded user", "context": "weekday:day", "where": "exact >= 1.5"},
    {"user": "large user", "context": "weekday:moment", "since": "2026-03-02", "time": "instant"},
    {"user": "damaged user", "context": "nothing", "contexts": "a,b"},
    {"user": "small", "value": "number", "value_range": "0,2"},
    {"user": "small", "value": "comma", "value_range": "0,2000", "decimal": ",", "thousands": "."},
    {"user": "small", "where": "comma >= 1.5", "decimal": {"comma": ","}, "thousands": {"comma": "."}},
    {"user": "small", "value": "exact", "value_range": "0,5", "where": "yes = true"},
)


@pytest.mark.parametrize("words", READ, ids=str)
def test_no_type_of_a_column_changes_on_the_way(
    words: dict[str, Any], engine: SparkEngine, tmp_path: Path
) -> None:
    pa_feather.write_feather(pa.table(TYPES), tmp_path / "all.arrow", compression="uncompressed")
    log = read_events(tmp_path / "all.arrow", item="item", items="tea,rye", **words)
    measured = _equal(engine, log, UserTotals(3) if "value" in words else SampleRecords(2))
    assert "[0]" not in str(measured), "nothing is counted"


def test_ids_that_are_fractions_are_whole_numbers_or_missing(engine: SparkEngine, tmp_path: Path) -> None:
    users = [float(n % 9) for n in range(40)] + [7.5, float("nan"), None, float("inf"), 2.0**53]
    table = pa.table({"user": users, "item": [1.0, 2.0, 2.5] * 15})
    pq.write_table(table, tmp_path / "fractions.parquet")
    frame = spark_session.session().read.parquet(str(tmp_path / "fractions.parquet"))
    logs = [
        read_events(source, user="user", item="item", items=[1, 2], where="user >= 0.5")
        for source in (frame, tmp_path / "fractions.parquet", table)
    ]
    for log in logs:
        assert _equal(engine, log, SampleRecords(2), logs[-1]) != _equal(engine, log, SampleRecords(1), logs[-1])


def test_a_frame_of_spark_is_read_in_its_own_types(engine: SparkEngine, tmp_path: Path) -> None:
    names = {"large user": "user", "item": "item", "instant": "instant", "moment": "moment", "day": "day"}
    others = {"exact": "exact", "number": "number", "small": "small", "yes": "yes"}
    table = pa.table({new: TYPES[old] for old, new in (names | others).items()})
    micro = table.cast(
        pa.schema([(field.name, _as_parquet_for_spark(field.type)) for field in table.schema]), safe=False
    )
    pq.write_table(micro, tmp_path / "all.parquet")
    spark_session.session().conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frame = spark_session.session().read.parquet(str(tmp_path / "all.parquet"))
        for words in (
            {"context": "hour:instant"},
            {"context": "hour:instant", "timezone": "Asia/Tokyo", "where": "exact >= 1.5"},
            {"context": "hour:moment", "where": "day >= 2026-03-02"},
        ):
            spark_log, other = (
                read_events(source, user="user", item="item", items="tea,rye", **words)  # type: ignore[arg-type]
                for source in (frame, micro)
            )
            _equal(engine, spark_log, SampleRecords(2), other)
        assert hc.check(spark_log).records == hc.check(other).records
    finally:
        spark_session.session().conf.unset("spark.sql.session.timeZone")


def _as_parquet_for_spark(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind


def test_a_frame_is_released_by_spark_without_saying_so() -> None:
    frame = spark_session.session().createDataFrame(_user_table().select(["user", "item"]).to_pandas())
    log = read_events(frame, user="user", item="item", items="tea,rye")
    with mock.patch.object(SparkEngine, "measure", autospec=True, side_effect=SparkEngine.measure) as measured:
        release = hc.release(log, epsilon="1000", method="sra", limit=10**6)
    assert measured.call_count == 1
    exact = _user_table().filter(pa.compute.equal(_user_table()["item"], "tea")).num_rows
    assert abs(release.items["count"][0].as_py() - exact) < 10**5
    assert not frame.is_cached


@pytest.mark.parametrize("partitions", [1, 9])
def test_skew_and_empty_partitions_change_nothing(partitions: int, tmp_path: Path) -> None:
    """Two people, one with nearly everything, in up to 9 partitions; the driver gets cells alone."""
    users = np.where(np.arange(4_000) % 10 == 0, "ann", "bob")
    log = read_events(
        pa.table({"user": users, "item": ["tea", "rye"] * 2_000}), user="user", item="item", items="tea,rye"
    )
    engine = spark_session.engine(partitions)
    with mock.patch.object(spark_engine, "from_cells", side_effect=from_cells) as collected:
        _equal(engine, log, SampleRecords(900))
    assert collected.call_args[0][1].num_rows == 4
    engine.close()


def test_large_partitions_go_to_a_file(tmp_path: Path) -> None:
    from headcount.engines.spark import steps

    log, table = log_of(rows(), SampleRecords(2)), log_of(rows(), SampleRecords(2)).source
    assert isinstance(table, TableSource)
    batches = table.table.to_batches(max_chunksize=10)
    with mock.patch.object(steps, "_HELD", 500):
        source = steps._source_of(iter(batches), table.table.schema)
    assert not isinstance(source, TableSource)
    measured = LocalEngine().measure(replace(log, source=source), SampleRecords(2), SECRET)
    assert shown(measured) == shown(LocalEngine().measure(log, SampleRecords(2), SECRET))


@pytest.mark.parametrize(
    "bound", [SampleRecords(2), KeySupport(2), KeyWeights("roots", 2, ((2, 50_000),))], ids=str
)
def test_an_empty_log_is_measured_as_zero(bound: Bound[Any], engine: SparkEngine) -> None:
    _equal(engine, log_of([], bound), bound)


def test_who_is_dealt_where_hangs_on_the_raw_id_alone() -> None:
    names = ["ann", "", "Zoë"]
    plain, coded = keys_of(pa.array(names)), keys_of(pa.array(names).dictionary_encode())
    assert plain.tolist() == coded.tolist() == keys_of(pa.array(["x", *names])[1:]).tolist()
    small, wide = keys_of(pa.array([1, 2], pa.int8())), keys_of(pa.array([1, 2], pa.int64()))
    assert small.tolist() == wide.tolist()


@pytest.mark.parametrize("partitions", [1, 2, 3, 50])
def test_every_partition_gets_users(partitions: int) -> None:
    assert len(partition_frames.partition_labels(spark_session.session(), partitions)) == partitions


# Releases


@pytest.mark.parametrize("name", FAMILIES)
def test_releases_of_every_family_are_those_of_the_local_engine(name: str, engine: SparkEngine) -> None:
    case = next(candidate for candidate in every_case() if candidate.name == name)
    with mock.patch.dict(running.ENGINES, spark=lambda: engine):
        released = running.released(case, "spark")
    assert released["tables"]
    assert {part: recorded()[name][part] for part in released} == released


def _covering() -> list[Any]:
    """Return recorded releases in which each method and each way of reading comes up, not each with each."""
    chosen, covered = [], set[tuple[str, str]]()
    for case in every_case():
        group, _, rest = case.name.partition(": ")
        new = {(group, part) for part in rest.split(", ")[:2]} - covered
        if new and "sessions" not in group:
            chosen.append(case)
            covered |= new
    return chosen


@pytest.mark.slow
def test_recorded_releases_of_every_method_are_those_of_spark(engine: SparkEngine) -> None:
    """Of each method, and of each way of reading; a method that reads records is refused."""
    records = recorded()
    different = []
    for case in _covering():
        with mock.patch.dict(running.ENGINES, spark=lambda: engine):
            released = running.released(case, "spark")
        if "SparkEngine cannot measure Records" not in released.get("refused", ""):
            different += [case.name for part in released if released[part] != records[case.name].get(part)]
    assert not different


def test_stages_of_one_release_share_what_was_dealt(tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    pq.write_table(_user_table(), path)
    log, engine = read_events(path, user="user", item="item", items="tea,rye"), spark_session.engine()
    first = engine.measure(log, SampleRecords(2), SECRET)
    path.unlink()
    again = engine.measure(replace(log, counting="users"), SampleRecords(2), SECRET)
    assert (first.items.size, again.items.size) == (2, 2)
    engine.close()
    with pytest.raises(DataError, match="does not exist"):
        engine.measure(log, SampleRecords(2), SECRET)


# What the curator is told


def _untidy() -> pa.Table:
    """Return rows of which most are not counted as they stand: for each reason another number of them."""
    good = [("ann", "tea", "F", "1", 5), ("bob", "rye", "M", "2", 5)]
    lost = [
        *[(None, "tea", "F", "1", 5)] * 2,
        *[("cyn", None, "F", "1", 5)] * 3,
        *[("cyn", "oat", "F", "1", 5)] * 4,
        *[("dan", "tea", "?", "1", 5)] * 5,
        *[("dan", "tea", "F", "many", 5)] * 6,
        *[(None, None, "?", "0", 1)] * 7,  # a condition leaves them out
    ]
    columns = zip(*(good * 20 + lost), strict=True)
    return pa.table(dict(zip(("user", "item", "place", "n", "age"), columns, strict=True)))


def _tally_of(tally: Tally | None) -> Tally:
    assert tally is not None
    return replace(tally, nulls={name: number for name, number in tally.nulls.items() if number})


def test_dropped_rows_are_reported_as_by_the_local_engine(engine: SparkEngine, tmp_path: Path) -> None:
    pa_csv.write_csv(_untidy(), tmp_path / "visits.csv")
    log = read_events(
        tmp_path / "visits.csv", user="user", item="item", items="tea,rye", context="place", contexts="F,M",
        times="n", where="age > 2",
    )  # fmt: skip
    local = LocalEngine()
    for either in (engine, local):
        either.measure(log, SampleRecords(3), SECRET)
    assert _tally_of(engine.tally) == _tally_of(local.tally) == Tally(67, 4, 5, {"user": 2, "item": 3, "n": 6})


def test_the_driver_reads_a_frame_partition_by_partition(engine: SparkEngine) -> None:
    frame = spark_session.session().range(0, 90, 1, numPartitions=3)
    source = read_events(frame.selectExpr("id AS user", "id AS item"), user="user", item="item", items="1").source
    assert [batch.num_rows for batch in source.batches(["user"])] == [30, 30, 30]


# Refusals and failures


def test_what_is_no_sum_is_refused_before_anything_is_reserved() -> None:
    request, charging = request_of(ReleaseRequest, epsilon="1", method="dpsense-s"), mock.Mock()
    with pytest.raises(UsageError, match=r"SparkEngine cannot measure RecordCap.*use --engine local"):
        Curator(engine=SparkEngine(), charging=charging).prepare(request, EventLog.of([("a", "b")], items=["b"]))
    assert not charging.mock_calls


def test_a_packed_store_is_refused_before_anything_is_reserved(tmp_path: Path) -> None:
    packed = read_events(hc.pack(EventLog.of([("ann", "tea")], items=["tea"]), tmp_path / "store"))
    request, charging = request_of(ReleaseRequest, epsilon="1", method="sra", limit=1), mock.Mock()
    with pytest.raises(UsageError, match=r"Spark cannot read .*store.*--engine local"):
        Curator(engine=SparkEngine(), charging=charging).prepare(request, packed)
    assert not charging.mock_calls


@pytest.mark.parametrize("version", [None, 'openjdk version "11.0.2" 2019-01-15'])
def test_without_java_nothing_is_reserved(
    version: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import SparkSession

    (tmp_path / "bin").mkdir()
    if version is not None:
        java = tmp_path / "bin" / "java"
        java.write_text(f"#!/bin/sh\necho '{version}' >&2\n", encoding="utf-8")
        java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    request, charging = request_of(ReleaseRequest, epsilon="1", method="sra", limit=1), mock.Mock()
    with pytest.raises(SurroundingsError, match=r"Spark needs Java.*install OpenJDK 17"):
        Curator(engine=SparkEngine(), charging=charging).prepare(request, EventLog.of([("a", "b")], items=["b"]))
    assert not charging.mock_calls


def test_what_a_session_that_runs_cannot_change_is_refused() -> None:
    spark_session.session()
    assert session.open_session(spark_session.CONF) is spark_session.session()
    with pytest.raises(UsageError, match=r"spark.master cannot be changed while Spark runs"):
        session.open_session({"spark.master": "local[7]"})


def test_different_versions_on_an_executor_are_reported(engine: SparkEngine) -> None:
    theirs = environment.versions() | {"numba": "0.1"}
    with (
        mock.patch.object(tasks, "versions", return_value=theirs),
        pytest.raises(SurroundingsError, match=r"driver has numba 0.1 but an executor has numba .*same versions"),
    ):
        engine.measure(log_of(rows(3), SampleRecords(2)), SampleRecords(2), SECRET)


def test_an_executor_without_headcount_is_reported() -> None:
    error = Exception("Traceback\nModuleNotFoundError: No module named 'headcount'\n")
    assert "an executor of Spark has no headcount" in str(session.to_headcount_error(error, "it failed"))


@pytest.mark.slow
def test_a_file_that_changed_is_refused_from_within_a_task(engine: SparkEngine, tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    pq.write_table(_user_table(), path)
    log = read_events(path, user="user", item="item", items="tea,rye")
    stale = tuple(replace(part, stamp=(1, 1)) for part in file_source.parts_of(log.source))  # type: ignore[arg-type]
    with (
        mock.patch.object(partition_frames, "parts_of", return_value=stale),
        pytest.raises(DataError, match="changed while it was being read"),
    ):
        engine.measure(log, SampleRecords(2), SECRET)
    _equal(engine, log, SampleRecords(2))


def _killing(flag: Path) -> Callable[[Any], Any]:
    """Return how tasks are made whose first attempt takes its worker with it."""
    first, number, own = str(flag), int(signal.SIGKILL), tasks.task_of

    def task_of(step: Any) -> Any:
        honest = own(step)

        def task(batches: Any) -> Any:
            import os

            come = list(batches)  # mid-task: there are rows
            try:
                if come:
                    os.close(os.open(first, os.O_CREAT | os.O_EXCL))
                    os.kill(os.getpid(), number)
            except FileExistsError:
                pass
            yield from honest(iter(come))

        return task

    return task_of


@pytest.mark.parametrize("place", [partition_frames, spark_engine], ids=["reading", "measuring"])
def test_a_worker_that_is_killed_changes_nothing(place: Any, tmp_path: Path) -> None:
    path, flag = tmp_path / "visits.parquet", tmp_path / "killed"
    pq.write_table(_user_table(), path)
    log, engine = read_events(path, user="user", item="item", items="tea,rye"), spark_session.engine()
    with mock.patch.object(place, "task_of", _killing(flag)):
        _equal(engine, log, SampleRecords(2))
    assert flag.exists()
    engine.close()


# The command line


def test_the_command_line_counts_with_spark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "visits.parquet", tmp_path / "made"
    pq.write_table(_user_table(), path)
    spark_session.session()
    flags = ["--user", "user", "--item", "item", "--items", "tea,rye", "--method", "sra", "--limit", "1000000"]
    flags += ["--epsilon", "1000000", "--engine", "spark", "--conf", "spark.sql.shuffle.partitions=2", "--quiet"]
    with mock.patch.object(SparkEngine, "measure", autospec=True, side_effect=SparkEngine.measure) as measured:
        assert main(["release", str(path), *flags, "--out", str(out)]) == 0, capsys.readouterr().err
        spark_session.session().read.parquet(str(path)).createOrReplaceTempView("visits")
        assert main(["release", "spark:visits", *flags, "--out", f"{out}2"]) == 0, capsys.readouterr().err
    assert measured.call_count == 2
    counts = [hc.load(folder).items["count"].to_pylist() for folder in (out, f"{out}2")]
    exact = [_user_table()["item"].to_pylist().count(item) for item in ("tea", "rye")]
    assert np.abs(np.array(counts) - exact).max() < 100


def test_the_curator_reads_dropped_rows_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spark_session.session().createDataFrame(_untidy()).createOrReplaceTempView("untidy")
    flags = ["spark:untidy", "--user", "user", "--item", "item", "--items", "tea,rye", "--engine", "spark"]
    flags += ["--where", "age > 2"]
    spend = ["--epsilon", "1", "--method", "sra", "--limit", "3", "--out", str(tmp_path / "made")]
    assert main(["release", *flags, *spend]) == 0
    captured = capsys.readouterr()
    assert "For the curator only: 5 records without user or item were dropped." in captured.err
    assert "For the curator only: 4 records of items outside the catalogue were dropped." in captured.err
    assert main(["check", *flags, "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["rows"], report["left_out_by_conditions"], report["records"]) == (67, 7, 51)
    assert "67" not in (tmp_path / "made" / "release.json").read_text(encoding="utf-8")


def test_files_are_checked_without_spark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pa_csv.write_csv(_untidy(), tmp_path / "visits.csv")
    flags = ["--user", "user", "--item", "item", "--items", "tea,rye", "--engine", "spark"]
    assert main(["check", str(tmp_path / "visits.csv"), *flags]) == 2
    assert "looked at on this machine alone; leave --engine spark out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("events", "flags", "message"),
    [
        ("spark:visits", [], "spark:visits is of Spark; add --engine spark"),
        ("visits.csv", ["--conf", "a=b"], "--conf is of Spark; add --engine spark"),
        ("spark:nowhere", ["--engine", "spark"], "Spark has no table 'nowhere'"),
    ],
)
def test_what_is_of_spark_alone_is_refused(
    events: str, flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if "--engine" in flags:
        spark_session.session()
    words = ["--user", "user", "--item", "item", "--items", "tea", "--epsilon", "1", "--dry-run"]
    assert main(["release", events, *words, *flags]) == 2
    assert message in capsys.readouterr().err
