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

from headcount._internal.arrays import Floats
from headcount.accounting.budget import Amount, Cost, Grant
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.bounds import Bounded, LinearQueries, Sensitivity
from headcount.bounds.grid.linear_queries import distance_scores, distances
from headcount.bounds.linear_maps import take_places
from headcount.engines.engine import Engine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.methods.queries.inference.multiplicative_weights import (
    NoisyAnswer,
    measure_start,
    start_stage,
    update_table,
)
from headcount.methods.queries.query_method import ERROR, TOTAL, NoisyAnswers, QueryMethod, measure_total
from headcount.methods.queries.steps import step
from headcount.noise import NoiseSource, add_noise
from headcount.noise.selection.exponential import choose_candidate
from headcount.noise.stages import Stage, Stages, normalize_split, split_among_stages, split_evenly

SHARES = {TOTAL: "0.05", "start": "0.6", "rounds": "0.3", ERROR: "0.05"}
MAX_ROUNDS = 30


@dataclass(frozen=True, kw_only=True)
class MultiplicativeWeights(QueryMethod):
    """Answer queries from a table fitted to noisy counts; ``rounds`` of mending, or as many as are worth it.

    >>> import pyarrow as pa
    >>> from headcount.events.grid import Grid
    >>> from headcount.events.user_table import read_people
    >>> from headcount.methods.queries.workload import TableQueries
    >>> from headcount.noise import SeededNoise
    >>> log = read_people(pa.table({"id": range(900), "age": [n % 90 for n in range(900)]}), user="id")
    >>> grid = Grid.from_mapping({"age": {"edges": [0, 18, 65, 120]}})
    >>> table_queries = TableQueries(grid=grid, statements=("SELECT COUNT(*) FROM people WHERE age < 18",))
    >>> release = MultiplicativeWeights(table_queries=table_queries).release(log, Grant("50"), SeededNoise(1))
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
            replace(stage, sensitivity=self.table_queries.sensitivity, tells=(stage.name,))
            for stage in (total, error)
        )
        return normalize_split([total, start, rounds, error], self.shares)

    def _fitting(self, rounds: int | None) -> Stages:
        """Divide the rest between the start and the rounds; without rounds, the start gets it all.

        As many as are worth it, None, are few enough to be drawn.
        """
        own = {stage.name: stage.share for stage in self._shared()}
        if rounds == 0:
            return (start_stage(self.grid, self.max_records, Decimal(1)),)
        share = (own["start"] / (own["start"] + own["rounds"])).quantize(Decimal(10) ** -15)
        sensitivity = None if rounds is None else Sensitivity.of_l1(2 * self.max_records * 2 * rounds)
        return start_stage(self.grid, self.max_records, share), Stage("rounds", 1 - share, sensitivity=sensitivity)

    def measure(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine) -> NoisyAnswers:
        """Fit a table to the start, update it round by round, and release the error of its answers."""
        grants = split_among_stages(self.stages(log, grant.cost), grant)
        cells = self.table_queries.count(log, engine, noise.key())
        total = measure_total(cells, grants[TOTAL], noise)
        rounds = self._rounds(total.records, grant.cost)
        grants |= split_among_stages(self._fitting(rounds), grants["rest"])
        start = measure_start(cells, self.grid, total.records, grants["start"], noise)
        table, distributions = start.cells, {TOTAL: total.distribution, "start": start.distribution}
        exact, steps = self.exact_answers(cells), [step("answers of table")]
        if rounds:
            table, distribution = run_mwem_rounds(
                exact, self.queries, table, total.records, rounds, grants["rounds"], noise
            )
            distributions["rounds"] = distribution
            when = f"In each of {rounds} rounds the" if rounds > 1 else "The"
            steps.insert(0, step("rounds", when=when, noise=distribution))
        return NoisyAnswers.with_error(
            exact,
            self.queries.sums(table),
            grants[ERROR],
            noise,
            distributions=distributions,
            steps=steps,
            preface=(step("start", noise=total.distribution, margins=start.description),),
            chosen={"answers": {"rounds": rounds, "columns": start.order, "total": total.records}},
        )

    def _rounds(self, total: float, price: Cost) -> int:
        """Return the rounds, given or as many as pay: their noise should stay below half of chance, √n / 2."""
        if self.rounds is not None:
            return self.rounds
        share = next(stage.share for stage in self._shared() if stage.name == "rounds")
        epsilon = float(price.exact) * float(share)
        worth = int(epsilon * sqrt(total) / (8 * self.max_records))
        return min(worth, MAX_ROUNDS, 4 * self.queries.size)


def run_mwem_rounds(
    exact: Bounded,
    queries: LinearQueries,
    table: Floats,
    total: float,
    rounds: int,
    grant: Grant,
    noise: NoiseSource,
) -> tuple[Floats, NoiseDistribution]:
    """Spend a grant on so many rounds; return the updated table, and the noise of the released answers."""
    names = [f"{action} {place}" for place in range(rounds) for action in ("choose", "measure")]
    grants = split_among_stages(split_evenly(names), grant)
    released: list[NoisyAnswer] = []
    for place in range(rounds):
        scores = distance_scores(distances(exact, queries.sums(table)))
        worst = choose_candidate(scores, grants[f"choose {place}"], noise)
        noisy = add_noise(take_places(exact, [worst]), grants[f"measure {place}"], noise)
        released.append((queries.mask(worst), float(noisy.counts[0])))
        table = update_table(table, released, total)
    return table, noisy.distribution
