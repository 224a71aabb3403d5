"""Audit targets: a method, its parameters and engine, run many times on small logs to be observed.

Which targets exist is in targets.

A target makes a release of a log exactly as a user would get it: bounds, noise and everything after them. What is
seen is all that is published: the counts, and beside them the laws of the noise, what was chosen, and rankings.

Where a method does nothing across items and people, a log of many copies of a pair, each with people and items of
its own, is as many independent runs in one release. ``tests/lab/audit`` checks that they have the same law as
runs one by one. All other methods are run one by one.

What an attacker observes of a release is everything published, as a category and a vector of numbers. Rows of
numbers must have the same places in all runs. So tables whose rows depend on an earlier release, such as the items
of a selection or the pairs of a model, are laid out over all possible rows: an absent row has the number MISSING,
so that its absence is observed.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount.accounting.budget import Grant
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog, read_events
from headcount.lab.audit.adjacent_logs import Pair
from headcount.lab.audit.outcome_sets import MISSING, NO_NUMBER, Observations
from headcount.methods.method import Method
from headcount.methods.partition_selection.plan import Selection
from headcount.methods.registry import build
from headcount.noise import NoiseSource
from headcount.releases.release import Release

_INTERVALS = frozenset({"low", "high", "rank_low", "rank_high"})  # as far off as laws and released numbers say
_WORKED_OUT = frozenset({"model/topics"})  # from numbers of other tables, without any noise of its own
_PERHAPS = {
    ("model/tags", "weight"): ("model/pairs", "model/together"),
    ("model/items", "offset"): ("model/factors",),
}
"""Tables that a release with a column of another table may have or not, as released numbers say."""

Row = tuple[Hashable, ...]


def observe_release(release: Release, pair: Pair) -> Observations:
    """Return everything of a release that an attacker sees, in the order of the catalogue."""
    words, names, numbers = [kind_of(release)], list[str](), list[NDArray[np.float64]]()
    for name in _tables(release):
        table = release.tables.get(name)
        if table is not None and name == "model/assignments":  # how many people there are is seen at once
            words.append(f"{len(set(table['user'].to_pylist()))} people")
            continue
        if table is not None and name == "ranking":
            words.append("ranked " + ", ".join(map(str, table["item"].to_pylist())))
        if table is not None and name == "items" and table.num_rows < pair.items:
            words.append("selected " + (", ".join(map(str, sorted(table["item"].to_pylist()))) or "nothing"))
        for column, values in _numbers(name, release, pair):
            names += _names(column, values.size, name)
            numbers.append(values)
    for name, value in _amounts(release):
        names.append(name)
        numbers.append(np.array([value]))
    row = np.concatenate(numbers) if numbers else np.empty(0)
    return Observations(np.array(["; ".join(filter(None, words))]), row[None, :], tuple(names))


@lru_cache(maxsize=256)
def _names(column: str, size: int, table: str) -> tuple[str, ...]:
    return tuple(f"{column} {number} of {table}" for number in range(size))


def kind_of(release: Release) -> str:
    """Return what is published beside the numbers."""
    laws = [f"{name} with {law.in_words()}" for name, law in release.noise.items()]
    amounts = {name for name, _ in _amounts(release)}
    rest = {
        name: {key: value for key, value in values.items() if f"{key} of {name}" not in amounts}
        for name, values in release.chosen.items()
    }
    chosen = [f"{name}: {json.dumps(value, default=str)}" for name, value in rest.items()]
    return "; ".join([*laws, *chosen, *([release.bounded] if release.bounded else [])])


def _tables(release: Release) -> list[str]:
    """Return the names of all tables that are there, or might be."""
    columns = [(name, column) for name, table in release.tables.items() for column in table.column_names]
    perhaps = [name for column in columns for name in _PERHAPS.get(column, ())]
    surely = [name for name in release.tables if name not in perhaps]
    return [name for name in (*surely, *perhaps) if name not in _WORKED_OUT]


def _numbers(name: str, release: Release, pair: Pair) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Return the columns of a table that hold numbers or answers of yes and no, laid out where rows vary."""
    table = release.tables.get(name)
    keys, column, rows = _layout(name, release, pair)
    if rows is not None:
        listed = [] if table is None else list(zip(*(table[key].to_pylist() for key in keys), strict=True))
        value_by_row = {} if table is None else dict(zip(listed, _column(table, column), strict=True))
        yield column, np.array([value_by_row.get(row, MISSING) for row in rows], dtype=np.float64)
    elif table is not None:
        for field in table.schema:
            kind = pa.types.is_floating(field.type) or pa.types.is_boolean(field.type)
            if kind and field.name not in _INTERVALS:
                yield field.name, _column(table, field.name)


def _layout(name: str, release: Release, pair: Pair) -> tuple[tuple[str, ...], str, Iterable[Row] | None]:
    """Return the columns that name the rows of a table, that of its numbers, and all rows there could be."""
    items = range(pair.items)
    if name == "items":
        return ("item",), "count", ((item,) for item in items)
    if name == "model/factors":
        return ("item",), "factors", ((item,) for item in items)
    if name == "model/neighbours":
        return ("item", "neighbour"), "similarity", itertools.permutations(items, 2)
    if name == "model/pairs" and "model/tags" not in release.tables:
        return ("item", "other"), "count", itertools.combinations(items, 2)
    if name in ("model/pairs", "model/together"):
        tags = release.tables["model/tags"]["tag"].to_pylist()
        if name == "model/pairs":
            return ("resource", "tag"), "noisy", itertools.product(map(str, items), tags)
        return ("tag", "other"), "noisy", itertools.combinations_with_replacement(tags, 2)
    return (), "", None


