"""Audits of the methods: what is proven stands, what is only claimed is refuted where it is known to fail.

The long audit is in ``make test-slow``. Every audit of a sound method accuses it with probability below 0.001; the
seeds are fixed.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from headcount.lab.audit.audit import Finding, audit
from headcount.lab.audit.method_cases import CASES, case_of
from headcount.lab.audit.sequential import audit_sequentially
from headcount.lab.audit.target_registry import BESIDE, NAMES, is_proven, pairs_for, runs_for, target
from headcount.lab.processes import workers
from headcount.methods.registry import family_of
from tests.contracts.support.method_facts import Special, special_of

PROVEN = [name for name in NAMES if is_proven(name)]
UNPROVEN = [name for name in NAMES if not is_proven(name)]
SEPARATE = {name for name, case in CASES.items() if case.copies}
SHARP = 0.6


def attack(name: str, epsilon: str, runs: int) -> Finding:
    pairs = pairs_for(name, 2, Decimal(epsilon))
    with workers() as pool:
        return audit(target(name, 2, Decimal(epsilon)), pairs, runs, pool=pool)


def runs_of(name: str) -> int:
    """Return how many runs it takes to be sharp."""
    return Special().audit_runs if name in BESIDE else special_of(family_of(name).kind(name)).audit_runs


def default_audit(name: str, seed: int) -> Finding:
    """Audit a method as the command does without any flag."""
    audited = target(name, 2, Decimal(1))
    return audit_sequentially(audited, pairs_for(name, 2), runs_for(name, copies=audited.copies), seed=seed)


@pytest.mark.parametrize("name", UNPROVEN)
def test_the_default_audit_refutes_an_unproven_claim(name: str) -> None:
    finding = default_audit(name, seed=1)
    assert finding.violation, finding.sentence()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in UNPROVEN if name != "suppression-published"])  # it claims no ε
def test_the_default_audit_refutes_every_unproven_claim_whatever_the_seed(name: str) -> None:
    missed = [seed for seed in range(1, 21) if not default_audit(name, seed).violation]
    assert not missed, f"seeds {missed} find nothing"


@pytest.mark.parametrize(("name", "sharp"), [("lpa", 0.9), ("sra", 0.9), ("hpa", 0.45)])
def test_the_simplest_methods_stand_and_the_audit_is_sharp(name: str, sharp: float) -> None:
    pairs = [pair for pair in pairs_for(name, 2) if len(pair.crowd) < 10]
    result = audit(target(name, 2, Decimal(1)), pairs, 40_000)
    assert not result.violation, result.sentence()
    assert result.lower_bound > sharp


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("name", PROVEN)
def test_proven_methods_stand(name: str, epsilon: str) -> None:
    few = 800 if epsilon != "1" else runs_of(name)
    result = attack(name, epsilon, 200_000 if name in SEPARATE else few)
    assert not result.violation, result.sentence()
    if epsilon == "1":
        assert result.lower_bound >= SHARP * float(case_of(name).visible), result.sentence()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sra", "adaptive", "tag-model"])
def test_gaussian_noise_stands(name: str) -> None:
    audit_target = target(name, 2, Decimal(1), Decimal("1e-6"))
    with workers() as pool:
        result = audit(audit_target, pairs_for(name, 2), 100_000 if name in SEPARATE else 1200, pool=pool)
    assert not result.violation, result.sentence()


@pytest.mark.slow
def test_the_noise_of_small_real_releases_stands() -> None:
    """Tables of fewer than 2,000 numbers get OpenDP's noise, from the operating system: wrong once in 1,000 runs.

    Asked three times before it is believed, it accuses a sound sampler once in 10^9 runs.
    """
    audit_target = replace(target("sra", 2, Decimal(1)), copies=False)
    with workers() as pool:
        results = [audit(audit_target, pairs_for("sra", 2)[:2], 2500, seed=None, pool=pool) for _ in range(3)]
    assert not all(result.violation for result in results), results[0].sentence()
    assert max(result.lower_bound for result in results) > SHARP
