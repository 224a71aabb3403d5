"""Totals by the local engine are those of plain Python, whatever people did."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import headcount as hc
from headcount.bounds import NO_SECRET
from headcount.bounds.values.user_totals import FixedRange, UserTotals
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from tests.reference.engine import ReferenceEngine

Row = tuple[str | None, str | None, float | None, int | None, str | None]  # user, item, value, times, context

rows = st.lists(
    st.tuples(
        st.sampled_from(("ann", "ann", "bob", "", "Zoë", None)),
        st.sampled_from(("tea", "tea", "rye", "unlisted", None)),
        st.one_of(st.floats(-9, 9, width=16), st.sampled_from((1e300, -1e300, float("inf"), float("nan"), None))),
        st.sampled_from((1, 1, 2, 3, 40, 0, -1, None, 2**31 - 1, 2**31)),
        st.sampled_from(("AM", "PM", "night", None)),
    ),
    max_size=30,
)
HOW: list[dict[str, Any]] = [
    {},
    {"items": "rye,tea"},
    {"items": "rye,tea", "times": "times"},
    {"times": "times", "where": "item != rye"},
    {"items": "rye,tea", "context": "part", "contexts": "AM,PM", "context_of": "user", "times": "times"},
    {"items": "rye,tea", "context": "part", "contexts": "AM,PM", "count": "users"},
]
SPANS = [(Decimal(1), Decimal(5)), (Decimal("-0.3"), Decimal("0.25")), (Decimal(0), Decimal(2**20)), None]


def log_of(rows: Sequence[Row], span: Any, *, chunk: int | None = None, **more: Any) -> hc.EventLog:
    names, kinds = ("user", "item", "stars", "times", "part"), (pa.string(), pa.string(), pa.float64(), pa.int64())
    columns = zip(names, (*kinds, pa.string()), strict=True)
    table = pa.table({name: pa.array([row[at] for row in rows], kind) for at, (name, kind) in enumerate(columns)})
    if chunk is not None:
        table = pa.Table.from_batches(table.to_batches(max_chunksize=chunk), table.schema)
    value: dict[str, Any] = {} if span is None else {"value": "stars", "value_range": span}
    return hc.read_events(table, user="user", item="item", **value, **more)


Summed = tuple[int, int, int | None]


def summed(engine: Engine, log: hc.EventLog, bound: UserTotals) -> Summed:
    totals = engine.measure(log, bound, NO_SECRET)
    users, records = (int(total.sensitive_values[0]) for total in (totals.users, totals.records))
    return users, records, None if totals.distances is None else int(totals.distances.sensitive_values[0])


def local(log: hc.EventLog, limit: int, within: FixedRange | None) -> Summed:
    return summed(LocalEngine(threads=1), log, UserTotals(limit, within))


def plain(log: hc.EventLog, limit: int, within: FixedRange | None) -> Summed:
    return summed(ReferenceEngine(), log, UserTotals(limit, within))


@pytest.mark.parametrize("how", HOW)
@given(
    rows=rows,
    limit=st.sampled_from((1, 2, 3, 50, 2**20, 2**31 - 1)),
    span=st.sampled_from(SPANS),
    unit=st.sampled_from((1, 8, 2**16)),
)
def test_totals_are_those_of_plain_python(
    how: dict[str, Any], rows: list[Row], limit: int, span: tuple[Decimal, Decimal] | None, unit: int
) -> None:
    within = None if span is None else FixedRange.rounded(*span, unit)
    slow = plain(log_of(rows, span, **how), limit, within)
    assert local(log_of(rows, span, **how), limit, within) == slow
    assert local(log_of(rows[::-1], span, chunk=2, **how), limit, within) == slow


MANY = 2**31 - 1


@given(many=st.integers(1, 12), value=st.sampled_from((0.0, 1.0, 2.0**19, 2.0**20)), limit=st.integers(1, 9))
@example(many=9, value=2.0**20, limit=3)
def test_sums_beyond_64_bits_wrap_around_and_are_cut(many: int, value: float, limit: int) -> None:
    """A row of many records whose values lie far from the middle: 2^35 · 2^31 for each."""
    rows: Sequence[Row] = [("ann", "tea", value, MANY, None)] * many + [("bob", "tea", 0.0, 2, None)]
    span = (Decimal(0), Decimal(2**20))
    within, log = FixedRange.rounded(*span, 2**16), log_of(rows, span, times="times")
    slow = plain(log, limit, within)
    assert local(log, limit, within) == slow
    assert slow[2] is not None
    assert abs(slow[2]) <= (limit + min(limit, 2)) * within.half_width


def test_an_empty_log_has_zero_totals() -> None:
    log = log_of([], (1, 5))
    assert plain(log, 3, FixedRange(1, 5, 1)) == (0, 0, 0) == local(log, 3, FixedRange(1, 5, 1))
    assert plain(log_of([], None), 3, None) == (0, 0, None)
