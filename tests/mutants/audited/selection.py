"""Mutants with bugs in item domains, selection thresholds and rankings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from headcount.accounting.budget import Grant
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.bounds import Bounded, BoundedCounts, Scored, Sensitivity
from headcount.bounds.bounded import SEAL
from headcount.bounds.counts.users_per_column import SparseCounts
from headcount.engines.engine import Engine
from headcount.events.catalogue import Catalogue
from headcount.events.log import EventLog
from headcount.methods.counts.tables import NoisyTables
from headcount.methods.rankings.ranking import Ranked
from headcount.methods.rankings.top_k import DirectTopK
from headcount.noise import NoiseSource, add_noise
from headcount.noise.selection.exponential import choose_candidate
from headcount.releases.release import Release
from tests.mutants.audited.mutant import Mutant, Parts, by_hand, rows_of, with_counts


@dataclass(frozen=True, kw_only=True)
class InferredDomain(Parts):
    """The items that occur."""

    def read(self, log: EventLog) -> EventLog:
        """Take the catalogue from the data."""
        listed_items = {item for item in rows_of(log)[log.roles.item].to_pylist() if item is not None}
        return replace(log, catalogue=Catalogue.of(sorted(listed_items) or [log.catalogue.ids[0]]))


@dataclass(frozen=True, kw_only=True)
class TrueThreshold(Parts):
    """Items whose true count is large enough."""

    least = 1

    def finished(self, release: Release, log: EventLog, counts: BoundedCounts) -> Release:
        """Leave out what is rare."""
        enough = pa.array(counts.items.sensitive_values.ravel() >= self.least)
        return replace(release, tables={**release.tables, "items": release.items.filter(enough)})


@dataclass(frozen=True, kw_only=True)
class Anonymous(TrueThreshold):
    """Items that three records, at least, are of: as k-anonymity has it."""

    least = 3


@dataclass(frozen=True, kw_only=True)
class HalfMissing(DirectTopK):
    """The exponential mechanism with ε/Δ in the exponent, for scores that a person can raise and lower."""

    def _ranked(
        self, counts: Bounded | SparseCounts, grant: Grant, noise: NoiseSource
    ) -> tuple[Ranked, NoiseDistribution | None]:
        """Choose the item that is furthest ahead of all others."""
        if not isinstance(counts, Bounded):
            raise TypeError("this bug is for few cells")
        exact = counts.sensitive_values.ravel()
        ahead = 2 * exact - exact.sum()
        return Ranked([choose_candidate(Scored(ahead, 1, SEAL), grant, noise)]), None


@dataclass(frozen=True, kw_only=True)
class ExactOrder(DirectTopK):
    """Winners that are drawn, and shown in the order of their exact counts."""

    def _ranked(
        self, counts: Bounded | SparseCounts, grant: Grant, noise: NoiseSource
    ) -> tuple[Ranked, NoiseDistribution | None]:
        """Sort the winners."""
        ranked, law = super()._ranked(counts, grant, noise)
        if not isinstance(counts, Bounded):
            raise TypeError("this bug is for few cells")
        exact = counts.sensitive_values.ravel()
        return replace(ranked, winners=sorted(ranked.winners, key=lambda item: (-exact[item], item))), law


@dataclass(frozen=True, kw_only=True)
class NoNoiseOnQueries(Parts):
    """The sparse vector technique with a noisy threshold, which exact counts are held against, one by one."""

    def noised(
        self, log: EventLog, counts: BoundedCounts, grants: Mapping[str, Grant], noise: NoiseSource
    ) -> NoisyTables:
        """Draw one threshold, and say of each item whether it is above."""
        zero = Bounded(np.zeros(1, dtype=np.int64), Sensitivity.of_l1(self.limit), SEAL)
        threshold = add_noise(zero, Grant(grants["items"].cost), noise).counts[0] + 1
        above = counts.items.sensitive_values.ravel() >= threshold
        return by_hand(log, counts, grants, noise, above.astype(np.float64))


@dataclass(frozen=True, kw_only=True)
class TrueTotal(Parts):
    """Noisy counts, made to add up to the true total."""

    def finished(self, release: Release, log: EventLog, counts: BoundedCounts) -> Release:
        """Share out what is missing."""
        noisy = release.items["count"].to_numpy()
        return with_counts(release, log, noisy + (counts.items.sensitive_values.sum() - noisy.sum()) / noisy.size)


@dataclass(frozen=True, kw_only=True)
class TellsRows(Parts):
    """A story that tells how many rows were read."""

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Say it in passing."""
        release = super().release(log, grant, noise, engine)
        return replace(release, steps=(f"Read {rows_of(log).num_rows} events.", *release.steps))


CHOOSING = (
    Mutant("the domain is what occurs", "items that nobody has are not in the release",
            "GROUP BY; categories inferred from the data", InferredDomain),
    Mutant("a true count of one", "cells get noise, and those with a true count below 1 are left out",
            "sparse tables", TrueThreshold),
    Mutant("a threshold without noise", "items with a true count below 3 are left out",
            "small-cell suppression before noise", Anonymous),
    Mutant("a missing half", "ε/Δ in the exponent, for scores that a person raises and lowers",
            "the exponential mechanism without its factor of 2", HalfMissing, like="top-k"),
    Mutant("winners in exact order", "a private choice of items is shown in the order of exact counts",
            "ORDER BY after the mechanism", ExactOrder, like="top-k", parameters={"k": 2}),
    Mutant("one noisy threshold for all", "a noisy threshold is used again and again, against exact counts",
            "sparse vector variants in Lyu, Su and Li 2017", NoNoiseOnQueries),
    Mutant("the true total", "noisy counts are made to add up to the exact total",
            "post-processing that looks at the data", TrueTotal),
    Mutant("rows in the story", "what is told about a release says how many rows were read",
            "logs and metadata", TellsRows),
)  # fmt: skip
