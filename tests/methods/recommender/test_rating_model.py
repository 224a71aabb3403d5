"""The private model of ratings: what it learns without noise to speak of, when relations pay, what it refuses."""

from __future__ import annotations

import math
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from headcount.accounting.budget import Grant
from headcount.accounting.noise_distributions import DiscreteGaussian, DiscreteLaplace
from headcount.accounting.zcdp import epsilon_for, rho_for
from headcount.errors import UsageError
from headcount.events.log import EventLog, read_events
from headcount.lab.recommender.candidates import split_share_per_user
from headcount.lab.recommender.neighbourhood import fit_ratings
from headcount.lab.recommender.ratings import Ratings
from headcount.methods.recommender.rating_model import PEOPLE_SHARE, RatingModel
from headcount.methods.recommender.recommender import NeighbourModel
from headcount.methods.recommender.request import RecommenderRequest
from headcount.methods.request import request_of
from headcount.noise import SeededNoise
from headcount.releases.release import Release
from headcount.run.prepare import prepare_request
from tests.contracts.support.method_facts import Special
from tests.support.distributions import LEVEL, fits_gaussian, fits_laplace

SPECIAL = {
    "private": Special(
        nearly={
            # each of 2 · 72 numbers is cut down to whole units, of which 1024 make a star
            ("add", 2): 1 - 144 / (20 * 1024),
            ("add_gaussian", 2): 1 - math.sqrt(144) / (7 * 1024),
            # factors of about a star are cut down to multiples of 1/256
            ("add", 3): 0.99,
            ("add_gaussian", 3): 0.99,
            # what a taste adds to each item is cut down to whole units, of which 2^20 make the length
            ("add_gaussian", 4): 0.99,
        }
    )
}

DELTA = "1e-6"


