"""The profile of one item: rank, count, counts by context, lift, and related items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headcount.errors import HeadcountError
from headcount.reports.charts.release_charts import unknown_beside
from headcount.studio.services.exploration.item_contexts import (
    context_shares,
    general_counts,
    has_item_contexts,
    simultaneous_factor,
)
from headcount.studio.services.exploration.opened_release import OpenedRelease
from headcount.studio.services.exploration.table_search import Row

RELATED = 10


@dataclass(frozen=True)
class InContext:
    """What an item has in one context; ``expected`` is what it would have there if it were like all others."""

    context: str
    count: float
    low: float
    high: float
    expected: float
    stands_out: bool


@dataclass(frozen=True)
class Related:
    """What belongs to an item, or why nothing is told of it."""

    rows: Sequence[Row] = ()
    silent: str = ""


@dataclass(frozen=True)
class Profile:
    """All that a release says of one item."""

    item: Any
    label: str | None
    rank: int | None
    numbers: Row | None
    """Its row in the table of items."""
    contexts: Sequence[InContext] = ()
    places: Sequence[Row] = field(default=())
    """Its places in rankings."""
    related: Related | None = None

    @property
    def name(self) -> str:
        """What it is called."""
        return self.label or str(self.item)


def profile(opened: OpenedRelease, given: str) -> Profile:
    """Return what is told of an item, by the text of its id."""
    item, tables = opened.item(given), opened.release.tables
    having = next((name for name in ("items", "model/items") if name in tables), None)
    own = [] if having is None else opened.rows_of(having, item).to_pylist()
    return Profile(
        item=item,
        label=opened.labels["item"][str(item)],
        rank=opened.rank_of(item),
        numbers=own[0] if own else None,
        contexts=_contexts(opened, item) if has_item_contexts(opened.release) else (),
        places=opened.rows_of("ranking", item).to_pylist() if "ranking" in tables else (),
        related=related(opened, item) if opened.model is not None else None,
    )


def related(opened: OpenedRelease, item: Any, most: int = RELATED) -> Related:
    """Return what belongs to an item in a model, or in words why it tells nothing."""
    model = opened.model
    if model is None:
        return Related(silent="this release holds no model of what belongs together")
    try:
        return Related(model.related(item, most))
    except HeadcountError as error:
        return Related(silent=error.problem)


def _contexts(opened: OpenedRelease, item: Any) -> list[InContext]:
    names = opened.release.contexts or ()
    rows = {row["context"]: row for row in opened.rows_of("edges", item).to_pylist()}
    ids, mean, high = general_counts(opened)
    place = pc.index(ids, pa.scalar(item, ids.type)).as_py()
    parts = context_shares(opened)
    grown = simultaneous_factor(len(rows), opened.release.interval.level)
    in_contexts = []
    for context in (*names, None):
        if context not in rows:
            continue
        row, part = rows[context], parts.get(context, 0.0)
        surely = row["count"] - grown * (row["count"] - row["low"])
        in_contexts.append(
            InContext(
                unknown_beside(names) if context is None else context,
                row["count"],
                row["low"],
                row["high"],
                expected=float(mean[place]) * part,
                stands_out=context is not None and surely > max(float(high[place]) * part, 1.0),
            )
        )
    return in_contexts
