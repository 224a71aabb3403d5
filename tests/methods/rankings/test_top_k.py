"""Direct top-K as a method: what it spends, promises, counts and hides, and how much of the true top 10 it finds.

Tests of a loss have the false-alarm rate ``laws.LEVEL`` = 1e-7, and fixed seeds. Where ε is huge there is no noise
to speak of, so that what is released is what was counted.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
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

from headcount.accounting.budget import Cost, Grant
from headcount.accounting.guarantee import UNIT, Guarantee, Standing
from headcount.api import functions
from headcount.bounds import Bounded, BoundedCounts, CountBound, Scored
from headcount.bounds.bounded import SEAL
from headcount.bounds.scores.candidate_scores import count_scores
from headcount.engines.local.engine import LocalEngine
from headcount.engines.local.pack import pack
from headcount.errors import GrantError, UsageError
from headcount.events.log import EventLog, read_events
from headcount.methods.method import section
from headcount.methods.rankings import top_k
from headcount.methods.rankings.request import RankRequest
from headcount.methods.rankings.top_k import DirectTopK
from headcount.noise import OperatingSystemNoise, SeededNoise, laplace, scale_for
from headcount.noise.selection import top_k as peeling
from headcount.noise.stages import Stages
from headcount.releases.release import Release, load
from tests.contracts.support.method_checks import CONTEXTS, EPSILON, recorded_spending, town
from tests.reference.engine import ReferenceEngine
from tests.reference.engine_in_parts import InParts
from tests.support.curator_runs import planned, ran
from tests.support.distributions import LEVEL, loses_more_than
from tests.support.small_logs import scale_of

pytestmark = pytest.mark.long

EXACT = "100000"  # no noise to speak of
SHAPES = {
    "plain": DirectTopK(k=3),
    "one": DirectTopK(k=1),
    "all": DirectTopK(k=6),
    "counts": DirectTopK(k=3, with_counts=True),
    "contexts": DirectTopK(k=2, per_context=True),
    "both": DirectTopK(k=2, per_context=True, with_counts=True),
}
shapes = pytest.mark.parametrize("method", SHAPES.values(), ids=SHAPES)


def released(method: DirectTopK, log: EventLog, *, seed: int = 1, epsilon: str = EPSILON) -> Release:
    return method.release(log, Grant(epsilon), SeededNoise(seed), ReferenceEngine())


def exactly(log: EventLog, k: int, *, per_context: bool = False) -> list[tuple[Any, ...]]:
    """What is counted: the rows of a release without noise to speak of, ties in any order."""
    method = DirectTopK(k=k, per_context=per_context, with_counts=True)
    names = ["item", "count", *(["context"] if per_context else [])]
    return [tuple(row.values()) for row in released(method, log, epsilon=EXACT).ranking.select(names).to_pylist()]


def by_user(log: EventLog) -> EventLog:
    return replace(log, context_of="user")


# The grant and the promise


@shapes
@pytest.mark.parametrize("context_of", ["record", "user"])
def test_spends_exactly_the_grant(method: DirectTopK, context_of: Any) -> None:
    """Each context all of it where nobody is in two of them; parts that sum to it otherwise."""
    grant = Grant(EPSILON)
    with recorded_spending() as spent:
        method.release(replace(town(), context_of=context_of), grant, SeededNoise(1), ReferenceEngine())
    assert grant.is_spent
    own = {id(part) for part in parts_of(grant)}
    assert all(id(grant) in own for grant in spent), "a grant was spent that nobody handed over"
    rankings = len(CONTEXTS) if method.per_context else 1
    stages = 2 if method.with_counts else 1
    assert len(spent) == rankings * stages
    ranking_budget = Fraction(EPSILON) if context_of == "user" else Fraction(EPSILON) / rankings
    for first in range(0, len(spent), stages):
        assert sum(part.exact for part in spent[first : first + stages]) == ranking_budget
    for stage in (grant.spend, lambda: grant.split({"a": Decimal(1)}), lambda: grant.for_disjoint_users("ab")):
        with pytest.raises(GrantError, match="already spent"):
            stage()


def parts_of(grant: Grant) -> Iterator[Grant]:
    yield grant
    for part in grant._parts:
        yield from parts_of(part)


def test_contexts_that_do_not_divide_evenly_share_all_of_it() -> None:
    log = EventLog.of([("ann", "tea", "a")], items=["tea", "rye"], contexts=["a", "b", "c"])
    for epsilon in ("1", "0.1234567890123456789", "1e-7"):
        grant = Grant(epsilon)
        with recorded_spending() as spent:
            DirectTopK(k=1, per_context=True).release(log, grant, SeededNoise(1), ReferenceEngine())
        assert sum(part.exact for part in spent) == Fraction(epsilon)
        assert max(abs(part.exact - Fraction(epsilon) / 3) for part in spent) < Fraction(1, 10**14)


@shapes
def test_the_scale_is_what_the_grant_pays_for(method: DirectTopK, monkeypatch: pytest.MonkeyPatch) -> None:
    scales: list[Fraction] = []
    real = peeling.draw

    def draw(behind: Any, k: int, numerator: int, denominator: int, source: Any, **more: Any) -> list[int]:
        scales.append(Fraction(numerator, denominator))
        return real(behind, k, numerator, denominator, source, **more)

    monkeypatch.setattr(peeling, "draw", draw)
    for log, rankings in ((by_user(town()), 1), (town(), len(CONTEXTS) if method.per_context else 1)):
        scales.clear()
        release = released(method, log)
        paid = Fraction(EPSILON) / rankings / (2 if method.with_counts else 1)
        assert set(scales) == {scale_for(method.k, paid)}
        assert all(scale_of(law) == scale_for(method.k, paid) for law in release.noise.values())
        assert list(release.noise) == (["ranking"] if method.with_counts else [])


@shapes
def test_a_spent_grant_buys_nothing(method: DirectTopK) -> None:
    spent, split = Grant(EPSILON), Grant(EPSILON)
    spent.spend()
    split.split({"a": Decimal("0.5"), "b": Decimal("0.5")})
    for grant in (spent, split):
        for log in (town(), by_user(town())):
            with pytest.raises(GrantError, match="already spent"):
                method.release(log, grant, SeededNoise(1))


@shapes
def test_the_guarantee_equals_the_grant(method: DirectTopK) -> None:
    grant = Grant(EPSILON)
    promised = method.guarantee(grant)
    assert not grant.is_spent
    assert (promised.epsilon, promised.delta, promised.unit) == (Decimal(EPSILON), Decimal(0), UNIT)
    assert promised.standing is DirectTopK.standing is Standing.PROVEN
    assert promised.reason is DirectTopK.reason is None
    assert any("public" in assumption for assumption in promised.assumes)
    assert Guarantee.from_json(json.loads(json.dumps(promised.to_json()))) == promised
    assert released(method, town()).guarantee == promised
    assert f"e^{EPSILON}" in released(method, town()).explain()


@shapes
def test_plans_what_it_does(method: DirectTopK) -> None:
    for epsilon in (EPSILON, "0.123456789123", "3"):
        for log in (town(), by_user(town())):
            grant = Grant(epsilon)
            assert method.noise_distributions(log, grant) == released(method, log, epsilon=epsilon).noise
            assert not grant.is_spent


def test_the_curator_runs_it_with_real_randomness() -> None:
    request = RankRequest(epsilon=Decimal("0.7"), k=2, per_context=True)
    plan = planned(request, town())
    release = ran(request, town(), engine=ReferenceEngine())
    assert plan.cells == {"ranking": 4} == {"ranking": release.ranking.num_rows}
    assert plan.guarantee == release.guarantee
    assert release.is_private
    assert release.request["rank"] == {"epsilon": "0.7", "k": 2, "per_context": True}
    assert functions.rank(town(), k=1, epsilon="0.7", with_counts=True).ranking.num_rows == 1


@pytest.mark.parametrize("k", [0, -1, 2.5, "3", True, None, 2**31])
def test_k_is_a_whole_number(k: Any) -> None:
    with pytest.raises(UsageError, match="k must"):
        DirectTopK(k=k)


def test_what_cannot_be_done_costs_nothing() -> None:
    for method, log, words in (
        (DirectTopK(k=7), town(), "at most 6, the number of items"),
        (DirectTopK(k=2, per_context=True), town(contexts=False), "needs a context"),
    ):
        grant = Grant(EPSILON)
        for ask in (
            lambda: method.noise_distributions(log, grant),  # noqa: B023
            lambda: method.release(log, grant, SeededNoise(1)),  # noqa: B023
        ):
            with pytest.raises(UsageError, match=words):
                ask()
        assert not grant.is_spent
        grant.spend()


def test_the_file_says_why() -> None:
    for title in ("Why it is private", "Departures from the paper", "Reference"):
        assert section(DirectTopK, title)
    assert ">>>" in (inspect.getdoc(DirectTopK) or "")


# The release


@shapes
def test_a_ranking_lists_k_distinct_items(method: DirectTopK) -> None:
    for log in (town(), town(users=0), town(users=1, most=1), by_user(town())):
        release = released(method, log)
        table, labels = release.ranking, dict(zip(log.catalogue.ids, log.catalogue.labels, strict=True))
        expected = ["rank", "item", "label", *(["context"] if method.per_context else [])]
        assert table.column_names == [*expected, *(["count", "low", "high"] if method.with_counts else [])]
        rankings = list(CONTEXTS) if method.per_context else [None]
        assert release.contexts == (CONTEXTS if method.per_context else None)
        assert table["rank"].to_pylist() == [*range(1, method.k + 1)] * len(rankings)
        for place, context in enumerate(rankings):
            rows = table.slice(place * method.k, method.k).to_pylist()
            assert len({row["item"] for row in rows}) == method.k
            assert all(row["label"] == labels[row["item"]] for row in rows)
            assert all(row.get("context") == context for row in rows)
            assert release.top(method.k, context) == rows
        assert release.catalogue == log.catalogue.digest
        assert (release.method, release.counts) == ("top-k", "users")


def test_ids_have_the_type_that_they_have_in_counts() -> None:
    table = pa.table({"user": [1, 2], "item": [7, 7]})
    log = read_events(table, user="user", item="item", items=[7, 8])
    ranking = functions.rank(log, k=2, epsilon="1").ranking
    counts = functions.release(log, epsilon="1", method="sra", limit=1).items
    assert ranking["item"].type == counts["item"].type == pa.int64()
    assert ranking["label"].type == counts["label"].type == pa.string()


@shapes
@pytest.mark.parametrize("context_of", ["record", "user"])
def test_hides_the_log(method: DirectTopK, context_of: Any) -> None:
    """But for the table, the release is the same for every log with the same public parameters."""
    descriptions = []
    for given in (town(), town(users=400, seed=2), town(users=0), town(users=1, most=1)):
        log = replace(given, context_of=context_of)
        release = method.release(log, Grant(EPSILON), OperatingSystemNoise(), LocalEngine())
        described = {key: value for key, value in release.to_json().items() if key != "created"}
        table = release.ranking
        width = pc.subtract(table["high"], table["low"]).to_pylist() if method.with_counts else []
        shape = (table.schema, table.num_rows, np.round(width, 6).tolist())
        descriptions.append((json.dumps(described), release.sentences(), shape))
    assert all(description == descriptions[0] for description in descriptions)


@shapes
def test_simulation_is_marked(method: DirectTopK) -> None:
    seeded = released(method, town())
    real = method.release(town(), Grant(EPSILON), OperatingSystemNoise(), ReferenceEngine())
    assert seeded.simulated
    assert not seeded.is_private
    assert "seeded" in seeded.explain()
    assert real.is_private
    assert "seeded" not in real.explain()


@shapes
def test_reads_back_as_it_was(method: DirectTopK, tmp_path: Path) -> None:
    release = released(method, town())
    again = load(release.save(tmp_path / "release"))
    assert {path.name for path in (tmp_path / "release").iterdir()} == {"release.json", "ranking.parquet"}
    assert again.to_json() == release.to_json()
    assert again.sentences() == release.sentences()
    assert again.ranking.equals(release.ranking)


@shapes
@pytest.mark.parametrize("context_of", ["record", "user"])
def test_engines_agree(method: DirectTopK, context_of: Any, tmp_path: Path) -> None:
    log = replace(town(users=60), context_of=context_of)
    local = released(method, log)
    packed = read_events(pack(log, tmp_path / "store"), context_of=context_of)
    for source, engine in (
        (log, LocalEngine(threads=1)),
        (log, LocalEngine(threads=3, memory=64)),
        (packed, LocalEngine()),
        (packed, ReferenceEngine()),
    ):
        other = method.release(source, Grant(EPSILON), SeededNoise(1), engine)
        assert local.ranking.equals(other.ranking)


@pytest.mark.parametrize("method", [DirectTopK(k=3), DirectTopK(k=2, per_context=True)], ids=repr)
def test_the_explanation_states_what_was_counted(method: DirectTopK) -> None:
    log = read_events(
        pa.table({"user": ["ann"], "item": ["tea"], "day": ["Mon"], "stars": [4]}),
        user="user", item="item", items=["tea", "rye", "oat"], context="day", contexts="Mon,Tue",
        where="stars >= 2", context_of="user",
    )  # fmt: skip
    explanation = released(method, log).explain()
    assert "Only records with stars >= 2 were counted" in explanation
    assert "the day they have most often" in explanation
    assert ("each with all of ε" in explanation) is method.per_context
    plain = released(method, replace(log, context_of="record")).explain()
    assert "most often" not in plain
    assert ("sharing ε equally" in plain) is method.per_context


# What is counted


def test_repeated_records_count_once() -> None:
    rows = [("ann", "tea")] * 50 + [("bob", "rye"), ("cyn", "rye"), ("dan", "rye"), ("dan", "tea")]
    for counting in ("records", "users"):
        log = EventLog.of(rows, items=["oat", "tea", "rye"], counting=counting)
        assert exactly(log, 3) == [("rye", 3), ("tea", 2), ("oat", 0)]


def test_rows_that_stand_for_many_count_once() -> None:
    rows = pa.table({"user": ["ann", "bob", "cyn"], "item": ["tea", "rye", "rye"], "times": [90, 1, 1]})
    log = read_events(rows, user="user", item="item", items=["tea", "rye"], times="times")
    assert exactly(log, 2) == [("rye", 2), ("tea", 1)]


def test_active_users_count_in_full() -> None:
    """One person with all of 3,000 items, in several contexts, counts for each of them."""
    items = [f"i{n}" for n in range(3_000)]
    rows = [("ann", item, context) for item in items for context in CONTEXTS]
    rows += [(f"u{n}", items[n % 2], "AM") for n in range(3)]
    log = EventLog.of(rows, items=items, contexts=CONTEXTS)
    assert exactly(log, 2) == [("i0", 3), ("i1", 2)]
    with mock.patch("headcount.methods.rankings.top_k.FEW_ROUNDS", 3_000):
        assert {count for _, count in exactly(log, 3_000)} == {1, 2, 3}
    assert [count for _, count, context in exactly(log, 2, per_context=True) if context == "PM"] == [1, 1]


def test_an_item_in_two_contexts_counts_once_per_ranking() -> None:
    rows = [("ann", "tea", "AM"), ("ann", "tea", "PM"), ("ann", "tea", "PM"), ("bob", "rye", "PM")]
    rows += [("cyn", "rye", "PM")]
    log = EventLog.of(rows, items=["tea", "rye"], contexts=CONTEXTS)
    assert exactly(log, 2) == [("rye", 2), ("tea", 1)]
    assert exactly(log, 2, per_context=True) == [
        ("tea", 1, "AM"), ("rye", 0, "AM"), ("rye", 2, "PM"), ("tea", 1, "PM"),
    ]  # fmt: skip


def test_the_unknown_context_is_left_out() -> None:
    rows = [(f"u{n}", "tea", "night") for n in range(9)] + [("ann", "rye", "AM"), ("bob", "rye", "PM")]
    log = EventLog.of(rows, items=["tea", "rye"], contexts=CONTEXTS)
    assert exactly(log, 1, per_context=True) == [("rye", 1, "AM"), ("rye", 1, "PM")]
    assert exactly(log, 2) == [("tea", 9), ("rye", 2)]  # overall it counts


def test_with_one_context_per_user_contexts_are_disjoint() -> None:
    rows = [(f"u{n}", item, context) for n in range(5) for item, context in (("tea", "AM"), ("rye", "PM"))]
    rows += [(f"u{n}", "tea", "AM") for n in range(5)]
    log = EventLog.of(rows, items=["tea", "rye"], contexts=CONTEXTS)
    assert exactly(log, 1, per_context=True) == [("tea", 5, "AM"), ("rye", 5, "PM")]
    counted = exactly(by_user(log), 2, per_context=True)
    assert [count for _, count, _ in counted] == [5, 0, 0, 0]
    release = released(DirectTopK(k=1, with_counts=True), by_user(log))
    assert release.interval.covers == "bounded"
    assert "most often" in release.covered
    assert released(DirectTopK(k=1, with_counts=True), log).interval.covers == "true"


@pytest.mark.parametrize("per_context", [False, True])
def test_intervals_cover_the_true_counts(per_context: bool) -> None:
    """Of 1,600 counts or more, 95 % are covered with a deviation of 0.55 %: 3 % less once in 10 million."""
    log, k = town(users=300, items=30), 4
    log = by_user(log) if per_context else log
    engine, method = Once(), DirectTopK(k=k, per_context=per_context, with_counts=True)
    truth = {
        (row["item"], row.get("context")): row["count"]
        for row in released(replace(method, k=30), log, epsilon=EXACT).ranking.to_pylist()
    }
    errors, covered = [], []
    with remembered():
        for seed in range(400):
            release = method.release(log, Grant("2"), SeededNoise(seed), engine)
            for row in release.ranking.to_pylist():
                true = truth[row["item"], row.get("context")]
                errors.append(abs(row["count"] - true))
                covered.append(row["low"] <= true <= row["high"])
    assert np.mean(covered) > 0.92
    width = release.noise["ranking"].half_width(0.95)
    assert width <= np.quantile(errors, 0.95) * 1.15 + 1
    assert scale_of(release.noise["ranking"]) == k  # K / ε₂


# The loss


class Once(InParts):
    """Counts each log once: no secret changes what is counted where nobody is cut and no contexts are tied."""

    def __init__(self) -> None:
        super().__init__()
        self._counted: dict[tuple[int, str], tuple[EventLog, BoundedCounts]] = {}

    def count(self, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
        key = (id(log.source), f"{log.counting} {log.context_of} {bound}")
        if key not in self._counted:
            self._counted[key] = (log, ReferenceEngine().measure(log, bound, secret))
        return self._counted[key][1]


@contextmanager
def remembered() -> Iterator[None]:
    """Confirm each scale once: OpenDP's map is the same every time."""
    with (
        mock.patch.object(laplace, "confirm", functools.cache(laplace.confirm)),
        mock.patch.object(peeling, "confirm", functools.cache(vars(peeling)["confirm"])),
    ):
        yield


