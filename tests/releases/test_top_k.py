"""The largest counts: ties by the order of the catalogue, contexts by name."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.errors import UnknownNameError, UsageError
from headcount.releases.top_k import in_context, top, top_of_ranking

EDGES = pa.table(
    {
        "item": ["tea", "tea", "tea", "rye", "rye", "rye"],
        "context": ["AM", "PM", None] * 2,
        "count": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    }
)


@given(st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=20), st.integers(1, 25))
def test_the_largest_first_ties_in_catalogue_order(counts: list[float], k: int) -> None:
    rows = top(pa.table({"item": list(range(len(counts))), "count": counts}), k)
    expected = sorted(range(len(counts)), key=lambda item: (-counts[item], item))[:k]
    assert [row["item"] for row in rows] == expected
    assert [row["rank"] for row in rows] == list(range(1, len(expected) + 1))
    assert [row["count"] for row in rows] == [counts[item] for item in expected]


def test_the_table_may_be_chunked() -> None:
    table = pa.concat_tables([pa.table({"item": [n], "count": [float(n % 3)]}) for n in range(6)])
    assert [row["item"] for row in top(table, 3)] == [2, 5, 1]


@pytest.mark.parametrize("k", [0, -1])
def test_k_is_at_least_one(k: int) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        top(EDGES, k)


@pytest.mark.parametrize(("context", "counts"), [("AM", [1, 4]), ("am", [1, 4]), ("Pm", [2, 5])])
def test_context_lookup_ignores_case(context: str, counts: list[float]) -> None:
    assert in_context(EDGES, ("AM", "PM"), context)["count"].to_pylist() == counts


def test_an_exact_name_wins_over_a_similar_one() -> None:
    edges = pa.table({"item": [1, 1], "context": ["am", "AM"], "count": [1.0, 2.0]})
    assert in_context(edges, ("am", "AM"), "AM")["count"].to_pylist() == [2.0]
    with pytest.raises(UnknownNameError, match="'Am' is not in this release"):
        in_context(edges, ("am", "AM"), "Am")  # which of the two?


@pytest.mark.parametrize("context", ["noon", "", "A"])
def test_an_unknown_context_is_refused_with_suggestions(context: str) -> None:
    with pytest.raises(UnknownNameError, match="there are: 'AM', 'PM'"):
        in_context(EDGES, ("AM", "PM"), context)


def test_german_and_greek_fold() -> None:
    edges = pa.table({"item": [1], "context": ["STRASSE"], "count": [1.0]})
    assert in_context(edges, ("STRASSE",), "straße").num_rows == 1


RANKING = pa.table(
    {
        "rank": [1, 2, 3, 1, 2, 3],
        "item": ["tea", "rye", "oat", "rye", "oat", "tea"],
        "context": ["AM"] * 3 + ["PM"] * 3,
    }
)
OVERALL = RANKING.slice(0, 3).drop_columns(["context"])


@pytest.mark.parametrize(("k", "items"), [(1, ["tea"]), (2, ["tea", "rye"]), (3, ["tea", "rye", "oat"])])
def test_the_best_of_a_ranking_in_its_own_order(k: int, items: list[str]) -> None:
    rows = top_of_ranking(OVERALL, None, k, None)
    assert [row["item"] for row in rows] == items
    assert [row["rank"] for row in rows] == list(range(1, k + 1))


def test_a_ranking_has_no_more_places_than_were_released() -> None:
    assert len(top_of_ranking(OVERALL, None, 50, None)) == 3
    assert len(top_of_ranking(RANKING, ("AM", "PM"), 50, "PM")) == 3


@pytest.mark.parametrize("context", ["PM", "pm"])
def test_a_ranking_of_one_context(context: str) -> None:
    rows = top_of_ranking(RANKING, ("AM", "PM"), 2, context)
    assert rows == [
        {"rank": 1, "item": "rye", "context": "PM"},
        {"rank": 2, "item": "oat", "context": "PM"},
    ]


def test_a_ranking_says_whether_it_is_per_context() -> None:
    with pytest.raises(UsageError, match="not per context"):
        top_of_ranking(OVERALL, None, 1, "AM")
    with pytest.raises(UsageError, match="per context; name one with --context, such as 'AM'"):
        top_of_ranking(RANKING, ("AM", "PM"), 1, None)
    with pytest.raises(UnknownNameError, match="there are: 'AM', 'PM'"):
        top_of_ranking(RANKING, ("AM", "PM"), 1, "noon")


@pytest.mark.parametrize("k", [0, -1])
def test_k_of_a_ranking_is_at_least_one(k: int) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        top_of_ranking(OVERALL, None, k, None)
