"""DPSense: down-weight heavy users at a clipping threshold that the exponential mechanism chooses.

Nobody has to guess a limit. For every θ from 1 to the number of columns d, q(θ) weighs what a limit of θ would
keep (Σ min(r, θ) over all users, r being how many records a user has) against the noise it calls for (θ/ε₂ a
column). The exponential mechanism picks a good θ at a tenth of ε. Then every record of a user with r > θ records
counts as θ/r, and the counts get discrete Laplace noise of scale θ/ε₂ with the other nine tenths.

Users above the limit are counted in part: all counts are biased downwards. ``dpsense-s`` corrects that.

Why it is private
    d · q(θ) = Σ min(r, θ) - d θ/ε₂. One user adds min(r, θ) to it, which is 1 for θ = 1 and at most d for θ = d:
    two candidates are moved by at most d - 1 differently, and what all gain alike cancels in the exponential
    mechanism. So the choice with probability ∝ exp(ε₁ · d · q(θ) / (d - 1)) is ε₁-differentially private. With θ
    fixed, one user adds at most θ to the weighted counts in L1: noise of scale θ/ε₂ pays for ε₂, and ε₁ + ε₂ = ε.

Departures from the paper
    Algorithm 1 halves the exponent, exp(ε₁ q/2), which needs no halving since q only grows when a user joins; the
    text's own form is exp(ε₁ q), and over the whole grid exp(ε₁ q d/(d - 1)) is valid and a little sharper: that
    one is used. As printed the algorithm spends at most 0.95 ε; that variant is ``dpsense-published``. Records may
    repeat: ``repeats`` (the paper's r, by default 1) raises the grid to θ in 1..d·r; r_i counts all records of a
    user, and weighting alone bounds them. Weights are whole multiples of 2^-16, discrete noise; negative counts
    are left as they are, so that sums stay right. Each table has its own θ.

Reference
    W.-Y. Day, N. Li. Differentially Private Publishing of High-dimensional Data Using Sensitivity Control. ASIACCS
    2015, Algorithm 1 and section 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from headcount.accounting.budget import Cost, Grant
from headcount.adaptive.estimator import LEVEL
from headcount.bounds import (
    FIXED_POINT,
    ActivityHistogram,
    Bounded,
    CountTable,
    Scored,
    Sensitivity,
    WeightToThreshold,
    check_limit,
    columns_of,
)
from headcount.bounds.scores.candidate_scores import capped_total_scores
from headcount.engines.engine import Engine
from headcount.errors import UsageError
from headcount.events.log import MOST_CELLS, EventLog
from headcount.methods.counts.count_method import PerTableMethod, TableRelease
from headcount.methods.counts.tables import NOUNS
from headcount.methods.method import Bounds, describe_cost
from headcount.noise import NoiseSource, add_noise, max_drawable_l1
from headcount.noise.selection.exponential import choose_candidate
from headcount.noise.stages import Stage, split_among_stages

SHARES = {"choice": Decimal("0.1"), "counts": Decimal("0.9")}


@dataclass(frozen=True, kw_only=True)
class SensitivityControl(PerTableMethod):
    """Release item and edge counts with DPSense.

    >>> from headcount.noise import SeededNoise
    >>> visits = [(f"u{n}", item) for n in range(90) for item in ("tea", "rye") if n < 60 or item == "tea"]
    >>> log = EventLog.of(visits, items=["oat", "rye", "fig", "tea"])
    >>> release = SensitivityControl().release(log, Grant("50"), SeededNoise(1))
    >>> [round(count) for count in release.items["count"].to_pylist()], release.chosen
    ([0, 60, 0, 90], {'items': {'theta': 2}})
    """

    name: ClassVar[str] = "dpsense"
    bounds: ClassVar[Bounds] = (ActivityHistogram, WeightToThreshold)
    example: ClassVar[dict[str, int]] = {"repeats": 2}
    foreseen: ClassVar[str] = "weighed"

    repeats: int = 1

    def __post_init__(self) -> None:
        check_limit(self.repeats, "repeats")

    @property
    def declared(self) -> str:
        """How often people repeat themselves at most, on average over all columns."""
        return (
            f"the grid of limits, for {self.repeats} {'record' if self.repeats == 1 else 'records'} a column, was"
        )

    @property
    def split(self) -> Mapping[str, Decimal]:
        """How a table's part is shared between the choice of θ and the counts."""
        return SHARES

    def stage(self, log: EventLog, table: CountTable) -> Stage:
        """The choice of θ, and the counts, whose noise depends on it: at least that of θ = 1."""
        moved = {"choice": self.score_sensitivity(log, table), "counts": FIXED_POINT}
        parts = (
            Stage(name, share, sensitivity=Sensitivity.of_l1(moved[name])) for name, share in self.split.items()
        )
        return Stage(table, parts=tuple(parts))

    def score_sensitivity(self, log: EventLog, table: CountTable) -> int:
        """Return how differently one person moves two candidates; refuse a grid that is too large."""
        return largest_limit(log, table, self.repeats)

    def score_thresholds(self, activity: Bounded, columns: int, epsilon: Fraction) -> Scored:
        """Weigh every limit, from how many people have how many records."""
        return capped_total_scores(activity, columns, epsilon)

    def make(
        self, log: EventLog, table: CountTable, grant: Grant, noise: NoiseSource, engine: Engine
    ) -> TableRelease:
        """Choose a limit, and release the weighted counts."""
        parts = split_among_stages(self.stage(log, table).parts, grant)
        most = largest_limit(log, table, self.repeats)
        activity = engine.measure(log, ActivityHistogram(table, most), noise.key())
        scored = self.score_thresholds(activity, columns_of(log, table), parts["counts"].exact)
        theta = drawable(1 + choose_candidate(scored, parts["choice"], noise), parts["counts"].cost)
        choice_step = (
            f"A limit of θ = {theta:,} out of 1 to {most:,} was chosen by the exponential mechanism, paid with "
            f"{describe_cost(parts['choice'])}."
        )
        return weighted(log, table, theta, None, parts["counts"], noise, engine, choice_step)


