"""Tables over few columns: those of plain Python, sums of cells, and moved no further than is declared."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.bounds import Bounded
from headcount.bounds.grid.linear_queries import total_distance
from headcount.bounds.grid.marginals import ColumnPlaces, Marginals
from headcount.bounds.grid.user_group_cells import GroupCells
from headcount.bounds.linear_maps import concatenate_tables
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.grid import Grid
from headcount.events.log import EventLog
from headcount.events.user_table import read_people
from tests.reference.engine import ReferenceEngine
from tests.support.small_logs import secrets

TABLES: tuple[ColumnPlaces, ...] = ((), (0,), (1,), (0, 1), (0, 2), (0, 1, 2))
NARROW = Grid.from_mapping({"a": {"edges": [0, 1, 2]}, "b": {"edges": [0, 1, 2, 3]}, "c": {"values": [0, 1]}})
WIDE = Grid.from_mapping({**NARROW.to_json(), **{f"x{n}": {"from": 0, "to": 90, "bins": 90} for n in range(8)}})

Row = tuple[int, int, int, int]  # person, a, b, c; two people are a household, and what is 2 in c has no bin
rows = st.lists(st.tuples(*(st.integers(0, most) for most in (5, 1, 2, 2))), max_size=30)


def log_of(rows: list[Row]) -> EventLog:
    columns = {name: [row[at] for row in rows] for at, name in enumerate(("id", *"abc"))}
    columns |= {"home": [row[0] // 2 for row in rows]}
    columns |= {f"x{n}": [(row[0] + n) % 9 for row in rows] for n in range(8)}
    return read_people(
        pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()}), user="id"
    )


def measured(engine: Engine, rows: list[Row], cells: GroupCells, secret: bytes) -> tuple[Bounded, ...]:
    return engine.measure(log_of(rows), Marginals(cells, TABLES), secret).tables


@settings(max_examples=20)
@given(rows, st.sampled_from([None, "home"]), st.integers(1, 3), st.integers(2, 3), secrets)
def test_tables_are_those_of_plain_python_and_add_cells_up(
    rows: list[Row], groups: str | None, records: int, people: int, secret: bytes
) -> None:
    for grid in (NARROW, WIDE):
        cells = GroupCells(grid, groups, records, people if groups else 1)
        fast, plain = (
            measured(engine, rows, cells, secret) for engine in (LocalEngine(threads=1), ReferenceEngine())
        )
        for fast_table, other in zip(fast, plain, strict=True):
            assert np.array_equal(fast_table.sensitive_values, other.sensitive_values)
            assert fast_table.sensitivity == other.sensitivity
    cells = GroupCells(NARROW, groups, records, people if groups else 1)
    whole = LocalEngine(threads=1).measure(log_of(rows), cells, secret).sensitive_values.reshape(NARROW.shape)
    for table, columns in zip(measured(LocalEngine(threads=1), rows, cells, secret), TABLES, strict=True):
        others = tuple(place for place in range(3) if place not in columns)
        assert np.array_equal(table.sensitive_values, whole.sum(axis=others))


@settings(max_examples=20)
@given(rows, st.sampled_from([None, "home"]), st.integers(1, 3))
def test_one_user_stays_within_the_sensitivity_of_one_or_several_tables(
    rows: list[Row], groups: str | None, records: int
) -> None:
    cells, size = GroupCells(WIDE, groups, records, 2 if groups else 1), 2 if groups else 1
    whole = measured(LocalEngine(threads=1), rows, cells, bytes(16))
    estimates = [np.full(table_values.shape, 1.0) for table_values in whole]
    for user in {row[0] // size for row in rows}:
        rest = measured(LocalEngine(threads=1), [row for row in rows if row[0] // size != user], cells, bytes(16))
        for maps in (
            lambda tables: tables,
            lambda tables: [concatenate_tables(tables)],
            lambda tables: [total_distance(*pair) for pair in zip(tables, estimates, strict=True)],
        ):
            for more, fewer in zip(maps(whole), maps(rest), strict=True):
                step, reach = more.sensitive_values - fewer.sensitive_values, more.sensitivity
                assert np.abs(step).sum() <= reach.l1
                assert (step**2).sum() <= reach.l2_squared
                assert np.abs(step).max() <= reach.linf


def test_one_user_attains_the_sensitivity_of_several_tables() -> None:
    alone = measured(LocalEngine(threads=1), [(0, 0, 0, 0)] * 3, GroupCells(WIDE, records=3), bytes(16))
    together = concatenate_tables(alone)
    assert together.sensitive_values.sum() == together.sensitivity.l1 == 18
    assert (together.sensitive_values**2).sum() == together.sensitivity.l2_squared == 54


def test_equal_records_of_a_wide_grid_stay_separate() -> None:
    """Their number among equal ones hangs on person and cell, which do not fit into one number of 64 bits."""
    rows: list[Row] = [(who, who % 2, 0, 0) for who in range(6) for _ in range(4)]
    kept = measured(LocalEngine(threads=1), rows, GroupCells(WIDE, records=2), bytes(16))
    assert kept[1].sensitive_values.tolist() == [6, 6]


@pytest.mark.parametrize("table", [(1, 0), (0, 0), (3,), (-1,)])
def test_what_is_no_table_of_the_grid_is_refused(table: ColumnPlaces) -> None:
    with pytest.raises(ValueError, match="some of 3 columns"):
        Marginals(GroupCells(NARROW), (table,))


def test_too_many_cells_are_refused() -> None:
    with pytest.raises(UsageError, match="ask for fewer columns at a time"):
        Marginals(GroupCells(WIDE), (tuple(range(3, 7)),))
