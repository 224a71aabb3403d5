"""Exact sensitivity of the scores of joint quantile choices, for generated quantile levels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from headcount.bounds import Scored
from headcount.bounds.scores.joint_quantile_scores import ScoredJointly, directions
from headcount.bounds.scores.quantile_scores import (
    POSITIONS_PER_CELL,
    QuantilePart,
    QuantileRow,
    quantile_scores,
)
from headcount.bounds.values.value_histograms import UserValues, ValueGrid

Shares = tuple[tuple[int, ...], int]

UNIT = UserValues(1).most
"""The weight of one user."""

SKEWED: Sequence[Shares] = (
    ((7, 8, 9), 10), ((1, 2, 3), 10), ((8, 9), 10), ((1, 2), 10), ((95, 98, 99), 100), ((1, 2, 5), 100),
    ((1, 98, 99), 100), ((9,), 10), ((1,), 10),
)  # fmt: skip
"""Quantiles that are all high, all low, or mixed: there the steps of one user have very different lengths."""


def share_sets() -> Iterator[Shares]:
    """Yield the skewed sets, and all sets of up to three shares with small denominators."""
    yield from SKEWED
    for denominator in range(2, 7):
        for many in range(1, min(denominator, 4)):
            yield from ((below, denominator) for below in itertools.combinations(range(1, denominator), many))


def steps_of(below: Sequence[int], denominator: int) -> list[list[Fraction]]:
    """Return the distances that one user of weight 1 adds to all quantiles, for each gap between them.

    The weight of the part grows by 1 and so does the goal of each quantile, by its share. A quantile at or above
    the user also has that weight below it.
    """
    gaps = range(len(below) + 1)
    return [
        [int(place >= gap) - Fraction(share, denominator) for place, share in enumerate(below)] for gap in gaps
    ]


def check_directions() -> None:
    """No user moves any direction by more than their weight, and some user moves some direction by all of it."""
    for below, denominator in share_sets():
        computed = directions(below, denominator)
        rows = [[Fraction(coefficient, computed.unit) for coefficient in row] for row in computed.rows]
        reach = [
            max(abs(sum((f * s for f, s in zip(row, step, strict=True)), Fraction(0))) for row in rows)
            for step in steps_of(below, denominator)
        ]
        assert max(reach) == 1, (
            f"quantiles {below} / {denominator}: a user of weight 1 moves a direction by {float(max(reach)):.3f}, "
            f"not by 1"
        )
        evenly = itertools.product((-computed.even_weight, Fraction(0), computed.even_weight), repeat=len(below))
        assert {tuple(row) for row in evenly} <= {tuple(row) for row in rows}


def check_choices() -> None:
    """The exact scores of all candidates, with one user and without: no two move further apart than declared.

    A declared spread that no user nearly reaches would mean more noise than necessary.
    """
    for below, denominator in SKEWED:
        candidates = (
            [QuantileRow(0, 0, 3 * POSITIONS_PER_CELL, below, denominator)]
            if len(below) > 1
            else _parts(below[0], denominator)
        )
        for part in candidates:
            nearest = Fraction(0)
            for before in ([0, 0, 0], [9, 0, 1], [1, 1, 40]):
                exact = [UNIT * count for count in before]
                for cell in range(3):
                    joined = [weight + UNIT * (place == cell) for place, weight in enumerate(exact)]
                    scored_before, other = _scored(exact, part), _scored(joined, part)
                    assert scored_before.spread == other.spread
                    moved = [a - b for a, b in zip(_offs(scored_before), _offs(other), strict=True)]
                    nearest = max(nearest, Fraction(max(moved) - min(moved)) / scored_before.spread)
                    assert nearest <= 1, (
                        f"{part}: one user moves two candidates {float(nearest):.3f} of the declared spread apart"
                    )
            assert nearest >= Fraction(1, 5), f"{part}: no user moves more than {float(nearest):.3f} of the spread"


def _parts(below: int, denominator: int) -> list[QuantilePart | QuantileRow]:
    return [QuantilePart(0, 0, 3 * POSITIONS_PER_CELL, below, denominator, divides) for divides in (False, True)]


def _scored(exact: Sequence[int], part: QuantilePart | QuantileRow) -> Scored | ScoredJointly:
    weights = UserValues(1, ValueGrid((1.0, 2.0))).seal(np.array([exact]))
    return quantile_scores(weights, [part]).parts[0]


def _offs(scored: Scored | ScoredJointly) -> list[Fraction | int]:
    """Return how far off each candidate is; of a joint choice, the sum over its cells must not exceed it."""
    if isinstance(scored, Scored):
        gaps: list[Fraction | int] = scored.sensitive_gaps.tolist()
        return gaps
    singles, offs = scored.sensitive_singles, list[Fraction | int]()
    for row in itertools.combinations_with_replacement(range(3), len(singles)):
        offs.append(scored.sensitive_gap_of_row(row))
        alone = sum(int(single[cell]) for single, cell in zip(singles, row, strict=True))
        assert offs[-1] >= scored.even_weight * alone, (
            f"{row} is less off than its cells: noise.jointly cannot draw it"
        )
    return offs
