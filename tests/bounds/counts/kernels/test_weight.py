"""What the records of a user above the limit weigh: an equal part of the limit, less what rounding takes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.bounds import FIXED_POINT, WeightToThreshold
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.events.catalogue import Catalogue
from headcount.events.log import EventLog
from headcount.events.roles import Roles
from headcount.events.sources.source import TableSource
from tests.reference.engine import ReferenceEngine

LOCAL = LocalEngine(threads=1)
ENGINES = pytest.mark.parametrize("engine", [LOCAL, ReferenceEngine()], ids=["local", "reference"])


@ENGINES
def test_records_share_the_limit_equally(engine: Engine) -> None:
    @given(st.integers(2, 300), st.data())
    def equal(records: int, data: st.DataObject) -> None:
        limit = data.draw(st.integers(1, records - 1))
        log = EventLog.of([(7, item) for item in range(records)], items=range(records))
        within, above = engine.measure(
            log, WeightToThreshold(limit, apart=True), bytes(16)
        ).items.sensitive_values.tolist()
        assert within == [0] * records
        assert above == [FIXED_POINT * limit // records] * records

    equal()


@ENGINES
@pytest.mark.parametrize("counting", ["records", "users"])
def test_users_within_the_limit_count_in_full(engine: Engine, counting: str) -> None:
    log = EventLog.of([(7, item) for item in range(3)], items=range(3), counting=counting)  # type: ignore[arg-type]
    counts = engine.measure(log, WeightToThreshold(3, apart=True), bytes(16))
    assert counts.items.sensitive_values.tolist() == [[FIXED_POINT] * 3, [0] * 3]
    assert counts.edges.sensitive_values.tolist() == [[[FIXED_POINT]] * 3, [[0]] * 3]


@given(st.integers(2, 300), st.data())
def test_roots_fill_the_sum_of_squares(records: int, data: st.DataObject) -> None:
    limit = data.draw(st.one_of(st.integers(1, records - 1), st.just(records - 1)))
    log = EventLog.of([(7, item) for item in range(records)], items=range(records), counting="users")
    measured = LOCAL.measure(log, WeightToThreshold(limit, norm="l2"), bytes(16))
    (weight,) = set(measured.items.sensitive_values.tolist())
    assert records * weight**2 <= limit * FIXED_POINT**2 < records * (weight + 1) ** 2
    assert measured.edges.sensitive_values.ravel().tolist() == [weight] * records


@pytest.mark.parametrize("rows", [3, 2**16, 2**17 + 1, 2**18 + 5])
@pytest.mark.parametrize("limit", [1, 2**20, 2**31 - 1])
def test_no_number_of_records_overflows(rows: int, limit: int) -> None:
    """The largest limit, and one user whose records stand for 2^48 and more."""
    times = 2**31 - 1
    columns = {
        "user": pa.array([7] * rows),
        "item": pa.array(np.arange(rows, dtype=np.int64) % 3),
        "times": pa.array([times] * rows),
    }
    source = TableSource(pa.table(columns))
    log = EventLog(source=source, roles=Roles("user", "item", "times"), catalogue=Catalogue.of(range(3)))
    values = LOCAL.measure(log, WeightToThreshold(limit), bytes(16)).items.sensitive_values.tolist()
    weight = FIXED_POINT * limit // (rows * times)
    assert values == [weight * times * len(range(at, rows, 3)) for at in range(3)]
    assert sum(values) <= limit * FIXED_POINT
