"""The sybil attack: it finds what a leaking recommender shows, and nothing where the victim does not matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest

from headcount._internal.arrays import Codes, Floats
from headcount.errors import UsageError
from headcount.lab import attack as attack_module
from headcount.lab.as_published.pncf import Settings
from headcount.lab.as_published.pncf_operations import Mechanism
from headcount.lab.attack import (
    AsPublished,
    Attack,
    AttackResult,
    Plain,
    Private,
    Reader,
    Scene,
    Victim,
    combine_lists,
    mount,
    rank_risen_items,
)
from headcount.lab.recommender.neighbourhood import Neighbourhood
from headcount.lab.recommender.ratings import Ratings
from headcount.noise import SeededNoise
from tests.lab.recommender import synthetic_ratings

SMALL = Attack(victims=12, known=6, fakes=5, guesses=5)


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return synthetic_ratings.ratings(seed=3, users=150, items=120, share=0.15)


class Popular:
    """Recommends what most people rated, whatever one rated oneself."""

    def __call__(self, ratings: Ratings) -> Reader:
        counted = np.bincount(ratings.items, minlength=ratings.n_items)
        order = np.argsort(-counted, kind="stable").astype(np.int32)
        return lambda items, _, count: order[~np.isin(order, items)][:count]


@dataclass(frozen=True)
class Blind:
    """Recommends anything, whatever people rated."""

    draws: np.random.Generator

    def __call__(self, ratings: Ratings) -> Reader:
        order = self.draws.permutation(ratings.n_items).astype(np.int32)
        return lambda items, _, count: order[~np.isin(order, items)][:count]


def test_copies_recover_all_from_the_plain_user_based_method(ratings: Ratings) -> None:
    result = mount(ratings, Plain(Neighbourhood(by="user", k=5)), SMALL)
    assert result.total("recovered") == result.total("guessed") == 12 * 5
    assert result.times("uniform") > 5
    assert result.interval("uniform")[0] > 4
    assert result.times("absent") > 3


def test_two_observations_recover_much_from_the_plain_item_based_method(ratings: Ratings) -> None:
    attack = Attack(victims=12, known=6, guesses=5, looks="twice", meanwhile=0.002)
    result = mount(ratings, Plain(Neighbourhood(by="item", k=5)), attack)
    assert result.times("uniform") > 4
    assert result.interval("absent")[0] > 1.5


@pytest.mark.parametrize("looks", ["once", "twice"])
def test_where_the_victim_does_not_matter_the_attack_is_at_chance(ratings: Ratings, looks: Any) -> None:
    attack = Attack(victims=60, known=6, fakes=3, guesses=8, looks=looks, meanwhile=0.2)
    result = mount(ratings, Blind(np.random.Generator(np.random.PCG64(5))), attack)
    for baseline in ("uniform", "absent"):
        low, high = result.interval(baseline)
        assert low < 1 < high


def test_counts_without_noise_leak_to_repeated_observations(ratings: Ratings) -> None:
    ways: tuple[Literal["once", "twice"], ...] = ("once", "twice")
    once, twice = (
        mount(ratings, Popular(), Attack(victims=40, known=6, fakes=3, guesses=5, looks=looks, meanwhile=0.05))
        for looks in ways
    )
    assert twice.times("absent") > 1.2 * once.times("absent")
    assert twice.interval("absent")[0] > 1.5


def test_the_published_method_is_read_by_every_fake_anew(ratings: Ratings) -> None:
    settings = Settings(neighbourhood=Neighbourhood(by="user", k=5), mechanism=Mechanism(epsilon=1e6))
    result = mount(ratings, AsPublished(settings, SeededNoise(1)), SMALL)
    assert result.times("uniform") > 5  # so large an ε hides nothing
    hidden = Settings(neighbourhood=Neighbourhood(by="user", k=5), mechanism=Mechanism(epsilon=1e-3))
    assert mount(ratings, AsPublished(hidden, SeededNoise(1)), SMALL).times("uniform") < 2


def test_the_proven_method_is_fitted_once_with_the_fakes_in_it(
    ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: list[Any] = []

    class Model:
        def recommend(self, items: Codes, values: Floats, count: int) -> Codes:
            assert items.size == values.size == 6
            return np.setdiff1d(np.arange(120, dtype=np.int32), items)[:count]

    def fit_ratings(ratings: Ratings, epsilon: str, delta: str, within: object, noise: object) -> Model:
        fitted.append((ratings.n_users, epsilon, delta, within, noise))
        return Model()

    monkeypatch.setattr(attack_module, "fit_ratings", fit_ratings)
    noise = SeededNoise(1)
    result = mount(ratings, Private("1", "1e-6", (1.0, 5.0), noise), SMALL)
    assert fitted == [(150 + 4, "1", "1e-6", (1.0, 5.0), noise)] * 24  # with and without each of 12 victims
    assert result.times("absent") == 1.0


def test_a_scene_hides_the_attackers_unknowns_and_leaves_the_victim_out() -> None:
    ratings = Ratings.from_pairs([0, 0, 0, 1, 1], [0, 1, 2, 0, 2], [1.0, 2.0, 3.0, 4.0, 5.0], n_items=4)
    late = np.array([True, True, True, True, False])
    scene = Scene.from_ratings(ratings, 0, np.array([1], dtype=np.int32), late)
    assert (scene.auxiliary_items.tolist(), scene.given.tolist(), scene.hidden.tolist()) == ([1], [2.0], [0, 2])
    assert [array.tolist() for array in scene.absent.of_user(0)] == [[], []]
    assert scene.idle.of_user(0)[0].tolist() == [1]
    assert scene.idle.of_user(1)[0].tolist() == [0, 2]
    assert scene.before.of_user(0)[0].tolist() == [1]
    assert scene.before.of_user(1)[0].tolist() == [2]


def test_baselines_by_hand() -> None:
    """Of four items one is known; two of three others are hidden, and others rated them once and never."""
    ratings = Ratings.from_pairs(
        [0, 0, 0, 1, 2, 2], [0, 1, 2, 1, 3, 0], [3.0, 3.0, 3.0, 4.0, 5.0, 4.0], n_items=4, n_users=3
    )

    class Fixed:
        def __call__(self, ratings: Ratings) -> Reader:
            return lambda items, values, count: np.array([1, 3], dtype=np.int32)[:count]

    attack = Attack(victims=1, known=1, fakes=1, guesses=2, seed=1)
    victim = mount(ratings, Fixed(), attack).victims[0]
    attacker_item = next(item for item in range(3) if victim == _expected(item))
    assert attacker_item in (0, 1, 2)


def _expected(attacker_item: int) -> Victim:
    others = {0: 1, 1: 1, 2: 0, 3: 1}  # how often others rated each item
    hidden = {0, 1, 2} - {attacker_item}
    guesses = [item for item in (1, 3) if item != attacker_item]
    popular = sum(others[item] for item in hidden) / sum(
        others[item] for item in range(4) if item != attacker_item
    )
    hits = len(hidden & set(guesses))
    many = len(guesses)
    return Victim(hits, many, 2, many * 2 / 3, many * popular, float(hits))


def test_lists_are_summed_up_by_votes_and_ranks() -> None:
    lists = [np.array(items, dtype=np.int32) for items in ([4, 2, 9], [2, 4, 8], [7, 2, 4])]
    assert combine_lists(lists, np.array([9], dtype=np.int32), 3).tolist() == [2, 4, 7]
    before = [np.array(items, dtype=np.int32) for items in ([1, 2, 3], [1, 2, 3])]
    after = [np.array(items, dtype=np.int32) for items in ([3, 1, 2], [1, 3, 5])]
    assert rank_risen_items(before, after, np.array([5], dtype=np.int32), 4).tolist() == [3]


def test_numbers_and_intervals() -> None:
    victims = tuple(Victim(hits, 10, 20, 1.0, 2.0, float(base)) for hits, base in ((8, 4), (6, 3), (10, 5)))
    result = AttackResult(victims, 1)
    assert [result.times(baseline) for baseline in ("uniform", "popular", "absent")] == [8.0, 4.0, 2.0]
    assert result.interval("absent") == (2.0, 2.0)
    low, high = result.interval("uniform")
    assert 6.0 <= low < 8.0 < high <= 10.0
    none = AttackResult((Victim(3, 10, 20, 1.0, 2.0, 0.0),), 1)
    assert none.to_json()["baselines"]["absent"] == {"recovered": 0.0, "times": None, "interval": [None, None]}
    assert AttackResult((Victim(0, 10, 20, 1.0, 2.0, 0.0),), 1).times("absent") == 1.0


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"known": 0}, "known must be at least 1"),
        ({"fakes": 0}, "fakes must be at least 1"),
        ({"meanwhile": 0.7}, "meanwhile must be a share"),
    ],
)
def test_what_is_no_attack_is_refused(wrong: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        Attack(**wrong)


def test_too_few_users_with_enough_ratings_are_refused(ratings: Ratings) -> None:
    with pytest.raises(UsageError, match="people have 90 ratings or more"):
        mount(ratings, Popular(), Attack(victims=2, known=80))
