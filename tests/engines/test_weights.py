"""What the records of a user above the limit weigh: the limit, less what rounding takes, shared by factors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.bounding import FIXED_POINT, Scale
from headcount.engines.local import LocalEngine
from headcount.engines.reference import ReferenceEngine, shares_of_limit
from headcount.events.catalogue import Catalogue
from headcount.events.log import EventLog, Roles
from headcount.events.readers import TableSource
from tests.cases import FACTORS, leaning
from tests.contracts.engine_checks import weights_of

Weigh = Callable[[Sequence[int], int], list[int]]
LOCAL = LocalEngine(threads=1)


def _by_reference(factors: Sequence[int], limit: int) -> list[int]:
    shares: list[int] = shares_of_limit(np.array(factors, dtype=np.int64), Scale(limit)).tolist()
    return shares


def _by_local(factors: Sequence[int], limit: int) -> list[int]:
    """One user with one record of each item: the count of an item is the weight of that record."""
    bound = Scale(limit, apart=True, leaning=leaning(factors))
    within, above = LOCAL.measure(_one_user(len(factors)), bound, bytes(16)).items.sensitive_values.tolist()
    assert within == [0] * len(factors)
    return list(above)


def _one_user(items: int) -> EventLog:
    return EventLog.of([(7, item) for item in range(items)], items=range(items))


weighing = pytest.mark.parametrize("weigh", [_by_reference, _by_local], ids=["reference", "local"])
factors_above = st.one_of(
    st.lists(st.sampled_from(FACTORS), min_size=2, max_size=30),
    st.lists(st.integers(1, 2**15), min_size=2, max_size=30),
    st.lists(st.integers(1, 4), min_size=2, max_size=30),
)


@weighing
def test_weights_fill_the_limit_and_never_exceed_it(weigh: Weigh) -> None:
    @given(factors_above, st.data())
    def filled(factors: list[int], data: st.DataObject) -> None:
        limit = data.draw(st.integers(1, len(factors) - 1))
        weights = weigh(factors, limit)
        assert sum(weights) <= limit * FIXED_POINT
        assert sum(weights) >= limit * FIXED_POINT - len(factors), "more is lost than one unit a record"
        assert max(weights) <= FIXED_POINT, "a record weighs more than one"
        assert min(weights) >= 0
        assert weights == weights_of(factors, Scale(limit)), "not the weights by plain fractions"

    filled()


@weighing
def test_weights_rise_with_the_factor(weigh: Weigh) -> None:
    @given(factors_above, st.data())
    def rising(factors: list[int], data: st.DataObject) -> None:
        limit = data.draw(st.integers(1, len(factors) - 1))
        weights = weigh(factors, limit)
        ordered = sorted(zip(factors, weights, strict=True))
        assert [weight for _, weight in ordered] == sorted(weights), "a record that leans more weighs less"
        assert len(set(ordered)) == len(set(factors)), "records that lean alike weigh differently"
        # below one, weights are in proportion to the factors, up to one unit each
        parts = [(factor, weight) for factor, weight in ordered if weight < FIXED_POINT]
        for one, mine in parts:
            for other, its in parts:
                assert mine * other < (its + 1) * one

    rising()


@weighing
def test_a_larger_factor_never_makes_a_record_lighter(weigh: Weigh) -> None:
    @given(factors_above, st.data())
    def raised(factors: list[int], data: st.DataObject) -> None:
        limit = data.draw(st.integers(1, len(factors) - 1))
        place = data.draw(st.integers(0, len(factors) - 1))
        larger = data.draw(st.integers(factors[place], 2**15))
        before = weigh(factors, limit)
        after = weigh([*factors[:place], larger, *factors[place + 1 :]], limit)
        assert after[place] >= before[place]
        assert all(after[at] <= before[at] for at in range(len(factors)) if at != place)

    raised()


@weighing
def test_equal_factors_share_the_limit_equally(weigh: Weigh) -> None:
    @given(st.sampled_from(FACTORS), st.integers(2, 300), st.data())
    def equal(factor: int, records: int, data: st.DataObject) -> None:
        limit = data.draw(st.integers(1, records - 1))
        assert weigh([factor] * records, limit) == [FIXED_POINT * limit // records] * records

    equal()


@pytest.mark.parametrize("counting", ["records", "users"])
def test_users_within_the_limit_do_not_lean(counting: str) -> None:
    log = EventLog.of([(7, item) for item in range(3)], items=range(3), counting=counting)  # type: ignore[arg-type]
    bound = Scale(3, apart=True, leaning=leaning((1, 2**15, 2)))
    for engine in (LOCAL, ReferenceEngine()):
        counts = engine.measure(log, bound, bytes(16))
        assert counts.items.sensitive_values.tolist() == [[FIXED_POINT] * 3, [0] * 3]
        assert counts.edges.sensitive_values.tolist() == [[[FIXED_POINT]] * 3, [[0]] * 3]


@given(st.integers(2, 300), st.data())
def test_roots_fill_the_sum_of_squares(records: int, data: st.DataObject) -> None:
    limit = data.draw(st.one_of(st.integers(1, records - 1), st.just(records - 1)))
    log = EventLog.of([(7, item) for item in range(records)], items=range(records), counting="users")
    found = LOCAL.measure(log, Scale(limit, norm="l2"), bytes(16))
    (weight,) = set(found.items.sensitive_values.tolist())
    assert records * weight**2 <= limit * FIXED_POINT**2 < records * (weight + 1) ** 2
    assert found.edges.sensitive_values.ravel().tolist() == [weight] * records


@pytest.mark.parametrize("limit", [1, 2**20, 2**31 - 1])
@pytest.mark.parametrize("factors", [(2**15, 1, 2**15), (1, 1, 2**15), (2**15, 2**15, 2**15), (3, 2, 1)], ids=repr)
def test_no_product_overflows(factors: tuple[int, ...], limit: int) -> None:
    """The largest limit, the largest factor, and more than 2^31 records of one user."""
    times = 2**30
    columns = {"user": pa.array([7] * 3), "item": pa.array(range(3)), "times": pa.array([times] * 3)}
    source = TableSource(pa.table(columns))
    log = EventLog(source=source, roles=Roles("user", "item", "times"), catalogue=Catalogue.of(range(3)))
    found = LOCAL.measure(log, Scale(limit, leaning=leaning(factors)), bytes(16)).items.sensitive_values.tolist()
    left, others, expected = limit, times * sum(factors), [0] * 3
    for place in sorted(range(3), key=lambda at: -factors[at]):
        share = Fraction(left * factors[place], others)
        expected[place] = times * math.floor(FIXED_POINT * min(share, Fraction(1)))
        if share >= 1:
            left, others = left - times, others - times * factors[place]
    assert found == expected
    assert limit * FIXED_POINT - 3 * times <= sum(found) <= limit * FIXED_POINT


@pytest.mark.parametrize("rows", [2**16, 2**17 - 1, 2**17, 2**17 + 1, 2**17 + 2, 2**18, 2**18 + 5])
@pytest.mark.parametrize("limit", [3, 2**31 - 1])
def test_no_number_of_records_overflows(rows: int, limit: int) -> None:
    """One user whose records stand for 2^48 and more: their factors add up to 2^63 and more."""
    factors, most = (2**15, 1, 2**15), 2**31 - 1
    items = pa.array(np.arange(rows, dtype=np.int64) % 2 * 2)
    columns = {
        "user": pa.array([7] * (rows + 1)),
        "item": pa.concat_arrays([items, pa.array([1])]),
        "times": pa.array([most] * rows + [5]),
    }
    source = TableSource(pa.table(columns))
    log = EventLog(source=source, roles=Roles("user", "item", "times"), catalogue=Catalogue.of(range(3)))
    found = LOCAL.measure(log, Scale(limit, leaning=leaning(factors)), bytes(16)).items.sensitive_values.tolist()
    records = [(rows + 1) // 2 * most, 5, rows // 2 * most]
    others = sum(factor * times for factor, times in zip(factors, records, strict=True))
    weights = [FIXED_POINT * limit * factor // others for factor in factors]
    assert found == [weight * times for weight, times in zip(weights, records, strict=True)]
    assert sum(found) <= limit * FIXED_POINT