def _column(table: pa.Table, name: str) -> NDArray[np.float64]:
    """Return a column as numbers: of a list its length, which is the same however its numbers are turned."""
    if pa.types.is_list(table.schema.field(name).type):
        return np.array([float(np.linalg.norm(vector)) for vector in table[name].to_pylist()])
    return np.asarray(table[name].to_numpy(zero_copy_only=False), dtype=np.float64)


def _amounts(release: Release) -> list[tuple[str, float]]:
    """Return the released amounts that stand beside the tables."""
    return [
        (f"{key} of {name}", value)
        for name, values in release.chosen.items()
        for key, value in values.items()
        if isinstance(value, float)
    ]


_RECORDS = 1 << 15  # of all copies in one log, about


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

    @property
    def shown(self) -> str:
        """What it is called."""
        return self.called or self.name

    @property
    def own_engine(self) -> Any:
        """The engine of this thread: it keeps what it read of a log from run to run, and draws anew in each."""
        return _engine(self.engine, threading.get_ident())

    @cached_property
    def method(self) -> Method:
        """What is run: a description that no run changes."""
        return self.make(self.name, self.parameters)

    def grant(self) -> Grant:
        """Return what one run may spend."""
        return Grant(self.epsilon, self.delta or None)

    def observe(self, pair: Pair, source: NoiseSource, runs: int, *, present: bool) -> Observations:
        """Run so many times with the person, or without."""
        if not self.copies:
            joined = Observations.joined([self._once(pair, source, present=present) for _ in range(runs)])
            numbers = np.nan_to_num(joined.numbers, nan=NO_NUMBER, posinf=-NO_NUMBER, neginf=NO_NUMBER)
            return replace(joined, numbers=numbers)
        size = min(runs, max(1, _RECORDS // max(1, len(pair.records(present=True)))))
        parts = [self._copied(pair, source, size, present=present) for _ in range(-(-runs // size))]
        joined = Observations.joined(parts)
        return Observations(joined.kinds[:runs], joined.numbers[:runs], joined.names)

    def run(self, pair: Pair, source: NoiseSource, *, present: bool) -> Release:
        """Make one release of a log of a pair."""
        if self.reads is not None:
            return self.release(self.reads(pair, present), source)
        log = log_of(pair, present=present, selects=self.selects, contexts=self.contexts, once=self.once)
        return self.release(log, source)

    def observe_release(self, release: Release, pair: Pair) -> Observations:
        """Return what an attacker sees of a release."""
        return observe_release(release, pair)

    def _once(self, pair: Pair, source: NoiseSource, *, present: bool) -> Observations:
        """Run once. That a release fails is seen, too: whether it does must not hang on what anybody wrote."""
        try:
            release = self.run(pair, source, present=present)
        except Exception as error:
            return Observations.failed(type(error).__name__)
        return self.observe_release(release, pair)

    def _copied(self, pair: Pair, source: NoiseSource, copies: int, *, present: bool) -> Observations:
        release = self.release(log_of(pair, present=present, copies=copies, contexts=self.contexts), source)
        parts = {name: table["count"].to_numpy().reshape(copies, -1) for name, table in release.tables.items()}
        names = tuple(f"count {place} of {name}" for name, part in parts.items() for place in range(part.shape[1]))
        return Observations(np.full(copies, kind_of(release)), np.concatenate(list(parts.values()), axis=1), names)

    def release(self, log: EventLog, source: NoiseSource) -> Release:
        """Make one release, as the curator would."""
        grant, engine, method = self.grant(), self.own_engine, self.method
        if not self.selects:
            return method.release(log, grant, source, engine)
        selection = Selection()
        promised = replace(method.guarantee(grant), epsilon=self.epsilon, delta=self.delta)
        first, rest = selection.split(grant)
        log, _ = selection.select(log, first, source, engine)
        if not log.catalogue.ids:
            return _nothing(self.name, promised)
        return replace(method.release(log, rest, source, engine), guarantee=promised)


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
    blank = np.repeat(
        numbers.ravel() * people, pair.blanks if present else 0
    )  # the person is the first of each copy
    users = np.concatenate([blank, users])
    listed = pa.concat_arrays([pa.nulls(blank.size, pa.int64()), pa.array(items)])
    table = pa.table({"user": users, "item": listed, "context": pa.array(["day"] * len(users), pa.string())})
    words: dict[str, Any] = {"user": "user", "item": "item", "count": "users" if once else "records"}
    words |= {"select_items": True} if selects else {"items": list(range(copies * pair.items))}
    words |= {"context": "context", "contexts": ["day", "night"]} if contexts else {}
    return read_events(table, **words)


@lru_cache(maxsize=64)
def _engine(kind: Callable[..., Any], thread: int) -> Any:  # noqa: ARG001 - an engine is for one thread at a time
    return kind(threads=1)


def _nothing(name: str, guarantee: Any) -> Release:
    table = pa.table({"item": pa.array([], pa.int64()), "count": pa.array([], pa.float64())})
    return Release(method=name, guarantee=guarantee, noise={}, tables={"items": table})
