"""One trial: a registered method run once on a log with known true counts, and measured.

Nothing here is private. The noise is seeded, so releases are marked as simulated, and they are measured against
true counts: whatever comes out is for the curator's eyes.

A trial is named by plain data, and its noise follows from that name and a seed alone: from no clock, no order of
trials and no number of processes.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from headcount._internal.arrays import Floats
from headcount.accounting.budget import Grant
from headcount.bounds import ActivityHistogram, SampleRecords
from headcount.engines.engine import Engine
from headcount.errors import GrantError, UnknownNameError, UsageError
from headcount.events.log import EventLog
from headcount.lab.compare.caching_engine import CachingEngine
from headcount.methods.method import describe_extent
from headcount.methods.registry import build
from headcount.noise import SeededNoise
from headcount.releases.release import Release

EVERYTHING = 2**31 - 1  # records of each person that the truth counts
_RECORDED_NAMES = {
    "headcount.lab.replicate": "headcount.lab.papers",
    "headcount.lab.compare": "headcount.lab.comparing",
}
"""Packages of trial functions, and their names in recorded figures: the seed depends on the recorded name."""


@dataclass(frozen=True, kw_only=True)
class Number:
    """One measured number; ``key`` tells rows of one metric apart where k does not: a context, an item."""

    metric: str = ""
    table: str | None = None
    k: int | None = None
    key: str | None = None
    value: float


def numbers_of(values: Mapping[str, float]) -> Iterator[Number]:
    """Return numbers by metric, all about items."""
    for metric, value in values.items():
        yield Number(metric=metric, table="items", value=float(value))


@dataclass(frozen=True)
class Truth:
    """The exact counts of a log: per item, and per item and context with the unknown context last."""

    items: Floats
    edges: Floats
    users: int
    log: EventLog = field(repr=False)

    @classmethod
    def count(cls, log: EventLog, engine: Engine) -> Truth:
        """Count everything of everyone, without any protection."""
        secret = bytes(16)
        counted = engine.measure(log, SampleRecords(EVERYTHING), secret)
        items, edges = (counts.sensitive_values.astype(np.float64) for counts in (counted.items, counted.edges))
        users = int(engine.measure(log, ActivityHistogram("edges", 1), secret).sensitive_values.sum())
        return cls(items, edges, users, log)

    @property
    def records(self) -> float:
        """How many records there are, or pairs of person and cell where users are counted."""
        return float(self.edges.sum())

    @property
    def tables(self) -> tuple[str, ...]:
        """Which tables the log has."""
        return ("items",) if self.log.context is None else ("items", "edges")

    @property
    def described(self) -> str:
        """What was counted, in words."""
        kind = "people" if self.log.counting == "users" else "records"
        return f"{kind}, of {describe_extent(self.log)}"


Measure = Callable[[Truth, Release], float | Iterable[Number]]
"""What is measured of a release: one number, or rows. Importable, so that worker processes find it."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What is run: a method on a log, or any ``function`` named ``package.module:name`` in its place.

    ``parameters`` are those of the method, as :func:`headcount.methods.registry.build` takes them; ``label``
    tells apart what differs in other parameters than the limit, and is the method's name where none is given.

    >>> Trial.for_dataset("films", "sra", epsilon="1", limit=10, run=3).identity
    '{"dataset":"films","delta":null,"epsilon":"1","function":null,"method":"sra","parameters":{"limit":10},"run":3}'
    """

    dataset: str
    method: str
    epsilon: str
    delta: str | None = None
    parameters: tuple[tuple[str, Any], ...] = ()
    run: int = 0
    label: str = ""
    function: str | None = None

    @classmethod
    def for_dataset(
        cls,
        dataset: str,
        method: str,
        *,
        epsilon: str,
        delta: str | None = None,
        run: int = 0,
        label: str = "",
        function: str | None = None,
        **parameters: Any,
    ) -> Trial:
        """Make a trial, with the parameters as keywords."""
        return cls(
            dataset=dataset,
            method=method,
            epsilon=epsilon,
            delta=delta,
            parameters=tuple(sorted(parameters.items())),
            run=run,
            label=label or method,
            function=function,
        )

    @property
    def limit(self) -> int | None:
        """The limit, where one is given."""
        return dict(self.parameters).get("limit")

    @cached_property
    def identity(self) -> str:
        """Everything that the noise hangs on, as text; the label is a name alone."""
        content = {name: value for name, value in asdict(self).items() if name != "label"}
        for package, recorded in _RECORDED_NAMES.items():
            content["function"] = content["function"] and content["function"].replace(package, recorded)
        return json.dumps(content | {"parameters": dict(self.parameters)}, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class Bench:
    """What a trial runs on; :meth:`noise` is fresh for every trial, and the same whenever it is run again."""

    log: EventLog
    truth: Truth
    engine: Engine
    seed: int

    def noise(self, trial: Trial) -> SeededNoise:
        """Return the trial's own noise."""
        return SeededNoise(seed_of(self.seed, trial.identity))

    def release(self, trial: Trial) -> Release:
        """Run the trial's method, which must spend its grant as it must for anybody else."""
        grant = Grant(trial.epsilon, trial.delta)
        method = build(trial.method, dict(trial.parameters))
        release = method.release(self.log, grant, self.noise(trial), self.engine)
        if not grant.is_spent:
            raise GrantError(f"method {trial.method} left a part of its grant unspent")
        return release


