"""Joint scores for several quantiles of one histogram: candidates are rows of cells, one per quantile.

Scores of single quantiles are in quantile_scores.

Of the weight N of a part, shares p_1 < … < p_m are to lie below what is chosen: a row of cells t_1 <= … <= t_m. A
cell may be cut anywhere, so the weight below the j-th quantile is some y_j between what lies before t_j and what
lies up to its end, with y_1 <= … <= y_m. If y - p · N is 0 for one such y, the row is right. Else it is as far
off as

    u(t) = max over f in F of  min over y of  Σ_j f_j · (y_j - p_j · N),

with a finite set F of directions, chosen such that one user with the weight x moves u by no more than x.

Why the spread holds
    A user in cell c moves y - p · N by x times one of m + 1 *steps*: those quantiles that lie at c or beyond
    rise by 1 - p_j, and those below it fall by p_j. Let all f in F have -1 <= f · s <= 1 for every step s.

    *Joining.* Let the user bring x_c to cell c, x = Σ x_c in all. From any y without the user, y'_j = y_j + Σ
    x_c over c <= t_j is one with the user: it lies between the new ends, and in order. y' - p · N' is y - p · N
    and Σ_c x_c times a step.

    *Leaving.* From any y' with the user, y_j = min(y'_j - Σ x_c over c < t_j, what lies up to the end of t_j
    without the user) is one without: it lies between the ends, and in order. It is less than y'_j by something
    between Σ x_c over c < t_j and Σ x_c over c <= t_j, within one cell the more the larger y'_j is: by something
    between 0 and x that never falls from one j to the next. So it is x times a mean of rows of zeros followed by
    ones, and again y - p · N moves by x times a mean of steps.

    So for each f the minimum over y moves by x at most, and so does the maximum of these over F. Two rows are
    moved by at most 2 · x differently. Parts do not overlap, so over all of them that is 2 · X at most, if X is
    what one user may weigh, which is what :class:`~headcount.bounds.ScoredTogether` promises.

Which directions
    1. The sharpest there are. Let σ give a number between -1 and 1 to each of the m + 1 gaps between quantiles, of
       shares d_i, with Σ σ_i d_i = 0, and let f_j = σ_j - σ_{j+1}. Then f · s = σ_i for the step of a user in
       gap i. Those with all σ_i but one at ±1 are the corners of all f that are allowed. Where no cell holds much,
       their maximum is the norm whose ball is the smallest that holds all steps and their opposites.
    2. Each quantile by itself, f_j = ±1 / max(p_j, 1 - p_j): so that u tells how far each of them is off.
    3. All with f_j = 0 or ±w, for the largest w that is allowed. They tell that u is at least w times the sum of
       how far off the quantiles are one by one. Rows are drawn by that sum, and then thinned out:
       :mod:`headcount.noise.selection.exponential_joint`.

Reference
    M. Hardt, K. Talwar. On the Geometry of Differential Privacy. STOC 2010, for such norms.
    J. Gillenwater, M. Joseph, A. Kulesza. Differentially Private Quantiles. ICML 2021, for choosing several at
    once; there the weight in each gap counts by itself, and how many records there are is known.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Integers
from headcount.bounds.bounded import MAX_GAP, SEAL

Direction = tuple[Fraction, ...]


class Directions(NamedTuple):
    """All directions, in whole multiples of 1 / ``unit``, and the w of the third kind."""

    rows: tuple[tuple[int, ...], ...]
    unit: int
    even_weight: Fraction


class ScoredJointly:
    """Rows of cells, one of which is to be chosen: made by scores, for noise to choose from.

    ``spread`` is how differently one user can move two rows. How far each cell is from holding each quantile by
    itself is kept as well (``sensitive_singles``): a row is at least ``even_weight`` times the sum of these off.
    """

    __slots__ = ("_ends", "_singles", "_spread", "_target_shares")

    def __init__(self, up_to: Integers, shares: tuple[tuple[int, ...], int], most: int, seal: object) -> None:
        if seal is not SEAL:
            raise TypeError("Scored candidates are made by headcount.bounds alone")
        below, denominator = shares
        ends = [denominator * up_to - column * int(up_to[-1]) for column in below]
        self._target_shares, self._spread = shares, 2 * denominator * most
        self._ends = [column.tolist() for column in ends]
        gaps = [np.maximum(np.maximum(column[:-1], -column[1:]), 0) for column in ends]
        self._singles = tuple(np.minimum(column, MAX_GAP).astype(np.int32) for column in gaps)

    @property
    def spread(self) -> int:
        """How differently one user can move two rows."""
        return self._spread

    @property
    def even_weight(self) -> Fraction:
        """How much the sum of what single cells are off counts at least."""
        return directions(*self._target_shares).even_weight

    @property
    def size(self) -> int:
        """How many rows there are, which is public."""
        return math.comb(self._singles[0].size + len(self._singles) - 1, len(self._singles))

    @property
    def sensitive_singles(self) -> tuple[NDArray[np.int32], ...]:
        """How far each cell is from each quantile by itself: for the noise layer, and for tests."""
        return self._singles

    def sensitive_gap_of_row(self, row: Sequence[int]) -> Fraction:
        """Return how far off a row of cells in order is: for the noise layer, and for tests."""
        if list(row) != sorted(row):
            raise ValueError("cells must be in order")
        candidates = directions(*self._target_shares)
        corners = self._corners(row)
        best = max(
            min(sum(f * y for f, y in zip(direction, corner, strict=True)) for corner in corners)
            for direction in candidates.rows
        )
        return Fraction(best, candidates.unit)

    def _corners(self, row: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the corners of where y can lie: of quantiles in one cell, the later ones are at its end."""
        runs, at = list[list[tuple[int, ...]]](), 0
        for cell, same in itertools.groupby(row):
            places = range(at, at := at + len(list(same)))
            runs.append(
                [
                    tuple(self._ends[place][cell + (place >= first)] for place in places)
                    for first in (*places, places.stop)
                ]
            )
        return [tuple(itertools.chain.from_iterable(corners)) for corners in itertools.product(*runs)]

    def __repr__(self) -> str:
        return f"<ScoredJointly {self.size} rows, spread {self.spread}>"


