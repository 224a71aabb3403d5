"""People whom noise may hide, and what they may add to counts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headcount.adaptive.activity_histogram import EstimatedActivity, UserEstimates
from headcount.adaptive.intervals import UndetectedUsers, undetected_per_item

OBSERVED = EstimatedActivity(np.array([10.0]), np.array([50.0]))
MORE = EstimatedActivity(np.array([10.0, 40.0]), np.array([50.0, 5.0]))
COUNTS = np.array([250.0, 0.0])


def may_add(*, distinct: bool, per_item: float = 0.0) -> list[float]:
    options = {"ratio": 0.0, "per_item": per_item}
    additions: list[float] = (
        UndetectedUsers.among(OBSERVED, MORE, 100, distinct=distinct, **options).may_add(COUNTS).tolist()
    )
    return additions


def test_they_have_what_others_have_or_all_alike() -> None:
    """200 records beside 500 that are seen: half as many of an item that has half of these, and 2 of each."""
    assert may_add(distinct=False) == pytest.approx([200 * 250 / 500 + 2, 2])


def test_where_users_are_counted_a_user_adds_at_most_one() -> None:
    assert may_add(distinct=True) == pytest.approx([5, 2])


def test_under_a_cap_a_few_may_have_one_item_alone() -> None:
    """More than two of them, with all that the cap allows; none adds more than one where users count."""
    assert 60 < undetected_per_item(30) < 75
    assert may_add(distinct=True, per_item=66) == may_add(distinct=True)
    more = np.subtract(may_add(distinct=False, per_item=66), may_add(distinct=False))
    assert more == pytest.approx([66, 66])


def test_an_item_has_at_most_as_many_users_as_the_log() -> None:
    assert UserEstimates(OBSERVED, MORE, distinct=True).max_item_count == 55
    assert UserEstimates(OBSERVED, MORE, distinct=False).max_item_count == math.inf
