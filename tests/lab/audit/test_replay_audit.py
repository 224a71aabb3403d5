"""The replay as an audit: what is proven stands on all its neighbours, what is broken does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pytest

from headcount.accounting.budget import Grant
from headcount.engines.engine import Engine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.lab.audit.adjacent_logs import crafted
from headcount.lab.audit.replay_audit import RUNS, replay_audit
from headcount.lab.audit.target_registry import NAMES, is_proven, pairs_for, target
from headcount.noise import NoiseSource
from headcount.releases.release import Release
from tests.mutants.audited.mutant import Mutant, Parts

QUICK = ("sra", "top-k", "selection", "histogram", "co-counts")
ALL = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in NAMES]
SOUND = Mutant("sound", "nothing", "nowhere", Parts)


@pytest.mark.parametrize("name", ALL)
def test_what_is_proven_stands_and_what_is_claimed_does_not(name: str) -> None:
    pairs = pairs_for(name, 2)
    result = replay_audit(target(name, 2, Decimal(1)), pairs)
    assert result.violation is not is_proven(name), result.sentence()
    assert result.releases == RUNS * len(pairs)


@pytest.mark.parametrize("edges", [False, True])
def test_the_unmutated_method_stands(edges: bool) -> None:
    result = replay_audit(SOUND.target(edges=edges), pairs_for("sra", 2))
    assert not result.violation, result.sentence()
    assert max(pair_result.furthest for pair_result in result.pairs) == 1, "nobody moves what is declared"
    assert max(pair_result.epsilon for pair_result in result.pairs) == pytest.approx(1)


@dataclass(frozen=True, kw_only=True)
class PromisesLess(Parts):
    """Spends twice what it was granted, and says so."""

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        grant.spend()
        return super().release(log, Grant(2 * grant.epsilon), noise, engine)


def test_what_is_granted_counts_and_not_what_a_release_says() -> None:
    result = replay_audit(Mutant("less", "", "", PromisesLess).target(edges=False), crafted(2)[:1])
    assert result.violation
    assert "promises ε = 2 and δ = 0, where 1 and 0 were granted" in result.sentence()


def test_what_fails_for_everybody_is_an_error_and_no_finding() -> None:
    def refused(name: str, parameters: Mapping[str, Any]) -> Any:
        raise UsageError("not today", remedy="come back tomorrow")

    with pytest.raises(UsageError, match="not today"):
        replay_audit(replace(target("sra", 2, Decimal(1)), make=refused), crafted(2)[:1])
