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
import pyarrow as pa

from headcount._internal.arrays import Floats
from headcount.accounting.budget import Amount, Cost, CostOrGrant, Grant, cost_of
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.bounds import (
    Bounded,
    ColumnPlaces,
    Marginals,
    Noisy,
    Sensitivity,
    concatenate_tables,
    distances,
    quantile,
    total_distance,
)
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.encode.cells import check_table
from headcount.events.grid import MOST_CELLS
from headcount.events.log import EventLog
from headcount.methods.method import Bounds
from headcount.methods.queries import SYNTHETIC
from headcount.methods.queries.accuracy import ERROR, LEVEL, WITHIN, Accuracy
from headcount.methods.queries.inference.pair_model import Pair, PairModel, cleaned, fitted, independent
from headcount.methods.queries.inference.synthetic_rows import MOST_ROWS, synthetic_rows
from headcount.methods.queries.query_method import QueryMethod, answers_table
from headcount.noise import NoiseSource, add_noise, noise_distribution_for
from headcount.noise.stages import Stage, Stages, normalize_split, split_among_stages
from headcount.releases.formatting import some
from headcount.releases.release import Interval, Release

COLUMNS, SCORES, PAIRS = "columns", "scores", "pairs"
SHARES = {COLUMNS: "0.25", SCORES: "0.1", PAIRS: "0.6", ERROR: "0.05"}
OF_RHO = {COLUMNS: "0.2", SCORES: "0.02", PAIRS: "0.73", ERROR: "0.05"}
"""How stages share ε, and ρ where noise is Gaussian. Chosen on NLTCS and Online Retail, not on Adult."""

MOST_PAIR_CELLS = 100_000
"""Larger pairs are not counted: what is known of them is what other columns tell."""

_MEAN = 0.8  # of the absolute value of a draw, as a share of its standard deviation


