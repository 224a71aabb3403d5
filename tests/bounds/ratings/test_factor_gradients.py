"""Likings: nobody moves them further than declared, and engines agree on what each taste adds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.bounds import FURTHEST_FACTOR, LIKING_LENGTH, UNDRAWN, Likings, certify_likings, likings_reach
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from tests.reference.engine import ReferenceEngine

ITEMS = 7
PLACES = np.array([0, 1, 3, 6])

Record = tuple[int, int, float]

records = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, ITEMS), st.sampled_from([-3, 1, 2.5, 3, 4, 5, 9.0])), max_size=60
)
offsets = st.lists(st.integers(-2048, 2048), min_size=ITEMS, max_size=ITEMS)
factors = st.integers(1, 3).flatmap(
    lambda depth: st.lists(
        st.lists(st.integers(-FURTHEST_FACTOR, FURTHEST_FACTOR), min_size=depth, max_size=depth),
        min_size=PLACES.size,
        max_size=PLACES.size,
    )
)


def rated(given_records: list[Record], items: int = ITEMS) -> EventLog:
    return EventLog.of(given_records, items=list(range(items)), value_range=(1, 5))


@given(records, offsets, factors)
@settings(deadline=None, max_examples=40)
def test_nobody_moves_them_further_than_declared(
    given_records: list[Record], given_offsets: list[int], given_factors: list[list[int]]
) -> None:
    bound = Likings(PLACES, np.array(given_factors), np.array(given_offsets))
    log = rated(given_records)
    whole = ReferenceEngine().measure(log, bound, UNDRAWN)
    for threads in (1, 3):
        found = LocalEngine(threads=threads).measure(log, bound, UNDRAWN)
        assert np.array_equal(whole.sensitive_values, found.sensitive_values), "engines differ"
    for user in {user for user, _, _ in given_records}:
        without = rated([record for record in given_records if record[0] != user])
        moved = whole.sensitive_values - ReferenceEngine().measure(without, bound, UNDRAWN).sensitive_values
        assert np.abs(moved).sum() <= whole.sensitivity.l1
        assert (moved**2).sum() <= whole.sensitivity.l2_squared
        assert np.abs(moved).max() <= whole.sensitivity.linf


@pytest.mark.parametrize("many", [9, 40, 400])
@pytest.mark.parametrize("depth", [1, 4, 10])
def test_who_rates_much_comes_near_to_the_length(many: int, depth: int) -> None:
    """It is kept by making shorter, not by adding nothing; a kernel that rounds to nearest may exceed it."""
    ratings = [(1, n, 1.0 + 4 * (n % 2)) for n in range(many)]
    given_factors = np.random.default_rng(depth).integers(-600, 600, (many, depth))
    bound = Likings(np.arange(many), given_factors, np.zeros(many, dtype=np.int64))
    one, other = (
        engine.measure(rated(ratings, many), bound, UNDRAWN) for engine in (LocalEngine(), ReferenceEngine())
    )
    assert np.array_equal(one.sensitive_values, other.sensitive_values)
    squares = int((one.sensitive_values**2).sum())
    assert 0.99**2 * one.sensitivity.l2_squared <= squares <= one.sensitivity.l2_squared


def test_a_hand_worked_case() -> None:
    """One rating, 5 stars, where 2.6 above 1 are expected of somebody with one; the item's factor is a half.

    The taste is e f / (1 + f²), and e = 1.4 · 5/6. Little is added, so nothing is made shorter.
    """
    away = 4096 - (4096 + 5 * 2662) // 6
    taste = int(1024 * (512 * away) / (1024**2 + 512**2))
    bound = Likings(np.array([2]), np.array([[512]]), np.zeros(ITEMS, dtype=np.int64))
    for engine in (LocalEngine(), ReferenceEngine()):
        found = engine.measure(rated([(1, 2, 5.0)]), bound, UNDRAWN).sensitive_values
        assert found.tolist() == [away * taste, taste * taste // 256]
    assert taste / 1024 == pytest.approx(1.4 * 5 / 6 * 0.5 / 1.25, abs=0.01)


def test_items_without_factors_say_nothing_of_a_taste_and_are_told_by_it() -> None:
    bound = Likings(np.arange(2), np.array([[900], [0]]), np.zeros(ITEMS, dtype=np.int64))
    measure = ReferenceEngine().measure
    both = measure(rated([(1, 0, 5.0), (1, 1, 5.0)]), bound, UNDRAWN).sensitive_values
    assert both[0] == both[1] != 0
    assert not measure(rated([(1, 1, 5.0)]), bound, UNDRAWN).sensitive_values.any()


@pytest.mark.parametrize(
    ("items", "factors"),
    [((1, 0), [[1], [1]]), ((0, 1), [[1]]), ((0, 1), [[], []]), ((0, 1), [[FURTHEST_FACTOR + 1], [0]])],
    ids=["fall", "too few", "none", "too long"],
)
def test_what_cannot_be_asked_is_refused(items: tuple[int, ...], factors: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="must"):
        Likings(np.array(items), np.array(factors), np.zeros(ITEMS, dtype=np.int64))


def test_sums_must_be_of_all_items() -> None:
    bound = Likings(np.arange(2), np.ones((2, 2), dtype=np.int64), np.zeros(ITEMS, dtype=np.int64))
    with pytest.raises(ValueError, match="must be 7 sums"):
        certify_likings(np.zeros(6, dtype=np.int64), bound)
    certified = certify_likings(np.zeros(7, dtype=np.int64), bound)
    assert (certified.sensitivity, certified.unit) == (likings_reach(7), LIKING_LENGTH)
