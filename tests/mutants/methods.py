"""Mutant methods and samplers, each with one deliberate fault that the checks must reject."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headcount.accounting.budget import Cost, CostOrGrant, Grant
from headcount.accounting.guarantee import Guarantee, Standing
from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.bounds import ActivityHistogram, Noisy, SampleRecords
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.events.catalogue import Catalogue
from headcount.events.log import EventLog
from headcount.methods.counts.simple_random import SimpleRandom
from headcount.methods.method import tables_of
from headcount.noise import NoiseSource
from headcount.noise.laplace import draw
from headcount.noise.stages import Stages
from headcount.releases.release import Release
from tests.mutants.count_tables import noised_tables, release_of
from tests.support.small_logs import scale_of

Integers = NDArray[np.int64]


# Methods: SRA with one fault each


@dataclass(frozen=True, kw_only=True)
class HalfNoise(SimpleRandom):
    """Declares the noise that pays, and draws half of it."""

    name: ClassVar[str] = "half-noise"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        honest = super().release(log, grant, noise, engine)
        counts = (engine or LocalEngine()).measure(log, SampleRecords(self.limit), noise.key())
        tables = dict(honest.tables)
        for name, table in honest.tables.items():
            exact = getattr(counts, name).sensitive_values.ravel()
            half = DiscreteLaplace(scale_of(honest.noise[name]) / 2)
            values = pa.array((exact + draw(half, exact.size, noise)).astype(np.float64))
            tables[name] = table.set_column(2, "count", values)
        return replace(honest, tables=tables)


@dataclass(frozen=True, kw_only=True)
class AsksForMore(SimpleRandom):
    """Looks at how active people are as well, and does not declare it."""

    name: ClassVar[str] = "asks-for-more"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        (engine or LocalEngine()).measure(log, ActivityHistogram("items", 3), noise.key())
        return super().release(log, grant, noise, engine)


@dataclass(frozen=True, kw_only=True)
class HalfTheSensitivity(SimpleRandom):
    """Draws noise for half the limit, and says so: the declared noise does not pay."""

    name: ClassVar[str] = "half-the-sensitivity"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        honest = super().release(log, grant, noise, engine)
        laws = {name: DiscreteLaplace(scale_of(law) / 2) for name, law in honest.noise.items()}
        return replace(honest, noise=laws)


@dataclass(frozen=True, kw_only=True)
class SpendsTwice(SimpleRandom):
    """Pays for every table with a grant of its own making, each as large as the whole."""

    name: ClassVar[str] = "spends-twice"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        grants = dict[str, Grant]((name, Grant(grant.epsilon)) for name in tables_of(self.what, log))
        counts = (engine or LocalEngine()).measure(log, SampleRecords(self.limit), noise.key())
        noised = noised_tables(log, counts, grants, noise)
        guarantee = self.guarantee(grant)
        grant.spend()
        return release_of(self, log, guarantee, noised, bounded="at most 3", noise=noise)


@dataclass(frozen=True, kw_only=True)
class LeavesAPart(SimpleRandom):
    """Keeps a tenth of the grant back."""

    name: ClassVar[str] = "leaves-a-part"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        parts = grant.split({"used": Decimal("0.9"), "kept": Decimal("0.1")})
        return super().release(log, parts["used"], noise, engine)


@dataclass(frozen=True, kw_only=True)
class NeverSpends(SimpleRandom):
    """Leaves the grant as it is."""

    name: ClassVar[str] = "never-spends"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        return super().release(log, Grant(grant.epsilon), noise, engine)


@dataclass(frozen=True, kw_only=True)
class CatalogueFromTheData(SimpleRandom):
    """Releases the items that occur in the log."""

    name: ClassVar[str] = "catalogue-from-the-data"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        columns = [batch.column(log.roles.item) for batch in log.source.batches(log.columns)]
        item_ids = sorted({item_id for column in columns for item_id in column.to_pylist()}) or [
            log.catalogue.ids[0]
        ]
        return super().release(replace(log, catalogue=Catalogue.of(item_ids)), grant, noise, engine)


@dataclass(frozen=True, kw_only=True)
class DropsSmallCounts(SimpleRandom):
    """Leaves out the counts that are zero before noise."""

    name: ClassVar[str] = "drops-small-counts"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        honest = super().release(log, grant, noise, engine)
        kept = {name: table.filter(pc.greater(table["count"], 0)) for name, table in honest.tables.items()}
        return replace(honest, tables=kept)


@dataclass(frozen=True, kw_only=True)
class TooNarrow(SimpleRandom):
    """Gives intervals of 70 % of their width."""

    name: ClassVar[str] = "too-narrow"
    factor: ClassVar[float] = 0.7

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        honest = super().release(log, grant, noise, engine)
        tables = {}
        for name, table in honest.tables.items():
            count, high = table["count"].to_numpy(), table["high"].to_numpy()
            width = (high - count) * self.factor
            narrow = table.set_column(3, "low", pa.array(count - width))
            tables[name] = narrow.set_column(4, "high", pa.array(count + width))
        return replace(honest, tables=tables)


@dataclass(frozen=True, kw_only=True)
class TooWide(TooNarrow):
    """Gives intervals of twice their width."""

    name: ClassVar[str] = "too-wide"
    factor: ClassVar[float] = 2.0


@dataclass(frozen=True, kw_only=True)
class TellsHowMany(SimpleRandom):
    """Tells the number of events in its story."""

    name: ClassVar[str] = "tells-how-many"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        honest = super().release(log, grant, noise, engine)
        return replace(honest, steps=(f"Read {log.source.rows} events.", *honest.steps))


@dataclass(frozen=True, kw_only=True)
class ClaimsInSilence(SimpleRandom):
    """Is only claimed, and its release says proven."""

    name: ClassVar[str] = "claims-in-silence"
    standing: ClassVar[Standing] = Standing.CLAIMED
    reason: ClassVar[str | None] = "it was never proven"


@dataclass(frozen=True, kw_only=True)
class UnderstatedGuarantee(SimpleRandom):
    """Promises a tenth of what it spends."""

    name: ClassVar[str] = "promises-more"

    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        return replace(super().guarantee(priced), epsilon=priced.epsilon / 10)


@dataclass(frozen=True, kw_only=True)
class HidesTheSeed(SimpleRandom):
    """Does not say that its noise was seeded."""

    name: ClassVar[str] = "hides-the-seed"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        return replace(super().release(log, grant, noise, engine), simulated=False)


@dataclass(frozen=True, kw_only=True)
class IgnoresShares(SimpleRandom):
    """Takes any shares, and splits in halves."""

    name: ClassVar[str] = "ignores-shares"

    def stages(self, log: EventLog, price: Cost) -> Stages:
        return SimpleRandom(limit=self.limit, what=self.what).stages(log, price)


@dataclass(frozen=True, kw_only=True)
class KeepsLessInABlock(SimpleRandom):
    """Keeps one record where the engine works in blocks."""

    name: ClassVar[str] = "keeps-less-in-a-block"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        limit = 1 if isinstance(engine, LocalEngine) else self.limit
        return SimpleRandom(limit=limit).release(log, grant, noise, engine)


# Samplers


def rounded_floats(scale: Fraction, size: int, seed: int) -> Integers:
    """Floating-point Laplace noise, rounded: nearly right, and not the discrete law."""
    values: Integers = np.round(np.random.default_rng(seed).laplace(0, float(scale), size)).astype(np.int64)
    return values


def truncated_floats(scale: Fraction, size: int, seed: int) -> Integers:
    """Floating-point Laplace noise, cut towards zero: too many zeros."""
    values: Integers = np.trunc(np.random.default_rng(seed).laplace(0, float(scale), size)).astype(np.int64)
    return values


def zero_twice(scale: Fraction, size: int, seed: int) -> Integers:
    """A sign and a size drawn independently: zero comes up twice as often as it should."""
    generator = np.random.default_rng(seed)
    sizes = generator.geometric(-np.expm1(-1 / float(scale)), size) - 1
    values: Integers = np.where(generator.integers(0, 2, size) == 1, sizes, -sizes)
    return values


SAMPLERS: Mapping[str, Callable[[Fraction, int, int], Integers]] = {
    "rounded floats": rounded_floats,
    "truncated floats": truncated_floats,
    "zero twice": zero_twice,
}


def forged(values: Integers) -> Any:
    """Something that looks like bounded values and is not."""
    return Noisy(values, DiscreteLaplace(Fraction(1)))
