"""Ranking values: selected items in order, with counts if requested, and their table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Integers
from headcount.adaptive.posterior import Posterior
from headcount.events.log import EventLog


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
