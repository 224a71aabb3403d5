"""MWEM: a table fitted to noisy counts, refined by multiplicative weights on the worst-answered queries.

First the total is released, and a table is fitted to noisy counts of few columns at a time; see
:mod:`headcount.methods.queries.inference.multiplicative_weights`. Then, for a number of rounds, the query that
the table answers worst is chosen, its answer is released with noise, and the cells it asks for are multiplied so
that the table comes nearer to all answers released so far. All queries are answered from the table that comes
out, and how good these answers are is released in the end.

Noise hardly grows with the number of queries or cells, so this is best for thousands of queries over many cells.
What it cannot tell is anything finer than what it measured: where ε is large, the histogram is better.

Why it is private
    One group moves every answer by at most Δ. Given what was released before, the estimates of a round are public,
    so each distance |f(D) - estimate| moves by at most Δ, and the exponential mechanism with spread 2Δ pays for
    the choice of a query with its ε. The chosen answer gets discrete Laplace noise of scale Δ/ε. The tables that
    the fit starts from move by at most Δ in L1 each; the total, and the error that 97 % of answers do not exceed,
    move by at most Δ. All these add up to the grant, by composition. The number of rounds hangs on the released
    total and public numbers; multiplying and answering are post-processing.

Departures from the paper
    The fit starts from noisy counts of low dimension, not from a uniform table: on uci-adult the latter needs far
    more rounds than there is ε for. Each update goes over all answers released so far, several times, as the
    paper's own experiments do; estimates are rounded to whole numbers before they are compared.

Reference
    M. Hardt, K. Ligett, F. McSherry. A Simple and Practical Algorithm for Differentially Private Data Release.
    NeurIPS 2012.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Floats
from headcount.accounting.budget import Amount, Cost, Grant
from headcount.accounting.guarantee import Guarantee
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.bounds import Bounded, Sensitivity, distance_scores, distances, exact_answers, take_places
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.methods.queries.accuracy import ERROR, LEVEL, TOTAL, released_accuracy, released_total
from headcount.methods.queries.inference.multiplicative_weights import (
    FittedTable,
    columns_in_words,
    fitted,
    reweighted,
    start_stage,
)
from headcount.methods.queries.query_method import QueryMethod, TableQueries, answers_table
from headcount.noise import NoiseSource, add_noise, choose_candidate
from headcount.noise.stages import Stage, Stages, normalize_split, split_among_stages, split_evenly
from headcount.releases.release import Interval, Release

SHARES = {TOTAL: "0.05", "start": "0.6", "rounds": "0.3", ERROR: "0.05"}
MOST_ROUNDS = 30
_PASSES = 10


@dataclass(frozen=True, kw_only=True)
class MultiplicativeWeights(QueryMethod):
    """Answer queries from a table fitted to noisy counts; ``rounds`` of mending, or as many as are worth it.

    >>> import pyarrow as pa
    >>> from headcount.events.grid import Grid
    >>> from headcount.events.user_table import read_people
    >>> from headcount.noise import SeededNoise
    >>> log = read_people(pa.table({"id": range(900), "age": [n % 90 for n in range(900)]}), user="id")
    >>> grid = Grid.of({"age": {"edges": [0, 18, 65, 120]}})
    >>> table_queries = TableQueries(grid=grid, statements=("SELECT COUNT(*) FROM people WHERE age < 18",))
    >>> release = MultiplicativeWeights(asked=table_queries).release(log, Grant("50"), SeededNoise(1))
    >>> round(release.answers["answer"][0].as_py(), -1)
    180.0
    """

    name: ClassVar[str] = "mwem"
    example: ClassVar[Mapping[str, int]] = {"rounds": 2}

    rounds: int | None = None
    shares: Mapping[str, Amount] | None = None

    def __post_init__(self) -> None:
        if self.rounds is not None and not 0 <= self.rounds <= 1000:
            raise UsageError("rounds must lie between 0 and 1000", given=self.rounds)
        self._shared()

    def stages(self, log: EventLog, price: Cost) -> Stages:  # noqa: ARG002
        """The total, the error and, in between, the start and the rounds, whose number may hang on the total."""
        own = {stage.name: stage for stage in self._shared()}
        rest = Stage("rest", own["start"].share + own["rounds"].share, parts=self._fitting(self.rounds))
        return own[TOTAL], own[ERROR], rest

    def _shared(self) -> Stages:
        total, start, rounds, error = (Stage(name, Decimal(share)) for name, share in SHARES.items())
        total, error = (
            replace(stage, sensitivity=self.asked.moved, tells=(stage.name,)) for stage in (total, error)
        )
        return normalize_split([total, start, rounds, error], self.shares)

    def _fitting(self, rounds: int | None) -> Stages:
        """Divide the rest between the start and the rounds; without rounds, the start gets it all.

        As many as are worth it, None, are few enough to be drawn.
        """
        reach, own = self.asked.bound.max_records_of_group, {stage.name: stage.share for stage in self._shared()}
        if rounds == 0:
            return (start_stage(self.asked.grid, reach, Decimal(1)),)
        share = (own["start"] / (own["start"] + own["rounds"])).quantize(Decimal(10) ** -15)
        moved = None if rounds is None else Sensitivity.of_l1(2 * reach * 2 * rounds)
        return start_stage(self.asked.grid, reach, share), Stage("rounds", 1 - share, sensitivity=moved)

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Fit a table, mend it, answer from it, and say how good that is."""
        self.check(log)
        table_queries, guarantee = self.asked, self.guarantee(grant)
        grants = split_among_stages(self.stages(log, grant.cost), grant)
        cells = table_queries.count(log, engine or LocalEngine(), noise.key())
        total = released_total(cells, grants[TOTAL], noise)
        rounds = self._rounds(total.people, grant.cost)
        grants |= split_among_stages(self._fitting(rounds), grants["rest"])
        fit = fitted(cells, table_queries.grid, total.people, grants["start"], noise)
        release = mwem_release(table_queries, log, guarantee, cells, fit, total.people, rounds, grants, noise)
        first = (
            f"The number of records got {total.distribution.in_words()}. A table was fitted to it and to counts "
            f"over "
            f"{columns_in_words(fit.order)}, which got {fit.distribution.in_words()}."
        )
        laws = {TOTAL: total.distribution, **release.noise}
        return replace(release, noise=laws, steps=(first, *release.steps))

    def _rounds(self, total: float, price: Cost) -> int:
        """Return how many rounds there are."""
        if self.rounds is not None:
            return self.rounds
        share = next(stage.share for stage in self._shared() if stage.name == "rounds")
        return rounds_worth(total, float(price.exact) * float(share), self.asked)


