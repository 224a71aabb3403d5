"""PNCF's model: neighbours of items, from which own ratings predict; it says that its claim does not hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headcount.accounting.budget import Grant
from headcount.accounting.guarantee import Standing
from headcount.errors import GrantError, UsageError
from headcount.events.log import EventLog
from headcount.lab.as_published.pncf_release import PncfPublished
from headcount.lab.recommender import neighbourhood
from headcount.lab.recommender.candidates import Queries
from headcount.lab.recommender.neighbourhood import Neighbourhood
from headcount.methods.recommender.recommender import NeighbourModel
from headcount.noise import SeededNoise
from headcount.releases.release import Release
from tests.lab.recommender import synthetic_ratings


@pytest.fixture
def log() -> EventLog:
    return synthetic_ratings.log_of(synthetic_ratings.ratings(1))


def released(log: EventLog, epsilon: str = "1", **parameters: Any) -> Release:
    return PncfPublished(**parameters).release(log, Grant(epsilon), SeededNoise(1))


@pytest.mark.parametrize("metric", ["cos", "pcc"])
def test_a_model_of_neighbours_predicts_from_own_ratings_as_equation_3_2_3_does(metric: Any) -> None:
    """With a huge ε, and all items as neighbours, it is the plain method, for somebody who is in the log."""
    ratings = synthetic_ratings.ratings(2, share=0.8, step=0.1)
    model = NeighbourModel(released(synthetic_ratings.log_of(ratings), "1000000", k=11, metric=metric))
    items, values = ratings.of_user(4)
    own = {f"f{item}": value for item, value in zip(items, values, strict=True)}
    others = np.setdiff1d(np.arange(12), items).astype(np.int32)
    queries = Queries(np.full(others.size, 4, np.int32), others)
    expected = neighbourhood.predict(ratings, queries, Neighbourhood(metric=metric, k=11))
    rows = model.predict(own)
    assert [row["item"] for row in rows] == [f"f{item}" for item in others]
    assert [row["rating"] for row in rows] == pytest.approx(expected.tolist(), abs=1e-3)
    best = max(rows, key=lambda row: float(row["rating"]))
    assert model.recommend(own, 1) == [{"rank": 1, **best}]


def test_a_neighbour_model_predicts_the_users_mean_without_neighbours(log: EventLog) -> None:
    model = NeighbourModel(released(log, k=1))
    table = model.release.tables["model/neighbours"].to_pylist()
    neighbour = {row["item"]: row["neighbour"] for row in table}
    mute = next(item for item in neighbour if neighbour[item] not in ("f0", "f1") and item not in ("f0", "f1"))
    assert model.predict({"f0": 5, "f1": 2}, [mute])[0]["rating"] == pytest.approx(3.5)
    with pytest.raises(UsageError, match="there are none"):
        model.predict({})


def test_the_release_is_a_model_of_neighbours_and_says_that_the_claim_does_not_hold(log: EventLog) -> None:
    grant = Grant("1")
    release = PncfPublished(k=3, metric="pcc").release(log, grant, SeededNoise(1))
    assert grant.is_spent
    assert release.guarantee.standing is Standing.CLAIMED
    assert not release.is_private
    assert release.tables["model/items"].to_pylist()[3] == {"item": "f3", "label": None}
    model = release.tables["model/neighbours"]
    assert model.column_names == ["item", "neighbour", "similarity"]
    assert model.num_rows == 3 * 12
    assert model["item"].to_pylist() == [f"f{n}" for n in range(12) for _ in range(3)]
    assert all(row["item"] != row["neighbour"] for row in model.to_pylist())
    assert "3 neighbours were drawn" in release.explain()
    assert "not established" in release.explain() or "claim" in release.explain()


def test_the_model_follows_the_ratings(log: EventLog) -> None:
    """With a huge ε the neighbours are the most similar items, and similarities are exact."""
    grant = Grant("1000000")
    model = PncfPublished(k=2).release(log, grant, SeededNoise(1)).tables["model/neighbours"].to_pylist()
    alike = Neighbourhood(metric="cos").compared(synthetic_ratings.ratings(1)).values
    for row in model:
        item, other = int(row["item"][1:]), int(row["neighbour"][1:])
        assert row["similarity"] == pytest.approx(alike[item, other], abs=1e-4)


def test_what_it_cannot_use_is_refused(log: EventLog) -> None:
    bare = replace(log, roles=replace(log.roles, value=None), value_range=None)
    with pytest.raises(UsageError, match="needs ratings"):
        released(bare)
    with pytest.raises(UsageError, match="neighbours are compared by"):
        PncfPublished(k=0)
    with pytest.raises(GrantError, match="PNCF uses no δ"):
        PncfPublished().release(log, Grant("1", "1e-6"), SeededNoise(1))
    assert PncfPublished().noise_distributions(log, Grant("1")) == {}
