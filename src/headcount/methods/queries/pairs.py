"""Pairs: noisy counts of single columns and of privately chosen pairs, and a model of the table from them.

For tables of so many columns that nobody could count all cells. First every column is counted with noise. Then it
is released how far each pair of columns is from what its columns alone would make of it, one noisy number a pair.
The pairs for which that is more than the noise they would get are counted, all with the same noise. A model is
fitted to these counts, which tells of any few columns together what their pairs tell, and nothing else: see
:mod:`headcount.methods.queries.inference.pair_model`. Queries are answered from it, and synthetic rows can be
drawn. In the end it is released how good the answers are.

What it cannot tell is what three columns have in common that no two of them show.

Why it is private
    One group moves a table over any columns by at most Δ in L1, hence in L2: so many people of a group, times so
    many records of a person. So k tables side by side move by at most k Δ in L1 and by √k Δ in L2, and noise on d
    columns, and later on the k pairs that are taken, is drawn for that. Given the noisy columns, what they make of
    each pair is public, so the distance of a pair from it moves by at most Δ, and that of all p pairs together by
    p Δ in L1 and by √p Δ in L2: noise of its own pays for these. Which pairs are taken, and how many, hangs on
    these released numbers and on public ones alone. The error that 97 % of answers do not exceed moves by at most
    Δ, given the answers, which are post-processing, as the model and all rows drawn from it are. Without δ, noise
    is Laplace and the stages add up to ε. With δ, noise is Gaussian and the stages add up to the ρ that ε and δ
    allow for.

Departures from the paper
    PrivBayes and AIM choose tables one after the other by the exponential mechanism, and AIM fits its model again
    after each. Here all distances are released at once, in one stage, and everything else is post-processing:
    noise on one number a pair is small beside that on the cells. Tables are of two columns at most.

Reference
    R. McKenna, B. Mullins, D. Sheldon, G. Miklau. AIM: An Adaptive and Iterative Mechanism for Differentially
    Private Synthetic Data. VLDB 2022, for when a table is worth its noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations
from typing import ClassVar

import numpy as np

from headcount._internal.arrays import Floats
from headcount.accounting.budget import Amount, Cost, CostOrGrant, Grant, cost_of
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.bounds import Bounded, Noisy, Sensitivity
from headcount.bounds.grid.linear_queries import total_distance
from headcount.bounds.grid.marginals import ColumnPlaces, Marginals
from headcount.bounds.linear_maps import concatenate_tables
from headcount.engines.engine import Engine
from headcount.errors import UsageError, param
from headcount.events.encode.cells import check_table
from headcount.events.grid import MOST_CELLS
from headcount.events.log import EventLog
from headcount.methods.method import Bounds
from headcount.methods.queries import SYNTHETIC
from headcount.methods.queries.inference.pair_model import (
    MAX_ROWS,
    Pair,
    clean_columns,
    fit_pair_model,
    independent_table,
    synthetic_rows,
)
from headcount.methods.queries.query_method import ERROR, NoisyAnswers, QueryMethod
from headcount.methods.queries.steps import step
from headcount.methods.queries.workload import QueryNames
from headcount.noise import NoiseSource, add_noise, noise_distribution_for
from headcount.noise.stages import Stage, Stages, normalize_split, split_among_stages
from headcount.releases.formatting import some

COLUMNS, SCORES, PAIRS = "columns", "scores", "pairs"
SHARES = {COLUMNS: "0.25", SCORES: "0.1", PAIRS: "0.6", ERROR: "0.05"}
OF_RHO = {COLUMNS: "0.2", SCORES: "0.02", PAIRS: "0.73", ERROR: "0.05"}
"""How stages share ε, and ρ where noise is Gaussian. Chosen on NLTCS and Online Retail, not on Adult."""

MAX_PAIR_CELLS = 100_000
"""Larger pairs are not counted: what is known of them is what other columns tell."""

_MEAN_ABSOLUTE = 0.8  # of the absolute value of a draw, as a share of its standard deviation


@dataclass(frozen=True, kw_only=True)
class PairCounts(QueryMethod):
    """Answer queries, and draw ``synthetic`` rows, from a model of columns and pairs of columns.

    >>> from headcount.events.grid import Grid
    >>> from headcount.events.user_table import read_people
    >>> from headcount.noise import SeededNoise
    >>> import pyarrow as pa
    >>> from headcount.methods.queries.workload import TableQueries
    >>> columns = {f"c{n}": [(who >> n) % 2 for who in range(4096)] for n in range(12)}
    >>> log = read_people(pa.table({"id": range(4096), **columns}), user="id")
    >>> grid = Grid.from_mapping({name: {"values": [0, 1]} for name in columns})
    >>> table_queries = TableQueries(grid=grid, statements=("SELECT COUNT(*) FROM t WHERE c3 = 1 AND c5 = 0",))
    >>> release = PairCounts(table_queries=table_queries, synthetic=9).release(log, Grant("20"), SeededNoise(1))
    >>> round(release.answers["answer"][0].as_py(), -2), release.tables["synthetic"].num_rows
    (1000.0, 9)
    """

    name: ClassVar[str] = "pairs"
    bounds: ClassVar[Bounds] = (Marginals,)
    takes_delta: ClassVar[bool] = True

    synthetic: int | None = None
    shares: Mapping[str, Amount] | None = None

    def __post_init__(self) -> None:
        if self.synthetic is not None and not 1 <= self.synthetic <= MAX_ROWS:
            raise UsageError(
                f"synthetic must lie between 1 and {MAX_ROWS:,} rows",
                given=self.synthetic,
                remedy=f"for example {param.synthetic(10000)}",
            )
        self._shared()

    def check(self, log: EventLog) -> None:
        """Refuse what cannot be counted or asked."""
        grid = self.grid
        check_table(log, grid, self.table_queries.groups)
        cells = (sum(grid.shape) ** 2 - sum(size**2 for size in grid.shape)) // 2
        if cells > MOST_CELLS:
            largest = max(grid.bins, key=lambda column_bins: column_bins.size)
            raise UsageError(
                f"all pairs of columns have {cells:,} cells, more than {MOST_CELLS:,}",
                remedy=f"use coarser bins, as of {largest.column!r}, which has {largest.size:,}",
            )
        _ = self._bound

    @property
    def _candidates(self) -> list[Pair]:
        shape = self.grid.shape
        every = combinations(range(len(shape)), 2)
        return [(first, second) for first, second in every if shape[first] * shape[second] <= MAX_PAIR_CELLS]

    @property
    def _bound(self) -> Marginals:
        """All tables that are looked at, with noise: columns, pairs, and what queries ask for."""
        columns: list[ColumnPlaces] = [(place,) for place in range(len(self.grid.bins))]
        tables = dict.fromkeys([*columns, *self._candidates, *self.table_queries.workload.tables])
        return Marginals(self.table_queries.bound, tuple(tables))

    def _shared(self) -> Stages:
        run = (COLUMNS, *((SCORES,) if len(self._candidates) > 1 else ()), *((PAIRS,) if self._candidates else ()))
        return normalize_split((Stage(name, Decimal(SHARES[name])) for name in (*run, ERROR)), self.shares)

    def stages(self, log: EventLog, price: Cost) -> Stages:  # noqa: ARG002
        """Columns, distances of pairs, the pairs that are worth it, of which all could be, and the error."""
        tables = {
            COLUMNS: len(self.grid.bins),
            SCORES: len(self._candidates),
            PAIRS: len(self._candidates),
        }
        return tuple(
            replace(
                stage,
                gaussian=bool(price.delta),
                of_rho=Decimal(OF_RHO[stage.name]) if price.delta and self.shares is None else None,
                sensitivity=self._sensitivity(tables.get(stage.name, 1)),
                tells=() if stage.name == PAIRS else (stage.name,),
            )
            for stage in self._shared()
        )

    def _sensitivity(self, tables: int) -> Sensitivity:
        return Sensitivity(tables * self.max_records, tables * self.max_records**2, self.max_records)

    def notes(self, log: EventLog, priced: CostOrGrant) -> tuple[str, ...]:
        """Say how noisy pairs will be."""
        if not self._candidates:
            return ()
        part = split_among_stages(self.stages(log, cost_of(priced)), cost_of(priced))[PAIRS]
        least, most = (
            noise_distribution_for(self._sensitivity(tables), part).variance ** 0.5
            for tables in (1, len(self._candidates))
        )
        return (
            f"Of {some(len(self._candidates), 'pair')} of columns those that are worth it are counted: each cell "
            f"of them gets noise of standard deviation {least:,.0f} if it is one pair, {most:,.0f} if it is all.",
        )

    @property
    def query_names(self) -> QueryNames:
        """The names of all queries, without looking at all cells."""
        return self.table_queries.workload.names

    def measure(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine) -> NoisyAnswers:
        """Count columns and pairs, fit the model, answer from it, and release the error."""
        grants = split_among_stages(self.stages(log, grant.cost), grant)
        bound, workload = self._bound, self.table_queries.workload
        measured = engine.measure(log, bound, noise.key())
        tables = dict(zip(bound.tables, measured.tables, strict=True))
        singles = [tables[place,] for place in range(len(self.grid.bins))]
        noisy = add_noise(concatenate_tables(singles), grants[COLUMNS], noise)
        distributions, steps = {COLUMNS: noisy.distribution}, [step("columns", noise=noisy.distribution)]
        columns = clean_columns(_split_tables(noisy, singles), _deviation(noisy.distribution))
        pairs, scores = self._choose_pairs(columns, tables, grants, noise)
        if scores is not None:
            distributions[SCORES] = scores
            candidates = some(len(self._candidates), "pair")
            steps.append(step("scores", noise=scores, taken=len(pairs), pairs=candidates))
        counted = dict[Pair, Floats]()
        if pairs:
            exact_pairs = [tables[pair] for pair in pairs]
            noisy = add_noise(concatenate_tables(exact_pairs), grants[PAIRS], noise)
            distributions[PAIRS] = noisy.distribution
            steps.append(step("pairs", noise=noisy.distribution))
            counted = dict(zip(pairs, _split_tables(noisy, exact_pairs), strict=True))
        model = fit_pair_model(columns, counted, _deviation(noisy.distribution))
        steps.append(step("answers of model"))
        answers = workload.answers(model.table)
        names = [[self.grid.columns[place] for place in pair] for pair in pairs]
        released = NoisyAnswers.with_error(
            workload.exact(tables),
            answers,
            grants[ERROR],
            noise,
            distributions=distributions,
            steps=steps,
            chosen={"answers": {"pairs": names, "total": model.total}},
        )
        if self.synthetic is None:
            return released
        rows = synthetic_rows(model, self.grid, self.synthetic, noise.key())
        drawn = step("synthetic rows", rows=some(self.synthetic, "synthetic row"))
        return replace(released, tables={SYNTHETIC.name: rows}, steps=(*released.steps, drawn))

    def _choose_pairs(
        self,
        columns: Sequence[Floats],
        tables: Mapping[ColumnPlaces, Bounded],
        grants: Mapping[str, Grant],
        noise: NoiseSource,
    ) -> tuple[list[Pair], NoiseDistribution | None]:
        """Spend a grant on the distances of pairs from independence; return those that pay, and the noise."""
        pairs = self._candidates
        if len(pairs) < 2:
            return pairs, None
        independent = [independent_table(columns, pair) for pair in pairs]
        distances = concatenate_tables(
            [total_distance(tables[pair], counts) for pair, counts in zip(pairs, independent, strict=True)]
        )
        noisy = add_noise(distances, grants[SCORES], noise)
        price = grants[PAIRS].cost
        deviations = [
            _deviation(noise_distribution_for(self._sensitivity(size), price)) for size in range(1, len(pairs) + 1)
        ]
        chosen = [pairs[place] for place in worthwhile_pairs(noisy.counts, independent, deviations)]
        return chosen, noisy.distribution


def worthwhile_pairs(distances: Floats, independent: Sequence[Floats], deviations: Sequence[float]) -> list[int]:
    """Return the places of as many pairs as are worth their noise, the most worthy first; one at least.

    A pair is worth its noise if it is further from independence than noise would be. The error of a cell counts
    at most as its expected count. ``deviations`` are those of noise on one pair, on two, and so on.

    >>> independent = [np.full((2, 2), 100.0)] * 3
    >>> worthwhile_pairs(np.array([5.0, 300.0, 40.0]), independent, [5.0, 10.0, 15.0])
    [1, 2]
    """
    for size in range(len(independent), 0, -1):
        noise = [np.minimum(_MEAN_ABSOLUTE * deviations[size - 1], counts).sum() for counts in independent]
        worth = distances / np.maximum(noise, 1e-9)
        best = np.argsort(-worth, kind="stable")[:size]
        if worth[best[-1]] >= 1:
            break
    return [int(place) for place in best]


def _split_tables(noisy: Noisy, tables: Sequence[Bounded]) -> list[Floats]:
    """Split noisy counts of tables side by side into these tables."""
    edges = np.cumsum([table.size for table in tables])[:-1]
    parts = np.split(noisy.counts, edges)
    return [part.reshape(table.shape) for part, table in zip(parts, tables, strict=True)]


def _deviation(distribution: NoiseDistribution) -> float:
    return math.sqrt(distribution.variance)
