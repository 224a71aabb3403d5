"""What is audited, and what an attacker sees of it: the real code, run many times on small logs.

A target makes a release of a log exactly as a user would get it: bounds, noise and everything after them. What is
seen is all that is published: the counts, and beside them the laws of the noise, what was chosen, and rankings.

Where a method does nothing across items and people, a log of many copies of a pair, each with people and items of
its own, is as many independent runs in one release. ``tests/audits`` checks that they have the same law as runs
one by one. All other methods are run one by one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from headcount.audits.events import Observations
from headcount.audits.neighbours import Pair
from headcount.budget import Grant
from headcount.engines.local import LocalEngine
from headcount.events.log import EventLog, read_events
from headcount.method import Method
from headcount.noise import NoiseSource
from headcount.registry import METHODS, build
from headcount.releases import Release
from headcount.selection import Selection

SEPARATE = frozenset({"lpa", "sra", "hpa", "lpa-published", "hpa-published"})
"""Methods that treat every item and every person by themselves, but for what is the same in all copies."""

_RECORDS = 1 << 15  # of all copies in one log, about
SELECT_LIMIT = 2
"""How many items of one person count where items are selected."""

MISSING = -1e9
"""Stands for the count of an item that was not selected."""

_NUMBERS = {
    "items": "count",
    "edges": "count",
    "activity": "users",
    "totals": "value",
    "ranking": "count",
    "model/tags": "weight",
    "model/resources": "weight",
    "model/pairs": "noisy",
    "model/together": "noisy",
    "model/people": "users",
}
"""The numbers of each table that noise was added to; what else a table holds follows from such numbers."""


@dataclass(frozen=True)
class Target:
    """A method with its parameters, and what it claims.

    With ``selects`` the catalogue is not public and items are selected first. With ``contexts`` every record has
    one of two contexts, so that items and edges are released. ``copies`` says that many copies of a pair may be
    run in one release. With ``once`` every person counts once per item. ``make`` and ``engine`` let broken methods
    be audited; ``called`` is what it is called. ``reads`` makes the log of a pair for methods that need more of it
    than people and items.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    epsilon: Decimal = Decimal(1)
    delta: Decimal = Decimal(0)
    selects: bool = False
    contexts: bool = False
    once: bool = False
    make: Callable[[str, Mapping[str, Any]], Method] = build
    engine: Callable[[], Any] = LocalEngine
    copies: bool = False
    called: str = ""
    reads: Callable[[Pair, bool], EventLog] | None = None

    @classmethod
    def of(cls, name: str, limit: int, epsilon: Decimal, delta: Decimal = Decimal(0)) -> Target:
        """Return a registered method, with the limit where it takes one."""
        parameters = {} if name not in _limited() else {"limit": limit}
        return cls(name, parameters, epsilon, delta, copies=name in SEPARATE)

    @property
    def shown(self) -> str:
        """What it is called."""
        return self.called or self.name

    def grant(self) -> Grant:
        """Return what one run may spend."""
        return Grant(self.epsilon, self.delta or None)

    def observe(self, pair: Pair, source: NoiseSource, runs: int, *, present: bool) -> Observations:
        """Run so many times with the person, or without."""
        if self.copies:
            size = min(runs, max(1, _RECORDS // max(1, len(pair.records(present=True)))))
            parts = [self._copied(pair, source, size, present=present) for _ in range(-(-runs // size))]
        else:
            parts = [self._once(pair, source, present=present) for _ in range(runs)]
        found = Observations.joined(parts)
        return Observations(found.kinds[:runs], found.numbers[:runs], found.names)

    def _once(self, pair: Pair, source: NoiseSource, *, present: bool) -> Observations:
        if self.reads is not None:
            return seen(self.release(self.reads(pair, present), source), pair)
        log = log_of(pair, present=present, selects=self.selects, contexts=self.contexts, once=self.once)
        return seen(self.release(log, source), pair)

    def _copied(self, pair: Pair, source: NoiseSource, copies: int, *, present: bool) -> Observations:
        release = self.release(log_of(pair, present=present, copies=copies, contexts=self.contexts), source)
        parts = {name: table["count"].to_numpy().reshape(copies, -1) for name, table in release.tables.items()}
        names = tuple(each for name, part in parts.items() for each in _names(name, part.shape[1]))
        return Observations(np.full(copies, _kind(release)), np.concatenate(list(parts.values()), axis=1), names)

    def release(self, log: EventLog, source: NoiseSource) -> Release:
        """Make one release, as the curator would."""
        grant, engine = self.grant(), _engine(self.engine, threads=1)
        if self.selects:
            selection = Selection(limit=SELECT_LIMIT)
            first, grant = selection.split(grant)
            log, _ = selection.select(log, first, source, engine)
            if not log.catalogue.ids:
                return _nothing(self.name, self.make(self.name, self.parameters).guarantee(grant))
        return self.make(self.name, self.parameters).release(log, grant, source, engine)


def seen(release: Release, pair: Pair) -> Observations:
    """Return everything of a release that an attacker sees, in the order of the catalogue."""
    words, names, numbers = [_kind(release)], list[str](), list[np.ndarray[Any, Any]]()
    tagged = "model/tags" in release.tables  # what else a tag model holds follows from its numbers
    if tagged:
        release = replace(release, tables={**release.tables, **_measured_later(release, pair)})
    for name, table in release.tables.items():
        if name == "model/assignments":  # rows of people: how many there are is seen at once
            words.append(f"{len(set(table['user'].to_pylist()))} people")
            continue
        if tagged and name not in _NUMBERS:
            continue
        if name not in _NUMBERS or (name.startswith("model/") and not tagged):
            for column in _numeric(table):
                values = table[column].to_numpy().astype(np.float64)
                names += [f"{column} {number} of {name}" for number in range(values.size)]
                numbers.append(values)
            continue
        column = _NUMBERS[name]
        if name == "ranking":
            words.append("ranked " + ", ".join(map(str, table["item"].to_pylist())))
        if name == "items" and table.num_rows < pair.items:  # what was not selected is seen, too
            found = dict(zip(table["item"].to_pylist(), table[column].to_pylist(), strict=True))
            words.append("selected " + (", ".join(map(str, sorted(found))) or "nothing"))
            values = np.array([found.get(item, MISSING) for item in range(pair.items)])
        elif column in table.column_names:
            values = table[column].to_numpy().astype(np.float64)
        else:
            continue
        names += _names(name, values.size)
        numbers.append(values)
    for name, value in _amounts(release):
        names.append(name)
        numbers.append(np.array([value]))
    row = np.concatenate(numbers) if numbers else np.empty(0)
    return Observations(np.array(["; ".join(filter(None, words))]), row[None, :], tuple(names))


def _measured_later(release: Release, pair: Pair) -> dict[str, pa.Table]:
    """Return what a tag model measures only if much stands out, in the order of the lists, or MISSING."""
    tags = release.tables["model/tags"]["tag"].to_pylist()
    rows = {
        "model/pairs": [(str(item), tag) for item in range(pair.items) for tag in tags],
        "model/together": [(one, other) for at, one in enumerate(tags) for other in tags[at:]],
    }
    made = {}
    for name, keys in rows.items():
        columns = {"model/pairs": ("resource", "tag"), "model/together": ("tag", "other")}[name]
        listed = release.tables[name].to_pylist() if name in release.tables else []
        found = {frozenset(row[each] for each in columns): row["noisy"] for row in listed}
        made[name] = pa.table({"noisy": [float(found.get(frozenset(key), MISSING)) for key in keys]})
    return made


def _names(table: str, size: int) -> tuple[str, ...]:
    return tuple(f"{_NUMBERS[table]} {number} of {table}" for number in range(size))


def _numeric(table: pa.Table) -> list[str]:
    """Return the columns of a table that hold released numbers; what items are called is public."""
    return [field.name for field in table.schema if pa.types.is_floating(field.type)]


def _amounts(release: Release) -> list[tuple[str, float]]:
    """Return the released amounts that stand beside the tables."""
    return [
        (f"{key} of {name}", value)
        for name, values in release.chosen.items()
        for key, value in values.items()
        if isinstance(value, float)
    ]


def _kind(release: Release) -> str:
    """Return what is published beside the numbers."""
    laws = [f"{name} with {law.in_words()}" for name, law in release.noise.items()]
    amounts = {name for name, _ in _amounts(release)}
    rest = {
        name: {key: value for key, value in values.items() if f"{key} of {name}" not in amounts}
        for name, values in release.chosen.items()
    }
    chosen = [f"{name}: {json.dumps(each, default=str)}" for name, each in rest.items()]
    return "; ".join([*laws, *chosen, *([release.bounded] if release.bounded else [])])


@lru_cache(maxsize=64)
def log_of(
    pair: Pair,
    *,
    present: bool,
    copies: int = 1,
    selects: bool = False,
    contexts: bool = False,
    once: bool = False,
) -> EventLog:
    """Return the log of a pair, with the person or without, or of many copies of it in one."""
    records = np.array(pair.records(present=present), dtype=np.int64).reshape(-1, 2)
    people = len(pair.crowd) + 1
    numbers = np.arange(copies)[:, None]
    users = (numbers * people + records[:, 0]).ravel()
    items = (numbers * pair.items + records[:, 1]).ravel()
    table = pa.table({"user": users, "item": items, "context": pa.array(["day"] * len(users), pa.string())})
    words: dict[str, Any] = {"user": "user", "item": "item", "count": "users" if once else "records"}
    words |= {"select_items": True} if selects else {"items": list(range(copies * pair.items))}
    words |= {"context": "context", "contexts": ["day", "night"]} if contexts else {}
    return read_events(table, **words)


@lru_cache(maxsize=8)
def _engine(kind: Callable[..., Any], threads: int) -> Any:
    return kind(threads=threads)


def _limited() -> frozenset[str]:
    return frozenset(name for name, method in METHODS.items() if "limit" in method.__dataclass_fields__)  # type: ignore[attr-defined]


def _nothing(name: str, guarantee: Any) -> Release:
    table = pa.table({"item": pa.array([], pa.int64()), "count": pa.array([], pa.float64())})
    return Release(method=name, guarantee=guarantee, noise={}, tables={"items": table})
