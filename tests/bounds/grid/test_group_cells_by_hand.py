"""Cells by the local engine are those of plain Python, whatever the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headcount.bounds.grid.user_group_cells import GroupCells
from headcount.engines.local.engine import LocalEngine
from headcount.events.grid import Grid
from headcount.events.log import EventLog
from headcount.events.user_table import read_people
from tests.reference.engine import ReferenceEngine

GRID = Grid.from_mapping({"age": {"edges": [0, 18, 65, 120]}, "job": {"values": ["cook", "smith"], "other": True}})
NARROW = Grid.from_mapping({"age": {"from": 0, "to": 1.5, "bins": 3}, "job": {"values": ["cook", "smith"]}})

Row = tuple[int | None, int | None, float | None, str | None]  # person, household, age, job

rows = st.lists(
    st.tuples(
        st.sampled_from((0, 0, 1, 2, 3, 4, 5, 6, None)),
        st.sampled_from((0, 0, 0, 1, 1, 2, None)),
        st.sampled_from((-5.0, 0.0, 0.7, 17.5, 18.0, 64.0, 200.0, float("nan"), None)),
        st.sampled_from(("cook", "cook", "smith", "pilot", None)),
    ),
    max_size=50,
)
IDS: dict[str, tuple[pa.DataType, Sequence[Any], Sequence[Any]]] = {
    "texts": (pa.string(), ("ann", "", "Zoë", "ann ", "bob", "u" * 200, "b"), ("Á", "b", "B")),
    "numbers": (pa.int64(), (-3, 0, 7, 2**40, -(2**63), 8, 9), (5, -1, 10**12)),
    "small": (pa.int32(), (3, 1, 2, 5, 4, 7, 6), (2, 0, 1)),
}
"""Names of people, and of households, whose order is not that in which they come up."""


def log_of(rows: Sequence[Row], kind: str, *, chunk: int | None = None, **more: Any) -> EventLog:
    type_, people, homes = IDS[kind]
    table = pa.table(
        {
            "id": pa.array([None if who is None else people[who] for who, _, _, _ in rows], type_),
            "home": pa.array([None if home is None else homes[home] for _, home, _, _ in rows], type_),
            "age": pa.array([age for _, _, age, _ in rows], pa.float64()),
            "job": pa.array([job for _, _, _, job in rows], pa.string()),
        }
    )
    if chunk is not None:
        table = pa.Table.from_batches(table.to_batches(max_chunksize=chunk), table.schema)
    return read_people(table, user="id", **more)


Kept = tuple[Grid, str | None, int, int]


def local(log: EventLog, kept: Kept, secret: bytes) -> list[int]:
    counts: list[int] = LocalEngine(threads=1).measure(log, GroupCells(*kept), secret).sensitive_values.tolist()
    return counts


def plain(log: EventLog, kept: Kept, secret: bytes) -> NDArray[np.int64]:
    return ReferenceEngine().measure(log, GroupCells(*kept), secret).sensitive_values


@pytest.mark.parametrize("kind", IDS)
@given(
    rows=rows,
    grid=st.sampled_from((GRID, NARROW)),
    groups=st.sampled_from(("home", "home", None)),
    records=st.integers(1, 4),
    people=st.integers(1, 3),
    secret=st.binary(min_size=16, max_size=16),
    how=st.sampled_from(({}, {"where": "age >= 1"})),
)
def test_cells_are_those_of_plain_python(
    kind: str,
    rows: list[Row],
    grid: Grid,
    groups: str | None,
    records: int,
    people: int,
    secret: bytes,
    how: dict[str, Any],
) -> None:
    slow = plain(log_of(rows, kind, **how), (grid, groups, records, people), secret).tolist()
    assert local(log_of(rows, kind, **how), (grid, groups, records, people), secret) == slow
    assert local(log_of(rows[::-1], kind, chunk=3, **how), (grid, groups, records, people), secret) == slow


def test_users_and_records_beyond_their_bounds_are_sampled() -> None:
    many: list[Row] = [(who, 0, age, "cook") for who in range(7) for age in (1.0, 20.0, 70.0, 70.0)]
    for number in range(20):
        secret = bytes([number] * 16)
        counts = plain(log_of(many, "texts"), (GRID, "home", 2, 3), secret)
        assert counts.sum() == 6
        assert local(log_of(many, "texts"), (GRID, "home", 2, 3), secret) == counts.tolist()
    assert plain(log_of(many, "texts"), (GRID, None, 4, 1), bytes(16)).tolist() == [7, 0, 0, 7, 0, 0, 14, 0, 0]


def test_a_user_in_several_groups_counts_in_the_most_frequent_then_the_first_by_name() -> None:
    """The last person is torn between two households with a member each, of whom two are kept."""
    texts: list[Row] = [(0, 1, 1.0, "cook"), (1, 2, 20.0, "cook"), (2, 1, 70.0, "cook"), (2, 2, 70.0, "cook")]
    for more, home in (((2, 1, 70.0, "cook"), 1), ((2, 2, 70.0, "cook"), 2)):
        kept = [plain(log_of([*texts, more], "texts"), (GRID, "home", 1, 1), bytes([n] * 16)) for n in range(40)]
        rival = 0 if home == 1 else 3
        assert {(int(user_row[rival]), int(user_row[6])) for user_row in kept} == {(0, 1), (1, 0)}
        assert {int(user_row[3 - rival]) for user_row in kept} == {1}
    tied = [plain(log_of(texts, "texts"), (GRID, "home", 1, 1), bytes([n] * 16)) for n in range(40)]
    assert {int(user_row[0]) for user_row in tied} == {1}  # "B" comes before "b"
    assert {int(user_row[3]) for user_row in tied} == {0, 1}


def test_no_rows_and_rows_that_do_not_count() -> None:
    for rows in ([], [(0, 0, None, "cook"), (None, 0, 1.0, "cook")]):
        counts = plain(log_of(rows, "numbers"), (GRID, "home", 1, 2), bytes(16))
        assert counts.dtype == np.int64
        assert counts.tolist() == [0] * 9 == local(log_of(rows, "numbers"), (GRID, "home", 1, 2), bytes(16))
