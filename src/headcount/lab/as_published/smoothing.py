"""GS-R, GS-S, GS and FPA as their paper runs them: parameters are read from private data (unproven).

They exist so that published results can be reproduced and refuted. They run only where the caller says research,
and everything they write says that the claim is not established.

Why it is not private
    All of them take Δ₁, the largest number of records any user has, from the data. It decides how many groups
    there are, or how much noise: the output shows it, and with it whether the most active user is there. FPA
    moreover keeps the number of coefficients that is best for the data, and looks whether anybody repeats
    themselves.

Departures from the paper
    Discrete noise, on group sums and on coefficients in fixed point. FPA's coefficients are the real ones of the
    discrete Fourier transform (twice as many, less one, as complex ones), with noise of scale √m Δ₂/ε on m of
    them, which is the published √(2ρ Δ₁)/ε but for the rounding.

What Δ₂ is
    Kellaris and Papadopoulos count a user at most once a column, so Δ₂ = √Δ₁. Fan and Jin (WWW 2015, section 6)
    run the same algorithm on records, as DFT, and tell Δ₁ = M = max |T_k| alone. Where a user has a cell of the
    table once at most, as with their film ratings, Δ₂ = √M for records too. Where somebody repeats themselves, as
    with their check-ins, all M records may be about one cell, and Δ₂ = M. Which of both it is, is read from the
    data, like M. The exact norm of the largest user would lie between them; the text takes nothing but M from the
    data, so it is not used.

Reference
    G. Kellaris, S. Papadopoulos. Practical Differential Privacy via Grouping and Smoothing. PVLDB 6(5), 2013,
    sections 2, 3 and 5.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from headcount.accounting.budget import Grant
from headcount.adaptive.estimator import LEVEL
from headcount.bounds import ActivityHistogram, Bounded, CountTable, SampleRecords
from headcount.bounds.counts.sample_records import SampleUsers
from headcount.bounds.linear_maps import fourier, head, inverse_fourier
from headcount.engines.engine import Engine
from headcount.events.log import EventLog
from headcount.lab.as_published.claimed import Claimed
from headcount.lab.as_published.laplace_hpa import largest_user
from headcount.methods.counts.count_method import PerTableMethod, TableRelease, UpToMaximum
from headcount.methods.counts.smoothing.random_groups import RandomGroups
from headcount.methods.counts.smoothing.sampled_groups import SampledGroups, Sampling, check_sampling
from headcount.methods.counts.smoothing.tuned_groups import TunedGroups
from headcount.methods.counts.tables import at_most, were_kept
from headcount.methods.counts.walsh_hadamard import COEFFICIENTS
from headcount.methods.method import Bounds, describe_cost
from headcount.noise import NoiseSource, add_noise
from headcount.releases.intervals import Term, half_width

_GS_REASON = (
    "the size of groups and noise follows the largest number of records of any user, read from the data, and so "
    "reveals it"
)
_FPA_REASON = (
    "the number of coefficients is the best one for the data, and the noise follows the largest number of records "
    "of any user: both are read from the data, and so reveal it"
)


@dataclass(frozen=True, kw_only=True)
class _ReadsMaximum(Claimed, PerTableMethod):
    """A method whose maximum is the largest user's number of records."""

    reason: ClassVar[str | None] = _GS_REASON
    bounds: ClassVar[Bounds] = (ActivityHistogram, SampleRecords, SampleUsers)
    covers: ClassVar[str] = "smoothed"

    @abstractmethod
    def with_limit(self, limit: int) -> PerTableMethod:
        """Return the method with its maximum declared."""

    @property
    def declared(self) -> str:
        """Nothing is declared: that is what is wrong with it."""
        return ""

    def make(
        self, log: EventLog, table: CountTable, grant: Grant, noise: NoiseSource, engine: Engine
    ) -> TableRelease:
        """Read the maximum from the data, then go on with it."""
        return self.with_limit(largest_user(log, table, noise, engine)).make(log, table, grant, noise, engine)


@dataclass(frozen=True, kw_only=True)
class RandomGroupsPublished(_ReadsMaximum):
    """GS-R with Δ₁ read from the data.

    >>> RandomGroupsPublished().guarantee(Grant("1")).short()
    'ε = 1 claimed, not established'
    """

    name: ClassVar[str] = "gs-r-published"

    def with_limit(self, limit: int) -> PerTableMethod:
        """GS-R."""
        return RandomGroups(limit=limit)


