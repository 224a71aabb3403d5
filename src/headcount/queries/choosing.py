"""The automatic choice: the method with the least error to expect, as far as public and released numbers tell.

A small share of ε releases how many records there are. With that, the number of cells and queries, what one group
may add, and ε, the mean error of each method is predicted:

- *histogram*: a query over s cells carries s draws of noise, so the error follows from the sizes of the queries;
- *mwem*, *pmw*: a fitted table is at best as wrong as chance. Of n records that fell into cells at random, a query
  over a share φ of them holds n φ give or take √(n φ (1 - φ)). Where pairs of columns can be measured, some real
  tables were found to be little worse than that, and about four times as wrong where only single columns can. A
  table of one column is a histogram itself, with less of ε.

If the histogram is predicted to be best, it gets the rest of ε. Else a table is fitted, as MWEM does, and its
median error is released. Where that is clearly more than what a consistent histogram would have with what is left,
there is something in the table that columns and pairs do not tell, and the consistent histogram is taken. If not,
the fitted table is mended for some rounds, as MWEM does.

Why it is private
    The total moves by at most Δ, as does the median distance of all answers from their estimates, which are public
    given what was released before; discrete Laplace noise pays for both with shares of their own. What is chosen
    hangs on these noisy numbers and on public ones. The tables of the fit, its rounds and the histogram are paid
    for as in their own files. All shares add up to the grant, by composition.

Departures from the paper
    None of the papers chooses; the predictions are ours.

Reference
    M. Hay, A. Machanavajjhala, G. Miklau, Y. Chen, D. Zhang. Principled Evaluation of Differentially Private
    Algorithms using DPBench. SIGMOD 2016, for which public numbers decide what is best.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import pi, sqrt
from typing import Any, ClassVar

import numpy as np

from headcount.bounding import Bounded, distances, exact_answers, quantile
from headcount.budget import Grant, Price
from headcount.engines.engine import Engine
from headcount.engines.local import LocalEngine
from headcount.events.log import EventLog
from headcount.noise import NoiseSource, add, scale_for
from headcount.noise_law import DiscreteLaplace, Law
from headcount.queries.accuracy import ERROR, TOTAL, released_total
from headcount.queries.asked import Answering, Asked
from headcount.queries.fitting import columns_in_words, fitted, order_for, start_stage
from headcount.queries.histogram import SHARES as CONSISTENT
from headcount.queries.histogram import Histogram
from headcount.queries.mwem import SHARES as MWEM_SHARES
from headcount.queries.mwem import MultiplicativeWeights, mended_release, rounds_worth
from headcount.queries.private_weights import SHARES as PMW_SHARES
from headcount.queries.private_weights import PrivateWeights
from headcount.releases import Release
from headcount.stages import Stage, Stages, share_out

SHARE = Decimal("0.02")
"""What the choice costs."""

MENDING = Stage("rounds", Decimal("0.87")), Stage(ERROR, Decimal("0.13"))
"""How mending shares what the fit leaves; where a consistent histogram can be drawn from it, this can as well."""

_MEAN_TO_MEDIAN = 1.18  # of absolute values of normals
_PAIRS, _SINGLE = 1.25, 4.0  # how much worse than chance fitted tables were found to be
_MEAN = sqrt(2 / pi)  # of the absolute value of a standard normal


@dataclass(frozen=True, kw_only=True)
class Automatic(Answering):
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

    def stages(self, log: EventLog, price: Price) -> Stages:
        """The total that decides; the rest hangs on it, but whatever is chosen must be possible."""
        choice = Stage(TOTAL, SHARE, moves=self.asked.moved, tells=("choice",))
        *fit, rest = self._fitting()
        cells = Histogram(asked=self.asked, consistent=True).stages(log, price)
        rest = replace(rest, parts=tuple(replace(stage, tells=()) for stage in cells))
        return choice, Stage("rest", 1 - SHARE, parts=(*fit, rest))

    def _fitting(self) -> Stages:
        """Return the stages of a fit and of its test; what it leaves is for mending, or for a histogram."""
        moved, reach = self.asked.moved, self.asked.bound.reach
        start = start_stage(self.asked.grid, reach, Decimal("0.54"))
        total, test = Stage(TOTAL, Decimal("0.05"), moves=moved), Stage("test", Decimal("0.05"), moves=moved)
        return total, start, test, Stage("rest", Decimal("0.36"))

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Release the total, choose, and do the rest."""
        self.check(log)
        guarantee, engine = self.guarantee(grant), engine or LocalEngine()
        grants = share_out(self.stages(log, grant.price), grant)
        cells = self.asked.count(log, engine, noise.key())
        total = released_total(cells, grants[TOTAL], noise)
        errors = predicted(self.asked, total.people, float(grants["rest"].exact))
        best = min(errors, key=errors.__getitem__)
        shown = ", ".join(f"{name} {error:,.3g}" for name, error in errors.items())
        story = [
            f"To choose a method, the number of records was released with {total.law.in_words()}, paid with "
            f"{SHARE:%} of ε. From it and public numbers alone mean errors were predicted ({shown})."
        ]
        laws: dict[str, Law] = {"choice": total.law}
        choice: dict[str, Any] = {"method": best, "total": total.people, "predicted": errors}
        if best == Histogram.name:
            release = Histogram(asked=self.asked).release(log, grants["rest"], noise, engine)
        else:
            release, choice["method"] = self._fitted(log, cells, grants["rest"], noise, engine)
        return replace(
            release,
            method=self.name,
            guarantee=guarantee,
            noise={**release.noise, **laws},
            chosen={**release.chosen, "choice": choice},
            steps=(*story, *release.steps),
            simulated=not noise.is_private,
        )

    def _fitted(
        self, log: EventLog, cells: Bounded, grant: Grant, noise: NoiseSource, engine: Engine
    ) -> tuple[Release, str]:
        """Fit a table and find out how wrong it is; then mend it, or count all cells instead.

        What the choice knows of the total was cheap; a table that sums to it needs a better one.
        """
        asked, grants = self.asked, share_out(self._fitting(), grant)
        known = released_total(cells, grants[TOTAL], noise)
        total = known.people
        fit = fitted(cells, asked.grid, total, grants["start"], noise)
        apart = distances(exact_answers(cells, asked.queries), asked.queries.sums(fit.cells))
        median = add(quantile(apart, 0.5), grants["test"], noise)
        typical = max(0.0, float(median.counts[0]))
        surely = max(0.0, typical - 2 * median.law.variance**0.5) * _MEAN_TO_MEDIAN
        instead = consistent_error(asked, total, float(grants["rest"].exact))
        tested = (
            f"The number of records was released again, with {known.law.in_words()}. A table was fitted to it and "
            f"to counts over {columns_in_words(fit.order)}, which got {fit.law.in_words()}. "
            f"Its median error was released with {median.law.in_words()}: {typical:,.0f}."
        )
        if surely > instead:
            release = Histogram(asked=asked, consistent=True).release(log, grants["rest"], noise, engine)
            story = f"{tested} That is more than counting all cells would have, so these were counted."
            laws: dict[str, Law] = {TOTAL: known.law, **release.noise, "start": fit.law, "test": median.law}
            return replace(release, noise=laws, steps=(story, *release.steps)), "consistent histogram"
        rounds = rounds_worth(total, float(grants["rest"].exact) * float(MENDING[0].share), asked)
        parts = share_out(MENDING if rounds else (Stage(ERROR),), grants["rest"])
        release = mended_release(asked, log, self.guarantee(grant), cells, fit, total, rounds, parts, noise)
        laws = {TOTAL: known.law, **release.noise, "test": median.law}
        return replace(release, noise=laws, steps=(tested, *release.steps)), MultiplicativeWeights.name


def consistent_error(asked: Asked, total: float, epsilon: float) -> float:
    """Predict the mean error of a consistent histogram: cells moved to a total are off by about √(n b) in all.

    Squares of their errors add up to 2.3 n b or less, for noise of scale b, on all tables that we tried.
    """
    share = asked.queries.sizes / asked.grid.cells
    spread = float(np.sqrt(share * (1 - share)).mean())
    return _MEAN * spread * sqrt(2.3 * total * asked.bound.reach / (float(CONSISTENT["cells"]) * epsilon))


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
    draw = DiscreteLaplace(scale_for(reach, Fraction(epsilon))).variance
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
