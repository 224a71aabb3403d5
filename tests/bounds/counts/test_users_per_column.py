"""Sparse counts: sealed, refused where they are not what they claim, and moved by nobody further than declared."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.bounds import Bounded
from headcount.bounds.bounded import SEAL, Sensitivity
from headcount.bounds.counts.users_per_column import (
    SparseCounts,
    SparseScored,
    UsersPerColumn,
    sparse_scores,
    take_sparse_column,
    take_sparse_places,
)
from headcount.bounds.linear_maps import take_column, take_places
from headcount.bounds.scores.candidate_scores import count_scores

people = st.lists(st.integers(0, 4), min_size=1, max_size=12)


def codes(values: Sequence[int]) -> Any:
    return np.array(values, dtype=np.int32)


def sparse(counts: Sequence[int]) -> SparseCounts:
    there = np.flatnonzero(counts)
    return UsersPerColumn.seal(codes(there.tolist()), codes(np.array(counts)[there].tolist()), len(counts))


def dense(counts: Sequence[int]) -> Bounded:
    size = len(counts)
    return Bounded(np.array(counts), Sensitivity(l1=size, l2_squared=size, linf=1), SEAL)


@given(people)
def test_scores_are_those_of_all_counts(counts: list[int]) -> None:
    mine, its = sparse_scores(sparse(counts)), count_scores(dense(counts))
    gaps = np.full(mine.size, mine.sensitive_gap_of_zeros)
    gaps[mine.sensitive_columns] = mine.sensitive_gaps
    assert gaps.tolist() == its.sensitive_gaps.tolist()
    assert mine.sensitive_gaps.dtype == np.int32
    assert (mine.size, mine.rise) == (its.size, its.rise)


@given(people, st.data())
def test_parts_and_columns_are_those_of_all_counts(counts: list[int], data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(counts) - 1), unique=True, min_size=1))
    mine, its = take_sparse_places(sparse(counts), places), take_places(dense(counts), places)
    assert mine.sensitive_values.tolist() == its.sensitive_values.tolist()
    assert mine.sensitivity.l1 == its.sensitivity.l1 == len(places)
    assert mine.sensitivity.linf == mine.unit == mine.admission == 1
    width = data.draw(st.sampled_from([n for n in range(1, 13) if len(counts) % n == 0]))
    place = data.draw(st.integers(0, width - 1))
    item_column = take_sparse_column(sparse(counts), width, place)
    whole = dense(counts).sensitive_values.reshape(-1, width)
    its = take_column(Bounded(whole, dense(counts).sensitivity, SEAL), place)
    assert (
        take_sparse_places(item_column, range(item_column.size)).sensitive_values.tolist()
        == its.sensitive_values.tolist()
    )
    assert item_column.sensitive_columns.dtype == np.int32


def test_a_part_keeps_the_sensitivity() -> None:
    """Over all who may join: each raises any of the counts by 1."""
    counts, places = [0, 3, 1, 0], [2, 0, 3]
    before = take_sparse_places(sparse(counts), places)
    furthest = 0
    for change in itertools.product((0, 1), repeat=4):
        after = take_sparse_places(sparse([*np.add(counts, change).tolist()]), places)
        step = after.sensitive_values - before.sensitive_values
        assert (step >= 0).all()
        assert (step**2).sum() <= before.sensitivity.l2_squared
        assert step.max() <= before.sensitivity.linf
        furthest = max(furthest, int(step.sum()))
    assert furthest == before.sensitivity.l1


@pytest.mark.parametrize(
    ("columns", "counted", "size"),
    [([3], [1], 3), ([-1], [1], 3), ([1, 1], [1, 1], 3), ([2, 1], [1, 1], 3), ([1], [0], 3), ([1, 2], [1], 3)],
    ids=str,
)
def test_what_are_no_counts_is_refused(columns: list[int], counted: list[int], size: int) -> None:
    with pytest.raises(ValueError, match="must"):
        UsersPerColumn.seal(codes(columns), codes(counted), size)


def test_wide_integers_are_refused() -> None:
    with pytest.raises(ValueError, match="32-bit"):
        UsersPerColumn.seal(np.array([1]), codes([1]), 3)


def test_only_the_package_makes_them() -> None:
    with pytest.raises(TypeError, match="UsersPerColumn"):
        SparseCounts(codes([1]), codes([1]), 3, object())
    with pytest.raises(TypeError, match="alone"):
        SparseScored(sparse([0, 1]), object())


class Heir(SparseCounts):
    """A class that could override what was certified."""


@pytest.mark.parametrize("forgery", [None, dense([1]), Heir(codes([0]), codes([1]), 1, SEAL)], ids=repr)
def test_nothing_else_is_taken(forgery: Any) -> None:
    for take in (
        sparse_scores,
        lambda candidates: take_sparse_places(candidates, [0]),
        lambda candidates: take_sparse_column(candidates, 1, 0),
    ):
        with pytest.raises(TypeError, match="SparseCounts alone"):
            take(forgery)


@pytest.mark.parametrize("places", [[1, 1], [2, -1], [3]], ids=str)
def test_repeated_places_are_refused(places: list[int]) -> None:
    with pytest.raises(ValueError, match="may be taken once"):
        take_sparse_places(sparse([1, 0, 2]), places)


@pytest.mark.parametrize(("width", "place"), [(2, 0), (3, 3), (3, -1)])
def test_a_column_is_one_of_the_table(width: int, place: int) -> None:
    with pytest.raises(ValueError, match="have no column"):
        take_sparse_column(sparse([1, 0, 2]), width, place)


def test_values_cannot_be_changed_and_are_not_shown() -> None:
    counts, scores = sparse([0, 77, 0]), sparse_scores(sparse([0, 77, 0]))
    for values in (counts.sensitive_columns, counts.sensitive_users, scores.sensitive_gaps):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 5
    assert repr(counts) == "<SparseCounts over 3 columns>"
    assert repr(scores) == "<SparseScored 3 candidates>"