@dataclass(frozen=True, kw_only=True)
class PairCounts(QueryMethod):
    """Answer queries, and draw ``synthetic`` rows, from a model of columns and pairs of columns.

    >>> from headcount.events.grid import Grid
    >>> from headcount.events.user_table import read_people
    >>> from headcount.noise import SeededNoise
    >>> from headcount.methods.queries.query_method import TableQueries
    >>> columns = {f"c{n}": [(who >> n) % 2 for who in range(4096)] for n in range(12)}
    >>> log = read_people(pa.table({"id": range(4096), **columns}), user="id")
    >>> grid = Grid.of({name: {"values": [0, 1]} for name in columns})
    >>> table_queries = TableQueries(grid=grid, statements=("SELECT COUNT(*) FROM t WHERE c3 = 1 AND c5 = 0",))
    >>> release = PairCounts(asked=table_queries, synthetic=9).release(log, Grant("20"), SeededNoise(1))
    >>> round(release.answers["answer"][0].as_py(), -2), release.tables["synthetic"].num_rows
    (1000.0, 9)
    """

    name: ClassVar[str] = "pairs"
    bounds: ClassVar[Bounds] = (Marginals,)
    takes_delta: ClassVar[bool] = True

    synthetic: int | None = None
    shares: Mapping[str, Amount] | None = None

    def __post_init__(self) -> None:
        if self.synthetic is not None and not 1 <= self.synthetic <= MOST_ROWS:
            raise UsageError(
                f"synthetic must lie between 1 and {MOST_ROWS:,} rows",
                given=self.synthetic,
                remedy="for example --synthetic 10000",
            )
        self._shared()

    def check(self, log: EventLog) -> None:
        """Refuse what cannot be counted or asked."""
        grid = self.asked.grid
        check_table(log, grid, self.asked.groups)
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
        shape = self.asked.grid.shape
        every = combinations(range(len(shape)), 2)
        return [(first, second) for first, second in every if shape[first] * shape[second] <= MOST_PAIR_CELLS]

    @property
    def _bound(self) -> Marginals:
        """All tables that are looked at, with noise: columns, pairs, and what queries ask for."""
        columns: list[ColumnPlaces] = [(place,) for place in range(len(self.asked.grid.bins))]
        tables = dict.fromkeys([*columns, *self._candidates, *self.asked.workload.tables])
        return Marginals(self.asked.bound, tuple(tables))

    def _shared(self) -> Stages:
        run = (COLUMNS, *((SCORES,) if len(self._candidates) > 1 else ()), *((PAIRS,) if self._candidates else ()))
        return normalize_split((Stage(name, Decimal(SHARES[name])) for name in (*run, ERROR)), self.shares)

    def stages(self, log: EventLog, price: Cost) -> Stages:  # noqa: ARG002
        """Columns, distances of pairs, the pairs that are worth it, of which all could be, and the error."""
        tables = {COLUMNS: len(self.asked.grid.bins), SCORES: len(self._candidates), PAIRS: len(self._candidates)}
        return tuple(
            replace(
                stage,
                gaussian=bool(price.delta),
                of_rho=Decimal(OF_RHO[stage.name]) if price.delta and self.shares is None else None,
                sensitivity=self._moved(tables.get(stage.name, 1)),
                tells=() if stage.name == PAIRS else (stage.name,),
            )
            for stage in self._shared()
        )

    def _moved(self, tables: int) -> Sensitivity:
        reach = self.asked.bound.max_records_of_group
        return Sensitivity(tables * reach, tables * reach**2, reach)

    def notes(self, log: EventLog, priced: CostOrGrant) -> tuple[str, ...]:
        """Say how noisy pairs will be."""
        if not self._candidates:
            return ()
        part = split_among_stages(self.stages(log, cost_of(priced)), cost_of(priced))[PAIRS]
        least, most = (
            noise_distribution_for(self._moved(tables), part).variance ** 0.5
            for tables in (1, len(self._candidates))
        )
        return (
            f"Of {some(len(self._candidates), 'pair')} of columns those that are worth it are counted: each cell "
            f"of them gets noise of standard deviation {least:,.0f} if it is one pair, {most:,.0f} if it is all.",
        )

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Count columns and pairs, fit the model, answer from it, and say how good that is."""
        self.check(log)
        table_queries, guarantee = self.asked, self.guarantee(grant)
        grants = split_among_stages(self.stages(log, grant.cost), grant)
        bound = self._bound
        measured = (engine or LocalEngine()).measure(log, bound, noise.key())
        tables = dict(zip(bound.tables, measured.tables, strict=True))
        places = [(place,) for place in range(len(table_queries.grid.bins))]
        noisy, laws = (
            add_noise(concatenate_tables([tables[key] for key in places]), grants[COLUMNS], noise),
            dict[str, NoiseDistribution](),
        )
        laws[COLUMNS] = noisy.distribution
        columns = cleaned(_apart(noisy, [tables[key] for key in places]), _deviation(noisy.distribution))
        taken, counted = self._chosen(columns, tables, grants, laws, noise), dict[Pair, Floats]()
        if taken:
            held = [tables[pair] for pair in taken]
            noisy = add_noise(concatenate_tables(held), grants[PAIRS], noise)
            laws[PAIRS] = noisy.distribution
            counted = dict(zip(taken, _apart(noisy, held), strict=True))
        model = fitted(columns, counted, _deviation(noisy.distribution))
        answers = table_queries.workload.answers(model.table)
        far = add_noise(
            quantile(distances(table_queries.workload.exact(tables), answers), WITHIN), grants[ERROR], noise
        )
        accuracy = Accuracy(float(far.counts[0]), far.distribution)
        laws[ERROR] = far.distribution
        width = accuracy.width
        shown = answers_table(
            table_queries.workload.named, {"answer": answers, "low": answers - width, "high": answers + width}
        )
        return Release(
            method=self.name,
            guarantee=guarantee,
            noise=laws,
            tables={"answers": shown, **self._synthetic(model, noise)},
            interval=Interval(level=LEVEL, covers="bounded", average=True),
            bounded=table_queries.bounded,
            chosen={"answers": {"pairs": [self._called(pair) for pair in taken], "total": model.total}},
            steps=(*table_queries.story(log), *self._story(laws, len(taken)), accuracy.story, *self._rows_story()),
            simulated=not noise.is_private,
        )

    def _chosen(
        self,
        columns: Sequence[Floats],
        tables: Mapping[ColumnPlaces, Bounded],
        grants: Mapping[str, Grant],
        laws: dict[str, NoiseDistribution],
        noise: NoiseSource,
    ) -> list[Pair]:
        """Spend a grant on how far pairs are from what columns make of them, and take those that are worth it."""
        pairs = self._candidates
        if len(pairs) < 2:
            return pairs
        alone = [independent(columns, pair) for pair in pairs]
        far = concatenate_tables(
            [
                total_distance(tables[pair], expected_counts)
                for pair, expected_counts in zip(pairs, alone, strict=True)
            ]
        )
        noisy = add_noise(far, grants[SCORES], noise)
        laws[SCORES] = noisy.distribution
        price = grants[PAIRS].cost
        deviations = [
            _deviation(noise_distribution_for(self._moved(size), price)) for size in range(1, len(pairs) + 1)
        ]
        return [pairs[place] for place in worthwhile_pairs(noisy.counts, alone, deviations)]

    def _called(self, pair: Pair) -> list[str]:
        return [self.asked.grid.columns[place] for place in pair]

    def _synthetic(self, model: PairModel, noise: NoiseSource) -> dict[str, pa.Table]:
        if self.synthetic is None:
            return {}
        return {SYNTHETIC.name: synthetic_rows(model, self.asked.grid, self.synthetic, noise.key())}

    def _rows_story(self) -> list[str]:
        if self.synthetic is None:
            return []
        return [
            f"{some(self.synthetic, 'synthetic row')} were drawn from the same model, column by column; within a "
            "bin of numbers all are alike. That costs nothing."
        ]

    def _story(self, laws: Mapping[str, NoiseDistribution], taken: int) -> list[str]:
        sentences = [f"Every column was counted by itself, with {laws[COLUMNS].in_words()}."]
        if SCORES in laws:
            sentences.append(
                "How far each pair of columns is from what these two alone would make of it was released with "
                f"{laws[SCORES].in_words()}; {taken:,} of {some(len(self._candidates), 'pair')} were taken."
            )
        if PAIRS in laws:
            sentences.append(f"These were counted, every cell with {laws[PAIRS].in_words()}.")
        return [*sentences, "All queries were answered from a model fitted to these counts, which costs nothing."]


def worthwhile_pairs(far: Floats, alone: Sequence[Floats], deviations: Sequence[float]) -> list[int]:
    """Return the places of as many pairs as are worth their noise, the most worthy first; one at least.

    A pair is worth it that is further from what its columns make of it than noise would be. No cell is thought to
    be further off than what is expected in it. ``deviations`` are those of noise on one pair, on two, and so on.

    >>> alone = [np.full((2, 2), 100.0)] * 3
    >>> worthwhile_pairs(np.array([5.0, 300.0, 40.0]), alone, [5.0, 10.0, 15.0])
    [1, 2]
    """
    for size in range(len(alone), 0, -1):
        noise = [np.minimum(_MEAN * deviations[size - 1], counts).sum() for counts in alone]
        worth = far / np.maximum(noise, 1e-9)
        best = np.argsort(-worth, kind="stable")[:size]
        if worth[best[-1]] >= 1:
            break
    return [int(place) for place in best]


def _apart(noisy: Noisy, tables: Sequence[Bounded]) -> list[Floats]:
    """Take tables that stood side by side apart again."""
    edges = np.cumsum([table.size for table in tables])[:-1]
    parts = np.split(noisy.counts, edges)
    return [part.reshape(table.shape) for part, table in zip(parts, tables, strict=True)]


def _deviation(law: NoiseDistribution) -> float:
    return math.sqrt(law.variance)
