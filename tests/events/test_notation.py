"""Numbers in other notations: each text is read as the same number in plain notation is, or is missing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import headcount as hc
from headcount.bounds import SampleRecords
from headcount.bounds.grid.user_group_cells import GroupCells
from headcount.bounds.values.user_totals import UserTotals
from headcount.engines.local.engine import LocalEngine
from headcount.errors import HeadcountError
from headcount.events.grid import Grid
from headcount.events.inspect.scan import scan
from headcount.events.log import EventLog, read_events
from headcount.events.notation import Notation, Notations
from headcount.events.sources.files.scalar import numbers, whole_numbers
from headcount.events.tag_log import read_tags
from headcount.events.user_table import read_people
from headcount.lab.audit.replay import Tape, wrapped_noise
from headcount.methods.counts.request import ReleaseRequest
from headcount.methods.request import request_of
from headcount.run.prepare import prepare_request
from tests.bounds.test_partial_sums_of_groups import shown as plainly
from tests.support.curator_runs import ran

DECIMALS, THOUSANDS = (".", ","), (None, ".", ",", " ", "\u00a0", "\u202f", "'", "’")
NOTATIONS = [Notation(point, mark) for point in DECIMALS for mark in THOUSANDS if point != mark]
BLANKS = " \t\n\v\f\r"


def digits_of(text: str) -> bool:
    return bool(text) and all(character in "0123456789" for character in text)


def plain_number(text: str, notation: Notation) -> str | None:
    """Read a number character by character: the reference implementation."""
    text = text.strip(BLANKS)
    sign, body = (text[0], text[1:]) if text[:1] in ("+", "-") and text else ("", text)
    exponent = ""
    for letter in "eE":
        if letter in body:
            body, _, power = body.partition(letter)
            if not digits_of(power[1:] if power[:1] in ("+", "-") and power else power):
                return None
            exponent = "e" + power
            break
    whole, point, fraction = body.partition(notation.decimal)
    if fraction and not digits_of(fraction):
        return None
    if notation.thousands is not None and notation.thousands in whole:
        first, *groups = whole.split(notation.thousands)
        if not (digits_of(first) and len(first) <= 3 and first[0] != "0"):
            return None
        if not all(digits_of(group) and len(group) == 3 for group in groups):
            return None
        whole = first + "".join(groups)
    if not (digits_of(whole) or (not whole and fraction)):
        return None
    return f"{sign}{whole}{'.' if point else ''}{fraction}{exponent}"


def written(value: Decimal, notation: Notation) -> str:
    whole, _, fraction = f"{abs(value):f}".partition(".")
    if notation.thousands is not None:
        whole = f"{int(whole):,}".replace(",", notation.thousands)
    return ("-" if value < 0 else "") + whole + (notation.decimal + fraction if fraction else "")


NUMBERS = st.decimals(-(10**12), 10**12, places=2) | st.integers(-(10**9), 10**9).map(Decimal)
ANY = st.text("0123456789.,'’ \u00a0\u202f+-eE\n１", max_size=14)
GROUPS = st.lists(st.sampled_from(["0", "1", "12", "123", "1234", ".", ",", " ", "'", "-", "e3"]), max_size=7)


@pytest.mark.parametrize("notation", NOTATIONS, ids=str)
@given(texts=st.lists(ANY | GROUPS.map("".join), min_size=1), values=st.lists(NUMBERS))
@example(
    texts=["1.2.3", "12.34,5", "1.234,5", "0.125", ",", "1,", ",5", " 1 234 ", "1.234.56", "-", "1e5,0"], values=[]
)
def test_a_text_is_the_number_that_the_reference_reads_or_is_missing(
    notation: Notation, texts: list[str], values: list[Decimal]
) -> None:
    texts = texts + [written(value, notation) for value in values]
    wanted = pa.array([plain_number(value, notation) for value in texts], pa.string())
    assert wanted.slice(len(texts) - len(values)).null_count == 0
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        column = notation.plain(pa.array(texts, pa.string()).cast(kind))
        for read in (numbers, whole_numbers):
            (measured, there), (meant, is_number) = read(column), read(wanted)
            assert there.tolist() == is_number.tolist()
            assert measured[there].tolist() == meant[there].tolist()


def test_what_a_text_means_depends_on_no_other_text() -> None:
    texts = ["1.234,50", "15.30", "1,5", None, "12.34", "7"]
    notation = Notation(",", ".")
    alone = [notation.plain(pa.array([text], pa.string()))[0].as_py() for text in texts]
    assert notation.plain(pa.array(texts)).to_pylist() == alone == ["1234.50", None, "1.5", None, None, "7"]


def test_without_flags_a_column_is_handed_on_untouched() -> None:
    batch = pa.record_batch({"paid": ["1,5"]})
    assert Notations.read() == Notations()
    column = batch.column("paid")
    assert Notations().notation_of("paid").plain(column) is column
    assert Notation(",").plain(pa.array([1.5]))[0].as_py() == 1.5


SPELLINGS: Sequence[tuple[Any, Any]] = [
    (",", [","]),
    ({"paid": ","}, ["paid=,"]),
    ([",", "paid=."], {"": ",", "paid": "."}),
    (None, "."),
    ([",", "paid=,"], ","),
]


@pytest.mark.parametrize(("given", "same"), SPELLINGS)
def test_spellings_of_one_meaning_are_one_value_and_can_be_read_again(given: Any, same: Any) -> None:
    numbers = Notations.read(given)
    assert numbers == Notations.read(same)
    assert Notations.read(**numbers.describe()) == numbers


def test_spaces_are_written_as_escapes_that_forms_and_shells_keep() -> None:
    numbers = Notations.read(",", [" ", "paid=\\u202f"])
    assert numbers.notation_of("paid").thousands == "\u202f"
    assert numbers.describe() == {"decimal": [","], "thousands": ["\\u0020", "paid=\\u202f"]}
    assert Notations.read(**numbers.describe()) == numbers


REFUSED: Sequence[tuple[dict[str, Any], str]] = [
    ({"decimal": ",,"}, r"decimal= must be a single character.*not ',,'"),
    ({"decimal": ""}, "decimal= must be a single character"),
    ({"decimal": "5"}, "no digit"),
    ({"decimal": "e"}, "no digit, letter or sign, not 'e'"),
    ({"decimal": "-"}, "not '-'"),
    ({"decimal": " "}, "not ' '"),
    ({"decimal": "'"}, "decimal="),
    ({"thousands": "\t"}, "thousands= must be a single character.*a space, an apostrophe"),
    ({"thousands": "E"}, "not 'E'"),
    ({"thousands": "٣"}, "not '٣'"),
    ({"decimal": {"paid": 5}}, "for column 'paid'.*not 5"),
    ({"thousands": "."}, r"thousands= is \".\", and so is the decimal separator; give both"),
    ({"decimal": ",", "thousands": ","}, r"thousands= is \",\""),
    ({"decimal": {"paid": ","}, "thousands": {"many": ".", "paid": ","}}, "the decimal separator of column '"),
    ({"decimal": [",", "."]}, "decimal= is given twice for 'all columns'"),
    ({"decimal": ["paid=,", "paid=;"]}, "decimal= is given twice for 'paid'"),
    ({"decimal": {"nowhere": ","}}, "nowhere"),
    ({"decimal": {"stars": ","}}, "decimal= and thousands= are for text, and column 'stars' holds int64"),
    ({"decimal": ",", "where": "paid >= 15,5"}, r"'paid >= 15,5' does not write.*decimal point; write 15\.5"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "message"), REFUSED, ids=lambda parameter: str(parameter)[:30])
def test_separators_that_no_number_has_are_refused(words: dict[str, Any], message: str) -> None:
    table = pa.table({"user": ["ann"], "item": ["tea"], "paid": ["1,5"], "many": ["2"], "stars": [5]})
    with pytest.raises(HeadcountError, match=message):
        hc.read_events(table, user="user", item="item", items=["tea"], **words)


# Every place where text becomes a number

PLAIN = {"paid": ["1234.50", "15.30", "0.5", "7", "", "n/a"], "many": ["2", "1000", "3", "x", "1", "1"]}
COMMA = {"paid": ["1.234,50", "15,30", "0,5", "7", "", "n/a"], "many": ["2", "1.000", "3", "x", "1", "1"]}
NAMES = {"user": ["ann", "ann", "bob", "cem", "cem", "dan"], "item": ["tea", "rye", "tea", "tea", "rye", "tea"]}
FLAGS: dict[str, Any] = {"decimal": ",", "thousands": "."}
SECRET = bytes(16)


def both(**words: Any) -> list[EventLog]:
    """Return the same log in plain notation, and in the other one."""
    usual = {"user": "user", "item": "item", "items": ["tea", "rye"]} | words
    return [
        read_events(pa.table(NAMES | values), **{**usual, **flags})
        for values, flags in ((PLAIN, {}), (COMMA, FLAGS))
    ]


def shown(log: EventLog, bound: Any) -> Any:
    """Return all that is measured of a log."""
    return plainly(LocalEngine().measure(log, bound, SECRET))


WORDS: dict[str, tuple[dict[str, Any], Any]] = {
    "value": ({"value": "paid", "value_range": "0,2000"}, UserTotals(5)),
    "times": ({"times": "many"}, SampleRecords(5000)),
    "where": ({"where": "paid >= 15.3"}, SampleRecords(5)),
    "where, exactly": ({"where": "many > 999"}, SampleRecords(5)),
}


@pytest.mark.parametrize("name", WORDS)
def test_both_notations_are_measured_alike(name: str) -> None:
    words, bound = WORDS[name]
    plain, comma = both(**words)
    unread = read_events(comma.source, user="user", item="item", items=["tea", "rye"], **words)
    assert shown(plain, bound) == shown(comma, bound) != shown(unread, bound)


def test_bins_of_numbers_are_those_of_the_plain_notation() -> None:
    grid = Grid.from_mapping({"paid": {"edges": [0, 1, 10, 100, 2000]}})
    logs = [
        read_people(pa.table(NAMES | values), user="user", **flags)
        for values, flags in ((PLAIN, {}), (COMMA, FLAGS))
    ]
    plain, comma = (shown(log, GroupCells(grid)) for log in logs)
    assert plain == comma


def test_tags_are_kept_by_conditions_in_the_other_notation() -> None:
    words: dict[str, Any] = {
        "user": "user",
        "resource": "item",
        "tag": "many",
        "resources": ["tea"],
        "vocabulary": ["2", "3"],
    }
    logs = [
        read_tags(pa.table(NAMES | values), where="paid >= 0.5", **words, **flags)
        for values, flags in ((PLAIN, {}), (COMMA, FLAGS))
    ]
    assert [scan(log).records for log in logs] == [2, 2]


def test_a_check_counts_the_other_notation() -> None:
    for words, _ in WORDS.values():
        plain, comma = (scan(log).to_json() for log in both(**words))
        assert plain == comma


def test_users_items_and_contexts_stay_texts() -> None:
    table = pa.table({"user": ["1,0", "1.0"], "item": ["1.000", "1000"], "size": ["2,5", "2.5"]})
    log = read_events(
        table, user="user", item="item", items=["1.000"], context="size", contexts={"size": ["2,5"]}, **FLAGS
    )
    report = scan(log)
    assert (report.people, report.records, report.contexts_without_records) == (1, 1, ())


def test_times_are_no_numbers_of_this_notation() -> None:
    """A ledger's window knows a row by its time alone, so no other flag may move a time."""
    table = pa.table({"user": ["ann"], "item": ["tea"], "at": ["1.772.791.200"]})
    words: dict[str, Any] = {
        "user": "user",
        "item": "item",
        "items": ["tea"],
        "context": "hour:at",
        "time_format": "s",
    }
    assert scan(read_events(table, **words, **FLAGS)).problems[0].what.startswith("no time")


