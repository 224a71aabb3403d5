"""Targets of private selection: items, context values or tags of a log that has no public list of them.

A selection (:mod:`headcount.methods.partition_selection.plan`) finds such a list privately. It knows items alone:
whatever is to be found is put before it as the items of a log, and what it found is put back into the log as if
it had been listed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

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


class Selectable(ABC):
    """One of the lists that a log may go without."""

    noun: ClassVar[str]
    stage: ClassVar[str]
    """What its share is called, and what a release tells of it."""
    request_field: ClassVar[str]
    """The word that asks for it."""
    listed: ClassVar[str]
    """The parameter with which it is listed instead."""
    lacking: ClassVar[str]
    stand_ins: ClassVar[int] = 100
    """How many are made up to plan with."""

    def __repr__(self) -> str:
        return self.stage

    @property
    def plural(self) -> str:
        """What several are called; in a release, how many were found."""
        return f"{self.noun}s"

    @property
    def flag(self) -> Parameter:
        """The parameter that asks for it."""
        return Parameter(self.request_field, True)

    @abstractmethod
    def is_lacking(self, log: EventLog) -> bool:
        """Say whether a log is without this list, and wants it selected."""

    @abstractmethod
    def as_items(self, log: EventLog) -> EventLog:
        """Return a log whose items are what is to be selected: of the same people, of records that count."""

    @abstractmethod
    def put(self, log: EventLog, selected: SelectedValues) -> EventLog:
        """Return the log with what a charged mechanism released in the place of the list."""


class _Items(Selectable):
    """The items themselves."""

    noun, stage, request_field, listed = "item", "selection", "select_items", "items"
    lacking = "There was no public catalogue."

    def is_lacking(self, log: EventLog) -> bool:
        return log.selects

    def as_items(self, log: EventLog) -> EventLog:
        return log

    def put(self, log: EventLog, selected: SelectedValues) -> EventLog:
        return replace(log, catalogue=Catalogue.selected(selected, log.type_of(log.roles.item)))


class _Contexts(Selectable):
    """The values of a context column.

    One value is enough to plan with: the fewer there are, the less noise, and what cannot be drawn for one cannot
    be drawn at all.
    """

    noun, stage, request_field, listed = "context", "context-selection", "select_contexts", "contexts"
    lacking, stand_ins = "There was no public list of contexts.", 1

    def is_lacking(self, log: EventLog) -> bool:
        return log.selects_contexts and not isinstance(log, TagLog)

    def as_items(self, log: EventLog) -> EventLog:
        return _by_column(log)

    def put(self, log: EventLog, selected: SelectedValues) -> EventLog:
        return replace(log, context=_unknown(log).listing(selected))


class _Tags(_Contexts):
    """The vocabulary of a tag log, whose contexts are tags."""

    noun, stage, request_field, listed = "tag", "tag-selection", "select_tags", "vocabulary"
    lacking, stand_ins = "There was no public list of tags.", 100

    def is_lacking(self, log: EventLog) -> bool:
        return log.selects_contexts and isinstance(log, TagLog)

    def put(self, log: EventLog, selected: SelectedValues) -> EventLog:
        if not isinstance(log, TagLog):
            raise TypeError("tags are of a tag log")
        context = _unknown(log)
        words = Catalogue.selected(selected, log.type_of(context.columns[0]))
        return replace(log, context=context.listing(selected), vocabulary=words)


ITEMS, CONTEXTS, TAGS = _Items(), _Contexts(), _Tags()

SELECTABLE: tuple[Selectable, ...] = (CONTEXTS, TAGS, ITEMS)
"""In the order in which they are selected: which items a person has may hang on their context."""


def find_missing_lists(log: EventLog) -> tuple[Selectable, ...]:
    """Return what is to be selected for a log, in that order."""
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

    def tells(self, batch: pa.RecordBatch) -> Flags:
        """Look for an item."""
        return np.array(pc.is_valid(whole_ids(batch.column(self.column))), dtype=bool)

    def __str__(self) -> str:
        return f"an item in column {self.column!r}"

    @cached_property
    def _codes(self) -> Callable[[pa.Array], Codes] | None:
        if self.catalogue is None:
            return None
        return Listed(self.catalogue.as_type(self.kind, self.column)).codes
