"""Private multiplicative weights (PMW): online queries, free while the current table is accurate enough.

The total is released, and a table is fitted to noisy counts of few columns at a time, as for MWEM. Then queries
come, each chosen in any way after all answers before. Where the table's answer is not far off, which is found out
by the sparse vector technique, that is the answer. Where it is, the exact answer is released with noise, and the
table is mended with it. Only that uses anything up: after so many of them the data is never touched again, and the
table answers alone, as well as it can.

Why it is private
    One group moves every answer by at most Δ, and so its distance from the table's estimate, which is public given
    what was released before. Whether it is large is told by the sparse vector technique, at one price for any
    number of queries: see :mod:`headcount.noise.selection.sparse_vector`. At most c answers are released, each
    with discrete Laplace noise of scale cΔ/ε₃, which makes ε₃ in all. The total, and the tables that the fit
    starts from, are paid for with shares of their own. All of it is spent at the start, whatever is asked. There
    is one table, one test and one list of answers: threads take turns, a copy and another process are refused,
    and what breaks off in the middle of an answer ends all of it.

Departures from the paper
    The paper's test compares a noisy answer in each round, and pays with δ; here the sparse vector technique with
    a noisy threshold does, at pure ε. The table starts from noisy counts of low dimension, not uniform, and is
    mended with all answers released so far, several times. Estimates are rounded before they are compared.

Reference
    M. Hardt, G. Rothblum. A Multiplicative Weights Mechanism for Privacy-Preserving Data Analysis. FOCS 2010.
    M. Lyu, D. Su, N. Li. Understanding the Sparse Vector Technique for Differential Privacy. PVLDB 2017.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil, log, sqrt
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from headcount.accounting.budget import Amount, Cost, CostOrGrant, Grant, cost_of
from headcount.accounting.exclusive import ExclusiveResource
from headcount.accounting.noise_distributions import DiscreteLaplace, NoiseDistribution
from headcount.bounds import Bounded, LinearQueries, Sensitivity
from headcount.bounds.grid.linear_queries import distances, exact_answers
from headcount.bounds.linear_maps import take_places
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.methods.queries.inference.multiplicative_weights import (
    NoisyAnswer,
    measure_start,
    start_stage,
    update_table,
)
from headcount.methods.queries.query_method import LEVEL, TOTAL, NoisyAnswers, QueryMethod, measure_total
from headcount.methods.queries.steps import step
from headcount.methods.queries.workload import TableQueries
from headcount.noise import NoiseSource, add_noise, noise_distribution_for
from headcount.noise.selection.sparse_vector import SparseVector, sparse_vector_noise
from headcount.noise.stages import (
    Stage,
    Stages,
    noise_distributions_of,
    normalize_split,
    split_among_stages,
    split_evenly,
)
from headcount.releases.formatting import some
from headcount.releases.intervals import Term, half_width

SHARES = {TOTAL: "0.05", "start": "0.35", "tests": "0.36", "answers": "0.24"}
MAX_UPDATES = 20

Source = Literal["checked", "measured", "unchecked"]


@dataclass(frozen=True)
class Reply:
    """An answer: how it came about, how far off it may be (None: not known), and how many updates are left.

    ``checked``: the table's answer, found to be near enough; it used nothing up. ``measured``: the exact answer
    with noise, which used one update. ``unchecked``: the table's answer after the last update, as good as it is.
    """

    answer: float
    width: float | None
    how: Source
    left: int

    @property
    def cost(self) -> bool:
        """Whether it used up one of the updates that were paid for."""
        return self.how == "measured"

    @property
    def low(self) -> float | None:
        """The lower end of the interval, None if it is not known."""
        return None if self.width is None else self.answer - self.width

    @property
    def high(self) -> float | None:
        """The upper end of the interval, None if it is not known."""
        return None if self.width is None else self.answer + self.width


class Mediator(ExclusiveResource):
    """Stands between the cells and the analyst: spends a grant at the start, and then answers any query."""

    noun = "a session"
    remedy = "begin one in each process, each with an ε of its own, or ask in the one that began it"

    def __init__(
        self,
        cells: Bounded,
        table_queries: TableQueries,
        update_count: UpdateCount,
        grants: Mapping[str, Grant],
        noise: NoiseSource,
    ) -> None:
        """Release the total and the start table, and make the test and the answers ready."""
        super().__init__()
        self._noise, max_records = noise, table_queries.bound.max_records_of_group
        total = measure_total(cells, grants[TOTAL], noise)
        self.total = total.records
        start = measure_start(cells, table_queries.grid, self.total, grants["start"], noise)
        self.table, self._margins = start.cells, start.description
        self.updates = update_count.updates(self.total, grants["tests"].cost, max_records)
        tests = sparse_vector_noise(max_records, self.updates, grants["tests"].cost)
        self.threshold = update_count.threshold(tests.distance, self.total)
        self._test: SparseVector | None = SparseVector(
            self.threshold, max_records, self.updates, grants["tests"], noise
        )
        self._grants = list(split_among_stages(split_evenly(range(self.updates)), grants["answers"]).values())
        self.noise_distributions: dict[str, NoiseDistribution] = {
            TOTAL: total.distribution,
            "start": start.distribution,
            "threshold": tests.threshold,
            "tests": tests.distance,
            "answers": _answers_noise(max_records, [grant.cost for grant in self._grants]),
        }
        # |f - e| < T + ρ - ν wherever a test says no; ρ - ν exceeds one end of its middle 90 % in 5 % of all cases
        margin = half_width([Term(1, tests.threshold), Term(1, tests.distance)], 2 * LEVEL - 1)
        self._near = self.threshold + margin
        self._cells: Bounded | None = cells
        self._released: list[NoisyAnswer] = []

    @property
    def left(self) -> int:
        """How many updates are left."""
        return 0 if self._test is None else self._test.left

    def reply(self, queries: LinearQueries) -> list[Reply]:
        """Answer queries in their order; if that breaks off, nothing is measured any more."""
        with self.exclusively():
            whole = False
            try:
                replies = self._replies(queries)
                whole = True
            finally:
                if not whole:
                    self._end()
            return replies

    def _replies(self, queries: LinearQueries) -> list[Reply]:
        exact = None if self._cells is None else exact_answers(self._cells, queries)
        estimates, replies = queries.sums(self.table), []
        apart = None if exact is None else distances(exact, estimates)
        for place in range(queries.size):
            if exact is None or apart is None or self._test is None:
                replies.append(Reply(float(estimates[place]), None, "unchecked", 0))
            elif self._test.is_large(take_places(apart, [place])):
                replies.append(self._measured(take_places(exact, [place]), queries.mask(place)))
                estimates = queries.sums(self.table)
                apart = distances(exact, estimates) if self.left else None
            else:
                replies.append(Reply(float(estimates[place]), self._near + 0.5, "checked", self.left))
        return replies

    def _measured(self, exact: Bounded, mask: NDArray[np.bool_]) -> Reply:
        """Release one answer, and mend the table; after the last one, let go of the data."""
        noisy = add_noise(exact, self._grants[len(self._released)], self._noise)
        answer = float(noisy.counts[0])
        self._released.append((mask, answer))
        self.table = update_table(self.table, self._released, self.total)
        if self.left == 0:
            self._end()
        return Reply(answer, noisy.distribution.half_width(LEVEL), "measured", self.left)

    def end(self) -> None:
        """Let go of the data, and of what is left of the grant: it was promised, so it is spent."""
        if not self.is_home:  # its lock may never open, and its grants are refused
            self._end()
            return
        with self._lock:
            self._end()
            for grant in self._grants:
                if not grant.is_spent:
                    grant.spend()

    def _end(self) -> None:
        self._cells = self._test = None

    def noisy_answers(self, replies: Sequence[Reply]) -> NoisyAnswers:
        """Return all replies so far as the answers of a release."""
        answers, low, high = (
            np.array([getattr(reply, side) for reply in replies], dtype=np.float64)  # None, not known, becomes NaN
            for side in ("answer", "low", "high")
        )
        distributions, updates = self.noise_distributions, some(self.updates, "time")
        return NoisyAnswers(
            answers=answers,
            low=low,
            high=high,
            noise_distributions=distributions,
            steps=(
                step("start", noise=distributions[TOTAL], margins=self._margins),
                step("updates", threshold=self.threshold, noise=distributions["answers"], updates=updates),
            ),
            chosen={"answers": {"updates": self.updates, "threshold": self.threshold, "total": self.total}},
            sources=tuple(reply.how for reply in replies),
        )


@dataclass(frozen=True)
class UpdateCount:
    """How many updates there are, and how many queries are expected: both decide what is far off."""

    requested: int | None = None
    expected: int = 1000

    def updates(self, total: float, tests: Cost, max_records: int) -> int:
        """Return how many updates to pay for: few enough for a threshold near what chance makes, √n."""
        if self.requested is not None:
            return self.requested
        worth = int(float(tests.exact) * sqrt(total) / (16 * max_records))
        return max(1, min(worth, MAX_UPDATES))

    def threshold(self, law: DiscreteLaplace, total: float) -> int:
        """Return how far off is too far: more than noise makes of nothing, and more than chance does, 2 √n.

        With so high a threshold, half of all sessions would test a perfect table without a false alarm; and what
        is off by chance alone is not worth an update.
        """
        return ceil(max(float(law.scale) * log(max(2, self.expected)), 2 * sqrt(total)))


@dataclass(frozen=True, kw_only=True)
class PrivateWeights(QueryMethod):
    """Answer queries in their order, from a table that is mended where it is far off.

    >>> import pyarrow as pa
    >>> from headcount.events.grid import Grid
    >>> from headcount.events.user_table import read_people
    >>> from headcount.noise import SeededNoise
    >>> log = read_people(pa.table({"id": range(900), "age": [n % 90 for n in range(900)]}), user="id")
    >>> grid = Grid.from_mapping({"age": {"edges": [0, 18, 65, 120]}})
    >>> table_queries = TableQueries(grid=grid, statements=("SELECT COUNT(*) FROM people WHERE age < 18",))
    >>> release = PrivateWeights(table_queries=table_queries).release(log, Grant("50"), SeededNoise(1))
    >>> release.answers["how"].to_pylist(), round(release.answers["answer"][0].as_py(), -1)
    (['checked'], 180.0)
    """

    name: ClassVar[str] = "pmw"

    updates: int | None = None
    expected: int | None = None
    shares: Mapping[str, Amount] | None = None

    def __post_init__(self) -> None:
        for name, value, most in (("updates", self.updates, 1000), ("expected", self.expected, 10**9)):
            if value is not None and not 1 <= value <= most:
                raise UsageError(f"{name} must lie between 1 and {most:,}", given=value)
        self._shared()

    def stages(self, log: EventLog, price: Cost) -> Stages:  # noqa: ARG002
        """Return what is spent at the start, whatever is asked."""
        return self._shared()

    def _shared(self) -> Stages:
        total, start, tests, answers = (Stage(name, Decimal(share)) for name, share in SHARES.items())
        total = replace(total, sensitivity=self.table_queries.sensitivity, tells=(TOTAL,))
        start = start_stage(self.grid, self.max_records, start.share)
        return normalize_split([total, start, tests, answers], self.shares)

    def noise_distributions(self, log: EventLog, priced: CostOrGrant) -> Mapping[str, NoiseDistribution]:
        """Return the noise of the total; the rest hangs on it, unless updates are given."""
        self.table_queries.check_table(log)  # of a session nobody knows yet what will be asked
        return self.planned(cost_of(priced))

    def planned(self, price: Cost) -> dict[str, NoiseDistribution]:
        """Return the noise as far as it is known whatever is asked; refuse what cannot be drawn."""
        distributions = noise_distributions_of(self._shared(), price)
        parts = split_among_stages(self._shared(), price)
        updates = self.updates or 1  # as many as pay are few enough to be drawn
        tests = sparse_vector_noise(self.max_records, updates, parts["tests"])
        costs = split_among_stages(split_evenly(range(updates)), parts["answers"]).values()
        answers = _answers_noise(self.max_records, costs)
        if self.updates is None:
            return distributions
        return distributions | {"threshold": tests.threshold, "tests": tests.distance, "answers": answers}

    def begin(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Mediator:
        """Read the data, spend the grant, and be ready for queries."""
        expected = self.expected or (self.queries.size if self.table_queries.has_queries else 1000)
        grants = split_among_stages(self._shared(), grant)
        cells = self.table_queries.count(log, engine or LocalEngine(), noise.key())
        return Mediator(cells, self.table_queries, UpdateCount(self.updates, expected), grants, noise)

    def measure(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine) -> NoisyAnswers:
        """Answer all queries, one after the other."""
        mediator = self.begin(log, grant, noise, engine)
        replies = mediator.reply(self.queries)
        mediator.end()
        return mediator.noisy_answers(replies)


def _answers_noise(max_records: int, costs: Iterable[Cost]) -> NoiseDistribution:
    sensitivity = Sensitivity.of_l1(max_records)
    return max((noise_distribution_for(sensitivity, cost) for cost in costs), key=lambda law: law.variance)
