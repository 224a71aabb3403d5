"""Long rankings: a small share of ε finds out whether to peel or to rank counts, and the rest does that.

The way is forced by a forced histogram of activity, which is paid for like a real one. Tests of a loss have the
false-alarm rate ``laws.LEVEL`` = 1e-7, and fixed seeds.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from headcount import bounds
from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.adaptive import measure
from headcount.adaptive.activity_histogram import EstimatedActivity, UserEstimates
from headcount.adaptive.measure import release_histogram
from headcount.adaptive.posterior import Posterior
from headcount.adaptive.threshold_choice import threshold_noise
from headcount.api import functions
from headcount.bounds import Bound, Bounded, Measured_co, Noisy
from headcount.bounds.counts.activity_histogram import BINS, lower_ends
from headcount.engines.local.engine import LocalEngine
from headcount.errors import GrantError
from headcount.events.log import EventLog, read_events
from headcount.methods.counts.adaptive import Adaptive
from headcount.methods.rankings import by_context, by_counts, top_k
from headcount.methods.rankings.by_counts import ByCounts
from headcount.methods.rankings.ranking import ACTIVITY_SHARE
from headcount.methods.rankings.request import RankRequest
from headcount.methods.rankings.top_k import FEW_ROUNDS, DirectTopK
from headcount.noise import NoiseSource, OperatingSystemNoise, SeededNoise, add_noise, scale_for
from headcount.noise.stages import split_among_stages
from headcount.releases.release import Release, load
from headcount.reports.release import release_page
from tests.contracts.support.method_checks import CONTEXTS, EPSILON, recorded_spending, town
from tests.methods.rankings.test_top_k import ANN, BYSTANDERS, EXACT, Once, of_pairs, parts_of, remembered
from tests.reference.engine import ReferenceEngine
from tests.support.curator_runs import planned, ran
from tests.support.distributions import LEVEL, loses_more_than
from tests.support.small_logs import scale_of

pytestmark = pytest.mark.long

ITEMS = 30
LIGHT = np.array([70_000, *[0] * (BINS - 1)])
HEAVY = np.array([0, 0, 0, 0, 0, 50_000, *[0] * (BINS - 6)])  # people with 17 to 32 different items
WAYS = {"counted": LIGHT, "peeled": HEAVY}


@dataclass(frozen=True)
class Case:
    """A long ranking of a town with thirty items; with ``context_of`` user, each context has all of ε."""

    method: DirectTopK
    context_of: Any = "record"

    def town(self, **named: Any) -> EventLog:
        return replace(town(items=ITEMS, **named), context_of=self.context_of)

    @property
    def contexts(self) -> int:
        return len(CONTEXTS) if self.method.per_context else 1


CASES = {
    "plain": Case(DirectTopK(k=12)),
    "all": Case(DirectTopK(k=ITEMS)),
    "counts": Case(DirectTopK(k=12, with_counts=True)),
    "contexts": Case(DirectTopK(k=6, per_context=True)),
    "contexts, counts": Case(DirectTopK(k=6, per_context=True, with_counts=True)),
    "own contexts": Case(DirectTopK(k=12, per_context=True), "user"),
    "own contexts, counts": Case(DirectTopK(k=12, per_context=True, with_counts=True), "user"),
}
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
ways = pytest.mark.parametrize("strategy", WAYS)


@contextmanager
def forced(users: NDArray[np.int64]) -> Iterator[None]:
    """Let the released histogram come out as given; it is paid for, and its law is the real one."""

    def forged(*arguments: Any, **more: Any) -> Noisy:
        return replace(release_histogram(*arguments, **more), values=users)

    with (
        mock.patch.object(top_k, "release_histogram", forged),
        mock.patch.object(by_context, "release_histogram", forged),
    ):
        yield


@contextmanager
def agreeing() -> Iterator[None]:
    """Let looks confirm each other, and something be told of all contexts: both hang on the noisy tables."""
    with (
        mock.patch.object(by_context, "_agreement", return_value=9.0),
        mock.patch.object(
            by_context, "_resolved_contexts", lambda noisy, _: np.ones(noisy.values.shape[-1] - 1, dtype=np.bool_)
        ),
    ):
        yield


def released(case: Case, strategy: str, log: EventLog | None = None, *, epsilon: str = EPSILON) -> Release:
    with forced(WAYS[strategy]):
        log = case.town() if log is None else log
        return case.method.release(log, Grant(epsilon), SeededNoise(1), ReferenceEngine())


# The grant and the plan


@cases
@ways
def test_spends_exactly_the_grant(case: Case, strategy: str) -> None:
    """A fiftieth on the histogram; the rest once on all counts, or in looks, or on peeling as for a short one."""
    grant, whole = Grant(EPSILON), Fraction(EPSILON)
    with forced(WAYS[strategy]), recorded_spending() as spent:
        case.method.release(case.town(), grant, SeededNoise(1), ReferenceEngine())
    assert grant.is_spent
    own = {id(part) for part in parts_of(grant)}
    assert all(id(grant) in own for grant in spent), "a grant was spent that nobody handed over"
    first, *others = [grant.exact for grant in spent]
    assert first == whole * Fraction(ACTIVITY_SHARE) == whole / 50
    rest = whole - first
    if strategy == "counted" and case.method.per_context:
        price = Cost.of(EPSILON).split({"first": ACTIVITY_SHARE, "rest": 1 - ACTIVITY_SHARE})["rest"]
        parts = split_among_stages(by_context.ranking_stages(case.town(), case.method.k, price), price)
        assert others == [grant.exact for grant in parts.values()]
        assert sum(others) == rest
    elif strategy == "counted":
        assert others == [rest]
    else:
        stages = 2 if case.method.with_counts else 1
        assert len(others) == case.contexts * stages
        context_budget = rest if case.context_of == "user" else rest / case.contexts
        for start in range(0, len(others), stages):
            assert sum(others[start : start + stages]) == context_budget
    with pytest.raises(GrantError, match="already spent"):
        grant.spend()


@cases
@ways
def test_a_spent_grant_buys_nothing(case: Case, strategy: str) -> None:
    spent, split = Grant(EPSILON), Grant(EPSILON)
    spent.spend()
    split.split({"a": Decimal("0.5"), "b": Decimal("0.5")})
    for grant in (spent, split):
        with forced(WAYS[strategy]), pytest.raises(GrantError, match="already spent"):
            case.method.release(case.town(), grant, SeededNoise(1), ReferenceEngine())


@cases
@ways
def test_the_noise_is_what_the_grant_pays_for(case: Case, strategy: str) -> None:
    for epsilon in (EPSILON, "0.123456789123", "3"):
        rest = Fraction(epsilon) * 49 / 50
        release = released(case, strategy, epsilon=epsilon)
        expected = {"activity": scale_for(1, Fraction(epsilon) / 50)}
        if strategy == "counted":
            own = rest
            if case.method.per_context:
                own = split_among_stages(
                    by_context.ranking_stages(case.town(), case.method.k, _price_of(rest)), _price_of(rest)
                )["edges"].exact
            expected["ranking"] = scale_of(
                threshold_noise(release.chosen["ranking"]["limit"], _price_of(own), "users")
            )
            assert expected["ranking"] >= release.chosen["ranking"]["limit"] / own
        elif case.method.with_counts:
            shared = 1 if case.context_of == "user" else case.contexts
            expected["ranking"] = scale_for(case.method.k, rest / shared / 2)
        assert {name: scale_of(law) for name, law in release.noise.items()} == expected


def _price_of(epsilon: Fraction) -> Cost:
    return Cost.of(Decimal(epsilon.numerator) / Decimal(epsilon.denominator))


@cases
@ways
def test_the_plan_announces_the_noise_of_the_histogram(case: Case, strategy: str) -> None:
    for epsilon in (EPSILON, "0.123456789123"):
        grant = Grant(epsilon)
        plan = case.method.noise_distributions(case.town(), grant)
        assert not grant.is_spent
        assert plan == {"activity": DiscreteLaplace(scale_for(1, Fraction(epsilon) / 50))}
        assert plan["activity"] == released(case, strategy, epsilon=epsilon).noise["activity"]


ROUNDS = [
    (DirectTopK(k=FEW_ROUNDS), "record", False),
    (DirectTopK(k=FEW_ROUNDS + 1), "record", True),
    (DirectTopK(k=5, per_context=True), "record", False),
    (DirectTopK(k=6, per_context=True), "record", True),
    (DirectTopK(k=6, per_context=True), "user", False),
    (DirectTopK(k=FEW_ROUNDS, per_context=True), "user", False),
    (DirectTopK(k=FEW_ROUNDS + 1, per_context=True), "user", True),
    (DirectTopK(k=6), "user", False),
]


@pytest.mark.parametrize(("method", "context_of", "long"), ROUNDS, ids=repr)
def test_contexts_that_share_epsilon_make_a_ranking_longer(
    method: DirectTopK, context_of: Any, long: bool
) -> None:
    for with_counts in (False, True):
        case = Case(replace(method, with_counts=with_counts), context_of)
        release = released(case, "counted")
        assert set(release.tables) == ({"ranking", "activity"} if long else {"ranking"})
        assert release.chosen["ranking"]["by"] == ("counts" if long else "peeling")
        assert ("activity" in release.noise) is long
        assert ("activity" in case.method.noise_distributions(case.town(), Grant(EPSILON))) is long
        assert release.interval.average is long


def test_a_short_ranking_is_as_it_was() -> None:
    """All of ε is peeled: nothing is spent on a histogram, and the noise is drawn as if there were none."""
    for method in (DirectTopK(k=10), DirectTopK(k=5, per_context=True, with_counts=True)):
        log = town(items=ITEMS)
        with mock.patch.object(top_k, "release_histogram", side_effect=AssertionError("not for a short ranking")):
            here = method.release(log, Grant(EPSILON), SeededNoise(1), ReferenceEngine())
        with mock.patch.object(top_k, "FEW_ROUNDS", 10**9):
            there = method.release(log, Grant(EPSILON), SeededNoise(1), ReferenceEngine())
        assert here.ranking.equals(there.ranking)
        assert here.explain() == there.explain()


# Which way


@cases
@ways
def test_hides_the_log(case: Case, strategy: str) -> None:
    """With the same histogram, the way and all that is said are the same for every log, whatever is in it."""
    descriptions = []
    heavy = [(f"u{n}", f"i{item}", CONTEXTS[n % 2]) for n in range(9) for item in range(ITEMS)]
    full = EventLog.of(heavy, items=case.town().catalogue.ids, contexts=CONTEXTS, context_of=case.context_of)
    full = replace(full, catalogue=case.town().catalogue)
    for log in (case.town(), case.town(users=400, seed=2), case.town(users=0), full):
        with forced(WAYS[strategy]), agreeing():
            release = case.method.release(log, Grant(EPSILON), OperatingSystemNoise(), LocalEngine())
        described = {key: value for key, value in release.to_json().items() if key != "created"}
        table, width = release.ranking, []
        if case.method.with_counts and strategy == "peeled":
            width = np.round(pc.subtract(table["high"], table["low"]).to_pylist(), 6).tolist()
        shape = (table.schema, table.num_rows, width)
        descriptions.append(
            (json.dumps(described), release.sentences(), shape, release.tables["activity"].to_pylist())
        )
    assert all(description == descriptions[0] for description in descriptions)
    assert release.chosen["ranking"]["by"] == ("counts" if strategy == "counted" else "peeling")


LIGHT_ROWS = [(f"u{n}", f"i{n * n % ITEMS}", CONTEXTS[n % 3 % 2]) for n in range(2_000)]
HEAVY_ROWS = [(f"u{n}", f"i{item}", CONTEXTS[n % 2]) for n in range(2_000) for item in range(ITEMS - n % 5)]


@pytest.mark.parametrize("per_context", [False, True])
@pytest.mark.parametrize(("rows", "by"), [(LIGHT_ROWS, "counts"), (HEAVY_ROWS, "peeling")], ids=["light", "heavy"])
def test_both_ways_are_taken(rows: list[Any], by: str, per_context: bool) -> None:
    """Where people have one item each, counts are precise; where they have nearly all of them, peeling is."""
    log = EventLog.of(rows, items=[f"i{n}" for n in range(ITEMS)], contexts=CONTEXTS)
    method = DirectTopK(k=6 if per_context else 12, per_context=per_context)
    for seed in range(5):
        release = method.release(log, Grant("2"), SeededNoise(seed), ReferenceEngine())
        assert release.chosen["ranking"]["by"] == by
        assert ("limit" in release.chosen["ranking"]) is (by == "counts")


@cases
def test_the_strategy_follows_from_released_activity(case: Case) -> None:
    """With real histograms: whoever reads the release, and knows no log, finds the same way and limit."""
    for seed in range(12):
        log = case.town(users=[0, 30, 300][seed % 3], most=ITEMS)
        release = case.method.release(log, Grant("2"), SeededNoise(seed), ReferenceEngine())
        bins = np.array(release.tables["activity"]["users"].to_pylist()).round().astype(np.int64)
        noisy_activity = Noisy(bins, release.noise["activity"])
        nothing = replace(case.town(users=0), counting="users")
        price, plan = Cost.of("1.96"), ByCounts.plan(nothing, noisy_activity, Cost.of("1.96"))
        rounds = case.method.k * (case.contexts if case.context_of == "record" else 1)
        scale = rounds / (1.96 / 2 if case.method.with_counts else 1.96)
        if case.method.per_context:
            peeled = by_context.peeling_pays(nothing, case.method.k, noisy_activity, price, deviation=scale)
        else:
            peeled = not plan.pays(scale)
            assert peeled or release.chosen["ranking"]["limit"] == plan.limit
        assert release.chosen["ranking"]["by"] == ("peeling" if peeled else "counts")
        assert not peeled or release.chosen["ranking"]["apart"] == math.ceil(scale)


def test_the_more_places_the_more_counts_pay() -> None:
    log = replace(town(items=ITEMS), counting="users")
    noisy_activity = Noisy(HEAVY, DiscreteLaplace(Fraction(50)))
    plan = ByCounts.plan(log, noisy_activity, Cost.of("0.98"))
    assert [plan.pays(rounds / 0.98) for rounds in (11, 30, 10_000)] == [False, False, True]
    light = ByCounts.plan(log, Noisy(LIGHT, DiscreteLaplace(Fraction(50))), Cost.of("0.98"))
    assert light.deviation < plan.deviation
    assert light.pays(11 / 0.98)


# The release


@cases
@ways
@pytest.mark.parametrize("users", [0, 1, 60])
def test_tables_and_columns(case: Case, strategy: str, users: int) -> None:
    method, log = case.method, case.town(users=users)
    release = released(case, strategy, log)
    assert list(release.tables) == ["ranking", "activity"]
    table = release.ranking
    names = ["rank", "item", "label", *(["context"] if method.per_context else [])]
    assert table.column_names == [*names, *(["count", "low", "high"] if method.with_counts else [])]
    assert table["rank"].to_pylist() == [*range(1, method.k + 1)] * case.contexts
    labels = dict(zip(log.catalogue.ids, log.catalogue.labels, strict=True))
    for place, context in enumerate(CONTEXTS if method.per_context else [None]):
        rows = table.slice(place * method.k, method.k).to_pylist()
        assert len({row["item"] for row in rows}) == method.k
        assert all(row["label"] == labels[row["item"]] and row.get("context") == context for row in rows)
        assert release.top(method.k, context) == rows
        if method.with_counts:
            assert all(row["low"] <= row["count"] <= row["high"] for row in rows)
            assert any(row["low"] < row["high"] for row in rows)
        if method.with_counts and strategy == "counted":
            assert [row["count"] for row in rows] == sorted((row["count"] for row in rows), reverse=True)
            assert all(row["low"] >= 0 for row in rows)
    bins = release.tables["activity"]
    assert bins["users"].to_pylist() == WAYS[strategy].tolist()
    assert bins["from"].to_pylist() == lower_ends().tolist()
    assert set(bins["of"].to_pylist()) == {"items"}
    assert release.interval.average is (strategy == "counted")
    assert release.interval.covers == ("bounded" if case.context_of == "user" else "true")
    assert (release.method, release.counts) == ("top-k", "users")
    assert release.guarantee == method.guarantee(Grant(EPSILON))


@cases
@ways
def test_reads_back_as_it_was(case: Case, strategy: str, tmp_path: Path) -> None:
    release = released(case, strategy)
    again = load(release.save(tmp_path / "release"))
    files = {path.name for path in (tmp_path / "release").iterdir()}
    assert files == {"release.json", "ranking.parquet", "activity.parquet"}
    assert again.to_json() == release.to_json()
    assert again.sentences() == release.sentences()
    assert again.ranking.equals(release.ranking)
    assert again.tables["activity"].equals(release.tables["activity"])


@cases
@ways
def test_simulation_is_marked(case: Case, strategy: str) -> None:
    seeded = released(case, strategy)
    assert seeded.simulated
    assert not seeded.is_private
    assert "seeded" in seeded.explain()
    with forced(WAYS[strategy]):
        real = case.method.release(case.town(), Grant(EPSILON), OperatingSystemNoise(), ReferenceEngine())
    assert real.is_private
    assert "seeded" not in real.explain()


@cases
@ways
def test_engines_agree(case: Case, strategy: str) -> None:
    local = released(case, strategy)
    for engine in (LocalEngine(threads=1), LocalEngine(threads=3, memory=64)):
        with forced(WAYS[strategy]):
            other = case.method.release(case.town(), Grant(EPSILON), SeededNoise(1), engine)
        assert local.ranking.equals(other.ranking)


@cases
@ways
def test_the_explanation_states_the_strategy(case: Case, strategy: str) -> None:
    release = released(case, strategy)
    explanation, page = release.explain(), release_page(release)
    assert "paid with 2 % of ε" in explanation
    then = "best items were" if strategy == "peeled" else "Peeling"
    assert explanation.index("First it was released how many people have") < explanation.index(then)
    assert ("of item and context" in explanation) is (case.method.per_context and strategy == "counted")
    assert f"fewer than {release.chosen['ranking']['apart']:,} people apart are in random order" in explanation
    assert f"fewer than {release.chosen['ranking']['apart']:,} people apart are in random order" in page
    assert ("permute-and-flip" in explanation) is (strategy == "peeled")
    assert ("so counts were ranked" in explanation) is (strategy == "counted")
    assert ("on average" in explanation) is (strategy == "counted" and case.method.with_counts)
    assert "How active people are" in page
    assert f"The {case.method.k} best items" in page
    if strategy == "counted":
        limit = release.chosen["ranking"]["limit"]
        assert f"at most {limit:,} different" in explanation


def test_the_curator_runs_it_with_real_randomness() -> None:
    request = RankRequest(epsilon=Decimal("0.7"), k=6, per_context=True)
    plan = planned(request, town(items=ITEMS))
    release = ran(request, town(items=ITEMS), engine=ReferenceEngine())
    assert plan.cells == {"ranking": 12} == {"ranking": release.ranking.num_rows}
    assert plan.guarantee == release.guarantee
    assert plan.noise["activity"] == release.noise["activity"]
    assert release.is_private
    assert functions.rank(town(items=ITEMS), k=ITEMS, epsilon="0.7", with_counts=True).ranking.num_rows == ITEMS


# What is counted


def rows_of(truth: dict[tuple[str, str], int]) -> list[tuple[str, str, str]]:
    """As many people as is said for each item and context, each with that alone."""
    return [
        (f"{item}-{context}-{n}", item, context)
        for (item, context), number in truth.items()
        for n in range(number)
    ]


@pytest.mark.parametrize("context_of", ["record", "user"])
def test_counts_are_ranked_in_their_own_context(context_of: Any) -> None:
    """Without noise to speak of: what is best in the morning is worst in the evening; the night is left out."""
    items = [f"i{n:02}" for n in range(12)]
    truth = {(item, "AM"): 10 * (n + 1) for n, item in enumerate(items)}
    truth |= {(item, "PM"): 7 * (12 - n) for n, item in enumerate(items)}
    truth |= {(item, "night"): 500 for item in items[5:7]}
    log = EventLog.of(rows_of(truth), items=items, contexts=CONTEXTS, context_of=context_of)
    method = DirectTopK(k=12, per_context=True, with_counts=True)
    release = method.release(log, Grant(EXACT), SeededNoise(1), ReferenceEngine())
    assert release.chosen["ranking"]["by"] == "counts"
    rankings_by_context = {name: [row["item"] for row in release.top(12, name)] for name in CONTEXTS}
    assert rankings_by_context == {"AM": items[::-1], "PM": items}
    for row in release.ranking.to_pylist():
        assert row["count"] == pytest.approx(truth[row["item"], row["context"]], abs=0.05)
        assert row["low"] <= row["count"] <= row["high"]
    overall = DirectTopK(k=12, with_counts=True).release(log, Grant(EXACT), SeededNoise(1), ReferenceEngine())
    assert overall.chosen["ranking"]["by"] == "counts"
    sums = {item: sum(n for (pair_item, _), n in truth.items() if pair_item == item) for item in items}
    assert {row["item"]: round(row["count"]) for row in overall.ranking.to_pylist()} == sums
    assert {row["item"] for row in overall.top(2)} == set(items[5:7])


def test_a_user_counts_once_per_item_in_counts_too() -> None:
    rows = [("ann", "i0")] * 50 + [(f"u{n}", f"i{n % 12}") for n in range(66)]
    log = EventLog.of(rows, items=[f"i{n}" for n in range(12)], counting="records")
    release = DirectTopK(k=12, with_counts=True).release(log, Grant(EXACT), SeededNoise(1), ReferenceEngine())
    assert release.chosen["ranking"]["by"] == "counts"
    assert {row["item"]: round(row["count"]) for row in release.ranking.to_pylist()} == {
        f"i{n}": 5 + (n < 6) + (n == 0) for n in range(12)
    }


@pytest.mark.parametrize("context_of", ["record", "user"])
@pytest.mark.parametrize("per_context", [False, True])
def test_intervals_of_ranked_counts_hold_on_average(per_context: bool, context_of: Any) -> None:
    """Over 20 releases of many rows each: of the ranked counts, winners as they are, nine of ten are covered."""
    generator = np.random.default_rng(5)
    weights = 1 / np.arange(1, 201)
    items = generator.choice(200, 12_000, p=weights / weights.sum())
    users = generator.choice(3_000, 12_000)
    contexts = users % 2 if context_of == "user" else (items + generator.integers(0, 3, 12_000)) % 2
    rows = pa.table(
        {
            "user": [f"u{n}" for n in users],
            "item": [f"i{n}" for n in items],
            "context": [CONTEXTS[n] for n in contexts],
        }
    )
    log = read_events(
        rows, user="user", item="item", items=[f"i{n}" for n in range(200)], context="context",
        contexts=",".join(CONTEXTS), context_of=context_of,
    )  # fmt: skip
    names = ["item", *(["context"] if per_context else [])]
    pairs = rows.group_by(["user", *names]).aggregate([]).group_by(names).aggregate([("user", "count")])
    truth = {tuple(row[name] for name in names): row["user_count"] for row in pairs.to_pylist()}
    method = DirectTopK(k=40, per_context=per_context, with_counts=True)
    covered, errors, there, taken = [], [], [], 0
    for seed in range(20):
        release = method.release(log, Grant("2"), SeededNoise(seed), LocalEngine(threads=1))
        if release.chosen["ranking"]["by"] == "peeling":
            continue
        taken += 1
        for row in release.ranking.to_pylist():
            true = truth.get(tuple(row[name] for name in names), 0)
            covered.append(row["low"] <= true <= row["high"])
            errors.append(row["count"] - true)
            there.append(true)
    assert taken >= 15
    assert np.mean(covered) >= 0.9
    assert abs(np.mean(errors)) <= 0.2 * np.mean(there)


# The loss


class Twice(Once):
    """Counts each log once, and the people in each bin of activity too."""

    def __init__(self) -> None:
        super().__init__()
        self._active: dict[tuple[int, Bound[Any]], Any] = {}

    def measure(self, log: EventLog, bound: Bound[Measured_co], secret: bytes) -> Measured_co:
        if not isinstance(bound, bounds.ActivityHistogram):
            return super().measure(log, bound, secret)
        key = (id(log.source), bound)
        if key not in self._active:
            self._active[key] = ReferenceEngine().measure(log, bound, secret)
        measured: Measured_co = self._active[key]
        return measured


def outcomes(method: DirectTopK, log: EventLog, runs: int, *, seed: int) -> list[Any]:
    """Return what many releases at ε = 1 tell of Ann: of the noisy tables, and of the histogram.

    A few places are made a long ranking, and the limit is 1, so that counts are ranked every time: way and limit
    hang on the released histogram alone, as tests above show. The tables before shrinkage tell more than what is
    made of them.
    """
    engine, detections = Twice(), []

    def raw(noisy: Noisy, *_: Any) -> Posterior:
        heavy = noisy.counts[1].reshape(3, -1)[:2, :2]  # what Ann has: two items, in two contexts if there are any
        detections.append(bool((heavy >= (0.5 if heavy.shape[1] == 1 else 0.25)).all()))
        both = noisy.counts.sum(axis=0)
        return Posterior(both, both, both)

    observations = []
    with (
        remembered(),
        mock.patch.object(measure, "MOST_RECORDS", 32),  # nobody has more, and short tables are quick
        mock.patch.object(top_k, "FEW_ROUNDS", 0),
        mock.patch.object(by_counts, "choose_threshold", return_value=1),
        mock.patch.object(by_counts, "estimate_users", return_value=NOBODY),
        mock.patch.object(ByCounts, "pays", return_value=True),
        mock.patch.object(by_counts, "counts_from", raw),
    ):
        for run in range(runs):
            release = method.release(log, Grant("1"), SeededNoise(seed * 10**6 + run), engine)
            observations.append((detections.pop(), release.tables["activity"]["users"][HEAVY_BIN].as_py() > 0))
    return observations


NOBODY = UserEstimates(
    EstimatedActivity(np.empty(0), np.empty(0)), EstimatedActivity(np.empty(0), np.empty(0)), distinct=True
)
HEAVY_BIN = 1  # the bin of those with two items


def compare(method: DirectTopK, runs: int, *, epsilon: float = 1.0) -> float:
    """Return the p-value of "the loss between the log with Ann and the one without her is at most ε"."""
    logs = [
        EventLog.of(rows, items=["rye", "oat", "tea"], contexts=CONTEXTS)
        for rows in ([*BYSTANDERS, *ANN], BYSTANDERS)
    ]
    return loses_more_than(epsilon, *(outcomes(method, log, runs, seed=seed) for seed, log in enumerate(logs, 1)))


@pytest.mark.slow
def test_the_privacy_loss_of_counts_is_at_most_epsilon() -> None:
    assert compare(DirectTopK(k=1), 3_000) > LEVEL


@pytest.mark.slow
def test_the_loss_is_really_spent() -> None:
    """The promise is nearly tight: ε = 0.6 would be a wrong promise for what is spent as 1, and is rejected."""
    assert compare(DirectTopK(k=1), 5_000, epsilon=0.6) < LEVEL


def test_half_the_scale_is_caught() -> None:
    def half(bounded: Bounded, grant: Grant, noise: NoiseSource) -> Noisy:
        grant.spend()
        return add_noise(bounded, Grant(2 * grant.epsilon), noise)

    with mock.patch.object(measure, "add_noise", half):
        assert compare(DirectTopK(k=1), 3_000) < LEVEL


# How much it finds

DATA = Path(os.environ.get("HEADCOUNT_DATA", "."))
SEEDS = range(4)


def overlap_of(release: Release, right: set[Any]) -> float:
    return float(np.mean([row["item"] in right for row in release.top(100)]))


def compared(log: EventLog, counts: NDArray[np.int64]) -> tuple[float, float, float]:
    """How much of the top 100 is found at ε = 0.5: by a ranking, by peeling alone, and by counts alone."""
    best = counts >= np.sort(counts)[-100]
    right = {item for item, good in zip(log.catalogue.ids, best.tolist(), strict=True) if good}
    log, engine = replace(log, counting="users"), LocalEngine(threads=1)
    overlaps = []
    for seed in SEEDS:
        combined = DirectTopK(k=100).release(log, Grant("0.5"), SeededNoise(seed), engine)
        with mock.patch.object(top_k, "FEW_ROUNDS", 100):
            peeled = DirectTopK(k=100).release(log, Grant("0.5"), SeededNoise(seed), engine)
        counts_alone = Adaptive(what="items").release(log, Grant("0.5"), SeededNoise(seed), engine)
        overlaps.append([overlap_of(release, right) for release in (combined, peeled, counts_alone)])
    ranking, peeling, counting = np.mean(overlaps, axis=0).tolist()
    return ranking, peeling, counting


@pytest.mark.parametrize("records_per_user", [1, 300])
def test_a_long_ranking_finds_as_much_as_the_better_way(records_per_user: int) -> None:
    """6,000 people with one record each, or 300: there counts find more, and here peeling."""
    generator = np.random.default_rng(1)
    weights = 1 / np.arange(1, 3_001) ** 0.8
    items = generator.choice(3_000, 6_000 * records_per_user, p=weights / weights.sum())
    ranking, peeling, counting = compared(*of_pairs(np.arange(items.size) % 6_000, items))
    assert (counting > peeling) is (records_per_user == 1)
    assert ranking >= max(peeling, counting) - 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", ["movielens-1m", "gowalla-10core", "fimi-retail"])
def test_the_top_hundred_of_real_logs_is_recovered(name: str) -> None:
    path = DATA / f"{name}.parquet"
    if not path.exists():
        pytest.skip("HEADCOUNT_DATA names no folder with this log")
    table = pq.read_table(path, columns=["user", "item"])
    ranking, peeling, counting = compared(*of_pairs(table["user"].to_numpy(), table["item"].to_numpy()))
    assert ranking >= max(peeling, counting) - 0.05, (ranking, peeling, counting)
