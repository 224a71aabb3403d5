"""Means with 95 % intervals over the runs of each setting, from a tidy table of trials; ranks of methods.

See :mod:`headcount.lab.compare.trial_grid` for the columns of a tidy table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

LEVEL = 0.95

HIGHER_IS_BETTER = frozenset({"precision", "selected", "covered"})
"""Metrics of which more is better; all others are errors."""

_SETTING = ("dataset", "label", "method", "limit", "epsilon", "delta", "table", "metric", "k", "key")


@dataclass(frozen=True)
class Mean:
    """What a setting came to: the mean over its runs, and where the expectation lies with probability 95 %.

    ``low`` and ``high`` are None with a single run. They follow Student's t distribution, and say nothing of how
    far runs differ from each other.
    """

    dataset: str
    label: str
    method: str
    limit: int | None
    epsilon: float
    delta: float | None
    table: str | None
    metric: str
    k: int | None
    key: str | None
    mean: float
    low: float | None
    high: float | None
    runs: int

    @property
    def measure(self) -> str:
        """The metric, and of which k: what differs in it is another measure."""
        return self.metric if self.k is None else f"{self.metric} of the top {self.k:,}"

    @property
    def entrant(self) -> tuple[Any, ...]:
        """The method at one ε on one table: the limit is chosen for it."""
        return self.dataset, self.label, self.epsilon, self.delta, self.table

    def better_than(self, other: Mean) -> bool:
        """Compare two means of one metric."""
        return self.mean > other.mean if self.metric in HIGHER_IS_BETTER else self.mean < other.mean


def means(table: pa.Table) -> list[Mean]:
    """Average over runs; rows without a value are left out.

    >>> columns = {"dataset": "a", "label": "sra", "method": "sra", "limit": 3, "epsilon": 1.0, "delta": None,
    ...            "table": "items", "metric": "MAE", "k": None, "key": None}
    >>> averages = means(pa.Table.from_pylist([{**columns, "value": value} for value in (1.0, 2.0, 3.0)]))
    >>> averages[0].mean, round(averages[0].high, 2), averages[0].runs
    (2.0, 4.48, 3)
    """
    table = table.filter(pc.is_valid(table["value"]))
    plain = pc.VarianceOptions(ddof=1)
    grouped = table.group_by(list(_SETTING), use_threads=False).aggregate(
        [("value", "mean"), ("value", "stddev", plain), ("value", "count")]
    )
    averages = []
    for row in grouped.to_pylist():
        mean, runs = row["value_mean"], row["value_count"]
        half_width = None if runs < 2 else student(runs - 1) * row["value_stddev"] / math.sqrt(runs)
        setting = {name: row[name] for name in _SETTING}
        low, high = (None, None) if half_width is None else (mean - half_width, mean + half_width)
        averages.append(Mean(**setting, mean=mean, low=low, high=high, runs=runs))
    return averages


def refusals(table: pa.Table) -> list[dict[str, Any]]:
    """Return what was refused and why, each reason once for each method, with the limits and ε it is about."""
    rows = table.filter(pc.is_valid(table["refused"])).to_pylist()
    refusals = []
    for label, reason in dict.fromkeys((row["label"], row["refused"]) for row in rows):
        same = [row for row in rows if (row["label"], row["refused"]) == (label, reason)]
        limits = sorted({row["limit"] for row in same} - {None})
        epsilons = sorted({row["epsilon"] for row in same})
        refusals.append({"method": label, "reason": reason, "limits": limits, "epsilons": epsilons})
    return refusals


def best_limits(means: Iterable[Mean]) -> list[Mean]:
    """Keep, of each method at each ε and for each metric, the limit that came out best: in hindsight."""
    best: dict[tuple[Any, ...], Mean] = {}
    for mean in means:
        place = (*mean.entrant, mean.metric, mean.k, mean.key)
        if place not in best or mean.better_than(best[place]):
            best[place] = mean
    return list(best.values())


def at_one_limit(means: Sequence[Mean], by: str = "MAE") -> list[Mean]:
    """Keep, of each method at each ε, one limit for all metrics: a release has one. It is the best in hindsight.

    It is the one that is best by the measure ``by``, or where that was not measured the best for whatever was.
    """
    there = {mean.measure for mean in means}
    by = by if by in there else min(there, default=by)
    best = best_limits([mean for mean in means if mean.measure == by])
    kept = {(*mean.entrant, mean.limit) for mean in best}
    return [mean for mean in means if (*mean.entrant, mean.limit) in kept]


def places(means: Sequence[Mean]) -> dict[str, float]:
    """Return each method's average place over all metrics and ε, one limit of each; equals share their places.

    >>> first = Mean("a", "sra", "sra", 3, 1.0, None, "items", "MAE", None, None, 2.0, None, None, 1)
    >>> second = Mean("a", "hpa", "hpa", 3, 1.0, None, "items", "MAE", None, None, 3.0, None, None, 1)
    >>> places([first, second])
    {'sra': 1.0, 'hpa': 2.0}
    """
    contests: dict[tuple[Any, ...], list[Mean]] = {}
    for mean in means:
        contests.setdefault((mean.dataset, mean.epsilon, mean.table, mean.metric, mean.k), []).append(mean)
    taken: dict[str, list[float]] = {}
    for entrants in contests.values():
        for mean in entrants:
            ahead = sum(other.better_than(mean) for other in entrants)
            level = sum(other.mean == mean.mean for other in entrants)
            taken.setdefault(mean.label, []).append(ahead + (level + 1) / 2)
    return {label: sum(ranks) / len(ranks) for label, ranks in taken.items()}


def student(degrees: int, level: float = LEVEL) -> float:
    """Return how many standard errors to either side of a mean enclose ``level`` of Student's t distribution.

    >>> [round(student(degrees), 2) for degrees in (1, 2, 4, 19, 10_000)]
    [12.71, 4.3, 2.78, 2.09, 1.96]
    """
    tail = (1 + level) / 2
    if degrees == 1:
        return math.tan(math.pi * (tail - 0.5))
    if degrees == 2:
        return (2 * tail - 1) * math.sqrt(2 / (4 * tail * (1 - tail)))
    z = NormalDist().inv_cdf(tail)  # and its expansion in 1/degrees
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return math.fsum(term * float(degrees) ** -power for power, term in enumerate(terms))
