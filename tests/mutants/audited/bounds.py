"""Mutants with bugs in contribution bounds and sensitivities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from headcount.accounting.budget import Grant
from headcount.bounds import BoundedCounts, SampleRecords
from headcount.engines.engine import Engine
from headcount.events.log import EventLog
from headcount.events.sources.source import open_source
from headcount.noise import NoiseSource
from headcount.releases.release import Release
from tests.mutants.audited.mutant import (
    EVERYTHING,
    Mutant,
    Parts,
    declared,
    records_per_user,
    rows_of,
    with_counts,
)


@dataclass(frozen=True, kw_only=True)
class PerRow(Parts):
    """Noise for one record, and people have several."""

    def counted(self, log: EventLog, noise: NoiseSource, engine: Engine) -> BoundedCounts:
        """Count every record, and declare that one of them comes or goes."""
        return declared(engine.measure(log, SampleRecords(EVERYTHING), noise.key()), 1)


@dataclass(frozen=True, kw_only=True)
class NoLimit(Parts):
    """A limit that noise pays for, and that is held against the results instead of the records."""

    def counted(self, log: EventLog, noise: NoiseSource, engine: Engine) -> BoundedCounts:
        """Count every record."""
        return declared(engine.measure(log, SampleRecords(EVERYTHING), noise.key()), self.limit)

    def finished(self, release: Release, log: EventLog, counts: BoundedCounts) -> Release:
        """Cut the noisy counts."""
        return with_counts(release, log, np.clip(release.items["count"].to_numpy(), 0, 10 * self.limit))


@dataclass(frozen=True, kw_only=True)
class OneMore(Parts):
    """A limit that is off by one."""

    def counted(self, log: EventLog, noise: NoiseSource, engine: Engine) -> BoundedCounts:
        """Keep one record more than is declared."""
        return declared(engine.measure(log, SampleRecords(self.limit + 1), noise.key()), self.limit)


@dataclass(frozen=True, kw_only=True)
class PerItem(Parts):
    """A limit for each item, and noise as if a person had one item."""

    def read(self, log: EventLog) -> EventLog:
        """Keep so many records of each person and item."""
        rows, had, kept = rows_of(log), Counter[tuple[object, object]](), list[int]()
        for place, user_and_item in enumerate(
            zip(rows[log.roles.user].to_pylist(), rows[log.roles.item].to_pylist(), strict=True)
        ):
            had[user_and_item] += 1
            kept += [place] if had[user_and_item] <= self.limit else []
        return replace(log, source=open_source(rows.take(pa.array(kept, pa.int64()))))

    def counted(self, log: EventLog, noise: NoiseSource, engine: Engine) -> BoundedCounts:
        """Count what was kept."""
        return declared(engine.measure(log, SampleRecords(EVERYTHING), noise.key()), self.limit)


@dataclass(frozen=True, kw_only=True)
class RootOfLimit(Parts):
    """Laplace noise for the distance in L2, which is smaller by √2 here."""

    def counted(self, log: EventLog, noise: NoiseSource, engine: Engine) -> BoundedCounts:
        """Declare the root of the limit, in thousandths."""
        counts = super().counted(log, noise, engine)
        return declared(counts, int(1000 * self.limit**0.5), unit=1000)


@dataclass(frozen=True, kw_only=True)
class HeaviestLimit(Parts):
    """A limit that is the largest number of records of any person."""

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Look at how many records people have, first, and do not tell."""
        most = int(records_per_user(log).max(initial=1))
        release = Parts(limit=most, what=self.what).release(log, grant, noise, engine)
        return replace(release, noise={}, bounded="", guarantee=self.guarantee(grant), steps=())


@dataclass(frozen=True, kw_only=True)
class ByPosition(Parts):
    """A sample that is drawn with a seed of its own, row by row: whoever comes first shifts everybody's draws."""

    def read(self, log: EventLog) -> EventLog:
        """Shuffle all rows as the seed says, and keep the first ones of each person."""
        rows, had, kept = rows_of(log), Counter[object](), list[int]()
        users = rows[log.roles.user].to_pylist()
        for place in np.random.default_rng(0).permutation(rows.num_rows).tolist():
            had[users[place]] += 1
            kept += [place] if had[users[place]] <= self.limit else []
        return replace(log, source=open_source(rows.take(pa.array(kept, pa.int64()))))


@dataclass(frozen=True, kw_only=True)
class Amplified(Parts):
    """Half of the people are counted, those with even ids, and noise is made smaller as if nobody knew which."""

    def read(self, log: EventLog) -> EventLog:
        """Keep every second person."""
        rows = rows_of(log)
        return replace(log, source=open_source(rows.filter(pa.array(rows[log.roles.user].to_numpy() % 2 == 0))))

    def paid(self, log: EventLog, grant: Grant) -> Mapping[str, Grant]:
        """Pay as for a secret sample of a half."""
        grant.spend()
        return super().paid(log, Grant(round(float(np.log1p(2 * np.expm1(float(grant.epsilon)))), 6)))


BOUNDS = (
    Mutant("noise for a row", "noise pays for one record, where a person has several",
            "event-level libraries used for people", PerRow),
    Mutant("clipped after noise", "the limit is held against noisy results, not against a person's records",
            "bounds given to a sum as clamps of its result", NoLimit),
    Mutant("one record more", "one record more is kept than noise pays for", "off by one", OneMore),
    Mutant("a limit per item", "the limit is for each item, and people have several items",
            "a bound per partition without a bound on partitions", PerItem),
    Mutant("noise off by √2", "Laplace noise is scaled to the distance in L2",
            "norms mixed up", RootOfLimit),
    Mutant("the heaviest person's limit", "the limit is the largest number of records of any person",
            "lpa as published; clamps inferred from the data", HeaviestLimit),
    Mutant("one seed for the sample", "rows are drawn with a fixed seed, so that one person shifts all draws",
            "sample(random_state=0)", ByPosition),
    Mutant("a sample that is no secret", "noise is made smaller by sampling, and who is sampled is known",
            "amplification claimed for a sample by id", Amplified),
)  # fmt: skip
