"""Two releases side by side."""

from __future__ import annotations

import pytest

from headcount.errors import UsageError
from headcount.releases.release import Interval
from headcount.studio.services.exploration.compare import compare
from headcount.studio.services.exploration.opened_release import OpenedRelease
from tests.reports.conftest import REACH, make, make_ranking

DAYS = ("Monday", "Friday")


def test_a_difference_is_reported_where_intervals_do_not_overlap() -> None:
    first = OpenedRelease(make(items=["a", "b", "c"], sizes=[1000.0, 500.0, 100.0]))
    near = 500 + 2 * REACH
    second = OpenedRelease(make(items=["b", "c", "d", "a"], sizes=[near, 99.0, 7.0, 1000.0 - 2 * REACH - 1]))
    comparison = compare(first, second)
    rows = {row["item"]: row for row in comparison.rows.page().rows}
    assert [*rows] == ["a", "b", "c"]
    assert [row["told_apart"] for row in rows.values()] == [True, False, False]
    assert rows["a"]["high"] < 0
    assert rows["b"]["low"] == pytest.approx(0)
    assert rows["c"]["difference"] == -1
    assert (comparison.told_apart, comparison.only_first, comparison.only_second) == (1, 0, 1)
    assert comparison.sure == "at least 90 %"
    assert list(comparison.caveats) == []


def test_cells_are_matched_by_item_and_context_the_unknown_included() -> None:
    first, second = (OpenedRelease(make(items=items, contexts=DAYS)) for items in (["a", "b"], ["b", "a"]))
    comparison = compare(first, second, "edges")
    assert comparison.rows.table.num_rows == 6
    assert comparison.only_first == comparison.only_second == 0
    same = compare(first, first, "edges")
    assert set(same.rows.table["difference"].to_pylist()) == {0.0}


def test_names_that_concatenate_equally_are_not_confused() -> None:
    first = OpenedRelease(make(items=["a 1:b", "a"], contexts=["c", "1:b 1:c"]))
    comparison = compare(first, first, "edges")
    assert set(comparison.rows.table["difference"].to_pylist()) == {0.0}
    assert comparison.rows.table.num_rows == 6


def test_different_counting_rules_are_reported() -> None:
    users = OpenedRelease(make(counts="users", interval=Interval(covers="smoothed", average=True)))
    caveats = " ".join(compare(OpenedRelease(make()), users).caveats)
    for words in ("count different things", "Smoothing", "on average"):
        assert words in caveats


def test_releases_with_nothing_in_common_are_refused() -> None:
    with pytest.raises(UsageError, match="no numbers in common"):
        compare(OpenedRelease(make()), OpenedRelease(make_ranking()))
    with pytest.raises(UsageError, match="no item in common; choose releases of the same dataset"):
        compare(OpenedRelease(make(items=["tea", "rye"])), OpenedRelease(make(items=["Alien", "Heat"])))
    with pytest.raises(UsageError, match="both releases must have this table"):
        compare(OpenedRelease(make()), OpenedRelease(make(contexts=DAYS)), "edges")