@lru_cache
def tastes(people: int, items: int = 80, seed: int = 0) -> EventLog:
    """Two kinds of people: one likes the first half of the items and not the second, the other the reverse."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        side = person % 2
        for item in rng.choice(items, 20, replace=False):
            liked = (item < items // 2) == bool(side)
            rows.append(
                (person, int(item), float(np.clip(3 + (1.2 if liked else -1.2) + rng.normal(0, 0.5), 1, 5)))
            )
    return EventLog.of(rows, items=list(range(items)), value_range=(1, 5))


def fitted(log: EventLog, epsilon: str, delta: str | None = DELTA, seed: int = 1, **options: Any) -> Release:
    return RatingModel(**options).release(log, Grant(epsilon, delta), SeededNoise(seed))


@pytest.mark.parametrize("delta", [DELTA, None])
def test_offsets_tell_good_items_from_bad(delta: str | None) -> None:
    rows = [(person, item, 5 - item) for person in range(300) for item in range(4)]
    log = EventLog.of(rows, items=list(range(5)), value_range=(1, 5))
    table = fitted(log, "100", delta).tables["model/items"]
    offsets, support = table["offset"].to_pylist(), table["support"].to_pylist()
    assert offsets[:4] == sorted(offsets[:4], reverse=True)
    assert offsets[0] == pytest.approx(1.36, abs=0.15)  # 5 stars lie 1.5 above the mean, less for the usual ones
    assert offsets[0] + offsets[3] == pytest.approx(2 * np.mean(offsets[:4]), abs=0.1)
    assert abs(offsets[4]) < 0.05
    assert min(support[:4]) > 50 * max(support[4], 1)


def test_correlations_are_estimated_and_used() -> None:
    """Who likes one item of a half will like its others; offsets alone know nothing of that."""
    model = NeighbourModel(fitted(tastes(3_000), "8"))
    assert model.release.chosen["model"]["factors"] >= 1
    own = {0: 5, 1: 5, 2: 5, 40: 1, 41: 1}
    near, far = (model.predict(own, [item])[0]["rating"] for item in (3, 43))
    assert near - far > 1.0
    alone = NeighbourModel(fitted(tastes(3_000), "8", relations=False))
    near, far = (alone.predict(own, [item])[0]["rating"] for item in (3, 43))
    assert abs(near - far) < 0.3
    related = [row["item"] for row in model.related(0, 20)]
    assert sum(item < 40 for item in related) >= 18


@pytest.mark.parametrize(("people", "epsilon", "pays"), [(60, "1", False), (3_000, "8", True)])
def test_relations_are_released_where_they_improve_the_error(people: int, epsilon: str, pays: bool) -> None:
    release = fitted(tastes(people), epsilon)
    assert ("model/factors" in release.tables) is pays
    assert (release.chosen["model"]["items"] > 0) is pays
    assert ("drown in noise" in release.explain()) is not pays


@pytest.mark.parametrize(
    ("people", "epsilon", "delta", "pays"),
    [(3_000, "8", DELTA, True), (3_000, "2", DELTA, False), (3_000, "8", None, False), (60, "1", DELTA, False)],
)
def test_factors_are_fitted_again_where_that_improves_the_error(
    people: int, epsilon: str, delta: str | None, pays: bool
) -> None:
    """Where it does not, all of ρ is for what is released without."""
    release = fitted(tastes(people), epsilon, delta)
    assert release.chosen["model"]["refined"] is pays
    assert ("likings" in release.noise) is ("fitted anew" in release.explain()) is pays
    unrefined = fitted(tastes(people), epsilon, delta, refine=False)
    assert (release.noise == unrefined.noise) is not pays


def test_items_beyond_those_in_pairs_get_factors() -> None:
    """Of 300 items some 90 are in pairs; tastes tell of the others too, which pairs know nothing of."""
    log = tastes(3_000, items=300)
    model, unrefined = (NeighbourModel(fitted(log, "8", refine=refine)) for refine in (None, False))
    assert unrefined.release.chosen["model"]["items"] == unrefined.release.tables["model/factors"].num_rows < 200
    assert model.release.tables["model/factors"].num_rows == 300
    own = {**dict.fromkeys(range(30), 5), **dict.fromkeys(range(150, 180), 1)}
    apart = []
    for fitted_model in (model, unrefined):
        ratings = [row["rating"] for row in fitted_model.predict(own, list(range(300)))]
        apart.append(np.mean(ratings[30:150]) - np.mean(ratings[180:]))
    assert apart[0] > apart[1] + 0.3
    alike = {row["item"] for row in model.related(0, 300)}
    assert len(alike) == model.release.chosen["model"]["items"] - 1, "of others noise would make up what is alike"


def test_without_significant_correlations_there_are_no_factors() -> None:
    """Its part of the grant is left, and all else is as it was."""
    log, grant = EventLog.of([(1, 0, 5.0)], items=list(range(80)), value_range=(1, 5)), Grant("1", DELTA)
    release = RatingModel(relations=True, refine=True).release(log, grant, SeededNoise(1))
    assert grant.is_spent
    assert "likings" not in release.noise
    assert release.chosen["model"] == {
        "people": release.chosen["model"]["people"],
        "items": 60,
        "factors": 0,
        "refined": False,
    }


def test_refining_that_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="refine needs δ"):
        RatingModel(refine=True).noise_distributions(tastes(3), Grant("1"))
    with pytest.raises(UsageError, match="refine needs relations"):
        RatingModel(refine=True, relations=False)
    with pytest.raises(UsageError, match="refine must be true or false"):
        RatingModel(refine="yes")  # type: ignore[arg-type]


def test_the_choice_of_relations_depends_on_released_numbers_alone() -> None:
    """Two logs of which the same number of people is released: the same choice, whatever else is in them."""
    first, two = fitted(tastes(900), "4"), fitted(tastes(900, seed=5), "4")
    assert first.chosen["model"]["people"] == two.chosen["model"]["people"]
    assert first.chosen["model"]["items"] == two.chosen["model"]["items"]


@pytest.mark.parametrize("delta", [DELTA, None])
def test_noise_is_as_declared(delta: str | None) -> None:
    """On a log without people all sums are noise; a wrong law passes once in ten million, and 1.3 × it never."""
    log = EventLog.of([], items=list(range(3_000)), value_range=(1, 5))
    release = fitted(log, "1", delta, relations=False)
    law = release.noise["model/items"]
    halves = release.tables["model/items"]["support"].to_numpy() / 2
    steps = np.rint(halves[halves > 0] / float(law.step)).astype(np.int64)
    both = np.concatenate([steps, -steps])  # only what is above zero shows, and the laws are symmetric
    if isinstance(law, DiscreteGaussian):
        sigma = law.sigma / law.step
        assert fits_gaussian(both, sigma) > LEVEL
        assert fits_gaussian(both, sigma * 13 / 10) < LEVEL
    else:
        scale = law.scale / law.step
        assert fits_laplace(both, scale) > LEVEL
        assert fits_laplace(both, scale * 13 / 10) < LEVEL


@pytest.mark.parametrize("refine", [True, False])
def test_gaussian_sums_spend_what_epsilon_and_delta_allow_for(refine: bool) -> None:
    """ρ of all sums together, taken back from their noise, is that of (0.98 ε, δ)."""
    release = fitted(tastes(300), "20", relations=True, refine=refine)
    lengths = {"model/items": 7, "model/factors": 7, **({"likings": 1} if refine else {})}
    people = release.noise["people"]
    assert isinstance(people, DiscreteLaplace)
    assert release.noise.keys() == {"people", *lengths}
    rho = 0.0
    for name, length in lengths.items():
        law = release.noise[name]
        assert isinstance(law, DiscreteGaussian)
        rho += length**2 / (2 * float(law.sigma) ** 2)
    grant = Grant("20", DELTA)
    model = grant.epsilon * (1 - PEOPLE_SHARE)
    assert rho == pytest.approx(float(rho_for(model, grant.delta)), rel=1e-5)
    assert float(1 / people.scale) == pytest.approx(float(grant.epsilon * PEOPLE_SHARE))


def test_the_ledger_charges_what_is_promised_or_less() -> None:
    request = request_of(RecommenderRequest, epsilon="4", delta=DELTA)
    log = tastes(30)
    charge = prepare_request(request, log).charge
    assert charge.epsilon <= 4
    assert charge.delta == request.delta
    assert charge.rho is not None
    assert epsilon_for(charge.rho, charge.delta) <= Grant("4.1").epsilon


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"value": None, "value_range": None}, "needs ratings"),
        ({"context": "sex", "contexts": "F,M"}, "--context"),
        ({"count": "users"}, "--count users"),
        ({"times": "n"}, "--times"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_spent(changed: dict[str, Any], words: str) -> None:
    import pyarrow as pa

    table = pa.table({"u": ["a"], "i": ["tea"], "r": [4.0], "sex": ["F"], "n": [1]})
    how: dict[str, Any] = {
        "user": "u",
        "item": "i",
        "items": ["tea"],
        "value": "r",
        "value_range": "1,5",
        **changed,
    }
    log, grant = read_events(table, **how), Grant("1", DELTA)
    with pytest.raises(UsageError, match=words):
        RatingModel().noise_distributions(log, grant)
    with pytest.raises(UsageError, match=words):
        RatingModel().release(log, grant, SeededNoise(1))
    assert not grant.is_spent
    assert grant.spend()


@pytest.mark.skipif("HEADCOUNT_DATA" not in os.environ, reason="needs HEADCOUNT_DATA")
@pytest.mark.parametrize(("epsilon", "most"), [("1", 0.795), ("4", 0.765)])
def test_error_on_movielens(epsilon: str, most: float) -> None:
    """The first 2,999 people of MovieLens-1M, one split; several are in benchmarks/quality/rating_models.py."""
    table = pq.read_table(Path(os.environ["HEADCOUNT_DATA"]) / "movielens-1m.parquet").drop_null()
    users = np.unique(table["user"].to_numpy(), return_inverse=True)[1]
    ratings = Ratings.from_pairs(users, table["item"].to_numpy() - 1, table["rating"].to_numpy(), n_items=3_952)
    split = split_share_per_user(ratings, seed=0)
    model = fit_ratings(split.train, epsilon, DELTA, (1, 5), SeededNoise(0))
    predicted = np.concatenate(
        [
            model.predict(*split.train.of_user(user), split.queries.items[split.queries.users == user])
            for user in range(ratings.n_users)
        ]
    )
    assert split.mean_absolute_error(predicted) <= most
