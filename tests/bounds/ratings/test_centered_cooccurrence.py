"""Departures from what is common: nobody moves them further than declared, and what is common is out of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from headcount.bounds import NO_SECRET
from headcount.bounds.ratings.centered_cooccurrence import (
    COOCCURRENCE_NORM,
    CenteredCooccurrence,
    centered_cooccurrence_sensitivity,
)
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from tests.contracts.support.sensitivity import check_reach
from tests.reference.engine import ReferenceEngine
from tests.support.small_logs import cases

FOUR = np.arange(4)
LISTED = cases().map(lambda case: replace(case, listed=4))


@pytest.mark.slow
@pytest.mark.parametrize("common", [(0, 0, 0, 0), (128, 1, 0, 7), (9, 9, 9, 9)], ids=["none", "one", "alike"])
def test_one_user_stays_within_the_sensitivity(common: tuple[int, ...]) -> None:
    check_reach(CenteredCooccurrence(FOUR, np.array(common)), logs=LISTED)


@pytest.mark.parametrize("many", [2, 3, 30, 150])
def test_every_user_nearly_attains_the_length(many: int) -> None:
    """b and c are whole numbers, which costs a person of 150 items a few per cent."""
    bound = CenteredCooccurrence(np.arange(200), np.arange(200) % 17)
    log = EventLog.of([("ann", item) for item in range(many)], items=list(range(200)))
    sums = LocalEngine().measure(log, bound, NO_SECRET).sensitive_values / COOCCURRENCE_NORM
    assert 0.95 <= math.sqrt((sums**2).sum()) <= 1


def test_what_is_common_is_taken_out() -> None:
    """Who has the very items that are common departs from them by nothing, and so adds nothing."""
    common = np.where(np.arange(60) < 20, 28, 0)
    log = EventLog.of([("ann", item) for item in range(20)], items=list(range(60)))
    sums = LocalEngine().measure(log, CenteredCooccurrence(np.arange(60), common), NO_SECRET).sensitive_values
    assert np.abs(sums).max() < COOCCURRENCE_NORM / 1000
    plain = LocalEngine().measure(log, CenteredCooccurrence(np.arange(60), 0 * common), NO_SECRET).sensitive_values
    assert np.count_nonzero(plain) == 190


def test_engines_agree_on_many_users() -> None:
    rng = np.random.default_rng(5)
    rows = [(person, int(item)) for person in range(60) for item in rng.choice(25, rng.integers(1, 25))]
    log = EventLog.of(rows, items=list(range(25)))
    bound = CenteredCooccurrence(np.arange(0, 25, 2), rng.integers(0, 128, 13))
    local, other = (engine.measure(log, bound, NO_SECRET) for engine in (LocalEngine(), ReferenceEngine()))
    assert np.array_equal(local.sensitive_values, other.sensitive_values)
    assert local.sensitivity == other.sensitivity == centered_cooccurrence_sensitivity(78)


@pytest.mark.parametrize(
    ("items", "common"), [((0, 1), (1, 2, 3)), ((0, 1), (-1, 2)), ((0, 1), (129, 0)), ((1, 0), (1, 1))]
)
def test_what_is_no_direction_is_refused(items: tuple[int, ...], common: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="must"):
        CenteredCooccurrence(np.array(items), np.array(common))


def test_sums_must_be_of_all_pairs() -> None:
    with pytest.raises(ValueError, match="sums of the shape"):
        CenteredCooccurrence(FOUR, FOUR).seal(np.zeros(5, np.int64))
