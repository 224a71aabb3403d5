"""CIM, the coupled iteration mechanism, exactly as its thesis runs it: a claim that does not hold.

A table of frequencies starts uniform. In every round the exact answer to a query, as a share of all records, gets
Laplace noise. If the table's answer is within a threshold T of it, the table's answer is given; else the noisy
one, and the cells that hold records of the query, or records coupled to these, are multiplied up or down. The
noise is scaled by the coupled sensitivity: how many records are coupled to any one that the query counts. Records
are coupled where the group column says so, fully.

Why it is not private
    The test in every round looks at the data, and is charged only where it leads to an update: that a table stays
    as it is for 200 rounds tells much more than ε allows (``headcount audit cim-published``). Each round has
    ε₀ = ε η² δ₀² / ln N, which for the published η = 7 and δ₀ = 0.6 is more than all of ε. The noise scale hangs
    on who answers a query and on the sizes of groups in the data, frequencies hang on the number of records, and
    which cells an update touches hangs on which of them hold records. At best the loss of L queries is L ε₀.

Departures from the paper
    Equation 5.4.4 as printed lowers cells whatever the sign of the difference; here the sign is the one that the
    text describes: up where the table's answer is too small. δ of a query, which is not defined, is taken as δ₀.
    Answers are shares of all records, as in the thesis, and not counts as with other methods.

Reference
    T. Zhu. Differential Privacy and Its Application. PhD thesis, Deakin University, 2014; chapter 5, algorithms 6
    and 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount.arrays import Floats, Integers
from headcount.bounding.linear import LinearQueries
from headcount.budget import Grant, Priced
from headcount.engines.collecting import collected
from headcount.engines.engine import Engine
from headcount.errors import UsageError
from headcount.events.encoding import EncodedLog
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee, Standing
from headcount.method import Bounds
from headcount.noise import NoiseSource
from headcount.queries.asked import Answering, Asked, answers_table
from headcount.releases import Interval, Release

REASON = (
    "the test of every round looks at the data and most are not charged, each round alone has more than ε, and "
    "the noise is scaled by couplings found in the data"
)


_ONE_BY_ONE = 64  # rounds that are looked at one by one after an update


@dataclass(frozen=True, kw_only=True)
class CoupledIteration(Answering):
    """CIM with couplings read from the data.

    >>> from headcount.events.grid import Grid
    >>> asked = Asked(grid=Grid.of({"age": {"edges": [0, 18, 65]}}), statements=("SELECT COUNT(*) FROM people",))
    >>> CoupledIteration(asked=asked).guarantee(Grant("1")).short()
    'ε = 1 claimed, not established'
    """

    name: ClassVar[str] = "cim-published"
    standing: ClassVar[Standing] = Standing.CLAIMED
    reason: ClassVar[str | None] = REASON
    bounds: ClassVar[Bounds] = ()
    page: ClassVar[str] = "query.md#cim"

    threshold: float = 0.3
    eta: float = 7.0
    delta0: float = 0.6

    def __post_init__(self) -> None:
        for name, value in (("threshold", self.threshold), ("eta", self.eta), ("delta0", self.delta0)):
            if not value > 0:
                raise UsageError(f"{name} must be above 0", given=value)

    def guarantee(self, priced: Priced) -> Guarantee:
        """What the thesis claims."""
        return Guarantee(epsilon=priced.epsilon, standing=Standing.CLAIMED, reason=REASON)

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:  # noqa: ARG002
        """Read everything of everyone, and run algorithm 6."""
        self.asked.check(log)
        records = CoupledRecords.of(log, self.asked)
        epsilon = round_epsilon(float(grant.exact), self.eta, self.delta0, self.asked.grid.cells)
        grant.spend()
        answers, updates = self.iterated(records, self.asked.queries, epsilon, noise)
        return Release(
            method=self.name,
            guarantee=self.guarantee(grant),
            noise={},
            tables={"answers": answers_table(self.asked.named, _columns(answers))},
            interval=Interval(covers="true"),
            bounded="everything each person did",
            chosen={"answers": {"updates": updates}},
            steps=(
                f"Queries were answered as shares of all records, with the threshold {self.threshold:g}; in "
                f"{updates:,} of {answers.size:,} rounds the table was updated.",
            ),
            simulated=not noise.is_private,
        )

    def iterated(
        self, records: CoupledRecords, queries: LinearQueries, epsilon: float, noise: NoiseSource
    ) -> tuple[Floats, int]:
        """Return the answers as shares, and the number of updates; each round has ``epsilon``."""
        table = np.full(records.cells, 1 / records.cells)
        exact = queries.sums(records.counts.astype(np.float64)) / records.size
        noisy = exact + records.sensitivities(queries) / epsilon * laplace(noise, queries.size)
        answers, updates, ahead = np.empty(queries.size), 0, -1
        for place in range(queries.size):
            if place > ahead:  # all at once, until an update: what the table says of each does not change before
                own, ahead = queries.sums(table), queries.size
            value = float(own[place]) if ahead == queries.size else float(table[queries.mask(place)].sum())
            if abs(value - noisy[place]) <= self.threshold:
                answers[place] = value
                continue
            answers[place] = noisy[place]
            updates += 1
            sign, size = (-1, value) if value > noisy[place] else (1, 1 - value)
            touched = records.coupled_cells(queries.mask(place))
            table *= np.where(touched, np.exp(sign * self.eta * self.delta0 * size), 1.0)
            table /= table.sum()
            ahead = place + _ONE_BY_ONE
        return answers, updates


@dataclass(frozen=True)
class CoupledRecords:
    """All records of a table: their cells, and the groups they are coupled in."""

    places: Integers
    groups: Integers
    cells: int
    degrees: Floats | None = None
    """How strongly each record is coupled to its group, where not fully."""

    @classmethod
    def of(cls, log: EventLog, asked: Asked) -> CoupledRecords:
        """Read the table, without any protection; whoever is in no group is alone."""
        rows = collected(EncodedLog(log, asked.bound.reading(log)))
        groups = np.full(rows.cells.size, -1) if rows.contexts is None else rows.contexts
        return cls.coupled(rows.cells.astype(np.int64), groups.astype(np.int64), asked.grid.cells)

    @classmethod
    def coupled(cls, places: Integers, groups: Integers, cells: int) -> CoupledRecords:
        """Number groups anew, each record without one for itself."""
        alone = groups < 0
        own = groups.copy()
        own[alone] = own.max(initial=0) + 1 + np.arange(int(alone.sum()))
        return cls(places, np.unique(own, return_inverse=True)[1].astype(np.int64), cells)

    @property
    def size(self) -> int:
        """How many records there are; one, where there are none."""
        return max(1, self.places.size)

    @cached_property
    def counts(self) -> Integers:
        """How many there are in each cell."""
        return np.bincount(self.places, minlength=self.cells).astype(np.int64)

    @cached_property
    def sizes(self) -> Floats:
        """The record sensitivity of each one: itself, and the others of its group by their degrees."""
        if not self.groups.size:
            return np.empty(0)
        degrees = np.ones(self.groups.size) if self.degrees is None else self.degrees
        return np.asarray(1 + np.bincount(self.groups, weights=degrees)[self.groups] - degrees)

    def sensitivities(self, queries: LinearQueries) -> Floats:
        """Return the coupled sensitivity of each query: the most coupled to a record it counts, as a share.

        Most queries count a record of the largest group: those that do not are looked at for the next largest.
        """
        largest = np.zeros(self.cells)
        np.maximum.at(largest, self.places, self.sizes)
        found = np.ones(queries.size)
        open_still = np.ones(queries.size, dtype=bool)
        for size in np.unique(largest[largest > 1])[::-1]:
            hit = open_still & (queries.sums((largest == size).astype(np.float64)) > 0)
            found[hit] = size
            open_still &= ~hit
            if not open_still.any():
                break
        return np.asarray(found / self.size)

    def coupled_cells(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the cells that hold records of a query, or records coupled to these."""
        touched = np.zeros(int(self.groups.max(initial=-1)) + 1, dtype=bool)
        touched[self.groups[mask[self.places]]] = True
        cells = np.zeros(self.cells, dtype=bool)
        cells[self.places[touched[self.groups]]] = True
        return cells


def round_epsilon(epsilon: float, eta: float, delta0: float, cells: int) -> float:
    """Return ε₀ of equation 5.4.7.

    >>> round(round_epsilon(1.0, 7.0, 0.6, 65_536), 2)
    1.59
    """
    return epsilon * eta**2 * delta0**2 / log(max(2, cells))


def laplace(noise: NoiseSource, size: int) -> Floats:
    """Draw Laplace noise of scale 1 in floating point, as the thesis does: this protects nobody."""
    words = noise.words(2 * size).astype(np.float64).reshape(2, size)
    return np.asarray(np.where(words[0] < 2.0**31, 1, -1) * -np.log((words[1] + 0.5) / 2.0**32))


def _columns(answers: Floats) -> dict[str, Floats]:
    """Return the columns of the answers: nothing is known of how far off they are."""
    unknown = np.full(answers.size, np.nan)
    return {"answer": answers, "low": unknown, "high": unknown}
