"""Edges between items, of a sample: nobody moves them further than is declared, and somebody does move them so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headcount.bounds import Noisy, Pick, Sample, SampledPairs, certify_sampled_pairs, pairs_reach
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from tests.contracts.support.sensitivity import check_reach
from tests.support.small_logs import LAW, cases

TWO = np.array([0, 2])
LISTED = cases().map(lambda case: replace(case, listed=4))
BEST = Pick(2, Noisy(np.array([3, 9, 3, 4]), LAW))


@pytest.mark.slow
@pytest.mark.parametrize(
    "bound", [SampledPairs(Sample(3), np.arange(4)), SampledPairs(BEST, np.arange(4))], ids=["random", "best"]
)
def test_nobody_moves_them_further_than_declared(bound: SampledPairs) -> None:
    check_reach(bound, logs=LISTED)


def test_somebody_with_enough_items_moves_them_as_far() -> None:
    log = EventLog.of([("ann", item) for item in range(9)], items=list(range(9)))
    found = LocalEngine().measure(log, SampledPairs(Sample(4), np.arange(9)), bytes(16))
    assert found.sensitive_values.sum() == found.sensitivity.l1 == found.sensitivity.l2_squared == 6
    assert found.sensitive_values.max() == found.sensitivity.linf == 1
    assert pairs_reach(1).l1 == 0


def test_the_best_are_picked_and_pairs_stand_in_their_order() -> None:
    log = EventLog.of([("ann", item) for item in range(5)] * 2, items=list(range(5)))
    best = Pick(3, Noisy(np.array([7, 1, 8, 0, 9]), LAW))
    found = LocalEngine().measure(log, SampledPairs(best, np.arange(5)), bytes(16)).sensitive_values
    first, second = np.triu_indices(5, 1)
    kept = {pair for pair, many in zip(zip(first, second, strict=True), found, strict=True) if many}
    assert kept <= {(0, 2), (0, 4), (2, 4)}  # ann has each twice: three records are about two items, or three


@pytest.mark.parametrize("items", [[2, 1], [-1, 1], range(9000)])
def test_places_that_do_not_rise_or_are_too_many_are_refused(items: list[int]) -> None:
    with pytest.raises(ValueError, match="rising places"):
        SampledPairs(Sample(2), np.array(items))


def test_there_is_a_number_for_each_pair() -> None:
    with pytest.raises(ValueError, match="each of 1 pairs"):
        certify_sampled_pairs(np.zeros(3, np.int64), SampledPairs(Sample(2), TWO))
