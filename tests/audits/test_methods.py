"""Audits of the methods: what is proven stands, what is only claimed is refuted where it is known to fail.

The long audit is in ``make test-slow``. Every audit of a sound method accuses it with probability below 0.001; the
seeds are fixed.
"""

from __future__ import annotations

from decimal import Decimal

import pytest

from headcount.audits.auditing import Finding, audit, audit_in_processes
from headcount.audits.observing import SEPARATE
from headcount.audits.targets import NAMES, VISIBLE, is_proven, pairs_for, target

PROVEN = [name for name in NAMES if is_proven(name)]
CLAIMED = [name for name in NAMES if not is_proven(name)]
SHARP = 0.6


def attack(name: str, epsilon: str, runs: int) -> Finding:
    pairs = pairs_for(name, 2, Decimal(epsilon))
    (found,) = audit_in_processes([(target(name, 2, Decimal(epsilon)), pairs, runs)])
    return found


@pytest.mark.parametrize("name", CLAIMED)
def test_claims_that_do_not_hold_are_refuted(name: str) -> None:
    pairs = [pair for pair in pairs_for(name, 2) if name in SEPARATE or pair.name in ("at the limit", "a tie")]
    found = audit(target(name, 2, Decimal(1)), pairs, 20_000 if name in SEPARATE else 800)
    assert found.violation, found.sentence()


@pytest.mark.parametrize("name", ["lpa", "sra"])
def test_the_simplest_methods_stand_and_the_audit_is_sharp(name: str) -> None:
    found = audit(target(name, 2, Decimal(1)), pairs_for(name, 2), 40_000)
    assert not found.violation, found.sentence()
    assert found.lower_bound > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("name", PROVEN)
def test_proven_methods_stand(name: str, epsilon: str) -> None:
    few = 5000 if epsilon == "1" else 1200
    found = attack(name, epsilon, 200_000 if name in SEPARATE else few)
    assert not found.violation, found.sentence()
    if epsilon == "1":
        visible = float(VISIBLE[name][0]) if name in VISIBLE else 1.0
        assert found.lower_bound >= SHARP * visible, found.sentence()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sra", "adaptive"])
def test_gaussian_noise_stands(name: str) -> None:
    asked = target(name, 2, Decimal(1), Decimal("1e-6"))
    (found,) = audit_in_processes([(asked, pairs_for(name, 2), 100_000 if name in SEPARATE else 1200)])
    assert not found.violation, found.sentence()