BYSTANDERS = [("bob", "tea", "AM"), ("eve", "tea", "PM"), ("dan", "oat", "night")]
ANN = [("ann", item, context) for item in ("rye", "oat") for context in ("AM", "AM", "AM", "PM")]


def outcomes(method: DirectTopK, log: EventLog, runs: int, *, seed: int) -> list[Any]:
    """Return the rankings of many releases at ε = 1, with counts in coarse steps where there are counts."""
    engine, observations = Once(), []
    with remembered():
        for run in range(runs):
            release = method.release(log, Grant("1"), SeededNoise(seed * 10**6 + run), engine)
            counts = release.ranking["count"].to_pylist() if method.with_counts else []
            steps = [max(-2, min(3, round(count / 3))) for count in counts]
            observations.append((tuple(release.ranking["item"].to_pylist()), tuple(steps)))
    return observations


def compare(method: DirectTopK, runs: int, *, epsilon: float = 1.0, context_of: Any = "record") -> float:
    """Return the p-value of "the loss between the log with Ann and the one without her is at most ε"."""
    logs = [
        EventLog.of(rows, items=["rye", "oat", "tea"], contexts=CONTEXTS, context_of=context_of)
        for rows in ([*BYSTANDERS, *ANN], BYSTANDERS)
    ]
    sides = [outcomes(method, log, runs, seed=seed) for seed, log in enumerate(logs, 1)]
    return loses_more_than(epsilon, *sides)


