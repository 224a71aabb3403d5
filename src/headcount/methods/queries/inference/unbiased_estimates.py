"""Unbiased estimates of grid cells from noisy cells or noisy contrasts (least squares).

Contrasts (:mod:`headcount.bounds.grid.contrasts`) are linear in the cells, and all components of a grid
(:mod:`headcount.methods.queries.components`) are told apart by them. So least squares needs no solver: what was
measured is spread back over the cells, turned into coordinates of components, and each coordinate is divided by
how precisely it was told. What no query asks for stays unknown, and is taken as 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from headcount._internal.arrays import Floats
from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import DiscreteGaussian, NoiseDistribution
from headcount.bounds import Bounded, Sensitivity
from headcount.bounds.grid.contrasts import (
    Subset,
    contrasts,
    contrasts_sensitivity,
    decode_blocks,
    split_blocks,
)
from headcount.errors import UsageError
from headcount.methods.queries.components import by_component, subsets, transformed, variances
from headcount.methods.queries.inference.noise_allocation import ContrastWeights, allocate_noise
from headcount.methods.queries.inference.table_fitting import Orders, is_affordable
from headcount.methods.queries.workload import TableQueries
from headcount.noise import NoiseSource, add_noise, noise_distribution_for, noise_norm
from headcount.releases.intervals import Term, half_width

MAX_DRAWS = 20_000_000
"""How many numbers may be measured."""


@dataclass(frozen=True)
class Plan:
    """What is to be measured of a grid: weighed contrasts, or its cells where there are none."""

    table_queries: TableQueries
    contrasts: ContrastWeights | None

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one person or group moves it."""
        if self.contrasts is None:
            return self.table_queries.sensitivity
        max_records, shape = self.table_queries.bound.max_records_of_group, self.table_queries.grid.shape
        return contrasts_sensitivity(max_records, shape, self.contrasts.weights, self.contrasts.norm)

    def distribution(self, price: Cost) -> NoiseDistribution:
        """Return its noise at a price; refuse what cannot be drawn."""
        return noise_distribution_for(self.sensitivity, price)

    def variance_of(self, columns: Subset, variance: float) -> float:
        """Return the variance of every count of a table over some columns, if numbers measured have this one."""
        shape = self.table_queries.grid.shape
        size = prod(shape[place] for place in columns)
        others = prod(shape) / size
        if self.contrasts is None:
            return variance * others
        precision = self.contrasts.precision  # what no query asks for is not measured, and has no noise
        whole = (some for some in subsets(columns) if some in precision)
        parts = (prod(shape[place] - 1 for place in some) / precision[some] for some in whole)
        return variance * sum(parts) * others / size

    def variances(self, variance: float) -> Floats:
        """Return the variance of every answer."""
        if self.contrasts is None or self.table_queries.energies is None:
            return np.asarray(variance * self.table_queries.queries.sizes, dtype=np.float64)
        component_variances = {some: variance / precision for some, precision in self.contrasts.precision.items()}
        return variances(self.table_queries.queries, self.table_queries.energies, component_variances)

    def mean_variance(self, variance: float) -> float:
        """Return the mean variance of all answers; of very many queries, as far as some of them tell."""
        if self.contrasts is None or self.table_queries.energies is None:
            return variance * float(self.table_queries.queries.sizes.mean())
        energy, precision = self.table_queries.energies.components, self.contrasts.precision
        return (
            variance * sum(energy[some] / precision[some] for some in precision) / self.table_queries.queries.size
        )

    @property
    def whole_tables(self) -> list[Subset]:
        """The columns of the tables that contrasts measure with all their components."""
        precision = self.contrasts.precision if self.contrasts else {}
        return [columns for columns in precision if all(subset in precision for subset in subsets(columns))]

    @property
    def orders(self) -> Orders:
        """The tables that a fit can be made to, told whole; none if they are too many.

        Where cells were measured, these are all columns, all pairs, if these are not too many, and the cells.
        """
        shape = self.table_queries.grid.shape
        if self.contrasts is not None:
            whole = [columns for columns in self.whole_tables if columns]
            by_order = [
                [columns for columns in whole if len(columns) == order] for order in range(1, len(shape) + 1)
            ]
            orders = [tables for tables in by_order if tables]
            return orders if is_affordable(orders, prod(shape)) else []
        long = [place for place, size in enumerate(shape) if size > 1] or [0]
        last = [[tuple(long)]]
        for most in (2, 1):
            below = [list(combinations(long, order)) for order in range(1, min(most + 1, len(long)))]
            if is_affordable([*below, *last], prod(shape)):
                return [*below, *last]
        return last


