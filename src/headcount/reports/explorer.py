"""All rows of a release as compressed data for the searchable table on its page.

The rows lie in the page as compressed JSON, and ``explorer.js`` draws those in view. Without scripts, and on
paper, the few rows stay that the page shows anyway.

Numbers travel as whole numbers: counts in units of 1 / ``per``, and how far low lies below and high above the
count when all three are rounded, low and high outward. With noise alone both are the same in all rows, and take
no room.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount._internal.arrays import Floats, Integers
from headcount.releases.release import Release
from headcount.reports import excerpts
from headcount.reports.charts.release_charts import unknown_beside
from headcount.reports.sentences import across

MOST_CELLS = 1_000_000
"""So many counts, with their intervals, are in a page; of more, the rows with the largest."""

TOGETHER = "all together"

Numbers = list[int | None]


@dataclass(frozen=True)
class View:
    """One number for each row, where it has one: a count with its interval, a place of a ranking, or both."""

    name: str
    rank: Numbers | None = None
    count: Numbers | None = None
    below: Numbers | None = None
    above: Numbers | None = None


@dataclass(frozen=True, kw_only=True)
class Explorer:
    """Rows by name, with an id where the name hides it, and one view or several of them."""

    name: str
    title: str
    across: str
    per: int
    at_zero: str
    names: Sequence[str]
    ids: Sequence[str | None]
    views: Sequence[View]

    def packed(self) -> str:
        """Return everything as text that fits into a page: JSON, compressed, in base 64.

        >>> tiny = Explorer(name="items", title="All", across="", per=1, at_zero="", names=["tea"], ids=[None],
        ...                 views=[View("all together", count=[3], below=[1], above=[1])])
        >>> unpacked(tiny.packed())["views"]
        [{'name': 'all together', 'count': [3], 'below': [1], 'above': [1]}]
        """
        views = [{name: value for name, value in vars(view).items() if value is not None} for view in self.views]
        text = json.dumps({**vars(self), "views": views}, ensure_ascii=False, separators=(",", ":"))
        return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 9, mtime=0)).decode()


def unpacked(text: str) -> dict[str, Any]:
    """Return what a page holds, as its script reads it."""
    read: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(text)))
    return read


def explorer(release: Release, contexts: Sequence[str], at_zero: str) -> Explorer | None:
    """Return all rows of the ranking or else of the counts, or None where the page shows all of them anyway."""
    if "ranking" in release.tables and not {"items", "edges"} & set(release.tables):
        return _explore_ranking(release, at_zero)
    return _explore_counts(release, contexts, at_zero)


def _explore_counts(release: Release, contexts: Sequence[str], at_zero: str) -> Explorer | None:
    """Return items and their edges; an item without a count of its own is as large as its edges together."""
    items, item_contexts = release.tables.get("items"), release.tables.get("edges")
    cells = (0 if items is None else items.num_rows) + (0 if item_contexts is None else item_contexts.num_rows)
    if cells <= excerpts.RANKED:
        return None
    sizes = excerpts.sizes(release)
    across_all: list[str | None] = [*contexts, None] if item_contexts is not None else []
    if item_contexts is not None and not item_contexts["context"].null_count:
        across_all.pop()
    most = MOST_CELLS // (len(across_all) + (items is not None))
    order = np.argsort(-sizes["count"].to_numpy(), kind="stable")[:most]
    ids = sizes["item"].take(pa.array(order))
    per = 100 if any(_fractional(table) for table in (items, item_contexts) if table is not None) else 1
    views = [] if items is None else [_view(TOGETHER, items.take(pa.array(order)), np.arange(order.size), per)]
    if item_contexts is not None:
        place = pc.index_in(item_contexts["item"], value_set=ids.combine_chunks())
        for context in across_all:
            name = unknown_beside(contexts) if context is None else excerpts.readable(context)
            here = (
                pc.is_null(item_contexts["context"])
                if context is None
                else pc.equal(item_contexts["context"], context)
            )
            kept = pc.and_(here, pc.is_valid(place)).combine_chunks().fill_null(False)
            views.append(_view(name, item_contexts.filter(kept), place.filter(kept).to_numpy(), per, order.size))
    return Explorer(
        name="items" if items is not None else "pairs",
        title=_title(order.size, sizes.num_rows),
        across=across(release) if across_all else "",
        per=per,
        at_zero=at_zero,
        views=views,
        **_names(ids.to_pylist(), excerpts.labels(release)),
    )


def _explore_ranking(release: Release, at_zero: str) -> Explorer | None:
    """Return a long ranking, or many: items in the order they first appear."""
    table = release.ranking
    contexts = release.contexts or ()
    longest = max(table["rank"].to_pylist(), default=0)
    if longest <= excerpts.PLACES and len(contexts) <= excerpts.MOST_CONTEXTS:
        return None
    label_of = dict(zip(table["item"].to_pylist(), table["label"].to_pylist(), strict=True))
    ids = pc.unique(table["item"])
    counted = "count" in table.column_names
    per = 100 if counted and _fractional(table) else 1
    views = []
    for context in contexts or (None,):
        part = table if context is None else table.filter(pc.equal(table["context"], context))
        rows = pc.index_in(part["item"], value_set=ids).to_numpy()
        name = TOGETHER if context is None else excerpts.readable(context)
        views.append(_view(name, part, rows, per, len(ids)))
    return Explorer(
        name="ranking",
        title=_title(len(ids), len(ids), "ranked item"),
        across=across(release) if contexts else "",
        per=per,
        at_zero=at_zero,
        views=views,
        **_names(ids.to_pylist(), label_of),
    )


def _title(kept: int, total: int, noun: str = "item") -> str:
    """Say how much is there.

    >>> _title(4223, 4223), _title(30_303, 100_000), _title(1, 1)
    ('All 4,223 items', 'The 30,303 largest of 100,000 items', 'The one item')
    """
    if total == 1:
        return f"The one {noun}"
    return f"All {total:,} {noun}s" if kept == total else f"The {kept:,} largest of {total:,} {noun}s"


def _names(ids: Sequence[Any], label_of: dict[Any, str | None]) -> dict[str, Any]:
    rows = excerpts.named([{"item": item} for item in ids], label_of)
    return {"names": [row["shown"] for row in rows], "ids": [row["id"] for row in rows]}


def _view(name: str, table: pa.Table, rows: Integers, per: int, size: int | None = None) -> View:
    """Put a table's numbers into the rows they belong to."""
    size = len(rows) if size is None else size

    def placed(values: Integers) -> Numbers:
        column: Numbers = [None] * size
        for row, value in zip(rows.tolist(), values.tolist(), strict=True):
            column[row] = value
        return column

    rank = placed(table["rank"].to_numpy()) if "rank" in table.column_names else None
    if "count" not in table.column_names:
        return View(name, rank=rank)
    count = table["count"].to_numpy()
    nearest = _whole(np.rint(count))
    half = per // 2 - 1 if per > 1 else 0  # what is sent rounds to what is shown elsewhere
    sent = np.clip(_whole(np.rint(count * per)), per * nearest - half, per * nearest + half)
    low, high = (
        _whole(round_outward(table[end].to_numpy()))
        for round_outward, end in ((np.floor, "low"), (np.ceil, "high"))
    )
    return View(name, rank, placed(sent), placed(nearest - low), placed(high - nearest))


def _whole(values: Floats) -> Integers:
    return values.astype(np.int64)


def _fractional(table: pa.Table) -> bool:
    counts = table["count"].to_numpy()
    return bool((counts != np.rint(counts)).any())
