"""Excerpts of a release for its page: largest counts, rankings, item-context grid, unique item names.

Rows get ``shown`` (the label, else the item) and ``id`` (the item, where a label hides it) for tables, and
``name`` for charts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headcount.releases.release import Release
from headcount.releases.top_k import top
from headcount.reports.charts.release_charts import LONGEST_NAME, clip, unknown_beside

RANKED = 20  # items in the ranking and its table
GRID_ITEMS = 15  # items in the heat map
BEST = 5  # items named for each context
PLACES = 100  # of a direct ranking
MOST_CONTEXTS = 32  # contexts shown; with more, those with the largest counts
LONGEST = 160  # characters of an item or label in a table

BLANK = "(blank)"

Row = dict[str, Any]


def ranked(release: Release) -> list[Row]:
    """Return the largest item counts, or the largest edges where items were not released."""
    table = release.tables.get("items", release.tables.get("edges"))
    if table is None or not table.num_rows:
        return []
    rows = named(top(table, RANKED), labels(release))
    missing = unknown_beside(release.contexts or ())
    for row in rows:
        if "context" in row:
            row["context"] = clip(missing if row["context"] is None else row["context"], LONGEST)
            row["name"] = f"{clip(row['name'], LONGEST_NAME - 18)} · {clip(row['context'], 14)}"
    return rows


def rankings(release: Release) -> list[tuple[str | None, list[Row]]]:
    """Return the first places of a direct ranking, overall or of each context, in their public order."""
    table = release.tables.get("ranking")
    if table is None:
        return []
    label_of = dict(zip(table["item"].to_pylist(), table["label"].to_pylist(), strict=True))
    if release.contexts is None:
        return [(None, named(table.slice(0, PLACES).to_pylist(), label_of))]
    parts: list[tuple[str | None, list[Row]]] = []
    for name in release.contexts[:MOST_CONTEXTS]:
        places = table.filter(pc.equal(table["context"], name)).slice(0, PLACES)
        parts.append((clip(name, LONGEST), named(places.to_pylist(), label_of)))
    return parts


def contexts(release: Release) -> list[str]:
    """Return the known contexts in their public order; of too many, those with the largest counts."""
    if "edges" not in release.tables:
        return []
    totals = release.edges.group_by("context", use_threads=False).aggregate([("count", "sum")])
    sums = {row["context"]: row["count_sum"] for row in totals.to_pylist() if row["context"] is not None}
    largest = set(sorted(sums, key=lambda name: -float(sums[name]))[:MOST_CONTEXTS])
    return [name for name in release.contexts or tuple(sums) if name in largest]


def grid(release: Release, names: Sequence[str]) -> pa.Table:
    """Return the edges of the largest items in some contexts and in none: name, context, count, low, high.

    The largest item comes first.
    """
    item_contexts = release.tables.get("edges")
    if item_contexts is None or not item_contexts.num_rows:
        return columns([], "name", "context", "count", "low", "high")
    rows = named(top(sizes(release), GRID_ITEMS), labels(release))
    name_of = {row["item"]: f"{row['rank']}. {row['name']}" for row in rows}
    place = {item: number for number, item in enumerate(name_of)}
    wanted = pc.is_in(item_contexts["item"], pa.array(list(name_of)).cast(item_contexts["item"].type))
    shown = pc.is_in(
        item_contexts["context"], pa.array([*names, None], pa.string()).cast(item_contexts["context"].type)
    )
    kept = item_contexts.filter(pc.and_(wanted, shown)).to_pylist()
    kept.sort(key=lambda row: place[row["item"]])
    cells = [{**row, "name": name_of[row["item"]]} for row in kept]
    return columns(cells, "name", "context", "count", "low", "high")


def sizes(release: Release) -> pa.Table:
    """Return items with their counts; without item counts, an item is as large as the sum of its edges."""
    if "items" in release.tables:
        return release.items.select(["item", "count"])
    sums = release.edges.group_by("item", use_threads=False).aggregate([("count", "sum")])
    return pa.table({"item": sums["item"], "count": sums["count_sum"]})


def cross_table(table: pa.Table, names: Sequence[str]) -> dict[str, Any]:
    """Return a grid as it is read: the contexts across, and for each name the counts below them."""
    cells = {(row["name"], row["context"]): row["count"] for row in table.to_pylist()}
    across: list[str | None] = [*names, *([None] if any(context is None for _, context in cells) else [])]
    down = dict.fromkeys(name for name, _ in cells)
    return {
        "contexts": [unknown_beside(names) if context is None else clip(context, LONGEST) for context in across],
        "rows": [(name, [cells.get((name, context)) for context in across]) for name in down],
    }


def best(release: Release, names: Sequence[str]) -> list[tuple[str, list[Row]]]:
    """Return for each known context its largest counts above zero: nobody asks what is best for an unknown one."""
    if not names:
        return []
    item_contexts, label_of = release.edges, labels(release)
    parts = [
        (clip(name, LONGEST), item_contexts.filter(pc.equal(item_contexts["context"], name))) for name in names
    ]
    rows_by_context = [(name, [row for row in top(part, BEST) if round(row["count"]) > 0]) for name, part in parts]
    return [(name, named(rows, label_of)) for name, rows in rows_by_context]


def labels(release: Release) -> dict[Any, str | None]:
    """Return the label of each item, where items were released."""
    if "items" not in release.tables:
        return {}
    return dict(zip(release.items["item"].to_pylist(), release.items["label"].to_pylist(), strict=True))


def named(rows: Sequence[Row], label_of: Mapping[Any, str | None]) -> list[Row]:
    """Give each row its ``shown``, ``id`` and ``name``; a name that items share is followed by the item.

    >>> rows = named([{"item": 1}, {"item": 2}, {"item": 3}], {1: "tea", 2: "tea", 3: None})
    >>> [(row["shown"], row["id"], row["name"]) for row in rows]
    [('tea', '1', 'tea (1)'), ('tea', '2', 'tea (2)'), ('3', None, '3')]
    """
    shown = [readable(label_of.get(row["item"])) or readable(row["item"]) or BLANK for row in rows]
    owners: dict[str, set[Any]] = {}
    for row, label in zip(rows, shown, strict=True):
        owners.setdefault(label, set()).add(row["item"])
    done = []
    for row, label in zip(rows, shown, strict=True):
        item = readable(row["item"]) or BLANK
        name = f"{clip(label, 24)} ({clip(item, 12)})" if len(owners[label]) > 1 else label
        done.append({**row, "shown": label, "id": None if label == item else item, "name": name})
    return done


def columns(rows: Sequence[Row], *names: str) -> pa.Table:
    """Return some columns of rows as a table."""
    return pa.table({name: [row[name] for row in rows] for name in names})


def readable(value: object) -> str:
    """Write an item, a label or a context as a table shows it."""
    return "" if value is None else clip(str(value), LONGEST)
