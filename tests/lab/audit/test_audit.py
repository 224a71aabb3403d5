"""The audit itself: how often it is wrong, how sharp it is, and that its runs are those of the real code."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any
from unittest import mock

import numpy as np
import pytest
from scipy import stats

from headcount.bounds import Bound, Measured_co
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.lab.audit import targets_under_audit
from headcount.lab.audit.adjacent_logs import Pair, crafted, drawn
from headcount.lab.audit.audit import (
    CONFIDENCE,
    Finding,
    audit,
    least_epsilon,
    lower_probability,
    upper_probability,
)
from headcount.lab.audit.method_cases import CASES
from headcount.lab.audit.outcome_sets import Observations, OutcomeSet, Score, choose_outcomes
from headcount.lab.audit.target_registry import NAMES, is_proven, pairs_for, target
from headcount.lab.audit.targets_under_audit import Target, log_of, observe_release
from headcount.noise import SeededNoise
from tests.lab.audit.coin_target import Chance, Coin
from tests.support.distributions import LEVEL, fits

PAIRS = {pair.name: pair for pair in crafted(2)}


def tossed(coin: Coin, runs: int, seed: int) -> Finding:
    target: Any = coin
    return audit(target, list(PAIRS.values())[:2], runs, seed=seed)


def test_a_coin_that_keeps_its_guarantee_is_hardly_ever_accused() -> None:
    """Each of 100 audits is wrong with probability below 0.001; five accusations are one in ten million."""
    results = [tossed(Coin(), 2000, seed) for seed in range(100)]
    assert sum(result.violation for result in results) < 5
    assert 0.75 < np.mean([result.lower_bound for result in results]) < 1


def test_a_coin_that_claims_slightly_too_much_privacy_is_rejected() -> None:
    assert tossed(Coin(more=0.1), 100_000, 1).violation
    assert not tossed(Coin(more=0.1), 1000, 1).violation  # that few runs tell nothing


def test_the_lower_bound_is_reported_after_every_look() -> None:
    early: list[float] = []
    audit_target: Any = Coin()
    result = audit(
        audit_target, [PAIRS["a tie"]], 5000, on_finding=lambda progress: early.append(progress.lower_bound)
    )
    assert len(early) == 3
    assert early[-1] == result.lower_bound
    assert early == sorted(early)


def test_without_a_seed_no_two_audits_are_alike() -> None:
    audit_target: Any = Coin()
    first, second = (audit(audit_target, [PAIRS["a tie"]], 5000, seed=None) for _ in range(2))
    assert first.to_json() != second.to_json()


def test_delta_is_allowed_for() -> None:
    assert not tossed(Coin(Decimal("0.5"), Decimal("0.5"), more=0.5), 20_000, 1).violation
    assert tossed(Coin(Decimal("0.5"), Decimal("0.001"), more=0.5), 20_000, 1).violation


def test_events_are_chosen_on_other_runs_than_they_are_judged_on() -> None:
    """Whoever chose and judged on the same runs would find something."""
    assert all(tossed(Chance(Decimal("0.001")), 1000, seed).lower_bound == 0 for seed in range(10))


def test_the_same_seed_gives_the_same_finding_whatever_the_processes() -> None:
    from concurrent.futures import ThreadPoolExecutor

    arguments = target("sra", 2, Decimal(1)), [PAIRS["at the limit"]], 3000
    with ThreadPoolExecutor(2) as pool:
        assert audit(*arguments, pool=pool).to_json() == audit(*arguments).to_json()
    assert audit(*arguments, seed=2).to_json() != audit(*arguments).to_json()


@pytest.mark.parametrize("name", sorted(name for name, case in CASES.items() if case.copies))
def test_copies_in_one_release_have_the_distribution_of_single_runs(name: str) -> None:
    """Compared by chi-square over outcomes, tails pooled; false alarms below LEVEL."""
    pair = Pair("two", "", 2, ((0, 1, 1), (1,)), (0, 0, 1))
    many = replace(target(name, 2, Decimal(1)), copies=True).observe(pair, SeededNoise(1), 60_000, present=True)
    once = replace(target(name, 2, Decimal(1)), copies=False).observe(pair, SeededNoise(2), 600, present=True)
    assert set(once.kinds) == set(many.kinds)
    law = _pooled(many)
    from_single_runs = _pooled(once)
    assert fits(from_single_runs, {key: law.get(key, 0) / 60_000 for key in law | from_single_runs}) > LEVEL


def test_copies_of_a_method_that_chooses_for_all_have_another_distribution() -> None:
    """That the comparison can tell: DPSense chooses one limit for all copies."""
    pair = Pair("two", "", 2, ((0, 1, 1), (1,)), (0, 0, 1))
    audit_target = target("dpsense", 2, Decimal(1))
    many = replace(audit_target, copies=True).observe(pair, SeededNoise(1), 20_000, present=True)
    once = audit_target.observe(pair, SeededNoise(2), 300, present=True)
    law, from_single_runs = _pooled(many), _pooled(once)
    assert (
        fits(from_single_runs, {key: max(law.get(key, 0), 0.5) / 20_000 for key in law | from_single_runs}) < LEVEL
    )


def _pooled(runs: Observations) -> dict[Any, int]:
    values = np.clip(np.round(runs.numbers / 3), -2, 3).astype(int)
    keys, counts = np.unique(values, axis=0, return_counts=True)
    return {tuple(key.tolist()): int(count) for key, count in zip(keys, counts, strict=True)}


# One run after the other, by one engine that keeps what it read


@dataclass
class Remembering(LocalEngine):
    """Measures each bound once, and gives the same choices of people's records to every later run."""

    stored_measurements: dict[Any, Any] = field(default_factory=dict)

    def measure(self, log: EventLog, bound: Bound[Measured_co], secret: bytes) -> Measured_co:
        if (id(log), bound) not in self.stored_measurements:
            self.stored_measurements[id(log), bound] = super().measure(log, bound, secret)
        measured: Measured_co = self.stored_measurements[id(log), bound]
        return measured


