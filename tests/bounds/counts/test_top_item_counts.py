"""A look at some items: one way through a log measures what each of its parts does by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.bounds import (
    FIXED_POINT,
    ActivityHistogram,
    Bounded,
    ClassProfile,
    ItemSubset,
    Norm,
    Sensitivity,
    WeightToThreshold,
)
from headcount.bounds.counts.class_profile import NO_SIZE_CAP
from headcount.bounds.counts.top_item_counts import TopItemCounts
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from tests.bounds.counts.kernels.test_weight_limits import MOST_TIMES, log_of_one_user
from tests.reference.engine import ReferenceEngine
from tests.support.small_logs import Case, cases, secrets

LOCAL = LocalEngine(threads=1)
ENDS, LIMITS = (1, 2, 4), (1, 2, 5)


def refinement_bound(items: int, norm: Norm = "l1", above: int = 1, most: int = NO_SIZE_CAP) -> TopItemCounts:
    """A look at every other item, of people of whom no more than ``most`` records count."""
    shares = ClassProfile("items", np.arange(items, dtype=np.int64) * 5 % 3, above, norm, most)
    return TopItemCounts(shares, ItemSubset(np.arange(0, items, 2)), LIMITS, ENDS)


def parts_of(engine: Engine, log: EventLog, bound: TopItemCounts, secret: bytes) -> list[Bounded]:
    measured = engine.measure(log, bound, secret)
    return [measured.shares, measured.people, *measured.counts]


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_every_part_equals_its_separate_measurement(norm: Norm) -> None:
    @given(cases(), secrets)
    def same(case: Case, secret: bytes) -> None:
        log = case.log()
        bound = refinement_bound(case.listed, norm)
        places = bound.among.places
        shares, people, *counts = parts_of(LOCAL, log, bound, secret)
        alone = LOCAL.measure(log, bound.shares, secret)
        assert np.array_equal(shares.sensitive_values, alone.sensitive_values)
        some = LOCAL.measure(log, ActivityHistogram("items", ENDS[-1] + 1, norm, bound.among, ENDS), secret)
        assert np.array_equal(people.sensitive_values, some.sensitive_values)
        for limit, measured in zip(LIMITS, counts, strict=True):
            scaled = LOCAL.measure(log, WeightToThreshold(limit, norm, among=bound.among), secret).items
            assert np.array_equal(measured.sensitive_values, scaled.sensitive_values[places])
            assert measured.unit == scaled.unit

    same()


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("most", [2, 3, NO_SIZE_CAP])
def test_one_user_stays_within_the_sensitivity_of_every_part(norm: Norm, most: int) -> None:
    @given(cases(), secrets)
    def reach(case: Case, secret: bytes) -> None:
        bound = refinement_bound(case.listed, norm, most=most)
        whole = parts_of(LOCAL, case.log(), bound, secret)
        for user in case.everyone:
            rest, own = (
                parts_of(LOCAL, part.log(), bound, secret) for part in (case.without(user), case.only(user))
            )
            for before, others, alone in zip(whole, rest, own, strict=True):
                step = before.sensitive_values - others.sensitive_values
                assert np.array_equal(step, alone.sensitive_values)
                assert np.abs(step).sum() <= before.sensitivity.l1
                assert (step**2).sum() <= before.sensitivity.l2_squared
                assert np.abs(step).max(initial=0) <= before.sensitivity.linf
                assert before.sensitivity == others.sensitivity, "the sensitivity hangs on the log"

    reach()


@pytest.mark.parametrize("most", [2, 3])
def test_under_a_cap_engines_find_the_same(most: int) -> None:
    @given(cases(), secrets)
    def same(case: Case, secret: bytes) -> None:
        measured, expected = (
            parts_of(engine, case.log(), refinement_bound(case.listed, most=most), secret)
            for engine in (LOCAL, ReferenceEngine())
        )
        for part, other in zip(measured, expected, strict=True):
            assert np.array_equal(part.sensitive_values, other.sensitive_values)

    same()


def test_beyond_a_cap_records_count_in_part() -> None:
    """8 records, 6 of items looked at: under a cap of 4 these are 3 in all."""
    log = log_of_one_user([0, 1, 2], [5, 2, 1], 3)
    for limits, whole in (((3, 9), 3), ((1, 2), 2)):
        bound = replace(refinement_bound(3, most=4), limits=limits)
        measured = LOCAL.measure(log, bound, bytes(16))
        assert measured.people.sensitive_values.tolist() == [0, 0, 1, 0]
        for limit, part in zip(limits, measured.counts, strict=True):
            expected = FIXED_POINT * min(limit, whole) * np.array([5, 1]) / 6
            assert part.sensitive_values == pytest.approx(expected, abs=6)
    uncapped = LOCAL.measure(log, refinement_bound(3), bytes(16))
    assert uncapped.people.sensitive_values.tolist() == [0, 0, 0, 1]
    assert uncapped.counts[-1].sensitive_values.sum() == pytest.approx(5 * FIXED_POINT, abs=6)


def test_the_sensitivity_is_reached() -> None:
    """Of 3 items of a person with 3 records of each, under a limit of 5: all of it; and 3 once each, under 2."""
    bound = replace(refinement_bound(6), limits=(5, 9))
    measured = LOCAL.measure(log_of_one_user([0, 2, 4], [3, 3, 3], 6), bound, bytes(16))
    assert measured.people.sensitive_values.tolist() == [0, 0, 0, 1]
    assert measured.counts[0].sensitivity.l1 == 5 * FIXED_POINT
    assert measured.counts[0].sensitive_values.sum() == pytest.approx(5 * FIXED_POINT, abs=9)
    assert measured.counts[1].sensitive_values.tolist() == [3 * FIXED_POINT] * 3


def test_where_users_are_counted_sensitivity_is_at_most_the_number_of_items() -> None:
    bound = replace(refinement_bound(6), limits=(2, 64))
    assert bound.sensitivity(64, "users") == Sensitivity(l1=3, l2_squared=3, linf=1).times(FIXED_POINT)
    assert bound.sensitivity(64, "records").l1 == 64 * FIXED_POINT


@given(st.lists(st.integers(1, MOST_TIMES), min_size=1, max_size=6), st.sampled_from(("l1", "l2")))
def test_no_number_of_records_overflows(times: list[int], norm: Norm) -> None:
    bound = replace(refinement_bound(11, norm), limits=(1, 2**20))
    parts = parts_of(LOCAL, log_of_one_user(list(range(0, 2 * len(times), 2)), times, 11), bound, bytes(16))
    for part in parts[1:]:
        assert (part.sensitive_values >= 0).all()
        assert part.sensitive_values.sum() <= part.sensitivity.l1
    assert parts[1].sensitive_values.sum() == 1


def test_refined_items_count_in_their_class() -> None:
    """6 records, 4 of one looked at: its class has two thirds of the person."""
    log = log_of_one_user([0, 1, 2], [4, 1, 1], 3)
    class_sums = LOCAL.measure(log, refinement_bound(3), bytes(16)).shares.sensitive_values.sum(axis=0)
    assert class_sums.tolist() == pytest.approx([FIXED_POINT * 4 / 6, FIXED_POINT / 6, FIXED_POINT / 6], abs=1)


def test_invalid_bounds_are_refused() -> None:
    shares, some = ClassProfile("items", np.arange(3)), ItemSubset(np.array([1]))
    wrong: tuple[tuple[Any, Any, Any], ...] = (
        (ClassProfile("items", np.arange(3), most=1 << 40), (1,), (1,)),
        (ClassProfile("edges", np.arange(3)), (1,), (1,)),
        (shares, (), (1,)),
        (shares, (2, 2), (1,)),
        (shares, (1,), (3, 2)),
    )
    for profile, limits, ends in wrong:
        with pytest.raises((ValueError, UsageError), match=r"rise|items|most"):
            TopItemCounts(profile, some, limits, ends)
    bound = TopItemCounts(shares, ItemSubset(np.array([3])), (1,), (1,))
    with pytest.raises(ValueError, match="within a catalogue of 3"):
        LOCAL.measure(log_of_one_user([0], [1], 3), bound, bytes(16))


def test_sums_of_another_shape_are_not_sealed() -> None:
    bound = refinement_bound(3)
    shares = LOCAL.measure(log_of_one_user([0], [1], 3), bound.shares, bytes(16))
    zeros = np.zeros(2, dtype=np.int64)
    with pytest.raises(ValueError, match="4 places"):
        bound.seal("records", shares.sensitive_values, np.zeros(3, dtype=np.int64), [zeros] * 3)
    with pytest.raises(ValueError, match="counts of 2 items"):
        bound.seal(
            "records", shares.sensitive_values, np.zeros(4, dtype=np.int64), [np.zeros(3, dtype=np.int64)] * 3
        )


def test_a_refinement_reads_the_columns_of_counts() -> None:
    log = EventLog.of([("ann", "tea"), ("bob", "rye")], items=["rye", "tea"])
    assert refinement_bound(2).reading(log) == WeightToThreshold(1).reading(log)