def plan_contrasts(
    table_queries: TableQueries, price: Cost, discount: Mapping[Subset, float] | None = None
) -> Plan | None:
    """Return the contrasts that are best for what is asked; None if these are too many, or cannot be drawn.

    ``discount`` lowers what components weigh, as if queries asked less of them.
    """
    if table_queries.energies is None:
        return None
    shape, norm = table_queries.grid.shape, noise_norm(price)
    energy = {
        some: weight * (discount or {}).get(some, 1.0)
        for some, weight in table_queries.energies.components.items()
    }
    draws = sum(prod(1 if shape[place] == 2 else shape[place] for place in some) for some in energy)
    if draws > MAX_DRAWS:
        return None
    plan = Plan(table_queries, allocate_noise(energy, shape, norm))
    try:
        plan.distribution(price)
    except UsageError:
        return None
    return plan


@dataclass(frozen=True)
class Estimate:
    """Unbiased cells, an axis a column; what was measured, and with which noise."""

    cells: Floats
    plan: Plan
    distribution: NoiseDistribution

    @property
    def answers(self) -> Floats:
        """The answers that follow from them."""
        return self.plan.table_queries.queries.sums(self.cells.ravel())

    @property
    def variances(self) -> Floats:
        """The exact variances of these answers."""
        return self.plan.variances(self.distribution.variance)

    @property
    def mean_variance(self) -> float:
        """The mean of these variances."""
        return self.plan.mean_variance(self.distribution.variance)

    def variance_of(self, columns: Subset) -> float:
        """Return the variance of every count of a table over some columns."""
        return self.plan.variance_of(columns, self.distribution.variance)


def estimate_cells(cells: Bounded, plan: Plan, grant: Grant, noise: NoiseSource) -> Estimate:
    """Spend a grant on what is planned, and estimate the cells from it."""
    shape, weighting = plan.table_queries.grid.shape, plan.contrasts
    if weighting is None:
        noisy = add_noise(cells, grant, noise)
        return Estimate(noisy.counts.reshape(shape), plan, noisy.distribution)
    noisy = add_noise(contrasts(cells, shape, weighting.weights, weighting.norm), grant, noise)
    return Estimate(least_squares(noisy.counts, weighting), plan, noisy.distribution)


def least_squares(measured: Floats, weighting: ContrastWeights) -> Floats:
    """Return the cells nearest to weighed contrasts, an axis a column."""
    axes = tuple(range(len(weighting.shape)))
    blocks = {
        some: weighting.weights[some] * block
        for some, block in split_blocks(measured, weighting.shape, weighting.weights).items()
    }
    spread = transformed(decode_blocks(blocks, weighting.shape, weighting.norm), axes)
    share = by_component(weighting.shape, {some: 1 / precise for some, precise in weighting.precision.items()})
    return transformed(spread * share, axes, back=True)


def half_widths(variances: Floats, law: NoiseDistribution, level: float) -> Floats:
    """Return the half-widths of answers that are weighted sums of many draws, from their variances.

    A sum of discrete Gaussian draws is a normal one but for its steps, the finest of which is at most its
    deviation over that of a draw in steps. Of Laplace noise, no sum of several draws that we worked out goes
    further, for the same variance, than a single draw.
    """
    draw = max(float(law.variance) ** 0.5, 1e-9)
    terms = [Term(1.0, law, copies=2 if isinstance(law, DiscreteGaussian) else 1)]
    reach = half_width(terms, level) / (draw * terms[0].copies ** 0.5) + float(law.step) / (2 * draw)
    return np.asarray(reach * np.sqrt(variances), dtype=np.float64)
