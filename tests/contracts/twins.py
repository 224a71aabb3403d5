"""Broken twins: engines and methods with one deliberate fault each, to show that the checks go red."""

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

from headcount.bounding import Bound, BoundedCounts, Noisy, Pick, Sample, certify
from headcount.budget import Grant
from headcount.counts.simple_random import SimpleRandom
from headcount.counts.tables import noised_tables, release_of
from headcount.engines import draws, reference
from headcount.engines.engine import Engine
from headcount.engines.local import LocalEngine
from headcount.engines.reference import ReferenceEngine
from headcount.events.catalogue import Catalogue
from headcount.events.encoding import EncodedLog
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee, Standing
from headcount.noise import NoiseSource
from headcount.noise.laplace import draw
from headcount.noise_law import DiscreteLaplace
from headcount.releases import Release

Integers = NDArray[np.int64]


# Engines


class LimitOffByOne:
    """Keeps one record too many, and declares the limit all the same."""

    def count(self, log: EventLog, bound: Bound, secret: bytes) -> BoundedCounts:
        more: Bound = Sample(bound.limit + 1)
        if isinstance(bound, Pick):
            more = Pick(bound.limit + 1, bound.scores)
        counts = ReferenceEngine().count(log, more, secret)
        items, edges = counts.items.sensitive_values.copy(), counts.edges.sensitive_values.copy()
        return certify(bound, log.counting, items, edges)


class OneRecordShort:
    """Keeps one record fewer than it may."""

    def count(self, log: EventLog, bound: Bound, secret: bytes) -> BoundedCounts:
        fewer: Bound = Sample(max(1, bound.limit - 1))
        if isinstance(bound, Pick):
            fewer = Pick(max(1, bound.limit - 1), bound.scores)
        counts = ReferenceEngine().count(log, fewer, secret)
        items, edges = counts.items.sensitive_values.copy(), counts.edges.sensitive_values.copy()
        return certify(bound, log.counting, items, edges)


