"""The automatic choice: the method with the least error to expect, as far as public numbers tell.

A small share of ε releases how many records there are. With that, the number of cells and queries, what one group
may add, and ε, the mean error of each method is predicted, and the best one gets the rest of ε. Predictions look
at no other data:

- *histogram*: a query over s cells carries s draws of noise, so the error follows from the sizes of the queries;
- *mwem*, *pmw*: a fitted table is at best as wrong as chance. Of n records that fell into cells at random, a query
  over a share φ of them holds n φ give or take √(n φ (1 - φ)). Where pairs of columns can be measured, real tables
  were found to be little worse than that, and about four times as wrong where only single columns can. A table of
  one column is a histogram itself, with less of ε.

Why it is private
    The total moves by at most Δ, and discrete Laplace noise pays for it with its share. What is chosen hangs on
    the noisy total and on public numbers; the chosen method keeps to the rest of the grant. Both add up to it.

Departures from the paper
    None of the papers chooses; the predictions are ours.

Reference
    M. Hay, A. Machanavajjhala, G. Miklau, Y. Chen, D. Zhang. Principled Evaluation of Differentially Private
    Algorithms using DPBench. SIGMOD 2016, for which public numbers decide what is best.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import pi, sqrt
from typing import ClassVar

import numpy as np

from headcount.budget import Grant
from headcount.engines.engine import Engine
from headcount.engines.local import LocalEngine
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee, Standing
from headcount.noise import NoiseSource, scale_for
from headcount.noise_law import DiscreteLaplace, Law
from headcount.queries.accuracy import TOTAL, released_total
from headcount.queries.asked import Asked
from headcount.queries.fitting import order_for
from headcount.queries.histogram import Histogram
from headcount.queries.mwem import SHARES as MWEM_SHARES
from headcount.queries.mwem import MultiplicativeWeights
from headcount.queries.private_weights import SHARES as PMW_SHARES
from headcount.queries.private_weights import PrivateWeights
from headcount.releases import Release

SHARE = Decimal("0.02")
"""What the choice costs."""

_METHODS: tuple[type[Histogram | MultiplicativeWeights | PrivateWeights], ...] = (
    Histogram,
    MultiplicativeWeights,
    PrivateWeights,
)
_PAIRS, _SINGLE = 1.25, 4.0  # how much worse than chance fitted tables were found to be
_MEAN = sqrt(2 / pi)  # of the absolute value of a standard normal


@dataclass(frozen=True, kw_only=True)
class Automatic:
    """Answer queries by the method that is predicted to be best.

    >>> import pyarrow as pa
    >>> from headcount.events.grid import Grid
    >>> from headcount.events.people import read_people
    >>> from headcount.noise import SeededNoise
    >>> log = read_people(pa.table({"id": range(900), "age": [n % 90 for n in range(900)]}), user="id")
    >>> grid = Grid.of({"age": {"edges": [0, 18, 65, 120]}})
    >>> asked = Asked(grid=grid, statements=("SELECT COUNT(*) FROM people WHERE age < 18",))
    >>> Automatic(asked=asked).release(log, Grant("1"), SeededNoise(1)).chosen["choice"]["method"]
    'histogram'
    """

    name: ClassVar[str] = "auto"
    family: ClassVar[str] = "queries"
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None

    asked: Asked

    def guarantee(self, grant: Grant) -> Guarantee:
        """Pure ε for adding or removing a person, or a whole group."""
        return self.asked.guarantee(grant)

    def laws(self, log: EventLog, grant: Grant) -> Mapping[str, Law]:
        """Return the noise of the total that decides; the rest hangs on it."""
        self.asked.check(log)
        part = Grant(grant.epsilon).split({TOTAL: SHARE, "rest": 1 - SHARE})[TOTAL]
        return {"choice": DiscreteLaplace(scale_for(self.asked.bound.reach, part.exact))}

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Release the total, choose, and let the chosen method do the rest."""
        self.asked.check(log)
        guarantee, engine = self.guarantee(grant), engine or LocalEngine()
        grants = grant.split({TOTAL: SHARE, "rest": 1 - SHARE})
        cells = self.asked.count(log, engine, noise.key())
        total = released_total(cells, grants[TOTAL], noise)
        errors = predicted(self.asked, total.people, float(grants["rest"].exact))
        best = min(errors, key=errors.__getitem__)
        method = next(kind for kind in _METHODS if kind.name == best)(asked=self.asked)
        release = method.release(log, grants["rest"], noise, engine)
        shown = ", ".join(f"{name} {error:,.3g}" for name, error in errors.items())
        story = (
            f"To choose a method, the number of records was released with {total.law.in_words()}, paid with "
            f"{SHARE:%} of ε. From it and public numbers alone mean errors were predicted ({shown}), and {best} "
            "was taken."
        )
        return replace(
            release,
            method=self.name,
            guarantee=guarantee,
            noise={**release.noise, "choice": total.law},
            chosen={**release.chosen, "choice": {"method": best, "total": total.people, "predicted": errors}},
            steps=(story, *release.steps),
        )


def predicted(asked: Asked, total: float, epsilon: float) -> dict[str, float]:
    """Predict the mean error of each method, in records.

    >>> from headcount.bounding import LinearQueries
    >>> from headcount.events.grid import Grid
    >>> grid = Grid.of({name: {"from": 0, "to": 4, "bins": 4} for name in "abcd"})
    >>> asked = Asked(grid=grid, rows=LinearQueries.of(np.arange(256)[None, :] < 128))
    >>> little, much = predicted(asked, 10_000, 0.1), predicted(asked, 10_000, 100.0)
    >>> min(little, key=little.get), min(much, key=much.get)
    ('mwem', 'histogram')
    """
    sizes, reach = asked.queries.sizes, asked.bound.reach
    draw = DiscreteLaplace(scale_for(reach, Fraction(epsilon).limit_denominator(10**6))).variance
    cells = float(np.sqrt(draw * sizes).mean()) * _MEAN
    share = sizes / asked.grid.cells
    chance = _MEAN * float(np.sqrt(total * share * (1 - share)).mean())
    errors = {Histogram.name: cells}
    for name, shares in ((MultiplicativeWeights.name, MWEM_SHARES), (PrivateWeights.name, PMW_SHARES)):
        start = float(shares["start"]) * epsilon
        order = order_for(asked.grid, total, reach, start)
        if order == len(asked.grid.bins):
            errors[name] = cells * epsilon / start
        else:
            noise = 1 / (float(shares["start"]) ** 0.5)  # less for the start, more noise in it
            errors[name] = chance * (_SINGLE if order == 1 else _PAIRS) * noise
    return {name: float(f"{error:.4g}") for name, error in errors.items()}
