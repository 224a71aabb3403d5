"""Audit targets: a method, its parameters and engine, run many times on small logs to be observed.

Which targets exist is in targets; what an attacker observes of a release is in seeing.

A target makes a release of a log exactly as a user would get it: bounds, noise and everything after them. What is
seen is all that is published: the counts, and beside them the laws of the noise, what was chosen, and rankings.

Where a method does nothing across items and people, a log of many copies of a pair, each with people and items of
its own, is as many independent runs in one release. ``tests/lab/audits`` checks that they have the same law as
runs one by one. All other methods are run one by one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from headcount.accounting.budget import Grant
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog, read_events
from headcount.lab.audit.adjacent_logs import Pair
from headcount.lab.audit.observe import kind_of, observe_release
from headcount.lab.audit.outcome_sets import NO_NUMBER, Observations
from headcount.methods.method import Method
from headcount.methods.partition_selection.plan import Selection
from headcount.methods.registry import build
from headcount.noise import NoiseSource
from headcount.releases.release import Release

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
