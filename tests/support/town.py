"""A synthetic table of users in households, its grid, and reference counts for query tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount.bounds import LinearQueries
from headcount.events.grid import Grid
from headcount.events.log import EventLog
from headcount.events.user_table import read_people
from headcount.methods.queries.workload import TableQueries

BINS: dict[str, Any] = {
    "age": {"from": 0, "to": 96, "bins": 8},
    "job": {"values": ["clerk", "cook", "smith"], "other": True},
    "hours": {"from": 0, "to": 80, "bins": 8},
}
GRID = Grid.from_mapping(BINS)
STATEMENTS = (
    "SELECT COUNT(*) FROM people WHERE age >= 60",
    "SELECT COUNT(*) FROM people WHERE job = 'cook' AND hours < 40",
    "SELECT COUNT(*) FROM people GROUP BY job",
)


def table(people: int = 3_000, *, seed: int = 1, records: int = 1, household: int = 4) -> pa.Table:
    """People whose age, job and hours hang together; ``records`` rows of each, in random order."""
    draw = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), records)
    age = np.clip(draw.gamma(6, 7, who.size), 0, 95).astype(int)
    job = draw.choice(["clerk", "cook", "smith", "pilot"], who.size, p=[0.5, 0.3, 0.15, 0.05])
    hours = np.clip(draw.normal(np.where(age > 65, 10, 40), 9), 0, 79).astype(int)
    columns = {
        "id": pa.array([f"p{number}" for number in who]),
        "household": pa.array([f"h{number // household}" for number in who]),
        "age": pa.array(age),
        "job": pa.array(job.tolist()),
        "hours": pa.array(hours),
    }
    return pa.table(columns).take(draw.permutation(who.size))


def log_of(rows: pa.Table) -> EventLog:
    return read_people(rows, user="id")


def plain_cells(rows: pa.Table) -> NDArray[np.int64]:
    """Count all records per cell, in plain Python."""
    places = {"clerk": 0, "cook": 1, "smith": 2}
    counts = np.zeros(GRID.cells, dtype=np.int64)
    for row in rows.to_pylist():
        age, hours = min(row["age"] // 12, 7), min(row["hours"] // 10, 7)
        counts[(age * 4 + places.get(row["job"], 3)) * 8 + hours] += 1
    return counts


def halves(queries: int, cells: int = GRID.cells, *, seed: int = 2) -> NDArray[np.bool_]:
    """Random queries that take each cell with probability 1/2."""
    return np.random.default_rng(seed).random((queries, cells)) < 0.5


def linear_queries(rows: NDArray[np.bool_] | None = None, **more: Any) -> TableQueries:
    """Ask random rows, or the statements."""
    if rows is None:
        return TableQueries(grid=GRID, statements=STATEMENTS, **more)
    return TableQueries(grid=GRID, rows=LinearQueries.from_matrix(rows), **more)