@lru_cache(maxsize=256)
def directions(below: tuple[int, ...], denominator: int) -> Directions:
    """Return all directions for shares ``below`` / ``denominator``.

    >>> directions((1,), 2)
    Directions(rows=((-2,), (0,), (2,)), unit=1, even_weight=Fraction(2, 1))
    >>> made = directions((1, 5, 9), 10)
    >>> len(made.rows), made.even_weight, max(made.rows)
    (39, Fraction(2, 3), (36, -27, -9))
    """
    evenly = 1 / max(sum(map(abs, step), Fraction(0)) for step in user_steps(below, denominator))
    alone = [
        tuple(
            sign * Fraction(denominator, max(numerator, denominator - numerator)) * (numerator == other)
            for other in below
        )
        for numerator in below
        for sign in (-1, 1)
    ]
    even = itertools.product((-evenly, Fraction(0), evenly), repeat=len(below))
    distinct_directions = sorted({*_extreme_directions(below, denominator), *alone, *even})
    unit = math.lcm(*(part.denominator for numerator in distinct_directions for part in numerator))
    return Directions(
        tuple(tuple(int(part * unit) for part in numerator) for numerator in distinct_directions), unit, evenly
    )


def user_steps(below: tuple[int, ...], denominator: int) -> list[Direction]:
    """Return how one user moves all quantiles, for each gap they can be in, the lowest first.

    >>> [[str(part) for part in each] for each in user_steps((1, 3), 4)]
    [['3/4', '1/4'], ['-1/4', '1/4'], ['-1/4', '-3/4']]
    """
    shares = [Fraction(numerator, denominator) for numerator in below]
    return [tuple((place >= gap) - share for place, share in enumerate(shares)) for gap in range(len(shares) + 1)]


def _extreme_directions(below: tuple[int, ...], denominator: int) -> list[Direction]:
    """Return the corners of all directions that are allowed."""
    gaps, corners = np.diff((0, *below, denominator)).tolist(), list[Direction]()
    for free in range(len(gaps)):
        for signs in itertools.product((-1, 1), repeat=len(gaps) - 1):
            fixed = (*signs[:free], 0, *signs[free:])
            rest = -Fraction(sum(sign * gap for sign, gap in zip(fixed, gaps, strict=True)), gaps[free])
            if abs(rest) <= 1:
                sigma = [Fraction(sign) if place != free else rest for place, sign in enumerate(fixed)]
                corners.append(tuple(value - following for value, following in itertools.pairwise(sigma)))
    return corners