def drawable(theta: int, cost: Cost) -> int:
    """Return θ, or the largest limit whose noise can be drawn, which is public.

    >>> drawable(40, Cost.of("1")), drawable(40_000, Cost.of("1")), drawable(40_000, Cost.of("0.001"))
    (40, 32767, 32)
    """
    return min(theta, max_drawable_l1(cost.exact) // FIXED_POINT)


def weighted(
    log: EventLog,
    table: CountTable,
    theta: int,
    alpha: Fraction | None,
    grant: Grant,
    noise: NoiseSource,
    engine: Engine,
    choice_step: str,
) -> TableRelease:
    """Release the counts of all records, weighted so that nobody adds more than θ, and scaled up by α if any."""
    counts: Bounded = getattr(engine.measure(log, WeightToThreshold(theta), noise.key()), table)
    noisy = add_noise(counts, grant, noise)
    factor = Fraction(1) if alpha is None else alpha
    distribution = noisy.distribution.times(factor)
    up = None if alpha is None else f"{float(alpha):.2f}"
    return TableRelease(
        counts=noisy.counts * float(factor),
        half_width=distribution.half_width(LEVEL),
        distribution=distribution,
        bounded=f"{_units(log, table)} weighing at most {theta:,} per person{f' × {up}' if up else ''}",
        steps=(
            choice_step,
            f"All records of a person with more than {theta:,} of them counted in part, so that together they "
            f"weigh {theta:,}.",
            f"Every {NOUNS[table]}, zeros included, got {noisy.distribution.in_words()}, "
            f"paid with {describe_cost(grant)}{f', and was then multiplied by α = {up}' if up else ''}.",
        ),
        chosen={"theta": theta} | ({"alpha": up} if up else {}),
    )


def _units(log: EventLog, table: CountTable) -> str:
    if log.counting == "records":
        return "records"
    return "different items" if table == "items" else "different pairs of item and context"


def largest_limit(log: EventLog, table: CountTable, repeats: int) -> int:
    """Return the end of the grid of limits: public, since it comes from the catalogue.

    >>> largest_limit(EventLog.of([], items=["rye", "tea"]), "items", 3)
    6
    """
    if log.counting == "users" and repeats > 1:
        raise UsageError("repeats is of no use where users are counted: nobody repeats", remedy="leave it out")
    most = columns_of(log, table) * repeats
    if most > MOST_CELLS:
        raise UsageError(
            f"{columns_of(log, table):,} columns with {repeats:,} records each are {most:,} limits to weigh, more "
            f"than {MOST_CELLS:,}",
            remedy="lower repeats",
        )
    return most
