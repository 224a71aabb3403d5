"""Differences of the counts of two releases, with intervals, and whether they are significant.

The interval of a difference goes from ``low`` of one less ``high`` of the other to ``high`` less ``low``. If both
intervals hold with probability p, it holds with 2p − 1 at least, however the two releases hang together; and it
holds no zero exactly where the two intervals do not overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount._internal.arrays import Integers
from headcount.errors import UsageError
from headcount.releases.formatting import per_cent
from headcount.releases.release import Release
from headcount.reports.sentences import counted_words
from headcount.studio.services.exploration.opened_release import OpenedRelease
from headcount.studio.services.exploration.table_search import SearchableTable

_NUMBER = {"items": "count", "edges": "count", "totals": "value", "answers": "answer", "ranking": "count"}
_KEYS = {
    "items": ("item",),
    "edges": ("item", "context"),
    "ranking": ("item", "context"),
    "totals": ("total",),
    "answers": ("query", "cell"),
}
"""What a row of each table is about."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """What is in both releases: first what can be told apart, ``told_apart`` rows; large differences first."""

    rows: SearchableTable
    keys: Sequence[str]
    told_apart: int
    only_first: int
    only_second: int
    level: float
    caveats: Sequence[str]

    @property
    def sure(self) -> str:
        """How sure the intervals of the differences are."""
        return f"at least {per_cent(self.level)}"


def comparable(first: Release, second: Release) -> list[str]:
    """Return the tables that both have, with the same kind of numbers."""
    return [
        name
        for name, number in _NUMBER.items()
        if all(
            name in release.tables and number in release.tables[name].column_names for release in (first, second)
        )
    ]


def compare(first: OpenedRelease, second: OpenedRelease, table: str | None = None) -> Comparison:
    """Compare a table that both releases have: the second less the first."""
    shared_tables = comparable(first.release, second.release)
    if not shared_tables:
        raise UsageError("these two releases have no numbers in common", remedy="choose releases of the same kind")
    if table is not None and table not in shared_tables:
        raise UsageError(
            "both releases must have this table", given=table, remedy=f"choose of {', '.join(shared_tables)}"
        )
    name = table or shared_tables[0]
    first_table, second_table = first.release.tables[name], second.release.tables[name]
    keys = [
        column
        for column in _KEYS[name]
        if column in first_table.column_names and column in second_table.column_names
    ]
    places = _matched(first_table, second_table, keys)
    mine = np.flatnonzero(places >= 0)
    if not mine.size:
        raise UsageError(
            f"these two releases have no {' and '.join(keys)} in common",
            remedy="choose releases of the same dataset",
        )
    kept, others = (
        first_table.take(pa.array(mine, pa.int64())),
        second_table.take(pa.array(places[mine], pa.int64())),
    )
    joined = _differences(kept, others, keys, _NUMBER[name])
    order = pc.sort_indices(joined, [("told_apart", "descending"), ("size", "descending")])
    level = max(first.release.interval.level + second.release.interval.level - 1, 0.0)
    labels = {key: first.labels[key] for key in keys if key in first.labels}
    return Comparison(
        rows=SearchableTable(joined.take(order).drop_columns(["size"]), labels),
        keys=keys,
        told_apart=int(np.count_nonzero(joined["told_apart"].to_numpy(zero_copy_only=False))),
        only_first=first_table.num_rows - mine.size,
        only_second=second_table.num_rows - mine.size,
        level=level,
        caveats=caveats(first.release, second.release),
    )


def caveats(first: Release, second: Release) -> list[str]:
    """Say what two releases do not have in common, so that their counts may differ for that reason alone."""
    sentences = []
    if counted_words(first) != counted_words(second):
        sentences.append(f"They count different things: {counted_words(first)}; and {counted_words(second)}.")
    if "smoothed" in (first.interval.covers, second.interval.covers):
        sentences.append("Smoothing moves counts further than their intervals say.")
    if first.interval.average or second.interval.average:
        sentences.append("Some intervals hold on average over all rows, and not each by itself.")
    return sentences


def _matched(first_table: pa.Table, second_table: pa.Table, keys: Sequence[str]) -> Integers:
    """Return for each row of a table which row of the other is about the same, −1 if none is."""
    mine, theirs = (_key(table, keys) for table in (first_table, second_table))
    return np.asarray(pc.fill_null(pc.index_in(mine, value_set=theirs), -1).to_numpy(), dtype=np.int64)


def _key(table: pa.Table, keys: Sequence[str]) -> pa.Array:
    """Write down what rows are about as one text, in which nothing can be mistaken for something else."""
    texts = [table[key].cast(pa.string()).combine_chunks() for key in keys]
    parts = []
    for column in texts:
        sizes = pc.utf8_length(column).cast(pa.string())
        prefixed = pc.binary_join_element_wise(sizes, column, ":")
        parts.append(pc.fill_null(prefixed, "-"))  # what is missing has no length
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, " ")


def _differences(first_table: pa.Table, second_table: pa.Table, keys: Sequence[str], number: str) -> pa.Table:
    ends = ("low", "high")
    count, low, high = (first_table[column].to_numpy() for column in (number, *ends))
    later, later_low, later_high = (second_table[column].to_numpy() for column in (number, *ends))
    least, most = later_low - high, later_high - low
    columns = {
        "first": count, "first_low": low, "first_high": high,
        "second": later, "second_low": later_low, "second_high": later_high,
        "difference": later - count, "low": least, "high": most,
        "told_apart": (least > 0) | (most < 0), "size": np.abs(later - count),
    }  # fmt: skip
    return pa.table({**{key: first_table[key] for key in keys}, **columns})