# One log, two notations, one release


@pytest.fixture(autouse=True, scope="module")
def _wrapped() -> Any:
    with wrapped_noise():
        yield


def rows(*, comma: bool) -> list[list[str]]:
    values = [Decimal(number * 7919 % 300_000) / 100 for number in range(600)]
    notation = Notation(",", ".") if comma else Notation()
    return [[f"u{n % 90}", ("Käse", "Tee")[n % 2], written(value, notation)] for n, value in enumerate(values)]


def in_csv(folder: Path, *, comma: bool) -> tuple[Path, dict[str, Any]]:
    lines = ["Kunde;Artikel;Umsatz", *(";".join(row) for row in rows(comma=comma))]
    path = folder / f"Umsätze {comma}.csv"
    path.write_bytes("\r\n".join(lines).encode("cp1252"))
    return path, {"delimiter": ";", "encoding": "cp1252"}


def in_json(folder: Path, *, comma: bool) -> tuple[Path, dict[str, Any]]:
    path = folder / f"{comma}.jsonl"
    line = '{{"Kunde": "{}", "Artikel": "{}", "Umsatz": "{}"}}'
    path.write_text("\n".join(line.format(*row) for row in rows(comma=comma)), encoding="utf-8")
    return path, {}


def in_parquet(folder: Path, *, comma: bool) -> tuple[Path, dict[str, Any]]:
    path, columns = folder / f"{comma}.parquet", list(zip(*rows(comma=comma), strict=True))
    pq.write_table(pa.table(dict(zip(("Kunde", "Artikel", "Umsatz"), columns, strict=True))), path)
    return path, {}


