"""Sensitivity of every measurement under small and large contribution bounds, attained and not exceeded.

Small crowds reach small bounds alone. Here one user has more of everything than any of these bounds allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Integers
from headcount.bounds import (
    NO_SECRET,
    Bound,
    Bounded,
    BoundedCounts,
    ClassProfile,
    ItemSubset,
    KeepTopScored,
    Noisy,
    SampleRecords,
    Sensitivity,
    WeightToThreshold,
)
from headcount.bounds.counts.record_cap import RecordCap
from headcount.bounds.counts.sample_records import SampleUsers
from headcount.bounds.counts.top_item_counts import TopItemCounts
from headcount.bounds.grid.user_group_cells import GroupCells
from headcount.bounds.keys.key_support import KeySupport
from headcount.bounds.keys.key_weights import UNITS, KeyWeights
from headcount.bounds.ratings.rating_covariance import RatingCovariance
from headcount.bounds.ratings.rating_offsets import RatingOffsets
from headcount.bounds.ratings.sampled_item_pairs import SampledItemPairs
from headcount.bounds.values.user_totals import FixedRange, UserTotals
from headcount.bounds.values.value_histograms import UserGroups, UserValues, ValueGrid
from headcount.engines.local.engine import LocalEngine
from headcount.events.grid import Grid
from headcount.events.log import EventLog, read_events
from headcount.events.user_table import read_people
from tests.reference.registry import measured_bounds
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
                yield _reach_of(bounded, least if counting == "records" else 0)

    return reaches


def _reach_of(bounded: Bounded, least: float = 1.0) -> Reach:
    return Reach(bounded.sensitive_values, bounded.sensitivity, least)


def _measured(
    make: Callable[[int], Bound[Bounded]], least: float = 1.0, **words: Any
) -> Callable[[int], Iterator[Reach]]:
    def reaches(limit: int) -> Iterator[Reach]:
        yield _reach_of(LocalEngine(threads=1).measure(_events(**words), make(limit), SECRET), least)

    return reaches


def _support(limit: int) -> Iterator[Reach]:
    for words in ({}, {"context": "context", "contexts": PLACES, "context_of": "user"}):
        measured = LocalEngine(threads=1).measure(_events(selects=True, **words), KeySupport(limit), SECRET)
        yield Reach(measured.sensitive_users, Sensitivity(limit, limit, 1))


def _spread(limit: int) -> Iterator[Reach]:
    log, unit = _events(selects=True), UNITS["shares"]
    shares = LocalEngine(threads=1).measure(log, KeyWeights("shares", limit), SECRET)
    assert shares.sensitive_weights.size <= limit, f"{shares.sensitive_weights.size} items count, not {limit}"
    yield Reach(shares.sensitive_weights, Sensitivity(unit, unit**2, unit), 0.98)
    root, unit = int(65536 / limit**0.5), UNITS["roots"]
    roots = LocalEngine(threads=1).measure(log, KeyWeights("roots", limit, ((limit, root),)), SECRET)
    yield Reach(roots.sensitive_weights, Sensitivity(limit * root, unit**2, root), 0.99)


def _totals(limit: int) -> Iterator[Reach]:
    words = {"value": "stars", "value_range": "1,5"}
    measured = LocalEngine(threads=1).measure(
        _events(**words), UserTotals(limit, FixedRange(64, 320, 64)), NO_SECRET
    )
    assert measured.distances is not None
    yield _reach_of(measured.records)
    yield _reach_of(measured.distances, 0.7)  # stars are 4 and 5 in turn, and the range ends at 5


def _groups(limit: int) -> Iterator[Reach]:
    yield _reach_of(LocalEngine(threads=1).measure(_events(), UserGroups(limit, "items"), NO_SECRET))


def _cells(limit: int) -> Iterator[Reach]:
    rows = [(f"p{person}", "home", 9 * turn) for person in range(40) for turn in range(45)]
    columns = zip(*rows, strict=True)
    table = pa.table(dict(zip(("id", "home", "age"), map(list, columns), strict=True)))
    alone = read_people(table.slice(0, 45), user="id")
    grid = Grid.from_mapping({"age": {"from": 0, "to": 405, "bins": 45}})
    engine = LocalEngine(threads=1)
    yield _reach_of(engine.measure(alone, GroupCells(grid, None, limit), SECRET))
    people = max(2, limit)
    yield _reach_of(engine.measure(read_people(table, user="id"), GroupCells(grid, "home", 2, people), SECRET))


def _refinement(limit: int) -> Iterator[Reach]:
    shares, among = ClassProfile("items", np.zeros(len(ITEMS), np.int64)), ItemSubset(np.arange(len(ITEMS)))
    measured = LocalEngine(threads=1).measure(_events(), TopItemCounts(shares, among, (limit,), (1,)), SECRET)
    yield _reach_of(measured.shares, 0.99)
    yield _reach_of(measured.counts[0], 0.9)


def _records(limit: int) -> Iterator[Reach]:
    rows = LocalEngine(threads=1).measure(_events(), RecordCap("items", limit), SECRET)
    yield Reach(np.ones(rows.columns.size, np.int64), Sensitivity.of_l1(limit), 0)


_SCORES = Noisy(np.arange(len(ITEMS)), LAW)
_SOME = np.arange(len(ITEMS))

REACHES: Mapping[type[Bound[Any]], Callable[[int], Iterator[Reach]]] = {
    SampleRecords: _counted(SampleRecords),
    SampleUsers: _counted(SampleUsers),
    KeepTopScored: _counted(lambda limit: KeepTopScored(limit, _SCORES)),
    WeightToThreshold: _counted(WeightToThreshold, 0.9),
    KeySupport: _support,
    KeyWeights: _spread,
    UserTotals: _totals,
    UserValues: _measured(lambda limit: UserValues(limit, ValueGrid((4.5,))), value="stars", value_range="1,5"),
    UserGroups: _groups,
    SampledItemPairs: _measured(lambda limit: SampledItemPairs(SampleRecords(limit), _SOME), count="users"),
    RatingOffsets: _measured(lambda limit: RatingOffsets(limit, "l1"), 0, value="stars", value_range="1,5"),
    RatingCovariance: _measured(lambda limit: RatingCovariance(limit, "l1", _SOME), 0.5),
    GroupCells: _cells,
    TopItemCounts: _refinement,
    RecordCap: _records,
}
"""What one user adds under each bound with a limit."""

HISTOGRAMS = {"ActivityHistogram": "most", "ClassProfile": "most"}
"""Bounds that count each user once: their numbers say at which size, and move nothing."""


def limited_bounds() -> Iterator[type[Bound[Any]]]:
    """Yield the bounds that engines measure which have a number of records, items, users or pairs."""
    for kind in measured_bounds():
        names = set(vars(kind).get("__dataclass_fields__", ()))
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
