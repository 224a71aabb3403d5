"""PriTop's three operations are those that the thesis prints, and its theorems on usefulness are looked at."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from headcount.events.tag_log import Tagging
from headcount.lab.as_published.pritop_operations import least_probable_go, noisy_changes, private_topics, replaced
from headcount.lab.tags.kernels import apart, replace_all, selected
from headcount.lab.tags.topics import Topics, enough_tags, entropies, largest_factor

LEVEL = 1e-4  # how often a statistical test of a right law fails; seeds are fixed


def two_tastes(people: int = 200) -> tuple[Tagging, Topics]:
    """Return people who use tags 0 to 4 on resource 0; somebody else uses tags 5 to 9, of the other topic."""
    rows = [(person, 0, tag) for person in range(people) for tag in range(5)]
    rows += [(people, 1, tag) for tag in range(5, 10)]
    tagging = Tagging.from_codes(*zip(*rows, strict=True), people=people + 2, resources=2, tags=10)
    of_tag = np.zeros((10, 2), dtype=np.int64)
    of_tag[:5, 0], of_tag[5:, 1] = people, people  # both as sure as if as many used the others
    return tagging, Topics(of_tag, np.array([[5 * people, 0], [0, 5 * people]], dtype=np.int64))


def test_noise_goes_to_topics_in_which_a_user_has_nothing() -> None:
    tagging, model = two_tastes()
    done = replaced(tagging, model, 1.0, np.random.default_rng(1))
    after = done.published(np.random.default_rng(1))
    elsewhere = np.unique(after.user[after.tag >= 5])
    assert 50 < np.count_nonzero(elsewhere < 200) < 150  # noise is half the time positive
    assert after.user.max() == 200  # who has no tags gets none


def test_noise_of_weights_has_the_printed_scale() -> None:
    tagging, _ = two_tastes(2000)
    for epsilon, law, fits in ((0.5, 8.0, True), (0.5, 10.4, False), (0.5, 5.6, False), (1.0, 4.0, True)):
        changes = noisy_changes(tagging, 2, epsilon, np.random.default_rng(1))
        assert changes.shape == (2002, 2)
        assert not changes[2001].any()
        edges = np.arange(-8, 9) + 0.5
        counts = np.bincount(np.searchsorted(edges, changes[:2001].ravel()), minlength=edges.size + 1)
        below = stats.laplace(scale=law).cdf(np.concatenate([[-np.inf], edges, [np.inf]]))
        p_value = stats.chisquare(counts, counts.sum() * np.diff(below)).pvalue
        assert (p_value > LEVEL) == fits


def test_where_topics_shrink_the_least_probable_tags_go() -> None:
    user, topic = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 0, 0])
    probable = np.array([0.5, 0.1, 0.2, 0.1, 0.5])
    stays = least_probable_go(user, topic, probable, np.array([[-1, 2], [-9, 0]]))
    assert stays.tolist() == [True, False, True, False, False]


def test_the_noise_of_topics_is_in_the_distances() -> None:
    tagging, model = two_tastes()
    near, far = (private_topics(tagging, model, e, np.random.default_rng(1)) for e in (100.0, 0.02))
    exact = np.repeat(np.eye(2), 5, axis=0)
    assert np.abs(near.shares - exact).max() < 0.05
    assert np.abs(far.shares - exact).max() > 0.1
    assert near.shares.sum(axis=1) == pytest.approx(np.ones(10))
    moved = {
        e: (done := replaced(tagging, model, e, np.random.default_rng(1))).distances[done.stays]
        for e in (100.0, 0.02)
    }
    assert (moved[100.0] < 0.05).all()
    assert ((moved[0.02] > 0.01) & (moved[0.02] < 0.99)).any()


def test_an_unused_tag_is_no_candidate() -> None:
    tagging = Tagging.from_codes([0, 0], [0, 0], [0, 2], people=1, resources=1, tags=4)
    model = Topics(np.array([[1], [0], [1], [0]]), np.array([[2]]))
    private = private_topics(tagging, model, 1.0, np.random.default_rng(1))
    assert private.home.tolist() == [0, -1, 0, -1]
    done = replaced(tagging, model, 0.01, np.random.default_rng(2))
    assert done.candidates.tolist() == [2]
    assert set(done.published(np.random.default_rng(2)).tag.tolist()) <= {0, 2}


def shares_of(seed: int, tags: int = 6, topics: int = 5) -> NDArray[np.float64]:
    return np.random.default_rng(seed).dirichlet(np.full(topics, 0.3), tags)


def test_divergence_is_that_of_the_definition() -> None:
    shares = shares_of(1)
    for first in range(6):
        for other in range(6):
            middle = (shares[first] + shares[other]) / 2
            direct = sum((shares[index] * np.log2(shares[index] / middle)).sum() for index in (first, other)) / 2
            assert apart(shares, entropies(shares), first, other) == pytest.approx(direct, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 8.0, 60.0])
def test_tags_are_drawn_by_the_exponential_mechanism(epsilon: float) -> None:
    """Also where nearly all draws are refused and all candidates are weighed instead."""
    shares = shares_of(2)
    entropy, candidates = entropies(shares), np.arange(1, 6, dtype=np.int32)
    away = np.array([apart(shares, entropy, 0, candidate) for candidate in candidates])
    state, times = np.uint64(7), np.zeros(5)
    for _ in range(20_000):
        place, state = selected(0, candidates, 5, shares, entropy, epsilon / 8, np.uint64(state))
        times[place] += 1

    def fits(steepness: float) -> bool:
        weights = np.exp(-steepness * away)
        return bool(stats.chisquare(times, times.sum() * weights / weights.sum()).pvalue > LEVEL)

    assert fits(epsilon / 8)
    assert epsilon < 8 or not fits(epsilon / 4)


def chosen(changes: list[int], own: list[int], stays: list[bool]) -> tuple[list[int], list[int]]:
    """Return what replaces a person's own tags, and what is added, where one topic has tags 0, 1, 2 and 3."""
    many, shares = len(own), np.ones((6, 1))
    new_tags, moved = np.full(many, -1, dtype=np.int64), np.ones(many)
    owners, added = (np.full(9, -1, dtype=np.int64) for _ in range(2))
    count = replace_all(
        np.zeros(many, dtype=np.int32), np.zeros(many, dtype=np.int64), np.array(own, dtype=np.int32),
        np.array(stays), np.array([changes]), np.arange(6, dtype=np.int32)[None, :], np.arange(4, dtype=np.int32),
        np.array([0, 4]), shares, np.zeros(6), 0.1, np.uint64(3), new_tags, moved, owners, added,
    )  # fmt: skip
    return new_tags.tolist(), added[:count].tolist()


