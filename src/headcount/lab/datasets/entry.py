"""The description of a data set: publisher's files, licence, parser, and the name of its Parquet copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from headcount.events.sources.source import Source
from headcount.lab.datasets.files import Member
from headcount.lab.datasets.parsed import Parsed, Sizes
from headcount.lab.datasets.stand_ins import StandInShape


@dataclass(frozen=True)
class Download:
    """One form of a publisher's files: which there are, what they must hold, and how they are read."""

    members: tuple[Member, ...]
    holds: str
    read: Callable[[Path], Parsed]

    @property
    def files(self) -> str:
        """What is to be downloaded."""
        named = (member.archive or member.name for member in self.members)
        return " and ".join(dict.fromkeys(named))


@dataclass(frozen=True, kw_only=True)
class DatasetEntry:
    """What is known of a data set."""

    about: str
    licence: str
    page: str
    """Who publishes it, and where it is described."""
    downloads: tuple[Download, ...] = ()
    publisher_says: Sizes | None = None
    """How large the publisher's files are; of a table of people, only how many records."""
    checksums: Mapping[str, str] = field(default_factory=dict)
    """MD5 of archives, where the publisher gives it."""
    shared: tuple[str, ...] = ()
    """The names of the Parquet files of a copy: rows, and what items are called."""
    labels: tuple[str, str] = ("", "")
    copy_columns: str = "user, item"
    """What the rows of a copy must have."""
    shape: StandInShape | None = None
    scale: float = 1.0
    words: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """How contexts are read, by the column that says them: a log takes the words of the first one it has."""
    prepare: Callable[[Source], Source] | None = None
    """What is done to the rows, of either form."""
    people: Callable[[pa.Table], pa.Table] | None = None
    """How a table of people becomes a log."""
    columns: range | None = None
    """The items, where they are numbered and all numbers count; otherwise those that occur."""
