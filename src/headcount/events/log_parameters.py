"""Parameters of event logs, declared once: command-line flags and Python keywords derive from them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headcount._internal.parameters import Flag
from headcount.errors import Parameter, param


def _contexts(given: Any, parameter: Parameter) -> Any:  # noqa: ARG001 - as all that is read
    """Read the values of contexts: of one column, of several, or a table in a configuration."""
    if given and all(isinstance(entry, tuple) for entry in given):
        return dict(given)
    return (given[0] if len(given) == 1 else list(given)) if given else None


_LIST = "FILE[:ID[,LABEL]]"
FLAGS: Mapping[str, Flag] = {
    "user": Flag("Column that says who.", "COL"),
    "item": Flag("Column that says what.", "COL"),
    "items": Flag(
        "Public catalogue: a .txt, CSV or Parquet file, or a comma-separated list of ids.", _LIST, raw=True
    ),
    "select_items": Flag(
        f"There is no public catalogue: release the items that enough people have (needs {param.delta}).",
        switch=True,
    ),
    "resource": Flag("Column that says what was tagged.", "COL"),
    "tag": Flag("Column that holds the tag.", "COL"),
    "resources": Flag("Public list of resources: a file, or ids with commas.", _LIST),
    "vocabulary": Flag("Public list of tags: a file, or tags with commas.", _LIST),
    "select_tags": Flag(
        f"There is no public list of tags: release those that enough people use (needs {param.delta}).",
        switch=True,
    ),
    "context": Flag("Context: COL, COL,COL, or weekday:COL, hour:COL, month:COL.", "COL", raw=True),
    "contexts": Flag(
        "Public values of the context (repeat for several columns).",
        "A,B,C | COL=A,B,C",
        raw=True,
        many=True,
        read=_contexts,
    ),
    "select_contexts": Flag(
        f"There is no public list of them: release the contexts that enough people have (needs {param.delta}).",
        switch=True,
    ),
    "context_of": Flag(
        "user: each user keeps the records of one context value, their most frequent.",
        choices=("record", "user"),
        default="record",
    ),
    "count": Flag("Count records, or distinct users.", choices=("records", "users"), default="records"),
    "where": Flag("Keep only such records (repeatable).", "'COL OP VALUE'", many=True),
    "time": Flag(f"Column that {param.since} and {param.until} look at.", "COL"),
    "since": Flag("Keep records from this moment on.", "T"),
    "until": Flag("Keep records before this moment.", "T"),
    "times": Flag("Column that says how many records a row stands for.", "COL"),
    "value": Flag("Column that holds a number of each record, such as a rating.", "COL"),
    "value_range": Flag(
        f"Public range of {param.value}; what lies outside is cut to its ends. Totals find one.", "LO,HI"
    ),
    "decimal": Flag(
        'Decimal separator of numbers in text columns, or in one, such as "," (repeatable).',
        "C | COL=C",
        many=True,
    ),
    "thousands": Flag(
        'Thousands separator of numbers in text columns, or in one, such as "." (repeatable).',
        "C | COL=C",
        many=True,
    ),
    "time_format": Flag("s, ms, us, min@ORIGIN or a strptime pattern.", "F"),
    "timezone": Flag("Zone of weekday, hour and month.  [default: the column's, else UTC]", "ZONE"),
    "delimiter": Flag("Delimiter of text files.  [default: comma, tab for .tsv]", "C"),
    "encoding": Flag("Encoding of text files.", "NAME", default="utf-8"),
    "header": Flag(
        "Text files have no header: columns are named 1, 2, 3, …",
        flag=param.header(False),
        switch=True,
        read=lambda given, _: not given,
    ),
    "format": Flag(
        "Format of files whose names do not say it, and of standard input.",
        choices=("parquet", "csv", "jsonl", "arrow"),
    ),
    "table": Flag("Table of a database, such as visits or shop.visits.", "NAME"),
    "query": Flag("Query of a database, in place of a table.", "SQL"),
    "drop_nulls": Flag("Rows without user or item are left out, with or without it.", switch=True),
}

_TAGS = ("resource", "tag", "resources", "vocabulary", "select_tags")
_WINDOW = ("where", "time", "since", "until")
TEXT = ("delimiter", "encoding", "header", "format")
"""How files are written."""
_DATABASE = ("table", "query")
_NUMBERS = ("decimal", "thousands")
"""How text columns write numbers."""
_READING = (*_NUMBERS, "time_format", "timezone", *TEXT, *_DATABASE, "drop_nulls")
KEPT = ("user", "item", "context", "contexts", *_WINDOW, "times", "value", *_NUMBERS, "time_format", "timezone")
"""The parameters that a store keeps of its log, beside the catalogue."""


@dataclass(frozen=True)
class Reader:
    """A reader of logs: the function, the name of its files, and its parameters, of which files need some."""

    home: str
    files: str
    names: tuple[str, ...]
    needed: tuple[str, ...] = ()

    def flags(self) -> dict[str, Flag]:
        """Return what can be said, as it is declared."""
        return {name: FLAGS[name] for name in self.names}

    def read(self, events: Any, /, **arguments: Any) -> Any:
        """Make the log, or open the source, with arguments that were read as declared."""
        module, _, name = self.home.partition(":")
        return getattr(importlib.import_module(f"headcount.events.{module}"), name)(events, **arguments)


READERS: Mapping[str, Reader] = {
    "events": Reader(
        "log:read_events", "EVENTS...", tuple(name for name in FLAGS if name not in _TAGS), ("user", "item")
    ),
    "ratings": Reader(
        "log:read_events",
        "EVENTS...",
        tuple(name for name in FLAGS if name not in (*_TAGS, "context_of", "count", "times")),
        ("user", "item"),
    ),
    "compared": Reader(
        "log:read_events",
        "EVENTS...",
        tuple(name for name in FLAGS if name not in (*_TAGS, "table")),  # which says where the results go
        ("user", "item"),
    ),
    "people": Reader("user_table:read_people", "PEOPLE...", ("user", *_WINDOW, *_READING), ("user",)),
    "tags": Reader("tag_log:read_tags", "EVENTS...", ("user", *_TAGS, *_WINDOW, *_READING)),
    "attacked": Reader(
        "log:read_events",
        "RATINGS...",
        ("user", "item", "items", *_WINDOW, "times", "value", "value_range", *_READING),
        ("user", "item"),
    ),
    "inspected": Reader("sources.source:open_source", "EVENTS...", (*TEXT, *_DATABASE)),
    "audited": Reader(
        "log:read_events", "[EVENTS...]", ("user", "item", "items", *_WINDOW, "times", *_READING), ("user", "item")
    ),
}
"""By what a log is read for."""
