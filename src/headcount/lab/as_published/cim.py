"""CIM, the coupled iteration mechanism, exactly as the thesis runs it; its guarantee does not hold.

A table of frequencies starts uniform. In every round the exact answer to a query, as a share of all records, gets
Laplace noise. If the table's answer is within a threshold T of it, the table's answer is given; else the noisy
one, and the cells that hold records of the query, or records coupled to these, are multiplied up or down. The
noise is scaled by the coupled sensitivity: over the records that the query counts, the largest sum of the degrees
by which one of them is coupled to the others and to itself
(:mod:`headcount.lab.as_published.coupled_degrees`).

The matrix Δ of coupled degrees is given, as a file of pairs (``degrees``), or read from the table (``coupling``):
records with the same value of an attribute or in the same interval of time are fully coupled, or records whose
bins are correlated by δ₀ or more are by that coefficient. Without either, the group column couples fully.

Why it is not private
    The test in every round looks at the data, and is charged only where it leads to an update: that a table stays
    as it is for 200 rounds tells much more than ε allows (``headcount audit cim-published``). Each round has
    ε₀ = ε η² δ₀² / ln N, which for the published η = 7 and δ₀ = 0.6 is more than all of ε. The noise scale hangs
    on who answers a query and on couplings found in the data, frequencies hang on the number of records, and
    which cells an update touches hangs on which of them hold records. At best the loss of L queries is L ε₀.

Departures from the paper
    Equation 5.4.4 as printed lowers cells whatever the sign of the difference; here the sign is the one that the
    text describes: up where the table's answer is too small. δ of a query, which is not defined, is taken as δ₀.
    Answers are shares of all records, as in the thesis, and not counts as with other methods.

Reference
    T. Zhu. Differential Privacy and Its Application. PhD thesis, Deakin University, 2014; chapter 5, algorithms 6
    and 7, definitions 12 to 15, lemmas 4 and 5, corollary 2 and theorem 5.5.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from typing import ClassVar

import numpy as np

from headcount._internal.arrays import Flags, Floats, Integers
from headcount.accounting.budget import Grant
from headcount.accounting.guarantee import Guarantee
from headcount.bounds.grid.linear_queries import LinearQueries
from headcount.engines.engine import Engine
from headcount.engines.local.encoded_rows import collect_rows
from headcount.errors import UsageError
from headcount.events.encode.passes import EncodedLog, Reading
from headcount.events.grid import Grid
from headcount.events.log import EventLog
from headcount.lab.as_published.claimed import Claimed
from headcount.lab.as_published.coupled_degrees import CoupledDegrees
from headcount.lab.as_published.couplings import Coupling, checked_pairs, coupled_by_file
from headcount.methods.method import EVERYTHING
from headcount.methods.queries.query_method import NoisyAnswers, QueryMethod
from headcount.noise import NoiseSource
from headcount.releases.release import Interval, Release

REASON = (
    "the test of every round looks at the data and most are not charged, each round alone has more than ε, and "
    "the noise is scaled by couplings found in the data"
)


@dataclass(frozen=True, kw_only=True)
class CoupledIteration(Claimed, QueryMethod):
    """CIM with couplings that are given, or read from the data.

    >>> from headcount.events.grid import Grid
    >>> from headcount.methods.queries.workload import TableQueries
    >>> grid = Grid.from_mapping({"age": {"edges": [0, 18, 65]}})
    >>> table_queries = TableQueries(grid=grid, statements=("SELECT COUNT(*) FROM people",))
    >>> CoupledIteration(table_queries=table_queries).guarantee(Grant("1")).short()
    'ε = 1 claimed, not established'
    """

    name: ClassVar[str] = "cim-published"
    reason: ClassVar[str | None] = REASON
    page: ClassVar[str] = "query.md#cim"

    threshold: float = 0.3
    eta: float = 7.0
    delta0: float = 0.6
    degrees: str | None = None
    coupling: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("threshold", self.threshold), ("eta", self.eta), ("delta0", self.delta0)):
            if not value > 0:
                raise UsageError(f"{name} must be above 0", given=value)
        if self.degrees is not None and self.coupling is not None:
            raise UsageError("degrees and coupling both say who is coupled", remedy="leave one of them out")
        _ = self.coupling_rule

    @property
    def coupling_rule(self) -> Coupling | None:
        """How couplings are found in the table, if they are."""
        if self.coupling is not None:
            return Coupling.parse(str(self.coupling))
        by_groups = self.degrees is None and self.table_queries.groups is not None
        return Coupling("attribute", self.table_queries.groups) if by_groups else None

    def check(self, log: EventLog) -> None:
        """Refuse what cannot be counted or asked, columns that couple nobody, and degrees that are no matrix."""
        super().check(log)
        if self.coupling_rule is not None:
            self.coupling_rule.applied(log)
        if self.degrees is not None:
            checked_pairs(self.degrees, log.type_of(log.roles.user))

    def measure(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine) -> NoisyAnswers:  # noqa: ARG002
        """Read everything of everyone, and run algorithm 6; nothing is known of the answers' errors."""
        records = self.records(log)
        epsilon = round_epsilon(float(grant.exact), self.eta, self.delta0, self.table_queries.grid.cells)
        grant.spend()
        exact = records.table.exact
        noisy = exact + records.sensitivities / epsilon * laplace(noise, exact.size)
        done = iterated(records, noisy, threshold=self.threshold, step=self.eta * self.delta0)
        unknown = np.full(done.answers.size, np.nan)
        return NoisyAnswers(
            answers=done.answers,
            low=unknown,
            high=unknown,
            noise_distributions={},
            steps=(),
            chosen={"answers": {"updates": done.updates}},
        )

    def estimate(self, log: EventLog, guarantee: Guarantee, noisy: NoisyAnswers, *, simulated: bool) -> Release:
        """Return the answers as a release that covers everything of everyone."""
        release = super().estimate(log, guarantee, noisy, simulated=simulated)
        updates, rounds = noisy.chosen["answers"]["updates"], noisy.answers.size
        story = (
            f"Queries were answered as shares of all records, with the threshold {self.threshold:g}; in "
            f"{updates:,} of {rounds:,} rounds the table was updated."
        )
        return replace(release, interval=Interval(covers="true"), bounded=EVERYTHING, steps=(story,))

    def records(self, log: EventLog) -> CoupledRecords:
        """Read the table, without any protection, and who is coupled to whom in it."""
        coupling, grid = self.coupling_rule, self.table_queries.grid
        read, column = (log, None) if coupling is None else coupling.applied(log)
        coded = EncodedLog(read, Reading(grid, "none", column))
        rows = collect_rows(coded)
        places = rows.cells.astype(np.int64)
        if self.degrees is not None:
            kind = log.type_of(log.roles.user)
            degrees = coupled_by_file(self.degrees, coded.users, kind, rows.users, self.delta0)
        elif coupling is None:
            degrees = CoupledDegrees.alone(places.size)
        elif rows.contexts is not None:
            degrees = CoupledDegrees.of_groups(rows.contexts.astype(np.int64))
        else:
            degrees = CoupledDegrees.of_pearson(bins_of(places, grid), self.delta0)
        counts = np.bincount(places, minlength=grid.cells).astype(np.int64)
        return CoupledRecords(QueryTable(counts, self.table_queries.queries), places, degrees)


