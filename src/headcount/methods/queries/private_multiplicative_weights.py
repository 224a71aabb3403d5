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

from headcount.accounting.budget import Amount, Cost, CostOrGrant, ExclusiveResource, Grant, cost_of
from headcount.accounting.guarantee import Guarantee
from headcount.accounting.noise_distributions import DiscreteLaplace, NoiseDistribution
from headcount.bounds import Bounded, LinearQueries, Sensitivity, distances, exact_answers, take_places
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.methods.queries.accuracy import LEVEL, TOTAL, released_total
from headcount.methods.queries.inference.multiplicative_weights import (
    columns_in_words,
    fitted,
    reweighted,
    start_stage,
)
from headcount.methods.queries.query_method import QueryMethod, TableQueries, answers_table
from headcount.methods.queries.workload import Named
from headcount.noise import NoiseSource, SparseVector, add_noise, noise_distribution_for, sparse_vector_noise
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
from headcount.releases.release import Interval, Release

SHARES = {TOTAL: "0.05", "start": "0.35", "tests": "0.36", "answers": "0.24"}
MOST_UPDATES = 20
_PASSES = 10

How = Literal["checked", "measured", "unchecked"]


@dataclass(frozen=True)
class Reply:
    """An answer: how it came about, how far off it may be (None: not known), and how many updates are left.

    ``checked``: the table's answer, found to be near enough; it used nothing up. ``measured``: the exact answer
    with noise, which used one update. ``unchecked``: the table's answer after the last update, as good as it is.
    """

    answer: float
    width: float | None
    how: How
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
    """Stands between the cells and whoever asks: spends a grant at the start, and then answers anything."""

    noun = "a session"
    remedy = "begin one in each process, each with an ε of its own, or ask in the one that began it"

    def __init__(
        self,
        cells: Bounded,
        table_queries: TableQueries,
        how_often: UpdateCount,
        grants: Mapping[str, Grant],
        noise: NoiseSource,
    ) -> None:
        """Release the total and the tables to start from, and make the test and the answers ready."""
        super().__init__()
        self._noise, reach = noise, table_queries.bound.max_records_of_group
        total = released_total(cells, grants[TOTAL], noise)
        self.total = total.people
        fit = fitted(cells, table_queries.grid, total.people, grants["start"], noise)
        self.table, self.order = fit.cells, fit.order
        self.updates = how_often.updates(total.people, grants["tests"].cost, reach)
        laws = sparse_vector_noise(reach, self.updates, grants["tests"].cost)
        self.threshold = how_often.threshold(laws.distance, total.people)
        self._test: SparseVector | None = SparseVector(self.threshold, reach, self.updates, grants["tests"], noise)
        self._grants = list(split_among_stages(split_evenly(range(self.updates)), grants["answers"]).values())
        answers = _answers_law(reach, [grant.cost for grant in self._grants])
        self.noise_distributions: dict[str, NoiseDistribution] = {
            TOTAL: total.distribution, "start": fit.distribution, "threshold": laws.threshold,
            "tests": laws.distance,
            "answers": answers,
        }  # fmt: skip
        # |f - e| < T + ρ - ν wherever a test says no; ρ - ν exceeds one end of its middle 90 % in 5 % of all cases
        self._near = self.threshold + half_width([Term(1, laws.threshold), Term(1, laws.distance)], 2 * LEVEL - 1)
        self._cells: Bounded | None = cells
        self._released: list[tuple[NDArray[np.bool_], float]] = []

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
        for _ in range(_PASSES):
            for released_mask, wanted in reversed(self._released):
                self.table = reweighted(self.table, released_mask, wanted, self.total)
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