def test_no_tag_is_drawn_twice_and_own_tags_come_first() -> None:
    new_tags, added = chosen([9], [0, 5], [True, True])
    assert sorted([*new_tags, *added]) == [0, 1, 2, 3]
    new_tags, added = chosen([1], [0, 5, 4], [True, False, True])
    assert new_tags[1] == -1
    assert len({new_tags[0], new_tags[2], *added}) == 3
    assert chosen([-1], [2], [False]) == ([-1], [])


def test_theorem_4_4_1_is_refuted_by_its_noise_alone() -> None:
    """Twenty tags in ten topics meet its condition, and far more than a share δ of such people lose over α."""
    topics, epsilon, alpha, delta, people = 10, 1.0, 0.1, 0.5, 400
    assert 2 * topics >= enough_tags(topics, epsilon, alpha, delta)
    user, tag = np.repeat(np.arange(people), 20), np.tile(np.arange(20), people)
    tagging = Tagging.from_codes(user, tag, tag, people=people, resources=20, tags=20)
    changes = noisy_changes(tagging, topics, epsilon, np.random.default_rng(1))
    stays = least_probable_go(user, tag % topics, np.ones(tag.size), changes)
    lost = 1 - stays.reshape(people, 20).mean(axis=1)
    assert (lost > alpha).mean() > 0.9


def test_theorem_4_4_2_holds_where_it_speaks_and_speaks_of_no_choice() -> None:
    """Two tags with nothing in common: whatever α and δ it holds for, it says no more than is so."""
    epsilon, shares = 1.0, np.eye(2)
    factor = math.exp(epsilon / 8) + 1
    candidates, state, lost = np.arange(2, dtype=np.int32), np.uint64(1), 0
    for _ in range(4000):
        place, state = selected(0, candidates, 2, shares, np.zeros(2), epsilon / 8, np.uint64(state))
        lost += place
    for alpha in (0.6, 0.8, 0.99):
        for delta in (0.6, 0.8, 0.99):
            if factor <= largest_factor(epsilon, alpha, delta):
                assert lost / 4000 <= delta
    assert factor <= largest_factor(epsilon, 0.8, 0.8)
    assert largest_factor(epsilon, 0.5, 0.5) < 2  # every topic of two tags has a factor above 2
