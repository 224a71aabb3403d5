"""Ratings held back: as many of each user as asked for, and the rest to learn from."""

from __future__ import annotations

import numpy as np

from headcount.lab.recommender.candidates import Split, split_one_per_user, split_share_per_user
from headcount.lab.recommender.ratings import Ratings
from tests.lab.recommender import synthetic_ratings


def check_whole(split: Split, ratings: Ratings) -> None:
    """Both parts together are the ratings."""
    dense = split.train.sparse().toarray()
    dense[split.queries.users, split.queries.items] += split.truth
    assert np.array_equal(dense, ratings.sparse().toarray())


def test_a_fraction_of_every_users_ratings_is_held_back_at_random() -> None:
    ratings = synthetic_ratings.ratings(1, users=60)
    split = split_share_per_user(ratings, seed=3)
    check_whole(split, ratings)
    held = np.bincount(split.queries.users, minlength=60)
    assert np.array_equal(held, ratings.counts // 5)
    again, other = split_share_per_user(ratings, seed=3), split_share_per_user(ratings, seed=4)
    assert np.array_equal(again.queries.items, split.queries.items)
    assert not np.array_equal(other.queries.items, split.queries.items)
    assert np.unique(split.queries.items).size > 6


def test_one_rating_of_every_user_with_several_is_held_back() -> None:
    ratings = synthetic_ratings.ratings(2, users=60, share=0.15)
    split = split_one_per_user(ratings, seed=1)
    check_whole(split, ratings)
    assert ratings.counts.min() < 2
    assert np.array_equal(np.bincount(split.queries.users, minlength=60), (ratings.counts > 1).astype(int))


def test_the_error_is_the_mean_of_distances() -> None:
    split = split_one_per_user(Ratings.from_pairs([0, 0], [0, 1], [4.0, 4.0], n_items=2), seed=1)
    assert split.mean_absolute_error(np.array([2.5])) == 1.5
