"""PNCF as a method: what it predicts is what is reproduced, its models predict, and it says what does not hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import headcount as hc
from headcount.budget import Grant
from headcount.engines.local import LocalEngine
from headcount.errors import GrantError, UnknownNameError, UsageError
from headcount.events.catalogue import Catalogue
from headcount.events.log import EventLog, read_events
from headcount.guarantee import Standing
from headcount.lab.comparing.splits import Split, one_of_each
from headcount.lab.comparing.trials import Bench, Trial, Truth, run_name, seed_of
from headcount.lab.papers import pncf as thesis
from headcount.lab.papers.paper import gather
from headcount.lab.papers.pncf_rows import CONFIGURATIONS
from headcount.lab.published.pncf_method import PncfPublished
from headcount.lab.recommending import plain
from headcount.lab.recommending.candidates import Queries
from headcount.lab.recommending.plain import Neighbourhood
from headcount.lab.recommending.ratings import Ratings
from headcount.neighbours.model import NeighbourModel
from headcount.noise import SeededNoise
from headcount.releases import Release
from tests.lab.papers import papers
from tests.lab.recommending import made_up

SEED, RUN, K = 7, 0, 5


def log_of(ratings: Ratings, labels: list[str] | None = None) -> EventLog:
    """A log of people u0, u1, … who rated films f0, f1, …"""
    columns = {"who": [f"u{n}" for n in ratings.users], "film": [f"f{n}" for n in ratings.items]}
    films = Catalogue.of([f"f{n}" for n in range(ratings.n_items)], labels)
    table = pa.table({**columns, "stars": ratings.values})
    return read_events(table, user="who", item="film", items=films, value="stars", value_range="1,5")


def asked_of(queries: Queries) -> tuple[tuple[str, str], ...]:
    return tuple((f"u{user}", f"f{item}") for user, item in zip(*queries, strict=True))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    data = gather(thesis.PNCF.claims, papers.shared(tmp_path_factory.mktemp("shared")))[0]["MovieLens"]
    log, engine = thesis.with_ratings(data), LocalEngine(threads=1)
    return Bench(log, Truth.of(log, engine), engine, SEED)


@pytest.fixture(scope="module")
def split(bench: Bench) -> Split:
    name = run_name(SEED, "MovieLens", RUN)
    return one_of_each(thesis.ratings_in(bench.log), seed_of(SEED, name))


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_what_is_predicted_is_what_the_reproduction_measures(
    bench: Bench, split: Split, configuration: str
) -> None:
    words: dict[str, Any] = {"configuration": configuration, "as": "PNCF", "ks": (K,)}
    trial = Trial.of("MovieLens", "PNCF", epsilon="1", run=RUN, function="x:y", **words)
    reproduced = next(row.value for row in thesis.measured(bench, trial) if row.metric == "MAE")
    by, metric = configuration.split("-")
    asked: Any = {"by": by, "metric": metric, "k": K, "asked": asked_of(split.queries)}
    made = PncfPublished(**asked).release(log_of(split.train), Grant("1"), bench.noise(trial))
    told = made.tables["model/predictions"]["rating"].to_numpy()
    assert split.mean_absolute_error(told) == reproduced
    others = PncfPublished(**asked).release(log_of(split.train), Grant("1"), SeededNoise(1))
    assert split.mean_absolute_error(others.tables["model/predictions"]["rating"].to_numpy()) != reproduced


@pytest.fixture
def log() -> EventLog:
    return log_of(made_up.ratings(1))


def released(log: EventLog, epsilon: str = "1", **parameters: Any) -> Release:
    return PncfPublished(**parameters).release(log, Grant(epsilon), SeededNoise(1))


def test_predictions_say_whose_they_are_and_that_the_claim_does_not_hold() -> None:
    log = log_of(made_up.ratings(1), [f"Film {n}" for n in range(12)])
    asked = (("u3", "Film 2"), ("u3", "f1"), ("u0", "f2"))
    release = released(log, by="user", metric="pcc", k=3, asked=asked)
    rows = release.tables["model/predictions"].to_pylist()
    assert [(row["user"], row["item"]) for row in rows] == [("u3", "f2"), ("u3", "f1"), ("u0", "f2")]
    assert all(1 <= row["rating"] <= 5 for row in rows)
    assert release.guarantee.standing is Standing.CLAIMED
    assert not release.is_private
    for words in ("among the people who rated the item", "spent ε again for each prediction", "claim"):
        assert words in " ".join(release.explain().split())


@pytest.mark.parametrize("by", ["item", "user"])
def test_whoever_is_not_in_the_log_has_rated_nothing(log: EventLog, by: str) -> None:
    """It must not fail either: that would tell who is in the log."""
    told = released(log, by=by, asked=(("nobody", "f1"),)).tables["model/predictions"]["rating"].to_pylist()
    assert told == [pytest.approx(made_up.ratings(1).mean)] if by == "item" else 1 <= told[0] <= 5


def test_algorithm_1_prints_k_times_the_noise_of_the_equation(log: EventLog) -> None:
    alike = Neighbourhood(metric="cos").compared(made_up.ratings(1)).values
    noise = []
    for perturbation in ("equation", "algorithm"):
        rows = released(log, k=11, perturbation=perturbation).tables["model/neighbours"].to_pylist()
        places = [(int(row["item"][1:]), int(row["neighbour"][1:])) for row in rows]
        noise.append([row["similarity"] - alike[place] for row, place in zip(rows, places, strict=True)])
    assert noise[1] == pytest.approx([11 * each for each in noise[0]])


@pytest.mark.parametrize("metric", ["cos", "pcc"])
def test_a_model_of_neighbours_predicts_from_own_ratings_as_equation_3_2_3_does(metric: Any) -> None:
    """With a huge ε, and all items as neighbours, it is the plain method, for somebody who is in the log."""
    ratings = made_up.ratings(2, share=0.8, step=0.1)
    model = NeighbourModel(released(log_of(ratings), "1000000", k=11, metric=metric))
    items, values = ratings.of_user(4)
    own = {f"f{item}": value for item, value in zip(items, values, strict=True)}
    others = np.setdiff1d(np.arange(12), items).astype(np.int32)
    queries = Queries(np.full(others.size, 4, np.int32), others)
    expected = plain.predict(ratings, queries, Neighbourhood(metric=metric, k=11))
    rows = model.predict(own)
    assert [row["item"] for row in rows] == [f"f{item}" for item in others]
    assert [row["rating"] for row in rows] == pytest.approx(expected.tolist(), abs=1e-3)
    best = max(rows, key=lambda row: float(row["rating"]))
    assert model.recommend(own, 1) == [{"rank": 1, **best}]


def test_a_model_of_neighbours_tells_the_own_mean_where_nobody_speaks(log: EventLog) -> None:
    model = NeighbourModel(released(log, k=1))
    table = model.release.tables["model/neighbours"].to_pylist()
    neighbour = {row["item"]: row["neighbour"] for row in table}
    mute = next(item for item in neighbour if neighbour[item] not in ("f0", "f1") and item not in ("f0", "f1"))
    assert model.predict({"f0": 5, "f1": 2}, [mute])[0]["rating"] == pytest.approx(3.5)
    with pytest.raises(UsageError, match="there are none"):
        model.predict({})


def test_python_asks_for_predictions_and_reads_them(log: EventLog) -> None:
    asked = [("u1", "f1"), ("u2", "f1"), ("u1", "f3")]
    model = hc.fit_neighbours(
        log, epsilon="1", method="pncf-published", asked=asked, research=True, by="user", metric="pcc", k=4
    )
    assert [(row["user"], row["item"]) for row in model.predictions()] == asked
    assert [row["item"] for row in model.predictions("u1")] == ["f1", "f3"]
    assert [row["user"] for row in model.predictions(items=["f1"])] == ["u1", "u2"]
    with pytest.raises(UnknownNameError, match="did you mean 'u1'"):
        model.predictions("u11")
    with pytest.raises(UsageError, match="cannot predict for others"):
        model.predict({"f1": 3})
    with pytest.raises(UsageError, match="no relations between items"):
        model.related("f1")
    listed = hc.fit_neighbours(log, epsilon="1", method="pncf-published", research=True)
    with pytest.raises(UsageError, match="no predictions for named people"):
        listed.predictions()
    with pytest.raises(UsageError, match="method private cannot use asked"):
        hc.fit_neighbours(log, epsilon="1", asked=asked)
    with pytest.raises(UsageError, match="a person and an item"):
        hc.fit_neighbours(log, epsilon="1", method="pncf-published", research=True, asked=["u1"])  # type: ignore[list-item]


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
    alike = Neighbourhood(metric="cos").compared(made_up.ratings(1)).values
    for row in model:
        item, other = int(row["item"][1:]), int(row["neighbour"][1:])
        assert row["similarity"] == pytest.approx(alike[item, other], abs=1e-4)


def test_what_it_cannot_use_is_refused(log: EventLog) -> None:
    bare = replace(log, roles=replace(log.roles, value=None), value_range=None)
    with pytest.raises(UsageError, match="needs ratings"):
        released(bare)
    with pytest.raises(UsageError, match="neighbours are compared by"):
        PncfPublished(k=0)
    with pytest.raises(UsageError, match="people are in no model"):
        PncfPublished(by="user")
    with pytest.raises(UsageError, match="the equation or the algorithm"):
        PncfPublished(perturbation="both")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="'f12'"):
        PncfPublished(asked=(("u0", "f12"),)).laws(log, Grant("1"))
    with pytest.raises(GrantError, match="PNCF uses no δ"):
        PncfPublished().release(log, Grant("1", "1e-6"), SeededNoise(1))
    assert PncfPublished().laws(log, Grant("1")) == {}