@dataclass(frozen=True)
class QueryTable:
    """How many records each cell of a table holds, and what is asked of them.

    Only cells that hold records are ever updated; all others stay alike, so that one frequency does for them.
    """

    counts: Integers
    queries: LinearQueries

    @property
    def size(self) -> int:
        """How many records there are; one, where there are none."""
        return max(1, int(self.counts.sum()))

    @cached_property
    def exact(self) -> Floats:
        """The exact answers, as shares of all records."""
        return np.asarray(self.queries.counts(self.counts) / self.size)

    @cached_property
    def held(self) -> Integers:
        """The cells that hold records."""
        return np.flatnonzero(self.counts).astype(np.int64)

    @cached_property
    def inside(self) -> Flags:
        """Which of these each query asks for, a row a query."""
        return self.queries.inside(self.held)

    @cached_property
    def empty(self) -> Integers:
        """How many cells without records each query asks for."""
        return np.asarray(self.queries.sizes - self.inside.sum(axis=1))


@dataclass(frozen=True)
class CoupledRecords:
    """The records of a table: the cell that each is in, and how strongly they are coupled."""

    table: QueryTable
    places: Integers
    degrees: CoupledDegrees

    @cached_property
    def sensitivities(self) -> Floats:
        """CS_q of each query, as a share of all records."""
        sums = self.degrees.coupled_sensitivities(self.table.inside, self._held)
        return np.asarray(sums / self.table.size)

    @cached_property
    def coupled_cells(self) -> tuple[Integers, Integers]:
        """Pairs of cells, both ways round, with records coupled to each other; by their places in ``held``."""
        first, second = self._held[self.degrees.first], self._held[self.degrees.second]
        cells = max(1, self.table.held.size)
        pairs = np.unique(np.concatenate([first * cells + second, second * cells + first]))
        return np.divmod(pairs, cells)

    @property
    def _held(self) -> Integers:
        return np.searchsorted(self.table.held, self.places)


