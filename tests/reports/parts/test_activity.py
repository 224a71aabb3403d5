"""How active people are: drawn from released bins alone, and said what for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from headcount.releases.release import Interval, Release
from headcount.reports.parts import activity
from headcount.reports.release import release_page
from headcount.reports.sentences import counted_words
from tests.reports.test_release_page import DAYS, EVIL, Reader

Make = Callable[..., Release]


def drawn(histogram: activity.ActivityHistogram) -> list[dict[str, Any]]:
    (rows,) = histogram.figure.spec["datasets"].values() if "datasets" in histogram.figure.spec else [None]
    return list(rows or histogram.figure.spec["data"]["values"])


def test_bins_after_the_last_significant_one_are_cut_and_that_is_stated(adaptive: Make) -> None:
    users = [900.0, 30.0, 80.0, -12.0, 3.0, 5.0, -70.0]
    (histogram,) = activity.histograms(adaptive(users=users))
    assert [row["count"] for row in drawn(histogram)] == users[:4]
    assert "The last 3 bins are not drawn" in histogram.figure.note
    assert [row["users"] for row in histogram.rows] == users


@pytest.mark.parametrize("users", [[90.0, 900.0], [-30.0, 2.0, -5.0], [1.0]])
def test_nothing_is_cut_where_the_last_bin_is_significant_or_none_is(adaptive: Make, users: list[float]) -> None:
    (histogram,) = activity.histograms(adaptive(users=users))
    assert [row["count"] for row in drawn(histogram)] == users
    assert histogram.figure.note == "Lines: low to high."


def test_the_picture_hangs_on_the_released_table_alone(adaptive: Make) -> None:
    first_release, other = adaptive(), adaptive(items=["tea"], steps=("Something else.",), chosen={})
    first, second = (activity.histograms(release) for release in (first_release, other))
    assert first == second


def test_items_and_pairs_get_a_figure_and_a_table(adaptive: Make) -> None:
    given = adaptive(scopes=("items", "pairs"), contexts=DAYS, counts="users")
    for histogram, scope in zip(activity.histograms(given), ("items", "pairs"), strict=True):
        assert [row["of"] for row in histogram.rows] == [scope] * 5
    page = Reader(release_page(given))
    assert len(page.charts) == 5
    assert page.text.count("People by number of different items") == 2
    assert page.text.count("People by number of different pairs of item and weekday") == 2
    assert "The same numbers as tables" in page.text


def test_a_release_that_does_not_say_of_what_has_records(adaptive: Make) -> None:
    given = adaptive()
    older = given.tables["activity"].drop_columns(["of"])
    release = adaptive(tables={**given.tables, "activity": older}, interval=Interval())
    (histogram,) = activity.histograms(release)
    assert histogram.unit == "records"
    assert "chosen from" not in activity.words(release)
    assert "scaled up" not in activity.words(release)
    assert "People by number of records" in Reader(release_page(release)).text


def test_no_bins_no_section(adaptive: Make) -> None:
    given = adaptive()
    for tables in ({"items": given.items}, {**given.tables, "activity": given.tables["activity"].slice(0, 0)}):
        assert "How active people are" not in Reader(release_page(adaptive(tables=tables))).text


def test_the_use_of_the_histogram_is_stated(adaptive: Make) -> None:
    words = activity.words(adaptive())
    assert "can be negative" in words
    assert "with 95 % probability, each on its own" in words  # unlike the counts, which hold on average
    assert "The limit of 64 was chosen from these numbers" in words
    given = activity.words(adaptive(chosen={}))
    assert "chosen from" not in given
    assert "above the limit were scaled up" in given


def test_the_page_of_estimates_tells_the_truth(adaptive: Make) -> None:
    given = adaptive(contexts=DAYS)
    page = Reader(release_page(given))
    assert counted_words(given) == "Count of records"
    for sentence in (
        "Counts of records over 30 items and 2 contexts, estimated from numbers that carry random noise",
        "low and high enclose it in 95 % of cases, on average over all rows",
        "An arrow says that an interval goes on beyond the chart",
        "5,000 4,699 45,004",  # 5,000.37 from 4,699.87 to 45,003.83, rounded outward
        "From the largest count to the smallest",
        "900 840 960",
        "may be zero",
        "over all rows",
    ):
        assert sentence in page.text, sentence
    for unsaid in (
        "at most 10 records",
        "The limit may have swapped",
        "intervals of the noise",
        "stand clear of the noise",
        "each count on its own",
        "sink into the noise",
        "within the noise",
    ):
        assert unsaid not in page.text, unsaid


def test_a_name_cannot_break_out_of_it(adaptive: Make) -> None:
    given = adaptive(scopes=("pairs", EVIL), contexts=DAYS, context_name=EVIL)
    page = Reader(release_page(given))
    assert "img" not in page.tags
    assert len(page.charts) == 5


def test_long_tables_are_cut(adaptive: Make) -> None:
    bins = pa.table({"from": range(1, 500), "to": range(1, 500), "users": [9.0] * 499, "low": [1.0] * 499})
    bins = bins.append_column("high", pa.array([20.0] * 499))
    (histogram,) = activity.histograms(adaptive(tables={**adaptive().tables, "activity": bins}))
    assert len(histogram.rows) == activity.MOST_BINS
