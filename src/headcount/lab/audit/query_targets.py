"""Audit targets for query methods: answers of one round, or of 200 rounds of the same query.

The items of a pair are the cells of a grid, of one column; pairs of 64 items are of six columns of two values, and
what is asked is how many records have an odd number of ones in some of them, which no fewer columns tell. Methods
that look at queries one by one are asked the same one 200 times, about the first half of all cells: whether any
round led to an update, and which one first, is seen. A method that charges only for updates gives itself away by
not making one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount.bounds import LinearQueries
from headcount.events.grid import Grid
from headcount.events.log import EventLog
from headcount.events.user_table import read_people
from headcount.lab.audit.adjacent_logs import COLUMNS_CELLS, Pair
from headcount.lab.audit.method_cases import case_of
from headcount.lab.audit.outcome_sets import MISSING, Observations
from headcount.lab.audit.targets_under_audit import Target
from headcount.methods.queries.workload import TableQueries
from headcount.noise import NoiseSource
from headcount.releases.release import Release

ROUNDS = 200

_TOTALS = ("choice", "answers")  # what numbers of records may be released for
_VARIES = ("total", "predicted")  # is another number in every run; what is predicted follows from the total
_ODD_AMONG = (63, 62, 61, 55, 31, 30, 15, 60)  # which of six columns, by their bits


@dataclass(frozen=True)
class QueryTarget(Target):
    """A method for queries, over the items of a pair as cells; ``limit`` is the most records of a person."""

    limit: int = 1

    def run(self, pair: Pair, source: NoiseSource, *, present: bool) -> Release:
        """Ask for every cell once, or for the first half of them again and again, or for odd sums."""
        table_queries = _table_queries(pair.items, self.limit, one_by_one=case_of(self.name).one_by_one)
        method = self.make(self.name, {"table_queries": table_queries, **self.parameters})
        return method.release(people_of(pair, present=present), self.grant(), source, self.own_engine)

    def observe_release(self, release: Release, pair: Pair) -> Observations:  # noqa: ARG002 - answers are in the order asked
        """Return the answers, and when they changed."""
        answers = release.answers["answer"].to_numpy()
        kind = _published(release)
        if case_of(self.name).one_by_one:
            kind += f"; {_first_change(release)}"
            answers = np.array([answers.min(), answers[-1], answers.max()])
        names = (
            *(f"answer {place}" for place in range(answers.size)),
            *(f"total of {stage}" for stage in _TOTALS),
        )
        totals = [release.chosen.get(stage, {}).get("total", MISSING) for stage in _TOTALS]
        numbers = np.array([*answers, *totals], dtype=np.float64)
        return Observations(np.array([kind]), numbers[None, :], names)


@lru_cache(maxsize=64)
def _table_queries(cells: int, limit: int, *, one_by_one: bool) -> TableQueries:
    """Return what is asked of a grid: that is public, and the same in all runs."""
    grid = Grid.from_mapping({name: {"values": list(range(size))} for name, size in _columns(cells).items()})
    if one_by_one:
        rows = np.tile(np.arange(cells) < max(1, cells // 2), (ROUNDS, 1))
    elif cells == COLUMNS_CELLS:
        rows = np.array([[(cell & some).bit_count() % 2 == 1 for cell in range(cells)] for some in _ODD_AMONG])
    else:
        rows = np.eye(cells, dtype=bool)
    return TableQueries(grid=grid, rows=LinearQueries.from_matrix(rows), max_records=limit)


@lru_cache(maxsize=64)
def people_of(pair: Pair, *, present: bool) -> EventLog:
    """Return the table of a pair: who, and the cell of each record, by one column or several."""
    records = np.array(pair.records(present=present), dtype=np.int64).reshape(-1, 2)
    blank = pair.blanks if present else 0
    columns = {"user": records[:, 0], **_digits(records[:, 1], _columns(pair.items))}
    gaps = pa.nulls(blank, pa.int64())
    table = {name: pa.concat_arrays([gaps, pa.array(values)]) for name, values in columns.items()}
    table["user"] = pa.array([0] * blank + columns["user"].tolist(), pa.int64())
    return read_people(pa.table(table), user="user")


def _columns(cells: int) -> dict[str, int]:
    """Return the columns of a grid, and how many values each has."""
    if cells == COLUMNS_CELLS:
        return {f"column {place}": 2 for place in range(COLUMNS_CELLS.bit_length() - 1)}
    return {"cell": cells}


def _digits(cells: NDArray[np.int64], columns: dict[str, int]) -> dict[str, NDArray[np.int64]]:
    """Return the value of each column; the last one runs quickest."""
    places = np.unravel_index(cells, tuple(columns.values()))
    return {name: place.astype(np.int64) for name, place in zip(columns, places, strict=True)}


def _published(release: Release) -> str:
    """Return what is published beside the answers, but for numbers that are different in every run."""
    chosen = {
        table: {name: value for name, value in values.items() if name not in _VARIES}
        for table, values in release.chosen.items()
    }
    laws = [f"{name} with {law.in_words()}" for name, law in release.noise.items()]
    return "; ".join([json.dumps(chosen, default=str), *laws])


def _first_change(release: Release) -> str:
    """Say whether, and about when, an answer was first another one than the first."""
    if "how" in release.answers.column_names:
        changed = np.array(release.answers["how"].to_pylist()) == "measured"
    else:
        answers = release.answers["answer"].to_numpy()
        changed = answers != answers[0]
    if not changed.any():
        return f"no update in {ROUNDS} rounds"
    return f"the first update within {2 ** int(np.argmax(changed)).bit_length()} rounds"
