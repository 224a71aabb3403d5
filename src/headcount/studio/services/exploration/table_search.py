"""Search, sorting and paging of any released table, fast with 100,000 rows and more; and a cache of results.

Tables of one release are opened in ``opened_release``; rows are formatted for pages in ``rows``.

Each distinct text is folded once: a search matches distinct texts, then the rows that have them. An order by a
column is kept. Items, tags and resources are found by their ids and labels.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount._internal.arrays import Flags, Integers
from headcount.errors import UnknownNameError

Value = TypeVar("Value")
Row = dict[str, Any]
Labels = Mapping[str, "Names"]
"""The labels of what a column names, by that column."""

LARGEST = ("count", "weight", "similarity", "support")
"""What tables without a rank are sorted by, the largest first; tables with none of these stay as released."""

MOST_ROWS = 500
"""So many rows are in a page of a table at most."""


@dataclass(eq=False)
class _Slot:
    lock: threading.RLock = field(default_factory=threading.RLock)
    value: tuple[Any, ...] = ()


@dataclass(eq=False)
class SingleFlight:
    """A thread-safe cache that computes each key once: concurrent callers of a key wait for one computation.

    A computation that fails is not kept.

    >>> kept = SingleFlight()
    >>> kept("answer", lambda: 42), kept("answer", lambda: 43)
    (42, 42)
    """

    _slots: dict[Hashable, _Slot] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __call__(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of a key, or compute it."""
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
        with slot.lock:
            if not slot.value:
                slot.value = (make(),)
            return cast("Value", slot.value[0])

    def forget(self, key: Hashable) -> None:
        """Remove the value of a key."""
        with self._lock:
            self._slots.pop(key, None)


def fold_text(text: str) -> str:
    """Return a text as it is searched: in small letters, without accents.

    >>> fold_text("Café Ångström"), fold_text("STRASSE") == fold_text("straße")
    ('cafe angstrom', True)
    """
    if text.isascii():
        return text.casefold()
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))


class Names(dict[str, str | None]):
    """Labels of ids, which are compared as text.

    >>> names = Names.from_columns([7, 8], ["Tea", None])
    >>> names["7"], names["8"], names["9"]
    ('Tea', None, None)
    """

    @classmethod
    def from_columns(cls, ids: Sequence[Any], labels: Sequence[str | None]) -> Names:
        """Take ids and labels side by side."""
        return cls({str(identifier): label for identifier, label in zip(ids, labels, strict=True)})

    def __missing__(self, item: str) -> None:
        return None


@dataclass(frozen=True)
class Page:
    """Some rows of those that were found; ``places`` are the places of these rows when all are sorted alike."""

    rows: Sequence[Row]
    places: Sequence[int]
    start: int
    matches: int
    total: int

    @property
    def following(self) -> int | None:
        """Where the next page starts, None if there is none."""
        after = self.start + len(self.rows)
        return after if self.rows and after < self.matches else None


