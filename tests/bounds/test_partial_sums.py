"""What is taken apart and put together is what was measured, and nothing else can be put together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headcount.bounds import Bound
from headcount.bounds.counts.record_cap import RecordCap
from headcount.bounds.keys.key_support import KeySupport
from headcount.bounds.keys.key_weights import KeyWeights
from headcount.bounds.partial_sums import CELLS, from_cells, to_cells
from headcount.bounds.values.user_totals import FixedRange, UserTotals
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import read_events
from tests.bounds.test_partial_sums_of_groups import BOUNDS, SECRET, log_of, rows, shown

SUMS = [bound for bound in BOUNDS if not isinstance(bound, RecordCap)]


def _measured(people: list[tuple[str, str, str, float]], bound: Bound[Any]) -> Any:
    return LocalEngine(threads=1).measure(log_of(people, bound), bound, SECRET)


@pytest.mark.parametrize("bound", SUMS, ids=lambda bound: type(bound).__name__)
def test_partial_sums_add_up_to_all_users(bound: Bound[Any]) -> None:
    everyone = rows()
    parts = [[row for row in everyone if int(row[0][1:]) % 3 == part] for part in range(3)]
    cells = pa.concat_tables([to_cells(_measured(part, bound)) for part in [*parts, []]])
    assert shown(from_cells(_measured([], bound), cells)) == shown(_measured(everyone, bound))


@pytest.mark.parametrize("ids", [["u", "é\n"], [-7, 2**62], np.array([7, 2**64 - 1], np.uint64)], ids=str)
def test_items_keep_their_ids(ids: Any) -> None:
    table = pa.table({"user": ["ann", "bob", "bob"], "item": pa.array(ids).take(pa.array([0, 0, 1]))})
    log, nobody = (
        read_events(events, user="user", item="item", select_items=True) for events in (table, table.slice(0, 0))
    )
    measured = LocalEngine().measure(log, KeySupport(2), SECRET)
    again = from_cells(LocalEngine().measure(nobody, KeySupport(2), SECRET), to_cells(measured))
    assert shown(again) == shown(measured)
    assert again.sensitive_ids.type == measured.sensitive_ids.type
    assert again.sensitive_ids.to_pylist() == pa.array(ids).to_pylist()


def test_large_sums_are_cut_and_never_wrap_around() -> None:
    bound = UserTotals(2**31 - 1, FixedRange(-(2**31), 2**31, 1))
    nobody = bound.seal(np.zeros(0, np.int64), np.zeros(0, np.int64))
    up, down = (to_cells(bound.seal(np.array([2**31 - 1]), np.array([sign * 2**61]))) for sign in (1, -1))
    many = from_cells(nobody, pa.concat_tables([up] * 5)).distances
    few = from_cells(nobody, pa.concat_tables([up] * 5 + [down] * 4)).distances
    least = from_cells(nobody, pa.concat_tables([down] * 5)).distances
    assert many is not None
    assert few is not None
    assert least is not None
    assert [sums.sensitive_values.tolist() for sums in (many, few, least)] == [[2**62], [2**61], [-(2**62)]]


def _cells(**columns: Any) -> pa.Table:
    row = {"part": 0, "place": 0, "name": None, "high": 0, "low": 1, **columns}
    return pa.Table.from_pylist([row], CELLS)


@pytest.mark.parametrize("bound", SUMS, ids=lambda bound: type(bound).__name__)
def test_cells_that_are_none_of_the_bound_are_refused(bound: Bound[Any]) -> None:
    nobody = _measured([], bound)
    wrong = _cells(high=-1, low=7) if isinstance(bound, KeySupport | KeyWeights) else _cells(place=10**9)
    with pytest.raises(ValueError, match=r"behind each item|places|below 0"):
        from_cells(nobody, wrong)
    with pytest.raises(ValueError, match="no cells"):
        from_cells(nobody, wrong.drop_columns("high"))


def test_records_are_no_sum() -> None:
    with pytest.raises(TypeError, match="no sum of cells"):
        to_cells(_measured(rows(), RecordCap("items", 3)))
