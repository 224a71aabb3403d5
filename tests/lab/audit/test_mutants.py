"""The public list of planted bugs: thirty, of which an audit finds all but one, most of them soon."""

from __future__ import annotations

import statistics

import pytest

from headcount.lab.audit.replay_audit import replay_audit
from headcount.lab.audit.target_registry import NAMES, has_edges, pairs_for
from tests.mutants.audited import MUTANTS, Mutant
from tests.mutants.audited.audit import audit_mutant

MISSED = ("once in 100,000",)
RISK = 1e-6 / len(MUTANTS)


def test_there_are_thirty_mutants_with_a_description() -> None:
    assert (
        len({mutant.name for mutant in MUTANTS}) == len({mutant.kind for mutant in MUTANTS}) == len(MUTANTS) == 30
    )
    assert all(mutant.wrong and mutant.precedent and mutant.like in NAMES for mutant in MUTANTS)
    assert {mutant.name for mutant in MUTANTS} > set(MISSED)


@pytest.mark.parametrize("planted", MUTANTS, ids=lambda mutant: str(mutant.name))
def test_a_pair_of_runs_is_enough_for_all_but_one(planted: Mutant) -> None:
    forms = (False, True) if has_edges(planted.like) else (False,)
    pairs = pairs_for(planted.like, 2)
    is_detected = any(
        replay_audit(planted.target(edges=with_contexts), pairs, patient=False).violation
        for with_contexts in forms
    )
    assert is_detected is (planted.name not in MISSED)


@pytest.mark.slow
def test_at_least_27_mutants_are_detected_with_a_median_below_2000_runs() -> None:
    """The chance that any of these accusations would be made of a sound method is below one in a million."""
    findings = [audit_mutant(mutant, risk=RISK) for mutant in MUTANTS]
    assert sum(finding.is_detected for finding in findings) >= 27
    assert statistics.median(finding.releases for finding in findings if finding.is_detected) <= 2000
    by_statistics = [mutant.statistics.releases for mutant in findings if mutant.statistics.is_detected]
    assert len(by_statistics) >= 12
    assert statistics.median(by_statistics) <= 2000
