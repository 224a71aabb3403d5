"""What texts say, judged by Python itself: numbers, times, zones and the cells of a line."""

from __future__ import annotations

import csv
import math
import re
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headcount.events.encode.text_columns import _is_ascii, sound
from headcount.events.sources.files.scalar import iso_times, numbers, times_by, whole_numbers
from headcount.events.sources.files.text_blocks import ANY_END, _whole_lines, as_array
from headcount.events.sources.files.text_readers import _split
from headcount.events.times import LABELS, TimeFormat, Zone

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001
MICROSECOND = timedelta(microseconds=1)
ODD = [
    "",
    "-",
    "+",
    ".",
    "e5",
    "1e",
    "1e+",
    "0x1",
    "1_0",
    "nan",
    "inf",
    "٣",
    "1,5",
    "1 2",
    "--1",
    "1.2.3",
    "\0",
    "½",
]
DIGITS = st.text("0123456789+-.eE \t", max_size=24)


@given(st.lists(DIGITS | st.floats().map(repr) | st.integers().map(str) | st.sampled_from(ODD), min_size=1))
@example(["9007199254740993", "123456789012345678", "1" * 400, "1e-400", "0.1", "5e-324", " 7 ", "1e22", "1e23"])
def test_numbers_are_those_nearest_to_what_is_written(texts: list[str]) -> None:
    values, there = numbers(pa.array(texts))
    for text, value, is_read in zip(texts, values.tolist(), there.tolist(), strict=True):
        plain = text.strip()
        is_number = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", plain) is not None
        assert is_read == (is_number and math.isfinite(float(plain)))
        assert value == (float(plain) if is_read else 0.0)
    for text, value, is_read in zip(
        texts, *(array.tolist() for array in whole_numbers(pa.array(texts))), strict=True
    ):
        assert is_read == (re.fullmatch(r"[+-]?[0-9]{1,18}", text.strip()) is not None)
        assert value == (int(text) if is_read else 0)


def iso(moment: datetime) -> list[str]:
    offset = "" if moment.tzinfo is None else moment.strftime("%z")
    bare = moment.replace(tzinfo=None)
    short = bare.isoformat("T", "minutes") if not (bare.second or bare.microsecond) else bare.isoformat()
    return [moment.isoformat(), moment.isoformat(" "), bare.isoformat() + offset, short + offset]


