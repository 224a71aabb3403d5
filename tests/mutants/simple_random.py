"""Mutants of SRA with one fault each, which an audit must reject."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from headcount.accounting.budget import Grant
from headcount.bounds import BoundedCounts, CountBound, SampleRecords
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from headcount.events.sources.source import TableSource, open_source
from headcount.methods.counts.simple_random import SimpleRandom
from headcount.methods.method import Method
from headcount.noise import NoiseSource
from headcount.releases.release import Release
from tests.mutants.count_tables import noised_tables, release_of
from tests.mutants.methods import HalfNoise, SpendsTwice
from tests.reference.engine_in_parts import InParts


@dataclass(frozen=True, kw_only=True)
class OneMore(SimpleRandom):
    """Keeps one record more than its noise pays for."""

    name: ClassVar[str] = "one-more"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        honest = super().release(log, Grant(grant.epsilon), noise, engine)
        counts = (engine or LocalEngine()).measure(log, SampleRecords(self.limit + 1), noise.key())
        more = Grant(grant.epsilon * (self.limit + 1) / self.limit)  # so the noise is what the limit asks for
        noised = noised_tables(log, counts, {"items": more}, noise)
        grant.spend()
        return replace(honest, tables=noised.tables)


@dataclass(frozen=True, kw_only=True)
class SamplesRows(SimpleRandom):
    """Keeps random rows of the log, so many per person on average, whoever they are of."""

    name: ClassVar[str] = "samples-rows"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        honest = super().release(log, Grant(grant.epsilon), noise, engine)
        table = whole_table(log)
        people = len(set(table[log.roles.user].to_pylist()))
        random = np.random.default_rng(np.frombuffer(noise.key(), dtype=np.uint64))
        kept = random.permutation(table.num_rows)[: people * self.limit]
        rows = replace(log, source=open_source(table.take(pa.array(kept))))
        counts = LocalEngine(threads=1).measure(rows, SampleRecords(1000), noise.key())
        more = Grant(grant.epsilon * 1000 / self.limit)
        noised = noised_tables(log, counts, {"items": more}, noise)
        grant.spend()
        return replace(honest, tables=noised.tables)


@dataclass(frozen=True, kw_only=True)
class FloatNoise(SimpleRandom):
    """Adds textbook Laplace noise in floating point."""

    name: ClassVar[str] = "float-noise"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        honest = super().release(log, Grant(grant.epsilon), noise, engine)
        counts = (engine or LocalEngine()).measure(log, SampleRecords(self.limit), noise.key())
        exact = counts.items.sensitive_values.astype(np.float64)
        random = np.random.default_rng(np.frombuffer(noise.key(), dtype=np.uint64))
        uniform = random.random(exact.size) - 0.5
        scale = self.limit / float(grant.epsilon)
        noisy = exact - scale * np.sign(uniform) * np.log1p(-2 * np.abs(uniform))
        grant.spend()
        tables = {"items": honest.items.set_column(2, "count", pa.array(noisy))}
        return replace(honest, tables=tables)


@dataclass(frozen=True, kw_only=True)
class CutsAtTheHeaviest(SimpleRandom):
    """Takes the limit from the person with the most records, and says only what the counts are."""

    name: ClassVar[str] = "cuts-at-the-heaviest"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        table = whole_table(log)
        most = int(np.unique(table[log.roles.user].to_numpy(), return_counts=True)[1].max(initial=1))
        counts = (engine or LocalEngine()).measure(log, SampleRecords(most), noise.key())
        noised = noised_tables(log, counts, {"items": grant}, noise)
        tables = {"items": noised.tables["items"].select(["item", "label", "count"])}
        whole = release_of(self, log, self.guarantee(grant), noised, bounded="", noise=noise)
        return replace(whole, tables=tables, noise={})


class ByPosition(InParts):
    """Lets a person's choices hang on where their records stand in the log."""

    def count(self, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
        shifted = bytes((byte + whole_table(log).num_rows) % 256 for byte in secret)
        return super().count(log, bound, shifted)


def whole_table(log: EventLog) -> pa.Table:
    """Return all rows of a log."""
    assert isinstance(log.source, TableSource)
    return log.source.table


BROKEN: Mapping[str, type[SimpleRandom]] = {
    method_class.name: method_class
    for method_class in (HalfNoise, SpendsTwice, OneMore, SamplesRows, FloatNoise, CutsAtTheHeaviest)
}


def make(name: str, parameters: Mapping[str, Any]) -> Method:
    """Build a broken method."""
    return BROKEN[name](**parameters)