def differs(audit_target: Target, pair: Pair, runs: int = 3) -> bool:
    """Say whether runs by one engine differ from runs with the same draws by an engine each."""
    for present in (True, False):
        kept = audit_target.observe(pair, SeededNoise(5), runs, present=present)
        with mock.patch.object(targets_under_audit, "_engine", lambda kind, _: kind(threads=1)):
            fresh = audit_target.observe(pair, SeededNoise(5), runs, present=present)
        if kept.kinds.tolist() != fresh.kinds.tolist() or not np.array_equal(kept.numbers, fresh.numbers):
            return True
    return False


@pytest.mark.parametrize("name", NAMES)
def test_runs_of_an_engine_that_keeps_what_it_read_are_runs_of_a_new_one(name: str) -> None:
    """Draw for draw, so that there are no false alarms: rows of a log alone are kept from run to run."""
    for pair in pairs_for(name, 2)[1:4:2]:
        assert not differs(replace(target(name, 2, Decimal(1)), copies=False), pair), pair.name


def test_an_engine_that_reuses_draws_is_distinguished_from_a_fresh_one() -> None:
    audit_target = replace(target("sra", 2, Decimal(1)), copies=False, engine=Remembering)
    assert differs(audit_target, PAIRS["of many items"], runs=12)


def test_every_published_value_is_observed() -> None:
    release = target("adaptive", 2, Decimal(1)).release(log_of(PAIRS["a tie"], present=True), SeededNoise(1))
    runs = observe_release(release, PAIRS["a tie"])
    assert "activity" in release.tables
    assert runs.numbers.shape[1] == 2 + release.tables["activity"].num_rows == len(runs.names)
    assert "activity with discrete Laplace noise of scale" in runs.kinds[0]
    chosen = target("dpsense", 2, Decimal(1)).observe(PAIRS["a tie"], SeededNoise(1), 1, present=True)
    assert '"theta"' in chosen.kinds[0]  # by a charged mechanism
    ranked = target("top-k", 2, Decimal(1)).release(log_of(PAIRS["a tie"], present=True), SeededNoise(1))
    assert "ranked" in observe_release(ranked, PAIRS["a tie"]).kinds[0]


