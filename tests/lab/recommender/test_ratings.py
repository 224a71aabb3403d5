"""Ratings as a sparse matrix: repeats, roles swapped, parts taken out and people added."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headcount.errors import UsageError
from headcount.events.log import EventLog, read_events
from headcount.lab.recommender.ratings import Ratings, ratings_of
from tests.lab.recommender import synthetic_ratings


def test_the_matrix_is_what_was_put_in_whatever_the_order() -> None:
    users, items, values = [2, 0, 2, 0], [1, 1, 0, 2], [4.0, 2.0, 5.0, 1.0]
    dense = np.array([[0, 2, 1], [0, 0, 0], [5, 4, 0]], dtype=float)
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        ratings = Ratings.from_pairs(*(np.array(column)[order] for column in (users, items, values)), n_items=3)
        assert np.array_equal(ratings.sparse().toarray(), dense)
        assert ratings.n_users == 3
    assert np.array_equal(ratings.transposed.sparse().toarray(), dense.T)
    assert ratings.users.tolist() == [0, 0, 2, 2]


def test_several_ratings_of_one_item_become_their_mean() -> None:
    ratings = Ratings.from_pairs([0, 0, 0, 0], [1, 1, 0, 1], [1.0, 2.0, 5.0, 4.0], n_items=2)
    assert ratings.items.tolist() == [0, 1]
    assert ratings.values.tolist() == [5.0, pytest.approx(7 / 3)]


def test_means_of_those_who_rated_nothing_are_the_overall_mean() -> None:
    ratings = Ratings.from_pairs([1, 1, 3], [0, 1, 0], [1.0, 2.0, 5.0], n_items=2, n_users=5)
    assert ratings.means.tolist() == pytest.approx([8 / 3, 1.5, 8 / 3, 5.0, 8 / 3])
    assert Ratings.from_pairs([], [], [], n_items=3, n_users=2).means.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("users", "items"), [([0], [3]), ([0], [-1]), ([-1], [0]), ([2], [0])])
def test_codes_outside_are_refused(users: list[int], items: list[int]) -> None:
    with pytest.raises(ValueError, match="codes must lie within 2 users and 3 items"):
        Ratings.from_pairs(users, items, [1.0], n_items=3, n_users=2)


def test_part_of_the_ratings_and_more_users() -> None:
    whole = synthetic_ratings.ratings(3)
    kept = whole.values > 2
    part = whole.only(kept)
    assert np.array_equal(
        part.sparse().toarray(), np.where(whole.sparse().toarray() > 2, whole.sparse().toarray(), 0)
    )
    more = whole.joined(np.array([5, 2], dtype=np.int32), np.array([1.0, 4.0]), 2)
    assert more.n_users == whole.n_users + 2
    for user in (whole.n_users, whole.n_users + 1):
        assert [array.tolist() for array in more.of_user(user)] == [[2, 5], [4.0, 1.0]]
    assert np.array_equal(more.sparse().toarray()[: whole.n_users], whole.sparse().toarray())


ROWS = pa.table(
    {
        "who": ["ann", "bob", "ann", "ann", "bob", "cyn"],
        "what": ["tea", "rye", "tea", "rye", "elsewhere", "oat"],
        "stars": [1.0, 9.0, 4.0, 2.0, 3.0, -2.0],
        "many": [1, 1, 3, 1, 1, 0],
    }
)


def read(**words: Any) -> EventLog:
    usual = {"items": "rye,tea,oat", "value": "stars", "value_range": "1,5"}
    return read_events(ROWS, user="who", item="what", **(usual | words))


def pairs(log: EventLog) -> dict[tuple[int, int], float]:
    ratings, _ = ratings_of(log)
    places = zip(ratings.users.tolist(), ratings.items.tolist(), strict=True)
    return dict(zip(places, ratings.values.tolist(), strict=True))


def test_repeats_become_their_mean_and_values_are_cut_to_the_range() -> None:
    assert pairs(read()) == {(0, 0): 2.0, (0, 1): 2.5, (1, 0): 5.0, (2, 2): 1.0}


def test_a_row_weighs_as_many_records_as_it_stands_for() -> None:
    assert pairs(read(times="many")) == {(0, 0): 2.0, (0, 1): 3.25, (1, 0): 5.0}


def test_conditions_hold() -> None:
    assert pairs(read(where="stars < 2")) == {(0, 1): 1.0, (1, 2): 1.0}
    assert pairs(read(where="stars > 100")) == {}


def test_users_of_raw_ratings_are_identified_by_their_ids() -> None:
    assert ratings_of(read()).people == {"ann": 0, "bob": 1, "cyn": 2}
    assert ratings_of(read(items="rye,tea")).people == {"ann": 0, "bob": 1}
    numbered = read_events(
        pa.table({"u": [70, 7], "i": ["a", "a"], "r": [1, 2]}),
        user="u", item="i", items="a", value="r", value_range="1,5",
    )  # fmt: skip
    assert ratings_of(numbered).people == {"70": 0, "7": 1}


def test_what_has_no_ratings_is_refused() -> None:
    with pytest.raises(UsageError, match="ratings need a value"):
        ratings_of(read(value=None, value_range=None))
    with pytest.raises(UsageError, match="ratings need a catalogue"):
        ratings_of(read(items=None, select_items=True))
