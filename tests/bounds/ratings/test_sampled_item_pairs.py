"""Edges between items, of a sample: nobody moves them further than is declared, and somebody does move them so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headcount.bounds import KeepTopScored, Noisy, SampleRecords
from headcount.bounds.ratings.sampled_item_pairs import SampledItemPairs, sampled_item_pairs_sensitivity
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from tests.contracts.support.sensitivity import check_reach
from tests.support.small_logs import LAW, cases

TWO = np.array([0, 2])
LISTED = cases().map(lambda case: replace(case, listed=4))
BEST = KeepTopScored(2, Noisy(np.array([3, 9, 3, 4]), LAW))


@pytest.mark.slow
@pytest.mark.parametrize(
    "bound",
    [SampledItemPairs(SampleRecords(3), np.arange(4)), SampledItemPairs(BEST, np.arange(4))],
    ids=["random", "best"],
)
def test_one_user_stays_within_the_sensitivity(bound: SampledItemPairs) -> None:
    check_reach(bound, logs=LISTED)


def test_a_user_with_enough_items_attains_the_sensitivity() -> None:
    log = EventLog.of([("ann", item) for item in range(9)], items=list(range(9)))
    measured = LocalEngine().measure(log, SampledItemPairs(SampleRecords(4), np.arange(9)), bytes(16))
    assert measured.sensitive_values.sum() == measured.sensitivity.l1 == measured.sensitivity.l2_squared == 6
    assert measured.sensitive_values.max() == measured.sensitivity.linf == 1
    assert sampled_item_pairs_sensitivity(1).l1 == 0


def test_the_best_are_picked_and_pairs_stand_in_their_order() -> None:
    log = EventLog.of([("ann", item) for item in range(5)] * 2, items=list(range(5)))
    best = KeepTopScored(3, Noisy(np.array([7, 1, 8, 0, 9]), LAW))
    measured = LocalEngine().measure(log, SampledItemPairs(best, np.arange(5)), bytes(16)).sensitive_values
    first, second = np.triu_indices(5, 1)
    kept = {pair for pair, many in zip(zip(first, second, strict=True), measured, strict=True) if many}
    assert kept <= {(0, 2), (0, 4), (2, 4)}  # ann has each twice: three records are about two items, or three


@pytest.mark.parametrize("items", [[2, 1], [-1, 1], range(9000)])
def test_places_that_do_not_rise_or_are_too_many_are_refused(items: list[int]) -> None:
    with pytest.raises(ValueError, match="rising places"):
        SampledItemPairs(SampleRecords(2), np.array(items))


def test_every_pair_has_a_count() -> None:
    with pytest.raises(ValueError, match="sums of the shape"):
        SampledItemPairs(SampleRecords(2), TWO).seal(np.zeros(3, np.int64))