def test_gaussian_noise_of_the_adaptive_method_counts_users() -> None:
    audit_target = target("adaptive", 2, Decimal(1), Decimal("1e-6"))
    runs = audit_target.observe(PAIRS["above the limit"], SeededNoise(1), 2, present=True)
    assert audit_target.once
    assert len(runs) == 2
    counted = log_of(PAIRS["above the limit"], present=True, once=True)
    assert counted.counting == "users"


def test_unselected_items_are_observed_as_missing() -> None:
    pair = pairs_for("selection", 2)[-1]
    observed = target("selection", 2, Decimal(1)).observe(pair, SeededNoise(1), 3, present=True)
    assert all("selected 0" in kind for kind in observed.kinds)
    assert (observed.numbers[:, 1] < -1e8).all()
    nothing = target("selection", 2, Decimal(1)).observe(PAIRS["a tie"], SeededNoise(1), 3, present=True)
    assert all("selected nothing" in kind for kind in nothing.kinds)


def test_pairs_from_a_log() -> None:
    pairs = drawn([(0,), (0, 1, 1), (1,)], 2, [1])
    assert pairs[0].records(present=False) == [(1, 0), (2, 1)]
    assert pairs[0].records(present=True)[:3] == [(0, 0), (0, 1), (0, 1)]
    with pytest.raises(ValueError, match="outside"):
        Pair("wrong", "", 2, (), (2,))


def test_events_say_what_they_are() -> None:
    outcome = OutcomeSet(("a", "b", "c", "d"), Score("count 0 of items", (1.0,)), 2.0, above=False)
    assert outcome.in_words() == "count 0 of items is at most 2 and published is a or b or c, or 1 others"


def test_kinds_that_only_one_log_has_are_chosen() -> None:
    here = Observations(np.array(["a"] * 50 + ["b"] * 50), np.zeros((100, 1)), ("n",))
    there = Observations(np.array(["a"] * 100), np.zeros((100, 1)), ("n",))
    assert choose_outcomes(here, there, 1)[0].kinds == ("b",)


def test_names() -> None:
    assert {"top-k", "selection", "totals"} < set(NAMES)
    assert is_proven("sra")
    assert is_proven("top-k")
    assert not is_proven("gs-published")
    with pytest.raises(UsageError, match="no gaussian noise"):
        target("gs", 2, Decimal(1), Decimal("1e-6"))
    assert target("sra", 2, Decimal(1), Decimal("1e-6")).parameters == {"limit": 2, "noise": "gaussian"}
    assert CONFIDENCE == 0.999


RISKS = (0.3, 0.001, 1e-7)
COUNTS = [(0, 1), (1, 1), (0, 40), (3, 40), (40, 40), (17, 1000), (60_000, 200_000), (199_999, 200_000)]


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize(("hits", "runs"), COUNTS)
def test_equal_to_scipy(hits: int, runs: int, risk: float) -> None:
    low = stats.beta.ppf(risk, hits, runs - hits + 1) if hits else 0.0
    high = stats.beta.ppf(1 - risk, hits + 1, runs - hits) if hits < runs else 1.0
    assert lower_probability(hits, runs, risk) == pytest.approx(low, rel=1e-8, abs=1e-15)
    assert upper_probability(hits, runs, risk) == pytest.approx(high, rel=1e-8)


@pytest.mark.parametrize("p", [0.01, 0.2, 0.5, 0.97])
def test_bounds_fail_no_more_often_than_declared(p: float) -> None:
    runs, risk = 60, 0.01
    chances = stats.binom.pmf(range(runs + 1), runs, p)
    missed_low = sum(chances[k] for k in range(runs + 1) if lower_probability(k, runs, risk) > p)
    missed_high = sum(chances[k] for k in range(runs + 1) if upper_probability(k, runs, risk) < p)
    assert max(missed_low, missed_high) <= risk


def test_the_least_epsilon_is_never_above_the_ratio() -> None:
    for here, there in ((500, 100), (100, 500), (10, 0), (0, 10), (1000, 1000)):
        bound = least_epsilon((here, there), (1000, 1000), 0.0, 0.01)
        assert bound == 0.0 or bound < math.log(here / max(there, 1e-9))
    assert least_epsilon((1000, 0), (1000, 1000), 0.0, 0.001) > 4
    assert least_epsilon((5, 0), (1000, 1000), 0.01, 0.001) == 0.0  # δ explains it
