"""The data sets that can be loaded by name, as entries.toml lists them: files, licence, parser, Parquet copy."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import pyarrow as pa

from headcount.events.sources.source import Source
from headcount.lab.datasets import baskets, downloads, large, stand_ins, user_tables
from headcount.lab.datasets.files import Member
from headcount.lab.datasets.parsed import Parsed, Sizes
from headcount.lab.datasets.stand_ins import StandInShape

_MODULES = {
    "baskets": baskets,
    "downloads": downloads,
    "large": large,
    "stand_ins": stand_ins,
    "user_tables": user_tables,
}


@dataclass(frozen=True)
class Download:
    """One form of a publisher's files: which there are, what they must hold, and how they are read."""

    members: tuple[Member, ...]
    holds: str
    read: Callable[[Path], Parsed]

    @property
    def files(self) -> str:
        """The names of the files to download."""
        named = (member.archive or member.name for member in self.members)
        return " and ".join(dict.fromkeys(named))


@dataclass(frozen=True, kw_only=True)
class DatasetEntry:
    """The description of a data set."""

    about: str
    licence: str
    page: str
    """The publisher, and where the data set is described."""
    downloads: tuple[Download, ...] = ()
    publisher_says: Sizes | None = None
    """The size of the publisher's files; of a table of users, only the number of records."""
    checksums: Mapping[str, str] = field(default_factory=dict)
    """The MD5 of archives, where the publisher gives it."""
    shared: tuple[str, ...] = ()
    """The names of the Parquet files of a copy: rows, and labels of items."""
    labels: tuple[str, ...] = ()
    """The columns of the labels file: item and label."""
    copy_columns: str = "user, item"
    """The columns that the rows of a copy must have."""
    shape: StandInShape | None = None
    scale: float = 1.0
    words: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """How contexts are read, by column: a log takes the words of the first column it has."""
    prepare: Callable[[Source], Source] | None = None
    """The preparation of the rows, in either form."""
    people: Callable[[pa.Table], pa.Table] | None = None
    """How a table of users becomes a log."""
    columns: range | None = None
    """The items, where they are numbered and all numbers count; otherwise those that occur."""


def parse_entry(fields: Mapping[str, Any]) -> DatasetEntry:
    """Read one table of entries.toml.

    >>> parse_entry({"about": "a", "licence": "b", "page": "c", "columns": {"first": 0, "last": 9}}).columns
    range(0, 10)
    """
    parsed = dict(fields)
    parsed["downloads"] = tuple(map(_parse_download, fields.get("downloads", ())))
    for name in ("shared", "labels"):
        parsed[name] = tuple(fields.get(name, ()))
    for name in ("shape", "prepare", "people"):
        parsed[name] = _resolve(fields[name]) if name in fields else None
    if "publisher_says" in fields:
        parsed["publisher_says"] = Sizes(**fields["publisher_says"])
    if "columns" in fields:
        parsed["columns"] = range(fields["columns"]["first"], fields["columns"]["last"] + 1)
    return DatasetEntry(**parsed)


def _parse_download(fields: Mapping[str, Any]) -> Download:
    members: list[Member] = []
    for value in map(_resolve, fields["members"]):
        members += value if isinstance(value, tuple) else [value]
    return Download(tuple(members), fields["holds"], _resolve(fields["read"]))


def _resolve(reference: str) -> Any:
    """Return the value that ``module.name`` stands for."""
    module, name = reference.split(".")
    return getattr(_MODULES[module], name)


_LIST = resources.files("headcount.lab.datasets").joinpath("entries.toml").read_text(encoding="utf-8")
ENTRIES = {name: parse_entry(fields) for name, fields in tomllib.loads(_LIST).items()}
"""All data sets that are known by name."""
