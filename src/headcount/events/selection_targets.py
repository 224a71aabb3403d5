"""Targets of private selection: items, context values or tags of a log that has no public list of them.

A selection (:mod:`headcount.methods.partition_selection.plan`) finds such a list privately. It selects items
alone: the candidates become the items of a log, and the selected values become the list of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount._internal.arrays import Codes, Flags
from headcount.errors import Parameter
from headcount.events.catalogue import Catalogue, UnknownCatalogue
from headcount.events.contexts import UnknownContext
from headcount.events.encode.column_types import whole_ids
from headcount.events.encode.id_table import Listed
from headcount.events.log import EventLog
from headcount.events.tag_log import TagLog

SelectedValues = Sequence[str] | Sequence[int]


@dataclass(frozen=True, eq=False)
class Selectable:
    """One of the lists that a log may go without: of items, of the values of a context column, or of tags."""

    noun: str
    stage: str
    """The stage of the budget, and of the release."""
    request_field: str
    """The parameter that requests it."""
    listed: str
    """The parameter with which it is listed instead."""
    lacking: str
    stand_ins: int = 100
    """How many invented values a plan uses."""

    def __repr__(self) -> str:
        return self.stage

    @property
    def plural(self) -> str:
        """The plural of the noun; in a release, the name of their number."""
        return f"{self.noun}s"

    @property
    def flag(self) -> Parameter:
        """The parameter that requests it."""
        return Parameter(self.request_field, True)

    def is_lacking(self, log: EventLog) -> bool:
        """Say whether a log is without this list, and wants it selected."""
        if self.noun == "item":
            return log.selects
        return log.selects_contexts and isinstance(log, TagLog) == (self.noun == "tag")

    def as_items(self, log: EventLog) -> EventLog:
        """Return a log with the candidates as items: of the same users, of records that count."""
        return log if self.noun == "item" else _by_column(log)

    def put(self, log: EventLog, selected: SelectedValues) -> EventLog:
        """Return the log with the released values of a charged mechanism as its list."""
        if self.noun == "item":
            return replace(log, catalogue=Catalogue.selected(selected, log.type_of(log.roles.item)))
        context = _unknown(log)
        if self.noun == "context":
            return replace(log, context=context.listing(selected))
        if not isinstance(log, TagLog):
            raise TypeError("tags are of a tag log")
        words = Catalogue.selected(selected, log.type_of(context.columns[0]))
        return replace(log, context=context.listing(selected), vocabulary=words)


ITEMS = Selectable("item", "selection", "select_items", "items", "There was no public catalogue.")
CONTEXTS = Selectable(
    "context", "context-selection", "select_contexts", "contexts", "There was no public list of contexts.",
    stand_ins=1,  # the fewer there are, the less noise: what cannot be drawn for one cannot be drawn at all
)  # fmt: skip
TAGS = Selectable("tag", "tag-selection", "select_tags", "vocabulary", "There was no public list of tags.")

SELECTABLE: tuple[Selectable, ...] = (CONTEXTS, TAGS, ITEMS)
"""In the order in which they are selected: the items of a user may depend on their context."""


def find_missing_lists(log: EventLog) -> tuple[Selectable, ...]:
    """Return the lists to be selected for a log, in that order."""
    return tuple(target for target in SELECTABLE if target.is_lacking(log))


def requests_selection(words: Mapping[str, Any]) -> bool:
    """Say whether the words that describe a log ask for a selection."""
    return any(words.get(target.request_field) for target in SELECTABLE)


def _by_column(log: EventLog) -> EventLog:
    """Return the log of a context column: its values are the items of records that would count otherwise."""
    column, item = _unknown(log).columns[0], log.roles.item
    catalogue = log.catalogue if log.has_catalogue else None
    events = log.as_events() if isinstance(log, TagLog) else log
    return replace(
        events,
        roles=replace(log.roles, item=column),
        catalogue=UnknownCatalogue(),
        context=None,
        context_of="record",
        conditions=(*log.conditions, Named(item, log.type_of(item), catalogue)),
    )


def _unknown(log: EventLog) -> UnknownContext:
    if not isinstance(log.context, UnknownContext):
        raise TypeError("the contexts of this log are listed")
    return log.context


@dataclass(frozen=True)
class Named:
    """A condition: a record names an item, one of the catalogue where there is one.

    >>> batch = pa.record_batch({"item": ["tea", None, "oat"]})
    >>> Named("item", pa.string(), Catalogue.of(["rye", "tea"])).holds(batch).tolist()
    [True, False, False]
    >>> Named("item", pa.string()).holds(batch).tolist()
    [True, False, True]
    >>> Named("item", pa.int64(), Catalogue.of([1, 2])).holds(pa.record_batch({"item": [1.0, 1.5, 7.0]})).tolist()
    [True, False, False]
    """

    column: str
    kind: pa.DataType
    catalogue: Catalogue | None = None

    def __reduce__(self) -> tuple[type[Named], tuple[Any, ...]]:
        return Named, (self.column, self.kind, self.catalogue)  # without the table of codes, which stays here

    def check(self, kind: pa.DataType) -> None:
        """Accept the column, which was looked at when the log was described."""

    def holds(self, batch: pa.RecordBatch) -> Flags:
        """Look each item up."""
        column = whole_ids(batch.column(self.column))
        there = np.array(pc.is_valid(column), dtype=bool)
        if self._codes is not None:
            there[there] = self._codes(column if there.all() else column.filter(pa.array(there))) >= 0
        return there

    def is_decidable(self, batch: pa.RecordBatch) -> Flags:
        """Look for an item."""
        return np.array(pc.is_valid(whole_ids(batch.column(self.column))), dtype=bool)

    def __str__(self) -> str:
        return f"an item in column {self.column!r}"

    @cached_property
    def _codes(self) -> Callable[[pa.Array], Codes] | None:
        if self.catalogue is None:
            return None
        return Listed(self.catalogue.as_type(self.kind, self.column)).codes
