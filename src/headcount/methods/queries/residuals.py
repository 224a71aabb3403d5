"""Residuals: noise on contrasts of columns, pairs and triples, allocated by the energy of the queries.

What is asked of a table is mostly about few columns at a time. Here just that is measured: for every set of
columns that some query looks at together, what they tell and fewer do not, with noise that is the less the more
queries need it. All answers are linear in these numbers. They agree with each other, are unbiased, and their
variances are exact: for marginals and Gaussian noise (with δ) no linear method has a smaller sum of variances.

With ``consistent`` a table that is nowhere negative is fitted to what was measured, and answers come from that:
see :mod:`headcount.methods.queries.inference.table_fitting`. Where cells hold few records that takes most of
the noise away. Answers are then biased, so that intervals come from a released accuracy: see
:mod:`headcount.methods.queries.query_method`.

Why it is private
    One group moves the cells by at most Δ in L1. :mod:`headcount.bounds.grid.contrasts` proves by how much that
    moves all weighed contrasts together, in L1 and in L2, whatever cells the records are in. With a pure ε,
    discrete Laplace noise of scale L1/ε on each of them pays for that. With δ, discrete Gaussian noise of σ =
    L2/√(2ρ) on each makes them ρ-zero-concentrated, and ρ is what ε and δ allow for. Which contrasts there are
    and what they weigh hangs on the queries, the shape of the grid and the limits, all public, and with
    ``consistent`` on a released total as well. That total and the accuracy are paid for with shares of their own,
    by composition. Least squares, fitting and answering are post-processing.

Departures from the paper
    The paper adds correlated continuous noise to a marginal and subtracts means. Here the residual itself, times
    the number of cells of its table, is a vector of whole numbers, with independent discrete noise: its part
    outside of the residual's space is dropped by least squares, and inside it has the covariance of the paper. So
    nothing is lost against the optimum but what rounding weights to whole numbers costs, less than one in a
    thousand. Any counting query may be asked, not marginals alone: what counts is how much of it falls to which
    columns. For queries that are not marginals the weights are the best of this kind, not the best there are. The
    loss is the sum of all variances. Pure ε, where long columns are measured as they are, is ours.

Reference
    Y. Xiao, G. He, D. Zhang, D. Kifer. An Optimal and Scalable Matrix Mechanism for Noisy Marginals under Convex
    Loss Functions. NeurIPS 2023.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from math import prod
from typing import ClassVar

import numpy as np

from headcount._internal.arrays import Floats
from headcount.accounting.budget import Amount, Cost, CostOrGrant, Grant, cost_of
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.bounds import Bounded
from headcount.bounds.grid.contrasts import Subset
from headcount.bounds.grid.linear_queries import exact_answers
from headcount.engines.engine import Engine
from headcount.errors import UsageError, param
from headcount.events.log import EventLog
from headcount.methods.queries.histogram import cell_widths
from headcount.methods.queries.inference.table_fitting import fit_to_margins
from headcount.methods.queries.inference.unbiased_estimates import (
    Estimate,
    Plan,
    estimate_cells,
    half_widths,
    plan_contrasts,
)
from headcount.methods.queries.query_method import (
    ERROR,
    LEVEL,
    TOTAL,
    NoisyAnswers,
    QueryMethod,
    Total,
    measure_total,
)
from headcount.methods.queries.steps import Step, step
from headcount.noise import NoiseSource, noise_norm
from headcount.noise.stages import Stage, Stages, normalize_split, split_among_stages
from headcount.releases.reconcile import project_onto_total

CONTRASTS = "contrasts"
SHARES = {TOTAL: "0.01", CONTRASTS: "0.96", ERROR: "0.03"}

_FULL_WEIGHT = 4.0  # deviations of its noise that the average count of a table needs to weigh in full
_LEAST_WEIGHT = 0.02
_FIT_OF_CELLS = 0.25  # the part of a fit to cells; the rest is of the nearest counts that are nowhere negative
_MAX_DISTANCE = 4.0  # times the noise's variance: a fit that is further from unbiased answers is worse than these


@dataclass(frozen=True, kw_only=True)
class Residuals(QueryMethod):
    """Answer queries from noisy residuals of columns, pairs of columns and so on.

    >>> import pyarrow as pa
    >>> from headcount.events.grid import Grid
    >>> from headcount.events.user_table import read_people
    >>> from headcount.noise import SeededNoise
    >>> from headcount.methods.queries.workload import TableQueries
    >>> log = read_people(pa.table({"id": range(90), "age": [n % 100 for n in range(90)]}), user="id")
    >>> grid = Grid.from_mapping({"age": {"edges": [0, 18, 65, 120]}})
    >>> table_queries = TableQueries(grid=grid, statements=("SELECT COUNT(*) FROM people WHERE age >= 18",))
    >>> release = Residuals(table_queries=table_queries).release(log, Grant("90", "1e-6"), SeededNoise(1))
    >>> round(release.answers["answer"][0].as_py())
    72
    """

    name: ClassVar[str] = "residuals"
    takes_delta: ClassVar[bool] = True

    consistent: bool = False
    shares: Mapping[str, Amount] | None = None

    def stages(self, log: EventLog, price: Cost) -> Stages:  # noqa: ARG002
        """The contrasts; where a table is fitted to them, the total before and the error after them."""
        gaussian, sensitivity = bool(price.delta), self._plan(price).sensitivity
        total, contrasts, error = (
            Stage(name, Decimal(share), gaussian=gaussian) for name, share in SHARES.items()
        )
        contrasts = replace(contrasts, sensitivity=sensitivity)
        if not self.consistent:  # else the weights depend on the total
            contrasts = replace(contrasts, on="every weighed contrast", tells=(CONTRASTS,))
            return normalize_split([contrasts], self.shares)
        total, error = (
            replace(stage, sensitivity=self.table_queries.sensitivity, tells=(stage.name,))
            for stage in (total, error)
        )
        return normalize_split([total, contrasts, error], self.shares)

    def notes(self, log: EventLog, priced: CostOrGrant) -> tuple[str, ...]:  # noqa: ARG002
        """Say how noisy answers will be, where that is known."""
        if self.consistent:
            return ()
        price = cost_of(priced)
        plan = self._plan(price)
        deviations = np.sqrt(plan.variances(plan.distribution(price).variance))
        return (
            f"Answers will have standard deviations of {deviations.min():,.1f} to {deviations.max():,.1f}, "
            f"{deviations.mean():,.1f} on average.",
        )

    def _plan(self, price: Cost) -> Plan:
        plan = plan_contrasts(self.table_queries, price)
        if plan is None:
            raise UsageError(
                "these queries look at too many columns together to measure them apart",
                remedy=f"use {param.method('histogram')}, or ask for fewer columns at a time",
            )
        return plan

    def measure(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine) -> NoisyAnswers:
        """Measure contrasts with noise, and answer from them."""
        price = grant.cost
        grants = split_among_stages(self.stages(log, price), grant)
        cells = self.table_queries.count(log, engine, noise.key())
        plan = self._plan(price)
        if not self.consistent:
            return unbiased_answers(estimate_cells(cells, plan, grants[CONTRASTS], noise))
        total = measure_total(cells, grants[TOTAL], noise)
        plan = discount_noisy_tables(plan, total.records, grants[CONTRASTS].cost)
        noisy = fitted_answers(cells, plan, total, grants, noise)
        return replace(noisy, noise_distributions={TOTAL: total.distribution, **noisy.noise_distributions})


def unbiased_answers(estimate: Estimate, total: Total | None = None) -> NoisyAnswers:
    """Answer from unbiased cells alone; intervals follow from their noise.

    If a ``total`` is given and contrasts were measured, each answer is the mean of the unbiased one and of a
    fitted table's: their errors differ in part, so the mean is closer than either. Intervals stay around the
    unbiased answers, where they are exact, and no answer leaves its own.
    """
    queries, answers = estimate.plan.table_queries.queries, estimate.answers
    table = None
    if estimate.plan.contrasts is None:
        width, answered = cell_widths(queries.sizes, estimate.distribution), step("sums")
    else:
        width, answered = half_widths(estimate.variances, estimate.distribution, LEVEL), step("least squares")
        table = None if total is None else fitted_table(estimate, total)
    low, high = answers - width, answers + width
    if table is not None:
        answers, answered = np.clip((answers + queries.sums(table)) / 2, low, high), step("mean with fit")
    return NoisyAnswers(
        answers=answers,
        low=low,
        high=high,
        noise_distributions=_noise_distributions(estimate),
        steps=(_measured_step(estimate), answered),
    )


def fitted_answers(
    cells: Bounded, plan: Plan, total: Total, grants: Mapping[str, Grant], noise: NoiseSource
) -> NoisyAnswers:
    """Measure a plan, fit a table to it, answer from that, and release the error.

    A fit to tables knows nothing beyond them, such as odd sums. It is not taken if its answers are much further
    from unbiased ones than noise makes them. A fit to cells uses all measurements.
    """
    queries, estimate = plan.table_queries.queries, estimate_cells(cells, plan, grants[CONTRASTS], noise)
    answers, answered = estimate.answers, step("no fit")
    table = fitted_table(estimate, total)
    if table is not None:
        fit = queries.sums(table)
        is_close = float(((fit - answers) ** 2).mean()) <= _MAX_DISTANCE * estimate.mean_variance
        if is_close or plan.contrasts is None:
            answers, answered = fit, step("fit")
        else:
            answered = step("fit refused")
    return NoisyAnswers.with_error(
        exact_answers(cells, queries),
        answers,
        grants[ERROR],
        noise,
        distributions=_noise_distributions(estimate),
        steps=(step("total", noise=total.distribution), _measured_step(estimate), answered),
    )


def fitted_table(estimate: Estimate, total: Total) -> Floats | None:
    """Return cells that are nowhere negative, fitted to the estimate; None if that needs too many tables.

    They add up to the best known total: the mean of the released one and that of the estimate, by precision. Where
    cells were measured, the nearest counts that are nowhere negative err differently from the fit, which sometimes
    fails: a part of each is taken.
    """
    orders = estimate.plan.orders
    if not orders:
        return None
    own, other = 1 / max(estimate.variance_of(()), 1e-9), 1 / max(total.distribution.variance, 1e-9)
    records = max(1.0, (own * float(estimate.cells.sum()) + other * total.records) / (own + other))
    fit = fit_to_margins(estimate.cells, estimate.variance_of, orders, records).ravel()
    if estimate.plan.contrasts is not None:
        return fit
    return _FIT_OF_CELLS * fit + (1 - _FIT_OF_CELLS) * project_onto_total(estimate.cells.ravel(), records)


def discount_noisy_tables(plan: Plan, total: float, price: Cost) -> Plan:
    """Return a plan that spends less on tables whose average count is not well above its noise.

    A fit will not trust these much anyway. A component that is to be less precise by a factor f weighs as if
    queries asked f² of it, or f^(3/2) in L1: that is how weights follow from energies.
    """
    variance, shape = plan.distribution(price).variance, plan.table_queries.grid.shape
    discount = dict[Subset, float]()
    for columns in plan.whole_tables:
        average = total / prod(shape[place] for place in columns)
        needed = _FULL_WEIGHT * plan.variance_of(columns, variance) ** 0.5
        weight = 1.0 if average >= needed else average / needed
        discount[columns] = max(_LEAST_WEIGHT, weight**2) ** (2 if noise_norm(price) == "l2" else 1.5)
    return plan_contrasts(plan.table_queries, price, discount) or plan


def _noise_distributions(estimate: Estimate) -> dict[str, NoiseDistribution]:
    if estimate.plan.contrasts is None:
        return {"answers": replace(estimate.distribution, on="every cell")}
    return {CONTRASTS: replace(estimate.distribution, on="every weighed contrast")}


def _measured_step(estimate: Estimate) -> Step:
    contrasts = estimate.plan.contrasts
    if contrasts is None:
        return step("cells", noise=estimate.distribution)
    columns = max(map(len, contrasts.weights))
    return step("contrasts", columns=columns, blocks=len(contrasts.weights), noise=estimate.distribution)
