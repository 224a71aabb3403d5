"""What one row means, in every format: counted, counted as unknown, or not counted; never an error."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest

from headcount.bounds import BoundedCounts, CountBound, SampleRecords
from headcount.errors import DataError, HeadcountError
from headcount.events.log import EventLog, read_events
from headcount.events.sources.source import Source
from tests.contracts.rows import hostile_values
from tests.contracts.rows.hostile_values import Field, Line
from tests.contracts.rows.raw_files import COLUMNS, FORMATS, Format, Row, line_of
from tests.contracts.rows.roles import ROLES, Case
from tests.contracts.support.additivity import Bench, Through, check_sum
from tests.contracts.support.measurements import MEASUREMENTS, Measurement, Sums
from tests.reference.engine_in_parts import InParts

Fate = Literal["counted", "unknown", "dropped"]
SOUND = {
    "user": "a0", "item": "tea", "place": "F", "when": "2026-03-06T10:00:00", "stars": "3", "many": "1",
    "age": "18", "home": "ha",
}  # fmt: skip
PLACE = {"context": "place", "contexts": "F,M"}
HOUR = {"context": "hour:when"}
SINCE = {"time": "when", "since": "2026-01-01"}
TIMES = {"times": "many"}
UNREADABLE = ("x", "five", "", "NaN", "1e400", "2026-02-30T10:00:00", "\0", '"', "🍵")


def _everything(engine: Any, log: EventLog, secret: bytes) -> Sums:
    edges = engine.measure(log, SampleRecords(1000), secret).edges.sensitive_values
    return {"counted": int(edges[0].sum()), "unknown": int(edges[0, -1]) if log.context else 0}


EVERYTHING = Measurement("everything", "counts", _everything)


def fate_of(kind: Format, row: Row, options: Mapping[str, Any], folder: Path, beside: Row) -> Fate:
    """Say what became of one row, which is read between two sound ones."""
    measured = Bench(folder, kind, EVERYTHING, dict(options)).measure([beside, row, beside])
    assert measured.get("counted", 0) in (2, 3), "the rows beside it were not counted"
    if measured["counted"] == 2:
        return "dropped"
    return "unknown" if measured.get("unknown", 0) == 1 else "counted"


@dataclass(frozen=True)
class Rule:
    """What becomes of a row whose column holds any of some texts, with some options."""

    column: str
    options: Mapping[str, Any]
    texts: Sequence[str | None]
    fate: Fate
    beside: Mapping[str, str] = field(default_factory=lambda: SOUND)


NAIVE = (
    "2040-07-01T12:30:00",
    "2026-03-29T02:30:00",
    "2026-03-06",
    "2026-03-06T10:00:00Z",
    "2026-03-06T10:00+05:30",
)
NO_COUNT = ("x", "-1", "0.5", "0", None, "9" * 40, str(2**31), "five", "", "NaN")
RULES: Mapping[str, Rule] = {
    "a user is any text": Rule(
        "user", {}, ("b1", "007", "true", "null", " b ", "🍵", "2026-03-06", "10"), "counted"
    ),
    "a user of 2,048 bytes": Rule("user", {}, ("a" * 2_048, "é" * 1_024), "counted"),
    "a longer user is missing": Rule("user", {}, ("a" * 2_049, "é" * 1_025), "dropped"),
    "a longer text is missing": Rule("place", {"where": "place != M"}, ("a" * 2_049,), "dropped"),
    "no user": Rule("user", {}, (None,), "dropped"),
    "no item": Rule("item", {}, (None,), "dropped"),
    "an item not listed": Rule("item", {}, ("TEA", " tea", "tea ", "te\0a", "null", "\ufefftea"), "dropped"),
    "no context": Rule("place", PLACE, (None,), "unknown"),
    "a context not listed": Rule(
        "place", PLACE, ("X", "f", " F", "null", "true", "7", hostile_values.LONG), "unknown"
    ),
    "no time": Rule("when", HOUR, (None,), "unknown"),
    "an unreadable time": Rule("when", HOUR, (*UNREADABLE, "1772791200"), "unknown"),
    "an unreadable time by a pattern": Rule(
        "when", HOUR | {"time_format": "%d.%m.%Y"}, UNREADABLE, "unknown", SOUND | {"when": "06.03.2026"}
    ),
    "an unreadable time in s": Rule(
        "when", HOUR | {"time_format": "s"}, (*UNREADABLE, "9" * 40), "unknown", SOUND | {"when": "1772791200"}
    ),
    "a readable time": Rule("when", HOUR | {"timezone": "Europe/Zurich"}, NAIVE, "counted"),
    "an unreadable time since": Rule("when", SINCE, (None, *UNREADABLE), "dropped"),
    "a readable time since": Rule("when", SINCE | {"timezone": "Europe/Zurich"}, NAIVE, "counted"),
    "an unreadable number of a condition": Rule(
        "age", {"where": "age >= 18"}, (None, "x", "five", "", "NaN", "18 years", "0x20"), "dropped"
    ),
    "a readable number of a condition": Rule("age", {"where": "age >= 18"}, ("18", "18.5", "1000"), "counted"),
    "a number that fails": Rule("age", {"where": "age >= 18"}, ("17", "17.5", "-1"), "dropped"),
    "a text that is": Rule("age", {"where": "age == 18"}, ("18",), "counted"),
    "a text that is not": Rule("place", {"where": "place == F"}, (None, "M", " F", "f"), "dropped"),
    "a missing text is nothing": Rule("place", {"where": "place != M"}, (None,), "dropped"),
    "no number of records": Rule("many", TIMES, NO_COUNT, "dropped"),
    "a number of records": Rule("many", TIMES, ("1",), "counted"),
}


DATABASES = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("duckdb", "sqlite", "postgresql")]


@pytest.mark.parametrize("kind", ["csv", "csv quoted", "csv crlf", "jsonl", "parquet text", "table", *DATABASES])
@pytest.mark.parametrize("name", RULES)
def test_rule(name: str, kind: str, tmp_path: Path) -> None:
    rule = RULES[name]
    for number, content in enumerate(rule.texts):
        if kind == "postgresql" and "\0" in (content or ""):  # which it does not hold
            continue
        row = Row({**rule.beside, "user": "b1", rule.column: hostile_values.text("said", content)})
        fate = fate_of(FORMATS[kind], row, rule.options, tmp_path / str(number), Row(rule.beside))
        assert fate == rule.fate, f"{content!r}"


@pytest.mark.parametrize("content", ["x", "five", "NaN", "Infinity", "1e400", "", None])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet text"])
def test_a_record_without_a_value_does_not_count_where_values_are_needed(
    content: str | None, kind: str, tmp_path: Path
) -> None:
    rows = [Row(SOUND), Row({**SOUND, "user": "b1", "stars": hostile_values.text("said", content)})]
    measured = Bench(tmp_path, FORMATS[kind], MEASUREMENTS["totals"]).measure(rows)
    assert measured == {("people", 0): 1, ("records", 0): 1}  # and 3 is the middle of its range


JSON_RULES: Mapping[str, tuple[str, Mapping[str, Any], bytes, Fate]] = {
    "a number is its literal": ("item", {"items": "7,x"}, b"7", "counted"),
    "a text like a number": ("item", {"items": "7,x"}, b'"7"', "counted"),
    "another literal": ("item", {"items": "7,x"}, b"7.0", "dropped"),
    "a literal as written": ("item", {"items": "1e3,x"}, b"1e3", "counted"),
    "a big number": ("item", {"items": f"{10**29},x"}, str(10**29).encode(), "counted"),
    "true": ("item", {"items": "true,x"}, b"true", "counted"),
    "null": ("item", {"items": "null,x"}, b"null", "dropped"),
    "an object": ("item", {}, b'{"tea": 1}', "dropped"),
    "a list": ("item", {}, b'["tea"]', "dropped"),
    "escapes": ("item", {}, b'"\\u0074ea"', "counted"),
    "a lone surrogate": ("item", {}, b'"tea\\ud800"', "dropped"),
    "no UTF-8": ("item", {}, b'"tea\xff"', "dropped"),
    "a nested context": ("place", PLACE, b'["F"]', "unknown"),
    "a number of a condition": ("age", {"where": "age >= 18"}, b"1e3", "counted"),
    "a nested number": ("age", {"where": "age >= 18"}, b"[18]", "dropped"),
}  # fmt: skip


@pytest.mark.parametrize("name", JSON_RULES)
def test_json_rule(name: str, tmp_path: Path) -> None:
    column, options, literal, fate = JSON_RULES[name]
    first = str(options.get("items", "tea,rye")).split(",")[0]
    beside = SOUND | {"item": first}
    row = Row({**beside, "user": "b1", column: Field("said", {"json": literal})})
    assert fate_of(FORMATS["jsonl"], row, options, tmp_path, Row(beside)) == fate


DROPPED_LINES: Sequence[tuple[str, str, Line]] = [
    *(("csv", name, hostile_values.CSV_LINES[name]) for name in (
        "too few cells", "one cell", "too many cells", "blank line", "no UTF-8 at all", "NUL alone",
    )),
    *(("jsonl", name, hostile_values.JSON_LINES[name]) for name in (
        "no JSON", "a list on a line", "a number on a line", "a text on a line", "null on a line", "no keys",
        "cut short", "not closed", "blank line", "missing key", "unclosed brackets",
    )),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "name", "line"), DROPPED_LINES, ids=lambda value: str(value) if isinstance(value, str) else ""
)
def test_a_line_that_is_no_row_is_dropped(kind: str, name: str, line: Line, tmp_path: Path) -> None:
    assert fate_of(FORMATS[kind], Row(SOUND | {"user": "b1"}, line), {}, tmp_path, Row(SOUND)) == "dropped"


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet text", "arrow file", "table"])
def test_text_that_is_no_utf8_is_missing(kind: str, tmp_path: Path) -> None:
    field = Field("bytes", {"csv": b"\xff\xfe", "json": b'"\xff\xfe"', "arrow": b"\xff\xfe"})
    for column, options, fate in (("item", {}, "dropped"), ("place", PLACE, "unknown"), ("when", HOUR, "unknown")):
        row = Row({**SOUND, "user": "b1", column: field})
        assert fate_of(FORMATS[kind], row, options, tmp_path / column, Row(SOUND)) == fate


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet text"])
def test_dropping_nulls_is_what_happens_anyway(kind: str, tmp_path: Path) -> None:
    rows = [
        Row(SOUND),
        Row({**SOUND, "user": hostile_values.text("", None)}),
        Row({**SOUND, "item": hostile_values.text("", None)}),
    ]
    with_flag = Bench(tmp_path / "with", FORMATS[kind], EVERYTHING, {"drop_nulls": True}).measure(rows)
    assert with_flag == Bench(tmp_path / "without", FORMATS[kind], EVERYTHING).measure(rows) == {"counted": 1}


def test_json_without_keys_is_an_empty_log(tmp_path: Path) -> None:
    """Whether anybody wrote a key is for nobody to know, so its lack cannot be an error."""
    lines = hostile_values.JSON_LINES["missing key"]
    measured = Bench(tmp_path, FORMATS["jsonl"], EVERYTHING).measure([Row(SOUND, lines), Row(SOUND, lines)])
    assert measured == {}


@pytest.mark.parametrize("kind", ["csv", "parquet text", "arrow file", "table"])
def test_a_missing_column_is_still_refused(kind: str, tmp_path: Path) -> None:
    with pytest.raises(HeadcountError, match="nowhere"):
        Bench(tmp_path, FORMATS[kind], EVERYTHING, {"where": "nowhere == 7"}).measure([Row(SOUND)])


def test_torn_parquet_is_still_refused(tmp_path: Path) -> None:
    FORMATS["parquet text"].write(FORMATS["parquet text"], tmp_path, [Row(SOUND)], False)
    path = tmp_path / "part0.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError):
        read_events(str(path), user="user", item="item", items="tea")


# The law bites: readers that look at other rows are red


@dataclass(frozen=True)
class Rewritten:
    """A source that rewrites its batches."""

    source: Source
    rewrite: Callable[[pa.RecordBatch], pa.RecordBatch]

    @property
    def name(self) -> str:
        return self.source.name

    def type_of(self, column: str) -> pa.DataType | None:
        return self.source.type_of(column)

    @property
    def names(self) -> list[str]:
        return self.source.names

    @property
    def rows(self) -> int | None:
        return self.source.rows

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return map(self.rewrite, self.source.batches(columns))

    def whole_range(self, column: str) -> tuple[int, int] | None:
        return self.source.whole_range(column)


def _through(rewrite: Callable[[pa.RecordBatch], pa.RecordBatch]) -> Through:
    return lambda log: replace(log, source=Rewritten(log.source, rewrite))


def _infers_a_type(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Take all items of a batch for numbers with a fraction, if one of them is."""
    items = batch.column("item").to_pylist()
    if any(item and "." in item for item in items):
        items = [item and f"{float(item)}" for item in items]
    return batch.set_column(batch.schema.get_field_index("item"), "item", pa.array(items, pa.string()))


