"""Models of visits: what they learn and fall back to, by context, what they refuse, and how well they do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import headcount as hc
from headcount.accounting.budget import Grant
from headcount.accounting.noise_distributions import DiscreteGaussian, DiscreteLaplace
from headcount.accounting.zcdp import rho_for
from headcount.errors import UnknownNameError, UsageError
from headcount.events.log import EventLog, read_events
from headcount.methods.recommender.recommender import NeighbourModel
from headcount.methods.recommender.visit_factors import VisitFactors, factors_of, worthwhile_items
from headcount.methods.recommender.visit_model import PEOPLE_SHARE, VisitModel
from headcount.noise import SeededNoise
from tests.contracts.support.method_facts import Special
from tests.support.distributions import LEVEL, fits_gaussian, fits_laplace

DELTA = "1e-6"
UNITS = 1 << 16
SPECIAL = {
    "visits": Special(
        nearly={
            # each of 12 weights near 1 is cut down to a whole multiple of 2^-16, in items and in contexts
            ("add", 2): 1 - 24 / (10 * UNITS),
            ("add", 3): 1 - 24 / (10 * UNITS),
            ("add_gaussian", 2): 1 - 4 / UNITS,
            ("add_gaussian", 3): 0.99,
            # whole factors b and c
            ("add_gaussian", 4): 0.99,
        }
    )
}


def clubs(people: int, seed: int = 0) -> list[tuple[int, str]]:
    """Everybody has the item "all"; one half four of a club of 12, the other four of another club of 12."""
    rng = np.random.default_rng(seed)
    rows = [(person, "all") for person in range(people)]
    for person in range(people):
        rows += [(person, f"{'ab'[person % 2]}{n}") for n in rng.choice(12, 4, replace=False)]
    return rows


ITEMS = ["all", *(f"{club}{n}" for club in "ab" for n in range(12)), "none"]


def fitted(rows: list[tuple[int, str]], epsilon: str, delta: str | None = DELTA, seed: int = 1) -> NeighbourModel:
    log = EventLog.of(rows, items=ITEMS)
    return NeighbourModel(VisitModel().release(log, Grant(epsilon, delta), SeededNoise(seed)))


def test_who_has_one_item_of_a_club_is_recommended_its_others() -> None:
    model = fitted(clubs(2_000), "4")
    assert model.release.chosen["model"]["factors"] >= 1
    best = model.recommend(["all", "a0", "a1"], 10)
    assert {row["item"][0] for row in best} == {"a"}
    assert not {"all", "a0", "a1"} & {row["item"] for row in best}
    assert [row["rank"] for row in best] == list(range(1, 11))
    assert {row["item"][0] for row in model.related("b3", 5)} == {"b"}


def test_a_user_without_history_gets_the_most_popular_items() -> None:
    assert fitted(clubs(2_000), "4").recommend([], 1)[0]["item"] == "all"


def test_without_significant_relations_popular_items_are_recommended() -> None:
    """Sixty people at ε = 1: whatever somebody has, the order is that of the released weights."""
    model = fitted(clubs(60), "1")
    assert model.release.chosen["model"]["factors"] == 0
    weights = np.maximum(model.release.tables["model/items"]["count"].to_numpy(), 0)
    order = [ITEMS[at] for at in np.argsort(-weights, kind="stable") if ITEMS[at] != "a0"]
    assert [row["item"] for row in model.recommend(["a0"], 5)] == order[:5]
    with pytest.raises(UsageError, match="no relations"):
        model.related("a0")


def test_without_delta_there_are_weights_alone() -> None:
    model = fitted(clubs(2_000), "4", None)
    assert set(model.release.tables) == {"model/items"}
    assert "that takes δ" in model.explain()
    assert model.recommend(["a0"], 1)[0]["item"] == "all"


def test_noise_alone_makes_no_factors() -> None:
    """The largest eigenvalue of noise passes its limit by 5 % with far less than one in a million."""
    pairs = np.random.default_rng(1).normal(0, 10, 300 * 299 // 2)
    shares = np.full(300, 0.1)
    assert factors_of(pairs, 10.5, np.full(300, 7), shares, 5_000.0).shape == (300, 0)
    assert factors_of(pairs, 6.0, np.full(300, 7), shares, 5_000.0).shape[1] > 0


def test_more_users_and_less_noise_take_more_items() -> None:
    numbers = [worthwhile_items(people, deviation, 4_000) for people in (500, 50_000) for deviation in (9.0, 0.9)]
    assert numbers == sorted(numbers)
    assert worthwhile_items(10**9, 0.1, 300) == 300


def test_a_common_item_tells_less_of_a_user_than_a_rare_one() -> None:
    """Both belong as much to the third; what everybody has may well be there by chance."""
    habits = VisitFactors(np.array([0.9, 0.05, 0.05]), np.arange(3), np.array([[0.3], [0.3], [0.3]]))
    common, rare = (
        habits.scores(np.array([own]))[2] - habits.scores(np.array([]).astype(int))[2] for own in (0, 1)
    )
    assert rare > common


def seasonal(people: int = 1_500) -> EventLog:
    """Ice in summer and tea in winter, rye always."""
    rows = [
        (n, item, "summer" if n % 2 else "winter")
        for n in range(people)
        for item in ("rye", ("tea", "ice")[n % 2])
    ]
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(("u", "i", "c"))})
    named: dict[str, Any] = {"user": "u", "item": "i", "items": ["rye", "tea", "ice"], "context": "c"}
    return read_events(table, **named, contexts="summer,winter")


@pytest.mark.parametrize("delta", [DELTA, None])
def test_in_a_context_it_recommends_what_users_have_there(delta: str | None) -> None:
    model = NeighbourModel(VisitModel().release(seasonal(), Grant("8", delta), SeededNoise(1)))
    for context, item in (("summer", "ice"), ("Winter", "tea")):
        rows = model.recommend(["rye"], 2, context)
        assert rows[0]["item"] == item
        assert rows[0]["score"] > 2 * max(rows[1]["score"], 0.01)
        assert [row["item"] for row in model.recommend([], 2, context)] == ["rye", item]
    assert model.release.tables["model/edges"].num_rows == 9
    with pytest.raises(UnknownNameError, match="context"):
        model.recommend(["rye"], 2, "autumn")
    with pytest.raises(UsageError, match="knows no contexts"):
        fitted(clubs(90), "1").recommend(["all"], 1, "summer")


@pytest.mark.parametrize("delta", [DELTA, None])
def test_stages_spend_exactly_what_there_is(delta: str | None) -> None:
    """ρ of all sums together, taken back from their noise, is that of (0.99 ε, δ); or the parts of ε are ε."""
    laws = VisitModel().release(seasonal(), Grant("4", delta), SeededNoise(1)).noise
    people = laws["people"]
    assert isinstance(people, DiscreteLaplace)
    assert float(1 / people.scale) == pytest.approx(4 * float(PEOPLE_SHARE))
    moved = {"model/items": 10, "model/edges": 10, "model/factors": 1}
    grant = Grant("4", delta)
    if delta is None:
        spent = [10 / float(law.scale) for law in laws.values() if isinstance(law, DiscreteLaplace)][1:]
        assert len(spent) == 2
        assert sum(spent) == pytest.approx(4 * (1 - float(PEOPLE_SHARE)))
    else:
        bells = {name: law for name, law in laws.items() if isinstance(law, DiscreteGaussian)}
        assert bells.keys() == moved.keys()
        rho = sum(moved[name] / (2 * float(law.sigma) ** 2) for name, law in bells.items())
        assert rho == pytest.approx(float(rho_for(grant.epsilon * (1 - PEOPLE_SHARE), grant.delta)), rel=1e-5)


@pytest.mark.parametrize("delta", [DELTA, None])
def test_noise_is_as_declared(delta: str | None) -> None:
    """On a log without people; a wrong law passes once in ten million, and 1.3 × it never."""
    log = EventLog.of([], items=list(range(3_000)))
    release = VisitModel().release(log, Grant("1", delta), SeededNoise(1))
    law = release.noise["model/items"]
    steps = np.rint(release.tables["model/items"]["count"].to_numpy() / float(law.step)).astype(np.int64)
    fits: Any = fits_gaussian if delta else fits_laplace
    scale = getattr(law, "sigma" if delta else "scale") / law.step
    assert fits(steps, scale) > LEVEL
    assert fits(steps, scale * 13 / 10) < LEVEL


def test_a_log_without_ratings_is_learnt_from_by_itself() -> None:
    log = EventLog.of(clubs(300), items=ITEMS)
    assert hc.fit_neighbours(log, epsilon="1", delta=DELTA).release.method == "visits"
    stars = EventLog.of([(n, "tea", 4) for n in range(9)], items=["tea", "rye"], value_range=(1, 5))
    assert hc.fit_neighbours(stars, epsilon="1", delta=DELTA).release.method == "private"
    with pytest.raises(UsageError, match="no use to visits"):
        hc.fit_neighbours(stars, epsilon="1", method="visits")
    with pytest.raises(UsageError, match="knows no ratings"):
        fitted(clubs(90), "1").predict({"all": 3})


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"count": "users"}, "--count users"),
        ({"times": "n"}, "--times"),
        ({"context": "sex", "contexts": "F,M", "context_of": "user"}, "--context-of user"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_spent(changed: dict[str, Any], words: str) -> None:
    table = pa.table({"u": ["a"], "i": ["tea"], "sex": ["F"], "n": [1]})
    log, grant = read_events(table, user="u", item="i", items=["tea"], **changed), Grant("1", DELTA)
    with pytest.raises(UsageError, match=words):
        VisitModel().release(log, grant, SeededNoise(1))
    assert not grant.is_spent


def test_a_model_folder_holds_no_user(tmp_path: Path) -> None:
    rows = [(f"person-{n}", item) for n in range(300) for item in ("all", "a0")]
    model = hc.fit_neighbours(EventLog.of(rows, items=ITEMS), epsilon="1", delta=DELTA)
    folder = model.save(tmp_path / "model")
    assert hc.NeighbourModel.load(folder).recommend(["a0"], 3) == model.recommend(["a0"], 3)
    assert not any(b"person-" in file.read_bytes() for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("items", [["tea"], ["tea", "rye"]])
@pytest.mark.parametrize("delta", [DELTA, None])
def test_catalogues_of_hardly_anything(items: list[str], delta: str | None) -> None:
    log = EventLog.of([("ann", "tea")], items=items)
    model = NeighbourModel(VisitModel().release(log, Grant("1", delta), SeededNoise(1)))
    assert len(model.recommend([], 5)) == len(items)


@pytest.mark.slow
@pytest.mark.skipif("HEADCOUNT_DATA" not in os.environ, reason="needs HEADCOUNT_DATA")
@pytest.mark.parametrize(
    ("log", "epsilon", "least"),
    [
        ("movielens-1m", "1", 0.25),
        ("movielens-1m", "4", 0.325),
        ("movielens-1m", "8", 0.345),
        ("hetrec-lastfm-plays", "1", 0.115),
    ],
)
def test_recall_for_new_users(log: str, epsilon: str, least: float) -> None:
    """One split; means over ten, a little above these bars, are those of benchmarks/quality/visit_models.py."""
    from benchmarks.quality.visit_models import Events, Split
    from benchmarks.quality.visit_models import fitted as fitted_to

    events = Events(log)
    split = Split(events, 0)
    habits = fitted_to(events.log(split.fitted, context=False), epsilon, 0).habits
    assert split.recall(lambda _, history: habits.scores(history)) >= least