LOSSES = [
    (DirectTopK(k=1), "record"),
    pytest.param(DirectTopK(k=2), "record", marks=pytest.mark.slow),
    pytest.param(DirectTopK(k=1, with_counts=True), "record", marks=pytest.mark.slow),
    pytest.param(DirectTopK(k=1, per_context=True), "record", marks=pytest.mark.slow),
    (DirectTopK(k=1, per_context=True), "user"),
]


@pytest.mark.parametrize(("method", "context_of"), LOSSES, ids=repr)
def test_the_privacy_loss_is_at_most_epsilon(method: DirectTopK, context_of: str) -> None:
    assert compare(method, 4_000, context_of=context_of) > LEVEL


@pytest.mark.slow
def test_the_loss_is_really_spent() -> None:
    """The promise is tight: ε = 0.6 would be a wrong promise for what is spent as 1, and is rejected."""
    assert compare(DirectTopK(k=1), 6_000, epsilon=0.6) < LEVEL


def understated(counts: Bounded) -> Scored:
    """Scores as if nobody could raise a count by more than 1."""
    return Scored(counts.sensitive_values.ravel().copy(), 1, SEAL, rise=1)


@contextmanager
def once_per_record() -> Iterator[None]:
    """Count a person once per record, as if they counted once per item."""
    with (
        mock.patch.object(top_k, "replace", lambda log, **_: log),
        mock.patch.object(top_k, "count_scores", understated),
    ):
        yield


