"""Shares and squares of one person's records, up to numbers that no arithmetic of 64 bits may spill over."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.bounds import (
    FIXED_POINT,
    ActivityHistogram,
    ClassProfile,
    Norm,
    Sensitivity,
    WeightToThreshold,
)
from headcount.bounds.counts.class_profile import MAX_CLASSES, PROFILE_SIZES
from headcount.engines.local.engine import LocalEngine
from headcount.events.catalogue import Catalogue
from headcount.events.log import EventLog
from headcount.events.roles import Roles
from headcount.events.sources.source import TableSource
from tests.reference.engine import ReferenceEngine

LOCAL = LocalEngine(threads=1)
MOST_TIMES = 2**31 - 1


def log_of_one_user(items: list[int], times: list[int], catalogue: int) -> EventLog:
    """One person with so many records of some items."""
    rows = pa.table({"user": pa.array([7] * len(items)), "item": pa.array(items), "times": pa.array(times)})
    return EventLog(
        source=TableSource(rows), roles=Roles("user", "item", "times"), catalogue=Catalogue.of(range(catalogue))
    )


def shared(log: EventLog, bound: ClassProfile) -> list[tuple[int, int, int]]:
    """The power of two, the class and the share of all that is measured."""
    values = LOCAL.measure(log, bound, bytes(16)).sensitive_values
    return [(power, kind, int(values[power, kind])) for power, kind in zip(*np.nonzero(values), strict=True)]


def test_a_user_is_divided_between_two_powers_of_two() -> None:
    """6 records, 4 of the first class: half at 4, half at 8; the mean of 4 and 8 is 6."""
    log = log_of_one_user([0, 1, 2], [3, 1, 2], 3)
    bound = ClassProfile("items", np.array([0, 0, 1]))
    first, second = FIXED_POINT * 4 // 6, FIXED_POINT * 2 // 6
    assert shared(log, bound) == [
        (2, 0, first - first // 2),
        (2, 1, second - second // 2),
        (3, 0, first // 2),
        (3, 1, second // 2),
    ]
    assert shared(log, ClassProfile("items", bound.classes, above=6)) == []
    # 5 at most: a quarter of the way from 4 to 8, and the shares are those of all 6
    assert [cell[2] for cell in shared(log, ClassProfile("items", bound.classes, most=5)) if cell[0] == 3] == [
        first // 4,
        second // 4,
    ]


def test_with_squares_a_user_stands_at_their_sum_and_records_share_it() -> None:
    """3, 1 and 2 records: 9 + 1 + 4 = 14, three quarters of the way from 8 to 16."""
    cells = shared(log_of_one_user([0, 1, 2], [3, 1, 2], 3), ClassProfile("items", np.array([0, 0, 1]), norm="l2"))
    first, second = FIXED_POINT * 4 // 14, FIXED_POINT * 2 // 14
    assert [cell for cell in cells if cell[0] == 4] == [(4, 0, first * 3 // 4), (4, 1, second * 3 // 4)]
    assert sum(cell[2] for cell in cells) == first + second


@given(st.lists(st.integers(1, MOST_TIMES), min_size=1, max_size=6), st.sampled_from((1, 7, 2**20, 2**40)))
def test_shares_are_those_of_exact_arithmetic(times: list[int], most: int) -> None:
    """However many records one row stands for; the largest size has no further one to stand at."""
    size, last = sum(times), PROFILE_SIZES.size - 1
    cells = shared(
        log_of_one_user(list(range(len(times))), times, 6), ClassProfile("items", np.arange(6), most=most)
    )
    stand = min(size, most)
    power = min(stand.bit_length() - 1, last)
    expected = []
    for kind, many in enumerate(times):
        share = FIXED_POINT * many // size
        further = 0 if power == last else share * (stand - 2**power) // 2**power
        expected += [(power, kind, share - further), (power + 1, kind, further)]
    assert sorted(cells) == sorted(cell for cell in expected if cell[2])


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_no_number_of_records_makes_shares_overflow(norm: Norm) -> None:
    """2^47 records of each of three classes, of which the unit makes 2^63; squares are taken to sum to 2^62."""
    repeats = 65_536
    items = np.repeat(np.arange(3), repeats).tolist()
    times = [MOST_TIMES] * len(items)
    log = log_of_one_user([*items, 0, 1, 2, 3], [*times, repeats, repeats, repeats, 1], 4)
    bound = LOCAL.measure(log, ClassProfile("items", np.arange(4), norm=norm), bytes(16))
    shares = bound.sensitive_values
    assert np.abs(shares).sum() <= bound.sensitivity.l1
    share = FIXED_POINT * 2**47 // (3 * 2**47 + 1 if norm == "l1" else 2**62)
    assert shares[-1].tolist() == [share, share, share, 0]
    assert not shares[:-1].any()


@pytest.mark.parametrize(
    "times",
    [
        [2**30],
        [2**30 + 1],
        [2**30 - 1, 1],
        [2**30, 1],
        [2**29] * 8,
        [MOST_TIMES],
        [MOST_TIMES] * 8,
        [2**30] * 7,
        [*[2**30] * 4, 2**15],
        [1, 2**30, 5],
    ],
    ids=repr,
)
@pytest.mark.parametrize("same", [False, True])
def test_squares_never_come_to_more_than_the_limit(times: list[int], same: bool) -> None:
    """Near 2^30 records of an item and 2^62 squares, and beyond: in one item, or each in another."""
    items = [0] * len(times) if same else list(range(len(times)))
    log = log_of_one_user(items, times, 8)
    exact = sum(times) ** 2 if same else sum(count**2 for count in times)
    for limit in (1, 2**20, 2**31 - 1):
        bound = WeightToThreshold(limit, norm="l2", apart=True)
        measured = LOCAL.measure(log, bound, bytes(16)).items
        assert not measured.sensitive_values[0].any(), "a heavy user is within the limit"
        squares = sum(value**2 for value in measured.sensitive_values[1].tolist())
        assert squares <= measured.sensitivity.l2_squared == limit * FIXED_POINT**2
        largest = max(sum(times) if same else 0, *times)
        weight = math.isqrt(FIXED_POINT**2 * limit // exact) if largest <= 2**30 and exact <= 2**62 else None
        if weight is not None:
            expected = [weight * sum(times)] if same else [weight * count for count in times]
            assert measured.sensitive_values[1][: len(expected)].tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 40)), min_size=1, max_size=12), st.integers(1, 50))
def test_roots_of_records_fill_the_sum_of_squares(rows: list[tuple[int, int]], limit: int) -> None:
    """As near as whole weights get: one unit more a record, and they would come to more."""
    log = log_of_one_user([item for item, _ in rows], [times for _, times in rows], 3)
    counts = np.bincount([item for item, _ in rows], weights=[times for _, times in rows]).astype(int).tolist()
    exact = sum(count**2 for count in counts)
    for engine in (LOCAL, ReferenceEngine()):
        measured = engine.measure(log, WeightToThreshold(limit, norm="l2"), bytes(16)).items
        squares = sum(value**2 for value in measured.sensitive_values.tolist())
        if exact <= limit:
            assert squares == exact * FIXED_POINT**2
            continue
        (weight,) = {
            value // count
            for value, count in zip(measured.sensitive_values.tolist(), counts, strict=False)
            if count
        }
        assert squares <= limit * FIXED_POINT**2 < exact * (weight + 1) ** 2


def test_activity_in_squares() -> None:
    log = log_of_one_user([0, 0, 1], [2, 1, 3], 2)
    for engine in (LOCAL, ReferenceEngine()):
        assert np.flatnonzero(
            engine.measure(log, ActivityHistogram("items", 30, "l2"), bytes(16)).sensitive_values
        ) == [17]
        assert np.flatnonzero(
            engine.measure(log, ActivityHistogram("items", 9, "l2"), bytes(16)).sensitive_values
        ) == [8]
    far = log_of_one_user([0], [MOST_TIMES], 1)
    assert LOCAL.measure(far, ActivityHistogram("items", 5, "l2"), bytes(16)).sensitive_values.tolist() == [
        0,
        0,
        0,
        0,
        1,
    ]


def test_classes_must_be_those_of_the_columns() -> None:
    log = log_of_one_user([0], [1], 3)
    classes: Any
    for classes, words in (
        (np.arange(2), "there must be 3 classes"),
        (np.zeros(3), "there must be 3 classes"),
        (np.array([0, -1, 0]), "classes must lie between 0 and 63"),
        (np.array([0, 1, MAX_CLASSES]), "classes must lie between 0 and 63"),
    ):
        for engine in (LOCAL, ReferenceEngine()):
            with pytest.raises(ValueError, match=words):
                engine.measure(log, ClassProfile("items", classes), bytes(16))
    assert LOCAL.measure(log, ClassProfile("items", np.arange(3)), bytes(16)).sensitivity == Sensitivity(
        l1=FIXED_POINT, l2_squared=FIXED_POINT**2, linf=FIXED_POINT
    )