@dataclass(frozen=True, kw_only=True)
class SampledGroupsPublished(_ReadsMaximum):
    """GS-S with Δ₁ read from the data.

    >>> SampledGroupsPublished(sampling="row").guarantee(Grant("1")).short()
    'ε = 1 claimed, not established'
    """

    name: ClassVar[str] = "gs-s-published"

    sampling: Sampling = "column"

    def __post_init__(self) -> None:
        check_sampling(self.sampling)

    def with_limit(self, limit: int) -> PerTableMethod:
        """GS-S."""
        return SampledGroups(limit=limit, sampling=self.sampling)


@dataclass(frozen=True, kw_only=True)
class TunedGroupsPublished(SampledGroupsPublished):
    """GS with Δ₁ read from the data.

    >>> TunedGroupsPublished().guarantee(Grant("1")).short()
    'ε = 1 claimed, not established'
    """

    name: ClassVar[str] = "gs-published"

    def with_limit(self, limit: int) -> PerTableMethod:
        """GS."""
        return TunedGroups(limit=limit, sampling=self.sampling)


@dataclass(frozen=True, kw_only=True)
class FourierPerturbationPublished(_ReadsMaximum):
    """FPA with Δ₁ and the best number of coefficients read from the data.

    >>> FourierPerturbationPublished().guarantee(Grant("1")).short()
    'ε = 1 claimed, not established'
    """

    name: ClassVar[str] = "fpa-published"
    reason: ClassVar[str | None] = _FPA_REASON

    def with_limit(self, limit: int) -> PerTableMethod:
        """FPA."""
        return _BestCoefficients(limit=limit)


@dataclass(frozen=True, kw_only=True)
class _BestCoefficients(UpToMaximum):
    """FPA that keeps as many Fourier coefficients as are best for the data."""

    name: ClassVar[str] = "fpa-published"

    def make(
        self, log: EventLog, table: CountTable, grant: Grant, noise: NoiseSource, engine: Engine
    ) -> TableRelease:
        """Look for the best number of coefficients, and release the counts that these describe."""
        counts = everything(log, table, self.limit, noise.key(), engine)
        transformed = fourier(counts)
        kept = best_number(transformed, grant.exact)
        noisy = add_noise(head(transformed, kept), grant, noise)
        law = replace(noisy.distribution, on=COEFFICIENTS)
        return TableRelease(
            counts=inverse_fourier(noisy.counts, counts.size).reshape(counts.shape),
            half_width=half_width([Term(math.sqrt(2 / counts.size), noisy.distribution, copies=kept)], LEVEL),
            distribution=law,
            bounded=at_most(self.limit, log),
            steps=(
                f"{were_kept(self.limit, log)}, which is everything.",
                f"Of the {counts.size:,} coefficients of a Fourier transform the first {kept:,} "
                f"{'was' if kept == 1 else 'were'} kept: the best number for the data.",
                f"These got {law.in_words()}, paid with {describe_cost(grant)}, and were transformed back.",
            ),
            chosen={"coefficients": kept},
        )


def everything(log: EventLog, table: CountTable, limit: int, secret: bytes, engine: Engine) -> Bounded:
    """Count a table of people with at most ``limit`` (M) records, and Δ₂ = √M unless somebody repeats themselves.

    Where nobody is in a cell twice, records are people, cell by cell, and counting these says so. Unprotected.

    >>> from headcount.engines.local.engine import LocalEngine
    >>> log = EventLog.of([("ann", "tea", "AM"), ("ann", "tea", "PM")], items=["tea"], contexts=["AM", "PM"])
    >>> counted = [everything(log, table, 2, bytes(16), LocalEngine()) for table in ("items", "edges")]
    >>> [counts.sensitivity.l2_squared for counts in counted]
    [4, 2]
    """

    def counted(read: EventLog) -> Bounded:
        both = engine.measure(read, SampleRecords(limit), secret)
        return both.items if table == "items" else both.edges

    records, users = counted(log), counted(replace(log, counting="users"))
    return users if np.array_equal(records.sensitive_values, users.sensitive_values) else records


def best_number(transformed: Bounded, epsilon: Fraction) -> int:
    """Return how many coefficients give the smallest squared error: the mean and pairs of both waves, or all."""
    values = transformed.sensitive_values / transformed.unit
    sizes = np.union1d(np.arange(1, values.size + 1, 2), [values.size])
    left_out = np.append(np.cumsum(values[::-1] ** 2)[::-1], 0.0)[sizes]
    scales = np.sqrt(sizes) * transformed.sensitivity.l2 / transformed.unit / float(epsilon)
    return int(sizes[np.argmin(left_out + 2 * sizes * scales**2)])
