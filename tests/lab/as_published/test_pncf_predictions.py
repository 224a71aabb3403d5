"""PNCF's predictions are those that the reproduction measures, and say that the claim does not hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import headcount as hc
from headcount.accounting.budget import Grant
from headcount.accounting.guarantee import Standing
from headcount.engines.local.engine import LocalEngine
from headcount.errors import GrantError, UnknownNameError, UsageError
from headcount.events.log import EventLog
from headcount.lab.as_published import pncf
from headcount.lab.as_published.pncf_operations import PERTURBATIONS, Mechanism
from headcount.lab.as_published.pncf_predictions import PncfPredictionsPublished
from headcount.lab.compare.trials import Bench, Trial, Truth, run_name, seed_of
from headcount.lab.recommender.candidates import Queries, Split, split_one_per_user
from headcount.lab.recommender.neighbourhood import Neighbourhood
from headcount.lab.replicate import pncf as thesis
from headcount.lab.replicate.paper import gather
from headcount.lab.replicate.pncf_derived_rows import CONFIGURATIONS
from headcount.noise import SeededNoise
from headcount.releases.release import Release
from tests.lab.recommender import synthetic_ratings
from tests.lab.replicate import papers

SEED, RUN, K = 7, 0, 5


def query_ids(queries: Queries) -> tuple[tuple[str, str], ...]:
    return tuple((f"u{user}", f"f{item}") for user, item in zip(*queries, strict=True))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    data = gather(thesis.PNCF.claims, papers.shared(tmp_path_factory.mktemp("shared")))[0]["MovieLens"]
    log, engine = thesis.with_ratings(data), LocalEngine(threads=1)
    return Bench(log, Truth.count(log, engine), engine, SEED)


@pytest.fixture(scope="module")
def split(bench: Bench) -> Split:
    name = run_name(SEED, "MovieLens", RUN)
    return split_one_per_user(thesis.ratings_in(bench.log), seed_of(SEED, name))


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_what_is_predicted_is_what_the_reproduction_measures(
    bench: Bench, split: Split, configuration: str
) -> None:
    words: dict[str, Any] = {"configuration": configuration, "as": "PNCF", "ks": (K,)}
    trial = Trial.for_dataset("MovieLens", "PNCF", epsilon="1", run=RUN, function="x:y", **words)
    reproduced = next(row.value for row in thesis.measured(bench, trial) if row.metric == "MAE")
    by, metric = configuration.split("-")
    options: Any = {"by": by, "metric": metric, "k": K, "asked": query_ids(split.queries)}
    release = PncfPredictionsPublished(**options).release(
        synthetic_ratings.log_of(split.train), Grant("1"), bench.noise(trial)
    )
    predicted = release.tables["model/predictions"]["rating"].to_numpy()
    assert split.mean_absolute_error(predicted) == reproduced
    others = PncfPredictionsPublished(**options).release(
        synthetic_ratings.log_of(split.train), Grant("1"), SeededNoise(1)
    )
    assert split.mean_absolute_error(others.tables["model/predictions"]["rating"].to_numpy()) != reproduced


@pytest.fixture
def log() -> EventLog:
    return synthetic_ratings.log_of(synthetic_ratings.ratings(1))


def released(log: EventLog, epsilon: str = "1", **parameters: Any) -> Release:
    return PncfPredictionsPublished(**parameters).release(log, Grant(epsilon), SeededNoise(1))


def test_predictions_say_whose_they_are_and_that_the_claim_does_not_hold() -> None:
    log = synthetic_ratings.log_of(synthetic_ratings.ratings(1), [f"Film {n}" for n in range(12)])
    pairs = (("u3", "Film 2"), ("u3", "f1"), ("u0", "f2"))
    release = released(log, by="user", metric="pcc", k=3, asked=pairs)
    rows = release.tables["model/predictions"].to_pylist()
    assert [(row["user"], row["item"]) for row in rows] == [("u3", "f2"), ("u3", "f1"), ("u0", "f2")]
    assert all(1 <= row["rating"] <= 5 for row in rows)
    assert release.guarantee.standing is Standing.CLAIMED
    assert not release.is_private
    for words in ("among the people who rated the item", "spent ε again for each prediction", "claim"):
        assert words in " ".join(release.explain().split())


@pytest.mark.parametrize("by", ["item", "user"])
def test_users_not_in_the_log_have_no_ratings(log: EventLog, by: str) -> None:
    """It must not fail either: that would tell who is in the log."""
    predicted = released(log, by=by, asked=(("nobody", "f1"),)).tables["model/predictions"]["rating"].to_pylist()
    assert (
        predicted == [pytest.approx(synthetic_ratings.ratings(1).mean)] if by == "item" else 1 <= predicted[0] <= 5
    )


def test_algorithm_1_prints_another_scale_than_the_equation(log: EventLog) -> None:
    questions = Queries(np.arange(20, dtype=np.int32), np.full(20, 3, np.int32))
    near = Neighbourhood(metric="pcc", k=4)
    predicted = {}
    for perturbation in PERTURBATIONS:
        release = released(log, metric="pcc", k=4, perturbation=perturbation, asked=query_ids(questions))
        predicted[perturbation] = release.tables["model/predictions"]["rating"].to_pylist()
        mechanism = Mechanism(epsilon=1.0, perturbation=perturbation)
        settings = pncf.Settings(neighbourhood=near, mechanism=mechanism)
        assert (
            predicted[perturbation]
            == pncf.predict(synthetic_ratings.ratings(1), questions, settings, SeededNoise(1)).tolist()
        )
    assert predicted["equation"] != predicted["algorithm"]


def test_python_asks_for_predictions_and_reads_them(log: EventLog) -> None:
    pairs = [("u1", "f1"), ("u2", "f1"), ("u1", "f3")]
    model = hc.fit_neighbours(
        log,
        epsilon="1",
        method="pncf-predictions-published",
        asked=pairs,
        research=True,
        by="user",
        metric="pcc",
        k=4,
    )
    assert [(row["user"], row["item"]) for row in model.predictions()] == pairs
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
        hc.fit_neighbours(log, epsilon="1", asked=pairs)
    with pytest.raises(UsageError, match="a person and an item"):
        hc.fit_neighbours(log, epsilon="1", method="pncf-predictions-published", research=True, asked=["u1"])  # type: ignore[list-item]


def test_what_it_cannot_use_is_refused(log: EventLog) -> None:
    pairs = (("u0", "f1"),)
    bare = replace(log, roles=replace(log.roles, value=None), value_range=None)
    with pytest.raises(UsageError, match="needs ratings"):
        released(bare, asked=pairs)
    with pytest.raises(UsageError, match="--asked FILE"):
        PncfPredictionsPublished(by="user")
    with pytest.raises(UsageError, match="neighbours are compared by"):
        PncfPredictionsPublished(by="people", asked=pairs)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="the equation or the algorithm"):
        PncfPredictionsPublished(perturbation="both", asked=pairs)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="'f12'"):
        PncfPredictionsPublished(asked=(("u0", "f12"),)).noise_distributions(log, Grant("1"))
    with pytest.raises(GrantError, match="PNCF uses no δ"):
        PncfPredictionsPublished(asked=pairs).release(log, Grant("1", "1e-6"), SeededNoise(1))
