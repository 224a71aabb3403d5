"""Histogram: noise on every cell of the grid; a query is the sum of its cells.

Every cell, empty ones included, gets discrete Laplace noise, or Gaussian noise if there is a δ; a query is the
sum of its cells. Answers are unbiased, and each comes with an interval that follows from the noise alone. A query
over s cells carries s draws of noise, so this is best for queries of few cells, or where ε is large; any number
of queries costs the same.

With ``consistent``, cells are moved to the nearest counts that are not negative and add up to a released total.
Most of a sparse table is empty cells, and their noise then mostly goes; what is left is biased, so that intervals
come from a released accuracy instead: see :mod:`headcount.methods.queries.query_method`.

Why it is private
    One group that joins or leaves moves the cells by at most Δ in L1: so many people of a group, times so many
    records of a person. Discrete Laplace noise of scale Δ/ε on every cell pays for it, and adding up costs
    nothing. All of them may be in one cell, so that Δ is what L2 moves by as well: with δ, discrete Gaussian
    noise of σ = Δ/√(2ρ), for the ρ that ε and δ allow for. The total and the accuracy, where these are released,
    are paid for with shares of their own.

Departures from the paper
    Discrete noise; consistency by projection, as post-processing.

Reference
    C. Dwork, F. McSherry, K. Nissim, A. Smith. Calibrating Noise to Sensitivity in Private Data Analysis. TCC
    2006.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount.accounting.budget import Amount, Cost, CostOrGrant, Grant
from headcount.accounting.noise_distributions import DiscreteGaussian, NoiseDistribution
from headcount.engines.engine import Engine
from headcount.events.log import EventLog
from headcount.methods.queries.query_method import (
    ERROR,
    LEVEL,
    TOTAL,
    NoisyAnswers,
    QueryMethod,
    measure_total,
)
from headcount.methods.queries.steps import step
from headcount.noise import NoiseSource, add_noise
from headcount.noise.stages import Stage, Stages, normalize_split, split_among_stages
from headcount.releases.intervals import Term, half_width
from headcount.releases.reconcile import project_onto_total

_FEW = 64  # draws whose sum is worked out exactly

SHARES = {TOTAL: "0.05", "cells": "0.9", ERROR: "0.05"}


@dataclass(frozen=True, kw_only=True)
class Histogram(QueryMethod):
    """Answer queries from noisy counts of all cells.

    >>> import pyarrow as pa
    >>> from headcount.events.grid import Grid
    >>> from headcount.events.user_table import read_people
    >>> from headcount.noise import SeededNoise
    >>> from headcount.methods.queries.workload import TableQueries
    >>> log = read_people(pa.table({"id": range(90), "age": [n % 100 for n in range(90)]}), user="id")
    >>> grid = Grid.from_mapping({"age": {"edges": [0, 18, 65, 120]}})
    >>> table_queries = TableQueries(grid=grid, statements=("SELECT COUNT(*) FROM people WHERE age >= 18",))
    >>> release = Histogram(table_queries=table_queries).release(log, Grant("20"), SeededNoise(1))
    >>> release.answers["answer"].to_pylist()
    [72.0]
    """

    name: ClassVar[str] = "histogram"
    takes_delta: ClassVar[bool] = True

    consistent: bool = False
    shares: Mapping[str, Amount] | None = None

    def stages(self, log: EventLog, price: Cost) -> Stages:  # noqa: ARG002
        """All cells; where they are made consistent, the total before and the error after them."""
        sensitivity = self.table_queries.sensitivity
        total, cells, error = (
            Stage(name, Decimal(share), gaussian=bool(price.delta), sensitivity=sensitivity, tells=(name,))
            for name, share in SHARES.items()
        )
        cells = replace(cells, on="every cell", tells=("answers",))
        return normalize_split([total, cells, error] if self.consistent else [cells], self.shares)

    def noise_distributions(self, log: EventLog, priced: CostOrGrant) -> Mapping[str, NoiseDistribution]:
        """Return the noise of every cell, and of what is released beside them."""
        laws = super().noise_distributions(log, priced)
        return {name: laws[name] for name in sorted(laws, key=lambda name: name != "answers")}

    def measure(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine) -> NoisyAnswers:
        """Count the cells with noise, and add them up; if consistent, release the total and the error as well."""
        grants = split_among_stages(self.stages(log, grant.cost), grant)
        cells = self.table_queries.count(log, engine, noise.key())
        if not self.consistent:
            noisy = add_noise(cells, grants["cells"], noise)
            answers = self.queries.sums(noisy.counts)
            widths = cell_widths(self.queries.sizes, noisy.distribution)
            return NoisyAnswers(
                answers=answers,
                low=answers - widths,
                high=answers + widths,
                noise_distributions={"answers": replace(noisy.distribution, on="every cell")},
                steps=(step("cells of sums", noise=noisy.distribution),),
            )
        total = measure_total(cells, grants[TOTAL], noise)
        noisy = add_noise(cells, grants["cells"], noise)
        counts = project_onto_total(noisy.counts, total.records)
        distributions = {"answers": replace(noisy.distribution, on="every cell"), TOTAL: total.distribution}
        steps = step("cells of sums", noise=noisy.distribution), step("projection", noise=total.distribution)
        return NoisyAnswers.with_error(
            self.exact_answers(cells),
            self.queries.sums(counts),
            grants[ERROR],
            noise,
            distributions=distributions,
            steps=steps,
        )


def cell_widths(sizes: NDArray[np.int64], law: NoiseDistribution) -> NDArray[np.float64]:
    """Return the half-widths of sums of so many noisy cells."""
    different, which = np.unique(sizes, return_inverse=True)
    widths = np.array([_width(int(size), law) for size in different], dtype=np.float64)
    return np.asarray(widths[which], dtype=np.float64)


@lru_cache(maxsize=4096)
def _width(size: int, law: NoiseDistribution) -> float:
    """Return the half-width of a sum of so many draws.

    Of many, it is that of a normal, but for the heavier tails of Laplace noise (Cornish and Fisher's correction
    for the fourth moment, of which a draw has 3 in excess), one step and one part in a thousand more.
    """
    if size <= _FEW:
        return half_width([Term(1.0, law, copies=size)], LEVEL) if size else 0.0
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    deviation = math.sqrt(size * law.variance)
    heavier = 0.0 if isinstance(law, DiscreteGaussian) else (z**3 - 3 * z) / (8 * size)
    return 1.001 * (z + heavier) * deviation + float(law.step)
