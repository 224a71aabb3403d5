"""Counts of items by context: the heat map, and lift.

Lift: an item is expected to have in a context its general count, times the context's share of all counts. It
stands out if its count there is significantly above that, for all items of the context at once. Noise is taken to
have the tails of Laplace noise, the heaviest here. If it stays within ``r`` with probability p, then for n
items it stays within ``r`` · ln(n / (1 − p)) / ln(1 / (1 − p)), all at once. The lift is how many times as much as
expected an item has at least, with its general count at its upper end.

Only released numbers are used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount._internal.arrays import Floats
from headcount.errors import UsageError
from headcount.releases.release import Release
from headcount.releases.top_k import match_context
from headcount.reports import excerpts
from headcount.reports.charts.release_charts import unknown_beside
from headcount.studio.services.exploration.opened_release import OpenedRelease
from headcount.studio.services.exploration.table_search import Row, SearchableTable

SIZE = 15
"""Items of a heat map."""
LEVELS = 9
"""Colours of a heat map, beside none."""


@dataclass(frozen=True)
class ItemLift:
    """An item in a context that has more there than in general: at least so many times as much."""

    item: Any
    context: str
    count: float
    low: float
    high: float
    expected: float
    at_least: float


def simultaneous_factor(many: int, level: float) -> float:
    """Return by how much an interval grows if it is to hold for many at once.

    >>> round(simultaneous_factor(1, 0.95), 3), round(simultaneous_factor(100, 0.95), 2)
    (1.0, 2.54)
    """
    outside = max(1 - level, 1e-12)
    return max(math.log(max(many, 1) / outside) / math.log(1 / outside), 1.0)


def items_with_lift(opened: OpenedRelease, context: str, most: int = 20) -> list[ItemLift]:
    """Return the items that stand out in a context, the one with the most times as much as expected first."""
    if not has_item_contexts(opened.release):
        raise UsageError("this release has no counts by context", remedy="see its ranking")
    checked_context = match_context(opened.release.contexts or (), context)
    lifted = opened.cached(("stands out", checked_context), lambda: _in_context(opened, checked_context))
    return lifted[:most]


def has_item_contexts(release: Release) -> bool:
    """Say whether counts by context were released, so that something may stand out."""
    return "edges" in release.tables and release.edges.num_rows > 0 and bool(release.contexts)


def context_shares(opened: OpenedRelease) -> dict[str | None, float]:
    """Return the share of all counts that each context has; a missing context is None."""

    def compute() -> dict[str | None, float]:
        sums = opened.release.edges.group_by("context", use_threads=False).aggregate([("count", "sum")])
        totals = {row["context"]: max(float(row["count_sum"]), 0.0) for row in sums.to_pylist()}
        whole = sum(totals.values()) or 1.0
        return {context: total / whole for context, total in totals.items()}

    return opened.cached("shares", compute)


def general_counts(opened: OpenedRelease) -> tuple[pa.Array, Floats, Floats]:
    """Return items, their general counts, and the upper ends of these."""

    def compute() -> tuple[pa.Array, Floats, Floats]:
        release = opened.release
        if "items" in release.tables and release.counts == "records":
            items = release.items
            return items["item"].combine_chunks(), items["count"].to_numpy(), items["high"].to_numpy()
        # a user with several contexts is in each of these, and once in the count of the item
        sums = release.edges.group_by("item", use_threads=False).aggregate([("count", "sum"), ("high", "sum")])
        return sums["item"].combine_chunks(), sums["count_sum"].to_numpy(), sums["high_sum"].to_numpy()

    return opened.cached("general", compute)


def _in_context(opened: OpenedRelease, context: str) -> list[ItemLift]:
    item_contexts = opened.release.edges
    here = item_contexts.filter(pc.equal(item_contexts["context"], context))
    ids, mean, high = general_counts(opened)
    places = pc.index_in(here["item"].combine_chunks(), value_set=ids).to_numpy(zero_copy_only=False)
    share = context_shares(opened).get(context, 0.0)
    counts, low = here["count"].to_numpy(), here["low"].to_numpy()
    surely = counts - simultaneous_factor(here.num_rows, opened.release.interval.level) * (counts - low)
    expected, most = mean[places] * share, np.maximum(high[places] * share, 1.0)
    times = surely / most
    best = np.flatnonzero(times > 1)
    best = best[np.argsort(-times[best], kind="stable")]
    rows = here.take(pa.array(best, pa.int64())).to_pylist()
    numbers = [(row, float(expected[at]), float(times[at])) for row, at in zip(rows, best.tolist(), strict=True)]
    return [
        ItemLift(row["item"], context, row["count"], row["low"], row["high"], usual, at_least)
        for row, usual, at_least in numbers
    ]


@dataclass(frozen=True)
class Grid:
    """Contexts across; an item's cells side by side in each row. A cell that was not released is None."""

    contexts: Sequence[str]
    rows: Sequence[tuple[Row, Sequence[Row | None]]]
    matches: int
    left_out: int
    """The number of contexts without room: those with the smallest counts."""

    def level(self, cell: Row) -> int:
        """Return how dark a cell is: from 0 to :data:`LEVELS`, by its part of the largest count."""
        part = float(cell["count"]) / self.largest
        return round(LEVELS * min(max(part, 0.0), 1.0))

    @cached_property
    def largest(self) -> float:
        """The largest count in it, at least 1."""
        held = [float(cell["count"]) for _, own in self.rows for cell in own if cell is not None]
        return max([1.0, *held])


def grid(opened: OpenedRelease, search: str = "", size: int = SIZE) -> Grid:
    """Return the largest items, or the largest of those that are searched for, in all contexts."""
    if not has_item_contexts(opened.release):
        raise UsageError("this release has no counts by context", remedy="see its ranking")
    page = _sizes(opened).page(search, size=size)
    rows = [{**row, "rank": place} for row, place in zip(page.rows, page.places, strict=True)]
    named = excerpts.named(rows, {row["item"]: opened.labels["item"][str(row["item"])] for row in rows})
    names = opened.cached("grid contexts", lambda: excerpts.contexts(opened.release))
    cells = _cells(opened, [row["item"] for row in named])
    unknown = any(context is None for _, context in cells)
    across: list[str | None] = [*names, *([None] if unknown else [])]
    return Grid(
        contexts=[unknown_beside(names) if label is None else label for label in across],
        rows=[(row, [cells.get((row["item"], context)) for context in across]) for row in named],
        matches=page.matches,
        left_out=len(opened.release.contexts or ()) - len(names),
    )


def _sizes(opened: OpenedRelease) -> SearchableTable:
    if "items" in opened.release.tables:
        return opened.browsed("items")
    ids, mean, _ = general_counts(opened)
    table = pa.table({"item": ids, "count": mean})
    return opened.cached("sizes", lambda: SearchableTable(table, {"item": opened.labels["item"]}))


def _cells(opened: OpenedRelease, items: Sequence[Any]) -> dict[tuple[Any, str | None], Row]:
    item_contexts = opened.release.edges
    wanted = pc.is_in(item_contexts["item"], value_set=pa.array(items, item_contexts["item"].type))
    rows = item_contexts.filter(wanted).to_pylist()
    return {
        (row["item"], row["context"]): {column: row[column] for column in ("count", "low", "high")} for row in rows
    }
