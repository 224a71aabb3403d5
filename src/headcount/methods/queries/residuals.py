"""Residuals: noise on contrasts of columns, pairs and triples, allocated by the energy of the queries.

What is asked of a table is mostly about few columns at a time. Here just that is measured: for every set of
columns that some query looks at together, what they tell and fewer do not, with noise that is the less the more
queries need it. All answers are linear in these numbers. They agree with each other, are unbiased, and their
variances are exact: for marginals and Gaussian noise (with δ) no linear method has a smaller sum of variances.

With ``consistent`` a table that is nowhere negative is fitted to what was measured, and answers come from that:
see :mod:`headcount.methods.queries.inference.maximum_likelihood`. Where cells hold few records that takes most of
the noise away. Answers are then biased, so that intervals come from a released accuracy: see
:mod:`headcount.methods.queries.accuracy`.

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

from headcount.accounting.budget import Amount, Cost, CostOrGrant, Grant, cost_of
from headcount.accounting.guarantee import Guarantee
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.bounds import Bounded, Subset
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.methods.queries.accuracy import ERROR, LEVEL, TOTAL, Total, released_accuracy, released_total
from headcount.methods.queries.components import subsets
from headcount.methods.queries.histogram import cell_widths
from headcount.methods.queries.inference.maximum_likelihood import fitted_to
from headcount.methods.queries.inference.unbiased_estimates import Estimate, Plan, contrasts_for, estimated, widths
from headcount.methods.queries.query_method import QueryMethod, answers_table
from headcount.noise import NoiseSource, noise_norm
from headcount.noise.stages import Stage, Stages, normalize_split, split_among_stages
from headcount.releases.reconcile import project_onto_total
from headcount.releases.release import Interval, Release

CONTRASTS = "contrasts"
SHARES = {TOTAL: "0.01", CONTRASTS: "0.96", ERROR: "0.03"}

_CLEAR = 4.0  # how many deviations of its noise the average count of a table should have to weigh in full
_LEAST = 0.02
_FIT_OF_CELLS = 0.25  # the part of a fit to cells; the rest is of the nearest counts that are nowhere negative
_TOO_FAR = 4.0  # times the noise's variance: a fit that is further from unbiased answers is worse than these


@dataclass(frozen=True, kw_only=True)
class Residuals(QueryMethod):
    """Answer queries from noisy residuals of columns, pairs of columns and so on.

    >>> import pyarrow as pa
    >>> from headcount.events.grid import Grid
    >>> from headcount.events.user_table import read_people
    >>> from headcount.noise import SeededNoise
    >>> from headcount.methods.queries.query_method import TableQueries
    >>> log = read_people(pa.table({"id": range(90), "age": [n % 100 for n in range(90)]}), user="id")
    >>> grid = Grid.of({"age": {"edges": [0, 18, 65, 120]}})
    >>> table_queries = TableQueries(grid=grid, statements=("SELECT COUNT(*) FROM people WHERE age >= 18",))
    >>> release = Residuals(asked=table_queries).release(log, Grant("90", "1e-6"), SeededNoise(1))
    >>> round(release.answers["answer"][0].as_py())
    72
    """

    name: ClassVar[str] = "residuals"
    takes_delta: ClassVar[bool] = True

    consistent: bool = False
    shares: Mapping[str, Amount] | None = None

    def stages(self, log: EventLog, price: Cost) -> Stages:  # noqa: ARG002
        """The contrasts; where a table is fitted to them, the total before and the error after them."""
        bell, moved = bool(price.delta), self._plan(price).moved
        total, contrasts, error = (Stage(name, Decimal(share), gaussian=bell) for name, share in SHARES.items())
        if not self.consistent:  # else the weights hang on the total
            return normalize_split(
                [replace(contrasts, sensitivity=moved, on="every weighed contrast", tells=(CONTRASTS,))],
                self.shares,
            )
        total, error = (
            replace(stage, sensitivity=self.asked.moved, tells=(stage.name,)) for stage in (total, error)
        )
        return normalize_split([total, replace(contrasts, sensitivity=moved), error], self.shares)

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
        plan = contrasts_for(self.asked, price)
        if plan is None:
            raise UsageError(
                "these queries look at too many columns together to measure them apart",
                remedy="use --method histogram, or ask for fewer columns at a time",
            )
        return plan

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Measure contrasts with noise, and answer from them."""
        self.check(log)
        guarantee, price = self.guarantee(grant), grant.cost
        grants = split_among_stages(self.stages(log, price), grant)
        cells = self.asked.count(log, engine or LocalEngine(), noise.key())
        plan = self._plan(price)
        if not self.consistent:
            return unbiased_release(log, guarantee, estimated(cells, plan, grants[CONTRASTS], noise), noise)
        total = released_total(cells, grants[TOTAL], noise)
        plan = worthwhile(plan, total.people, grants[CONTRASTS].cost)
        release = fitted_release(log, guarantee, cells, plan, total, grants, noise)
        return replace(release, noise={TOTAL: total.distribution, **release.noise})


