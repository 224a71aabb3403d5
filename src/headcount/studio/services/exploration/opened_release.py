"""Open releases: searchable tables, item labels and models of each, and a cache that bounds their memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount.errors import DataError, UnknownNameError
from headcount.methods.recommender.recommender import NeighbourModel
from headcount.methods.tags.recommend import ReleasedModel
from headcount.releases.folder_integrity import folder_digest
from headcount.releases.release import Release, load
from headcount.releases.top_k import match_context
from headcount.studio.services.exploration.table_search import Labels, Names, SearchableTable, SingleFlight

MOST_BYTES = 512 * 1024**2
"""Bytes of the tables of all open releases; the release in use may be larger."""
_ITEMS = ("items", "model/items", "ranking")
"""Where items have their labels."""

_MAIN = ("items", "ranking", "edges", "answers", "totals", "model/items", "model/tags")
"""What a release is about: the first of these that it has."""

_PER_ITEM = ("items", "model/items", "ranking", "edges")


@dataclass(frozen=True, eq=False)
class OpenedRelease:
    """A release, and what was made of it while it is open; many threads may look at it at once."""

    release: Release
    cached: SingleFlight = field(default_factory=SingleFlight, repr=False)
    """What is made of it, as long as it is open."""

    @property
    def nbytes(self) -> int:
        """How much memory its tables take."""
        return sum(int(table.nbytes) for table in self.release.tables.values())

    @cached_property
    def main(self) -> str | None:
        """The table that it is about, None if it has no table at all."""
        tables = self.release.tables
        return next((name for name in _MAIN if name in tables), next(iter(tables), None))

    @cached_property
    def item_table(self) -> str | None:
        """The table that has the items in it, None if it is not about items."""
        return next((name for name in _PER_ITEM if name in self.release.tables), None)

    @cached_property
    def labels(self) -> Labels:
        """Labels of what columns name: items, tags and resources."""
        tables = self.release.tables
        items: dict[str, str | None] = {}
        for name in reversed(_ITEMS):
            if name in tables:
                items |= Names.from_columns(*(tables[name][column].to_pylist() for column in ("item", "label")))
        names_by_role = dict.fromkeys(("item", "other", "neighbour"), Names(items))
        for role in ("tag", "resource"):
            if f"model/{role}s" in tables:
                named = tables[f"model/{role}s"]
                names_by_role[role] = Names.from_columns(named[role].to_pylist(), named["label"].to_pylist())
        return names_by_role

    def name(self, role: str, value: Any) -> str:
        """Return what something is called, such as an item: by its label, or else by itself."""
        role_names = self.labels.get(role)
        return (role_names and role_names[str(value)]) or str(value)

    def browsed(self, table: str, context: str | None = None) -> SearchableTable:
        """Return a table to be looked through, whole or in one context."""
        if table not in self.release.tables:
            raise UnknownNameError.among("table", table, self.release.tables)
        context = None if context is None else match_context(self.release.contexts or (), context)
        return self.cached(("browsed", table, context), lambda: self._browsed(table, context))

    def _browsed(self, table: str, context: str | None) -> SearchableTable:
        held = self.release.tables[table]
        if context is not None:
            held = held.filter(pc.equal(held["context"], context)).drop_columns(["context"])
        return SearchableTable(
            held, {name: names for name, names in self.labels.items() if name in held.column_names}
        )

    @cached_property
    def context_table(self) -> str | None:
        """The table that has contexts in it, None if it knows none."""
        tables = self.release.tables
        having = (name for name in ("edges", "ranking", "model/edges") if name in tables)
        return next((name for name in having if "context" in tables[name].column_names), None)

    def item(self, given: str) -> Any:
        """Return the item that is meant by the text of its id, as the tables have it."""
        items_by_text = self.cached("items", self._items)
        if given not in items_by_text:
            raise UnknownNameError(f"item {given!r} is not in this release", remedy="search for it in the ranking")
        return items_by_text[given]

    def _items(self) -> dict[str, Any]:
        names = [value for value in _PER_ITEM if value in self.release.tables]
        ids = (item for name in names for item in pc.unique(self.release.tables[name]["item"]).to_pylist())
        return {str(value): value for value in ids}

    def rows_of(self, table: str, item: Any) -> pa.Table:
        """Return the rows of a table that are about one item."""
        held = self.release.tables[table]
        return held.filter(pc.equal(held["item"], pa.scalar(item, held["item"].type)))

    def rank_of(self, item: Any) -> int | None:
        """Return the place of an item, by its count, None if there are no counts of items."""
        table = next((name for name in ("items", "model/items") if name in self.release.tables), None)
        if table is None or self.browsed(table).sorted_by is None:
            return None
        held = self.release.tables[table]
        row = pc.index(held["item"], pa.scalar(item, held["item"].type)).as_py()
        place = self.cached(("ranks", table), lambda: np.argsort(self.browsed(table).order()))
        return None if row < 0 else int(place[row]) + 1

    @property
    def model(self) -> NeighbourModel | None:
        """The model of ratings or visits in it, if there is one."""
        held = "model/items" in self.release.tables
        return self.cached("model", lambda: NeighbourModel(self.release)) if held else None

    @property
    def tags(self) -> ReleasedModel | None:
        """The model of tags in it, if there is one."""
        tables = self.release.tables
        held = "model/tags" in tables and tables["model/tags"].num_rows > 0
        return self.cached("tags", lambda: ReleasedModel.from_release(self.release)) if held else None


@dataclass(eq=False)
class ReleaseCache:
    """Open releases by the digests of their folders, least recently used first out, bounded in bytes."""

    most_bytes: int = MOST_BYTES
    _once: SingleFlight = field(default_factory=SingleFlight, repr=False)
    _sizes: OrderedDict[str, int] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def open(self, digest: str, folder: Path) -> OpenedRelease:
        """Return the release of a digest, read from its folder if it is not open and has that digest."""
        opened = self._once(digest, lambda: _read(digest, folder))
        with self._lock:
            self._sizes[digest] = opened.nbytes
            self._sizes.move_to_end(digest)
            while sum(self._sizes.values()) > self.most_bytes and len(self._sizes) > 1:
                self._once.forget(self._sizes.popitem(last=False)[0])
        return opened

    def held(self) -> list[str]:
        """Return the digests of what is open, the one looked at last at the end."""
        with self._lock:
            return list(self._sizes)


def _read(digest: str, folder: Path) -> OpenedRelease:
    try:
        same = folder_digest(folder) == digest
    except OSError:
        same = False
    if not same:
        raise DataError("the files of this release are gone, or are not what was released", remedy="restore them")
    return OpenedRelease(load(folder))
