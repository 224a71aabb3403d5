"""An event log as a description: source, column roles, catalogue, context and conditions; it holds no rows.

Everything that shapes a release (catalogue, contexts, conditions) is public: fixed here,
before any row is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import pyarrow as pa

from headcount._internal.python_surface import document_parameters
from headcount.errors import Parameter, UnknownNameError, UsageError, param
from headcount.events.catalogue import Catalogue, UnknownCatalogue, absent_or_read, read_catalogue
from headcount.events.conditions import Condition, described_conditions
from headcount.events.contexts import Context, UnknownContext
from headcount.events.encode.column_types import check_column_type, id_type, whole_ids
from headcount.events.encode.text_columns import sound_batch
from headcount.events.log_parameters import KEPT, READERS
from headcount.events.notation import Separators
from headcount.events.roles import Range, Roles, clocks, read_range, read_roles, refuse_packed, store_path
from headcount.events.sources.databases.table_or_query import TableOrQuery
from headcount.events.sources.files.file_source import FileSource
from headcount.events.sources.files.formats import TextOptions
from headcount.events.sources.files.packed_store import PackedSource, damaged, open_store, read_stored_catalogue
from headcount.events.sources.source import RowAsUserSource, Source, TableSource, open_source, underlying_source
from headcount.releases.formatting import some

MOST_CELLS = 200_000_000


@dataclass(frozen=True, kw_only=True)
class EventLog:
    """Who did what, in which context.

    >>> log = EventLog.of([("ann", "tea"), ("bob", "rye")], items=["rye", "tea"])
    >>> log.cells
    2
    """

    source: Source
    roles: Roles
    catalogue: Catalogue
    context: Context | None = None
    conditions: tuple[Condition, ...] = ()
    counting: Literal["records", "users"] = "records"
    context_of: Literal["record", "user"] = "record"
    value_range: Range | None = None
    most_cells: ClassVar[int] = MOST_CELLS

    def __post_init__(self) -> None:
        for column in self.columns:
            self.type_of(column)
        roles = {"user": self.roles.user, "item": self.roles.item, "times": self.roles.times}
        for role, name in (*roles.items(), ("values", self.roles.value)):
            if name is not None:
                check_column_type(self.type_of(name), role, name)
        for condition in self.conditions:
            condition.check(self.type_of(condition.column))
        if self.context is not None:
            self.context.check(self.type_of)
        elif self.context_of == "user":
            raise UsageError(
                f"{param.context_of('user')} is given without {param.context}",
                remedy=f"name it with {param.context}",
            )
        if not self.has_catalogue:
            return
        self.catalogue.as_type(self.type_of(self.roles.item), self.roles.item)
        if not self.selects_contexts and self.cells > self.most_cells:
            raise UsageError(
                f"{len(self.catalogue.ids):,} items × {self.width:,} contexts (with the unknown one) are "
                f"{self.cells:,} cells, more than {self.most_cells:,}",
                remedy=f"use a smaller catalogue or fewer contexts, or release without {param.context}",
            )

    def __repr__(self) -> str:
        named = f"user {self.roles.user!r}"
        if self.roles.item != self.roles.user:  # a user table names none
            named += f", item {self.roles.item!r}"
        if self.context is not None:
            named += f", context {self.context.specification!r}"
        cells = f"; {some(self.cells, 'cell')}" if self.has_catalogue else ""
        return f"<{type(self).__name__} of {self.source.name}: {named}{cells}>"

    def type_of(self, column: str) -> pa.DataType:
        """Return the type that a column is read as; refuse one that is not there."""
        kind = self.source.type_of(column)
        if kind is None:
            raise UnknownNameError.among("column", column, self.source.names, where=self.source.name)
        return id_type(kind) if column in (self.roles.user, self.roles.item) else kind

    def sound(self, raw: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows of the source with sound text and whole ids; what is neither is missing."""
        batch = sound_batch(raw)
        for place, name in enumerate(batch.schema.names):
            ids = whole_ids(batch.column(place)) if name in (self.roles.user, self.roles.item) else None
            if ids is not None and ids is not batch.column(place):
                batch = batch.set_column(place, name, ids)
        return batch

    @property
    def selects(self) -> bool:
        """Whether the items are still to be selected, since there is no public catalogue."""
        return type(self.catalogue) is UnknownCatalogue

    @property
    def selects_contexts(self) -> bool:
        """Whether the values of the context are still to be selected, since there is no public list of them."""
        return isinstance(self.context, UnknownContext)

    @property
    def has_catalogue(self) -> bool:
        """Whether the items are known: from a public catalogue, or selected already."""
        return not isinstance(self.catalogue, UnknownCatalogue)

    @property
    def width(self) -> int:
        """How many cells an item has: its contexts and the unknown one, or a single cell."""
        return 1 if self.context is None else self.context.size + 1

    @property
    def cells(self) -> int:
        """How many counts there are, known before any event is read."""
        return len(self.catalogue.ids) * self.width

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that must be read."""
        roles, context = self.roles, self.context.columns if self.context else ()
        names = [roles.user, roles.item, roles.times, roles.value, *context]
        names += [condition.column for condition in self.conditions]
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def has_same_records(self, other: EventLog) -> bool:
        """Say whether the same rows count, as the same cells; how they are counted may differ."""
        kept = self.source is other.source and self.catalogue is other.catalogue and self.context is other.context
        return kept and (self.roles, self.conditions) == (other.roles, other.conditions)

    @classmethod
    def of(
        cls,
        records: Iterable[Sequence[Any]],
        *,
        items: Any,
        contexts: Sequence[str] | None = None,
        counting: Literal["records", "users"] = "records",
        context_of: Literal["record", "user"] = "record",
        value_range: Any = None,
    ) -> EventLog:
        """Make a small log from (user, item), (user, item, context) or, with a range, (user, item, value) records.

        No items are to be selected.
        """
        rows = [tuple(record) for record in records]
        catalogue = UnknownCatalogue() if items is None else read_catalogue(items)
        listed = [row[1] for row in rows] if items is None else catalogue.ids
        user_type = pa.int64() if rows and isinstance(rows[0][0], int) else pa.string()
        item_type = pa.int64() if listed and isinstance(listed[0], int) else pa.string()
        columns = {
            "user": pa.array([row[0] for row in rows], user_type),
            "item": pa.array([row[1] for row in rows], item_type),
        }
        if contexts is not None:
            columns["context"] = pa.array([row[2] for row in rows], pa.string())
        value = None if value_range is None else "value"
        if value is not None:
            columns[value] = pa.array([row[2] for row in rows], pa.float64())
        return cls(
            source=TableSource(pa.table(columns)),
            roles=Roles("user", "item", value=value),
            catalogue=catalogue,
            context=None if contexts is None else Context(("context",), (tuple(contexts),)),
            counting=counting,
            context_of=context_of,
            value_range=read_range(value, value_range),
        )

    def describe(self) -> dict[str, Any]:
        """Return the parameters of the log, never its path."""
        names_items = self.roles.item != self.roles.user  # a user table names none
        described: dict[str, Any] = {} if isinstance(self.source, RowAsUserSource) else {"user": self.roles.user}
        described |= {"item": self.roles.item} if names_items else {}
        if self.selects:
            described["select_items"] = True
        if self.context is not None:
            described["context"] = self.context.specification
            if self.selects_contexts:
                described["select_contexts"] = True
            elif self.context.part is None:
                pairs = zip(self.context.columns, self.context.domains, strict=True)
                described["contexts"] = {name: list(domain) for name, domain in pairs}
            described["context_of"] = self.context_of
        described |= {"count": self.counting} if names_items else {}
        limits = None if self.value_range is None else ",".join(map(str, self.value_range))
        numbers = {"times": self.roles.times, "value": self.roles.value, "value_range": limits}
        described |= {name: value for name, value in numbers.items() if value is not None}
        described |= self.roles.numbers.describe()
        described |= described_conditions(self.conditions)
        for clock in clocks(self.context, self.conditions):
            described |= {"time_format": clock.pattern} if clock.pattern else {}
            described |= {"timezone": clock.zone} if clock.zone else {}
        return described

    def requested(self) -> dict[str, Any]:
        """Return the description with the format of text files, but without the names of files and tables."""
        source = underlying_source(self.source)
        return {**self.describe(), **(source.text.to_json() if isinstance(source, FileSource) else {})}


@document_parameters(READERS["events"].flags(), events="Where the events are: see above.")
def read_events(
    events: Any,
    *,
    user: str | None = None,
    item: str | None = None,
    items: Any = None,
    select_items: bool = False,
    context: Any = None,
    contexts: Any = None,
    select_contexts: bool = False,
    context_of: Literal["record", "user"] = "record",
    count: Literal["records", "users"] = "records",
    where: str | Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
    time: str | None = None,
    times: str | None = None,
    value: str | None = None,
    value_range: Any = None,
    decimal: Separators = None,
    thousands: Separators = None,
    time_format: str | None = None,
    timezone: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    format: str | None = None,  # noqa: A002  (the name of the flag)
    table: str | None = None,
    query: str | None = None,
    drop_nulls: bool = True,
) -> EventLog:
    """Describe an event log: a path, several paths, any Arrow-compatible object, a database, or a packed store.

    Reads column names and types, no rows. The parameters are the command line's flags. A store records how it was
    read, so only ``count`` and ``context_of`` can be chosen. Without a public catalogue, ``select_items`` lets a
    release find the items that enough users have, which takes a delta, and ``select_contexts`` those values of a
    context column.

    The meaning of a row depends on that row and on these parameters alone. Headcount drops a row without user or
    item, and one whose value or number of records cannot be read. A time or context that cannot be read is
    unlisted. ``drop_nulls`` changes nothing.

    >>> table = pa.table({"who": ["ann", "bob"], "what": ["tea", "rye"], "when": ["2026-03-06", None]})
    >>> log = read_events(table, user="who", item="what", context="weekday:when", items="rye,tea")
    >>> log.width, log.context.labels[4]
    (8, 'Friday')
    """
    words = {name: value for name, value in locals().items() if name in KEPT}
    for flag, choice, allowed in (
        (param.count, count, ("records", "users")), (param.context_of, context_of, ("record", "user")),
    ):  # fmt: skip
        if choice not in allowed:
            raise UsageError(f"{flag} must be {' or '.join(allowed)}", given=choice, allowed=allowed)
    text, target = TextOptions(delimiter, encoding, header, format), TableOrQuery(table, query)
    store = open_packed(
        events, words | {"items": items, "value_range": value_range}, text, target,
        selecting={param.select_items(True): select_items, param.select_contexts(True): select_contexts},
    )  # fmt: skip
    if store is not None:
        return packed_log(store, count=count, context_of=context_of)
    for name, column, what in ((param.user, user, "who"), (param.item, item, "what")):
        if column is None:
            raise UsageError(
                f"{name} is missing", remedy=f"give the column that says {what}; only a store goes without"
            )
    catalogue, limits = absent_or_read(items, select_items=select_items), read_range(value, value_range)
    roles, read, conditions = read_roles(**words, select_contexts=select_contexts)
    source = open_source(events, text, target)
    if isinstance(source, FileSource):
        source = replace(source, whole=frozenset({roles.user, roles.item, roles.times}))
    log = EventLog(
        source=source, roles=roles, catalogue=catalogue, context=read, conditions=conditions, counting=count,
        context_of=context_of, value_range=limits,
    )  # fmt: skip
    roles.numbers.check(log.type_of)
    return log


def open_packed(
    events: Any,
    words: Mapping[str, Any],
    text: TextOptions,
    target: TableOrQuery,
    *,
    selecting: Mapping[Parameter, bool],
) -> PackedSource | None:
    """Open a packed store, None if the events are raw; refuse all that says how to read raw events."""
    store = store_path(events)
    if store is None:
        return None
    target.refuse(os.fspath(store))
    for flag, given in selecting.items():
        if given:
            raise UsageError(
                f"{flag} cannot be given for {os.fspath(store)}, which was packed with a public catalogue",
                remedy="leave it out, or release from the raw events",
            )
    refuse_packed(store, words, text)
    return open_store(store)


def packed_log(
    source: PackedSource,
    *,
    count: Literal["records", "users"] = "records",
    context_of: Literal["record", "user"] = "record",
) -> EventLog:
    """Describe the log that a store was packed from, in the same words."""
    ids, labels = read_stored_catalogue(source)
    try:
        roles, context, conditions = _parse_description(source.events)
    except (KeyError, TypeError, UsageError) as error:
        raise damaged(source.folder, f"it does not say how it was read ({error})") from error
    log = EventLog(
        source=source, roles=roles, catalogue=Catalogue(ids, labels), context=context, conditions=conditions,
        counting=count, context_of=context_of,
    )  # fmt: skip
    stored = source.description
    if (log.catalogue.digest, log.cells) != (stored["catalogue"]["digest"], stored["cells"]):
        raise damaged(source.folder, "its catalogue or contexts are not those it was packed with")
    return log


def store_description(log: EventLog) -> dict[str, Any]:
    """Return what a store says of its log: all that was asked of it, but for what each release chooses anew."""
    words = {name: value for name, value in log.describe().items() if name not in ("count", "context_of")}
    if _parse_description(words) != (log.roles, log.context, log.conditions):
        raise UsageError(
            f"the log of {log.source.name} cannot be described in words, so it cannot be packed",
            remedy="make it with headcount.read_events",
        )
    return words


def matches_description(source: PackedSource, words: dict[str, Any]) -> bool:
    """Tell whether a store was packed with these words, as far as they go."""
    try:
        return read_roles(**(source.events | words)) == _parse_description(source.events)
    except UsageError:
        return False


def _parse_description(words: dict[str, Any]) -> tuple[Roles, Context | None, tuple[Condition, ...]]:
    """Understand the words of a description; columns listed with their values may have any names."""
    listed = words.get("contexts")
    return read_roles(**(words if listed is None else words | {"context": list(listed)}))


def check_log(log: object) -> None:
    """Refuse any other object than a log."""
    if not isinstance(log, EventLog):
        raise UsageError(
            f"log must be an EventLog, not {type(log).__name__}", remedy="make one with headcount.read_events"
        )