def unbiased_release(
    log: EventLog, guarantee: Guarantee, estimate: Estimate, noise: NoiseSource, total: Total | None = None
) -> Release:
    """Answer from what was measured alone; intervals follow from its noise.

    If a ``total`` is known and contrasts were measured, answers lean on a fitted table: their errors are partly
    others than those of unbiased ones, so that the mean of both is closer than either. Intervals stay around the
    unbiased answers, where they are exact, and no answer leaves its own.
    """
    table_queries, answers, cells = estimate.plan.asked, estimate.answers, estimate.plan.contrasts is None
    if cells:
        width, sentence = (
            cell_widths(table_queries.queries.sizes, estimate.distribution),
            "A query is the sum of its cells.",
        )
    else:
        width = widths(estimate.variances, estimate.distribution, LEVEL)
        sentence = "Answers follow from these by least squares, unbiased."
    low, high = answers - width, answers + width
    table = None if total is None or cells else fitted_table(estimate, total)
    if table is not None:
        answers = np.clip((answers + table_queries.queries.sums(table)) / 2, low, high)
        sentence = (
            "Unbiased answers follow from these by least squares, with intervals around them. What is given is "
            "the mean of these and of a fitted table that is nowhere negative, within the intervals."
        )
    columns = {"answer": answers, "low": low, "high": high}
    return Release(
        method=Residuals.name,
        guarantee=guarantee,
        noise=_noise(estimate),
        tables={"answers": answers_table(table_queries.named, columns)},
        interval=Interval(level=LEVEL, covers="bounded"),
        bounded=table_queries.bounded,
        steps=(*table_queries.story(log), _measured(estimate), sentence),
        simulated=not noise.is_private,
    )


def fitted_release(
    log: EventLog,
    guarantee: Guarantee,
    cells: Bounded,
    plan: Plan,
    total: Total,
    grants: Mapping[str, Grant],
    noise: NoiseSource,
) -> Release:
    """Measure what is planned, fit a table to it, answer from that, and say how good it is.

    A fit to tables knows nothing of what is asked beyond them, as of odd sums. It is not taken if its answers are
    much further from unbiased ones than noise makes them. A fit to cells knows all that was measured.
    """
    table_queries, estimate = plan.asked, estimated(cells, plan, grants[CONTRASTS], noise)
    answers, laws = estimate.answers, dict(_noise(estimate))
    table = fitted_table(estimate, total)
    sentence = "Unbiased answers follow from these by least squares"
    if table is not None:
        fit = table_queries.queries.sums(table)
        near = float(((fit - answers) ** 2).mean()) <= _TOO_FAR * estimate.mean_variance
        if near or plan.contrasts is None:
            answers, sentence = (
                fit,
                "A table that is nowhere negative was fitted to these, and answers come from it",
            )
        else:
            sentence += "; a fitted table was further from them than their noise"
    accuracy = released_accuracy(cells, table_queries.queries, answers, grants[ERROR], noise)
    laws[ERROR] = accuracy.distribution
    columns = {"answer": answers, "low": answers - accuracy.width, "high": answers + accuracy.width}
    return Release(
        method=Residuals.name,
        guarantee=guarantee,
        noise=laws,
        tables={"answers": answers_table(table_queries.named, columns)},
        interval=Interval(level=LEVEL, covers="bounded", average=True),
        bounded=table_queries.bounded,
        steps=(
            *table_queries.story(log),
            f"The number of records got {total.distribution.in_words()}.",
            _measured(estimate),
            f"{sentence}.",
            accuracy.story,
        ),
        simulated=not noise.is_private,
    )


def fitted_table(estimate: Estimate, total: Total) -> np.ndarray | None:
    """Return cells that are nowhere negative, fitted to what was measured; None if that were too many tables.

    They add up to the total that is known best: the released one and that of the estimate, by their precision.
    Where cells were measured, the nearest counts that are nowhere negative err otherwise than the fit does, which
    now and then fails: a part of each is taken.
    """
    orders = estimate.plan.orders
    if not orders:
        return None
    own, other = 1 / max(estimate.noise(()), 1e-9), 1 / max(total.distribution.variance, 1e-9)
    users = (own * float(estimate.cells.sum()) + other * total.people) / (own + other)
    fit = fitted_to(estimate.cells, estimate.noise, orders, max(1.0, users)).ravel()
    if estimate.plan.contrasts is not None:
        return fit
    return _FIT_OF_CELLS * fit + (1 - _FIT_OF_CELLS) * project_onto_total(estimate.cells.ravel(), max(1.0, users))


def worthwhile(plan: Plan, total: float, price: Cost) -> Plan:
    """Return a plan that spends less on tables whose counts do not stand clear of their noise.

    A fit will not believe these much anyway. A component that is to be less precise by a factor f weighs as if
    queries asked f² of it, or f^(3/2) in L1: that is how weights follow from energies.
    """
    variance, shape = plan.distribution(price).variance, plan.asked.grid.shape
    discount = dict[Subset, float]()
    for some in plan.contrasts.precision if plan.contrasts else ():
        if plan.contrasts and all(subset in plan.contrasts.precision for subset in subsets(some)):
            average = total / prod(shape[place] for place in some)
            wanted = _CLEAR * plan.noise(some, variance) ** 0.5
            clear = 1.0 if average >= wanted else average / wanted
            discount[some] = max(_LEAST, clear**2) ** (2 if noise_norm(price) == "l2" else 1.5)
    return contrasts_for(plan.asked, price, discount) or plan


def _noise(estimate: Estimate) -> dict[str, NoiseDistribution]:
    if estimate.plan.contrasts is None:
        return {"answers": replace(estimate.distribution, on="every cell")}
    return {CONTRASTS: replace(estimate.distribution, on="every weighed contrast")}


def _measured(estimate: Estimate) -> str:
    weighting = estimate.plan.contrasts
    if weighting is None:
        return f"Every cell, empty ones included, got {estimate.distribution.in_words()}."
    most, blocks = max(map(len, weighting.weights)), len(weighting.weights)
    return (
        f"What up to {most} columns tell together and fewer do not was measured in {blocks:,} blocks, each "
        f"weighed as the queries call for; every number got {estimate.distribution.in_words()}."
    )
