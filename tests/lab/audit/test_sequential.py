"""The sequential audit: its games are fair, it is hardly ever wrong, and it ends early.

Audits here have a risk of 10^-9 each, so that all tests of this file together accuse a sound target with a
probability below one in a million.
"""

from __future__ import annotations

import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from headcount.lab.audit import sequential
from headcount.lab.audit.adjacent_logs import crafted
from headcount.lab.audit.audit import Finding, audit
from headcount.lab.audit.outcome_sets import choose_outcomes
from headcount.lab.audit.sequential import STAKES, Game, audit_sequentially
from headcount.lab.audit.target_registry import target
from tests.lab.audit.coin_target import Chance, Coin

RISK = 1e-9
PAIRS = crafted(2)[:2]


def tossed(coin: Coin, runs: int, seed: int = 1, risk: float = RISK) -> Finding:
    audit_target: Any = coin
    return audit_sequentially(audit_target, PAIRS, runs, seed=seed, risk=risk)


def growth(bound: float, delta: float, p: float, q: float) -> float:
    """Return by which factor the wealth of the luckiest stake grows on average, worked out over all outcomes."""
    expected = np.zeros(len(STAKES))
    for x, y in itertools.product((True, False), (True, False)):
        game = Game(np.array([bound]), delta)
        game.play(0, 0, (np.array([x]), np.array([y])))
        chance = (p if x else 1 - p) * (q if y else 1 - q)
        expected += chance * np.exp(game.log_wealth[0, 0, :, 0])
    return float(expected.max())


@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.1])
@pytest.mark.parametrize("bound", [0.1, 1.0, 4.0])
def test_no_game_is_won_on_average_if_the_guarantee_holds(bound: float, delta: float) -> None:
    for q in (0.0, 0.01, 0.2, 0.7):
        p = min(1.0, math.exp(bound) * q + delta)
        assert growth(bound, delta, p, q) <= 1 + 1e-12
        if p < 0.9:  # and whoever is more than that apart pays
            assert growth(bound, delta, p + 0.05, q) > 1


def test_a_coin_that_keeps_its_guarantee_is_not_accused() -> None:
    results = [tossed(Coin(), 1000, seed) for seed in range(6)]
    assert not any(result.violation for result in results)
    assert np.mean([result.lower_bound for result in results]) > 0.6


def test_a_coin_that_claims_slightly_too_much_privacy_is_rejected() -> None:
    assert tossed(Coin(more=0.1), 100_000).violation
    assert not tossed(Coin(more=0.1), 1000).violation  # that few runs tell nothing


def test_it_ends_when_it_is_decided_and_fixed_sizes_do_not() -> None:
    coin: Any = Coin(more=1)
    fixed, early = audit(coin, PAIRS, 4000), tossed(Coin(more=1), 4000, risk=0.001)
    assert fixed.violation
    assert early.violation
    assert early.releases < fixed.releases / 3


def test_delta_is_allowed_for() -> None:
    assert not tossed(Coin(Decimal("0.5"), Decimal("0.5"), more=0.5), 20_000).violation
    assert tossed(Coin(Decimal("0.5"), Decimal("0.001"), more=0.5), 20_000).violation


def test_bets_are_placed_before_the_runs_that_decide_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of forty numbers of pure chance none tells anything; a player who sees the runs first grows rich."""
    assert tossed(Chance(Decimal("0.001")), 1000).lower_bound == 0
    honest = sequential._Table.meet

    def peeking(self: Any, fresh: Any, needed: float) -> None:
        self.hopes = {present: choose_outcomes(fresh[present], fresh[not present], 2) for present in fresh}
        honest(self, fresh, needed)

    monkeypatch.setattr(sequential._Table, "meet", peeking)
    assert tossed(Chance(Decimal("0.001")), 1000).violation


def test_progress_is_reported_and_as_many_runs_as_requested_are_done() -> None:
    early: list[float] = []
    coin: Any = Coin()
    result = audit_sequentially(coin, PAIRS, 2000, on_finding=lambda progress: early.append(progress.lower_bound))
    assert early == sorted(early)
    assert early[-1] == result.lower_bound
    assert result.releases == audit(coin, PAIRS, 2000).releases


def test_the_same_seed_gives_the_same_finding_whatever_the_processes() -> None:
    arguments = target("sra", 2, Decimal(1)), PAIRS[:1], 400
    with ThreadPoolExecutor(2) as pool:
        assert audit_sequentially(*arguments, pool=pool).to_json() == audit_sequentially(*arguments).to_json()
    assert audit_sequentially(*arguments, seed=2).to_json() != audit_sequentially(*arguments).to_json()


def test_every_pair_gets_runs_in_proportion() -> None:
    """Half of all runs are spread evenly: a violation with a low guess after its pilot still shows."""
    coin: Any = Coin()
    finding = audit_sequentially(coin, crafted(2), 4000, risk=RISK)
    fair = finding.releases / 2 / len(finding.attempts)
    assert min(attempt.runs for attempt in finding.attempts) > fair / 3


def test_every_pair_gets_its_pilot_even_with_few_runs() -> None:
    coin: Any = Coin()
    assert all(attempt.runs >= sequential.PILOT for attempt in audit_sequentially(coin, crafted(2), 100).attempts)


def test_an_audit_without_a_bound_reports_its_number_of_releases() -> None:
    finding = tossed(Chance(Decimal("0.001")), 100)
    assert "no bound on ε above 0" in finding.sentence()
    assert f"{finding.releases:,} releases" in finding.sentence()
