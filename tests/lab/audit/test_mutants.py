"""The public list of planted bugs: thirty, of which an audit finds all but one, most of them soon."""

from __future__ import annotations

import statistics

import pytest

from headcount.lab.audit.mutant_audit import hunt
from headcount.lab.audit.mutants import PLANTED, Planted
from headcount.lab.audit.replay_audit import replay_audit
from headcount.lab.audit.targets import NAMES, has_edges, pairs_for

MISSED = ("once in 100,000",)
RISK = 1e-6 / len(PLANTED)


def test_there_are_thirty_each_with_its_story() -> None:
    assert len({each.name for each in PLANTED}) == len({each.kind for each in PLANTED}) == len(PLANTED) == 30
    assert all(each.wrong and each.known and each.like in NAMES for each in PLANTED)
    assert {each.name for each in PLANTED} > set(MISSED)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda each: str(each.name))
def test_a_pair_of_runs_is_enough_for_all_but_one(planted: Planted) -> None:
    forms = (False, True) if has_edges(planted.like) else (False,)
    pairs = pairs_for(planted.like, 2)
    found = any(replay_audit(planted.target(edges=each), pairs, patient=False).violation for each in forms)
    assert found is (planted.name not in MISSED)


@pytest.mark.slow
def test_at_least_27_are_found_by_runs_of_which_the_median_is_below_2000() -> None:
    """The chance that any of these accusations would be made of a sound method is below one in a million."""
    found = [hunt(each, risk=RISK) for each in PLANTED]
    assert sum(each.found for each in found) >= 27
    assert statistics.median(each.releases for each in found if each.found) <= 2000
    by_statistics = [each.statistics.releases for each in found if each.statistics.found]
    assert len(by_statistics) >= 12
    assert statistics.median(by_statistics) <= 2000