class _Broken:
    """The reference engine once more, with its parts in reach of a fault. Sound by itself."""

    def count(self, log: EventLog, bound: Bound, secret: bytes) -> BoundedCounts:
        encoded = EncodedLog(log)
        users, cells = reference._records(encoded)
        keys = self.keys(encoded, secret)
        if log.context_of == "user":
            tallies = np.zeros((encoded.users.size, log.width), dtype=np.int64)
            np.add.at(tallies, (users, cells % log.width), 1)
            inside = cells % log.width == self.contexts(tallies, keys)[users]
            users, cells = users[inside], cells[inside]
        if log.counting == "users":
            users, cells = np.unique(np.stack([users, cells]), axis=1)
        order = np.lexsort((cells, users)) if self.sorted else np.arange(users.size)
        users, cells = users[order], cells[order]
        drawn = self.draws(users, cells, keys, secret)
        ranks = None if bound.ranks is None else bound.ranks[cells // log.width]
        priority = draws.priorities(drawn, ranks, draws.rank_bits(bound.ranks))
        order = np.lexsort((cells, priority, users))
        users, cells = users[order], cells[order]
        inside = reference._number_within([users]) < bound.limit
        return self.counted(users[inside], cells[inside], log, bound)

    sorted = True

    def keys(self, encoded: EncodedLog, secret: bytes) -> draws.Draws:
        return reference.user_keys(encoded, secret)

    def contexts(self, tallies: Integers, keys: draws.Draws) -> NDArray[np.int32]:
        return draws.chosen_contexts(tallies, keys)

    def draws(self, users: Integers, cells: Integers, keys: draws.Draws, secret: bytes) -> draws.Draws:
        return draws.record_draws(keys[users], cells, reference._number_within([users, cells]))

    def counted(self, users: Integers, cells: Integers, log: EventLog, bound: Bound) -> BoundedCounts:
        shape = (len(log.catalogue.ids), log.width)
        edges = np.bincount(cells, minlength=log.cells).reshape(shape).astype(np.int64)
        if log.counting == "records":
            return certify(bound, log.counting, edges.sum(axis=1), edges)
        pairs = np.unique(np.stack([users, cells // log.width]), axis=1)
        return certify(bound, log.counting, np.bincount(pairs[1], minlength=shape[0]).astype(np.int64), edges)


class Sound(_Broken):
    """Without a fault: the checks must pass, or the other twins prove nothing."""


class DrawsByRow(_Broken):
    """The draw of a record is that of its row: rows before it decide what it is worth."""

    sorted = False

    def draws(self, users: Integers, cells: Integers, keys: draws.Draws, secret: bytes) -> draws.Draws:
        rows = np.arange(users.size, dtype=np.uint64)
        return draws.mix(rows * np.uint64(draws.GOLDEN) + np.uint64(int.from_bytes(secret[:8], "little")))


class DrawsByCode(_Broken):
    """The user key hangs on the dense code: when a user leaves, everyone who came later gets another key."""

    def keys(self, encoded: EncodedLog, secret: bytes) -> draws.Draws:
        codes = range(encoded.users.size)
        return np.array([draws.user_key(secret, code) for code in codes], dtype=np.uint64)


class DrawsSharedByAll(_Broken):
    """All users draw the same: what one keeps tells what the others keep."""

    def keys(self, encoded: EncodedLog, secret: bytes) -> draws.Draws:
        return np.full(encoded.users.size, draws.user_key(secret, "everyone"), dtype=np.uint64)


class DrawsWithoutSecret(_Broken):
    """The secret is not used: anybody can tell what is kept."""

    def keys(self, encoded: EncodedLog, secret: bytes) -> draws.Draws:
        return reference.user_keys(encoded, bytes(16))


class HashOfTheRecordAlone(_Broken):
    """Equal records have equal draws: a user's frequent record and rare record are kept equally often."""

    def draws(self, users: Integers, cells: Integers, keys: draws.Draws, secret: bytes) -> draws.Draws:
        return draws.record_draws(keys[users], cells, np.zeros(users.size, dtype=np.int64))


class TieBreakLooksAtOthers(_Broken):
    """Prefers what is popular in the log itself, among a user's records."""

    def draws(self, users: Integers, cells: Integers, keys: draws.Draws, secret: bytes) -> draws.Draws:
        popular = np.bincount(cells, minlength=int(cells.max(initial=0)) + 1)[cells].astype(np.uint64)
        own = super().draws(users, cells, keys, secret)
        rarity: draws.Draws = np.uint64(2**16 - 1) - popular
        return (rarity << np.uint64(48)) | (own >> np.uint64(16))


class ContextDrawsShared(_Broken):
    """Ties between contexts are broken by the very draws of the first item's records."""

    def contexts(self, tallies: Integers, keys: draws.Draws) -> NDArray[np.int32]:
        known = tallies[:, :-1]
        columns = np.arange(known.shape[1], dtype=np.uint64)
        tickets = draws.mix(keys[:, None] + (columns + np.uint64(1)) * np.uint64(draws.GOLDEN))
        tied = known == known.max(axis=1, keepdims=True)
        best = np.argmin(np.where(tied, tickets, np.iinfo(np.uint64).max), axis=1)
        chosen: NDArray[np.int32] = np.where(known.any(axis=1), best, known.shape[1]).astype(np.int32)
        return chosen


class ContextByMajority(_Broken):
    """Everybody's one context is the most frequent one of the whole log."""

    def contexts(self, tallies: Integers, keys: draws.Draws) -> NDArray[np.int32]:
        best = int(tallies.sum(axis=0).argmax()) if tallies.size else 0
        return np.full(len(tallies), best, dtype=np.int32)


class DropsTheUnknownContext(_Broken):
    """Does not count edges of the unknown context."""

    def counted(self, users: Integers, cells: Integers, log: EventLog, bound: Bound) -> BoundedCounts:
        counts = super().counted(users, cells, log, bound)
        edges = counts.edges.sensitive_values.copy()
        if log.context is not None:
            edges[:, -1] = 0
        return certify(bound, log.counting, counts.items.sensitive_values.copy(), edges)


class CountsUserOncePerTable(_Broken):
    """Where users are counted, counts all kept pairs of an item instead of the user once."""

    def counted(self, users: Integers, cells: Integers, log: EventLog, bound: Bound) -> BoundedCounts:
        counts = super().counted(users, cells, log, bound)
        edges = counts.edges.sensitive_values.copy()
        return certify(bound, log.counting, edges.sum(axis=1), edges)


class ForgetsTheFirstBatch(_Broken):
    """Numbers equal records within a batch only: batches decide which draw a record gets."""

    def count(self, log: EventLog, bound: Bound, secret: bytes) -> BoundedCounts:
        batches = log.source.batches(log.columns)
        self._sizes = [batch.num_rows for batch in batches]
        return super().count(log, bound, secret)

    def draws(self, users: Integers, cells: Integers, keys: draws.Draws, secret: bytes) -> draws.Draws:
        numbers = reference._number_within([users, cells]) % max([1, *self._sizes])
        return draws.record_draws(keys[users], cells, numbers)


class RemembersAFailedRead:
    """Counts what was read before a log was refused, the second time."""

    def __init__(self) -> None:
        self._refused: set[int] = set()

    def count(self, log: EventLog, bound: Bound, secret: bytes) -> BoundedCounts:
        if id(log) in self._refused:
            log = replace(log, drop_nulls=True)
        try:
            return ReferenceEngine().count(log, bound, secret)
        except Exception:
            self._refused.add(id(log))
            raise


# Methods: SRA with one fault each


@dataclass(frozen=True, kw_only=True)
class HalfNoise(SimpleRandom):
    """Declares the noise that pays, and draws half of it."""

    name: ClassVar[str] = "half-noise"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        honest = super().release(log, grant, noise, engine)
        counts = (engine or LocalEngine()).count(log, Sample(self.limit), noise.key())
        tables = dict(honest.tables)
        for name, table in honest.tables.items():
            exact = getattr(counts, name).sensitive_values.ravel()
            half = DiscreteLaplace(honest.noise[name].scale / 2)
            values = pa.array((exact + draw(half, exact.size, noise)).astype(np.float64))
            tables[name] = table.set_column(2, "count", values)
        return replace(honest, tables=tables)


@dataclass(frozen=True, kw_only=True)
class HalfTheSensitivity(SimpleRandom):
    """Draws noise for half the limit, and says so: the declared noise does not pay."""

    name: ClassVar[str] = "half-the-sensitivity"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        honest = super().release(log, grant, noise, engine)
        laws = {name: DiscreteLaplace(law.scale / 2) for name, law in honest.noise.items()}
        return replace(honest, noise=laws)


@dataclass(frozen=True, kw_only=True)
class SpendsTwice(SimpleRandom):
    """Pays for every table with a grant of its own making, each as large as the whole."""

    name: ClassVar[str] = "spends-twice"

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        grants = {name: Grant(grant.epsilon) for name in self._shares(log)}
        counts = (engine or LocalEngine()).count(log, Sample(self.limit), noise.key())
        noised = noised_tables(log, counts, grants, noise)
        guarantee = self.guarantee(grant)
        grant.spend()
        return release_of(self, log, guarantee, noised, limit=self.limit, noise=noise, steps=[])


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
        seen = sorted({each for column in columns for each in column.to_pylist()}) or [log.catalogue.ids[0]]
        return super().release(replace(log, catalogue=Catalogue.of(seen)), grant, noise, engine)


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
class PromisesMore(SimpleRandom):
    """Promises a tenth of what it spends."""

    name: ClassVar[str] = "promises-more"

    def guarantee(self, grant: Grant) -> Guarantee:
        return replace(super().guarantee(grant), epsilon=grant.epsilon / 10)


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

    def _shares(self, log: EventLog) -> dict[str, Decimal]:
        return replace(self, shares=None)._default(log)

    def _default(self, log: EventLog) -> dict[str, Decimal]:
        return SimpleRandom._shares(self, log)


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