@dataclass(frozen=True, eq=False)
class SearchableTable:
    """A table that is looked through.

    >>> table = pa.table({"item": [1, 2, 3], "label": ["Tea", "Rye", "Téa house"], "count": [3.0, 9.0, 5.0]})
    >>> [row["item"] for row in SearchableTable(table).page("tea").rows]
    [3, 1]
    >>> [row["item"] for row in SearchableTable(table).page(sort="label").rows]
    [2, 1, 3]
    """

    table: pa.Table
    labels: Labels = field(default_factory=dict)
    _cache: SingleFlight = field(default_factory=SingleFlight, repr=False)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        names: list[str] = self.table.column_names
        return names

    @cached_property
    def sorted_by(self) -> str | None:
        """The column that it is sorted by if nobody says otherwise, the largest first; None: as released."""
        names = self.columns
        return None if "rank" in names else next((candidate for candidate in LARGEST if candidate in names), None)

    def page(
        self,
        search: str = "",
        *,
        sort: str | None = None,
        descending: bool | None = None,
        start: int = 0,
        size: int = 50,
    ) -> Page:
        """Return some rows: of those in which each word of the search is found, sorted, from a place on."""
        order = self.order(sort, descending)
        hits = self._hits(search)
        places = np.arange(order.size) if hits is None else np.flatnonzero(hits[order])
        start, size = max(start, 0), min(max(size, 1), MOST_ROWS)
        shown = places[start : start + size]
        rows: list[Row] = self.table.take(pa.array(order[shown], pa.int64())).to_pylist()
        return Page(rows, [int(place) + 1 for place in shown], start, int(places.size), int(order.size))

    def order(self, sort: str | None = None, descending: bool | None = None) -> Integers:
        """Return the rows in the order of a column: numbers from the largest, texts from the first letter."""
        sort = sort or self.sorted_by
        if sort is None:
            return np.arange(self.table.num_rows, dtype=np.int64)
        if sort not in self.columns:
            raise UnknownNameError.among("column", sort, self.columns)
        down = not (self.is_text(sort) or sort == "rank") if descending is None else descending
        return self._cache((sort, down), lambda: self._sorted(sort, descending=down))

    def is_text(self, column: str) -> bool:
        """Say whether a column is one of texts, or of what has a name."""
        return column in self.labels or _is_text(self.table.schema.field(column).type)

    def warm(self) -> None:
        """Make ready for a search, so that the first one is as quick as those that follow."""
        self._searched()

    def _sorted(self, sort: str, *, descending: bool) -> Integers:
        if self.is_text(sort):
            return self._texts(sort).order(descending=descending)
        column = self.table[sort]
        if pa.types.is_nested(column.type):
            return np.arange(self.table.num_rows, dtype=np.int64)
        values = column.cast(pa.float64()).to_numpy()
        return np.argsort(-values if descending else values, kind="stable")  # what is missing comes last

    def _hits(self, search: str) -> Flags | None:
        """Return which rows hold each word of a search, in any of their texts; None: all do."""
        words = sorted(fold_text(search).split(), key=len, reverse=True)  # long ones leave the fewest rows
        if not words:
            return None
        rows = None
        for word in words:
            here = np.zeros(self.table.num_rows if rows is None else rows.size, dtype=np.bool_)
            for text in self._searched():
                here |= text.hits(word, rows)
            rows = np.flatnonzero(here) if rows is None else rows[here]
        matches = np.zeros(self.table.num_rows, dtype=np.bool_)
        matches[rows] = True
        return matches

    def _searched(self) -> list[_Texts]:
        """Return what is searched: all texts, but labels where they are found with what they are labels of."""
        shown = any(name in self.labels for name in self.columns)
        return [
            self._texts(column)
            for column in self.columns
            if self.is_text(column) and not (column == "label" and shown)
        ]

    def _texts(self, column: str) -> _Texts:
        names = self.labels.get(column, Names())
        return self._cache(("texts", column), lambda: _Texts.from_column(self.table[column], names))


@dataclass(frozen=True, eq=False)
class _Texts:
    """A column of texts: those that differ, and which of them each row has."""

    codes: Integers
    folded: pa.Array

    @classmethod
    def from_column(cls, column: pa.ChunkedArray, names: Names) -> _Texts:
        encoded = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
        texts = []
        for value in encoded.dictionary.to_pylist():
            text = "" if value is None else str(value)
            label = names[text]
            texts.append(fold_text(f"{label} {text}" if label else text))
        return cls(encoded.indices.to_numpy(zero_copy_only=False), pa.array(texts, pa.string()))

    def hits(self, word: str, rows: Integers | None) -> Flags:
        """Return which of some rows have a word, of all if None are named."""
        if not len(self.folded):
            return np.zeros(self.codes.size if rows is None else rows.size, dtype=np.bool_)
        texts = self.folded if rows is None else self.folded.take(pa.array(self.codes[rows]))
        matches: Flags = pc.match_substring(texts, word).to_numpy(zero_copy_only=False)
        return matches[self.codes] if rows is None else matches

    def order(self, *, descending: bool) -> Integers:
        places = np.empty(len(self.folded), dtype=np.int64)
        places[pc.sort_indices(self.folded).to_numpy()] = np.arange(len(self.folded))
        if not places.size:
            return np.arange(self.codes.size, dtype=np.int64)
        keys = places[self.codes]
        return np.argsort(-keys if descending else keys, kind="stable")


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind))