@contextmanager
def half_scale() -> Iterator[None]:
    def half(l1: int, epsilon: Fraction) -> Fraction:
        return scale_for(l1, epsilon) / 2

    with mock.patch.object(peeling, "scale_for", half), mock.patch.object(peeling, "confirm", return_value=None):
        yield


def test_counting_a_user_once_per_record_is_rejected() -> None:
    with once_per_record():
        assert compare(DirectTopK(k=1), 1_000) < LEVEL
        assert compare(DirectTopK(k=2), 1_500) < LEVEL


def test_half_the_scale_is_caught() -> None:
    with half_scale():
        assert compare(DirectTopK(k=2), 6_000) < LEVEL


@pytest.mark.slow
def test_full_epsilon_for_contexts_that_share_users_is_rejected() -> None:
    """What --context-of user is for: without it, a person is in several contexts, and pays in each."""

    rankings = DirectTopK._rankings

    def all_of_it(self: DirectTopK, log: EventLog, price: Cost, *, tells: bool) -> Stages:
        return tuple(replace(stage, apart=True) for stage in rankings(self, log, price, tells=tells))

    with mock.patch.object(DirectTopK, "_rankings", all_of_it):
        assert compare(DirectTopK(k=1, per_context=True), 6_000) < LEVEL
        assert compare(DirectTopK(k=1, per_context=True), 6_000, context_of="user") > LEVEL


