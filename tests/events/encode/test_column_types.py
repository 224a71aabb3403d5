"""Ids in a column of fractions, as data frames make of whole numbers with gaps: each is read by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.bounds import SampleRecords
from headcount.engines.local.engine import LocalEngine
from headcount.errors import DataError
from tests.reference.engine import ReferenceEngine

NONE = (7.5, math.nan, math.inf, -math.inf, 2.0**53, -(2.0**60), 1e300)
"""What is no whole number, or one that others may have been rounded to."""
SECRET = bytes(16)
Rows = Sequence[tuple[float | None, float | None]]


def _table(rows: Rows, kind: pa.DataType | None = None) -> pa.Table:
    users, items = zip(*rows, strict=True)
    kind = kind or pa.float64()
    return pa.table({"user": pa.array(users, kind), "item": pa.array(items, kind)})


def _parquet(rows: Rows, folder: Path) -> Any:
    pq.write_table(_table(rows), folder / "rows.parquet")
    return folder / "rows.parquet"


def _packed(rows: Rows, folder: Path) -> Any:
    return hc.pack(hc.read_events(_table(rows), user="user", item="item", items=[1, 2]), folder / "store")


SOURCES: dict[str, Callable[[Rows, Path], Any]] = {
    "arrow": lambda rows, _: _table(rows),
    "32 bits": lambda rows, _: _table([row for row in rows if 1e300 not in row], pa.float32()),
    "codes": lambda rows, _: pa.table({name: column.dictionary_encode() for name, column in _named(_table(rows))}),
    "pandas": lambda rows, _: pd.DataFrame(rows, columns=["user", "item"], dtype="float64"),
    "polars": lambda rows, _: pl.DataFrame(rows, schema={"user": pl.Float64, "item": pl.Float64}, orient="row"),
    "parquet": _parquet,
    "packed": _packed,
}


def _named(table: pa.Table) -> list[tuple[str, Any]]:
    return list(zip(table.column_names, table.columns, strict=True))


def _counts(events: Any, engine: Any = None) -> list[int]:
    stored = isinstance(events, Path) and events.is_dir()
    log = hc.read_events(events) if stored else hc.read_events(events, user="user", item="item", items=[1, 2])
    measured = (engine or LocalEngine()).measure(log, SampleRecords(1), SECRET)
    return [int(value) for value in measured.items.sensitive_values]


SOUND: Rows = [(float(10 + n), 1.0 + n % 2) for n in range(9)]
ODD: Rows = [*((odd_id, 1.0) for odd_id in (None, *NONE)), *((20.0, odd_id) for odd_id in (None, *NONE))]


@pytest.mark.parametrize("kind", SOURCES)
def test_what_is_no_whole_number_is_not_counted_and_moves_nothing_else(kind: str, tmp_path: Path) -> None:
    whole = _counts(pa.table({name: column.cast(pa.int64()) for name, column in _named(_table(SOUND))}))
    assert whole == [5, 4]
    for number, rows in enumerate(([*SOUND, *ODD], [*ODD, *SOUND], SOUND)):
        (tmp_path / str(number)).mkdir()
        assert _counts(SOURCES[kind](rows, tmp_path / str(number))) == whole


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_every_row_is_read_independently_of_the_others(kind: str, tmp_path: Path) -> None:
    """A column in which nobody wrote a whole number is read as any other: whether it succeeds is not for rows."""
    for number, odd in enumerate(NONE):
        (tmp_path / str(number)).mkdir()
        assert _counts(SOURCES[kind]([(odd, 1.0)], tmp_path / str(number))) == [0, 0]
        assert _counts(SOURCES[kind]([(odd, 1.0), (3.0, 2.0)], tmp_path / str(number))) == [0, 1]


def test_draws_are_those_of_the_whole_number() -> None:
    many: Rows = [(float(who), float(item)) for who in range(40) for item in (1, 2)]
    whole = pa.table({name: column.cast(pa.int64()) for name, column in _named(_table(many))})
    for engine in (LocalEngine(), ReferenceEngine()):
        assert _counts(_table(many), engine) == _counts(whole, engine)


def test_items_can_be_selected_and_are_whole_in_the_release() -> None:
    table = _table([(float(n), 7.0) for n in range(300)] + [(1.0, 7.5)])
    log = hc.read_events(table, user="user", item="item", select_items=True)
    release = hc.release(log, epsilon=10, delta=1e-6)
    assert release.items["item"].to_pylist() == [7]
    assert release.items["item"].type == pa.int64()


def test_groups_and_listed_values_of_queries() -> None:
    people = pd.DataFrame({"id": range(60), "home": [1.0, 2.0, np.nan] * 20, "kind": [1.0, 2.5, 2.0] * 20})
    log = hc.read_people(people, user="id")
    statement = "SELECT kind, COUNT(*) FROM people GROUP BY kind"
    bins = {"kind": {"values": [1, 2]}}
    result = hc.query(log, statement, epsilon=900, bins=bins, groups="home", max_group=30)
    assert [round(answer) for answer in result.answers["answer"].to_pylist()] == [20, 20]


def test_a_check_says_which_are_not_counted() -> None:
    report = hc.check(hc.read_events(_table([*SOUND, *ODD]), user="user", item="item", items=[1, 2]))
    numbers = {problem.what: problem.number for problem in report.problems}
    assert numbers["a user that is no whole number, in column 'user'"] == len(NONE)
    assert numbers["no user in column 'user'"] == 1
    assert report.records == len(SOUND)


def test_a_condition_sees_the_whole_number() -> None:
    log = hc.read_events(_table([*SOUND, *ODD]), user="user", item="item", items=[1, 2], where="user >= 14.5")
    assert [
        int(value) for value in LocalEngine().measure(log, SampleRecords(1), SECRET).items.sensitive_values
    ] == [2, 2]


def test_other_types_are_refused_still() -> None:
    with pytest.raises(DataError, match="ids are text or whole numbers"):
        hc.read_events(pa.table({"user": [True], "item": [1]}), user="user", item="item", items=[1])
