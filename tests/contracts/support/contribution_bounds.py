"""How far one user moves a measurement under small and large contribution bounds: as far as declared, no further.

Small crowds reach small bounds alone. Here one user has more of everything than any of these bounds allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Integers
from headcount.bounds import (
    UNDRAWN,
    Among,
    Bound,
    Bounded,
    BoundedCounts,
    Cells,
    FixedRange,
    Look,
    Noisy,
    Offsets,
    Pairs,
    PersonGroups,
    PersonTotals,
    PersonValues,
    Pick,
    Records,
    Sample,
    SampledPairs,
    SampleUsers,
    Scale,
    Sensitivity,
    Shares,
    Spread,
    Support,
    ValueGrid,
)
from headcount.bounds.keys.key_weights import UNITS
from headcount.engines.local.engine import MEASURES, LocalEngine
from headcount.events.grid import Grid
from headcount.events.log import EventLog, read_events
from headcount.events.user_table import read_people
from tests.support.small_logs import LAW

LIMITS = (*range(1, 10), 13, 21, 40)
"""Of records, items or pairs of one user: the heavy user of the logs here exceeds them all."""

ITEMS = [f"i{place:02}" for place in range(48)]
PLACES = ["day", "dusk"]
SECRET = bytes(range(16))


class Reach(NamedTuple):
    """What one user adds, how far that may be, and how much of it, in L1, the heaviest user must add."""

    values: Integers
    declared: Sensitivity
    least: float = 1.0


def _events(**words: Any) -> EventLog:
    """Return a log of one user who has every item three times, in both contexts, with high values."""
    rows = [(item, PLACES[(at + turn) % 2]) for turn in range(3) for at, item in enumerate(ITEMS)]
    columns: dict[str, Any] = {"user": ["ann"] * len(rows), "stars": [5.0 - at % 2 for at in range(len(rows))]}
    columns |= {"item": [row[0] for row in rows], "context": [row[1] for row in rows]}
    items = {"select_items": True} if words.pop("selects", False) else {"items": ITEMS}
    return read_events(pa.table(columns), user="user", item="item", **items, **words)


def _counted(make: Callable[[int], Bound[BoundedCounts]], least: float = 1.0) -> Callable[[int], Iterator[Reach]]:
    def reaches(limit: int) -> Iterator[Reach]:
        for counting in ("records", "users"):
            log = _events(context="context", contexts=PLACES, count=counting)
            counts = LocalEngine(threads=1).measure(log, make(limit), SECRET)
            # a user who counts once per cell can fill cells of items and contexts; a bound of roots, all of them
            for bounded in (counts.items, counts.edges):
                yield _of(bounded, least if counting == "records" else 0)

    return reaches


def _of(bounded: Bounded, least: float = 1.0) -> Reach:
    return Reach(bounded.sensitive_values, bounded.sensitivity, least)


def _measured(
    make: Callable[[int], Bound[Bounded]], least: float = 1.0, **words: Any
) -> Callable[[int], Iterator[Reach]]:
    def reaches(limit: int) -> Iterator[Reach]:
        yield _of(LocalEngine(threads=1).measure(_events(**words), make(limit), SECRET), least)

    return reaches


def _support(limit: int) -> Iterator[Reach]:
    for words in ({}, {"context": "context", "contexts": PLACES, "context_of": "user"}):
        found = LocalEngine(threads=1).measure(_events(selects=True, **words), Support(limit), SECRET)
        yield Reach(found.sensitive_people, Sensitivity(limit, limit, 1))


def _spread(limit: int) -> Iterator[Reach]:
    log, unit = _events(selects=True), UNITS["shares"]
    shares = LocalEngine(threads=1).measure(log, Spread("shares", limit), SECRET)
    assert shares.sensitive_weights.size <= limit, f"{shares.sensitive_weights.size} items count, not {limit}"
    yield Reach(shares.sensitive_weights, Sensitivity(unit, unit**2, unit), 0.98)
    root, unit = int(65536 / limit**0.5), UNITS["roots"]
    roots = LocalEngine(threads=1).measure(log, Spread("roots", limit, ((limit, root),)), SECRET)
    yield Reach(roots.sensitive_weights, Sensitivity(limit * root, unit**2, root), 0.99)


def _totals(limit: int) -> Iterator[Reach]:
    words = {"value": "stars", "value_range": "1,5"}
    found = LocalEngine(threads=1).measure(_events(**words), PersonTotals(limit, FixedRange(64, 320, 64)), UNDRAWN)
    assert found.distances is not None
    yield _of(found.records)
    yield _of(found.distances, 0.7)  # stars are 4 and 5 in turn, and the range ends at 5


def _groups(limit: int) -> Iterator[Reach]:
    yield _of(LocalEngine(threads=1).measure(_events(), PersonGroups(limit, "items"), UNDRAWN))


def _cells(limit: int) -> Iterator[Reach]:
    rows = [(f"p{person}", "home", 9 * turn) for person in range(40) for turn in range(45)]
    columns = zip(*rows, strict=True)
    table = pa.table(dict(zip(("id", "home", "age"), map(list, columns), strict=True)))
    alone = read_people(table.slice(0, 45), user="id")
    grid = Grid.of({"age": {"from": 0, "to": 405, "bins": 45}})
    engine = LocalEngine(threads=1)
    yield _of(engine.measure(alone, Cells(grid, None, limit), SECRET))
    people = max(2, limit)
    yield _of(engine.measure(read_people(table, user="id"), Cells(grid, "home", 2, people), SECRET))


def _look(limit: int) -> Iterator[Reach]:
    shares, among = Shares("items", np.zeros(len(ITEMS), np.int64)), Among(np.arange(len(ITEMS)))
    found = LocalEngine(threads=1).measure(_events(), Look(shares, among, (limit,), (1,)), SECRET)
    yield _of(found.shares, 0.99)
    yield _of(found.counts[0], 0.9)


def _records(limit: int) -> Iterator[Reach]:
    rows = LocalEngine(threads=1).measure(_events(), Records("items", limit), SECRET)
    yield Reach(np.ones(rows.columns.size, np.int64), Sensitivity.of_l1(limit), 0)


_SCORES = Noisy(np.arange(len(ITEMS)), LAW)
_SOME = np.arange(len(ITEMS))

REACHES: Mapping[type[Bound[Any]], Callable[[int], Iterator[Reach]]] = {
    Sample: _counted(Sample),
    SampleUsers: _counted(SampleUsers),
    Pick: _counted(lambda limit: Pick(limit, _SCORES)),
    Scale: _counted(Scale, 0.9),
    Support: _support,
    Spread: _spread,
    PersonTotals: _totals,
    PersonValues: _measured(
        lambda limit: PersonValues(limit, ValueGrid((4.5,))), value="stars", value_range="1,5"
    ),
    PersonGroups: _groups,
    SampledPairs: _measured(lambda limit: SampledPairs(Sample(limit), _SOME), count="users"),
    Offsets: _measured(lambda limit: Offsets(limit, "l1"), 0, value="stars", value_range="1,5"),
    Pairs: _measured(lambda limit: Pairs(limit, "l1", _SOME), 0.5),
    Cells: _cells,
    Look: _look,
    Records: _records,
}
"""What one user adds under each bound with a limit."""

HISTOGRAMS = {"Activity": "most", "Shares": "most"}
"""Bounds that count each user once: their numbers say at which size, and move nothing."""


def limited_bounds() -> Iterator[type[Bound[Any]]]:
    """Yield the bounds that engines measure which have a number of records, items, users or pairs."""
    for kind in MEASURES:
        names = set(vars(kind)["__dataclass_fields__"])
        if names & {"limit", "limits", "most", "records", "people", "kept"} and kind.__name__ not in HISTOGRAMS:
            yield kind


def check_limits(kind: type[Bound[Any]]) -> None:
    """Measure the heaviest user under every limit."""
    for limit in LIMITS:
        for values, declared, least in REACHES[kind](limit):
            moved = np.abs(values.ravel().astype(object))
            l1, squares, largest = sum(moved), sum(moved**2), max(moved, default=0)
            words = f"{kind.__name__}, limit {limit}: one user moves"
            assert l1 <= declared.l1, f"{words} {l1} in L1, not {declared.l1}"
            assert squares <= declared.l2_squared, f"{words} {squares} in squared L2, not {declared.l2_squared}"
            assert largest <= declared.linf, f"{words} one number by {largest}, not {declared.linf}"
            assert l1 >= least * declared.l1, f"{words} {l1} in L1 alone, where {declared.l1} is declared"
