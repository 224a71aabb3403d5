"""All audit targets by name: every method of every family, and its variants with more parameters.

A method that its family lists is a name here by itself, audited by what it reads: as counts of items, as a model
of ratings or of tags, or by its answers to queries. Beside them are the selection of items where there is no
catalogue, and quantiles of values. What is special about one of them stands in
:mod:`headcount.lab.audit.method_cases`.

Query methods
    The items of a pair are the cells of a grid, of one column; pairs of 64 items are of six columns of two values,
    and the queries are how many records have an odd number of ones in some of them, which no fewer columns tell.
    Methods that answer queries one by one get the same query 200 times, about the first half of all cells: the
    observation is whether any round led to an update, and which one first. A method that charges only for updates
    gives itself away by not making one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount.accounting.budget import Cost
from headcount.accounting.guarantee import Standing
from headcount.bounds import LinearQueries
from headcount.errors import UnknownNameError, UsageError
from headcount.events.grid import Grid
from headcount.events.log import EventLog
from headcount.events.user_table import read_people
from headcount.lab.audit.adjacent_logs import COLUMNS_CELLS, Pair, crafted, raters
from headcount.lab.audit.method_cases import case_of
from headcount.lab.audit.outcome_sets import MISSING, Observations
from headcount.lab.audit.targets_under_audit import Target
from headcount.methods.counts import EDGES
from headcount.methods.family import Reads, example_of, fields_of, needed_by
from headcount.methods.partition_selection.plan import Selection
from headcount.methods.queries.workload import TableQueries
from headcount.methods.registry import family_of, method_names
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


DELTA = Decimal("1e-6")
"""What selection takes where no δ is given."""

COPIED_RUNS, RUNS = 200_000, 4_000
"""How many runs there are by default: where many copies are run in one release, and where not."""

_TAG_PAIRS = ("at the limit", "of many items", "among busy people", "a tie")


def target(name: str, limit: int, epsilon: Decimal, delta: Decimal = Decimal(0)) -> Target:
    """Return what a name stands for; with δ, methods that can have Gaussian noise do.

    >>> target("top-k", 2, Decimal(1)).parameters
    {'k': 1}
    """
    if name not in NAMES:
        raise UnknownNameError.among("method", name, NAMES)
    if delta and not _takes_delta(name):
        raise UsageError(f"method {name} has no gaussian noise, so it takes no delta", remedy="leave it out")
    makes = BESIDE[name] if name in BESIDE else TARGETS[family_of(name).reads]
    return makes(name, limit, epsilon, delta)


def pairs_for(
    name: str, limit: int, epsilon: Decimal = Decimal(1), delta: Decimal = Decimal(0)
) -> tuple[Pair, ...]:
    """Return the neighbours that a target is attacked with.

    >>> [pair.name for pair in pairs_for("top-k", 1)][-1]
    'a new item'
    """
    case = case_of(name)
    if case.only is not None:
        return tuple(case.only(limit))
    more = () if case.more is None else case.more(limit)
    if name == SELECTION:
        return (*crafted(limit), *more, *_selected(limit, epsilon, delta))
    pairs = _PAIRS.get(family_of(name).reads, crafted)(limit)
    return (*pairs, *more)


def runs_for(name: str, *, copies: bool) -> int:
    """Return how many runs of each log of the best pairs there are, where nobody says."""
    return COPIED_RUNS if copies else case_of(name).runs or RUNS


def is_proven(name: str) -> bool:
    """Say whether the promise is proven, so that a violation would be a fault."""
    return name in BESIDE or family_of(name).kind(name).standing is Standing.PROVEN


def reason_for(name: str) -> str | None:
    """Say why what is claimed does not hold, if it is merely claimed."""
    return None if name in BESIDE else family_of(name).kind(name).reason


def has_edges(name: str) -> bool:
    """Say whether item-by-context counts can be audited, too."""
    return name not in BESIDE and EDGES in family_of(name).tables


def _takes_delta(name: str) -> bool:
    """Say whether there is noise that δ pays for."""
    if name in BESIDE:
        return name == SELECTION
    family = family_of(name)
    if getattr(family.kind(name), "takes_delta", False):
        return True
    return is_proven(name) if family.delta == "proven" else family.delta == "noise" and "noise" in _fields(name)


def _fields(name: str) -> set[str]:
    return set(fields_of(family_of(name).kind(name)))


def _events(name: str, limit: int, epsilon: Decimal, delta: Decimal) -> Target:
    kind = family_of(name).kind(name)
    parameters = {key: value for key, value in example_of(kind).items() if key in needed_by(kind)}
    parameters |= {"limit": limit} if "limit" in _fields(name) else {}
    parameters |= {"noise": "gaussian"} if delta and "noise" in _fields(name) else {}
    case = case_of(name)
    once = bool(delta) and case.once
    return Target(name, {**parameters, **case.parameters}, epsilon, delta, once=once, copies=case.copies)


def _ratings(name: str, limit: int, epsilon: Decimal, delta: Decimal) -> Target:  # noqa: ARG001 - limits are its own
    reads = rated if case_of(name).rates else None
    anew = {"refine": True} if delta and "refine" in _fields(name) else {}
    return Target(name, {**case_of(name).parameters, **anew}, epsilon, delta, reads=reads)


def _tags(name: str, limit: int, epsilon: Decimal, delta: Decimal) -> Target:  # noqa: ARG001 - there is none
    return Target(name, case_of(name).parameters, epsilon, delta, contexts=True)


def _people(name: str, limit: int, epsilon: Decimal, delta: Decimal) -> Target:
    return QueryTarget(name, case_of(name).parameters, epsilon, delta, limit=limit)


def _selection(name: str, limit: int, epsilon: Decimal, delta: Decimal) -> Target:
    return Target("sra", {"limit": limit}, epsilon, delta or DELTA, selects=True, called=name)


def _quantiles(name: str, limit: int, epsilon: Decimal, delta: Decimal) -> Target:  # noqa: ARG001 - it takes none
    return Target("totals", {"limit": limit, **case_of(name).parameters}, epsilon, reads=valued, called=name)


def _selected(limit: int, epsilon: Decimal, delta: Decimal) -> Iterator[Pair]:
    """Pairs around the number of people that lets an item be selected."""
    first, _ = Selection().split(Cost.of(epsilon, delta or DELTA))
    crowd = ((0,),) * Selection().plan(first)["threshold"]
    yield Pair("nearly selected", "a person without whom one is missing for an item", 2, crowd[1:], (0,))
    yield Pair("surely selected", "a person who has what is selected anyway", 2, crowd * 2, (0,) * limit)


@lru_cache(maxsize=64)
def rated(pair: Pair, present: bool) -> EventLog:
    """Return the log of a pair with ratings; the person's are far from their mean, 5 stars and 1 in turns."""
    records = pair.records(present=present)
    rows: list[tuple[int, int | None, int]] = [(0, None, 5)] * (pair.blanks if present else 0)
    rows += [(user, item, 3 if user else 5 - 4 * (item % 2)) for user, item in records]
    return EventLog.of(rows, items=list(range(pair.items)), value_range=(1, 5))


@lru_cache(maxsize=64)
def valued(pair: Pair, present: bool) -> EventLog:
    """Return the log of a pair in which the number of an item is a value; what is blank has none."""
    records = pair.records(present=present)
    rows: list[tuple[int, int, int | None]] = [(0, 0, None)] * (pair.blanks if present else 0)
    rows += [(user, 0, item) for user, item in records]
    return EventLog.of(rows, items=[0], value_range=(0, pair.items - 1))


_Makes = Callable[[str, int, Decimal, Decimal], Target]

TARGETS: Mapping[Reads, _Makes] = {"events": _events, "ratings": _ratings, "tags": _tags, "people": _people}
"""How methods become targets, by what they read."""

_PAIRS: Mapping[Reads, Callable[[int], Iterable[Pair]]] = {
    "ratings": lambda _: raters(),
    # how often a person gave the same tag to the same resource makes no difference
    "tags": lambda limit: (pair for pair in crafted(limit) if pair.name in _TAG_PAIRS),
}

SELECTION = "selection"

BESIDE: Mapping[str, _Makes] = {SELECTION: _selection, "quantiles": _quantiles}
"""What is audited beside the methods: the choice of items where there is no catalogue, and quantiles."""

NAMES = (*method_names(), *BESIDE)