@dataclass(frozen=True)
class Iterated:
    """What came of all rounds: the answers, how many updates, and how far off the table was at most."""

    answers: Floats
    updates: int
    furthest: float


def iterated(records: CoupledRecords, noisy: Floats, *, threshold: float, step: float) -> Iterated:
    """Run algorithm 6 on noisy answers, round by round; with more rounds than queries these come up again.

    ``step`` is η δ₀ of equation 5.4.4.
    """
    query_table, cells = records.table, records.table.queries.cells
    inside, empty, exact, size = query_table.inside, query_table.empty, query_table.exact, query_table.queries.size
    first, second = records.coupled_cells
    table, elsewhere = np.full(query_table.held.size, 1 / cells), 1 / cells
    without = cells - query_table.held.size
    answers, updates, furthest = noisy.copy(), 0, 0.0
    for at in range(noisy.size):
        row = inside[at % size]
        own = float(table @ row + elsewhere * empty[at % size])
        furthest = max(furthest, abs(own - exact[at % size]))
        if abs(own - noisy[at]) <= threshold:
            answers[at] = own
            continue
        updates += 1
        by = -step * own if own > noisy[at] else step * (1 - own)
        touched = row.copy()
        touched[second[row[first]]] = True
        table[touched] *= np.exp(by)
        total = table.sum() + elsewhere * without
        table, elsewhere = table / total, elsewhere / total
    return Iterated(answers, updates, float(furthest))


def bins_of(places: Integers, grid: Grid) -> Floats:
    """Return the bins that records are in, from 0 to 1, so that no column outweighs the others."""
    shape = [column_bins.size for column_bins in grid.bins]
    return np.asarray(np.stack(np.unravel_index(places, shape), axis=1) / np.maximum(1, np.array(shape) - 1))


def laplace(noise: NoiseSource, size: int) -> Floats:
    """Draw Laplace noise of scale 1 in floating point, as the thesis does: this protects nobody."""
    words = noise.words(2 * size).astype(np.float64).reshape(2, size)
    return np.asarray(np.where(words[0] < 2.0**31, 1, -1) * -np.log((words[1] + 0.5) / 2.0**32))


def most_updates(eta: float, delta0: float, cells: int) -> float:
    """Return u_max of lemma 4, equation 5.4.5.

    >>> round(most_updates(7.0, 0.6, 65_536), 2)
    0.63
    """
    return log(max(2, cells)) / (eta**2 * delta0**2)


def round_epsilon(epsilon: float, eta: float, delta0: float, cells: int) -> float:
    """Return ε₀ of equation 5.4.7: what each update may use up if there are u_max of them.

    >>> round(round_epsilon(1.0, 7.0, 0.6, 65_536), 2)
    1.59
    """
    return epsilon / most_updates(eta, delta0, cells)


def update_probabilities(threshold: float, alpha: float, scales: Floats) -> Floats:
    """Return ρ₁ of lemma 5, equation 5.4.8, for noise of these scales CS_q / ε₀.

    ``alpha`` bounds how far the table's answers are off. The proof has T - α, which says something where T is
    larger; the equation has the absolute value, as here.

    >>> update_probabilities(0.3, 0.1, np.array([0.1])).round(4).tolist()
    [0.1353]
    """
    return np.exp(-abs(threshold - alpha) / scales)


def accuracy(threshold: float, beta: float, scale: float, rounds: int) -> float:
    """Return the largest α that theorem 5.5.1 can ask for: the error that at most a share β of runs exceed.

    It hangs on ρ₁ ρ₂ = ρ₁ (1 - ρ₁), which is at most ¼.

    >>> round(accuracy(0.3, 0.05, 0.01, 10_000), 4)
    0.2041
    """
    return scale / 2 * log(rounds / (4 * beta)) + threshold / 2