def test_scores_of_counts_of_records_carry_their_sensitivity() -> None:
    """Were a log counted by records after all, the rise would be the limit, and not 1."""
    log = town(contexts=False)
    by_record = ReferenceEngine().measure(log, top_k.EVERYTHING, bytes(16)).items
    by_person = ReferenceEngine().measure(replace(log, counting="users"), top_k.EVERYTHING, bytes(16)).items
    assert count_scores(by_record).rise == top_k.EVERYTHING.limit
    assert count_scores(by_person).rise == 1


# How much it finds


def precision(log: EventLog, counts: NDArray[np.int64], *, runs: int = 30, k: int = 10) -> float:
    """Return how much of the true top 10 is found at ε = 0.5 on average; whatever ties with the tenth is right."""
    right = counts >= np.sort(counts)[-k]
    place = {item: index for index, item in enumerate(log.catalogue.ids)}
    engine, precisions = Once(), []
    for seed in range(runs):
        release = DirectTopK(k=k).release(log, Grant("0.5"), SeededNoise(seed), engine)
        precisions.append(np.mean([right[place[item]] for item in release.ranking["item"].to_pylist()]))
    return float(np.mean(precisions))


def of_pairs(users: NDArray[Any], items: NDArray[Any]) -> tuple[EventLog, NDArray[np.int64]]:
    """A log whose catalogue is its items, and how many people have each."""
    pairs = np.unique(np.stack([users, items]), axis=1)
    ids, counts = np.unique(pairs[1], return_counts=True)
    table = pa.table({"user": pairs[0], "item": pairs[1]})
    return read_events(table, user="user", item="item", items=ids.tolist()), counts


