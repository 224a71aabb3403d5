"""One person's row changed everybody's: what was found at commit 12b11ba, as it was found."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.bounds import SampleRecords
from headcount.cli.main import main
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog, read_events
from tests.contracts.rows.raw_files import small_batches

SECRET = bytes(range(16))
ZURICH = {"timezone": "Europe/Zurich"}
HOUR = {"context": "hour:when", **ZURICH}
SUMMER = "2040-07-01T12:30:00"
PEOPLE = 2_000


def _file(folder: Path, name: str, rows: Sequence[Mapping[str, object]]) -> str:
    """Write rows in the format that a name says: as text, all of them."""
    path = folder / name
    columns = list(rows[0])
    if name.endswith(".csv"):
        lines = [",".join(columns), *(",".join(str(row[name]) for name in columns) for row in rows)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    elif name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        pq.write_table(pa.table({name: [str(row[name]) for row in rows] for name in columns}), path)
    return str(path)


def _items(log: EventLog) -> list[int]:
    counted: list[int] = LocalEngine().measure(log, SampleRecords(1), SECRET).items.sensitive_values.tolist()
    return counted


def _item_contexts(log: EventLog) -> list[int]:
    counted: list[int] = LocalEngine().measure(log, SampleRecords(1), SECRET).edges.sensitive_values[0].tolist()
    return counted


def _log(path: Any, **options: Any) -> EventLog:
    return read_events(path, user="user", item="item", items="tea,rye", **options)


FILES = ("x.csv", "x.jsonl", "x.parquet")


@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("when", [SUMMER, "2026-03-29T02:30:00"], ids=["2040", "skipped hour"])
def test_one_offset_leaves_the_hours_of_others_alone(when: str, name: str, first: bool, tmp_path: Path) -> None:
    crowd = [{"user": f"a{n}", "item": "tea", "when": when} for n in range(PEOPLE)]
    odd = {"user": "b", "item": "rye", "when": "2026-03-06T10:00:00Z"}
    (tmp_path / "1").mkdir()
    before = _item_contexts(_log(_file(tmp_path, name, crowd), **HOUR))
    after = _item_contexts(_log(_file(tmp_path / "1", name, [odd, *crowd] if first else [*crowd, odd]), **HOUR))
    assert sum(before) == PEOPLE
    assert after == before  # the other person is at another item
    assert when != SUMMER or before[12] == PEOPLE  # as the clock on the wall said


def test_the_same_through_a_store(tmp_path: Path) -> None:
    crowd = [{"user": f"a{n}", "item": "tea", "when": SUMMER} for n in range(50)]
    odd = {"user": "b", "item": "rye", "when": "2026-03-06T10:00:00Z"}
    (tmp_path / "1").mkdir()
    counts = [
        _item_contexts(read_events(hc.pack(_log(_file(folder, "x.csv", rows), **HOUR), folder / "store")))
        for folder, rows in ((tmp_path, crowd), (tmp_path / "1", [odd, *crowd]))
    ]
    assert counts[0] == counts[1]
    assert sum(counts[0]) == 50


@pytest.mark.parametrize("name", FILES)
def test_one_offset_leaves_the_window_of_others_alone(name: str, tmp_path: Path) -> None:
    """In Zurich 12:30 in summer is 10:30 in UTC, or 11:30 by the other way."""
    crowd = [
        {"user": f"a{n}", "item": "tea" if n % 2 else "rye", "when": SUMMER if n % 2 else "2040-07-01T13:30:00"}
        for n in range(PEOPLE)
    ]
    odd = {"user": "b", "item": "rye", "when": "2026-03-06T10:00:00Z"}
    window = {"time": "when", "since": "2040-07-01T11:00:00+00:00", **ZURICH}
    (tmp_path / "1").mkdir()
    before = _items(_log(_file(tmp_path, name, crowd), **window))
    after = _items(_log(_file(tmp_path / "1", name, [odd, *crowd]), **window))
    assert after == before
    assert before[1] == PEOPLE // 2


@pytest.mark.parametrize("name", FILES)
def test_one_fraction_leaves_the_times_of_others_alone(name: str, tmp_path: Path) -> None:
    """One microsecond before an hour that floating point cannot tell from it."""
    hour = 3_600_000_000 * 10_000_008
    crowd: list[Mapping[str, object]] = [{"user": f"a{n}", "item": "tea", "when": hour - 1} for n in range(100)]
    odd = {"user": "b", "item": "rye", "when": "0.5"}
    options = {"context": "hour:when", "time_format": "us"}
    (tmp_path / "1").mkdir()
    before = _item_contexts(_log(_file(tmp_path, name, crowd), **options))
    after = _item_contexts(_log(_file(tmp_path / "1", name, [odd, *crowd]), **options))
    assert after == before
    assert before[23] == 100


# Released types


def _released_schemas(events: Any, folder: Path, **flags: Any) -> dict[str, str]:
    log = read_events(events, user="user", item="item", **flags)
    spend: dict[str, Any] = {"delta": "1e-6"} if flags.get("select_items") else {}
    hc.release(log, epsilon="20", method="sra", limit=2, **spend).save(folder)
    return {path.name: str(pq.read_schema(path)) for path in folder.rglob("*.parquet")}


@pytest.mark.parametrize("flags", [{"items": "7,9"}, {"items": [7, 9]}, {"select_items": True}], ids=str)
def test_no_row_decides_the_released_types_of_json_lines(flags: Mapping[str, Any], tmp_path: Path) -> None:
    crowd: list[Mapping[str, object]] = [{"user": f"a{n}", "item": 7 + n % 2 * 2} for n in range(200)]
    schemas = []
    odds: tuple[list[Mapping[str, object]], ...] = (
        [],
        [{"user": "b", "item": "tea"}],
        [{"user": "b", "item": 0.5}],
    )
    for number, odd in enumerate(odds):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = _file(folder, "x.jsonl", [*odd, *crowd])
        schemas.append(_released_schemas(path, folder / "out", **flags))
    assert schemas[0] == schemas[1] == schemas[2]


@pytest.mark.parametrize("flags", [{"items": "7,9"}, {"select_items": True}], ids=str)
def test_no_row_decides_the_released_types_of_objects(flags: Mapping[str, Any], tmp_path: Path) -> None:
    """Such a column is read value by value, or refused for its type whatever it holds."""
    import pandas as pd

    outcomes: list[object] = []
    odds: tuple[object, ...] = (7, "tea", 0.5, None)
    for number, odd in enumerate(odds):
        listed: list[Any] = [*(7 + n % 2 * 2 for n in range(200)), odd]
        items = pd.Series(listed, dtype=object)
        users = pd.Series([f"a{n}" for n in range(201)], dtype=object)
        try:
            frame = pd.DataFrame({"user": users, "item": items})
            outcomes.append(_released_schemas(frame, tmp_path / str(number), **flags))
        except hc.HeadcountError as error:
            outcomes.append(type(error))
    assert all(outcome == outcomes[0] for outcome in outcomes), outcomes


# Refusals: `tests/contracts/test_success.py` has every command and field; this is the careless user of the issue


@pytest.mark.parametrize("name", FILES)
def test_one_invalid_rating_stops_no_release(name: str, tmp_path: Path) -> None:
    rows: list[Mapping[str, object]] = [{"user": f"a{n}", "item": "tea", "stars": 1 + n % 5} for n in range(300)]
    path = _file(tmp_path, name, [*rows, {"user": "b", "item": "tea", "stars": "five"}])
    totals = ("release", path, "--user", "user", "--item", "item", "--what", "totals", "--limit", "2")
    model = ("neighbours", "fit", path, "--user", "user", "--item", "item", "--items", "tea,rye")
    for number, command in enumerate((totals, model)):
        value = ("--value", "stars", "--value-range", "1,5", "--epsilon", "1")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as captured:
            assert main([*command, *value, "--out", str(tmp_path / str(number))]) == 0, captured.getvalue()


# Quotes


STRAY = ('x,"tea', 'x,te"a', 'x,tea"', '"x,tea', 'x,"tea"rye', 'x,""tea', '"', 'x,"', '"x', 'x,"tea\\"')


@pytest.mark.parametrize("small", [False, True], ids=["whole", "small blocks"])
@pytest.mark.parametrize("line", STRAY)
def test_a_stray_quote_drops_no_other_row(line: str, small: bool, tmp_path: Path) -> None:
    rows = [f"a{n},tea" for n in range(1_000)]
    for number, lines in enumerate(([line, *rows], [*rows[:500], line, *rows[500:]], [*rows, line])):
        path = tmp_path / f"{number}.csv"
        path.write_text("\n".join(["user,item", *lines]) + "\n", encoding="utf-8")
        with small_batches() if small else contextlib.nullcontext():
            tea, rye = _items(_log(str(path)))
        assert tea in (1_000, 1_001), "the rows of others are gone"  # 1,001: its own text was taken as it stands
        assert rye == 0


def test_quotes_that_are_closed_hold_delimiters(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('user,item\n"a,1","tea"\n"a ""2""",tea\n"a,1",rye\n', encoding="utf-8")
    counted = LocalEngine().measure(_log(str(path)), SampleRecords(5), SECRET).items.sensitive_values
    assert counted.tolist() == [2, 1]
    assert sum(_items(_log(str(path)))) == 2  # of two people, one record each


def test_a_first_row_does_not_decide_how_a_file_without_header_is_read(tmp_path: Path) -> None:
    rows = [f"a{n},tea" for n in range(100)]
    for number, line in enumerate(("b", "b,tea,x,y", "", "\ufeffb,tea", '"b,tea', "\0")):
        path = tmp_path / f"{number}.csv"
        path.write_text("\n".join([line, *rows]) + "\n", encoding="utf-8")
        log = read_events(str(path), user="1", item="2", items="tea,rye", header=False)
        assert _items(log)[0] in (100, 101), repr(line)
