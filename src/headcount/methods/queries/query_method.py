"""Base of query methods: ``measure`` spends the grant, ``estimate`` turns the noisy answers into a release.

Answers of a fitted table may be wrong by any amount. So methods that fit a table also release the error that 97 %
of all answers do not exceed. It moves by no more than one answer does, so a small part of ε is enough. An interval
is that error, and what its own noise may conceal, to either side. It covers 95 % of all answers, on average.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Floats
from headcount.accounting.budget import CostOrGrant, Grant
from headcount.accounting.guarantee import Guarantee, Standing
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.bounds import Bounded, LinearQueries
from headcount.bounds.grid.linear_queries import distances, exact_answers, quantile
from headcount.bounds.grid.user_group_cells import GroupCells
from headcount.bounds.linear_maps import group_sums
from headcount.events.grid import Grid
from headcount.events.log import EventLog
from headcount.methods.method import Bounds, MeasuringMethod
from headcount.methods.queries import ANSWERS
from headcount.methods.queries.sql import Cell
from headcount.methods.queries.steps import Step, describe_table, step
from headcount.methods.queries.workload import QueryNames, TableQueries
from headcount.noise import NoiseSource, add_noise
from headcount.releases.formatting import per_cent
from headcount.releases.release import Interval, Release

LEVEL = 0.95
TOTAL, ERROR = "total", "error"
"""The stages that pay for the released total and the released error."""

_WITHIN = 0.97  # of all answers; the noise is allowed for in 98 % of all cases, and both together make 95 %
_NOISE_LEVEL = 0.96  # two-sided: 98 % to one side


@dataclass(frozen=True)
class Total:
    """A released number of records, at least 1, and its noise."""

    records: float
    distribution: NoiseDistribution


@dataclass(frozen=True)
class AnswerError:
    """The released error that 97 % of all answers do not exceed, and its noise."""

    error: float
    distribution: NoiseDistribution

    @property
    def width(self) -> float:
        """The half-width of intervals; estimates were rounded before they were compared."""
        return max(self.error, 0.0) + self.distribution.half_width(_NOISE_LEVEL) + 0.5

    @property
    def step(self) -> Step:
        """The step that released it."""
        return step("error", within=per_cent(_WITHIN), error=max(self.error, 0), noise=self.distribution)


def measure_total(cells: Bounded, grant: Grant, noise: NoiseSource) -> Total:
    """Spend a grant on the number of records in all cells."""
    noisy = add_noise(group_sums(cells, np.zeros(cells.size, dtype=np.int64), 1), grant, noise)
    return Total(max(1.0, float(noisy.counts[0])), noisy.distribution)


def measure_error(exact: Bounded, answers: Floats, grant: Grant, noise: NoiseSource) -> AnswerError:
    """Spend a grant on the error of answers; ``exact`` holds the exact ones."""
    noisy = add_noise(quantile(distances(exact, answers), _WITHIN), grant, noise)
    return AnswerError(float(noisy.counts[0]), noisy.distribution)


@dataclass(frozen=True, kw_only=True)
class NoisyAnswers:
    """The answers that follow from noisy measurements, and what a release says of them.

    Steps of the ``preface`` are described before the table of records, the other ``steps`` after it. ``sources``
    says of each answer of a session where it comes from.
    """

    answers: Floats
    low: Floats
    high: Floats
    noise_distributions: Mapping[str, NoiseDistribution]
    steps: tuple[Step, ...]
    preface: tuple[Step, ...] = ()
    chosen: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    covers_on_average: bool = False
    sources: tuple[str, ...] | None = None

    @classmethod
    def with_error(
        cls,
        exact: Bounded,
        answers: Floats,
        grant: Grant,
        noise: NoiseSource,
        *,
        distributions: Mapping[str, NoiseDistribution],
        steps: Sequence[Step],
        **more: Any,
    ) -> Self:
        """Spend a grant on the error of answers, and return these with intervals made of it."""
        error = measure_error(exact, answers, grant, noise)
        return cls(
            answers=answers,
            low=answers - error.width,
            high=answers + error.width,
            noise_distributions={**distributions, ERROR: error.distribution},
            steps=(*steps, error.step),
            covers_on_average=True,
            **more,
        )

    def table(self, names: QueryNames) -> pa.Table:
        """Return the released table of answers."""
        table = answers_table(names, {"answer": self.answers, "low": self.low, "high": self.high})
        return table if self.sources is None else table.append_column("how", [list(self.sources)])


def query_release(
    method: str,
    table_queries: TableQueries,
    log: EventLog,
    guarantee: Guarantee,
    noisy: NoisyAnswers,
    names: QueryNames,
    *,
    simulated: bool = False,
) -> Release:
    """Return the release of noisy answers: nothing is measured any more."""
    return Release(
        method=method,
        guarantee=guarantee,
        noise=noisy.noise_distributions,
        tables={ANSWERS.name: noisy.table(names), **noisy.tables},
        interval=Interval(level=LEVEL, covers="bounded", average=noisy.covers_on_average),
        bounded=table_queries.bound_text,
        chosen=noisy.chosen,
        steps=(
            *(preface.sentence for preface in noisy.preface),
            *describe_table(table_queries, log),
            *(described.sentence for described in noisy.steps),
        ),
        simulated=simulated,
    )


def answers_table(names: QueryNames, columns: Mapping[str, Floats]) -> pa.Table:
    """Return the table of answers: the query, the cell of its GROUP BY, the answer, and what goes with it.

    The cell is there as one text, and as a column for each attribute that any query groups by.
    """
    numbers = {
        name: pa.array(np.asarray(column, dtype=np.float64), from_pandas=True)  # no number: null
        for name, column in columns.items()
    }
    return pa.table({**names.columns, **_attributes(names.cells, {*ANSWERS.columns, *columns, "how"}), **numbers})


def _attributes(cells: Sequence[Cell], taken: set[str]) -> dict[str, pa.Array]:
    """Return the bin of each attribute that is grouped by; a name that a column of answers has gets a mark.

    >>> {name: bins.to_pylist() for name, bins in _attributes([(), (("low", "3"),)], {"low"}).items()}
    {'low_': [None, '3']}
    """
    labels_by_column: defaultdict[str, list[str | None]] = defaultdict(lambda: [None] * len(cells))
    for place, cell in enumerate(cells):
        for column, label in cell:
            labels_by_column[column][place] = label
    names = dict.fromkeys(labels_by_column, "")
    for column in names:
        name = column
        while name in taken:
            name += "_"
        names[column] = name
        taken = {*taken, name}
    return {names[column]: pa.array(bins, pa.string()) for column, bins in labels_by_column.items()}


@dataclass(frozen=True, kw_only=True)
class QueryMethod(MeasuringMethod[NoisyAnswers]):
    """A method that answers queries, for adding or removing a user, or a whole group."""

    name: ClassVar[str]
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None
    bounds: ClassVar[Bounds] = (GroupCells,)
    takes_delta: ClassVar[bool] = False
    """Whether it has a use for a δ."""

    table_queries: TableQueries

    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """The guarantee of the queries' grid and bound."""
        return self.table_queries.guarantee(priced)

    def check(self, log: EventLog) -> None:
        """Refuse what cannot be counted or answered."""
        self.table_queries.check(log)

    @property
    def grid(self) -> Grid:
        """The cells."""
        return self.table_queries.grid

    @property
    def max_records(self) -> int:
        """The records that one user or group may add."""
        return self.table_queries.bound.max_records_of_group

    @property
    def queries(self) -> LinearQueries:
        """The rows of all queries."""
        return self.table_queries.queries

    @property
    def query_names(self) -> QueryNames:
        """The names of all queries."""
        return self.table_queries.names

    def exact_answers(self, cells: Bounded) -> Bounded:
        """Return the exact answers, bounded."""
        return exact_answers(cells, self.queries)

    def estimate(self, log: EventLog, guarantee: Guarantee, noisy: NoisyAnswers, *, simulated: bool) -> Release:
        """Return the release of noisy answers; this is post-processing."""
        names = self.query_names
        return query_release(self.name, self.table_queries, log, guarantee, noisy, names, simulated=simulated)
