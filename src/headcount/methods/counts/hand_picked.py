"""HPA, the hand-picked algorithm: of each user the records about the most popular items, counted with noise.

First a private estimate of popularity: each user gives ``d`` random records, which are counted per item with
noise of scale d/ε₀. Then each user keeps the ``limit`` (l) records whose items have the largest noisy scores,
ties at random, and the kept records are counted per item and per item and context with noise, as in SRA.

What makes a record worth keeping may be something else than popularity (section 4.2: "the record utility can be
defined in other ways"). Public ``scores`` of items say so, and take the place of the estimate: nothing is spent on
them, and items without one are picked last.

The counts of the most popular items come nearest to the true ones: their records are the ones that survive the
limit. Counts of everything else are biased downwards, more than in SRA, and so is their order.

Why it is private
    The scores move by at most d in L1 when one user joins or leaves, so releasing them with noise of scale d/ε₀
    is ε₀-differentially private. With the noisy scores fixed, what a user keeps depends on that user's records
    and draws alone, so the counts move by at most l in L1; noise of scale l/ε₁ and l/ε₂ costs ε₁ + ε₂. The
    whole is (ε₀ + ε₁ + ε₂)-differentially private by adaptive composition. With Gaussian noise on items and edges,
    as in SRA, what the scores leave of ε and all of δ allow for a ρ that both share; the scores stay Laplace.
    Public scores are fixed before the log is looked at, so they cost nothing, and the rest stands as it is.

Departures from the paper
    d is declared, by default 1. The paper runs with d = the fewest records any user has, read from the data,
    which is not private (a loss of 14.6 where 1 is claimed); that variant is ``hpa-published``. Negative scores
    count as 0; they are not normalised, which changes no ranking and avoids 0/0. Discrete instead of continuous
    Laplace noise; items and edges are reconciled by least squares after the noise. By default the scores get
    0.3 of ε, items and edges 0.35 each, instead of the paper's 0.1/0.45/0.45: it was measured to rank better.
    Public scores are per item, as the paper's are: score(r) = p_i for every record r about item i.

Reference
    L. Fan, H. Jin. A Practical Framework for Privacy-Preserving Data Analytics. WWW 2015, Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np

from headcount.accounting.budget import Amount, Cost, CostOrGrant, Grant
from headcount.accounting.guarantee import Guarantee, Standing
from headcount.accounting.noise_distributions import NoiseKind
from headcount.bounds import KeepTopScored, Noisy, SampleRecords, check_limit
from headcount.bounds.counts.keep_top_scored import DeclaredScores
from headcount.engines.engine import Engine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.methods.counts.count_method import KeptRecords
from headcount.methods.counts.public_scores import PublicScores
from headcount.methods.counts.tables import (
    NoisyCounts,
    add_table_noise,
    assumptions,
    at_most,
    table_stages,
    were_kept,
)
from headcount.methods.method import OMITTED_BY_DEFAULT, Bounds, What, describe_cost
from headcount.noise import NoiseSource, add_noise
from headcount.noise.stages import Stage, Stages, normalize_split, split_among_stages

PUBLISHED_SHARES = {"scores": "0.1", "items": "0.45", "edges": "0.45"}
DEFAULT_SHARES = {"scores": "0.3", "items": "0.35", "edges": "0.35"}


@dataclass(frozen=True, kw_only=True)
class HandPicked(KeptRecords):
    """Release item and edge counts with HPA.

    >>> from headcount.noise import SeededNoise
    >>> visits = [(f"u{n}", item) for n in range(30) for item in ("tea", f"rare{n % 3}")]
    >>> log = EventLog.of(visits, items=["rare0", "rare1", "rare2", "tea"])
    >>> HandPicked(limit=1).release(log, Grant("50"), SeededNoise(1)).items["count"].to_pylist()
    [0.0, 0.0, 0.0, 30.0]
    >>> odd = HandPicked(limit=1, scores={"rare1": 2, "rare2": 1})
    >>> odd.release(log, Grant("50"), SeededNoise(1)).items["count"].to_pylist()
    [7.0, 10.0, 10.0, 3.0]
    """

    name: ClassVar[str] = "hpa"
    example: ClassVar[Mapping[str, int]] = {"limit": 3, "d": 2}
    foreseen: ClassVar[str] = "picked"
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None
    bounds: ClassVar[Bounds] = (SampleRecords, KeepTopScored)

    limit: int
    d: int = 1
    scores: Any = field(default=None, metadata=OMITTED_BY_DEFAULT)
    """Public scores of items: a file, a table, or a mapping (:mod:`headcount.methods.counts.public_scores`)."""
    what: What | None = None
    shares: Mapping[str, Amount] | None = None
    noise: NoiseKind = "laplace"

    def __post_init__(self) -> None:
        check_limit(self.limit)
        check_limit(self.d, "d")
        if self.scores is None:
            return
        if self.d != 1:
            raise UsageError("d is of no use with public scores: nothing is estimated", remedy="leave d out")
        scores = PublicScores.read(self.scores)
        if scores.by_item:  # or refused, before anything is charged
            object.__setattr__(self, "scores", scores)

    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """Pure ε for adding or removing a user; with Gaussian noise (ε, δ)."""
        assumes = assumptions(f"the limit of {self.limit} and d = {self.d} were")
        if self.scores is not None:
            public = f"the scores of items ({self.scores}) are public, fixed without looking at the log"
            assumes = (*assumptions(f"the limit of {self.limit} was"), public)
        return Guarantee(epsilon=priced.epsilon, delta=priced.delta, assumes=assumes)

    def stages(self, log: EventLog, price: Cost) -> Stages:  # noqa: ARG002
        """Popularity, with Laplace noise, unless scores are public; then items and edges of what is picked."""
        tables = table_stages(self.what, log, self.limit, self.noise, DEFAULT_SHARES["items"])
        if self.scores is not None:
            return normalize_split(tables, self.shares)
        moved = SampleRecords(self.d).sensitivity(log.counting)
        scores = Stage("scores", Decimal(DEFAULT_SHARES["scores"]), sensitivity=moved)
        return normalize_split([scores, *tables], self.shares)

    def measure(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine) -> NoisyCounts:
        """Estimate popularity, pick each user's most popular records, and add noise to their counts."""
        grants = split_among_stages(self.stages(log, grant.cost), grant)
        scores: Noisy | DeclaredScores
        if self.scores is None:
            sampled = engine.measure(log, SampleRecords(self.d), noise.key())
            scores = popularity(add_noise(sampled.items, grants["scores"], noise))
            first = (
                f"Popularity was estimated from {at_most(self.d, log)}, drawn at random, with "
                f"{scores.distribution.in_words()}, paid with {describe_cost(grants['scores'])}."
            )
            picked = "those about the items that came out most popular"
        else:
            scores = self.scores.ranked(log.catalogue.ids)
            first = (
                f"Public scores ({self.scores}) of {self.scores.listed(log.catalogue.ids):,} of the "
                f"{len(log.catalogue.ids):,} items took the place of an estimate; nothing was spent on them."
            )
            picked = "those about the items with the highest public scores"
        counts = engine.measure(log, KeepTopScored(self.limit, scores), noise.key())
        return add_table_noise(counts, grants, noise, [first, f"{were_kept(self.limit, log)}: {picked}."])


def popularity(scores: Noisy) -> Noisy:
    """Count negative scores as 0, so that all unpopular items tie.

    >>> from headcount.accounting.noise_distributions import DiscreteLaplace
    >>> popularity(Noisy(np.array([-3, 4]), DiscreteLaplace.from_json({"scale": "1"}))).values.tolist()
    [0, 4]
    """
    return Noisy(np.maximum(scores.values, 0), scores.distribution)
