"""A look at some items: one way through a log measures what each of its parts does by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.bounds import (
    ANY_SIZE,
    FIXED_POINT,
    Activity,
    Among,
    Bounded,
    Look,
    Norm,
    Scale,
    Sensitivity,
    Shares,
    certify_look,
)
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from tests.bounds.counts.kernels.test_weight_limits import MOST_TIMES, one_person
from tests.reference.engine import ReferenceEngine
from tests.support.small_logs import Case, cases, secrets

LOCAL = LocalEngine(threads=1)
ENDS, LIMITS = (1, 2, 4), (1, 2, 5)


def look_of(items: int, norm: Norm = "l1", above: int = 1, most: int = ANY_SIZE) -> Look:
    """A look at every other item, of people of whom no more than ``most`` records count."""
    shares = Shares("items", np.arange(items, dtype=np.int64) * 5 % 3, above, norm, most)
    return Look(shares, Among(np.arange(0, items, 2)), LIMITS, ENDS)


def parts_of(engine: Engine, log: EventLog, bound: Look, secret: bytes) -> list[Bounded]:
    found = engine.measure(log, bound, secret)
    return [found.shares, found.people, *found.counts]


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_each_part_is_what_it_is_by_itself(norm: Norm) -> None:
    @given(cases(), secrets)
    def same(case: Case, secret: bytes) -> None:
        log = case.log()
        bound = look_of(case.listed, norm)
        places = bound.among.places
        shares, people, *counts = parts_of(LOCAL, log, bound, secret)
        alone = LOCAL.measure(log, bound.shares, secret)
        assert np.array_equal(shares.sensitive_values, alone.sensitive_values)
        some = LOCAL.measure(log, Activity("items", ENDS[-1] + 1, norm, bound.among, ENDS), secret)
        assert np.array_equal(people.sensitive_values, some.sensitive_values)
        for limit, each in zip(LIMITS, counts, strict=True):
            scaled = LOCAL.measure(log, Scale(limit, norm, among=bound.among), secret).items
            assert np.array_equal(each.sensitive_values, scaled.sensitive_values[places])
            assert each.unit == scaled.unit

    same()


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("most", [2, 3, ANY_SIZE])
def test_nobody_moves_a_part_further_than_declared(norm: Norm, most: int) -> None:
    @given(cases(), secrets)
    def reach(case: Case, secret: bytes) -> None:
        bound = look_of(case.listed, norm, most=most)
        whole = parts_of(LOCAL, case.log(), bound, secret)
        for user in case.everyone:
            rest, own = (
                parts_of(LOCAL, part.log(), bound, secret) for part in (case.without(user), case.only(user))
            )
            for one, others, alone in zip(whole, rest, own, strict=True):
                step = one.sensitive_values - others.sensitive_values
                assert np.array_equal(step, alone.sensitive_values)
                assert np.abs(step).sum() <= one.sensitivity.l1
                assert (step**2).sum() <= one.sensitivity.l2_squared
                assert np.abs(step).max(initial=0) <= one.sensitivity.linf
                assert one.sensitivity == others.sensitivity, "the sensitivity hangs on the log"

    reach()


@pytest.mark.parametrize("most", [2, 3])
def test_under_a_cap_engines_find_the_same(most: int) -> None:
    @given(cases(), secrets)
    def same(case: Case, secret: bytes) -> None:
        found, expected = (
            parts_of(engine, case.log(), look_of(case.listed, most=most), secret)
            for engine in (LOCAL, ReferenceEngine())
        )
        for one, other in zip(found, expected, strict=True):
            assert np.array_equal(one.sensitive_values, other.sensitive_values)

    same()


def test_beyond_a_cap_each_record_weighs_less() -> None:
    """8 records, 6 of items looked at: under a cap of 4 these are 3 in all."""
    log = one_person([0, 1, 2], [5, 2, 1], 3)
    for limits, whole in (((3, 9), 3), ((1, 2), 2)):
        bound = replace(look_of(3, most=4), limits=limits)
        found = LOCAL.measure(log, bound, bytes(16))
        assert found.people.sensitive_values.tolist() == [0, 0, 1, 0]
        for limit, each in zip(limits, found.counts, strict=True):
            expected = FIXED_POINT * min(limit, whole) * np.array([5, 1]) / 6
            assert each.sensitive_values == pytest.approx(expected, abs=6)
    uncapped = LOCAL.measure(log, look_of(3), bytes(16))
    assert uncapped.people.sensitive_values.tolist() == [0, 0, 0, 1]
    assert uncapped.counts[-1].sensitive_values.sum() == pytest.approx(5 * FIXED_POINT, abs=6)


def test_the_sensitivity_is_reached() -> None:
    """Of 3 items of a person with 3 records of each, under a limit of 5: all of it; and 3 once each, under 2."""
    bound = replace(look_of(6), limits=(5, 9))
    found = LOCAL.measure(one_person([0, 2, 4], [3, 3, 3], 6), bound, bytes(16))
    assert found.people.sensitive_values.tolist() == [0, 0, 0, 1]
    assert found.counts[0].sensitivity.l1 == 5 * FIXED_POINT
    assert found.counts[0].sensitive_values.sum() == pytest.approx(5 * FIXED_POINT, abs=9)
    assert found.counts[1].sensitive_values.tolist() == [3 * FIXED_POINT] * 3


def test_where_people_count_once_no_limit_moves_more_than_the_items_there_are() -> None:
    bound = replace(look_of(6), limits=(2, 64))
    assert bound.reach(64, "users") == Sensitivity(l1=3, l2_squared=3, linf=1).times(FIXED_POINT)
    assert bound.reach(64, "records").l1 == 64 * FIXED_POINT


@given(st.lists(st.integers(1, MOST_TIMES), min_size=1, max_size=6), st.sampled_from(("l1", "l2")))
def test_no_number_of_records_makes_a_look_overflow(times: list[int], norm: Norm) -> None:
    bound = replace(look_of(11, norm), limits=(1, 2**20))
    found = parts_of(LOCAL, one_person(list(range(0, 2 * len(times), 2)), times, 11), bound, bytes(16))
    for each in found[1:]:
        assert (each.sensitive_values >= 0).all()
        assert each.sensitive_values.sum() <= each.sensitivity.l1
    assert found[1].sensitive_values.sum() == 1


def test_items_that_are_looked_at_count_in_their_class() -> None:
    """6 records, 4 of one looked at: its class has two thirds of the person."""
    log = one_person([0, 1, 2], [4, 1, 1], 3)
    found = LOCAL.measure(log, look_of(3), bytes(16)).shares.sensitive_values.sum(axis=0)
    assert found.tolist() == pytest.approx([FIXED_POINT * 4 / 6, FIXED_POINT / 6, FIXED_POINT / 6], abs=1)


def test_what_is_no_look_is_refused() -> None:
    shares, some = Shares("items", np.arange(3)), Among(np.array([1]))
    wrong: tuple[tuple[Any, Any, Any], ...] = (
        (Shares("items", np.arange(3), most=1 << 40), (1,), (1,)),
        (Shares("edges", np.arange(3)), (1,), (1,)),
        (shares, (), (1,)),
        (shares, (2, 2), (1,)),
        (shares, (1,), (3, 2)),
    )
    for asked, limits, ends in wrong:
        with pytest.raises((ValueError, UsageError), match=r"rise|items|most"):
            Look(asked, some, limits, ends)
    bound = Look(shares, Among(np.array([3])), (1,), (1,))
    with pytest.raises(ValueError, match="within a catalogue of 3"):
        LOCAL.measure(one_person([0], [1], 3), bound, bytes(16))


def test_sums_of_another_shape_are_not_sealed() -> None:
    bound = look_of(3)
    shares = LOCAL.measure(one_person([0], [1], 3), bound.shares, bytes(16))
    zeros = np.zeros(2, dtype=np.int64)
    with pytest.raises(ValueError, match="4 places"):
        certify_look(shares, np.zeros(3, dtype=np.int64), [zeros] * 3, bound, "records")
    with pytest.raises(ValueError, match="counts of 2 items"):
        certify_look(shares, np.zeros(4, dtype=np.int64), [np.zeros(3, dtype=np.int64)] * 3, bound, "records")


def test_a_look_reads_what_counts_do() -> None:
    log = EventLog.of([("ann", "tea"), ("bob", "rye")], items=["rye", "tea"])
    assert look_of(2).reading(log) == Scale(1).reading(log)
