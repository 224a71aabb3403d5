"""Every Arrow type in every role: refused by the type alone and before a charge, or read row by row.

An array holds sound values, missing ones and values that a type should not hold: a ``date64`` with a time of day,
a decimal beyond its precision, a code without an entry. A row means the same alone, among others and in any
batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headcount.errors import CallerError
from headcount.events.encode.cells import check_table
from headcount.events.encode.passes import EncodedLog, Reading
from headcount.events.grid import Grid
from headcount.events.inspect.scan import scan
from headcount.events.log import EventLog, read_events
from headcount.events.selection_targets import CONTEXTS
from headcount.events.user_table import read_people

DAY = 86_400_000
FIRST, LAST = -(2**63), 2**63 - 1
Rows = Counter[tuple[object, ...]]


def stored(values: Sequence[int | None], width: pa.DataType, kind: pa.DataType) -> pa.Array:
    """Return an array of a type whose values are stored as the given numbers, allowed or not."""
    return pa.array(values, width).view(kind)


def decimals(kind: pa.DataType) -> pa.Array:
    """Return decimals, the third of which has more digits than their type allows."""
    raw = [
        None if number is None else number.to_bytes(kind.byte_width, "little") for number in (700, 50, 10**8, None)
    ]
    return pa.array(raw, pa.binary(kind.byte_width)).view(kind)


def texts(kind: pa.DataType) -> pa.Array:
    """Return texts, one of which is no UTF-8."""
    raw = pa.array([b"7", b"tea", b"", b"2026-03-06", b"\xff\xfe, which is longer than a view", None])
    if pa.types.is_string_view(kind):
        return raw.cast(pa.binary_view()).view(kind)
    return raw.cast(pa.large_binary()).view(kind) if pa.types.is_large_string(kind) else raw.view(kind)


def codes(entries: pa.Array, width: pa.DataType = pa.int32()) -> pa.Array:  # noqa: B008
    """Return a dictionary column with codes that stand for no entry."""
    least = -1 if pa.types.is_signed_integer(width) else 100
    return pa.DictionaryArray.from_arrays(pa.array([0, 1, 99, least, None], width), entries, safe=False)


def masked_codes() -> pa.Array:
    """Return a dictionary column with a code beyond its entries in a row that is missing."""
    held = [pa.py_buffer(bytes([0b011])), pa.py_buffer(np.array([0, 1, 10**6], dtype=np.int32).tobytes())]
    return pa.DictionaryArray.from_arrays(
        pa.Array.from_buffers(pa.int32(), 3, held), pa.array(["7", "tea"]), safe=False
    )


WHOLE = {str(kind): kind for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64())}
FRACTIONS = {str(kind): kind for kind in (pa.float16(), pa.float32(), pa.float64())}
STAMPS = [pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "Europe/Zurich")]
MOMENTS = [20_518, 20_518 * DAY, 20_518 * DAY + 1, 1_772_791_200, FIRST, LAST, None]
RUNS = pa.array([1, 2, 3], pa.int32())

ARRAYS: Mapping[str, pa.Array] = {
    "null": pa.nulls(2),
    "bool": pa.array([True, False, None]),
    **{name: pa.array([7, 1, 0, 127, None], kind) for name, kind in WHOLE.items()},
    "int64, extremes": pa.array([7, FIRST, LAST, None]),
    "uint64, extremes": pa.array([7, 2**64 - 1, 2**63, None], pa.uint64()),
    **{name: pa.array([7.0, 0.5, -0.0, 6e4, np.nan, np.inf, None], kind) for name, kind in FRACTIONS.items()},
    **{
        str(kind): decimals(kind)
        for kind in (pa.decimal32(4, 2), pa.decimal64(4, 2), pa.decimal128(4, 2), pa.decimal256(4, 2))
    },
    **{str(kind): texts(kind) for kind in (pa.string(), pa.large_string(), pa.string_view())},
    **{
        str(kind): pa.array([b"7", b"tea", b"", b"\xff", None], kind)
        for kind in (pa.binary(), pa.large_binary(), pa.binary_view())
    },
    "fixed_size_binary": pa.array([b"7  ", b"tea", None], pa.binary(3)),
    "date32": stored([20_518, 0, -(2**31), 2**31 - 1, None], pa.int32(), pa.date32()),
    "date64": stored([20_518 * DAY, 20_518 * DAY + 1, *MOMENTS], pa.int64(), pa.date64()),
    **{
        str(kind): stored([0, 36_000, 86_405, -1, 2**31 - 1, None], pa.int32(), kind)
        for kind in (pa.time32("s"), pa.time32("ms"))
    },
    **{
        str(kind): stored([0, 36_000_000_000, 10**15, -1, LAST, None], pa.int64(), kind)
        for kind in (pa.time64("us"), pa.time64("ns"))
    },
    **{str(kind): stored(MOMENTS, pa.int64(), kind) for kind in STAMPS},
    "timestamp, no such zone": stored(MOMENTS, pa.int64(), pa.timestamp("us", "Mars/Base")),
    "timestamp, no such offset": stored(MOMENTS, pa.int64(), pa.timestamp("us", "+99:99")),
    "duration": stored(MOMENTS, pa.int64(), pa.duration("s")),
    "interval": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
    "list": pa.array([["7"], [], None], pa.list_(pa.string())),
    "large_list": pa.array([[7], [], None], pa.large_list(pa.int64())),
    "list_view": pa.array([[7], [], None], pa.list_view(pa.int64())),
    "fixed_size_list": pa.array([[7], None], pa.list_(pa.int64(), 1)),
    "list of date64": pa.ListArray.from_arrays([0, 1, 1], stored([20_518 * DAY + 1], pa.int64(), pa.date64())),
    "struct": pa.array([{"a": 7}, None], pa.struct([("a", pa.int64())])),
    "struct of decimals": pa.StructArray.from_arrays([decimals(pa.decimal128(4, 2))], names=["a"]),
    "map": pa.array([[("a", 7)], None], pa.map_(pa.string(), pa.int64())),
    "dictionary of texts": codes(pa.array(["7", "tea", "2026-03-06", None])),
    "dictionary, int8": codes(pa.array(["7", "tea"]), pa.int8()),
    "dictionary, uint64": codes(pa.array(["7", "tea"]), pa.uint64()),
    "dictionary, masked codes": masked_codes(),
    "dictionary of no UTF-8": codes(texts(pa.string())),
    "dictionary of views": codes(texts(pa.string_view())),
    "dictionary of numbers": codes(pa.array([7, None, 3])),
    "dictionary of fractions": codes(pa.array([7.0, 0.5, None], pa.float16())),
    "dictionary of date64": codes(stored([20_518 * DAY, 20_518 * DAY + 1], pa.int64(), pa.date64())),
    "dictionary of bytes": codes(pa.array([b"7", b"tea"], pa.binary_view())),
    "dictionary of decimals": codes(decimals(pa.decimal128(4, 2))),
    "run-end encoded": pa.RunEndEncodedArray.from_arrays(RUNS, pa.array(["7", "tea", None])),
    "union": pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array(["7", "tea"]), pa.array([7, 8])]),
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16), None], pa.binary(16))),
    "json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(["7", '"tea"', None])),
    "bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, 7, None], pa.int8())),
}

LITERALS = ("7", "0.5", "tea", "2026-03-06", "2026-03-06T10:00Z", "10:00", "true")
EVENTS = {"user": "who", "item": "what", "items": "tea"}


@dataclass(frozen=True)
class Role:
    """How column ``odd`` is read: with which options, and what a pass makes of a row."""

    options: Mapping[str, Any]
    reading: Reading = Reading()  # noqa: RUF009
    describe: Callable[..., EventLog] = read_events

    def log(self, events: Any) -> EventLog:
        """Describe the log, with every check that comes before a charge."""
        log = self.describe(events, **self.options)
        if isinstance(self.reading.cells, Grid):
            check_table(log, self.reading.cells, self.reading.groups)
        return CONTEXTS.as_items(log) if log.selects_contexts else log


def table_role(groups: str | None = None, **bins: Any) -> Role:
    """Return a role in a table of users, which is read through bins."""
    grid = Grid.from_mapping({"odd": bins} if bins else {"what": {"values": ["tea"], "other": True}})
    return Role({"user": "who"}, Reading(cells=grid, contexts="none", groups=groups), read_people)


def event_role(reading: Reading = Reading(), **options: Any) -> Role:  # noqa: B008
    """Return a role in a log of events."""
    return Role({**EVENTS, **options}, reading)


GIVEN = Reading(cells="given", contexts="none")
ROLES: Mapping[str, Role] = {
    "user": event_role(user="odd"),
    "item": event_role(item="odd", items="7,1"),
    "item, selected": event_role(GIVEN, item="odd", items=None, select_items=True),
    "context, selected": event_role(GIVEN, context="odd", select_contexts=True),
    **{f"context {literal}": event_role(context="odd", contexts=[literal]) for literal in LITERALS},
    "two contexts": event_role(context="what,odd", contexts={"what": ["tea"], "odd": ["7"]}),
    "weekday": event_role(context="weekday:odd"),
    "hour": event_role(context="hour:odd", timezone="+05:30"),
    "month in s": event_role(context="month:odd", time_format="s"),
    "weekday by a pattern": event_role(context="weekday:odd", time_format="%Y-%m-%d"),
    "since": event_role(time="odd", since="2026-01-01"),
    "until in min": event_role(
        time="odd", until="2050-01-01", time_format="min@2012-01-01", timezone="America/New_York"
    ),
    **{
        f"where {sign} {literal}": event_role(where=f"odd {sign} {literal}")
        for literal in LITERALS
        for sign in ("==", ">=")
    },
    "where != 7": event_role(where="odd != 7"),
    "times": event_role(times="odd"),
    "value": event_role(Reading(values=True), value="odd", value_range="1,5"),
    "bins of numbers": table_role(edges=[0, 5, 100]),
    "bins of whole numbers": table_role(values=[7, 1], other=True),
    "bins of texts": table_role(values=["7", "tea"], other=True),
    "groups": table_role(groups="odd"),
}  # fmt: skip


def table_of(column: pa.Array) -> pa.Table:
    """Return a log whose column ``odd`` is the given one."""
    rows = len(column)
    return pa.table({"who": [f"u{row}" for row in range(rows)], "what": ["tea"] * rows, "odd": column})


def rows_of(log: EventLog, reading: Reading) -> Rows:
    """Read a log and count the rows that count, with raw ids in place of codes."""
    coded, rows = EncodedLog(log, reading), []
    for batch in coded.batches():
        beside: Any = batch.contexts
        if coded.groups is not None and beside is not None:
            beside = [-1 if code < 0 else name(coded.groups.table, code) for code in beside]
        columns = [
            batch.users,
            batch.cells,
            *(column for column in (batch.times, beside, batch.values) if column is not None),
        ]
        rows += [(name(coded.users, user), *more) for user, *more in zip(*columns, strict=True)]
    ids = None if coded.items is None else coded.items.ids
    return Counter(
        (user, cell if ids is None else str(ids[cell]), *more) for user, cell, *more in rows if cell >= 0
    )


def name(table: Any, code: int) -> object:
    """Return the raw id behind a code."""
    raw = table.raw
    if not isinstance(raw, tuple):
        return int(raw[code])
    content, ends = raw
    return bytes(content[ends[code - 1] if code else 0 : ends[code]])


def alone(table: pa.Table) -> Iterator[pa.Table]:
    """Yield each row by itself, in a table of its own."""
    return (table.slice(row, 1) for row in range(len(table)))


def refuses(role: Role, kind: pa.DataType) -> bool:
    """Say whether the role refuses a column of a type that nobody has written to."""
    try:
        role.log(table_of(pa.nulls(0, kind)))
    except CallerError:
        return True
    return False


@cache
def working() -> list[tuple[str, str]]:
    """Return the roles and types that go together."""
    return [
        (role, kind) for role in ROLES for kind, array in ARRAYS.items() if not refuses(ROLES[role], array.type)
    ]


@pytest.mark.parametrize("role", ROLES)
def test_a_type_is_refused_before_a_charge_or_every_row_of_it_is_read_by_itself(role: str) -> None:
    for kind, column in ARRAYS.items():
        table, role_case = table_of(column), ROLES[role]
        if refuses(role_case, column.type):
            with pytest.raises(CallerError):
                role_case.log(table)
            continue
        together = rows_of(role_case.log(table), role_case.reading)
        one_by_one = sum((rows_of(role_case.log(row), role_case.reading) for row in alone(table)), Rows())
        assert together == one_by_one, f"{kind}: {together} is not {one_by_one}"


def test_most_types_work_in_some_role() -> None:
    refused = set(ARRAYS) - {kind for _, kind in working()}
    assert refused <= {
        "duration", "interval", "list", "large_list", "list_view", "fixed_size_list", "list of date64", "struct",
        "struct of decimals", "map", "union", "uuid", "json", "bool8", "run-end encoded",
        "timestamp, no such zone", "timestamp, no such offset",
        "time32[s]", "time32[ms]", "time64[us]", "time64[ns]",
    }  # fmt: skip


def written(table: pa.Table, how: str, path: Path) -> Any:
    """Write a table as an Arrow file or stream, all rows in a batch or each in its own."""
    rows = 1 if "row by row" in how else max(1, len(table))
    packed = "lz4" if "compressed" in how else None
    options = pa.ipc.IpcWriteOptions(compression=packed, emit_dictionary_deltas="stream" in how)
    with (pa.ipc.new_file if "file" in how else pa.ipc.new_stream)(path, table.schema, options=options) as writer:
        for batch in table.to_batches(max_chunksize=rows):
            writer.write_batch(batch)
    return path


class Stream:
    """An object that hands over an Arrow stream and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