def rounds_worth(total: float, epsilon: float, table_queries: TableQueries) -> int:
    """Return how many rounds are worth their noise: it should stay below half of what chance makes, √n / 2."""
    worth = int(epsilon * sqrt(total) / (8 * table_queries.bound.max_records_of_group))
    return min(worth, MOST_ROUNDS, 4 * table_queries.queries.size)


def mwem_release(
    table_queries: TableQueries,
    log: EventLog,
    guarantee: Guarantee,
    cells: Bounded,
    fit: FittedTable,
    total: float,
    rounds: int,
    grants: Mapping[str, Grant],
    noise: NoiseSource,
) -> Release:
    """Mend a fitted table, answer from it, and say how good that is, with grants for "rounds" and the error."""
    table, laws = fit.cells, {"start": fit.distribution}
    if rounds:
        table, laws["rounds"] = run_mwem_rounds(
            cells, table_queries, table, total, rounds, grants["rounds"], noise
        )
    answers = table_queries.queries.sums(table)
    accuracy = released_accuracy(cells, table_queries.queries, answers, grants[ERROR], noise)
    laws[ERROR] = accuracy.distribution
    columns = {"answer": answers, "low": answers - accuracy.width, "high": answers + accuracy.width}
    return Release(
        method=MultiplicativeWeights.name,
        guarantee=guarantee,
        noise=laws,
        tables={"answers": answers_table(table_queries.named, columns)},
        interval=Interval(level=LEVEL, covers="bounded", average=True),
        bounded=table_queries.bounded,
        chosen={"answers": {"rounds": rounds, "columns": fit.order, "total": total}},
        steps=(*table_queries.story(log), *_story(laws, rounds), accuracy.story),
        simulated=not noise.is_private,
    )


def run_mwem_rounds(
    cells: Bounded,
    table_queries: TableQueries,
    table: Floats,
    total: float,
    rounds: int,
    grant: Grant,
    noise: NoiseSource,
) -> tuple[Floats, NoiseDistribution]:
    """Spend a grant on so many rounds; return the table, and the noise of the answers it was mended with."""
    names = [f"{step} {place}" for place in range(rounds) for step in ("choose", "measure")]
    grants = split_among_stages(split_evenly(names), grant)
    exact = exact_answers(cells, table_queries.queries)
    released: list[tuple[NDArray[np.bool_], float]] = []
    for place in range(rounds):
        scores = distance_scores(distances(exact, table_queries.queries.sums(table)))
        worst = choose_candidate(scores, grants[f"choose {place}"], noise)
        noisy = add_noise(take_places(exact, [worst]), grants[f"measure {place}"], noise)
        released.append((table_queries.queries.mask(worst), float(noisy.counts[0])))
        for _ in range(_PASSES):
            for mask, wanted in reversed(released):
                table = reweighted(table, mask, wanted, total)
    return table, noisy.distribution


def _story(laws: Mapping[str, NoiseDistribution], rounds: int) -> list[str]:
    sentences = []
    if rounds:
        sentences.append(
            f"{f'In each of {rounds} rounds the' if rounds > 1 else 'The'} query that the table answered worst "
            f"was chosen, and its answer released with {laws['rounds'].in_words()}; the table was then fitted to "
            "it as well."
        )
    sentences.append("All queries were answered from that table, which costs nothing.")
    return sentences
