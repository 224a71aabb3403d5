"""Which rows count: comparisons of every type, time windows, and rows that stand for several records."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headcount.errors import DataError, UsageError
from headcount.events.conditions import read_condition

Count = Callable[..., dict[str, int]]

MOMENT = datetime(2026, 3, 6, 12, tzinfo=UTC)
COLUMNS: dict[str, pa.Array] = {
    "text": pa.array(["3", "10", "b", None]),
    "digits": pa.array(["3", "10", "4.0", None]).dictionary_encode(),
    "views": pa.array(["3", "10", "4.0", None], pa.string_view()),
    "int8": pa.array([3, 10, 4, None], pa.int8()),
    "uint64": pa.array([3, 2**64 - 1, 4, None], pa.uint64()),
    "big": pa.array([2**53, 2**53 + 1, 2**63 - 1, None]),
    "float": pa.array([3.0, 10.5, float("nan"), None]),
    "decimal": pa.array([Decimal("3.10"), Decimal("10.00"), Decimal("4.00"), None]),
    "bool": pa.array([True, False, True, None]),
    "date": pa.array([date(2026, 3, 5), date(2026, 3, 6), date(2026, 3, 7), None]),
    "time": pa.array([MOMENT, MOMENT.replace(hour=23), MOMENT.replace(day=7), None], pa.timestamp("ns", "UTC")),
    "zurich": pa.array([MOMENT, MOMENT.replace(hour=23), MOMENT, None], pa.timestamp("s", "Europe/Zurich")),
    "wall": pa.array([MOMENT.replace(tzinfo=None), None, None, None], pa.timestamp("ms")),
    "none": pa.nulls(4),
    "a b": pa.array([1, 2, 3, 4]),
}
EVENTS = pa.table({"user": ["u0", "u1", "u2", "u3"], "item": ["0", "1", "2", "3"]} | COLUMNS)


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("text = 3", "0"), ("text == b", "2"), ("text != 3", "12"), ("text > '2'", "02"), ("text < b", "01"),
        ("digits >= 4", "12"), ("digits < 3.5", "0"), ("digits = 4", ""), ("digits = 4.0", "2"),
        ("views >= 4", "12"), ("views = '10'", "1"), ("digits > 1e0", "012"),
        ("int8 = 3", "0"), ("int8 != 3", "12"), ("int8 >= 3.5", "12"), ("int8 < 3.5", "0"), ("int8 = 3.5", ""),
        ("int8 < 300", "012"), ("int8 > -1e3", "012"), ("int8 = 3.0", "0"), ("int8 = 03", "0"), ("int8<=3", "0"),
        ("uint64 > 18446744073709551614", "1"), ("uint64 >= -1", "012"), ("uint64 != 3", "12"),
        ("big > 9007199254740992", "12"), ("big > 9007199254740992.5", "12"), ("big = 9007199254740993", "1"),
        ("float > 3", "1"), ("float != 3", "12"), ("float <= 10.5", "01"),
        ("decimal > 3.1", "12"), ("decimal = 10", "1"),
        ("bool = true", "02"), ("bool != True", "1"),
        ("date >= 2026-03-06", "12"), ("date = '2026-03-05'", "0"),
        ("time >= 2026-03-06T23:00", "12"), ("time >= 2026-03-06T23:00+00:00", "12"), ("time < 2500-01-01", "012"),
        ("time < 2026-03-06T12:00:01Z", "0"), ("zurich >= 2026-03-07", "1"), ("wall = 2026-03-06T12:00", "0"),
        ("none = 1", ""), ("none != 1", ""), ("a b > 3", "3"), (" a b>3 ", "3"),
        (["a b > 1", "a b < 4"], "12"), ([], "0123"),
    ],
)  # fmt: skip
def test_conditions(where: Any, kept: str, items: Count) -> None:
    assert "".join(items(EVENTS, "0,1,2,3", where=where)) == kept


@pytest.mark.parametrize("text", ["", "rating", "rating >=", ">= 4", "rating ~ 4", "a =< 4", "a <> 4", "a = "])
def test_conditions_that_cannot_be_read(text: str) -> None:
    with pytest.raises(UsageError, match="a condition must read COL OP VALUE with =, !=, <, <=, > or >="):
        read_condition(text)


@pytest.mark.parametrize(
    "where",
    ["int8 = three", "int8 = 0x3", "bool = 1", "bool = yes", "date = today", "time > noon", "float > much",
     "wall = 2026-03-06T12:00Z", "big = 1e-30"],
)  # fmt: skip
def test_values_that_do_not_fit_are_refused_before_reading(where: str, items: Count) -> None:
    column, _, value = where.split(" ")
    with pytest.raises(UsageError) as caught:
        items(EVENTS.slice(0, 0), where=where)
    assert str(caught.value).startswith(f"the condition {where!r} compares column {column!r}, which holds ")
    assert f"with {value!r}; correct the value" in str(caught.value)


def test_text_that_is_not_a_number_fulfils_no_comparison_of_numbers(items: Count) -> None:
    table = pa.table({"user": ["a"] * 6, "item": ["rye", "tea", "oat", "fig", "nut", "pea"]})
    table = table.append_column("n", pa.array(["3", "b", None, "", "1e400", " +2.5e0 "]))
    wanted = ["rye", "tea", "oat", "fig", "nut", "pea"]
    assert items(table, wanted, where="n > 2") == {"rye": 1, "pea": 1}
    assert items(table, wanted, where="n <= 2.5") == {"pea": 1}
    assert items(table, wanted, where="n >= '3'") == {"rye": 1, "tea": 1}


@pytest.mark.parametrize(
    ("column", "options", "kept"),
    [
        ("time", {"since": "2026-03-06T23:00"}, "12"),
        ("time", {"until": "2026-03-06T23:00"}, "0"),
        ("time", {"since": "2026-03-06T13:00+01:00", "until": "2026-03-07"}, "01"),
        ("time", {"since": "2026-03-07", "timezone": "Europe/Zurich"}, "12"),
        ("time", {"until": "2900-01-01"}, "012"),
        ("zurich", {"since": "2026-03-07"}, "1"),  # the column's own zone
        ("zurich", {"since": "2026-03-07", "timezone": "UTC"}, ""),
        ("wall", {"since": "2026-03-06T12:00"}, "0"),
        ("wall", {"since": "2026-03-06T11:00+00:00", "timezone": "Europe/Zurich"}, "0"),
        ("wall", {"since": "2026-03-06T12:00+00:00", "timezone": "Europe/Zurich"}, ""),
        ("date", {"since": "2026-03-06", "until": "2026-03-07"}, "1"),
        ("a b", {"since": "1970-01-01T00:00:03", "time_format": "s"}, "23"),
        ("none", {"since": "2026-03-06"}, ""),
    ],
)
def test_time_windows(column: str, options: dict[str, str], kept: str, items: Count) -> None:
    assert "".join(items(EVENTS, "0,1,2,3", time=column, **options)) == kept


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"since": "2026-03-06"}, "--since and --until need a time column; name it with --time COL"),
        ({"time": "time"}, "--time is given without --since or --until; leave it out"),
        ({"time": "time", "since": "noon"}, "--since must be an ISO 8601 time, not 'noon'; for example"),
        ({"time": "time", "since": "2026-03-07", "until": "2026-03-06"}, "is not before --until 2026-03-06"),
        ({"count": "people"}, "--count must be records or users, not 'people'"),
        ({"context_of": "user"}, "--context-of user is given without --context"),
    ],
)
def test_options_that_cannot_be_used(options: dict[str, str], words: str, items: Count) -> None:
    with pytest.raises(UsageError) as caught:
        items(EVENTS, **options)
    assert words in str(caught.value)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.string(), pa.large_string()], ids=str)
def test_rows_that_stand_for_several_records(kind: pa.DataType, items: Count) -> None:
    times = pa.array(["0", "3", "100"]).cast(kind) if kind != pa.int8() else pa.array([0, 3, 100], kind)
    events = pa.table({"user": ["a", "b", "b"], "item": ["rye", "tea", "rye"], "n": times})
    assert items(events, times="n") == {"rye": 100, "tea": 3}
    assert items(events, times="n", count="users") == {"rye": 1, "tea": 1}


@pytest.mark.parametrize(
    "times",
    [
        pa.array([1, -2]),
        pa.array([1, 2**31]),
        pa.array([1, 2**64 - 1], pa.uint64()),
        pa.array(["1", "two"]),
        pa.array(["1", "1.5"]),
        pa.array(["1", str(2**64 + 1)]),
        pa.array(["1", "2"]).dictionary_encode().take(pa.array([0, None], pa.int64())),
        pa.array([1, None]),
        pa.array([1.0, 1.5]),
        pa.array([1.0, float("nan")], pa.float32()),
    ],
)
def test_rows_that_stand_for_nothing_sensible_stand_for_nothing(times: pa.Array, items: Count) -> None:
    table = pa.table({"user": ["a", "b"], "item": ["rye", "tea"], "n": times})
    assert items(table, times="n") == {"rye": 1}
    assert items(table.set_column(2, "n", pa.nulls(2)), times="n") == {}


def test_a_number_of_records_is_declared_to_be_whole(items: Count) -> None:
    table = pa.table({"user": ["a"], "item": ["rye"], "n": pa.array([True])})
    with pytest.raises(DataError, match="column 'n' is to say how many records a row stands for but holds bool"):
        items(table, times="n")


def test_rows_that_share_a_long_text_are_compared_without_writing_it_out() -> None:
    rows, long = 1_100_000, "x" * 2_000  # written out: more bytes than 32-bit offsets reach
    codes = pa.array(np.ones(rows, dtype=np.int32))
    column = pa.DictionaryArray.from_arrays(
        pa.concat_arrays([pa.array([0, None], pa.int32()), codes]), ["tea", long]
    )
    batch = pa.record_batch({"drink": column})
    for text, count in (("drink = tea", 1), ("drink != tea", rows), ("drink < xa", 1), ("drink > 3", 0)):
        condition = read_condition(text)
        assert condition.holds(batch).sum() == count
        assert condition.is_decidable(batch).sum() == (0 if ">" in text else rows + 1)