HOWS = ("file", "file, row by row", "file, compressed", "stream", "stream, row by row", "an object")
IN_FILES = ("user", "item", "context 2026-03-06", "weekday", "where >= 2026-03-06", "where == 7", "times", "value")


@pytest.mark.parametrize("how", HOWS)
def test_no_value_makes_an_arrow_file_or_stream_fail(how: str, tmp_path: Path) -> None:
    for number, (role, kind) in enumerate((role, kind) for role, kind in working() if role in IN_FILES):
        table, role_case = table_of(ARRAYS[kind]), ROLES[role]
        events = Stream(table) if how == "an object" else written(table, how, tmp_path / f"{number}.arrow")
        assert rows_of(role_case.log(events), role_case.reading) == rows_of(
            role_case.log(table), role_case.reading
        ), (role, kind)


@pytest.mark.parametrize("kind", ARRAYS)
def test_the_curator_sees_every_type(kind: str, tmp_path: Path) -> None:
    """Inspect reads all columns and check those of a role, whatever is in them."""
    from headcount.events.inspect.suggest import preview
    from headcount.events.sources.source import open_source

    table = table_of(ARRAYS[kind])
    path = written(table, "file", tmp_path / "log.arrow")
    assert preview(open_source(path)).rows == preview(open_source(table)).rows == len(table)
    for role, other in working():
        if other == kind:
            scan(ROLES[role].log(table), lambda *_: None) if ROLES[role].describe is read_events else None


