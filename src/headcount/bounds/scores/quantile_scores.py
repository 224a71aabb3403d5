"""Quantile scores: the distance of each histogram cell or position from a wanted rank, for disjoint parts.

Scores of several quantiles chosen jointly are in joint_quantile_scores.

Each cell of a histogram is divided into ``POSITIONS_PER_CELL`` of equal weight, so that a cell which holds many
records can be divided between what lies below a quantile and what lies above. A part is a run of positions of one
group; of its weight N, a share p / q is to lie below what is chosen. With B the weight of the part below a
position or a cell, and A that up to its end, max(0, q · B - p · N, p · N - q · A) is 0 where the quantile is,
which is somewhere, and else how far off it is, in 1 / q.

Where nothing more is chosen beside it, the candidates are cells, and their utility is minus that: whichever
record of the right cell it would be, the value is the same. Several quantiles of such a part are chosen at once,
as a row of cells: :mod:`headcount.bounds.scores.joint_quantile_scores`. Where the part is to be divided, the
candidates are positions, and their utility is minus the sum of both, how far off the cell is and how far the
position. If the position alone counted, cells around the right one would be chosen as often as its ends.

Why the spread holds
    A user who joins with weight x in the part adds something between 0 and x to B and to A, and x to N. So
    q · B - p · N changes by something between -p · x and (q - p) · x, and p · N - q · A by something between
    -(q - p) · x and p · x. Both lie within ± r · x for r = max(p, q - p), and so does their maximum with 0. So two
    cells are moved by at most 2 · r · x differently, and two positions, whose utility is a sum of two such, by
    4 · r · x.

    For each part that is told with X in place of x, X being all that one user may weigh. Parts do not overlap,
    so a user's weights in all of them sum to X at most: the spreads that one user causes, each as a share of
    what is told of its part, sum to 1 at most. That is the promise of :class:`ScoredTogether`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Integers
from headcount.bounds.bounded import SEAL, Bounded, Scored
from headcount.bounds.scores.joint_quantile_scores import ScoredJointly

POSITIONS_PER_CELL = 16
"""Into how many equal parts a cell is divided."""


class QuantilePart(NamedTuple):
    """Positions of a group, ``last`` excluded, and the share sought: ``below`` in ``denominator``.

    ``divides`` says that positions are candidates; else cells are, of which the first and the last may be parts.
    """

    group: int
    first: int
    last: int
    below: int
    denominator: int
    divides: bool = True

    def positions(self, chosen: Sequence[int]) -> tuple[int, ...]:
        """Return where what was chosen begins.

        >>> QuantilePart(0, 20, 60, 1, 2).positions([3])
        (23,)
        >>> QuantilePart(0, 20, 60, 1, 2, divides=False).positions([1])
        (32,)
        """
        return tuple(
            self.first + candidate if self.divides else _start(self.first, candidate) for candidate in chosen
        )


class QuantileRow(NamedTuple):
    """Positions of a group, ``last`` excluded, and the shares sought: ``below`` in ``denominator``.

    A row of their cells is to be chosen, one for each share; the first and the last cell may be parts.
    """

    group: int
    first: int
    last: int
    below: tuple[int, ...]
    denominator: int

    def positions(self, chosen: Sequence[int]) -> tuple[int, ...]:
        """Return where each cell that was chosen begins.

        >>> QuantileRow(0, 20, 60, (1, 2), 4).positions((0, 1))
        (20, 32)
        """
        return tuple(_start(self.first, first_cell) for first_cell in chosen)


def _start(first: int, cell: int) -> int:
    """Return where a cell of a part begins; the first may be cut."""
    return max(first, (first // POSITIONS_PER_CELL + cell) * POSITIONS_PER_CELL)


class ScoredTogether:
    """Candidates of several parts, one of each to be chosen: made by scores, for noise to choose from.

    One user's spreads, each as a share of the spread that a part tells, sum to 1 at most over all parts. So one
    grant pays for a choice in each.
    """

    __slots__ = ("_parts",)

    def __init__(self, parts: tuple[Scored | ScoredJointly, ...], seal: object) -> None:
        if seal is not SEAL:
            raise TypeError("Scored candidates are made by headcount.bounds alone")
        self._parts = parts

    @property
    def parts(self) -> tuple[Scored | ScoredJointly, ...]:
        """The candidates of each part."""
        return self._parts

    def __repr__(self) -> str:
        return f"<ScoredTogether {len(self._parts)} parts>"


def quantile_scores(weights: Bounded, parts: Sequence[QuantilePart | QuantileRow]) -> ScoredTogether:
    """Weigh the candidates of each part by how far they are from the shares that are sought.

    >>> from headcount.bounds.bounded import Sensitivity
    >>> weights = Bounded(np.array([[0, 3, 0, 1]]), Sensitivity.of_l1(1), SEAL)
    >>> made = quantile_scores(weights, [QuantilePart(0, 0, 4 * POSITIONS_PER_CELL, 1, 2)])
    >>> np.flatnonzero(made.parts[0].sensitive_gaps == 0) / POSITIONS_PER_CELL, made.parts[0].spread
    (array([1.625]), 64)
    >>> made = quantile_scores(weights, [QuantilePart(0, 0, 4 * POSITIONS_PER_CELL, 1, 2, divides=False)])
    >>> made.parts[0].sensitive_gaps.tolist(), made.parts[0].spread
    ([64, 0, 32, 32], 32)
    >>> made = quantile_scores(weights, [QuantileRow(0, 0, 4 * POSITIONS_PER_CELL, (1, 3), 4)]).parts[0]
    >>> made, made.sensitive_gap_of_row((1, 1)), made.sensitive_gap_of_row((0, 2))
    (<ScoredJointly 10 rows, spread 128>, Fraction(0, 1), Fraction(128, 1))
    """
    if type(weights) is not Bounded or len(weights.shape) != 2:
        raise TypeError("ranks are of a Bounded histogram of each group alone")
    if not _are_disjoint(parts, weights.shape[1] * POSITIONS_PER_CELL):
        raise ValueError("parts must lie within their groups, and must not overlap")
    most = POSITIONS_PER_CELL * weights.sensitivity.l1
    return ScoredTogether(
        tuple(_score_part(weights.sensitive_values[part.group], part, most) for part in parts), SEAL
    )


def _score_part(cells: Integers, part: QuantilePart | QuantileRow, most: int) -> Scored | ScoredJointly:
    return _score_row(cells, part, most) if isinstance(part, QuantileRow) else _score_single(cells, part, most)


def _score_single(cells: Integers, part: QuantilePart, most: int) -> Scored:
    common = math.gcd(part.below, part.denominator)
    below, denominator = part.below // common, part.denominator // common
    up_to = _up_to(cells, part)
    many = up_to.size - 1

    def distance_of(starts: Integers) -> Integers:
        """Return how far what begins there, and ends where the next one begins, is off."""
        before, sought = denominator * up_to[starts], below * up_to[-1]
        after = denominator * up_to[np.append(starts[1:], many)]
        return np.asarray(np.maximum(np.maximum(before - sought, sought - after), 0))

    spread = 2 * max(below, denominator - below) * most
    firsts = _firsts(part)
    if not part.divides:
        return Scored(-distance_of(firsts), spread, SEAL)
    of_cells = np.repeat(distance_of(firsts), np.diff(np.append(firsts, many)))
    return Scored(-distance_of(np.arange(many)) - of_cells, 2 * spread, SEAL)


def _score_row(cells: Integers, part: QuantileRow, most: int) -> ScoredJointly:
    common = math.gcd(*part.below, part.denominator)
    shares = tuple(numerator // common for numerator in part.below), part.denominator // common
    ends = np.append(_firsts(part), part.last - part.first)
    return ScoredJointly(_up_to(cells, part)[ends], shares, most, SEAL)


def _up_to(cells: Integers, part: QuantilePart | QuantileRow) -> Integers:
    """Return the weight of a part before each of its positions, and at last all of it."""
    within = np.repeat(cells, POSITIONS_PER_CELL)[part.first : part.last]
    return np.concatenate([[0], np.cumsum(within)])


def _firsts(part: QuantilePart | QuantileRow) -> Integers:
    """Return where the cells of a part begin, counted from its first position."""
    return np.append(
        0,
        np.arange(
            POSITIONS_PER_CELL - part.first % POSITIONS_PER_CELL, part.last - part.first, POSITIONS_PER_CELL
        ),
    )


def _are_disjoint(parts: Sequence[QuantilePart | QuantileRow], positions: int) -> bool:
    """Say whether parts are sound, and share no position."""
    ordered = sorted(parts, key=lambda part: part[:3])
    sound = all(0 <= part.first < part.last <= positions and _is_rising(part) for part in ordered)
    return sound and all(
        earlier.group != later.group or earlier.last <= later.first
        for earlier, later in itertools.pairwise(ordered)
    )


def _is_rising(part: QuantilePart | QuantileRow) -> bool:
    """Say whether the shares that are sought rise, from more than nothing to less than all."""
    below = part.below if isinstance(part, QuantileRow) else (part.below,)
    return len(below) > 0 and all(
        lower < upper for lower, upper in itertools.pairwise((0, *below, part.denominator))
    )
