"""Quantiles of the log and of each group, chosen by the exponential mechanism on a public grid.

A value lies on a public grid of about a thousand points. Up to ``AT_ONCE`` quantiles are chosen at once, as a row
of points, by the exponential mechanism: :mod:`headcount.bounds.scores.joint_quantile_scores`; one by itself by
permute-and-flip. Of more, the middle one is chosen first; then those below it, among the points below it, and
those above it, among the points above, in the same manner. A point that others are chosen on both sides of is
divided between them: :mod:`headcount.bounds.scores.quantile_scores`.

Why it is private
    *One level.* Given what the levels before released, its parts are public and do not overlap. A choice is made
    in each by :func:`headcount.noise.choose_in_parallel`, whose promise is ε for all of them together, since a
    person's weights in all parts and groups sum to at most what they may weigh:
    :mod:`headcount.bounds.scores.quantile_scores`.

    *All levels* follow one after the other, each with its own part of the grant, and these sum to ε.

How far off they are
    Of K candidates, one that is off by more than R = (ln K + t) · scale is chosen with a probability of at most
    e^-t: one that is not off at all is there, and each other stays with probability e^(-off / scale) if it is
    asked. That holds for rows as well, and each quantile of a row is off by no more than max(p, 1 - p) times what
    the row is, p being the share that it seeks. A point that is divided is off by the mean of two ranks, that of
    all it holds and that of where it is divided. The first is no more than the second, so no more than R, and the
    second no more than 2 R. Where a part is divided moves what is sought on both sides by a mean of such errors at
    most. All together make the ranks that are released beside each value, with t such that all errors on the way
    hold together. Not in them is that a cell is divided into no more than ``POSITIONS_PER_CELL``: where one value
    holds a share w of all records, ranks of more than ``AT_ONCE`` quantiles can be off by w / 16 more.

Departures from the paper
    Records are weighed, and not drawn, so that whoever has many counts with all of them. Points are those of a
    public grid, and chosen by permute-and-flip, or several at once. Cells that hold many equal values are divided
    where that matters. Levels get parts of ε in proportion to the root of what their errors come to at equal
    parts.

Reference
    H. Kaplan, S. Schnapp, U. Stemmer. Differentially Private Approximate Quantiles. ICML 2022.
    A. Smith. Privacy-Preserving Statistical Estimation with Optimal Convergence Rates. STOC 2011.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Floats, Integers
from headcount.accounting.budget import Cost, Grant
from headcount.bounds import Bounded
from headcount.bounds.scores.quantile_scores import (
    POSITIONS_PER_CELL,
    QuantilePart,
    QuantileRow,
    quantile_scores,
)
from headcount.bounds.values.user_totals import FixedRange
from headcount.bounds.values.value_histograms import ValueGrid
from headcount.methods.totals import QUANTILES
from headcount.methods.totals.quantile_targets import WHOLE
from headcount.noise import NoiseSource
from headcount.noise.selection.exponential_parallel import choose_in_parallel
from headcount.noise.stages import Stage, Stages, normalize_split, split_among_stages

_STEPS = 1024  # of a grid, at most

MOST_CELLS = _STEPS + 1
"""How many points there are, at most."""


AT_ONCE = 4
"""How many quantiles are chosen at once, at most: the more there are, the longer it takes to draw a row."""


class Split(NamedTuple):
    """Quantiles ``chosen`` at once between ``low`` and ``high``: those next to them of levels before."""

    chosen: tuple[int, ...]
    low: int
    high: int

    @property
    def divides(self) -> bool:
        """Whether others are chosen beside it later."""
        return self.high - self.low > len(self.chosen) + 1


@dataclass(frozen=True)
class Points:
    """The points of a grid between two ends: each value counts at the point next to it.

    >>> points = Points.spanning(FixedRange(1, 5, 1))
    >>> points.steps, points.values[[0, 512, 1024]].tolist(), points.grid.size
    (1024, [1.0, 3.0, 5.0], 1025)
    >>> Points.spanning(FixedRange(0, 100, 1)).steps
    1000
    """

    low: float
    high: float
    steps: int

    @classmethod
    def spanning(cls, within: FixedRange) -> Points:
        """Return as many points as there may be; where whole numbers can be among them, they are."""
        low, high, unit = within.low, within.high, within.unit
        whole = (high - low) // unit if low % unit == high % unit == 0 else 0
        steps = whole * (_STEPS // whole) if 0 < whole <= _STEPS else _STEPS
        return cls(low / unit, high / unit, steps)

    @property
    def values(self) -> Floats:
        """The points."""
        return np.linspace(self.low, self.high, self.steps + 1)

    @property
    def grid(self) -> ValueGrid:
        """The cells around the points."""
        values = self.values
        return ValueGrid(tuple(((values[1:] + values[:-1]) / 2).tolist()))


def levels(many: int) -> list[list[Split]]:
    """Return which quantiles are chosen at each level.

    >>> [[split.chosen for split in level] for level in levels(3)]
    [[(0, 1, 2)]]
    >>> [[split.chosen for split in level] for level in levels(7)]
    [[(3,)], [(0, 1, 2), (4, 5, 6)]]
    """
    splits_by_level, gaps = list[list[Split]](), [(-1, many)]
    while gaps:
        splits_by_level.append([_split(low, high) for low, high in gaps])
        both = [
            gap
            for split in splits_by_level[-1]
            if split.divides
            for gap in ((split.low, split.chosen[0]), (split.chosen[0], split.high))
        ]
        gaps = [(low, high) for low, high in both if high - low > 1]
    return splits_by_level


def _split(low: int, high: int) -> Split:
    between = range(low + 1, high)
    return Split(tuple(between) if len(between) <= AT_ONCE else ((low + high) // 2,), low, high)


def level_stages(targets: Sequence[int]) -> Stages:
    """Return a stage for each level, with its share.

    >>> [(stage.name, round(stage.share, 3)) for stage in level_stages((100, 250, 500, 750, 900))]
    [('level 1', Decimal('0.305')), ('level 2', Decimal('0.695'))]
    """
    stages = []
    for number, level in enumerate(levels(len(targets)), 1):
        error = sum(_weight_sensitivity(split, at, targets) for split in level for at in split.chosen)
        stages.append(Stage(f"level {number}", Decimal(f"{math.sqrt(error):.6f}")))
    return normalize_split(stages)


def _ends(split: Split, targets: Sequence[int]) -> tuple[int, int]:
    """Return the shares that a split lies between."""
    low = 0 if split.low < 0 else targets[split.low]
    return low, WHOLE if split.high == len(targets) else targets[split.high]


def _weight_sensitivity(split: Split, at: int, targets: Sequence[int]) -> float:
    """Return by how much one person moves two positions of a quantile differently, at most, in their weight."""
    low, high = _ends(split, targets)
    return 2 * max(targets[at] - low, high - targets[at]) / (high - low)


def choose_quantiles(weights: Bounded, targets: Sequence[int], grant: Grant, source: NoiseSource) -> Integers:
    """Spend the grant, level by level; return the cell of each quantile of each group.

    What lies between two quantiles that came out at the same position is chosen there, too.
    """
    groups, cells = weights.shape
    chosen = np.zeros((groups, len(targets) + 2), dtype=np.int64)  # with both ends, which are no quantiles
    chosen[:, -1] = cells * POSITIONS_PER_CELL
    grants = split_among_stages(level_stages(targets), grant)
    for level, own in zip(levels(len(targets)), grants.values(), strict=True):
        parts = [
            (group, split, _part(group, split, targets, chosen[group]))
            for group in range(groups)
            for split in level
        ]
        for group, split, part in parts:
            chosen[group, _places(split)] = part.first
        parts = [entry for entry in parts if entry[2].first < entry[2].last]
        choices = choose_in_parallel(quantile_scores(weights, [part for _, _, part in parts]), own, source)
        for (group, split, part), choice in zip(parts, choices, strict=True):
            chosen[group, _places(split)] = part.positions(choice)
    return np.asarray(chosen[:, 1:-1] // POSITIONS_PER_CELL)


def _places(split: Split) -> slice:
    """Return where the quantiles of a split stand, behind the lower end."""
    return slice(split.chosen[0] + 1, split.chosen[-1] + 2)


def _part(group: int, split: Split, targets: Sequence[int], chosen: Integers) -> QuantilePart | QuantileRow:
    low, high = _ends(split, targets)
    own = group, int(chosen[split.low + 1]), int(chosen[split.high + 1])
    below = tuple(targets[at] - low for at in split.chosen)
    return (
        QuantilePart(*own, below[0], high - low, split.divides)
        if len(below) == 1
        else QuantileRow(*own, below, high - low)
    )


def max_rank_errors(targets: Sequence[int], most: float, cells: int, cost: Cost, risk: float) -> Floats:
    """Return how far the rank of each quantile can be from what was asked for, in records, but for a ``risk``.

    ``most`` is how many records one person may weigh. Each quantile holds by itself.

    >>> max_rank_errors((100, 500, 900), 1, 512, Cost.of("1"), 0.05).round(1).tolist()
    [35.9, 19.9, 35.9]
    """
    split_levels = levels(len(targets))
    costs = split_among_stages(level_stages(targets), cost).values()
    surely = math.log(len(split_levels) / risk)
    divided = dict.fromkeys((-1, len(targets)), 0.0)  # how far off it can be where a part was divided
    rank_errors = dict[int, float]()
    for level, own in zip(split_levels, costs, strict=True):
        for split in level:
            low, high = _ends(split, targets)
            many = (
                cells * POSITIONS_PER_CELL
                if split.divides
                else math.comb(cells + len(split.chosen) - 1, len(split.chosen))
            )
            for at in split.chosen:
                part = (targets[at] - low) / (high - low)
                carried = (1 - part) * divided[split.low] + part * divided[split.high]
                chosen = (
                    (math.log(many) + surely) * _weight_sensitivity(split, at, targets) * most / float(own.epsilon)
                )
                rank_errors[at], divided[at] = carried + chosen, carried + 2 * chosen
    return np.array([rank_errors[at] for at in range(len(targets))])


def quantile_table(
    names: Sequence[str | None], targets: Sequence[int], values: Floats, rank_errors: Floats, many: Floats
) -> pa.Table:
    """Return the quantiles of each group, with the ranks they may have if there are ``many`` records or more."""
    rows = [
        (name, at / WHOLE, value, *_ranks(at / WHOLE, far, least))
        for name, row, least in zip(names, values.tolist(), many.tolist(), strict=True)
        for at, value, far in zip(targets, row, rank_errors.tolist(), strict=True)
    ]
    kinds = (pa.string(), *[pa.float64()] * 4)
    columns = zip(QUANTILES.columns, zip(*rows, strict=True), kinds, strict=True)
    return pa.table({name: pa.array(column, kind) for name, column, kind in columns})


def _ranks(at: float, rank_error: float, many: float) -> tuple[float, float]:
    """Return between which ranks a value lies: anywhere, if there may be no more records than that.

    >>> _ranks(0.5, 30.0, 600.0), _ranks(0.5, 30.0, -4.0)
    ((0.45, 0.55), (0.0, 1.0))
    """
    return (
        (max(0.0, at - rank_error / many), min(1.0, at + rank_error / many)) if many > rank_error else (0.0, 1.0)
    )
