"""Tables that are looked through: what a search finds, in which order, page by page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.errors import UnknownNameError
from headcount.studio.services.exploration.table_search import MOST_ROWS, Names, SearchableTable, fold_text

TABLE = pa.table(
    {
        "item": [1, 2, 3, 4],
        "label": ["Green tea", "Rye bread", "Café Tea", None],
        "count": [3.0, 9.0, 5.0, 9.0],
        "low": [None, 8.0, 4.0, 1.0],
    }
)
NAMED = {"item": Names.from_columns([1, 2, 3, 4], TABLE["label"].to_pylist())}


def item_ids(browsed: SearchableTable, search: str = "", **how: Any) -> list[Any]:
    return [row["item"] for row in browsed.page(search, **how).rows]


def test_the_largest_come_first_and_equal_ones_as_released() -> None:
    assert item_ids(SearchableTable(TABLE)) == [2, 4, 3, 1]


def test_every_word_must_match_regardless_of_case_and_accents() -> None:
    browsed = SearchableTable(TABLE, NAMED)
    assert item_ids(browsed, "TEA") == [3, 1]
    assert item_ids(browsed, "tea cafe") == [3]
    assert item_ids(browsed, "tea rye") == []
    assert item_ids(browsed, "4") == [4]  # by its id
    assert item_ids(browsed, "  ") == [2, 4, 3, 1]


def test_patterns_in_a_search_are_taken_literally() -> None:
    odd = SearchableTable(pa.table({"item": [1, 2], "label": ["50%.*", "plain"], "count": [1.0, 2.0]}))
    assert item_ids(odd, ".*") == [1]
    assert item_ids(odd, "%") == [1]


def test_columns_are_sorted_either_way_with_what_is_missing_last() -> None:
    browsed = SearchableTable(TABLE)
    assert item_ids(browsed, sort="label") == [4, 3, 1, 2]
    assert item_ids(browsed, sort="label", descending=True) == [2, 1, 3, 4]
    assert item_ids(browsed, sort="low") == [2, 3, 4, 1]
    assert item_ids(browsed, sort="low", descending=False) == [4, 3, 2, 1]
    with pytest.raises(UnknownNameError, match="column 'size' is not known"):
        browsed.page(sort="size")


def test_a_ranking_stays_in_its_order() -> None:
    ranking = pa.table({"rank": [1, 2], "item": ["b", "a"], "label": ["B", "A"], "count": [1.0, 5.0]})
    assert item_ids(SearchableTable(ranking)) == ["b", "a"]


def test_a_row_keeps_its_place_when_others_are_searched_away() -> None:
    page = SearchableTable(TABLE, NAMED).page("tea")
    assert list(page.places) == [3, 4]
    assert (page.matches, page.total) == (2, 4)


def test_pages_are_consecutive_and_end() -> None:
    browsed = SearchableTable(pa.table({"item": range(1000), "count": np.arange(1000.0)}))
    page = browsed.page(size=300)
    assert page.following == 300
    assert browsed.page(start=900, size=300).following is None
    assert browsed.page(start=5000).rows == []
    assert browsed.page(start=5000).following is None
    assert len(browsed.page(size=10**9).rows) == MOST_ROWS
    assert browsed.page(start=-5, size=-1).rows == browsed.page(size=1).rows


def test_an_empty_table_has_nothing_to_find() -> None:
    empty = SearchableTable(TABLE.slice(0, 0), NAMED)
    assert item_ids(empty, "tea") == []
    assert item_ids(empty, sort="label") == []
    assert item_ids(empty, sort="low") == []


@given(st.lists(st.tuples(st.text(max_size=6), st.floats(-9, 9)), max_size=20), st.text(max_size=3))
def test_a_search_finds_what_a_plain_one_does(rows: list[tuple[str, float]], search: str) -> None:
    table = pa.table(
        {
            "item": pa.array(range(len(rows)), pa.int64()),
            "label": pa.array([name for name, _ in rows], pa.string()),
            "count": pa.array([count for _, count in rows], pa.float64()),
        }
    )
    plain = [
        place
        for place, (name, _) in sorted(enumerate(rows), key=lambda entry: -entry[1][1])
        if all(word in fold_text(name) for word in fold_text(search).split())
    ]
    assert item_ids(SearchableTable(table), search) == plain