@dataclass(frozen=True)
class UpdateCount:
    """How many updates there are, and how many queries are expected: both decide what is far off."""

    requested: int | None = None
    expected: int = 1000

    def updates(self, total: float, tests: Cost, reach: int) -> int:
        """Return how many updates to pay for: few enough for a threshold near what chance makes, √n."""
        if self.requested is not None:
            return self.requested
        worth = int(float(tests.exact) * sqrt(total) / (16 * reach))
        return max(1, min(worth, MOST_UPDATES))

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
    >>> grid = Grid.of({"age": {"edges": [0, 18, 65, 120]}})
    >>> table_queries = TableQueries(grid=grid, statements=("SELECT COUNT(*) FROM people WHERE age < 18",))
    >>> release = PrivateWeights(asked=table_queries).release(log, Grant("50"), SeededNoise(1))
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
        total = replace(total, sensitivity=self.asked.moved, tells=(TOTAL,))
        start = start_stage(self.asked.grid, self.asked.bound.max_records_of_group, start.share)
        return normalize_split([total, start, tests, answers], self.shares)

    def noise_distributions(self, log: EventLog, priced: CostOrGrant) -> Mapping[str, NoiseDistribution]:
        """Return the noise of the total; the rest hangs on it, unless updates are given."""
        self.asked.check_table(log)  # of a session nobody knows yet what will be asked
        return self.planned(cost_of(priced))

    def planned(self, price: Cost) -> dict[str, NoiseDistribution]:
        """Return the noise as far as it is known whatever is asked; refuse what cannot be drawn."""
        laws, parts = noise_distributions_of(self._shared(), price), split_among_stages(self._shared(), price)
        reach, updates = (
            self.asked.bound.max_records_of_group,
            self.updates or 1,
        )  # as many as are worth it are few enough
        tests = sparse_vector_noise(reach, updates, parts["tests"])
        answers = _answers_law(reach, split_among_stages(split_evenly(range(updates)), parts["answers"]).values())
        fixed_laws = {"threshold": tests.threshold, "tests": tests.distance, "answers": answers}
        return laws | (fixed_laws if self.updates is not None else {})

    def begin(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Mediator:
        """Read the data, spend the grant, and be ready for queries."""
        expected = self.expected or (self.asked.queries.size if self.asked.has_queries else 1000)
        grants = split_among_stages(self._shared(), grant)
        cells = self.asked.count(log, engine or LocalEngine(), noise.key())
        return Mediator(cells, self.asked, UpdateCount(self.updates, expected), grants, noise)

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Answer all queries, one after the other."""
        self.check(log)
        mediator = self.begin(log, grant, noise, engine)
        replies = mediator.reply(self.asked.queries)
        mediator.end()
        release = answered(self.asked, log, self.guarantee(grant), mediator, self.asked.named, replies)
        return replace(release, simulated=not noise.is_private)


def _answers_law(reach: int, prices: Iterable[Cost]) -> NoiseDistribution:
    return max(
        (noise_distribution_for(Sensitivity.of_l1(reach), cost) for cost in prices), key=lambda law: law.variance
    )


def answered(
    table_queries: TableQueries,
    log: EventLog,
    guarantee: Guarantee,
    mediator: Mediator,
    named: Named,
    replies: Sequence[Reply],
) -> Release:
    """Make a release of what was replied so far."""
    columns: dict[str, list[float | None]] = {
        "answer": [reply.answer for reply in replies],
        "low": [reply.low for reply in replies],
        "high": [reply.high for reply in replies],
    }
    table = answers_table(named, columns).append_column("how", [[reply.how for reply in replies]])
    laws = mediator.noise_distributions
    return Release(
        method=PrivateWeights.name,
        guarantee=guarantee,
        noise=laws,
        tables={"answers": table},
        interval=Interval(level=LEVEL, covers="bounded"),
        bounded=table_queries.bounded,
        chosen={
            "answers": {"updates": mediator.updates, "threshold": mediator.threshold, "total": mediator.total}
        },
        steps=(
            *table_queries.story(log),
            f"The number of records got {laws[TOTAL].in_words()}. A table was fitted to it and to counts over "
            f"{columns_in_words(mediator.order)}, which got {laws['start'].in_words()}.",
            "Queries were answered from that table, unless that was found to be off by about "
            f"{mediator.threshold:,} or more: then the exact answer got {laws['answers'].in_words()}, and the "
            f"table was mended with it. That could happen {some(mediator.updates, 'time')} at most; after the "
            "last, the table answered alone, and how good these answers are is not known.",
        ),
    )
