"""Mutants with bugs in noise: its distribution, its randomness and how often it is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Floats
from headcount.accounting.budget import Grant
from headcount.bounds import BoundedCounts
from headcount.bounds.linear_maps import take_places
from headcount.events.log import EventLog
from headcount.methods.counts.tables import NoisyTables
from headcount.noise import NoiseSource, SeededNoise, add_noise
from tests.mutants.audited.mutant import Mutant, Parts, by_hand
from tests.mutants.count_tables import noised_tables


@dataclass(frozen=True, kw_only=True)
class OwnNoise(Parts, ABC):
    """Noise that the method draws by itself, for items."""

    def noised(
        self, log: EventLog, counts: BoundedCounts, grants: Mapping[str, Grant], noise: NoiseSource
    ) -> NoisyTables:
        """Add noise of the scale that pays to items."""
        exact = counts.items.sensitive_values.ravel()
        random = np.random.default_rng(np.frombuffer(noise.key(), dtype=np.uint64))
        scale = self.limit / float(grants["items"].epsilon)
        return by_hand(log, counts, grants, noise, exact + self.drawn(random, scale, exact.size))

    @abstractmethod
    def drawn(self, random: np.random.Generator, scale: float, size: int) -> Floats:
        """Draw it."""


@dataclass(frozen=True, kw_only=True)
class FloatNoise(OwnNoise):
    """Textbook Laplace noise in floating point."""

    def drawn(self, random: np.random.Generator, scale: float, size: int) -> Floats:
        """Invert the distribution function."""
        uniform = random.random(size) - 0.5
        return np.asarray(-scale * np.sign(uniform) * np.log1p(-2 * np.abs(uniform)))


@dataclass(frozen=True, kw_only=True)
class ZeroTwice(OwnNoise):
    """Whole noise by a sign and a size, so that there are two zeros."""

    def drawn(self, random: np.random.Generator, scale: float, size: int) -> Floats:
        """Draw sign and size apart."""
        sizes = random.geometric(-np.expm1(-1 / scale), size) - 1
        return np.asarray(sizes * random.choice([-1, 1], size), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class CoarseNoise(OwnNoise):
    """Noise in steps of four, on counts in steps of one."""

    def drawn(self, random: np.random.Generator, scale: float, size: int) -> Floats:
        """Round the noise before it is added."""
        return np.asarray(np.round(random.laplace(0, scale, size) / 4) * 4)


@dataclass(frozen=True, kw_only=True)
class FixedSeed(Parts):
    """Noise with a seed that stands in the code."""

    def noised(
        self,
        log: EventLog,
        counts: BoundedCounts,
        grants: Mapping[str, Grant],
        noise: NoiseSource,
    ) -> NoisyTables:
        """Draw the same noise in every run."""
        return noised_tables(log, counts, grants, SeededNoise(7))


@dataclass(frozen=True, kw_only=True)
class OneDraw(Parts):
    """One draw of noise for all cells."""

    def noised(
        self, log: EventLog, counts: BoundedCounts, grants: Mapping[str, Grant], noise: NoiseSource
    ) -> NoisyTables:
        """Draw for the first cell, and move all others by as much."""
        exact, price = counts.items.sensitive_values.ravel(), grants["items"].cost
        moved = add_noise(take_places(counts.items, [0]), Grant(price), noise).counts - exact[0]
        return by_hand(log, counts, grants, noise, exact + moved)


@dataclass(frozen=True, kw_only=True)
class DrawnAgain(Parts):
    """Noise that is drawn again where a count would be negative."""

    def noised(
        self, log: EventLog, counts: BoundedCounts, grants: Mapping[str, Grant], noise: NoiseSource
    ) -> NoisyTables:
        """Draw until all counts can be shown."""
        prices = {name: grant.spend() for name, grant in grants.items()}
        while True:
            again = {name: Grant(price) for name, price in prices.items()}
            tables = super().noised(log, counts, again, noise)
            if min(tables.tables["items"]["count"].to_pylist()) >= 0:
                return tables


NOISES = (
    Mutant("floating-point noise", "Laplace noise is drawn and added in floating point",
            "Mironov 2012; most early libraries", FloatNoise),
    Mutant("two zeros", "whole noise is a sign and a size, so that zero comes up twice",
            "two-sided geometric noise by hand", ZeroTwice),
    Mutant("coarse noise", "noise is rounded to steps of four before it is added to whole counts",
            "noise in another unit than the data", CoarseNoise),
    Mutant("a fixed seed", "noise has a seed that stands in the code", "np.random.seed(7) left in", FixedSeed),
    Mutant("one draw for all", "all cells get the same draw of noise", "a scalar added to a vector", OneDraw),
    Mutant("drawn again if negative", "noise is drawn anew until no count is negative",
            "truncation by rejection", DrawnAgain),
)  # fmt: skip
