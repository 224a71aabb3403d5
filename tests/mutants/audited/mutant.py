"""The mutant class, and a sound method in parts of which most mutants break one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Floats, Integers
from headcount.accounting.budget import Grant
from headcount.adaptive.estimator import LEVEL
from headcount.bounds import Bounded, BoundedCounts, SampleRecords, Sensitivity
from headcount.bounds.bounded import SEAL
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from headcount.events.sources.source import TableSource
from headcount.lab.audit.target_registry import target
from headcount.lab.audit.targets_under_audit import Target
from headcount.methods.counts.simple_random import SimpleRandom
from headcount.methods.counts.tables import NoisyTables, at_most, table_of
from headcount.methods.method import Method
from headcount.noise import NoiseSource, noise_distribution_for
from headcount.noise.stages import split_among_stages
from headcount.releases.release import Release
from tests.mutants.count_tables import noised_tables, release_of

EVERYTHING = 1 << 20
"""A limit that no person of an audit reaches."""


@dataclass(frozen=True)
class Mutant:
    """A bug: what is wrong, where such bugs are known from, and the method that it was planted into.

    ``like`` is the registered method whose neighbours and parameters it is audited with: all that the auditor
    knows of it.
    """

    name: str
    wrong: str
    precedent: str
    kind: type[Any]
    like: str = "sra"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    delta: Decimal = Decimal(0)

    def target(self, *, edges: bool) -> Target:
        """Return it as something to audit, as its sound twin is."""
        sound = target(self.like, 2, Decimal(1))
        return replace(
            sound, parameters={**sound.parameters, **self.parameters}, delta=self.delta, make=self.make,
            contexts=edges or sound.contexts, copies=False, called=self.name,
        )  # fmt: skip

    def make(self, name: str, parameters: Mapping[str, Any]) -> Method:
        """Build the broken method."""
        method: Method = self.kind(**parameters)
        return method


@dataclass(frozen=True, kw_only=True)
class Parts(SimpleRandom):
    """SRA, sound, in parts of which a bug may replace one."""

    name: ClassVar[str] = "sra"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Read, share the grant out, count, add noise, and finish."""
        guarantee, engine = self.guarantee(grant), engine or LocalEngine()
        log = self.read(log)
        grants = self.paid(log, grant)
        counts = self.counted(log, noise, engine)
        noised = self.noised(log, counts, grants, noise)
        release = release_of(self, log, guarantee, noised, bounded=at_most(self.limit, log), noise=noise)
        return self.finished(release, log, counts)

    def read(self, log: EventLog) -> EventLog:
        """Say what is read."""
        return log

    def paid(self, log: EventLog, grant: Grant) -> Mapping[str, Grant]:
        """Share the grant out."""
        return split_among_stages(self.stages(log, grant.cost), grant)

    def counted(self, log: EventLog, noise: NoiseSource, engine: Engine) -> BoundedCounts:
        """Bound what each person adds, and count."""
        return engine.measure(log, SampleRecords(self.limit), noise.key())

    def noised(
        self, log: EventLog, counts: BoundedCounts, grants: Mapping[str, Grant], noise: NoiseSource
    ) -> NoisyTables:
        """Spend the grants on noise."""
        return noised_tables(log, counts, grants, noise)

    def finished(self, release: Release, log: EventLog, counts: BoundedCounts) -> Release:
        """Do what is left to be done, from released numbers alone."""
        return release


# What bugs are made of


def declared(counts: BoundedCounts, l1: int, *, unit: int = 1) -> BoundedCounts:
    """Return counts, in parts of 1 / ``unit``, that are said to move by ``l1`` of these, whatever they do."""
    return BoundedCounts(*(declared_one(table, l1, unit=unit) for table in (counts.items, counts.edges)))


def declared_one(bounded: Bounded, l1: int, *, unit: int = 1) -> Bounded:
    """Return numbers with another sensitivity."""
    return Bounded(bounded.sensitive_values * unit, Sensitivity.of_l1(l1), SEAL, unit=unit)


def rows_of(log: EventLog) -> pa.Table:
    """Return all rows of a log, as they are."""
    if not isinstance(log.source, TableSource):
        raise TypeError(f"planted bugs read tables, not {type(log.source).__name__}")
    return log.source.table


def records_per_user(log: EventLog) -> Integers:
    """Return how many records each person has."""
    return np.unique(rows_of(log)[log.roles.user].to_numpy(), return_counts=True)[1]


def with_counts(release: Release, log: EventLog, counts: Floats) -> Release:
    """Return a release with other counts of items, and intervals around them."""
    return replace(release, tables={**release.tables, "items": _like(release.items, log, counts)})


def noised_with(noised: NoisyTables, log: EventLog, counts: Floats) -> NoisyTables:
    """Return noisy tables with other counts of items, and intervals around them."""
    return replace(noised, tables={**noised.tables, "items": _like(noised.tables["items"], log, counts)})


def _like(table: pa.Table, log: EventLog, counts: Floats) -> pa.Table:
    width = (table["high"].to_numpy() - table["low"].to_numpy()) / 2
    return table_of(log, "items", np.asarray(counts, dtype=np.float64), width)


def by_hand(
    log: EventLog, counts: BoundedCounts, grants: Mapping[str, Grant], noise: NoiseSource, items: Floats
) -> NoisyTables:
    """Return items with noise that was drawn elsewhere, and edges with noise that is sound."""
    law = noise_distribution_for(counts.items.sensitivity, grants["items"].spend())
    rest = {name: grant for name, grant in grants.items() if name != "items"}
    noised = noised_tables(log, counts, rest, noise)
    table = table_of(log, "items", np.asarray(items, dtype=np.float64), law.half_width(LEVEL))
    return replace(
        noised,
        tables={"items": table, **noised.tables},
        noise_distributions={"items": law, **noised.noise_distributions},
    )
