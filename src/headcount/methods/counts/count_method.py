"""Bases of count methods: ``CountMethod`` measures and estimates; ``PerTableMethod`` does so table by table.

A count method has two functions. ``measure`` spends the grant and returns released values; ``estimate`` makes the
tables from these and public settings alone.

In a :class:`PerTableMethod` items and edges are two releases beside each other, each with its own part of the
grant and its own choices. They are not reconciled, since each is bounded and smoothed in its own way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar, cast

from headcount.accounting.budget import Amount, Cost, CostOrGrant, Grant
from headcount.accounting.guarantee import Guarantee, Standing
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.adaptive.estimator import LEVEL
from headcount.bounds import CountTable, SampleRecords, check_limit
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from headcount.methods.counts.tables import (
    NOUNS,
    Counts,
    NoisyCounts,
    NoisyTables,
    assumptions,
    at_most,
    estimate_tables,
    table_of,
)
from headcount.methods.method import EVERYTHING, Bounds, Method, Staged, What, describe_filters, tables_of
from headcount.noise import NoiseSource
from headcount.noise.stages import Stage, Stages, normalize_split, split_among_stages
from headcount.releases.release import Interval, Release

NoisyT = TypeVar("NoisyT")


class CountMethod(Staged, ABC, Generic[NoisyT]):
    """A method that releases counts: ``measure`` spends, ``estimate`` is post-processing."""

    name: ClassVar[str]
    covers: ClassVar[str] = "bounded"
    average: ClassVar[bool] = False
    """Whether intervals hold on average over all items."""

    @abstractmethod
    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """Return the guarantee, without looking at data."""

    @abstractmethod
    def measure(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine) -> NoisyT:
        """Spend the grant, and return released values."""

    @abstractmethod
    def estimate_tables(self, log: EventLog, noisy: NoisyT) -> NoisyTables:
        """Return the tables, from released values and public settings alone."""

    @abstractmethod
    def extent(self, log: EventLog, noisy: NoisyT) -> str:
        """Say how much one user could add."""

    def estimate(self, log: EventLog, guarantee: Guarantee, noisy: NoisyT, *, simulated: bool) -> Release:
        """Return the release of noisy values; this is post-processing."""
        bounded = self.extent(log, noisy)
        return release_of(
            cast("Method", self),
            log,
            guarantee,
            self.estimate_tables(log, noisy),
            bounded=bounded,
            simulated=simulated,
            covers="true" if bounded == EVERYTHING else self.covers,
            average=self.average,
        )

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Measure, then estimate."""
        guarantee = self.guarantee(grant)
        noisy = self.measure(log, grant, noise, engine or LocalEngine())
        return self.estimate(log, guarantee, noisy, simulated=not noise.is_private)


def release_of(
    method: Method,
    log: EventLog,
    guarantee: Guarantee,
    noised: NoisyTables,
    *,
    bounded: str,
    simulated: bool,
    covers: str = "bounded",
    average: bool = False,
) -> Release:
    """Put a count release together."""
    return Release(
        method=method.name,
        guarantee=guarantee,
        noise=noised.noise_distributions,
        tables=noised.tables,
        contexts=log.context.labels if log.context and "edges" in noised.tables else None,
        context_name=log.context.name if log.context and "edges" in noised.tables else None,
        interval=Interval(level=LEVEL, covers=covers, average=average),
        counts=log.counting,
        bounded=bounded,
        chosen=noised.chosen,
        steps=(*describe_filters(log), *noised.steps),
        catalogue=log.catalogue.digest,
        simulated=simulated,
    )


class KeptRecords(CountMethod[NoisyCounts]):
    """A method that keeps at most ``limit`` records of each user, and releases items and edges of these."""

    limit: int

    def estimate_tables(self, log: EventLog, noisy: NoisyCounts) -> NoisyTables:
        """Reconcile items with edges."""
        return estimate_tables(log, noisy)

    def extent(self, log: EventLog, noisy: NoisyCounts) -> str:  # noqa: ARG002
        """Say how many records of each user count."""
        return at_most(self.limit, log)


