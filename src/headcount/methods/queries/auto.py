"""The ``auto`` query method: choose the measurement from the queries, and the estimator from the noisy total.

Nothing is tried on the data to choose. The queries are public, and so is the variance that their answers would
have if all cells got noise (*histogram*), or what columns tell alone, in pairs and so on (*residuals*): the
smaller one is taken. With δ there is Gaussian noise to choose from as well; where Laplace noise is better, as it
is for few numbers, δ pays for no more than the total. Then a small share releases how many records there are. If
the counts that queries add up stand clear of their noise on average, unbiased answers get all that is left, and
what is given lies between these and a fitted table, within their exact intervals. If not, a table is fitted to
what is measured, as :mod:`headcount.methods.queries.residuals` does with ``consistent``, and its error is
released.

Why it is private
    The total moves by at most Δ, and noise pays for it with a share of its own. What is measured, and whether a
    table is fitted to it, hangs on that noisy number and on public ones. Cells and contrasts are paid for as in
    :mod:`headcount.methods.queries.histogram` and :mod:`headcount.methods.queries.residuals`, the error that 97 %
    of answers do not exceed as in :mod:`headcount.methods.queries.accuracy`. All shares add up to the grant, by
    composition.

Departures from the paper
    None of the papers chooses; the rules are ours.

Reference
    M. Hay, A. Machanavajjhala, G. Miklau, Y. Chen, D. Zhang. Principled Evaluation of Differentially Private
    Algorithms using DPBench. SIGMOD 2016, for which public numbers decide what is best.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from math import prod
from typing import ClassVar

from headcount.accounting.budget import Cost, CostOrGrant, Grant, cost_of
from headcount.engines.engine import Engine
from headcount.events.log import EventLog
from headcount.methods.queries.histogram import Histogram
from headcount.methods.queries.inference.unbiased_estimates import Plan, estimate_cells, plan_contrasts
from headcount.methods.queries.query_method import ERROR, TOTAL, NoisyAnswers, QueryMethod, measure_total
from headcount.methods.queries.residuals import (
    CONTRASTS,
    Residuals,
    discount_noisy_tables,
    fitted_answers,
    unbiased_answers,
)
from headcount.methods.queries.steps import step
from headcount.methods.queries.workload import TableQueries
from headcount.noise import NoiseSource
from headcount.noise.stages import Stage, Stages, split_among_stages
from headcount.releases.formatting import per_cent

SHARE = Decimal("0.04")
"""What the choice costs."""

FITTING = {CONTRASTS: Decimal("0.97"), ERROR: Decimal("0.03")}
"""How a fit shares the rest."""

_CLEAR, _CLEAR_CELLS = 32.0, 16.0  # deviations of noise that average counts have where no fit is needed

_REASONS = {
    Histogram.name: "noise on all cells is best",
    Residuals.name: "noise on what columns tell alone, in pairs and so on is best",
}
_CONSEQUENCES = {
    True: "a fit was tried, for their counts do not stand clear of noise",
    False: "the noise tells how sure answers are: their counts stand clear of noise",
}


@dataclass(frozen=True, kw_only=True)
class Automatic(QueryMethod):
    """Answer queries by what is predicted to be best.

    >>> import pyarrow as pa
    >>> from headcount.events.grid import Grid
    >>> from headcount.events.user_table import read_people
    >>> from headcount.noise import SeededNoise
    >>> log = read_people(pa.table({"id": range(900), "age": [n % 90 for n in range(900)]}), user="id")
    >>> grid = Grid.from_mapping({"age": {"edges": [0, 18, 65, 120]}})
    >>> table_queries = TableQueries(grid=grid, statements=("SELECT COUNT(*) FROM people WHERE age < 18",))
    >>> Automatic(table_queries=table_queries).release(log, Grant("1"), SeededNoise(1)).chosen["choice"]["method"]
    'histogram'
    """

    name: ClassVar[str] = "auto"
    takes_delta: ClassVar[bool] = True

    def stages(self, log: EventLog, price: Cost) -> Stages:  # noqa: ARG002
        """The total, and the rest, which a fit divides; whatever is chosen must be possible."""
        return self._best_option(price).stages

    def _best_option(self, price: Cost) -> MeasurementOption:
        """Return the better way of spending a price; without δ there is one alone."""
        return min(
            (measurement_option(self.table_queries, price, gaussian) for gaussian in {False, bool(price.delta)}),
            key=lambda option: option.variance,
        )

    def notes(self, log: EventLog, priced: CostOrGrant) -> tuple[str, ...]:  # noqa: ARG002
        """Say how noisy unbiased answers would be."""
        option = self._best_option(cost_of(priced))
        return (
            f"Unbiased answers would have a standard deviation of about {option.variance**0.5:,.1f}; if counts do "
            "not stand clear of that, a table is fitted, and the error of its answers is released.",
        )

    def measure(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine) -> NoisyAnswers:
        """Release the total, choose, and do the rest."""
        option = self._best_option(grant.cost)
        plan, grants = option.plan, split_among_stages(option.stages, grant)
        cells = self.table_queries.count(log, engine, noise.key())
        total = measure_total(cells, grants[TOTAL], noise)
        method = Histogram.name if plan.contrasts is None else Residuals.name
        fits = not is_above_noise(plan, total.records, grants["rest"].cost)
        if fits:
            parts = split_among_stages(option.stages[1].parts, grants["rest"])
            if not measures_all_columns(plan):
                plan = discount_noisy_tables(plan, total.records, parts[CONTRASTS].cost)
            noisy = fitted_answers(cells, plan, total, parts, noise)
        else:
            noisy = unbiased_answers(estimate_cells(cells, plan, grants["rest"], noise), total)
        return replace(
            noisy,
            noise_distributions={**noisy.noise_distributions, "choice": total.distribution},
            chosen={"choice": {"method": method, "fits": fits, "total": total.records}},
            preface=(
                step(
                    "choice",
                    noise=total.distribution,
                    share=per_cent(SHARE),
                    reason=_REASONS[method],
                    consequence=_CONSEQUENCES[fits],
                ),
            ),
        )


@dataclass(frozen=True)
class MeasurementOption:
    """A way of spending a price: its stages, what is measured, and the mean variance of unbiased answers."""

    stages: Stages
    plan: Plan
    variance: float


def measurement_option(table_queries: TableQueries, price: Cost, gaussian: bool) -> MeasurementOption:
    """Return the best option with Gaussian noise, or without: then δ goes to the total alone."""
    sensitivity = table_queries.sensitivity
    parts = tuple(
        Stage(name, share, gaussian=gaussian, sensitivity=sensitivity) for name, share in FITTING.items()
    )
    choice = Stage(TOTAL, SHARE, gaussian=bool(price.delta), sensitivity=sensitivity, tells=("choice",))
    stages = choice, Stage("rest", 1 - SHARE, gaussian=gaussian, sensitivity=sensitivity, parts=parts)
    own = split_among_stages(parts, split_among_stages(stages, price)["rest"])[CONTRASTS]
    plan = best_plan(table_queries, own)
    return MeasurementOption(stages, plan, plan.mean_variance(plan.distribution(own).variance))


def best_plan(table_queries: TableQueries, price: Cost) -> Plan:
    """Return what to measure at a price, cells or contrasts, so that answers have the smaller variance on average.

    >>> from headcount.events.grid import Grid
    >>> grid = Grid.from_mapping({name: {"from": 0, "to": 4, "bins": 4} for name in "abcd"})
    >>> def takes_cells(query):
    ...     return best_plan(TableQueries(grid=grid, statements=(query,)), Cost.of("1")).contrasts is None
    >>> [takes_cells(f"SELECT COUNT(*) FROM t GROUP BY {columns}") for columns in ("a, b, c, d", "a")]
    [True, False]
    """
    cells, contrasts = Plan(table_queries, None), plan_contrasts(table_queries, price)
    if contrasts is None:
        return cells
    return min((cells, contrasts), key=lambda plan: plan.mean_variance(plan.distribution(price).variance))


def measures_all_columns(plan: Plan) -> bool:
    """Say whether cells are measured for queries that look at all columns together: then fewer tell too little.

    >>> from headcount.events.grid import Grid
    >>> grid = Grid.from_mapping({name: {"values": [0, 1]} for name in "ab"})
    >>> statements = [(f"SELECT COUNT(*) FROM t GROUP BY {by}",) for by in ("a, b", "a")]
    >>> workloads = [TableQueries(grid=grid, statements=pair) for pair in statements]
    >>> [measures_all_columns(Plan(table_queries, None)) for table_queries in workloads]
    [True, False]
    """
    table_queries = plan.table_queries
    if plan.contrasts is not None or table_queries.energies is None:
        return plan.contrasts is None
    return max(map(len, table_queries.energies.places), default=0) == len(table_queries.grid.bins)


def is_above_noise(plan: Plan, total: float, price: Cost) -> bool:
    """Say whether the counts of all tables that queries look at are well above their noise, on average."""
    if plan.table_queries.energies is None:
        return False
    variance, shape = plan.distribution(price).variance, plan.table_queries.grid.shape
    enough = _CLEAR_CELLS if plan.contrasts is None else _CLEAR
    return all(
        total / prod(shape[place] for place in columns) >= enough * plan.variance_of(columns, variance) ** 0.5
        for columns in plan.table_queries.energies.places
    )
