"""Tables of one row per person, without ids: every row counts once, over files and batches, bounded by itself."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.bounds.grid.user_group_cells import GroupCells
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.grid import Grid
from headcount.events.sources.source import ROW, ROW_IS_USER
from headcount.methods.queries.request import QueryRequest
from headcount.methods.request import request_of
from headcount.run.prepare import prepare_request

GRID = Grid.from_mapping({"age": {"edges": [0, 10, 20, 30]}})
AGES = [3, 3, 14, 25, 25, 25, 99]
ADULTS = "SELECT COUNT(*) FROM people WHERE age >= 10"
BINS = {"age": {"edges": [0, 10, 20, 30]}}


def people(ages: list[int], homes: list[str] | None = None) -> pa.Table:
    return pa.table({"age": ages, "home": homes or [str(n) for n in range(len(ages))]})


def counted(log: hc.EventLog, bound: GroupCells) -> list[int]:
    sums: list[int] = LocalEngine().measure(log, bound, b"s" * 16).sensitive_values.tolist()
    return sums


def test_every_row_counts_once_over_files_and_batches(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.parquet"):
        pq.write_table(people(AGES), tmp_path / name, row_group_size=2)
    log = hc.read_people([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    places = [place for batch in log.source.batches([ROW]) for place in batch.column(ROW).to_pylist()]
    assert places == list(range(2 * len(AGES)))
    assert places == [place for batch in log.source.batches(["age", ROW]) for place in batch.column(1).to_pylist()]
    assert counted(log, GroupCells(GRID)) == [4, 2, 8]


def test_one_row_less_moves_one_count_by_one() -> None:
    whole = counted(hc.read_people(people(AGES)), GroupCells(GRID))
    for at in range(len(AGES)):
        rest = counted(hc.read_people(people(AGES[:at] + AGES[at + 1 :])), GroupCells(GRID))
        assert sum(abs(count - other) for count, other in zip(whole, rest, strict=True)) == 1


def test_a_group_is_cut_down_whatever_the_places_of_its_rows() -> None:
    homes = ["x", "y", "x", "x", "y", "x", "z"]
    bound = GroupCells(GRID, "home", 1, 2)
    assert sum(counted(hc.read_people(people(AGES, homes)), bound)) == 2 + 2 + 1
    without = [at for at in range(len(AGES)) if homes[at] != "x"]
    rest = people([AGES[at] for at in without], [homes[at] for at in without])
    assert sum(counted(hc.read_people(rest), bound)) == 2 + 1


def test_the_guarantee_says_so_and_a_ledger_distinguishes_tables(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age;x\n12;1\n", encoding="utf-8")
    by_rows = hc.read_people(tmp_path / "a.csv", delimiter=";")
    by_ids = hc.read_people(tmp_path / "a.csv", delimiter=";", user="x")
    request = request_of(QueryRequest, epsilon="1", bins=BINS, queries=[ADULTS])
    rows, ids = prepare_request(request, by_rows), prepare_request(request, by_ids)
    assert ROW_IS_USER in rows.guarantee.assumes
    assert ROW_IS_USER not in ids.guarantee.assumes
    assert rows.identity() != ids.identity()
    assert '"delimiter": ";"' in rows.identity()[0]
    assert hc.query(by_rows, ADULTS, epsilon="1", bins=BINS).request["events"] == {"delimiter": ";"}


def test_a_session_and_a_check_take_such_a_table() -> None:
    log = hc.read_people(people(AGES))
    with hc.QuerySession(log, epsilon="50", bins=BINS) as session:
        assert session.ask(ADULTS).answer == pytest.approx(5, abs=2)
        assert ROW_IS_USER in session.guarantee.assumes
    assert hc.check(log).all_counts
    with pytest.raises(UsageError, match="max_records=3 is given without user="):
        hc.query(log, ADULTS, epsilon="1", bins=BINS, max_records=3)
