"""Every planted bug is found, and what is not broken is not accused.

An audit accuses a sound method with probability below 1 - CONFIDENCE = 0.001. The seeds are fixed, so that a test
that passes once passes always; a change of code that draws anew is accused by chance once in a thousand times.
"""

from __future__ import annotations

from decimal import Decimal

import pytest

from headcount.bounds import SampleRecords
from headcount.lab.audit.adjacent_logs import crafted
from headcount.lab.audit.audit import Finding, audit
from headcount.lab.audit.targets_under_audit import Target
from tests.lab.audit.exact import adjacent_pairs, exact_sensitivity
from tests.mutants.simple_random import ByPosition, make
from tests.reference.engine import ReferenceEngine

PAIRS = {pair.name: pair for pair in crafted(2)}
SECRETS = [bytes([number]) * 16 for number in range(3)]


def attack(name: str, *pairs: str, runs: int, epsilon: str = "1", contexts: bool = False) -> Finding:
    target = Target(
        name, {"limit": 2}, Decimal(epsilon), make=make, contexts=contexts, copies=name != "samples-rows"
    )
    return audit(target, [PAIRS[pair] for pair in pairs], runs)


@pytest.mark.parametrize(
    ("name", "pairs", "runs"),
    [
        ("half-noise", tuple(PAIRS), 20_000),
        ("one-more", tuple(PAIRS), 50_000),
        ("samples-rows", ("at the limit", "the heaviest"), 600),
        ("float-noise", tuple(PAIRS), 20_000),
        ("cuts-at-the-heaviest", tuple(PAIRS), 20_000),
    ],
)
def test_mutants_are_detected(name: str, pairs: tuple[str, ...], runs: int) -> None:
    result = attack(name, *pairs, runs=runs)
    assert result.violation, result.sentence()


def test_a_budget_spent_twice_is_detected() -> None:
    result = attack("spends-twice", *PAIRS, runs=20_000, contexts=True)
    assert result.violation, result.sentence()


def test_floats_give_themselves_away_by_their_lowest_bits() -> None:
    result = attack("float-noise", "at the limit", runs=20_000)
    assert result.best.evidence is not None
    assert "lowest bit" in result.best.evidence.outcome


@pytest.mark.parametrize("contexts", [False, True])
def test_the_unchanged_methods_are_not_accused(contexts: bool) -> None:
    target = Target("sra", {"limit": 2}, Decimal(1), contexts=contexts, copies=True)
    assert not audit(target, list(PAIRS.values()), 20_000).violation


@pytest.mark.slow
def test_choices_that_hang_on_others_move_too_much() -> None:
    """Their law is right, so no number of runs would show it; under one secret it shows."""
    world = list(adjacent_pairs(2, 2, 3))
    moved = exact_sensitivity(ByPosition(), SampleRecords(1), world, SECRETS)
    assert moved.violation
    assert moved.pair is not None
    honest = exact_sensitivity(ReferenceEngine(), SampleRecords(1), world, SECRETS[:1])
    assert not honest.violation
    assert honest.sensitivity == honest.declared
