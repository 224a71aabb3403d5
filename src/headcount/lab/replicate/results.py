"""The tidy table of a paper's experiments, and estimates from it: means with 95 % intervals.

One row is one number of one run:

==========  ======================================================================================
experiment  what was tried, in the words of the claims: ``comparison``, ``limits``, …
dataset     the name that the paper gives its data
method      the method as it was run, or ``log`` for the data themselves
table       ``items`` or ``edges``
epsilon     the ε of the paper's setting; null where none was spent
x           where on the horizontal axis: a limit, K, θ, a day; null where there is none
metric      what was measured
key         what else tells rows apart, such as the title of a film; null where nothing does
run         the number of the run
value       the number
==========  ======================================================================================

Plots, verdicts and pages are made from this table alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from headcount.reports.charts.trial_means import student

LOG = "log"
"""The method column of what was found in the data themselves."""

ROUNDING = 1e-12
"""Numbers that differ by less agree: only the order of additions differs."""

SCHEMA = pa.schema(
    [
        pa.field("experiment", pa.string(), nullable=False),
        pa.field("dataset", pa.string(), nullable=False),
        pa.field("method", pa.string(), nullable=False),
        pa.field("table", pa.string(), nullable=False),
        pa.field("epsilon", pa.float64()),
        pa.field("x", pa.float64()),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("key", pa.string()),
        pa.field("run", pa.int32(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
    ]
)


class Row(NamedTuple):
    """One number of one run, in the order of the columns."""

    experiment: str
    dataset: str
    method: str
    table: str
    epsilon: float | None
    x: float | None
    metric: str
    key: str | None
    run: int
    value: float


def rows_of(
    experiment: str,
    dataset: str,
    method: str,
    metric: str,
    values: Iterable[float],
    *,
    epsilon: float | None = None,
    x: float | None = None,
) -> Iterator[Row]:
    """Return a number of every run as rows.

    >>> [row.value for row in rows_of("gains", "Checkin", "gs-published", "gain", [3.0, 4.5])]
    [3.0, 4.5]
    """
    for run, value in enumerate(values):
        yield Row(experiment, dataset, method, "items", epsilon, x, metric, None, run, float(value))


def table_of(rows: Iterable[Row]) -> pa.Table:
    """Put rows into the tidy table.

    >>> table_of([Row("sizes", "Gowalla", "log", "items", None, None, "users", None, 0, 12.0)]).num_rows
    1
    """
    columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
    arrays = [pa.array(list(values), field.type) for values, field in zip(columns, SCHEMA, strict=True)]
    return pa.table(arrays, schema=SCHEMA)


@dataclass(frozen=True)
class Estimate:
    """A mean over runs and the 95 % interval of it (Student's t); runs that all agree give a point.

    >>> Estimate.from_runs([1.0, 2.0, 3.0]).shown
    '2 ± 2.48'
    >>> Estimate.from_runs([4.0, 4.0]).shown
    '4'
    """

    mean: float
    low: float
    high: float
    runs: tuple[float, ...]

    @classmethod
    def from_runs(cls, values: Sequence[float]) -> Estimate:
        """Average runs; a single one has no interval unless it is known to be exact."""
        runs = tuple(values)
        mean = float(np.mean(runs))
        if max(runs) - min(runs) <= ROUNDING * abs(mean):
            return cls(runs[0], runs[0], runs[0], runs)
        reach = student(len(runs) - 1) * float(np.std(runs, ddof=1)) / math.sqrt(len(runs))
        return cls(mean, mean - reach, mean + reach, runs)

    @property
    def shown(self) -> str:
        """The mean and half the width of the interval, three digits each."""
        reach = (self.high - self.low) / 2
        return number(self.mean) + (f" ± {number(reach)}" if reach else "")


def number(value: float) -> str:
    """Write a number with three digits, as a person would.

    >>> [number(value) for value in (0.0, 0.12345, 12345.6, 4.0, 98765432.0, 1e-7)]
    ['0', '0.123', '12,300', '4', '9.88e7', '1e-7']
    """
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e6:
        digits, _, power = f"{value:.2e}".partition("e")
        return f"{float(digits):g}e{int(power)}"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:g}"


Key = tuple[float | None, float | None]
"""ε and x."""

Points = dict[Key, Estimate]


class Results:
    """The tidy table, looked up by experiment, data, table, metric and method."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._values_by_key: dict[tuple[str, ...], dict[Key, list[float]]] = {}
        for row in table.to_pylist():
            if row["key"] is not None:
                continue
            key = tuple(row[name] for name in ("experiment", "dataset", "table", "metric", "method"))
            self._values_by_key.setdefault(key, {}).setdefault((row["epsilon"], row["x"]), []).append(row["value"])

    @property
    def datasets(self) -> list[str]:
        """The paper's names of the data there are."""
        return list(dict.fromkeys(self.table["dataset"].to_pylist()))

    def points(
        self,
        experiment: str,
        dataset: str,
        metric: str,
        method: str,
        *,
        table: str = "items",
        epsilon: Sequence[float] = (),
        x: Sequence[float] = (),
    ) -> Points:
        """Return an estimate for each (ε, x) there is, or for those asked for; none at all is an error."""
        by_key = self._values_by_key.get((experiment, dataset, table, metric, method), {})
        chosen = {
            (at_epsilon, at): Estimate.from_runs(values)
            for (at_epsilon, at), values in sorted(by_key.items(), key=lambda entry: _order(entry[0]))
            if (not epsilon or at_epsilon in epsilon) and (not x or at in x)
        }
        missing = [x_value for x_value in x if not any(at == x_value for _, at in chosen)]
        if not chosen or missing:
            at = f" at {', '.join(map(str, missing))}" if missing else ""
            raise MissingResultError(f"no {metric} of {method} on {dataset} ({experiment}, {table}){at}")
        return chosen


class MissingResultError(Exception):
    """A rule looks for a number that no experiment gave: a mistake of ours, never a verdict."""


def _order(key: Key) -> tuple[float, float]:
    return (-1.0 if key[0] is None else key[0], -1.0 if key[1] is None else key[1])
