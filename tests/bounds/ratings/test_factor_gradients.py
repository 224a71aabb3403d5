"""Likings: nobody moves them further than declared, and engines agree on what each taste adds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.bounds import NO_SECRET, Sensitivity
from headcount.bounds.ratings.factor_gradients import MAX_FACTOR, FactorGradients
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
        st.lists(st.integers(-MAX_FACTOR, MAX_FACTOR), min_size=depth, max_size=depth),
        min_size=PLACES.size,
        max_size=PLACES.size,
    )
)


def rated(given_records: list[Record], items: int = ITEMS) -> EventLog:
    return EventLog.of(given_records, items=list(range(items)), value_range=(1, 5))


@given(records, offsets, factors)
@settings(deadline=None, max_examples=40)
def test_one_user_stays_within_the_sensitivity(
    given_records: list[Record], given_offsets: list[int], given_factors: list[list[int]]
) -> None:
    bound = FactorGradients(PLACES, np.array(given_factors), np.array(given_offsets))
    log = rated(given_records)
    whole = ReferenceEngine().measure(log, bound, NO_SECRET)
    for threads in (1, 3):
        measured = LocalEngine(threads=threads).measure(log, bound, NO_SECRET)
        assert np.array_equal(whole.sensitive_values, measured.sensitive_values), "engines differ"
    for user in {user for user, _, _ in given_records}:
        without = rated([record for record in given_records if record[0] != user])
        moved = whole.sensitive_values - ReferenceEngine().measure(without, bound, NO_SECRET).sensitive_values
        assert np.abs(moved).sum() <= whole.sensitivity.l1
        assert (moved**2).sum() <= whole.sensitivity.l2_squared
        assert np.abs(moved).max() <= whole.sensitivity.linf


@pytest.mark.parametrize("many", [9, 40, 400])
@pytest.mark.parametrize("depth", [1, 4, 10])
def test_who_rates_much_comes_near_to_the_length(many: int, depth: int) -> None:
    """It is kept by making shorter, not by adding nothing; a kernel that rounds to nearest may exceed it."""
    ratings = [(1, n, 1.0 + 4 * (n % 2)) for n in range(many)]
    given_factors = np.random.default_rng(depth).integers(-600, 600, (many, depth))
    bound = FactorGradients(np.arange(many), given_factors, np.zeros(many, dtype=np.int64))
    local, other = (
        engine.measure(rated(ratings, many), bound, NO_SECRET) for engine in (LocalEngine(), ReferenceEngine())
    )
    assert np.array_equal(local.sensitive_values, other.sensitive_values)
    squares = int((local.sensitive_values**2).sum())
    assert 0.99**2 * local.sensitivity.l2_squared <= squares <= local.sensitivity.l2_squared


def test_a_hand_worked_case() -> None:
    """One rating, 5 stars, where 2.6 above 1 are expected of somebody with one; the item's factor is a half.

    The taste is e f / (1 + f²), and e = 1.4 · 5/6. Little is added, so nothing is made shorter.
    """
    away = 4096 - (4096 + 5 * 2662) // 6
    taste = int(1024 * (512 * away) / (1024**2 + 512**2))
    bound = FactorGradients(np.array([2]), np.array([[512]]), np.zeros(ITEMS, dtype=np.int64))
    for engine in (LocalEngine(), ReferenceEngine()):
        sums = engine.measure(rated([(1, 2, 5.0)]), bound, NO_SECRET).sensitive_values
        assert sums.tolist() == [away * taste, taste * taste // 256]
    assert taste / 1024 == pytest.approx(1.4 * 5 / 6 * 0.5 / 1.25, abs=0.01)


def test_items_without_factors_do_not_affect_the_user_vector() -> None:
    bound = FactorGradients(np.arange(2), np.array([[900], [0]]), np.zeros(ITEMS, dtype=np.int64))
    measure = ReferenceEngine().measure
    both = measure(rated([(1, 0, 5.0), (1, 1, 5.0)]), bound, NO_SECRET).sensitive_values
    assert both[0] == both[1] != 0
    assert not measure(rated([(1, 1, 5.0)]), bound, NO_SECRET).sensitive_values.any()


@pytest.mark.parametrize(
    ("items", "factors"),
    [((1, 0), [[1], [1]]), ((0, 1), [[1]]), ((0, 1), [[], []]), ((0, 1), [[MAX_FACTOR + 1], [0]])],
    ids=["fall", "too few", "none", "too long"],
)
def test_invalid_bounds_are_refused(items: tuple[int, ...], factors: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="must"):
        FactorGradients(np.array(items), np.array(factors), np.zeros(ITEMS, dtype=np.int64))


def test_sums_must_be_of_all_items() -> None:
    bound = FactorGradients(np.arange(2), np.ones((2, 2), dtype=np.int64), np.zeros(ITEMS, dtype=np.int64))
    with pytest.raises(ValueError, match="sums of the shape"):
        bound.seal(np.zeros(6, dtype=np.int64))
    certified = bound.seal(np.zeros(7, dtype=np.int64))
    assert (certified.sensitivity, certified.unit) == (Sensitivity(2774272, 2**40, 2**20), 2**20)
