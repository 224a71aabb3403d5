"""Ratings as a sparse matrix: repeats, roles swapped, parts taken out and people added."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.lab.recommender.ratings import Ratings
from tests.lab.recommender import synthetic_ratings


def test_the_matrix_is_what_was_put_in_whatever_the_order() -> None:
    users, items, values = [2, 0, 2, 0], [1, 1, 0, 2], [4.0, 2.0, 5.0, 1.0]
    dense = np.array([[0, 2, 1], [0, 0, 0], [5, 4, 0]], dtype=float)
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        ratings = Ratings.of(*(np.array(column)[order] for column in (users, items, values)), n_items=3)
        assert np.array_equal(ratings.sparse().toarray(), dense)
        assert ratings.n_users == 3
    assert np.array_equal(ratings.transposed.sparse().toarray(), dense.T)
    assert ratings.users.tolist() == [0, 0, 2, 2]


def test_several_ratings_of_one_item_become_their_mean() -> None:
    ratings = Ratings.of([0, 0, 0, 0], [1, 1, 0, 1], [1.0, 2.0, 5.0, 4.0], n_items=2)
    assert ratings.items.tolist() == [0, 1]
    assert ratings.values.tolist() == [5.0, pytest.approx(7 / 3)]


def test_means_of_those_who_rated_nothing_are_the_overall_mean() -> None:
    ratings = Ratings.of([1, 1, 3], [0, 1, 0], [1.0, 2.0, 5.0], n_items=2, n_users=5)
    assert ratings.means.tolist() == pytest.approx([8 / 3, 1.5, 8 / 3, 5.0, 8 / 3])
    assert Ratings.of([], [], [], n_items=3, n_users=2).means.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("users", "items"), [([0], [3]), ([0], [-1]), ([-1], [0]), ([2], [0])])
def test_codes_outside_are_refused(users: list[int], items: list[int]) -> None:
    with pytest.raises(ValueError, match="codes must lie within 2 users and 3 items"):
        Ratings.of(users, items, [1.0], n_items=3, n_users=2)


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