def test_numbers_of_records_in_a_pandas_column_with_a_gap() -> None:
    """pandas turns whole numbers into fractions where one is missing, so that row alone must be dropped."""
    import pandas as pd

    frame = pd.DataFrame({"who": ["a", "b", "c", "d"], "what": ["tea"] * 4, "odd": [2, None, 3, 1]})
    assert str(frame["odd"].dtype) == "float64"
    times_role = ROLES["times"]
    assert Counter(row[2] for row in rows_of(times_role.log(frame), times_role.reading)) == Counter([1, 2, 3])
    whole = frame.dropna().astype({"odd": "int64"})
    assert rows_of(times_role.log(frame), times_role.reading) == rows_of(times_role.log(whole), times_role.reading)


@pytest.mark.parametrize("zone", ["+99:99", "+24:00", "-24:00", "Mars/Base"])
def test_a_zone_that_does_not_exist_is_refused_before_any_row_is_read(zone: str) -> None:
    with pytest.raises(CallerError, match="unknown time zone"):
        event_role(context="weekday:odd", timezone=zone).log(table_of(pa.array(["2026-03-06"])))


def test_an_origin_is_a_time_of_a_zone_that_is_an_offset() -> None:
    context_role = event_role(context="hour:odd", time_format="min@2012-01-01T05:30", timezone="+05:30")
    (row,) = rows_of(context_role.log(table_of(pa.array([61]))), context_role.reading)
    assert row[1] == 6  # 61 minutes after 05:30 on the clocks of that zone
