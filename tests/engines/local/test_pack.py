"""Packing changes nothing: what is counted from a store equals what is counted from the log, draw for draw."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headcount.bounds import BoundedCounts, SampleRecords
from headcount.engines.engine import Engine
from headcount.engines.local import kernels as packing
from headcount.engines.local.engine import LocalEngine
from headcount.engines.local.pack import pack
from headcount.errors import DataError, SurroundingsError, UsageError
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog, read_events
from headcount.events.sources.files.packed_store import open_store
from headcount.events.sources.source import TableSource, open_source
from tests.contracts.support.engine_checks import Torn, batches_of
from tests.contracts.support.method_checks import town
from tests.reference.engine import ReferenceEngine
from tests.support.small_logs import Case, bounds, cases, secrets

ENGINES: dict[str, Callable[[], Engine]] = {
    "reference": ReferenceEngine,
    "local": LocalEngine,
    "local, one thread": lambda: LocalEngine(threads=1),
}


def values(counts: BoundedCounts) -> list[bytes]:
    return [counts.items.sensitive_values.tobytes(), counts.edges.sensitive_values.tobytes()]


def through_a_store(log: EventLog, folder: str | Path, **how: Any) -> EventLog:
    """Pack a log and open it again, to count the same of it."""
    packed = read_events(pack(log, Path(folder) / "store", **how))
    return replace(packed, counting=log.counting, context_of=log.context_of)


def content(store: Path) -> dict[str, bytes]:
    """Everything in a store but the moment it was made."""
    files = {file.name: file.read_bytes() for file in store.iterdir()}
    lines = files["store.json"].splitlines()
    files["store.json"] = b"\n".join(line for line in lines if b'"created"' not in line)
    return files


@pytest.mark.parametrize("name", ENGINES)
@given(case=cases(), data=st.data(), secret=secrets)
def test_a_store_counts_as_its_log(name: str, case: Case, data: st.DataObject, secret: bytes) -> None:
    bound, log = data.draw(bounds(case)), case.log()
    with tempfile.TemporaryDirectory() as folder:
        packed = through_a_store(log, folder)
        assert packed.describe() == log.describe()
        assert packed.catalogue.digest == log.catalogue.digest
        expected = values(ReferenceEngine().measure(log, bound, secret))
        assert values(ENGINES[name]().measure(packed, bound, secret)) == expected


@given(case=cases(), data=st.data(), secret=secrets)
def test_the_order_of_rows_has_no_effect(case: Case, data: st.DataObject, secret: bytes) -> None:
    shuffled = data.draw(st.permutations(case.rows))
    with tempfile.TemporaryDirectory() as folder_in_order, tempfile.TemporaryDirectory() as other:
        packed = [through_a_store(replace(case, rows=tuple(rows)).log(), folder)
                  for rows, folder in ((case.rows, folder_in_order), (shuffled, other))]  # fmt: skip
        first, second = (
            values(LocalEngine().measure(packed_log, SampleRecords(2), secret)) for packed_log in packed
        )
        assert first == second


@given(case=cases(), memory=st.sampled_from([1, 40, 64, 200]), rows=st.integers(1, 9))
def test_memory_and_batches_have_no_effect_on_the_store(case: Case, memory: int, rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole = pack(case.log(), Path(folder) / "whole")
        with batches_of(rows):
            piecewise = pack(case.log(), Path(folder) / "piecewise", memory=memory)
        assert content(piecewise) == content(whole)


def test_many_passes_give_the_same_store(tmp_path: Path) -> None:
    passes: list[int] = []

    def watch(stage: str, done: int, total: int | None) -> None:
        if stage == "reading events" and done == total:
            passes.append(done)

    log = town(users=300)
    with batches_of(50):
        small = pack(log, tmp_path / "small", memory=400, progress=watch)
    assert len(passes) > 3
    assert content(small) == content(pack(log, tmp_path / "large"))


@given(case=cases())
def test_a_store_holds_every_record_exactly_once(case: Case) -> None:
    """By the letter: distinct users, no one without a record, cells ascending and merged, all repeats counted."""
    log = case.log()
    with tempfile.TemporaryDirectory() as folder:
        source = open_store(pack(log, Path(folder) / "store"))
        times = source.times if source.times.size else np.ones(source.cells.size, np.int32)
        records_by_cell: dict[tuple[Any, int], int] = {}
        for user in range(source.users.size):
            mine = slice(source.starts[user], source.starts[user + 1])
            assert source.starts[user] < source.starts[user + 1]
            assert (np.diff(source.cells[mine].astype(int)) > 0).all()
            for cell, weight in zip(source.cells[mine], times[mine], strict=True):
                records_by_cell[name_of(source.users.raw, user), int(cell)] = int(weight)
        assert records_by_cell == records_of(log)
        assert source.records == sum(records_by_cell.values())
        assert (source.folder / "times.npy").exists() == any(weight > 1 for weight in records_by_cell.values())


def name_of(raw: Any, user: int) -> Any:
    if not isinstance(raw, tuple):
        return int(raw[user])
    return bytes(raw[0][raw[1][user - 1] if user else 0 : raw[1][user]])


def records_of(log: EventLog) -> dict[tuple[Any, int], int]:
    records_by_key: dict[tuple[Any, int], int] = {}
    encoded = EncodedLog(log)
    for batch in encoded.batches():
        times = np.ones(batch.cells.size, np.int64) if batch.times is None else batch.times
        for user, cell, weight in zip(batch.users, batch.cells, times, strict=True):
            if cell >= 0:
                key = name_of(encoded.users.raw, int(user)), int(cell)
                records_by_key[key] = records_by_key.get(key, 0) + int(weight)
    return records_by_key


@pytest.mark.parametrize("size", [0, 1, 47, 48, 1_000])
@pytest.mark.parametrize("largest", [2, 255, 256, 70_000, 2**27])
@pytest.mark.parametrize("weighted", [False, True])
def test_sorting_and_merging(size: int, largest: int, weighted: bool) -> None:
    generator = np.random.default_rng(size)
    cells = generator.integers(0, largest, size).astype(np.int32)
    weights = generator.integers(1, 9, size if weighted else 0)
    order = np.sort(np.unique(cells))
    sums = [int((weights if weighted else np.ones(size, int))[cells == cell].sum()) for cell in order]
    lengths, out, times = np.zeros(3, np.int64), np.zeros(size, np.int32), np.zeros(size, np.int32)
    starts = np.array([0, 0, size, size])
    bits = (largest - 1).bit_length()
    entries = packing.merge(starts, cells, weights, bits, lengths, out, times)
    assert out[:entries].tolist() == order.tolist()
    assert times[:entries].tolist() == sums
    assert lengths.tolist() == [0, entries, 0]


def test_more_records_than_an_entry_can_stand_for(tmp_path: Path) -> None:
    most = 2**31 - 1
    rows = {"user": ["ann"] * 3 + ["bob"], "item": ["tea"] * 4, "n": pa.array([most, most, 5, 1], pa.int64())}
    store = pack(read_events(pa.table(rows), user="user", item="item", items="rye,tea", times="n"), tmp_path / "s")
    source = open_store(store)
    assert source.times.tolist() == [most, most, 5, 1]
    assert source.cells.tolist() == [1, 1, 1, 1]
    assert source.starts.tolist() == [0, 3, 4]
    assert source.records == 2 * most + 6
    for cut in (1, 2, 100):
        with batches_of(cut):
            batches = list(EncodedLog(read_events(store)).batches())
        assert sum(int(batch.times.sum()) for batch in batches if batch.times is not None) == source.records


@pytest.mark.parametrize(("items", "kind"), [(2**16, np.uint16), (2**16 + 1, np.int32)])
def test_cells_take_two_bytes_where_they_can(items: int, kind: type[Any], tmp_path: Path) -> None:
    log = EventLog.of([(1, 0), (1, items - 1)], items=range(items))
    packed = through_a_store(log, tmp_path)
    source: Any = packed.source
    assert source.cells.dtype == kind
    assert source.cells.tolist() == [0, items - 1]
    assert values(LocalEngine().measure(packed, SampleRecords(9), bytes(16))) == values(
        ReferenceEngine().measure(log, SampleRecords(9), bytes(16))
    )


@pytest.mark.parametrize("users", ["text", "small", "wide"])
@pytest.mark.parametrize("rows", [(), ((0, 4, "AM", 1), (1, 0, "AM", 0))])
def test_an_empty_log(users: str, rows: Any, tmp_path: Path) -> None:
    log = Case(rows=rows, users=users, contexts=True, times=True).log()
    packed = through_a_store(log, tmp_path)
    for engine in ENGINES.values():
        counted = engine().measure(packed, SampleRecords(3), bytes(16))
        assert counted.edges.sensitive_values.tolist() == [[0, 0, 0]] * 3
    source: Any = packed.source
    assert (source.users.size, source.records, source.rows) == (0, 0, 0)


def test_ids_of_any_size_come_back(tmp_path: Path) -> None:
    """A text column may be given a catalogue of whole numbers, also of those that no column could hold."""
    ids = (2**70, -1, 7)
    table = pa.table({"user": ["ann"], "item": [str(2**70)]})
    packed = through_a_store(read_events(table, user="user", item="item", items=ids), tmp_path)
    assert packed.catalogue.ids == ids
    assert LocalEngine().measure(packed, SampleRecords(1), bytes(16)).items.sensitive_values.tolist() == [1, 0, 0]


# --- whole, or not at all -------------------------------------------------------------------------------------


def stages(log: EventLog, folder: Path) -> list[str]:
    stage_names: list[str] = []
    pack(log, folder / "seen", progress=lambda stage, *_: stage_names.append(stage))
    return stage_names


def test_an_interrupt_at_any_moment_leaves_nothing(tmp_path: Path) -> None:
    log = town(users=50)
    with batches_of(20):
        moments = len(stages(log, tmp_path))
        (tmp_path / "new").mkdir()
        kept = pack(log, tmp_path / "kept" / "store")
        before = content(kept)
        for moment in range(moments):
            for target in (tmp_path / "new" / "store", kept):
                with pytest.raises(KeyboardInterrupt):
                    pack(log, target, force=True, progress=Interrupt(moment))
            assert list((tmp_path / "new").iterdir()) == []
            assert content(kept) == before
            assert list(kept.parent.iterdir()) == [kept]


class Interrupt:
    """Progress that is interrupted at some moment."""

    def __init__(self, moment: int) -> None:
        self.left = moment

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


def test_a_log_that_fails_leaves_nothing(tmp_path: Path) -> None:
    table = pa.table({"user": ["a", "b"], "item": ["tea", "tea"]})
    log = replace(read_events(table, user="user", item="item", items="tea"), source=Torn(table))
    with pytest.raises(DataError, match="torn"):
        pack(log, tmp_path / "store")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["starts", "cells", "times", "user_bytes", "user_ends", "store"])
def test_a_full_disk_leaves_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def full(path: Path, *how: Any, **more: Any) -> Any:
        if path.stem == name:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return opened(path, *how, **more)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(SurroundingsError, match="the disk is full; nothing was left behind"):
        pack(EventLog.of([("ann", "tea")], items=["tea"]), tmp_path / "packed")
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    log = town(users=5)
    store = pack(log, tmp_path / "store")
    with pytest.raises(UsageError, match="exists already; choose another --to, or add --force"):
        pack(log, store)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    (tmp_path / "file").write_text("dear")
    for other in ("mine", "file"):
        with pytest.raises(UsageError, match="is not a store, so --force does not replace it"):
            pack(log, tmp_path / other, force=True)
    with pytest.raises(UsageError, match="is a file, so"):
        pack(log, tmp_path / "file" / "store")
    (tmp_path / "empty").mkdir()
    assert content(pack(log, tmp_path / "empty")) == content(pack(log, store, force=True))
    assert pack(log, tmp_path / "deep" / "er" / "store").is_dir()


def test_a_store_is_not_packed_again(tmp_path: Path) -> None:
    packed = through_a_store(town(users=5), tmp_path)
    with pytest.raises(UsageError, match="is packed already"):
        pack(packed, tmp_path / "again")


def test_a_store_that_changes_between_counts_is_refused(tmp_path: Path) -> None:
    log = town(users=5)
    packed = through_a_store(log, tmp_path)
    for engine in (ReferenceEngine(), LocalEngine()):
        engine.measure(packed, SampleRecords(1), bytes(16))
    pack(log, tmp_path / "store", force=True)
    for engine in (ReferenceEngine(), LocalEngine()):
        with pytest.raises(DataError, match="changed while it was being read"):
            engine.measure(packed, SampleRecords(1), bytes(16))


def test_a_damaged_store_reaches_no_kernel(tmp_path: Path) -> None:
    log = EventLog.of([(n, n % 3) for n in range(9)], items=range(3))
    packed = through_a_store(log, tmp_path)
    path = tmp_path / "store" / "cells.npy"
    damaged: NDArray[Any] = np.load(path)
    damaged[4] = 60_000
    np.save(path, damaged)
    for engine in (ReferenceEngine(), LocalEngine()):
        with pytest.raises(DataError, match=r"does not hold what|changed while"):
            engine.measure(packed, SampleRecords(1), bytes(16))
        with pytest.raises(DataError, match="does not hold what"):
            engine.measure(read_events(tmp_path / "store"), SampleRecords(1), bytes(16))


def test_a_table_and_its_parquet_file_pack_alike(tmp_path: Path) -> None:
    source = town(users=40).source
    assert isinstance(source, TableSource)
    pq.write_table(source.table, tmp_path / "log.parquet", row_group_size=30)
    log = town(users=40)
    filed = replace(log, source=open_source(tmp_path / "log.parquet"))
    packed_table, other = through_a_store(log, tmp_path / "a"), through_a_store(filed, tmp_path / "b")
    first, second = (
        values(LocalEngine().measure(packed, SampleRecords(3), bytes(16))) for packed in (packed_table, other)
    )
    assert first == second