Function = Callable[[Bench, Trial], Iterable[Number]]
"""What a trial may run in place of a method and measures."""


def seed_of(seed: int, name: str) -> int:
    """Return the seed that a name has under a base seed.

    >>> seed_of(1, "a") == seed_of(1, "a"), seed_of(1, "a") == seed_of(2, "a")
    (True, False)
    """
    return int.from_bytes(hashlib.sha256(f"{seed}|{name}".encode()).digest()[:16], "little")


def run_name(seed: int, dataset: str, run: int) -> str:
    """Return what all trials of one run on one log share."""
    return f"{seed}|{dataset}|{run}"


def measured(bench: Bench, trial: Trial, measures: Mapping[str, Measure]) -> Iterator[dict[str, Any]]:
    """Run a trial and yield its rows; a method that refuses yields one row, which says why."""
    begin = time.perf_counter()
    if isinstance(bench.engine, CachingEngine):
        bench.engine.begin()
    common = {
        "dataset": trial.dataset,
        "label": trial.label or trial.method,
        "method": trial.method,
        "parameters": json.dumps(dict(trial.parameters), sort_keys=True),
        "limit": trial.limit,
        "epsilon": float(trial.epsilon),
        "delta": None if trial.delta is None else float(trial.delta),
        "run": trial.run,
    }
    try:
        rows = list(_rows(bench, trial, measures))
    except (UsageError, UnknownNameError) as refusal:  # and nothing else: a damaged store is no refusal
        yield {**common, "seconds": time.perf_counter() - begin, "refused": str(refusal)}
        return
    seconds = time.perf_counter() - begin
    for row in rows:
        value = None if math.isnan(row.value) else row.value
        yield {**common, **asdict(row), "value": value, "seconds": seconds}


def _rows(bench: Bench, trial: Trial, measures: Mapping[str, Measure]) -> Iterator[Number]:
    if trial.function is not None:
        function: Function = resolve_reference(trial.function)
        yield from function(bench, trial)
        return
    release = bench.release(trial)
    for name, measure in measures.items():
        value = measure(bench.truth, release)
        if isinstance(value, int | float):
            yield Number(metric=name, value=float(value))
        else:
            yield from (Number(**asdict(row) | {"metric": row.metric or name}) for row in value)


def resolve_reference(reference: str) -> Any:
    """Return what ``package.module:name`` names.

    >>> resolve_reference("math:sqrt")(9)
    3.0
    """
    module, colon, name = reference.partition(":")
    if not colon:
        raise UsageError("a function is named as package.module:name", given=reference)
    return getattr(importlib.import_module(module), name)


def reference_of(function: Callable[..., Any]) -> str:
    """Name a function, and what is fixed of its arguments; refuse what another process could not import.

    >>> reference_of(partial(math.pow, 2))
    'math:pow(2)'
    """
    if isinstance(function, partial):
        fixed = [_shown(value) for value in function.args]
        fixed += [f"{name}={_shown(value)}" for name, value in sorted(function.keywords.items())]
        return f"{reference_of(function.func)}({', '.join(fixed)})"
    name = getattr(function, "__qualname__", "")
    if not name or "<" in name:
        raise ValueError(f"{function!r} cannot be imported by another process: define it in a module")
    return f"{function.__module__}:{name}"


def _shown(value: object) -> str:
    return reference_of(value) if callable(value) else repr(value)
