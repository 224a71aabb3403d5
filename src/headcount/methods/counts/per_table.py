"""Base of methods that release each table separately: bound, measure and smooth one table at a time.

Items and edges are then two releases beside each other, each with its own part of the grant and its own choices;
they are not reconciled, since each is bounded and smoothed in its own way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from headcount.accounting.budget import Amount, Cost, CostOrGrant, Grant
from headcount.accounting.guarantee import Guarantee, Standing
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.bounds import CountTable, SampleRecords, check_limit
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from headcount.methods.counts.tables import NOUNS, Counts, NoisyTables, assumptions, release_of, table_of
from headcount.methods.method import Bounds, Staged, What, tables_of
from headcount.noise import NoiseSource
from headcount.noise.stages import Stage, Stages, normalize_split, split_among_stages
from headcount.releases.release import Release


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
class PerTableMethod(Staged, ABC):
    """A method that releases each table for itself; what it does with one is in :meth:`make`."""

    name: ClassVar[str]
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None
    bounds: ClassVar[Bounds] = (SampleRecords,)
    covers: ClassVar[str] = "bounded"

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

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Release one table after the other."""
        guarantee = self.guarantee(grant)
        engine = engine or LocalEngine()
        grants = split_among_stages(self.stages(log, grant.cost), grant)
        tables = tables_of(self.what, log)
        released = {table: self.make(log, table, grants[table], noise, engine) for table in tables}
        bounds = {name: table_release.bounded for name, table_release in released.items()}
        return release_of(
            self,
            log,
            guarantee,
            NoisyTables(
                tables={
                    name: table_of(log, name, table_release.counts, table_release.half_width)
                    for name, table_release in released.items()
                },
                noise_distributions={name: table_release.distribution for name, table_release in released.items()},
                steps=tuple(_describe_tables(released)),
                chosen={
                    name: table_release.chosen for name, table_release in released.items() if table_release.chosen
                },
            ),
            bounded=_join_bounds(bounds),
            noise=noise,
            steps=(),
            covers=self.covers,
        )


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
