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

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount.bounding.linear import Floats, LinearQueries
from headcount.budget import Grant
from headcount.engines.engine import Engine
from headcount.errors import UsageError
from headcount.events.binned import BinnedLog
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee, Standing
from headcount.noise import NoiseSource
from headcount.noise_law import Law
from headcount.queries.asked import Asked, answers_table
from headcount.releases import Interval, Release

REASON = (
    "the test of every round looks at the data and most are not charged, each round alone has more than ε, and "
    "the noise is scaled by couplings found in the data"
)

Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class CoupledIteration:
    """CIM with couplings read from the data.

    >>> from headcount.events.grid import Grid
    >>> asked = Asked(grid=Grid.of({"age": {"edges": [0, 18, 65]}}), statements=("SELECT COUNT(*) FROM people",))
    >>> CoupledIteration(asked=asked).guarantee(Grant("1")).short()
    'ε = 1 claimed, not established'
    """

    name: ClassVar[str] = "cim-published"
    family: ClassVar[str] = "queries"
    standing: ClassVar[Standing] = Standing.CLAIMED
    reason: ClassVar[str | None] = REASON

    asked: Asked
    threshold: float = 0.3
    eta: float = 7.0
    delta0: float = 0.6

    def __post_init__(self) -> None:
        for name, value in (("threshold", self.threshold), ("eta", self.eta), ("delta0", self.delta0)):
            if not value > 0:
                raise UsageError(f"{name} must be above 0", given=value)

    def guarantee(self, grant: Grant) -> Guarantee:
        """What the thesis claims."""
        return Guarantee(epsilon=grant.epsilon, standing=Standing.CLAIMED, reason=REASON)

    def laws(self, log: EventLog, grant: Grant) -> Mapping[str, Law]:  # noqa: ARG002
        """Unknown before the data is read: that is part of what is wrong with it."""
        self.asked.check(log)
        return {}

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:  # noqa: ARG002
        """Read everything of everyone, and run algorithm 6."""
        self.asked.check(log)
        records = Records.of(log, self.asked)
        epsilon = round_epsilon(float(grant.exact), self.eta, self.delta0, self.asked.grid.cells)
        grant.spend()
        answers, updates = self.iterated(records, self.asked.queries, epsilon, noise)
        return Release(
            method=self.name,
            guarantee=self.guarantee(grant),
            noise={},
            tables={"answers": answers_table(self.asked.named, _columns(answers))},
            interval=Interval(covers="true"),
            bounded=self.asked.bounded,
            chosen={"answers": {"updates": updates}},
            steps=(
                f"Queries were answered as shares of all records, with the threshold {self.threshold:g}; in "
                f"{updates:,} of {answers.size:,} rounds the table was updated.",
            ),
            simulated=not noise.is_private,
        )

    def iterated(
        self, records: Records, queries: LinearQueries, epsilon: float, noise: NoiseSource
    ) -> tuple[Floats, int]:
        """Return the answers as shares, and the number of updates; each round has ``epsilon``."""
        table = np.full(records.cells, 1 / records.cells)
        exact = queries.sums(records.counts.astype(np.float64)) / records.size
        draws, updates = laplace(noise, queries.size), 0
        answers = np.empty(queries.size)
        for place in range(queries.size):
            mask = queries.mask(place)
            own = float(table[mask].sum())
            noisy = exact[place] + records.sensitivity(mask) / epsilon * draws[place]
            if abs(own - noisy) <= self.threshold:
                answers[place] = own
                continue
            answers[place] = noisy
            updates += 1
            sign, size = (-1, own) if own > noisy else (1, 1 - own)
            touched = records.coupled_cells(mask)
            table[touched] *= np.exp(sign * self.eta * self.delta0 * size)
            table /= table.sum()
        return answers, updates


@dataclass(frozen=True)
class Records:
    """All records of a table: their cells, and the groups they are coupled in."""

    places: Integers
    groups: Integers
    cells: int

    @classmethod
    def of(cls, log: EventLog, asked: Asked) -> Records:
        """Read the table, without any protection; whoever is in no group is alone."""
        coded = BinnedLog(log, asked.grid, asked.groups)
        places, groups = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for batch in coded.batches():
            inside = batch.cells >= 0
            named = np.full(batch.cells.size, -1) if batch.contexts is None else batch.contexts
            places.append(batch.cells[inside].astype(np.int64))
            groups.append(named[inside].astype(np.int64))
        return cls.coupled(np.concatenate(places), np.concatenate(groups), asked.grid.cells)

    @classmethod
    def coupled(cls, places: Integers, groups: Integers, cells: int) -> Records:
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
    def sizes(self) -> Integers:
        """How many records each one is coupled to, itself included."""
        return np.bincount(self.groups)[self.groups].astype(np.int64) if self.groups.size else self.groups

    def sensitivity(self, mask: NDArray[np.bool_]) -> float:
        """Return the coupled sensitivity of a query: the most records coupled to one it counts, as a share."""
        return int(self.sizes[mask[self.places]].max(initial=1)) / self.size

    def coupled_cells(self, mask: NDArray[np.bool_]) -> Integers:
        """Return the cells that hold records of a query, or records coupled to these."""
        touched = np.zeros(int(self.groups.max(initial=-1)) + 1, dtype=bool)
        touched[self.groups[mask[self.places]]] = True
        return np.unique(self.places[touched[self.groups]])


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