ZONES = st.none() | st.timedeltas(timedelta(minutes=-1439), timedelta(minutes=1439)).map(
    lambda ahead: timezone(timedelta(minutes=ahead // timedelta(minutes=1)))
)


@given(st.datetimes(timezones=ZONES))
def test_iso_times_are_as_python_reads_them(moment: datetime) -> None:
    texts = iso(moment)
    read = iso_times(pa.array(texts))
    wall = (moment.replace(tzinfo=None) - EPOCH) // MICROSECOND
    micros = wall - (moment.utcoffset() or timedelta(0)) // MICROSECOND
    inside = (datetime.min - EPOCH) // MICROSECOND <= micros <= (datetime.max - EPOCH) // MICROSECOND  # noqa: DTZ901
    assert read.there.tolist() == [inside] * len(texts)
    if inside:
        assert read.micros.tolist() == [micros] * len(texts)
        assert read.instant.tolist() == [moment.tzinfo is not None] * len(texts)


@given(st.text("0123456789-:.TtZz+ W,", max_size=30))
@example("2026-02-29")
@example("2026-03-06T10:00:60")
@example("0000-01-01")
@example("2026-03-06T10:00+24:00")
@example("2026-03-06T10:00.5")
@example("2026-W10-5")
@example("20260306")
def test_what_is_no_iso_time_for_python_is_none_here(text: str) -> None:
    read = iso_times(pa.array([text]))
    try:
        datetime.fromisoformat(text.strip())
        is_refused = re.fullmatch(r"[+-]?\d+(\.\d*)?", text.strip()) is None
    except ValueError:
        is_refused = False
    assert not read.there[0] or is_refused


def test_fractions_beyond_the_microsecond_are_cut() -> None:
    read = iso_times(pa.array(["1970-01-01T00:00:00.1234567899", "1970-01-01T00:00:00,5", "1970-01-01T00:00:00."]))
    assert (read.micros.tolist(), read.there.tolist()) == ([123456, 500000, 0], [True, True, False])


@given(st.datetimes(), st.sampled_from(sorted(LABELS)))
def test_parts_of_times(moment: datetime, part: str) -> None:
    wanted = {"weekday": moment.weekday(), "hour": moment.hour, "month": moment.month - 1}[part]
    for column in (
        pa.array([moment], pa.timestamp("us")),
        pa.array([moment.isoformat()]),
        pa.array([moment.date()]),
    ):
        parts = TimeFormat().part(column, part)  # type: ignore[arg-type]
        assert parts.tolist() == [0 if pa.types.is_date(column.type) and part == "hour" else wanted]


ODD_ZONES = ("Europe/Zurich", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Africa/Monrovia")


@pytest.mark.parametrize("name", ODD_ZONES)
@given(st.lists(st.integers(-(3 * 10**15), 10**16), min_size=1, max_size=8))
def test_clocks_of_a_zone_show_what_python_says(name: str, micros: list[int]) -> None:
    zone, clocks = ZoneInfo(name), Zone(name)
    at = [datetime(1970, 1, 1, tzinfo=UTC) + microseconds * MICROSECOND for microseconds in micros]
    shown = [(microseconds.astimezone(zone).replace(tzinfo=None) - EPOCH) // MICROSECOND for microseconds in at]
    assert clocks.shown(np.array(micros)).tolist() == shown
    walls = [(EPOCH + microseconds * MICROSECOND).replace(tzinfo=zone) for microseconds in micros]
    meant = [(microseconds.astimezone(UTC).replace(tzinfo=None) - EPOCH) // MICROSECOND for microseconds in walls]
    assert clocks.meant(np.array(micros)).tolist() == meant


def test_a_strange_format_is_read_value_by_value() -> None:
    read = times_by(
        pa.array(["6.3.2026", "x", None, "6.3.2026"]),
        lambda text: datetime.strptime(text, "%d.%m.%Y"),  # noqa: DTZ007
    )
    assert read.there.tolist() == [True, False, False, True]


LINE = st.text(st.sampled_from('ab",; \t\x00é"'), max_size=20)


@given(st.lists(LINE, min_size=1, max_size=6), st.sampled_from([",", ";"]))
@example(['a,"b,""c""",d', 'a,"b', '"a"b,c', "a,b,c,d", '""', '"'], ",")
def test_cells_of_a_line_are_those_of_the_standard_library(lines: list[str], delimiter: str) -> None:
    for cells in (1, 2, 3):
        names = [str(cell) for cell in range(cells)]
        text = "\n".join(lines).encode()
        batch = _split(as_array(text), delimiter, np.arange(cells, dtype=np.int32), exact=True, names=names)
        wanted = []
        for line in filter(None, lines):
            row = next(csv.reader([line], delimiter=delimiter))
            whole = len(row) == cells and _is_closed(line, delimiter)
            wanted.append(
                dict(zip(names, [cell or None for cell in row] if whole else [None] * cells, strict=True))
            )
        assert batch.to_pylist() == wanted


def _is_closed(line: str, delimiter: str) -> bool:
    """Whether no quote of a line is left open: a delimiter after it begins another cell."""
    return (
        len(next(csv.reader([line + delimiter + "x"], delimiter=delimiter)))
        == len(next(csv.reader([line], delimiter=delimiter))) + 1
    )


def test_text_that_is_not_utf8_is_missing_in_every_layout() -> None:
    raw = pa.array([b"tea", b"\xff", None, b"rye"])
    for kind in (pa.string(), pa.large_string()):
        column = raw.cast(pa.large_binary() if pa.types.is_large_string(kind) else pa.binary()).view(kind)
        assert sound(column).to_pylist() == ["tea", None, None, "rye"]
        assert sound(column.slice(1)).to_pylist() == [None, None, "rye"]
        coded = pa.DictionaryArray.from_arrays(pa.array([3, 1, 0, None]), column)
        assert sound(coded).to_pylist() == ["rye", None, "tea", None]


def test_offsets_that_go_back_are_not_passed_over() -> None:
    """Each byte is ASCII, but one text ends before it begins: that is looked at as closely as other damage."""
    data = pa.py_buffer(b"teas")
    for places, sorted_ in ([0, 1, 3, 4], True), ([0, 3, 1, 4], False):
        column = pa.Array.from_buffers(
            pa.large_string(), 3, [None, pa.py_buffer(np.array(places, dtype=np.int64)), data]
        )
        assert _is_ascii(column) == sorted_


@given(st.lists(st.sampled_from(["tea", "", "\r", "\n", "\r\n"]), max_size=12), st.integers(1, 9))
def test_blocks_are_whole_lines_however_a_file_is_cut(parts: list[str], size: int) -> None:
    text = "".join(parts).encode()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    blocks = list(_whole_lines(iter(pieces), ANY_END))
    assert b"".join(blocks) == text
    assert all(block.endswith((b"\r", b"\n")) for block in blocks[:-1])
