"""Ranking values: selected items in order, with counts if requested; their table; the noise of a round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Integers
from headcount.accounting.budget import Cost
from headcount.accounting.noise_distributions import DiscreteGaussian, NoiseDistribution
from headcount.adaptive.estimator import LEVEL
from headcount.adaptive.posterior import Posterior
from headcount.bounds import Noisy
from headcount.events.log import EventLog
from headcount.methods.counts.tables import histogram_table
from headcount.noise.selection.exponential_zcdp import GUMBEL_DEVIATION, SWAP_ONE_IN_SIX, scale_for_picks
from headcount.releases.formatting import per_cent

ACTIVITY_SHARE = Decimal("0.02")


@dataclass(frozen=True)
class Ranked:
    """The winners of one ranking by place in the catalogue, the best first, with counts if there are any."""

    winners: Sequence[int]
    counts: Sequence[float] = ()
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def best(counts: Posterior, k: int, places: Integers | None = None) -> Ranked:
    """Return the k largest counts; of equal ones the first. ``places`` are those in the catalogue, if not all.

    >>> two = np.array([3.0, 9.0])
    >>> best(Posterior(two, two - 1, two + 1), 1, np.array([17, 4]))
    Ranked(winners=[4], counts=[9.0], low=[8.0], high=[10.0])
    """
    order: Sequence[int] = np.argsort(-counts.mean, kind="stable")[:k].tolist()
    winners: Sequence[int] = order if places is None else places[order].tolist()
    return Ranked(winners, counts.mean[order].tolist(), counts.low[order].tolist(), counts.high[order].tolist())


def ranking_table(
    log: EventLog, rankings: Sequence[Ranked], contexts: Sequence[str] | None, *, counted: bool
) -> pa.Table:
    """Put the rankings one under the other, with counts if these were asked for."""
    labels = log.catalogue.label_column
    winners = pa.array([index for ranking in rankings for index in ranking.winners], pa.int64())
    columns: dict[str, Any] = {
        "rank": pa.array(
            [rank for ranking in rankings for rank in range(1, len(ranking.winners) + 1)], pa.int64()
        ),
        "item": log.catalogue.column.take(winners),
        "label": labels.take(winners),
    }
    if contexts is not None:
        names = [name for name, ranking in zip(contexts, rankings, strict=True) for _ in ranking.winners]
        columns["context"] = pa.array(names, pa.string())
    if counted:
        columns["count"] = pa.array([count for ranking in rankings for count in ranking.counts], pa.float64())
        columns["low"] = pa.array([low for ranking in rankings for low in ranking.low], pa.float64())
        columns["high"] = pa.array([high for ranking in rankings for high in ranking.high], pa.float64())
    return pa.table(columns)


@dataclass(frozen=True)
class Outcome:
    """Rankings, one for each context, with what else is released and told of them."""

    rankings: Sequence[Ranked]
    noise_distributions: Mapping[str, NoiseDistribution]
    steps: tuple[str, ...]
    chosen: Mapping[str, Any]
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    average: bool = False

    def with_activity(self, released: Noisy) -> Outcome:
        """Put the released histogram beside, which came first."""
        by = "ρ" if isinstance(released.distribution, DiscreteGaussian) else "ε"
        first = (
            "First it was released how many people have 1, 2, 3-4, 5-8, … different items, with "
            f"{released.distribution.in_words()}, paid with {per_cent(ACTIVITY_SHARE)} of {by}."
        )
        table = histogram_table(released.counts, released.distribution.half_width(LEVEL), "items")
        laws = {**self.noise_distributions, "activity": released.distribution}
        return replace(self, noise_distributions=laws, steps=(first, *self.steps), tables={"activity": table})


class RoundNoise(NamedTuple):
    """Its scale, its standard deviation, and how many people apart two items are that it swaps one time in six."""

    scale: float
    deviation: float
    apart: float


def compute_round_noise(rounds: int, cost: Cost, share: Decimal) -> RoundNoise:
    """Return the noise of each of so many rounds, paid with a share of ε, or of ρ where there is δ.

    >>> compute_round_noise(100, Cost.of("0.5"), Decimal(1)).scale
    200.0
    >>> [round(value, 1) for value in compute_round_noise(100, Cost.of("0.5", "1e-6"), Decimal(1))]
    [43.4, 55.6, 69.8]
    """
    if cost.delta:
        scale = float(scale_for_picks(rounds, 1, cost.rho_of_rounds(rounds) * share))
        return RoundNoise(scale, GUMBEL_DEVIATION * scale, SWAP_ONE_IN_SIX * scale)
    scale = rounds / (float(cost.exact) * float(share))
    return RoundNoise(scale, scale, scale)
