"""The local engine's own affairs: progress, what it holds between stages, and what it sees for the curator."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest

from headcount.bounds import FIXED_POINT, ActivityHistogram, SampleRecords, WeightToThreshold
from headcount.bounds.counts.record_cap import RecordCap
from headcount.engines.engine import Engine, silent
from headcount.engines.local.engine import LocalEngine
from headcount.engines.local.partitions import HeldPartitions
from headcount.engines.local.record_store import RecordStore
from headcount.errors import DataError, UsageError
from headcount.events.catalogue import read_catalogue
from headcount.events.log import EventLog
from headcount.events.sources.source import TableSource
from tests.contracts.support.engine_checks import Torn, batches_of
from tests.contracts.support.method_checks import town
from tests.reference.engine import ReferenceEngine
from tests.support.small_logs import Case


def test_progress_reports_rows_and_never_goes_back() -> None:
    reports: list[tuple[str, int, int | None]] = []
    engine = LocalEngine(threads=2, progress=lambda *report: reports.append(report))
    with batches_of(7):
        engine.measure(town(users=50), SampleRecords(2), bytes(16))
    rows = [done for stage, done, _ in reports if stage == "reading events"]
    assert rows == sorted(rows)
    assert rows[-1] == town(users=50).source.rows
    assert {total for stage, _, total in reports if stage == "reading events"} == {town(users=50).source.rows}


def test_all_stages_of_a_release_read_a_log_once() -> None:
    stage_names: list[str] = []
    engine = LocalEngine(threads=2, progress=lambda stage, done, total: stage_names.append(stage))
    log = town(users=50)
    engine.measure(log, ActivityHistogram("edges", 9), bytes(16))
    once = stage_names.count("reading events")
    engine.measure(log, RecordCap("items", 9), bytes(16))
    engine.measure(log, WeightToThreshold(2), bytes(16))
    engine.measure(log, SampleRecords(2), bytes(16))
    assert stage_names.count("reading events") == once > 0


def test_records_that_are_counted_otherwise_are_not_read_again() -> None:
    """What is held of them serves both ways to count, and other items are not taken for these."""
    stage_names: list[str] = []
    engine = LocalEngine(progress=lambda stage, done, total: stage_names.append(stage))
    log = town(users=50)
    fewer = replace(log, catalogue=read_catalogue(log.catalogue.ids[:2]))
    for variant, reads in ((log, 1), (replace(log, counting="users"), 1), (fewer, 2)):
        counts = engine.measure(variant, SampleRecords(3), bytes(16)).edges.sensitive_values
        expected = ReferenceEngine().measure(variant, SampleRecords(3), bytes(16)).edges.sensitive_values
        assert np.array_equal(counts, expected)
        assert stage_names.count("reading events") == reads


@pytest.mark.parametrize("people", [0, 3])
def test_no_work_for_absent_users(people: int) -> None:
    """How many people have names is not known before they are read; but blocks without any are passed over."""
    log = EventLog.of([(f"p{number}", "tea") for number in range(people)], items=["tea"])
    held = RecordStore(log, 1 << 20)
    with ThreadPoolExecutor(1) as pool:
        pieces = [
            piece for some in HeldPartitions(held).stages(bytes(16), 2, pool, silent) for piece in some.pieces
        ]
    assert sum(piece.last - piece.first for piece in pieces) == people < held.all_blocks
    assert LocalEngine().measure(log, SampleRecords(1), bytes(16)).items.sensitive_values.tolist() == [people]


def test_no_thread_is_started_for_a_small_log(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("a thread would take longer to start than all there is to do")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", refused)
    assert LocalEngine(threads=1).measure(town(users=50), SampleRecords(2), bytes(16)).items.sensitive_values.any()


@pytest.mark.parametrize("engine", [ReferenceEngine(), LocalEngine()], ids=["reference", "local"])
def test_what_users_are_measured_by_is_checked(engine: Engine) -> None:
    """There must be a place for everyone; and different items or pairs are not cut down."""
    log = town(users=9)
    for most in (0, -1):
        with pytest.raises(UsageError, match="most must be a whole number of at least 1"):
            engine.measure(log, ActivityHistogram("items", most), bytes(16))
        with pytest.raises(UsageError, match="must be a whole number of at least 1"):
            engine.measure(log, RecordCap("items", most), bytes(16))
    people = replace(log, counting="users")
    for table, columns in (("items", len(log.catalogue.ids)), ("edges", log.cells)):
        with pytest.raises(
            ValueError, match=f"different {table} are not cut down: most must be at least {columns}"
        ):
            engine.measure(people, RecordCap(table, columns - 1), bytes(16))  # type: ignore[arg-type]
        assert engine.measure(people, RecordCap(table, columns), bytes(16)).width == columns  # type: ignore[arg-type]


def test_the_tally_is_for_the_curator() -> None:
    engine = LocalEngine()
    case = Case(rows=((0, 0, "AM", 1), (0, 4, "AM", 1), (2, 1, "night", 1), (2, 1, None, 1)), contexts=True)
    engine.measure(case.log(), SampleRecords(1), bytes(16))
    tally = engine.tally
    assert tally is not None
    assert (tally.rows, tally.outside_catalogue, tally.unknown_context) == (4, 1, 2)


def test_an_engine_can_be_used_for_one_log_after_another() -> None:
    engine, reference = LocalEngine(), ReferenceEngine()
    for seed in range(12):
        log = town(users=5 + seed, seed=seed)
        measured = engine.measure(log, SampleRecords(2), bytes(16))
        expected = reference.measure(log, SampleRecords(2), bytes(16))
        assert np.array_equal(measured.edges.sensitive_values, expected.edges.sensitive_values)
        del log
        gc.collect()


def test_a_log_that_fails_is_refused_every_time() -> None:
    table = pa.table({"user": ["a", "b", "b", "c"], "item": ["tea"] * 4})
    base = EventLog.of([("a", "tea")], items=["tea"])
    log = replace(base, source=Torn(table))
    engine = LocalEngine(threads=1)
    for rows in (1, 2, 4):
        with batches_of(rows):
            for _ in range(3):
                with pytest.raises(DataError, match="torn"):
                    engine.measure(log, SampleRecords(1), bytes(16))


class Fading:
    """A source that can be read some times, and then fails half-way."""

    def __init__(self, table: pa.Table, good_passes: int) -> None:
        self.table, self.left = table, good_passes
        self.names, self.name, self.rows = table.schema.names, "a fading source", table.num_rows

    def type_of(self, column: str) -> pa.DataType | None:
        return self.table.schema.field(column).type

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        self.left -= 1
        for number, batch in enumerate(self.table.select(list(columns)).to_batches(max_chunksize=7)):
            if self.left < 0 and number == 2:
                raise DataError("the file changed")
            yield batch

    def whole_range(self, column: str) -> tuple[int, int] | None:
        return None


@pytest.mark.parametrize("memory", [64, 400, 1 << 20])
def test_a_source_that_fails_later_is_never_counted_in_part(memory: int) -> None:
    """Whichever pass fails, of whichever count: the next count is right, or refused."""
    log = town(users=40)
    expected = [
        ReferenceEngine().measure(log, SampleRecords(n), bytes(16)).edges.sensitive_values for n in (1, 2, 3)
    ]
    table = log.source.table if isinstance(log.source, TableSource) else None
    for good in range(0, 40, 3):
        engine, fading = LocalEngine(threads=2, memory=memory), replace(log, source=Fading(table, good))
        for limit in (1, 2, 3, 1, 2, 3):
            try:
                counts = engine.measure(fading, SampleRecords(limit), bytes(16)).edges.sensitive_values
            except DataError:
                continue
            assert np.array_equal(counts, expected[limit - 1])


def test_a_very_active_user_among_many_cells() -> None:
    """One user with 20,000 records on 5,000 cells, and limits on either side of what the heap must hold."""
    generator = np.random.default_rng(1)
    items = generator.integers(0, 5_000, 20_000)
    table = pa.table({"user": pa.array(np.zeros(20_000, dtype=np.int64)), "item": pa.array(items)})
    base = EventLog.of([(1, 1)], items=range(5_000))
    for counting in ("records", "users"):
        log = replace(base, source=TableSource(table), counting=counting)
        for limit in (1, 100, 4_000, 19_999, 20_000, 2**31 - 1):
            counts = LocalEngine(threads=2).measure(log, SampleRecords(limit), bytes(16)).edges.sensitive_values
            expected = ReferenceEngine().measure(log, SampleRecords(limit), bytes(16)).edges.sensitive_values
            assert np.array_equal(counts, expected)
            assert counts.sum() == min(limit, 20_000 if counting == "records" else np.unique(items).size)
        for limit in (1, 4_000, 20_000):
            counts = (
                LocalEngine(threads=2).measure(log, WeightToThreshold(limit), bytes(16)).edges.sensitive_values
            )
            expected = ReferenceEngine().measure(log, WeightToThreshold(limit), bytes(16)).edges.sensitive_values
            assert np.array_equal(counts, expected)
        for most in (5_000, 19_999, 20_000, 30_000):
            mine, its = (
                engine.measure(log, RecordCap("items", most), bytes(16))
                for engine in (LocalEngine(threads=2), ReferenceEngine())
            )
            assert mine.sums.tolist() == its.sums.tolist()
            assert mine.starts.tolist() == its.starts.tolist()
            assert np.array_equal(np.sort(mine.columns), np.sort(its.columns))


def test_many_records_in_one_row() -> None:
    """A row that stands for a million records is a million records."""
    log = replace(
        Case(rows=((0, 0, None, 1),), times=True).log(
            TableSource(
                pa.table(
                    {
                        "user": ["ann", "ann", "bob"],
                        "item": ["tea", "rye", "tea"],
                        "times": pa.array([10**6, 3, 2], pa.int64()),
                    }
                )
            )
        )
    )
    for limit in (1, 50, 10**6 + 2):
        counts = LocalEngine().measure(log, SampleRecords(limit), bytes(16)).items.sensitive_values
        expected = ReferenceEngine().measure(log, SampleRecords(limit), bytes(16)).items.sensitive_values
        assert np.array_equal(counts, expected)
        assert counts.sum() == limit + min(limit, 2)
    for limit in (1, 50, 10**6 + 2, 10**6 + 3):
        counts = LocalEngine().measure(log, WeightToThreshold(limit), bytes(16)).items.sensitive_values
        expected = ReferenceEngine().measure(log, WeightToThreshold(limit), bytes(16)).items.sensitive_values
        assert np.array_equal(counts, expected)
        heavy = FIXED_POINT * min(limit, 10**6 + 3) // (10**6 + 3)
        assert counts[:2].tolist() == [10**6 * heavy + FIXED_POINT * min(limit, 2), 3 * heavy]
    assert LocalEngine().measure(log, ActivityHistogram("items", 4), bytes(16)).sensitive_values.tolist() == [
        0,
        1,
        0,
        1,
    ]
    assert LocalEngine().measure(log, RecordCap("items", 10**6), bytes(16)).sums.tolist() == [2, 10**6]


@pytest.mark.parametrize("counting", ["records", "users"])
def test_long_histories_with_and_without_equal_records(counting: Literal["records", "users"]) -> None:
    """Where no record comes twice they are looked at in another way, more than one step of them at once."""
    items = list(range(1500))
    histories = {
        "plain": items[:1300],
        "short": items[:40],
        "twice": [*items[:700], 3],
        "often": 9 * items[:80],
        "same": [5] * 300,
    }
    rows = [(user, item) for user, mine in histories.items() for item in mine]
    log = replace(EventLog.of(rows, items=items), counting=counting)
    for limit in (1, 7, 60, 300):
        for secret in (bytes(16), bytes(range(16))):
            kept, expected = (
                engine.measure(log, SampleRecords(limit), secret) for engine in (LocalEngine(), ReferenceEngine())
            )
            assert kept.items.sensitive_values.tolist() == expected.items.sensitive_values.tolist()
            assert kept.edges.sensitive_values.tolist() == expected.edges.sensitive_values.tolist()
