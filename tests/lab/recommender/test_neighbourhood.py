"""Plain neighbourhood methods: predictions and recommendations worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from headcount.errors import UsageError
from headcount.lab.recommender import candidates as gathering
from headcount.lab.recommender.candidates import SIDES, By, Candidates, Queries
from headcount.lab.recommender.neighbourhood import SUPPORT, Neighbourhood, best, predict, recommend
from headcount.lab.recommender.ratings import Ratings
from headcount.lab.recommender.similarity import METRICS, Metric, similarity
from tests.lab.recommender import synthetic_ratings

#            tea  rye  oat
TABLE = [
    [5, 4, 0],  # 0
    [1, 2, 5],  # 1
    [4, 4, 2],  # 2
    [2, 1, 4],  # 3
]


def ratings_of(table: Sequence[Sequence[float]]) -> Ratings:
    dense = np.array(table, dtype=float)
    users, items = np.nonzero(dense)
    return Ratings.from_pairs(users, items, dense[users, items], n_items=dense.shape[1], n_users=dense.shape[0])


def ask(*pairs: tuple[int, int]) -> Queries:
    users, items = np.array(pairs, dtype=np.int32).T
    return Queries(users, items)


def test_item_based_by_hand() -> None:
    """What does user 0 give oat? The similarities of oat to tea and rye weigh their ratings, 5 and 4."""
    tea = (1 * 5 + 4 * 2 + 2 * 4) / np.sqrt((1 + 16 + 4) * (25 + 4 + 16))
    rye = (2 * 5 + 4 * 2 + 1 * 4) / np.sqrt((4 + 16 + 1) * (25 + 4 + 16))
    both = Neighbourhood(by="item", metric="cos", k=2)
    assert predict(ratings_of(TABLE), ask((0, 2)), both) == pytest.approx([(tea * 5 + rye * 4) / (tea + rye)])
    nearest = Neighbourhood(by="item", metric="cos", k=1)
    assert rye > tea
    assert predict(ratings_of(TABLE), ask((0, 2)), nearest).tolist() == [4.0]


def test_user_based_by_hand() -> None:
    """User 0, mean 4.5, is like user 2 (mean 10/3) and also like 3 and 1 (cosine over tea and rye)."""
    others = {
        1: (5 * 1 + 4 * 2) / np.sqrt(41 * 5),
        2: (5 * 4 + 4 * 4) / np.sqrt(41 * 32),
        3: (5 * 2 + 4 * 1) / np.sqrt(41 * 5),
    }
    apart = {1: 5 - 8 / 3, 2: 2 - 10 / 3, 3: 4 - 7 / 3}
    two = sorted(others, key=lambda user: -others[user])[:2]
    assert two == [2, 3]
    expected = 4.5 + sum(others[u] * apart[u] for u in two) / sum(others[u] for u in two)
    predicted = predict(ratings_of(TABLE), ask((0, 2)), Neighbourhood(by="user", metric="cos", k=2))
    assert predicted == pytest.approx([expected])


def test_unlike_neighbours_have_no_weight_unless_they_are_to_have_it() -> None:
    ratings = ratings_of([[1, 5, 0], [5, 1, 3], [4, 2, 4], [1, 5, 1]])
    alike = similarity(ratings, "pcc").values[2]
    assert alike[0] > 0 > alike[1]
    plain = predict(ratings, ask((0, 2)), Neighbourhood(by="item", metric="pcc", k=2, within=(-9, 9)))
    assert plain.tolist() == [1.0]
    signed = predict(
        ratings, ask((0, 2)), Neighbourhood(by="item", metric="pcc", k=2, within=(-9, 9), signed=True)
    )
    assert signed == pytest.approx([(alike[0] * 1 + alike[1] * 5) / (abs(alike[0]) + abs(alike[1]))])


def test_without_neighbours_the_users_own_mean_is_predicted_and_ratings_stay_in_range() -> None:
    ratings = ratings_of([[5, 4, 0], [0, 0, 3], [0, 0, 0]])
    for by in SIDES:
        assert predict(ratings, ask((0, 2)), Neighbourhood(by=by)).tolist() == [4.5]
        assert predict(ratings, ask((2, 0)), Neighbourhood(by=by)).tolist() == [4.0]  # of all ratings
        assert predict(ratings_of(TABLE), ask((0, 2)), Neighbourhood(by=by, within=(1, 3))).tolist() == [3.0]


def test_the_predicted_rating_itself_is_not_used() -> None:
    for by in SIDES:
        settings = Neighbourhood(by=by, metric="cos", k=3)
        if by == "item":
            assert predict(ratings_of([[5, 1], [5, 1]]), ask((0, 0)), settings).tolist() == [1.0]
        else:
            assert predict(ratings_of([[5, 1], [5, 3]]), ask((0, 0)), settings).tolist() == [4.0]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("by", SIDES)
def test_predictions_do_not_hang_on_how_queries_are_cut(
    by: By, metric: Metric, monkeypatch: pytest.MonkeyPatch
) -> None:
    ratings = synthetic_ratings.ratings(8, users=40)
    queries = ask(*((user, item) for user in range(40) for item in range(12)))
    settings = Neighbourhood(by=by, metric=metric, k=4)
    whole = predict(ratings, queries, settings)
    monkeypatch.setattr(gathering, "_AT_ONCE", 50)
    assert len(list(gathering.parts(ratings, queries, by))) > 10
    assert np.array_equal(predict(ratings, queries, settings), whole)
    assert np.unique(whole).size > 50


def test_the_first_of_equally_similar_candidates_are_taken_largest_first() -> None:
    scores = np.array([0.5, 0.9, 0.5, 0.9, 0.1, 0.7, 0.7, 0.2])
    query = np.array([0, 0, 0, 0, 0, 2, 2, 2])
    some = Candidates(query, scores, scores, scores, np.zeros(3), np.zeros(3))
    assert some.ranked(scores, 3).tolist() == [1, 3, 0, 5, 6, 7]
    assert some.ranked(scores, 1).tolist() == [1, 5]
    assert some.ranked(scores, 9).tolist() == [1, 3, 0, 2, 4, 5, 6, 7]


def test_recommended_items_are_those_that_go_with_what_was_rated() -> None:
    """Item-based: item 2 goes with 0 and 1, rated by users 0 to 3; item 3 with nothing of user 4's."""
    ratings = ratings_of([[4, 3, 5, 0], [4, 4, 4, 0], [3, 3, 3, 0], [5, 0, 5, 1], [4, 4, 0, 0]])
    assert recommend(ratings, 4, Neighbourhood(by="item", k=5), 3).tolist() == [2, 3]
    assert recommend(ratings, 4, Neighbourhood(by="item", k=5), 1).tolist() == [2]
    assert recommend(ratings, 4, Neighbourhood(by="user", k=3), 3).tolist() == [2]


def test_a_neighbour_with_more_in_common_comes_first() -> None:
    """Users 1 and 2 are as similar to user 0 as can be; user 1 shares one rating, user 2 three."""
    ratings = ratings_of([[4, 3, 5, 0, 0], [4, 0, 0, 5, 0], [4, 3, 5, 0, 2]])
    assert recommend(ratings, 0, Neighbourhood(by="user", k=1), 5).tolist() == [4]
    assert recommend(ratings, 0, Neighbourhood(by="user", k=2), 5).tolist() == [4, 3]
    weights = np.array([3 / (3 + SUPPORT) * 2, 1 / (1 + SUPPORT) * 5])
    assert weights[0] > weights[1]


def test_the_best_are_positive_and_not_rated_already() -> None:
    score = np.array([3.0, 0.0, 5.0, 4.0])
    assert best(score, np.array([2], dtype=np.int32), 4).tolist() == [3, 0]


@pytest.mark.parametrize("wrong", [{"by": "film"}, {"metric": "jaccard"}, {"k": 0}])
def test_what_is_no_neighbourhood_method_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="neighbours are compared by item or user"):
        Neighbourhood(**wrong)  # type: ignore[arg-type]
