"""Contexts: columns of any type, several columns, and the weekday, hour and month of times."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from headcount.errors import DataError, UsageError
from headcount.events.contexts import hour, month, weekday
from headcount.events.log import read_events

Edges = Callable[..., dict[tuple[str, str | None], int]]


def table(column: pa.Array, **others: Any) -> pa.Table:
    rows = len(column)
    return pa.table({"user": [f"u{row}" for row in range(rows)], "item": ["tea"] * rows, "c": column} | others)


def labels(counted: dict[tuple[str, str | None], int]) -> dict[str | None, int]:
    return {label: count for (_, label), count in counted.items()}


COLUMNS: list[tuple[pa.Array, Any]] = [
    (pa.array(["a", "b", "z", None]), "a,b"),
    (pa.array(["a", "b", "z", None]).dictionary_encode(), ["a", "b"]),
    (pa.array(["a", "b", "z", None], pa.string_view()), ["a", "b"]),
    (pa.array(["a", "b", "z", None], pa.large_string()), "a, b"),
    (pa.array([1, 2, 9, None], pa.int8()), "1,2"),
    (pa.array([1, 2, 9, 8], pa.int8()), "1,2"),
    (pa.array([1, 2, 9, None], pa.uint64()), [1, 2]),
    (pa.array([2**64 - 1, 2, 9, 2**63], pa.uint64()), [2**64 - 1, 2]),
    (pa.array([1, 2, 9, None]).dictionary_encode(), [1, 2]),
    (pa.array([-1, 60_000_000, 9, 8]), "-1,60000000"),
    (pa.array([1.5, 2.0, 9.0, None]), "1.5,2"),
    (pa.array([date(2026, 3, 6), date(2026, 3, 7), date(2026, 3, 8), None]), "2026-03-06,2026-03-07"),
]


@pytest.mark.parametrize(("column", "contexts"), COLUMNS)
def test_one_column_of_any_type(column: pa.Array, contexts: Any, edges: Edges) -> None:
    first, second = contexts.replace(" ", "").split(",") if isinstance(contexts, str) else map(str, contexts)
    counted = labels(edges(table(column), "tea", context="c", contexts=contexts))
    assert counted == {first: 1, second: 1, None: 2}


@pytest.mark.parametrize("contexts", ["true,false", ["True", "False"], [True, False]])
def test_yes_and_no(contexts: Any, edges: Edges) -> None:
    column = pa.array([True, False, None])
    counted = labels(edges(table(column), "tea", context="c", contexts=contexts))
    assert {str(label).lower(): count for label, count in counted.items()} == {"true": 1, "false": 1, "none": 1}


def test_several_columns_are_joined(edges: Edges) -> None:
    events = table(pa.array(["M", "F", None, "M", "M"]), d=pa.array([1, 2, 1, 9, 1], pa.int8()))
    expected = {"M|1": 2, "F|2": 1, None: 2}
    for contexts in ({"c": "F,M", "d": [1, 2]}, ["c=F,M", "d=1,2"], ("d=1,2", "c=F, M")):
        assert labels(edges(events, "tea", context="c,d", contexts=contexts)) == expected
    assert labels(edges(events, "tea", context=["c", "d"], contexts={"c": ["F", "M"], "d": "1,2"})) == expected


def test_ways_to_write_one_column(edges: Edges) -> None:
    events = table(pa.array(["a", "b=1", "x"]))
    assert labels(edges(events, "tea", context="c", contexts="c=a,b=1")) == {"a": 1, "b=1": 1, None: 1}
    assert labels(edges(events, "tea", context="c", contexts=["c=a,x"])) == {"a": 1, "x": 1, None: 1}
    assert labels(edges(events, "tea", context="c", contexts=["a,x"])) == {"a": 1, "x": 1, None: 1}
    assert labels(edges(events, "tea", context="c", contexts=["b=1", "x"])) == {"b=1": 1, "x": 1, None: 1}
    assert labels(edges(events, "tea", context="c", contexts={"a": 0, "x": 1}.keys() | set())) == {
        "a": 1, "x": 1, None: 1,
    }  # fmt: skip


def test_contexts_partition_users(edges: Edges) -> None:
    events = pa.table({"user": ["ann"] * 4 + ["bob"], "item": ["tea"] * 5, "c": ["a", "b", "b", None, None]})
    counted = edges(events, "tea", context="c", contexts="a,b", context_of="user")
    assert counted == {("tea", "b"): 2, ("tea", None): 1}
    counted = edges(events, "tea", context="c", contexts="a,b", context_of="user", count="users")
    assert counted == {("tea", "b"): 1, ("tea", None): 1}


@pytest.mark.parametrize(
    ("context", "contexts", "words"),
    [
        ("c", None, "the values of context column 'c' must be public; list them with --contexts A,B,C"),
        ("c,d", "c=1,2", "the values of context column 'd' must be public; list them with --contexts d=A,B,C"),
        ("day:c", None, "or use weekday:c, hour:c or month:c"),
        ("weekday:c", "1,2", "the values of 'weekday:c' are known by themselves; leave out --contexts"),
        (None, "1,2", "--contexts is given without --context; name the column"),
        ("c", "1,,2", "hold an empty value"),
        ("c", [], "hold an empty value"),
        ("c", "1,2,1", "list '1' twice; remove one of them"),
        ("c,d", ["c=1|2", "d=3"], r"the context '1\|2' contains '\|', which joins"),
        ("c,d", ["c=1", "c=2"], "lists a column twice"),
        ("c", {"e": "1"}, "--contexts names 'e', which is not a context column; the context columns are c"),
        ("c,c", "1", "names a column twice"),
        ("c,", "1", "must name one or several columns"),
        ([], "1", "must name one or several columns"),
    ],
)
def test_contexts_that_cannot_be_used(context: Any, contexts: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_events(
            table(pa.array([1])), user="user", item="item", items="tea", context=context, contexts=contexts
        )


@pytest.mark.parametrize("value", ["007", "+1", "1.0", "0x1", "a", "128", "１", "--"])
def test_contexts_are_cast_exactly(value: str) -> None:
    words = f"the context {value!r} cannot be a value of column 'c', which holds int8; correct --contexts"
    with pytest.raises(DataError) as caught:
        read_events(
            table(pa.array([1], pa.int8())), user="user", item="item", items="tea", context="c", contexts=[value]
        )
    assert str(caught.value) == words


def test_too_many_cells_are_refused_before_they_are_listed() -> None:
    events = table(pa.array(["1"]), d=pa.array(["1"]), e=pa.array(["1"]))
    many = [str(number) for number in range(3000)]
    with pytest.raises(UsageError, match=r"1 items × 27,000,000,001 contexts .* cells, more than 200,000,000"):
        read_events(
            events, user="user", item="item", items="tea", context="c,d,e", contexts=dict.fromkeys("cde", many)
        )


FRIDAY = datetime(2026, 3, 6, 23, 30, tzinfo=UTC)  # Saturday, 00:30, in Zurich
EPOCH = int(FRIDAY.timestamp())
MOMENTS: dict[str, tuple[pa.Array, dict[str, Any]]] = {
    **{
        f"{unit} {zone}": (pa.array([FRIDAY, None], pa.timestamp(unit, zone)), {})
        for unit in ("s", "ms", "us", "ns")
        for zone in ("UTC", "America/New_York", "+02:00")
    },
    "ISO text with Z": (pa.array(["2026-03-06T23:30:00Z", None]), {}),
    "ISO text with an offset": (pa.array(["2026-03-07 00:30:00+01:00", None]).dictionary_encode(), {}),
    "ISO text with nanoseconds": (pa.array(["2026-03-06T23:30:00.123456789Z", None]), {}),
    "seconds": (pa.array([EPOCH, None]), {"time_format": "s"}),
    "seconds as text": (pa.array([str(EPOCH), None]), {"time_format": "s"}),
    "seconds with a fraction": (pa.array([EPOCH + 0.75, None]), {"time_format": "s"}),
    "seconds with a fraction as text": (pa.array([f"{EPOCH}.75", None]), {"time_format": "s"}),
    "not a number": (pa.array([float(EPOCH), float("nan")]), {"time_format": "s"}),
    "milliseconds": (pa.array([EPOCH * 1000, None]), {"time_format": "ms"}),
    "microseconds": (pa.array([EPOCH * 10**6, None]), {"time_format": "us"}),
    "minutes": (pa.array([EPOCH // 60, None]), {"time_format": "min@1970-01-01T00:00Z"}),
    "few minutes": (pa.array([30, None], pa.int8()), {"time_format": "min@2026-03-07T00:00+01:00"}),
    "pattern": (pa.array(["06.03.2026 23:30 +0000", None]), {"time_format": "%d.%m.%Y %H:%M %z"}),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_instants_are_shown_in_the_requested_time_zone(name: str, edges: Edges) -> None:
    column, options = MOMENTS[name]
    for part, expected in (("weekday", "Saturday"), ("hour", "0"), ("month", "March")):
        counted = edges(table(column), "tea", context=f"{part}:c", timezone="Europe/Zurich", **options)
        assert labels(counted) == {expected: 1, None: 1}


@pytest.mark.parametrize(("zone", "day", "of_day"), [("UTC", "Friday", "23"), ("Europe/Zurich", "Saturday", "0")])
def test_a_column_keeps_its_own_zone(zone: str, day: str, of_day: str, edges: Edges) -> None:
    events = table(pa.array([FRIDAY], pa.timestamp("ms", zone)))
    assert labels(edges(events, "tea", context=weekday("c"))) == {day: 1}
    assert labels(edges(events, "tea", context=hour("c"))) == {of_day: 1}
    assert labels(edges(events, "tea", context=month("c"))) == {"March": 1}


WALL: dict[str, tuple[pa.Array, dict[str, Any]]] = {
    **{
        unit: (pa.array([FRIDAY.replace(tzinfo=None)], pa.timestamp(unit)), {}) for unit in ("s", "ms", "us", "ns")
    },
    "ISO text": (pa.array(["2026-03-06T23:30"]), {}),
    "ISO text without T": (pa.array(["2026-03-06 23:30:00.5"]), {}),
    "pattern": (pa.array(["23h30 6/3/26"]), {"time_format": "%Hh%M %d/%m/%y"}),
}


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
@pytest.mark.parametrize("name", WALL)
def test_times_without_a_zone_are_wall_clock_times(name: str, zone: str | None, edges: Edges) -> None:
    column, options = WALL[name]
    assert labels(edges(table(column), "tea", context="weekday:c", timezone=zone, **options)) == {"Friday": 1}
    assert labels(edges(table(column), "tea", context="hour:c", timezone=zone, **options)) == {"23": 1}


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()], ids=str)
def test_dates(kind: pa.DataType, edges: Edges) -> None:
    events = table(pa.array([date(2026, 3, 6), None], kind))
    assert labels(edges(events, "tea", context="weekday:c")) == {"Friday": 1, None: 1}
    with pytest.raises(DataError, match="column 'c' holds dates, which have no hour; use weekday: or month:"):
        edges(events, "tea", context="hour:c")


def test_clocks_that_change(edges: Edges) -> None:
    spring = [datetime(2026, 3, 29, 0, 30, tzinfo=UTC), datetime(2026, 3, 29, 1, 30, tzinfo=UTC)]
    autumn = [datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)]
    events = table(pa.array(spring + autumn, pa.timestamp("us", "UTC")))
    counted = labels(edges(events, "tea", context="hour:c", timezone="Europe/Zurich"))
    assert counted == {"1": 1, "3": 1, "2": 2}


def test_times_with_and_without_an_offset_may_be_mixed(edges: Edges) -> None:
    events = table(pa.array(["2026-03-06T23:30", "2026-03-06T23:30Z", "2026-03-06"]))
    counted = labels(edges(events, "tea", context="hour:c", timezone="Europe/Zurich"))
    assert counted == {"23": 1, "0": 2}


def test_an_origin_without_a_zone_is_in_the_zone_in_use(edges: Edges) -> None:
    events = table(pa.array([61]))
    counted = edges(events, "tea", context="hour:c", time_format="min@2026-03-06", timezone="Asia/Tokyo")
    assert labels(counted) == {"1": 1}


@pytest.mark.parametrize(
    ("column", "options", "words"),
    [
        (pa.array([1]), {}, "column 'c' holds bare numbers where times are needed; give --time-format s, ms, us"),
        (pa.array([1.0]), {"time_format": "%Y"}, "column 'c' holds bare numbers where times are needed"),
        (pa.array([True]), {}, "column 'c' holds bool where times are needed"),
    ],
)
def test_columns_that_hold_no_times(column: pa.Array, options: dict[str, Any], words: str, edges: Edges) -> None:
    with pytest.raises(DataError) as caught:
        edges(table(column), "tea", context="weekday:c", **options)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("odd", "good", "options"),
    [
        ("1772839800", "2026-03-06", {}),
        ("2026", "2026-03-06", {}),
        ("6.3.26", "2026-03-06", {}),
        ("2026-13-01", "2026-03-06", {}),
        ("2026-02-29", "2026-03-06", {}),
        ("2026-03-06T24:00", "2026-03-06", {}),
        ("", "2026-03-06", {}),
        ("٢٠٢٦-٠٣-٠٦", "2026-03-06", {}),
        ("6.3.26", "6.3.2026", {"time_format": "%d.%m.%Y"}),
        ("soon", "1772798400", {"time_format": "s"}),
        (str(2**62), "1772798400", {"time_format": "s"}),
        ("1e300", "1772798400000", {"time_format": "ms"}),
        (2**62, 1772798400, {"time_format": "s"}),
        (1e300, 1772798400000.0, {"time_format": "ms"}),
        (float("nan"), 1772798400000.0, {"time_format": "ms"}),
    ],
)
def test_a_time_that_cannot_be_read_is_unknown(odd: Any, good: Any, options: dict[str, Any], edges: Edges) -> None:
    counted = edges(table(pa.array([odd, good])), "tea", context="weekday:c", **options)
    assert labels(counted) == {None: 1, "Friday": 1}


def test_timestamps_beyond_the_calendar_are_unknown(edges: Edges) -> None:
    for unit in ("s", "ms", "us"):
        column = pa.array([2**62, 0], pa.int64()).cast(pa.timestamp(unit))
        assert labels(edges(table(column), "tea", context="weekday:c")) == {None: 1, "Thursday": 1}
        kept = edges(table(column), "tea", context="weekday:c", time="c", since="0001-01-01", until="9999-12-31")
        assert labels(kept) == {"Thursday": 1}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"time_format": "soon"}, "--time-format must be s, ms, us, min@ORIGIN or a strptime pattern, not 'soon'"),
        ({"time_format": "%Q"}, "--time-format must be"),
        ({"time_format": "100%"}, "--time-format must be"),
        ({"time_format": ""}, "--time-format must be"),
        ({"time_format": "min@noon"}, "the origin in --time-format min@ORIGIN must be an ISO 8601 time, not"),
        ({"timezone": "Zurich"}, "unknown time zone, not 'Zurich'; for example Europe/Zurich"),
        ({"timezone": "Europe"}, "unknown time zone"),
        ({"timezone": ""}, "unknown time zone"),
        ({"timezone": "../../etc/passwd"}, "unknown time zone"),
        ({"time_format": "s"}, "--time-format s does not fit column 'c', which holds timestamp[us, tz=UTC]"),
    ],
)
def test_time_options_that_cannot_be_used(options: dict[str, str], words: str, edges: Edges) -> None:
    with pytest.raises(UsageError) as caught:
        edges(table(pa.array([FRIDAY])), "tea", context="weekday:c", **options)
    assert words in str(caught.value)


@pytest.mark.parametrize("option", ["time_format", "timezone"])
def test_time_options_without_a_time_are_refused(option: str, edges: Edges) -> None:
    given = {"time_format": "s", "timezone": "Europe/Zurich"}[option]
    with pytest.raises(UsageError, match=f"--{option.replace('_', '-')} is given, but no time is read"):
        edges(table(pa.array(["a"])), "tea", context="c", contexts="a", **{option: given})
