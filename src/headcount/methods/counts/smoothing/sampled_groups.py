"""GS-S, grouping by a private sample: similar columns grouped together, each group's average released with noise.

Half of ε buys a rough, noisy count of every column from a sample (t_s). The columns are sorted by it and cut into
groups of ``limit`` (M); then, as in GS-R, every group's sum gets noise and its average stands for each column, for
the other half of ε. The better the sample tells large columns from small ones, the less averaging costs.

``sampling`` says how t_s is made: ``column``, one random record of each user; ``row``, all records of a few users
drawn by lot; ``none``, all records of everyone, with as much more noise.

Why it is private
    M is declared and enforced, a user with more than M records keeps M of them at random. One record a user moves
    t_s by at most 1, so noise of scale 2/ε pays for ε/2. Without sampling it moves by at most M, and the noise has
    scale 2M/ε. With a lot that takes each user with probability β and is known to nobody, noise of scale 2/ε,
    which pays for M records at ε' = εM/2, costs ln(1 + β (e^ε' - 1)) = ε/2 for β = (e^(ε/2) - 1) / (e^(εM/2) - 1).
    Items and contexts each need an independent lot, from a fresh key: with one lot for both tables, both samples
    together cost more than the sum of their ε.
    The groups are made of noisy numbers, and with the groups fixed their sums move by at most M: noise of scale
    2M/ε pays for the other ε/2.

Departures from the paper
    In the paper Δ₁ = M is the largest number of records any user has, read from the data: then the size of the
    groups, which shows in the output, reveals it. That variant is ``gs-s-published``. Discrete noise on whole sums
    instead of continuous noise on averages. β is rounded down to a multiple of 2^-64: at a large M no user is
    drawn. Each table is grouped for itself.

Reference
    G. Kellaris, S. Papadopoulos. Practical Differential Privacy via Grouping and Smoothing. PVLDB 6(5), 2013,
    section 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import ClassVar, Literal

from headcount.accounting.budget import Cost, CostOrGrant, Grant
from headcount.accounting.guarantee import Guarantee
from headcount.bounds import ALL_USERS, Bounded, CountBound, CountTable, Noisy, SampleRecords, Sensitivity
from headcount.bounds.counts.sample_records import SampleUsers
from headcount.engines.engine import Engine
from headcount.errors import UsageError, param
from headcount.events.log import EventLog
from headcount.methods.counts.count_method import TableRelease, UpToMaximum
from headcount.methods.counts.smoothing.grouping import Groups, order_by
from headcount.methods.counts.smoothing.random_groups import GROUP_SUMS, smoothed
from headcount.methods.counts.tables import at_most, kept_up_to
from headcount.methods.method import Bounds, describe_cost
from headcount.noise import NoiseSource, add_noise
from headcount.noise.stages import Stage, split_among_stages

Sampling = Literal["column", "row", "none"]

UNFORESEEN = "nobody can foresee who was drawn by lot: SipHash-2-4 under a fresh key is as good as random"

_PRECISION = 60  # digits
_NOBODY = 45  # β is at most e^-ε(M - 1), and e^-45 is below 2^-64
_MARGIN = Decimal("1e-8")  # of the ε within the sample, above what is rounded away when it is paid


@dataclass(frozen=True, kw_only=True)
class SampledGroups(UpToMaximum):
    """Release item and edge counts with GS-S.

    >>> from headcount.noise import SeededNoise
    >>> visits = [(f"u{n}", item) for n in range(90) for item in ("tea", "rye") if n < 60 or item == "tea"]
    >>> log = EventLog.of(visits, items=["oat", "rye", "fig", "tea"])
    >>> SampledGroups(limit=2).release(log, Grant("50"), SeededNoise(1)).items["count"].to_pylist()
    [0.0, 75.0, 0.0, 75.0]
    """

    name: ClassVar[str] = "gs-s"
    bounds: ClassVar[Bounds] = (SampleRecords, SampleUsers)
    foreseen: ClassVar[str] = "its groups follow the counts themselves"
    tunes: ClassVar[bool] = False
    why_so_large: ClassVar[str] = ""

    sampling: Sampling = "column"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sampling(self.sampling)

    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """Pure ε for adding or removing a user; drawing users by lot protects only if the lots are secret."""
        base = super().guarantee(priced)
        return base if self.sampling != "row" else replace(base, assumes=(*base.assumes, UNFORESEEN))

    def stage(self, log: EventLog, table: CountTable) -> Stage:  # noqa: ARG002
        """The sample, and the sums of the groups that it makes."""
        half, moved = Decimal("0.5"), Sensitivity.of_l1(self.limit)
        return Stage(
            table,
            parts=(Stage("sample", half), Stage("sums", half, sensitivity=moved, on=GROUP_SUMS, tells=(table,))),
        )

    def make(
        self, log: EventLog, table: CountTable, grant: Grant, noise: NoiseSource, engine: Engine
    ) -> TableRelease:
        """Group the columns by a noisy sample, and release the groups' averages."""
        halves = split_among_stages(self.stage(log, table).parts, grant)
        sample = self._sample(log, table, halves["sample"], noise, engine)
        groups = self._groups(sample, halves["sums"].cost, noise)
        counts: Bounded = getattr(engine.measure(log, SampleRecords(self.limit), noise.key()), table)
        steps = (
            f"{self._sampled()} per column with {sample.distribution.in_words()}, paid with "
            f"{describe_cost(halves['sample'])}; the columns were sorted by it and cut into groups of "
            f"{groups.size:,}"
            f"{self.why_so_large}.",
            kept_up_to(self.limit, log),
        )
        release = smoothed(counts, groups, halves["sums"], noise, at_most(self.limit, log), steps)
        return replace(release, chosen={"group size": groups.size} if self.tunes else {})

    def _sample(self, log: EventLog, table: CountTable, grant: Grant, noise: NoiseSource, engine: Engine) -> Noisy:
        """Release t_s."""
        bound: CountBound = SampleRecords(1 if self.sampling == "column" else self.limit)
        if self.sampling == "row":
            bound = SampleUsers(self.limit, admission(grant.exact, self.limit))
        counted: Bounded = getattr(engine.measure(log, bound, noise.key()), table)
        return add_noise(counted, grant, noise, at_least=1)

    def _groups(self, sample: Noisy, price: Cost, noise: NoiseSource) -> Groups:  # noqa: ARG002
        """Make groups of neighbours: from released numbers alone."""
        return Groups.by_size(order_by(sample.values.ravel()), self.limit)

    def _sampled(self) -> str:
        sentences = {
            "column": "One random record of each person was counted",
            "row": "The records of a few people, drawn by lot, were counted",
            "none": "The records were counted",
        }
        return sentences[self.sampling]


def check_sampling(sampling: str) -> None:
    """Refuse what is no way of sampling."""
    if sampling not in ("column", "row", "none"):
        raise UsageError(
            "sampling must be column, row or none",
            given=sampling,
            remedy=f"try {param.option({'sampling': 'column'})}",
        )


def admission(epsilon: Fraction, limit: int) -> int:
    """Return of how many in 2^64 users a sample of rows may take, so that noise of scale 1/ε pays for ε.

    β = (e^ε - 1) / (e^(ε · limit) - 1), rounded down; with a single record a user everyone may be taken.

    >>> admission(Fraction(1, 2), 1) == ALL_USERS, admission(Fraction(1, 2), 1000)
    (True, 0)
    >>> round(admission(Fraction(1, 2), 4) / ALL_USERS, 4)
    0.1015
    """
    if limit == 1:
        return ALL_USERS
    if epsilon * (limit - 1) > _NOBODY:
        return 0
    with localcontext() as context:
        context.prec = _PRECISION
        exact = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
        beta = (exact.exp() - 1) / ((exact * limit + _MARGIN).exp() - 1)
        return int(beta * ALL_USERS)
