"""SRA, the simple random algorithm: a few random records of each user, counted with noise.

Each user keeps at most ``limit`` (l) records, drawn uniformly from that user's own history. The kept records
are counted per item and per item and context, and every count, zeros included, gets discrete Laplace noise.

A small limit discards records of active users (bias); a large one calls for more noise (variance).

Why it is private
    What a user keeps depends on nobody else, so one user joining or leaving moves the bounded item counts by at
    most l in L1, and the edge counts likewise. Items with noise of scale l/ε₁ and edges with l/ε₂ from one
    sample are (ε₁ + ε₂)-differentially private together, by composition over the joint release, for every
    outcome of the sampling and so on average over it. No amplification by sampling is claimed.

    With Gaussian noise each table is moved by at most l in L2 where records are counted, and by √l where users
    are, each of whom adds 1 to at most l cells. Noise of standard deviation Δ/√2ρ₁ makes a table that moves by Δ
    ρ₁-zero-concentrated; both tables together are so for ρ₁ + ρ₂, which is the ρ that ε and δ allow for.

Departures from the paper
    Discrete instead of continuous Laplace noise. The sample is keyed by user, so that it does not depend on row
    order or threads. Items and edges are reconciled by least squares after the noise. The paper's proof applies
    its Lemma 6 to items and edges one by one though they share a sample; it is applied here to both at once.

Reference
    L. Fan, H. Jin. A Practical Framework for Privacy-Preserving Data Analytics. WWW 2015, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from headcount.accounting.budget import Amount, Cost, CostOrGrant, Grant
from headcount.accounting.guarantee import Guarantee, Standing
from headcount.accounting.noise_distributions import NoiseKind
from headcount.bounds import SampleRecords, check_limit
from headcount.engines.engine import Engine
from headcount.events.log import EventLog
from headcount.methods.counts.count_method import KeptRecords
from headcount.methods.counts.tables import (
    NoisyCounts,
    add_table_noise,
    assumptions,
    table_stages,
    were_kept,
)
from headcount.methods.method import Bounds, What
from headcount.noise import NoiseSource
from headcount.noise.stages import Stages, normalize_split, split_among_stages


@dataclass(frozen=True, kw_only=True)
class SimpleRandom(KeptRecords):
    """Release item and edge counts with SRA.

    >>> from headcount.noise import SeededNoise
    >>> log = EventLog.of([("ann", "tea"), ("ann", "rye"), ("bob", "tea")], items=["rye", "tea"])
    >>> SimpleRandom(limit=2).release(log, Grant("50"), SeededNoise(1)).items["count"].to_pylist()
    [1.0, 2.0]
    """

    name: ClassVar[str] = "sra"
    foreseen: ClassVar[str] = "sampled"
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None
    bounds: ClassVar[Bounds] = (SampleRecords,)
    limit_name: ClassVar[str] = "limit"
    story: ClassVar[str] = "{were_kept}, drawn at random from each person's own."

    limit: int
    what: What | None = None
    shares: Mapping[str, Amount] | None = None
    noise: NoiseKind = "laplace"

    def __post_init__(self) -> None:
        check_limit(self.limit)

    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """Pure ε for adding or removing a user; with Gaussian noise (ε, δ)."""
        declared = f"the {self.limit_name} of {self.limit} was"
        return Guarantee(epsilon=priced.epsilon, delta=priced.delta, assumes=assumptions(declared))

    def stages(self, log: EventLog, price: Cost) -> Stages:  # noqa: ARG002
        """Items and edges of one sample."""
        return normalize_split(table_stages(self.what, log, self.limit, self.noise, "0.5"), self.shares)

    def measure(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine) -> NoisyCounts:
        """Sample each user's records once, and add noise to the items and edges of that one sample."""
        grants = split_among_stages(self.stages(log, grant.cost), grant)
        counts = engine.measure(log, SampleRecords(self.limit), noise.key())
        steps = [self.story.format(were_kept=were_kept(self.limit, log))]
        return add_table_noise(counts, grants, noise, steps)
