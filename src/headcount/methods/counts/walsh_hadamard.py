"""FPA: release the first noisy coefficients of a Walsh–Hadamard transform of the counts.

The counts, in the order of the catalogue, are taken as a signal and transformed; the first ρ coefficients get
noise, the others are left out, and the counts are put together again. A few coefficients carry little noise in
all, but only what is smooth along the catalogue survives: for catalogues in no natural order that is little.

Why it is private
    ``limit`` (M) is declared and enforced: a user with more than M records keeps M of them at random. That moves
    the counts by at most Δ₂ in L2: √M where users are counted, M where all records may hit one cell. The transform
    is orthonormal, so its coefficients move by as much; the norm of those left out moves by no more than that, and
    for two choices of ρ differently by at most √2 · Δ₂. ρ is chosen from a public list by the exponential
    mechanism at 0.1 ε. With ρ fixed, the first ρ coefficients move by at most √ρ · Δ₂ in L1, and by M/√n each, n
    the length: noise that pays for the smaller of √ρ · Δ₂ and ρ · M/√n takes the other 0.9 ε.

Departures from the paper
    As the paper runs it, ρ is the best one for the data and M is read from the data: no finite ε holds. That
    variant is ``fpa-published``. A Walsh–Hadamard transform in the order of sign changes, over the catalogue
    padded to a power of two, instead of a Fourier transform: it is real, orthonormal and stays in whole numbers,
    so that the noise is exact. Δ₂ = √M holds for 0/1 data alone; with repeats it is M. Noise by L∞ where that is
    less. ρ from a list of about 10 for every doubling.

Reference
    V. Rastogi, S. Nath. Differentially Private Aggregation of Distributed Time-Series with Transformation and
    Encryption. SIGMOD 2010; as FPA in G. Kellaris, S. Papadopoulos, PVLDB 6(5), 2013, section 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from headcount.accounting.budget import Grant
from headcount.adaptive.estimator import LEVEL
from headcount.bounds import Bounded, CountTable, SampleRecords, Sensitivity, columns_of
from headcount.bounds.linear_maps import (
    head,
    inverse_walsh_hadamard,
    walsh_hadamard,
    walsh_hadamard_sensitivity,
)
from headcount.bounds.scores.candidate_scores import TAIL_SPREAD, tail_scores
from headcount.engines.engine import Engine
from headcount.events.log import EventLog
from headcount.methods.counts.count_method import TableRelease, UpToMaximum
from headcount.methods.counts.tables import at_most, kept_up_to
from headcount.methods.method import describe_cost
from headcount.noise import NoiseSource, add_noise, can_draw
from headcount.noise.selection.exponential import choose_candidate
from headcount.noise.stages import Stage, split_among_stages
from headcount.releases.intervals import Term, half_width

COEFFICIENTS = "coefficients"

_PER_DOUBLING = 10


@dataclass(frozen=True, kw_only=True)
class WalshHadamardPerturbation(UpToMaximum):
    """Release item and edge counts with FPA.

    >>> from headcount.noise import SeededNoise
    >>> visits = [(f"u{n}", f"shelf {place}") for n in range(400) for place in range(4 if n < 200 else 8)]
    >>> log = EventLog.of(visits, items=[f"shelf {place}" for place in range(8)])
    >>> release = WalshHadamardPerturbation(limit=8).release(log, Grant("50"), SeededNoise(2))
    >>> [round(count) for count in release.items["count"].to_pylist()], release.chosen
    ([400, 400, 400, 400, 200, 200, 200, 200], {'items': {'coefficients': 4}})
    """

    name: ClassVar[str] = "fpa"
    foreseen: ClassVar[str] = "how smooth counts are along the catalogue is not known"

    def stage(self, log: EventLog, table: CountTable) -> Stage:
        """A choice, and the coefficients it keeps: at least one, though how many is unknown."""
        moved = walsh_hadamard_sensitivity(
            SampleRecords(self.limit).sensitivity(log.counting), columns_of(log, table)
        )
        choice = Stage("choice", Decimal("0.1"), sensitivity=Sensitivity.of_l1(TAIL_SPREAD))
        return Stage(table, parts=(choice, Stage("coefficients", Decimal("0.9"), sensitivity=moved.of_some(1))))

    def make(
        self, log: EventLog, table: CountTable, grant: Grant, noise: NoiseSource, engine: Engine
    ) -> TableRelease:
        """Choose how many coefficients to keep, and release the counts that these describe."""
        parts = split_among_stages(self.stage(log, table).parts, grant)
        counts: Bounded = getattr(engine.measure(log, SampleRecords(self.limit), noise.key()), table)
        coefficients = walsh_hadamard(counts)
        paying = parts["coefficients"].exact
        sizes = [
            size
            for size in candidates(coefficients.size)
            if can_draw(coefficients.sensitivity.of_some(size).l1, paying)
        ]
        penalties = [expected_noise(coefficients, size, paying) for size in sizes]
        kept = sizes[choose_candidate(tail_scores(coefficients, sizes, penalties), parts["choice"], noise)]
        noisy = add_noise(head(coefficients, kept), parts["coefficients"], noise)
        values = inverse_walsh_hadamard(noisy.counts, coefficients.size, counts.size)
        law = replace(noisy.distribution, on=COEFFICIENTS)
        return TableRelease(
            counts=values.reshape(counts.shape),
            half_width=half_width([Term(1 / coefficients.size, noisy.distribution, copies=kept)], LEVEL),
            distribution=law,
            bounded=at_most(self.limit, log),
            steps=(
                kept_up_to(self.limit, log),
                f"Of the {coefficients.size:,} coefficients of a Walsh–Hadamard transform the first {kept:,} "
                f"{'was' if kept == 1 else 'were'} kept, a number chosen by the exponential mechanism, paid with "
                f"{describe_cost(parts['choice'])}.",
                f"These got {law.in_words()}, paid with {describe_cost(parts['coefficients'])}, and were "
                "transformed back.",
            ),
            chosen={"coefficients": kept},
        )


def candidates(size: int) -> list[int]:
    """Return the public list of how many coefficients may be kept: all small numbers, then ten for every doubling.

    >>> candidates(8)
    [1, 2, 3, 4, 5, 6, 7, 8]
    >>> candidates(1 << 20)[-3:], len(candidates(1 << 20))
    ([912838, 978356, 1048576], 175)
    """
    steps = range(math.ceil(_PER_DOUBLING * math.log2(size)) + 1)
    return sorted({min(size, max(1, math.floor(2 ** (step / _PER_DOUBLING) + 1e-9))) for step in steps} | {size})


def expected_noise(coefficients: Bounded, size: int, epsilon: Fraction) -> float:
    """Return how much noise the first coefficients would carry: the L2 norm to expect, in records.

    >>> from headcount.bounds.bounded import SEAL, Sensitivity
    >>> import numpy as np
    >>> few = Bounded(np.zeros(16, np.int64), Sensitivity(l1=64, l2_squared=16 * 4, linf=4), SEAL)
    >>> round(expected_noise(few, 4, Fraction(1)), 2)  # √2 · ρ · Δ₂ / ε
    11.31
    """
    scale = coefficients.sensitivity.of_some(size).l1 / float(epsilon)
    return math.sqrt(2 * size / coefficients.size) * scale
