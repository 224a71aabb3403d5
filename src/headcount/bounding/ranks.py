"""Scores of values by rank: how far each cell of a histogram is from holding a quantile, for many parts at once.

Each cell of a histogram is divided into ``POSITIONS`` of equal weight, so that a cell which holds many records can
be divided between what lies below a quantile and what lies above. A part is a run of positions of one group; of
its weight N, a share p / q is to lie below what is chosen. With B the weight of the part below a position or a
cell, and A that up to its end, max(0, q · B - p · N, p · N - q · A) is 0 where the quantile is, which is
somewhere, and else how far off it is, in 1 / q.

Where nothing more is chosen beside it, the candidates are cells, and their utility is minus that: whichever
record of the right cell it would be, the value is the same. Where the part is to be divided, the candidates are
positions, and their utility is minus the sum of both, how far off the cell is and how far the position. If the
position alone counted, cells around the right one would be chosen as often as its ends.

Why the spread holds
    A person who joins with weight x in the part adds something between 0 and x to B and to A, and x to N. So
    q · B - p · N changes by something between -p · x and (q - p) · x, and p · N - q · A by something between
    -(q - p) · x and p · x. Both lie within ± r · x for r = max(p, q - p), and so does their maximum with 0. So two
    cells are moved by at most 2 · r · x differently, and two positions, whose utility is a sum of two such, by
    4 · r · x.

    For each part that is told with X in place of x, X being all that one person may weigh. Parts do not overlap,
    so a person's weights in all of them sum to X at most: the spreads that one person causes, each as a share of
    what is told of its part, sum to 1 at most. That is the promise of :class:`ScoredTogether`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headcount.arrays import Integers
from headcount.bounding.bounded import SEAL, Bounded, Scored

POSITIONS = 16
"""Into how many equal parts a cell is divided."""


class Part(NamedTuple):
    """Positions of a group, ``last`` excluded, and which share of their weight is sought: ``below`` in ``of``.

    ``divides`` says that positions are candidates; else cells are, of which the first and the last may be parts.
    """

    group: int
    first: int
    last: int
    below: int
    of: int
    divides: bool = True

    def position(self, candidate: int) -> int:
        """Return where a candidate begins.

        >>> Part(0, 20, 60, 1, 2).position(3), [Part(0, 20, 60, 1, 2, divides=False).position(n) for n in (0, 1)]
        (23, [20, 32])
        """
        if self.divides:
            return self.first + candidate
        return max(self.first, (self.first // POSITIONS + candidate) * POSITIONS)


class ScoredTogether:
    """Candidates of several parts, one of each to be chosen: made by scores, for noise to choose from.

    One person's spreads, each as a share of the spread that a part tells, sum to 1 at most over all parts. So one
    grant pays for a choice in each.
    """

    __slots__ = ("_parts",)

    def __init__(self, parts: tuple[Scored, ...], seal: object) -> None:
        if seal is not SEAL:
            raise TypeError("Scored candidates are made by headcount.bounding alone")
        self._parts = parts

    @property
    def parts(self) -> tuple[Scored, ...]:
        """The candidates of each part."""
        return self._parts

    def __repr__(self) -> str:
        return f"<ScoredTogether {len(self._parts)} parts>"


def rank_scores(weights: Bounded, parts: Sequence[Part]) -> ScoredTogether:
    """Weigh the candidates of each part by how far they are from the share that is sought.

    >>> from headcount.bounding.bounded import Sensitivity
    >>> weights = Bounded(np.array([[0, 3, 0, 1]]), Sensitivity.of_l1(1), SEAL)
    >>> made = rank_scores(weights, [Part(0, 0, 4 * POSITIONS, 1, 2)])
    >>> np.flatnonzero(made.parts[0].sensitive_gaps == 0) / POSITIONS, made.parts[0].spread
    (array([1.625]), 64)
    >>> made = rank_scores(weights, [Part(0, 0, 4 * POSITIONS, 1, 2, divides=False)])
    >>> made.parts[0].sensitive_gaps.tolist(), made.parts[0].spread
    ([64, 0, 32, 32], 32)
    """
    if type(weights) is not Bounded or len(weights.shape) != 2:
        raise TypeError("ranks are of a Bounded histogram of each group alone")
    if not _apart(parts, weights.shape[1] * POSITIONS):
        raise ValueError("parts must lie within their groups, and must not overlap")
    most = POSITIONS * weights.sensitivity.l1
    return ScoredTogether(tuple(_scored(weights.sensitive_values[part.group], part, most) for part in parts), SEAL)


def _scored(cells: Integers, part: Part, most: int) -> Scored:
    common = math.gcd(part.below, part.of)
    below, of = part.below // common, part.of // common
    within = np.repeat(cells, POSITIONS)[part.first : part.last]
    up_to = np.concatenate([[0], np.cumsum(within)])
    many = within.size

    def off(starts: Integers) -> Integers:
        """Return how far what begins there, and ends where the next one begins, is off."""
        before, sought = of * up_to[starts], below * up_to[-1]
        after = of * up_to[np.append(starts[1:], many)]
        return np.asarray(np.maximum(np.maximum(before - sought, sought - after), 0))

    spread = 2 * max(below, of - below) * most
    firsts = np.append(0, np.arange(POSITIONS - part.first % POSITIONS, many, POSITIONS))
    if not part.divides:
        return Scored(-off(firsts), spread, SEAL)
    of_cells = np.repeat(off(firsts), np.diff(np.append(firsts, many)))
    return Scored(-off(np.arange(many)) - of_cells, 2 * spread, SEAL)


def _apart(parts: Sequence[Part], positions: int) -> bool:
    """Say whether parts are sound, and share no position."""
    ordered = sorted(parts)
    sound = all(0 <= part.first < part.last <= positions and 0 < part.below < part.of for part in ordered)
    return sound and all(
        one.group != other.group or one.last <= other.first for one, other in itertools.pairwise(ordered)
    )