def _trusts_the_first_value(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Take all places of a batch for missing, if the first one is no place."""
    places = batch.column("place").to_pylist()
    parsed = places if places[0] in ("F", "M", "X") else [None] * len(places)
    return batch.set_column(batch.schema.get_field_index("place"), "place", pa.array(parsed, pa.string()))


def _refuses(batch: pa.RecordBatch) -> pa.RecordBatch:
    if "NA" in batch.column("place").to_pylist():
        raise DataError("column 'place' holds 'NA'", remedy="correct it")
    return batch


def _swallows(kind: Format, folder: Path, rows: Sequence[Row], one_by_one: bool) -> Any:
    """Let a quote that is not closed go on over the lines below."""
    lines = b"".join(line_of(kind, row) for row in rows).decode()
    read = [row for row in csv.reader(io.StringIO(lines)) if len(row) == len(COLUMNS)]
    return pa.table({name: pa.array([row[at] for row in read], pa.string()) for at, name in enumerate(COLUMNS)})


class LimitFromTheCrowd(InParts):
    """Keeps less of everyone the more there are."""

    def count(self, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
        many = super().activity(log, "items", 1, secret).sensitive_values[0]
        return super().count(log, SampleRecords(max(1, 5 - int(many))), secret)


ReaderMutant = tuple[str, str, Mapping[str, Any]]
READER_MUTANTS: Mapping[str, ReaderMutant] = {
    "infers a type in each batch": ("item, numbers", "0.5", {"through": _through(_infers_a_type)}),
    "trusts the first value of a batch": ("context", "NA", {"through": _through(_trusts_the_first_value)}),
    "refuses what somebody wrote": ("context", "NA", {"through": _through(_refuses)}),
    "lets quotes span lines": ("item", "unclosed at the start", {"format": Format("twin", "csv", _swallows)}),
    "limits by the crowd": ("context", "NA", {"engine": LimitFromTheCrowd()}),
}


def _check(role: str, name: str, changed: Mapping[str, Any], folder: Path) -> None:
    field = next(
        candidate for candidate in (*ROLES[role].fields, *hostile_values.CSV_CELLS) if candidate.name == name
    )
    case = Case(FORMATS["csv"], ROLES[role], field)
    bench = replace(
        Bench(folder, case.format, MEASUREMENTS[case.role.measurement], dict(case.role.options)), **changed
    )
    own, others = bench.measure(case.ordinary()), bench.measure(case.others())
    for order, rows in case.orders():
        check_sum(bench.measure(rows), own, others, order)


@pytest.mark.parametrize("name", READER_MUTANTS)
def test_a_mutant_reader_is_rejected(name: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, HeadcountError)):
        _check(*READER_MUTANTS[name], tmp_path)


def test_its_sound_sibling_passes(tmp_path: Path) -> None:
    for number, (role, field_name, _) in enumerate(READER_MUTANTS.values()):
        if field_name != "unclosed at the start":  # this one is for the reader of CSV itself
            _check(role, field_name, {"through": _through(lambda batch: batch)}, tmp_path / str(number))