def test_the_top_ten_of_a_synthetic_log_is_recovered() -> None:
    """4,000 people, 2,000 items, popularity falling as 1/rank: gaps of tens of people, at a scale of 20."""
    generator = np.random.default_rng(1)
    weights = 1 / np.arange(1, 2_001)
    items = generator.choice(2_000, 80_000, p=weights / weights.sum())
    log, counts = of_pairs(np.arange(80_000) % 4_000, items)
    assert precision(log, counts) >= 0.95
    few, small = of_pairs(np.arange(800) % 40, items[:800])
    assert precision(few, small) < 0.7  # among 40 people there is little to be seen


DATA = Path(os.environ.get("HEADCOUNT_DATA", "."))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "least"),
    [("movielens-1m", 0.95), ("gowalla-10core", 0.99), ("fimi-retail", 0.99), ("foursquare-nyc", 0.6)],
)
def test_the_top_ten_of_real_logs_is_recovered(name: str, least: float) -> None:
    path = DATA / f"{name}.parquet"
    if not path.exists():
        pytest.skip("HEADCOUNT_DATA names no folder with this log")
    table = pq.read_table(path, columns=["user", "item"])
    recovered = precision(*of_pairs(table["user"].to_numpy(), table["item"].to_numpy()))
    assert recovered >= least