def in_pandas(folder: Path, *, comma: bool) -> tuple[Any, dict[str, Any]]:
    import pandas as pd

    return pd.DataFrame(rows(comma=comma), columns=["Kunde", "Artikel", "Umsatz"], dtype=object), {}


@pytest.mark.parametrize("write", [in_csv, in_json, in_parquet, in_pandas])
@pytest.mark.parametrize("fields", [{"value_range": "0,200"}, {}], ids=["range", "finds a range"])
def test_one_log_in_both_notations_gives_the_identical_release(
    write: Any, fields: dict[str, Any], tmp_path: Path
) -> None:
    releases = []
    for comma in (False, True):
        events, how = write(tmp_path, comma=comma)
        log = read_events(
            events, user="Kunde", item="Artikel", value="Umsatz", **fields, **how, **(FLAGS if comma else {})
        )
        request = request_of(ReleaseRequest, epsilon="1", what="totals", limit=5)
        releases.append(ran(request, log, noise=Tape(1)).totals)
    assert releases[0].equals(releases[1])


def test_an_identity_knows_the_notation_where_it_is_given() -> None:
    """Requests of earlier versions keep theirs: what is not given is not in it."""
    request = request_of(ReleaseRequest, epsilon="1", what="totals", limit=5)
    plain, comma = both(value="paid", value_range="0,1")
    described = json.loads(prepare_request(request, plain).identity()[0])["events"]
    assert not {"decimal", "thousands"} & described.keys()
    with_notation = json.loads(prepare_request(request, comma).identity()[0])["events"]
    assert with_notation == described | {"decimal": [","], "thousands": ["."]}
    again, _ = both(value="paid", value_range="0,1", decimal=".", thousands=None)
    assert prepare_request(request, again).identity() == prepare_request(request, plain).identity()


@pytest.mark.parametrize("words", [{"where": "paid >= 15.3"}, {"times": "many"}])
def test_a_store_is_packed_in_the_other_notation(words: dict[str, Any], tmp_path: Path) -> None:
    plain, comma = both(**words)
    hc.pack(comma, tmp_path / "store")
    store = read_events(tmp_path / "store")
    assert store.roles.numbers == comma.roles.numbers
    assert shown(store, SampleRecords(5000)) == shown(plain, SampleRecords(5000))
