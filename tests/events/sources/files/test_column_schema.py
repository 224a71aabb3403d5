"""Several files of one log: one in which all values are missing decides nothing; types that differ show early."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.errors import DataError, UnknownNameError
from headcount.events.log import EventLog
from tests.events.conftest import exact_items

WORDS: dict[str, Any] = {"user": "user", "items": ["rye", "tea"], "item": "item"}
FILLED = {"user": pa.array([1, 2]), "item": pa.array(["tea", "rye"]), "place": pa.array(["F", "M"])}
OTHERS = {
    "item": pa.array([None, None]),
    "place": pa.array([None, None]),
    "user": pa.array([None, None]),
}


def _write_parquet(table: pa.Table, path: Path) -> Path:
    pq.write_table(table, path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def _write_arrow(table: pa.Table, path: Path) -> Path:
    with pa.ipc.new_file(path.with_suffix(".arrow"), table.schema) as writer:
        writer.write_table(table)
    return path.with_suffix(".arrow")


WRITERS = {"parquet": _write_parquet, "arrow": _write_arrow}
Writer = Callable[[pa.Table, Path], Path]


def _counts(log: EventLog) -> list[int]:
    """Return exact counts: the noise of so large an ε rounds to nothing, with a probability above 1 - 1e-400."""
    return [
        round(count)
        for count in hc.release(log, method="sra", limit=9, epsilon="10000").edges["count"].to_pylist()
    ]


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("column", OTHERS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_file_whose_values_are_all_missing_counts_as_if_it_declared_them(
    writer: Writer, column: str, place: int, tmp_path: Path
) -> None:
    def log(missing: pa.Array, name: str) -> EventLog:
        tables = [pa.table(FILLED), pa.table(FILLED)]
        tables.insert(place, pa.table({**FILLED, column: missing}))
        (tmp_path / name).mkdir()
        files = [writer(table, tmp_path / name / str(number)) for number, table in enumerate(tables)]
        return hc.read_events(files, context="place", contexts="F,M", where="item != x", **WORDS)

    nothing, declared = log(OTHERS[column], "null"), log(pa.nulls(2, FILLED[column].type), "declared")
    assert nothing.type_of(column) == declared.type_of(column)
    assert _counts(nothing) == _counts(declared)


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_a_log_whose_values_are_all_missing_has_no_records(writer: Writer, tmp_path: Path) -> None:
    table = pa.table({**FILLED, "item": OTHERS["item"]})
    files = [writer(table, tmp_path / str(number)) for number in range(2)]
    assert hc.check(hc.read_events(files, **WORDS)).records == 0


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_types_that_differ_are_refused_when_the_log_is_described(writer: Writer, tmp_path: Path) -> None:
    for number, items in enumerate((OTHERS["item"], FILLED["item"], pa.array([7, 8]))):
        writer(pa.table({**FILLED, "item": items}), tmp_path / f"user-ann-{number}")
    with pytest.raises(DataError, match=r"holds int64 in a file of .* but text in another") as caught:
        hc.read_events(str(tmp_path), **WORDS)
    assert "user-ann" not in str(caught.value)
    assert "user-ann-2" in str(caught.value.file)


def test_a_column_that_a_later_file_lacks_is_refused_when_the_log_is_described(tmp_path: Path) -> None:
    (tmp_path / "user-ann-0.csv").write_text("user,item\n1,tea\n", encoding="utf-8")
    (tmp_path / "user-ann-1.csv").write_text("user,what\n1,tea\n", encoding="utf-8")
    with pytest.raises(UnknownNameError, match="item") as caught:
        hc.read_events(str(tmp_path), **WORDS)
    assert "user-ann" not in str(caught.value)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("empty", [pa.table({name: pa.array([], pa.float64()) for name in FILLED}), pa.table({})])
def test_a_parquet_file_without_rows_decides_no_types(empty: pa.Table, place: int, tmp_path: Path) -> None:
    tables = [pa.table(FILLED), pa.table(FILLED)]
    tables.insert(place, empty)
    for number, table in enumerate(tables):
        _write_parquet(table, tmp_path / str(number))
    log = hc.read_events(str(tmp_path), context="place", contexts="F,M", **WORDS)
    assert log.type_of("user") == pa.int64()
    assert sum(_counts(log)) == 4


def test_a_log_of_parquet_files_without_rows_has_the_columns_of_the_first(tmp_path: Path) -> None:
    files = [_write_parquet(pa.table(FILLED).slice(0, 0), tmp_path / str(number)) for number in range(2)]
    assert hc.check(hc.read_events(files, **WORDS)).records == 0


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_ids_and_times_may_be_fractions_in_some_files(writer: Writer, place: int, tmp_path: Path) -> None:
    big = 2**53 + 1  # a fraction cannot hold it, and a file of whole numbers can
    whole = {"user": [big, 2], "item": [7, big], "n": [1, 2]}
    odd = {"user": [3.0, 4.0, 4.5, None, 5.0], "item": [7.0, 7.0, 7.0, 7.0, 7.5], "n": [1.0, 2.5, 1.0, 1.0, 1.0]}
    tables = [pa.table(whole), pa.table(whole)]
    tables.insert(place, pa.table(odd))
    files = [writer(table, tmp_path / str(number)) for number, table in enumerate(tables)]
    log = hc.read_events(files, user="user", item="item", items=[7, big], times="n")
    assert [log.type_of(column) for column in ("user", "item", "n")] == [pa.int64()] * 3
    assert exact_items(log) == {"7": 2 + 1, str(big): 4}


@pytest.mark.parametrize("role", [{"value": "n", "value_range": "0,5"}, {"where": "n > 0"}])
def test_a_column_of_which_fractions_count_has_one_type_in_all_files(role: dict[str, Any], tmp_path: Path) -> None:
    for number, values in enumerate(([1, 2], [1.0, None])):
        _write_parquet(pa.table({**FILLED, "n": values}), tmp_path / str(number))
    with pytest.raises(DataError, match=r"holds double in a file of .* but int64 in another"):
        hc.read_events(str(tmp_path), **WORDS, **role)
