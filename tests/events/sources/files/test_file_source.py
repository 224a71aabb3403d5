"""Several files of one log: their types, files without values, and folders that are named after users."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.errors import DataError, UnknownNameError
from headcount.events.log import EventLog
from tests.events.conftest import exact_edges, exact_items

WORDS: dict[str, Any] = {"user": "user", "items": ["rye", "tea"], "item": "item"}
FILLED = {"user": pa.array([1, 2]), "item": pa.array(["tea", "rye"]), "place": pa.array(["F", "M"])}
OTHERS = {"item": pa.array([None, None]), "place": pa.array([None, None]), "user": pa.array([None, None])}


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


ROWS = {"csv": b"item,n\ntea,1\n", "jsonl": b'{"item": "tea", "n": 1}\n'}
OPTIONS: dict[str, Any] = {"user": "user", "item": "item", "items": ["rye", "tea"]}


def _written(folder: Path, files: dict[bytes, bytes]) -> str:
    for name, content in files.items():
        path = os.path.join(os.fsencode(folder), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(os.fsdecode(path)).write_bytes(content)
    return str(folder)


def _by_user(folder: Path, users: list[bytes], ending: str = "csv") -> EventLog:
    files = {b"user=" + user + b"/part." + ending.encode(): ROWS[ending] for user in users}
    return hc.read_events(_written(folder, files), **OPTIONS)


@pytest.mark.parametrize("ending", ROWS)
@pytest.mark.parametrize("user", [b"x=y", b"0=0", b"=", b"a=", b"x=y=z"])
def test_the_name_of_a_user_may_hold_equals_signs(user: bytes, ending: str, tmp_path: Path) -> None:
    log = _by_user(tmp_path, [b"ann", b"bob", user], ending)
    assert exact_items(log) == {"tea": 3}


@pytest.mark.parametrize("ending", ROWS)
def test_rows_in_a_folder_whose_name_is_not_utf8_are_missing(ending: str, tmp_path: Path) -> None:
    log = _by_user(tmp_path, [b"ann", b"bob", b"\xff"], ending)
    assert exact_items(log) == {"tea": 2}
    pattern = hc.read_events(f"{tmp_path}/user=*/part.{ending}", **OPTIONS)
    assert exact_items(pattern) == {"tea": 2}


@pytest.mark.parametrize("user", [b"a", b"zed"])
@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_an_empty_file_of_several_has_no_rows(user: bytes, content: bytes, tmp_path: Path) -> None:
    _written(tmp_path, {b"user=" + user + b"/part.csv": content})
    log = _by_user(tmp_path, [b"bob", b"cyd"])
    assert exact_items(log) == {"tea": 2}
    assert log.source.names == ["item", "n", "user"]


def test_a_single_empty_file_and_several_empty_ones_are_refused(tmp_path: Path) -> None:
    log = _written(tmp_path, {b"one.csv": b"", b"two.csv": b""})
    for events in (f"{log}/one.csv", log):
        with pytest.raises(DataError, match="is empty"):
            hc.read_events(events, **OPTIONS)


@pytest.mark.parametrize("ending", ROWS)
@pytest.mark.parametrize("place", [b"a", b"zed"])
def test_a_file_without_a_folder_of_a_user_has_no_user(place: bytes, ending: str, tmp_path: Path) -> None:
    _written(tmp_path, {place + b"/part." + ending.encode(): ROWS[ending]})
    assert exact_items(_by_user(tmp_path, [b"bob", b"cyd"], ending)) == {"tea": 2}


def test_without_a_header_a_folder_of_another_user_says_nothing_of_a_numbered_column(tmp_path: Path) -> None:
    _written(
        tmp_path,
        {b"2=rye/part.csv": b"ann,tea\n", b"plain/part.csv": b"bob,tea\n", b"at=1/part.csv": b"cyd,tea\n"},
    )
    log = hc.read_events(str(tmp_path), header=False, **(OPTIONS | {"user": "1", "item": "2"}))
    assert exact_items(log) == {"rye": 1, "tea": 2}


def test_a_context_of_a_folder_may_hold_equals_signs(tmp_path: Path) -> None:
    rows = b"user,item\nann,tea\n"
    files = {b"place=" + place + b"/part.csv": rows for place in (b"F", b"0=0", b"\xff")} | {b"x.csv": rows}
    log = hc.read_events(_written(tmp_path, files), context="place", contexts="F,0=0", **OPTIONS)
    assert exact_edges(log) == {("tea", "F"): 1, ("tea", "0=0"): 1, ("tea", None): 1}
