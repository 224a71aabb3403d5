"""Rankings with δ: everything costs ρ, which sums to what ε and δ allow for, and the better way is taken.

The way is forced by a forced histogram, as in ``test_long``, which is paid for like a real one.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.accounting.bounded_range import rho_of_picks
from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import DiscreteGaussian
from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.methods.counts.adaptive import Adaptive
from headcount.methods.rankings import top_k
from headcount.methods.rankings.by_counts import recall_by_counts, recall_by_selection
from headcount.methods.rankings.ranking import ACTIVITY_SHARE
from headcount.methods.rankings.request import RankRequest
from headcount.methods.rankings.top_k import DirectTopK
from headcount.noise import OperatingSystemNoise, SeededNoise
from headcount.noise.selection import top_k as peeling
from headcount.noise.selection import top_k_sparse
from headcount.noise.selection.exponential_zcdp import scale_for_picks
from headcount.releases.release import Release
from headcount.run.curator import Curator
from tests.contracts.support.method_checks import CONTEXTS, recorded_spending
from tests.methods.rankings.test_long_rankings import (
    CASES,
    DATA,
    HEAVY_ROWS,
    ITEMS,
    LIGHT_ROWS,
    WAYS,
    Case,
    agreeing,
    forced,
)
from tests.methods.rankings.test_top_k import of_pairs, parts_of
from tests.reference.engine import ReferenceEngine

DELTA = "1e-6"
SHORT = {
    "short": Case(DirectTopK(k=4)),
    "short, counts": Case(DirectTopK(k=4, with_counts=True)),
    "short, contexts": Case(DirectTopK(k=3, per_context=True)),
    "short, own contexts, counts": Case(DirectTopK(k=3, per_context=True, with_counts=True), "user"),
}
cases = pytest.mark.parametrize("case", [*CASES.values(), *SHORT.values()], ids=[*CASES, *SHORT])
ways = pytest.mark.parametrize("strategy", WAYS)


def released(case: Case, strategy: str, log: EventLog | None = None, grant: Grant | None = None) -> Release:
    with forced(WAYS[strategy]):
        log = case.town() if log is None else log
        return case.method.release(log, grant or Grant("1", DELTA), SeededNoise(1), ReferenceEngine())


# What is spent


@cases
@ways
def test_all_that_is_spent_sums_to_rho(case: Case, strategy: str) -> None:
    """Of people who are in one context each, every context gets all that is left."""
    grant = Grant("1", DELTA)
    with recorded_spending() as spent:
        release = released(case, strategy, grant=grant)
    assert grant.is_spent
    own = {id(part) for part in parts_of(grant)}
    assert all(id(grant) in own for grant in spent)
    whole, rhos = Fraction(grant.cost.rho), [Fraction(grant.cost.rho) for grant in spent]
    if "activity" in release.tables:
        assert rhos.pop(0) == pytest.approx(whole * Fraction(ACTIVITY_SHARE))
        whole *= 1 - Fraction(ACTIVITY_SHARE)
    peeled = release.chosen["ranking"]["by"] == "peeling"
    groups = case.contexts if peeled and case.context_of == "user" else 1
    assert whole * groups * (1 - Fraction(1, 10**9)) <= sum(rhos) <= whole * groups


def tight(rounds: int, rho: Decimal, share: Decimal | int) -> Decimal:
    """Return what picks may cost, a share of ρ being theirs: they compose better than ρ tells."""
    arguments = rounds, Decimal(1), Decimal(DELTA), rho * share, rho - rho * share
    return rho_of_picks(*arguments, instead=share != 1)


@cases
@ways
def test_the_noise_is_what_rho_pays_for(case: Case, strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scales: list[tuple[Fraction, bool]] = []
    for module, name in ((peeling, "draw"), (top_k_sparse, "draw_top_k_sparse")):
        real = getattr(module, name)

        def draw(
            exact: Any, k: int, numerator: int, other: int, source: Any, *, anew: bool, real: Any = real
        ) -> Any:
            scales.append((Fraction(numerator, other), anew))
            return real(exact, k, numerator, other, source, anew=anew)

        monkeypatch.setattr(peeling, name, draw)
    method, rho = case.method, Cost.of("1", DELTA).rho
    for many in (top_k.MANY_CELLS, 1):  # zeros held, and not
        scales.clear()
        with mock.patch.object(top_k, "MANY_CELLS", many):
            release = released(case, strategy)
            assert released(case, strategy).guarantee.delta == Cost.of("1", DELTA).delta
            announced = method.noise_distributions(case.town(), Cost.of("1", DELTA))
        assert all(release.noise[name] == law for name, law in announced.items())
        assert all(isinstance(law, DiscreteGaussian) for law in release.noise.values())
        if release.chosen["ranking"]["by"] == "counts":
            assert not scales
            continue
        share = (1 - ACTIVITY_SHARE) if "activity" in release.tables else 1
        rankings = 1 if case.context_of == "user" else case.contexts
        ranking_rho = rho * share / rankings / (2 if method.with_counts else 1)
        paid = ranking_rho if method.with_counts else tight(method.k * rankings, rho, share) / rankings
        expected = scale_for_picks(method.k, 1, paid)
        assert {anew for _, anew in scales} == {True}
        assert [float(scale) for scale, _ in scales] == pytest.approx([float(expected)] * len(scales), rel=1e-6)
        assert release.chosen["ranking"]["apart"] == math.ceil(math.log(5) * float(expected))
        if method.with_counts:
            assert release.noise["ranking"].variance == pytest.approx(
                method.k / (2 * float(ranking_rho)), rel=1e-4
            )


def test_a_ledger_counts_the_rho() -> None:
    log = CASES["plain"].town()
    for k in (3, 12):
        charge = Curator().prepare(RankRequest(epsilon=Decimal(1), delta=Decimal(DELTA), k=k), log).charge
        rho, share = Cost.of("1", DELTA).rho, 1 - ACTIVITY_SHARE if k > top_k.FEW_ROUNDS else Decimal(1)
        assert charge.rho == pytest.approx(tight(k, rho, share) + rho * (1 - share), rel=Decimal("1e-12"))
        assert (charge.epsilon, charge.delta) == (Decimal(1), Decimal(DELTA))
        assert charge.rho is not None
        assert charge.rho > rho


# Which way


@cases
@ways
def test_hides_the_log(case: Case, strategy: str) -> None:
    """With the same histogram, the way and all that is said are the same for every log, whatever is in it."""
    descriptions = []
    for log in (case.town(), case.town(users=400, seed=2), case.town(users=0)):
        with forced(WAYS[strategy]), agreeing():
            release = case.method.release(log, Grant("1", DELTA), OperatingSystemNoise(), LocalEngine(threads=1))
        described = {key: value for key, value in release.to_json().items() if key != "created"}
        descriptions.append((json.dumps(described), release.sentences(), release.ranking.num_rows))
    assert all(description == descriptions[0] for description in descriptions)


@pytest.mark.parametrize(("rows", "by"), [(LIGHT_ROWS, "counts"), (HEAVY_ROWS, "peeling")], ids=["light", "heavy"])
def test_both_ways_are_taken(rows: list[Any], by: str) -> None:
    """Where people have one item each, counts are precise; where they have nearly all of them, picks are."""
    log = EventLog.of(rows, items=[f"i{n}" for n in range(ITEMS)], contexts=CONTEXTS)
    for seed in range(3):
        release = DirectTopK(k=12).release(log, Grant("1", DELTA), SeededNoise(seed), ReferenceEngine())
        assert release.chosen["ranking"]["by"] == by
    sentence = "Gumbel noise" if by == "peeling" else "the squares of their weights sum to"
    assert sentence in release.explain()
    assert "paid with 2 % of ρ" in release.explain()


def test_expected_recall_matches_observed_recall() -> None:
    """On a log as the model says, by both ways: of 40 places among 2,000 items, within a tenth."""
    random, items, k = np.random.default_rng(1), 2_000, 40
    weights = (np.arange(1, items + 1) + 20.0) ** -0.8
    shares = weights / weights.sum()
    for records_per_user, scale, deviation in ((8.0, 25.0, 30.0), (30.0, 60.0, 20.0)):
        activity = EstimatedActivity(np.array([records_per_user]), np.array([4_000.0]))
        true = 4_000 * -np.expm1(-shares * records_per_user)
        best = np.arange(k)
        picks = [np.isin(np.argsort(-(true + random.gumbel(0, scale, items)))[:k], best).mean() for _ in range(40)]
        limit = 64  # all are light, and the others' part is noise alone
        counts = [
            np.isin(np.argsort(-(true + random.normal(0, deviation, items)))[:k], best).mean() for _ in range(40)
        ]
        assert recall_by_selection(activity, items, k, scale) == pytest.approx(np.mean(picks), abs=0.1)
        assert recall_by_counts(activity, items, k, limit, deviation, "l2") == pytest.approx(
            np.mean(counts), abs=0.1
        )
    assert recall_by_selection(activity, items, k, 500.0) < recall_by_selection(activity, items, k, 5.0)


# What is said beforehand


def test_a_plan_says_how_far_apart_and_where_delta_is_of_no_use() -> None:
    log = CASES["plain"].town()
    price = Cost.of("1", DELTA)
    few, many = (DirectTopK(k=k).notes(log, price) for k in (3, 12))
    assert few == (
        "Items fewer than 5 people apart will be in random order.",
        "For so few places δ is of no use: without it, that would be 3 people.",
    )
    assert many == (
        "Items fewer than 13 people apart will be in random order, unless the released activity says that ranking "
        "counts is better.",
    )
    assert len(DirectTopK(k=3).notes(log, Cost.of("1"))) == 1


def test_a_plan_without_delta_does_not_say_that_counts_are_the_less_noisy() -> None:
    """They are taken where their deviation is smaller: how far apart items must be is another number."""
    (note,) = DirectTopK(k=12).notes(CASES["plain"].town(), Cost.of("1"))
    assert note.endswith(" in random order, unless the released activity says that ranking counts is better.")


def test_selected_items_are_ranked_with_epsilon_alone() -> None:
    """All of δ is for the selection, as before."""
    rows = [(f"u{n}", f"i{m}") for n in range(300) for m in range(3)]
    table = pa.table({"user": [user for user, _ in rows], "item": [item for _, item in rows]})
    log = hc.read_events(table, user="user", item="item", select_items=True)
    release = hc.rank(log, k=2, epsilon="4", delta=DELTA)
    assert "permute-and-flip" in release.explain()
    with pytest.raises(UsageError, match="a selection needs delta="):
        hc.rank(log, k=2, epsilon="4")


# How much it finds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "epsilon", "least"),
    [("movielens-1m", "0.1", 0.70), ("movielens-1m", "0.5", 0.93), ("gowalla-10core", "0.5", 0.80),
     ("fimi-retail", "0.1", 0.84), ("fimi-retail", "0.5", 0.94)],
)  # fmt: skip
def test_the_top_hundred_of_real_logs_is_recovered(name: str, epsilon: str, least: float) -> None:
    """Seeded; ``benchmarks/quality/top_k_rankings.py`` measures it with more runs, and on more logs."""
    path = DATA / f"{name}.parquet"
    if not path.exists():
        pytest.skip("HEADCOUNT_DATA names no folder with this log")
    table = pq.read_table(path, columns=["user", "item"])
    log, counts = of_pairs(table["user"].to_numpy(), table["item"].to_numpy())
    log, engine = replace(log, counting="users"), LocalEngine(threads=1)
    best = set(np.array(log.catalogue.ids)[counts >= np.sort(counts)[-100]].tolist())

    def recall_of(method: Any) -> float:
        releases = [method.release(log, Grant(epsilon, DELTA), SeededNoise(seed), engine) for seed in range(4)]
        return float(np.mean([[row["item"] in best for row in release.top(100)] for release in releases]))

    ranking = recall_of(DirectTopK(k=100))
    assert ranking >= least
    assert ranking >= recall_of(Adaptive(what="items", noise="gaussian")) - 0.02