@dataclass(frozen=True)
class TableRelease:
    """One table as a method made it: counts, how far each may be off, the noise that was drawn, and its story.

    ``bounded`` says in words what one person could add at most.
    """

    counts: Counts
    half_width: float | Counts
    distribution: NoiseDistribution
    bounded: str
    steps: tuple[str, ...]
    chosen: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PerTableMethod(CountMethod[Mapping[CountTable, TableRelease]]):
    """A method that releases each table for itself; what it does with one is in :meth:`make`."""

    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None
    bounds: ClassVar[Bounds] = (SampleRecords,)

    what: What | None = None
    shares: Mapping[str, Amount] | None = None

    @abstractmethod
    def make(
        self, log: EventLog, table: CountTable, grant: Grant, noise: NoiseSource, engine: Engine
    ) -> TableRelease:
        """Spend a table's part of the grant on it."""

    @property
    @abstractmethod
    def declared(self) -> str:
        """What the caller chose, as the beginning of "… chosen without looking at the log"."""

    def stage(self, log: EventLog, table: CountTable) -> Stage:  # noqa: ARG002
        """Say what is done with a table, as far as it is known without data; refuse what cannot be done."""
        return Stage(table)

    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """Pure ε for adding or removing a user."""
        return Guarantee(epsilon=priced.epsilon, assumes=assumptions(self.declared))

    def stages(self, log: EventLog, price: Cost) -> Stages:  # noqa: ARG002
        """One table after the other."""
        return normalize_split((self.stage(log, table) for table in tables_of(self.what, log)), self.shares)

    def measure(
        self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine
    ) -> Mapping[CountTable, TableRelease]:
        """Spend each table's part of the grant on it, one table after the other."""
        grants = split_among_stages(self.stages(log, grant.cost), grant)
        return {table: self.make(log, table, grants[table], noise, engine) for table in tables_of(self.what, log)}

    def estimate_tables(self, log: EventLog, noisy: Mapping[CountTable, TableRelease]) -> NoisyTables:
        """Put the tables together."""
        return NoisyTables(
            tables={
                name: table_of(log, name, released.counts, released.half_width) for name, released in noisy.items()
            },
            noise_distributions={name: released.distribution for name, released in noisy.items()},
            steps=tuple(_describe_tables(noisy)),
            chosen={name: released.chosen for name, released in noisy.items() if released.chosen},
        )

    def extent(self, log: EventLog, noisy: Mapping[CountTable, TableRelease]) -> str:  # noqa: ARG002
        """Join what one user could add to each table."""
        return _join_bounds({name: released.bounded for name, released in noisy.items()})


@dataclass(frozen=True, kw_only=True)
class UpToMaximum(PerTableMethod):
    """A method that keeps everything of people within a declared maximum, ``limit`` (M), and smooths counts."""

    covers: ClassVar[str] = "smoothed"

    limit: int

    def __post_init__(self) -> None:
        check_limit(self.limit)

    @property
    def declared(self) -> str:
        """The maximum."""
        return f"the maximum of {self.limit} was"


def _describe_tables(released: Mapping[CountTable, TableRelease]) -> list[str]:
    """Tell each table's story; say which table it is about where there are two."""
    if len(released) == 1:
        return [step for table_release in released.values() for step in table_release.steps]
    return [
        f"For the {NOUNS[name]}s: {step[0].lower()}{step[1:]}"
        for name, table_release in released.items()
        for step in table_release.steps
    ]


def _join_bounds(bounds: Mapping[CountTable, str]) -> str:
    """Say what one person could add, once if it is the same for all tables.

    >>> _join_bounds({"items": "at most 3 records per person", "edges": "at most 3 records per person"})
    'at most 3 records per person'
    """
    if len(set(bounds.values())) == 1:
        return next(iter(bounds.values()))
    return " and ".join(f"{bound} ({name})" for name, bound in bounds.items())
