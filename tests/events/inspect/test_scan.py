"""A look through a log says exactly what its readers leave out, in any batches, and names the reasons."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headcount.bounds.keys.key_support import KeySupport
from headcount.bounds.tags.tag_weights import Taggers
from headcount.bounds.values.user_totals import UserTotals
from headcount.engines.local.pack import pack
from headcount.events.encode.passes import EncodedLog
from headcount.events.inspect.report import DistinctPairs
from headcount.events.inspect.scan import scan
from headcount.events.log import EventLog, read_events
from headcount.events.tag_log import read_tags
from headcount.events.user_table import read_people

USERS = ["ann", "bob", "cyn", "", None, "🦊", "x" * 10_000]
ITEMS = ["tea", "rye", "oat", "tee", "", None, "\0"]
TIMES = ["2026-03-06", "2026-03-07T10:00Z", "soon", "", None, "1772821800", "99999-01-01"]
NUMBERS = ["1", "2", "0", "-1", "many", "", None, "9" * 30, "1e3", "nan"]
SEXES = ["F", "M", "X", None, ""]


def table(seed: int, rows: int = 200) -> pa.Table:
    draw = random.Random(seed)
    named = {"user": USERS, "item": ITEMS, "time": TIMES, "n": NUMBERS, "stars": NUMBERS, "sex": SEXES}
    return pa.table({name: pa.array(draw.choices(values, k=rows), pa.string()) for name, values in named.items()})


def log_of(seed: int, **words: Any) -> EventLog:
    words = {"user": "user", "item": "item", "items": ["rye", "tea", "oat"]} | words
    return read_events(table(seed), **words)


def records_of(coded: EncodedLog) -> tuple[int, Counter[int]]:
    """How many records count as the engines read a log, and how many each person has."""
    of_people: Counter[int] = Counter()
    for batch in coded.batches():
        counts = batch.cells >= 0
        times = np.ones(counts.sum(), dtype=np.int64) if batch.times is None else batch.times[counts]
        for user, number in zip(batch.users[counts].tolist(), times.tolist(), strict=True):
            of_people[user] += number
    return sum(of_people.values()), of_people


WORDS: dict[str, dict[str, Any]] = {
    "items": {},
    "weekdays": {"context": "weekday:time"},
    "sexes": {"context": "sex", "contexts": ["F", "M"]},
    "two columns": {"context": ["sex", "n"], "contexts": {"sex": ["F", "M"], "n": ["1", "2"]}},
    "times": {"times": "n", "context": "hour:time"},
    "conditions": {"where": ["stars >= 1", "sex != X"], "time": "time", "since": "2026-03-07"},
    "text": {"where": "stars = many"},
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS.keys())
def test_it_counts_what_the_engines_count(words: dict[str, Any], seed: int) -> None:
    log = log_of(seed, **words)
    report, coded = scan(log), EncodedLog(log)
    records, of_people = records_of(coded)
    assert report.records == records > 0
    assert report.people == len([number for number in of_people.values() if number])
    assert report.activity is not None
    assert report.activity.most[0] == (1, max(of_people.values()))
    assert report.rows == coded.tally.rows == 200
    assert not report.all_counts
    if "times" not in words and "context" in words:
        unknown = sum(problem.number for problem in report.problems if problem.fate == "counted as unknown")
        missing_both = unknown - coded.tally.unknown_context  # of two columns, both may be missing
        assert missing_both == 0 or (len(words["context"]) == 2 and missing_both > 0)


@pytest.mark.parametrize("seed", range(3))
def test_values_totals_and_selection_are_read_as_their_engines_do(seed: int) -> None:
    valued = log_of(seed, value="stars", value_range="1,2")
    assert scan(valued).records == records_of(EncodedLog(valued, UserTotals(1).reading(valued)))[0] > 0
    totals = log_of(seed, items=None, value="stars", value_range="1,2")
    assert scan(totals).records == records_of(EncodedLog(totals, UserTotals(1).reading(totals)))[0] > 0
    selecting = log_of(seed, items=None, select_items=True, times="n")
    assert scan(selecting).records == records_of(EncodedLog(selecting, KeySupport(1).reading(selecting)))[0] > 0
    people = scan(read_people(table(seed), user="user", where="sex != X"))
    assert (
        people.records + sum(problem.number for problem in people.problems) + (people.left_out or 0) == people.rows
    )
    assert people.repeats is None


@pytest.mark.parametrize("seed", range(3))
def test_a_record_without_a_listed_tag_does_not_count(seed: int) -> None:
    lists: dict[str, Any] = {"resources": ["rye", "tea"], "vocabulary": ["F", "M"]}
    log = read_tags(table(seed), user="user", resource="item", tag="sex", **lists)
    report = scan(log)
    assert report.records == records_of(EncodedLog(log, Taggers().reading(log)))[0] > 0
    assert {problem.fate for problem in report.problems} == {"not counted"}
    assert "a tag outside the vocabulary" in {problem.what for problem in report.problems}


def test_a_store_of_tags_counts_what_has_a_listed_tag(tmp_path: Path) -> None:
    lists: dict[str, Any] = {"resources": ["rye", "tea"], "vocabulary": ["F", "M"]}
    log = read_tags(table(1), user="user", resource="item", tag="sex", **lists)
    store = read_tags(pack(log.as_events(), tmp_path / "store"))
    report, packed = scan(log), scan(store)
    same = ("rows", "left_out", "records", "people", "activity", "repeats")
    assert [getattr(packed, name) for name in same] == [getattr(report, name) for name in same]
    assert {problem.fate for problem in packed.problems} == {"not counted"}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS.keys())
def test_batches_make_no_difference(words: dict[str, Any]) -> None:
    log, rows = log_of(7, **words), table(7)
    singly = pa.concat_tables([rows.slice(row, 1) for row in range(rows.num_rows)])
    coded = pa.table({name: rows[name].dictionary_encode() for name in rows.column_names})
    for other in (singly, coded):
        again = read_events(other, user="user", item="item", items=["rye", "tea", "oat"], **words)
        assert scan(again).to_json() == scan(log).to_json()


def test_rows_add_up() -> None:
    """Every row is counted, left out on purpose, or named in a problem: there is no third way to get lost."""
    rows: list[tuple[str | None, ...]] = [
        ("ann", "tea", "5"),
        (None, "tea", "5"),
        ("bob", None, "5"),
        ("bob", "tee", "5"),
        ("bob", "rye", "1"),
    ]
    rows += [("cyn", "rye", "five"), ("cyn", "rye", None)]
    columns = zip(*rows, strict=True)
    log = read_events(
        pa.table(dict(zip(("user", "item", "stars"), columns, strict=True))),
        user="user", item="item", items=["tea", "rye"], where="stars >= 3",
    )  # fmt: skip
    report = scan(log)
    assert (report.rows, report.left_out, report.records) == (7, 1, 1)
    assert [str(problem) for problem in report.problems] == [
        "1 row (14.3 %): nothing in column 'stars' (stars >= 3)",
        "1 row (14.3 %): nothing to compare in column 'stars' (stars >= 3): 'five'",
        "1 row (25.0 %): no user in column 'user'",
        "1 row (25.0 %): no item in column 'item'",
        "1 record (50.0 %): an item outside the catalogue: 'tee' (1)",
    ]


def test_a_row_that_another_condition_leaves_out_is_no_problem() -> None:
    rows = pa.table({"user": ["a", "b"], "item": ["tea", "tea"], "kind": ["click", "visit"], "stars": [None, "5"]})
    for where in (["kind = visit", "stars >= 3"], ["stars >= 3", "kind = visit"]):
        assert scan(read_events(rows, user="user", item="item", items=["tea"], where=where)).all_counts


def test_repeats_and_heaviest_users() -> None:
    visits = [("ann", "tea")] * 5 + [("ann", "rye"), *((f"u{n}", "tea") for n in range(20))]
    report = scan(EventLog.of(visits, items=["rye", "tea"]))
    assert report.repeats is not None
    assert (report.repeats.records, report.repeats.total, report.repeats.share_of_people) == (4, 26, 1.0)
    assert report.activity is not None
    assert report.activity.most == ((1, 6), (3, 8), (10, 15))
    assert (report.activity.median, report.activity.most_of_90, report.activity.most_of_99) == (1, 1, 6)
    assert not report.hints
    once = scan(EventLog.of(visits[5:], items=["rye", "tea"]))
    assert once.hints == ("each person has an item once: --count users is more accurate",)
    assert not scan(EventLog.of(visits[5:], items=["rye", "tea"], counting="users")).hints


def test_many_pairs_are_estimated_from_a_sample_of_the_users() -> None:
    pairs, rng = DistinctPairs(most=1_000), np.random.default_rng(1)
    records = np.zeros(2_000, dtype=np.int64)
    all_keys = []
    for _ in range(20):
        users = rng.integers(2_000, size=1_000).astype(np.int32)
        items = rng.integers(6, size=1_000).astype(np.int32)
        pairs.add(users, items)
        np.add.at(records, users, 1)
        all_keys += list(zip(users.tolist(), items.tolist(), strict=True))
    distinct = pairs.distinct
    kept = pairs.records_of_kept(records)
    assert pairs.share_of_people in (1 / 16, 1 / 32)
    assert distinct <= 1_000
    assert abs(kept / 20_000 - pairs.share_of_people) < 0.03
    assert abs(distinct / kept - len(set(all_keys)) / 20_000) < 0.03  # as exact as a sample of people is


def test_values_that_are_cut_and_contexts_that_do_not_occur() -> None:
    rows = pa.table(
        {"u": [1, 2, 3, 4], "i": [7, 7, 7, 7], "v": [0.5, 3.0, 9.0, float("inf")], "t": ["2026-03-06"] * 4}
    )
    log = read_events(rows, user="u", item="i", items=[7], value="v", value_range="1,5", context="weekday:t")
    report = scan(log)
    assert report.values_cut == (1, 1)
    assert report.hints == ("33.3 % of the values lie below 1 and 33.3 % above 5: they are cut to these",)
    assert len(report.contexts_without_records) == 6
    assert "Friday" not in report.contexts_without_records
    assert [str(problem) for problem in report.problems] == [
        "1 row (25.0 %): no number in column 'v' (--value): 'inf'"
    ]


def test_an_empty_text_is_a_user_id_and_is_reported() -> None:
    report = scan(EventLog.of([("", "tea"), ("", "rye"), ("ann", "tea")], items=["rye", "tea"]))
    assert report.all_counts
    assert report.people == 2
    assert "one person, with 2 records, is an empty text in column 'user'" in report.hints[0]


def test_a_log_without_rows_has_nothing_to_count() -> None:
    empty = pa.table({"user": pa.array([], pa.string()), "item": pa.array([], pa.string())})
    report = scan(read_events(empty, user="user", item="item", items="tea"))
    assert [problem.role for problem in report.problems] == ["log"]
    assert (report.activity, report.repeats, report.people) == (None, None, 0)


def test_examples_are_few_short_and_raw() -> None:
    bad = pa.array([b"caf\xe9", b"tea", b"caf\xe9", *(bytes([0xFF, 65 + n]) for n in range(9)), b"\xfe" * 2_000])
    rows = pa.table({"user": pa.array(range(13)), "item": bad.view(pa.string())})
    problem = scan(read_events(rows, user="user", item="item", items="tea")).problems[0]
    assert (problem.role, problem.column, problem.number) == ("item", "item", 12)
    assert [example.text for example in problem.examples] == ["caf\\xe9", "\\xffA", "\\xffB"]
    assert problem.remedy == "see --encoding"


def test_reports_do_not_name_users() -> None:
    visits = [(f"secret-{n % 5}", "tea") for n in range(50)]
    report = scan(EventLog.of(visits, items=["tea"]))
    assert "secret" not in str(report.to_json()) + str(report)
