"""A release that is open: its tables ready to be looked through, its names, and the models in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount.errors import UnknownNameError
from headcount.methods.recommender.recommender import NeighbourModel
from headcount.methods.tags.recommend import ReleasedModel
from headcount.releases.release import Release
from headcount.releases.top_k import known_context
from headcount.studio.services.exploration.single_flight import Once
from headcount.studio.services.exploration.table_search import Browsed, Labels, Names

_ITEMS = ("items", "model/items", "ranking")
"""Where items have their labels."""

_MAIN = ("items", "ranking", "edges", "answers", "totals", "model/items", "model/tags")
"""What a release is about: the first of these that it has."""

_PER_ITEM = ("items", "model/items", "ranking", "edges")


@dataclass(frozen=True, eq=False)
class Opened:
    """A release, and what was made of it while it is open; many threads may look at it at once."""

    release: Release
    once: Once = field(default_factory=Once, repr=False)
    """What is made of it, as long as it is open."""

    @property
    def nbytes(self) -> int:
        """How much memory its tables take."""
        return sum(int(each.nbytes) for each in self.release.tables.values())

    @cached_property
    def main(self) -> str | None:
        """The table that it is about, None if it has no table at all."""
        tables = self.release.tables
        return next((name for name in _MAIN if name in tables), next(iter(tables), None))

    @cached_property
    def of_items(self) -> str | None:
        """The table that has the items in it, None if it is not about items."""
        return next((each for each in _PER_ITEM if each in self.release.tables), None)

    @cached_property
    def labels(self) -> Labels:
        """Labels of what columns name: items, tags and resources."""
        tables = self.release.tables
        items: dict[str, str | None] = {}
        for name in reversed(_ITEMS):
            if name in tables:
                items |= Names.of(*(tables[name][each].to_pylist() for each in ("item", "label"))).labels
        found = dict.fromkeys(("item", "other", "neighbour"), Names(items))
        for role in ("tag", "resource"):
            if f"model/{role}s" in tables:
                named = tables[f"model/{role}s"]
                found[role] = Names.of(named[role].to_pylist(), named["label"].to_pylist())
        return found

    def name(self, role: str, value: Any) -> str:
        """Return what something is called, such as an item: by its label, or else by itself."""
        known = self.labels.get(role)
        return (known and known[str(value)]) or str(value)

    def browsed(self, table: str, context: str | None = None) -> Browsed:
        """Return a table to be looked through, whole or in one context."""
        if table not in self.release.tables:
            raise UnknownNameError.among("table", table, self.release.tables)
        context = None if context is None else known_context(self.release.contexts or (), context)
        return self.once(("browsed", table, context), lambda: self._browsed(table, context))

    def _browsed(self, table: str, context: str | None) -> Browsed:
        held = self.release.tables[table]
        if context is not None:
            held = held.filter(pc.equal(held["context"], context)).drop_columns(["context"])
        return Browsed(held, {name: each for name, each in self.labels.items() if name in held.column_names})

    @cached_property
    def of_contexts(self) -> str | None:
        """The table that has contexts in it, None if it knows none."""
        tables = self.release.tables
        having = (each for each in ("edges", "ranking", "model/edges") if each in tables)
        return next((each for each in having if "context" in tables[each].column_names), None)

    def item(self, given: str) -> Any:
        """Return the item that is meant by the text of its id, as the tables have it."""
        known = self.once("items", self._items)
        if given not in known:
            raise UnknownNameError(f"item {given!r} is not in this release", remedy="search for it in the ranking")
        return known[given]

    def _items(self) -> dict[str, Any]:
        names = [each for each in _PER_ITEM if each in self.release.tables]
        ids = (item for name in names for item in pc.unique(self.release.tables[name]["item"]).to_pylist())
        return {str(each): each for each in ids}

    def rows_of(self, table: str, item: Any) -> pa.Table:
        """Return the rows of a table that are about one item."""
        held = self.release.tables[table]
        return held.filter(pc.equal(held["item"], pa.scalar(item, held["item"].type)))

    def rank_of(self, item: Any) -> int | None:
        """Return the place of an item, by its count, None if there are no counts of items."""
        table = next((each for each in ("items", "model/items") if each in self.release.tables), None)
        if table is None or self.browsed(table).sorted_by is None:
            return None
        held = self.release.tables[table]
        row = pc.index(held["item"], pa.scalar(item, held["item"].type)).as_py()
        place = self.once(("ranks", table), lambda: np.argsort(self.browsed(table).order()))
        return None if row < 0 else int(place[row]) + 1

    @property
    def model(self) -> NeighbourModel | None:
        """The model of ratings or visits in it, if there is one."""
        held = "model/items" in self.release.tables
        return self.once("model", lambda: NeighbourModel(self.release)) if held else None

    @property
    def tags(self) -> ReleasedModel | None:
        """The model of tags in it, if there is one."""
        tables = self.release.tables
        held = "model/tags" in tables and tables["model/tags"].num_rows > 0
        return self.once("tags", lambda: ReleasedModel.of(self.release)) if held else None
