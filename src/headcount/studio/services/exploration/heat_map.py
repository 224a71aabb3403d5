"""The heat map: counts of the first or searched items in each context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headcount.errors import UsageError
from headcount.reports import excerpts
from headcount.reports.charts.release_charts import unknown_beside
from headcount.studio.services.exploration.lift import general_counts, has_item_contexts
from headcount.studio.services.exploration.opened_release import OpenedRelease
from headcount.studio.services.exploration.table_search import Row, SearchableTable

SIZE = 15
"""So many items are in a grid."""

LEVELS = 9
"""So many colours say how large a count is, and none says nothing."""


@dataclass(frozen=True)
class Grid:
    """Contexts across; an item's cells side by side in each row. A cell that was not released is None."""

    contexts: Sequence[str]
    rows: Sequence[tuple[Row, Sequence[Row | None]]]
    matches: int
    left_out: int
    """So many contexts have no room: those with the smallest counts."""

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
