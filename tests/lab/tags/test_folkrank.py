"""FolkRank against its definition, written out with dense matrices."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headcount.events.tag_log import Tagging
from headcount.lab.tags import folkrank
from headcount.lab.tags.folkrank import FolkRank, best_places
from tests.support.tag_logs import drawn

Floats = NDArray[np.float64]


def dense(tagging: Tagging, user: int, resource: int, damping: float = 0.7, base: float = 1.0) -> Floats:
    """Return the differential weights of all tags, straight from the definition."""
    people, resources, tags = tagging.people, tagging.resources, tagging.tags
    size = people + resources + tags
    edges = np.zeros((size, size))
    for u, r, t in zip(tagging.user, tagging.resource, tagging.tag, strict=True):
        for a, b in ((u, people + r), (u, people + resources + t), (people + r, people + resources + t)):
            edges[a, b] += 1
            edges[b, a] += 1
    walk = edges / np.maximum(edges.sum(axis=0), 1)
    preference = np.ones(size)
    preference[user] += people
    preference[people + resource] += resources
    preference /= preference.sum()
    weights, without = np.full(size, 1 / size), np.full(size, 1 / size)
    for _ in range(10):
        weights = damping * walk @ weights + (1 - damping) * preference
        without = base * walk @ without
    return np.asarray((weights - without)[people + resources :])


def scores(tagging: Tagging, users: list[int], resources: list[int]) -> Floats:
    values = np.full((len(users), tagging.tags), np.nan)
    for places, some in FolkRank(tagging).scores(np.array(users), np.array(resources)):
        values[places] = some
    return values


@given(st.integers(0, 10_000))
def test_it_is_what_the_definition_says(seed: int) -> None:
    tagging = drawn(seed)
    users, resources = [0, 3, 5, 0], [1, 1, 4, 2]
    expected = np.array([dense(tagging, u, r) for u, r in zip(users, resources, strict=True)])
    assert np.abs(scores(tagging, users, resources) - expected).max() < 1e-9


@pytest.mark.parametrize("chunk", [2, 512])
def test_many_questions_are_answered_as_few_are(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folkrank, "_CHUNK", chunk)
    monkeypatch.setattr(folkrank, "_TOGETHER", 2)
    tagging = drawn(3)
    pairs = [(u, r) for u in range(6) for r in range(5)]  # every user and resource several times: the other way
    users, resources = [u for u, _ in pairs], [r for _, r in pairs]
    together = scores(tagging, users, resources)
    for at, (user, resource) in enumerate(pairs):
        assert np.abs(together[at] - dense(tagging, user, resource)).max() < 1e-9


def test_the_dense_check_would_see_a_wrong_baseline_or_damping() -> None:
    tagging = drawn(5)
    computed = scores(tagging, [1], [2])[0]
    assert np.abs(computed - dense(tagging, 1, 2, base=0.7)).max() > 1e-4
    assert np.abs(computed - dense(tagging, 1, 2, damping=0.75)).max() > 1e-4


def test_a_node_without_edges_gets_and_gives_nothing() -> None:
    tagging = Tagging.from_codes([0], [0], [0], people=2, resources=2, tags=2)
    assert np.abs(scores(tagging, [1], [1])[0] - dense(tagging, 1, 1)).max() < 1e-12


def test_the_best_come_first_and_equal_ones_in_their_order() -> None:
    rows = np.array([[0.0, 2.0, 2.0, 1.0, 2.0], [5.0, 5.0, 5.0, 5.0, 5.0]])
    assert best_places(rows, 3).tolist() == [[1, 2, 4], [0, 1, 2]]
    assert best_places(rows, 9).shape == (2, 5)


@pytest.mark.slow
def test_ten_thousand_questions_on_last_fm_take_less_than_a_minute() -> None:
    file = Path(os.environ.get("HEADCOUNT_DATA", ".")) / "hetrec-lastfm-tags.parquet"
    if not file.exists():
        pytest.skip("hetrec-lastfm-tags is not at hand")
    table = pq.read_table(file)
    codes = [np.unique(table[name].to_numpy(), return_inverse=True)[1] for name in ("user", "resource", "tag")]
    sizes = [int(column.max()) + 1 for column in codes]
    tagging = Tagging.from_codes(*codes, people=sizes[0], resources=sizes[1], tags=sizes[2])
    questions = np.random.default_rng(1).choice(codes[0].size, 10_000)
    begin = time.process_time()
    best = FolkRank(tagging).top(codes[0][questions], codes[1][questions], 10)
    assert time.process_time() - begin < 60
    assert best.shape == (10_000, 10)
