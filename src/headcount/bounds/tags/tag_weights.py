"""Weights of tags, resources and tag pairs; the weights of one user have length 1 in L1 or L2.

However much a person tagged, their weights together have a length of 1: in L2 each of n things weighs 1/√n, in L1
each weighs 1/n. So everybody counts with all they did, and nothing is drawn. Weights are whole multiples of 2^-16,
rounded down, so that no rounding lengthens them; a person who leaves takes exactly their own weights away.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headcount._internal.arrays import Floats, Integers
from headcount.bounds.bound import FIXED_POINT, Bound, Norm
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity, root_above
from headcount.events.encode.passes import Reading
from headcount.events.log import EventLog
from headcount.events.tag_log import TagLog

TAG_PAIR_WEIGHT = FIXED_POINT // 2
"""What a person's pairs of tags weigh beside their tagged resources: half, and noise grows by an eighth."""


class TagBound(Bound[Bounded], ABC):
    """What people tagged, each assignment once; nothing is drawn."""

    draws: ClassVar[bool] = False

    def reading(self, log: EventLog) -> Reading:  # noqa: ARG002
        """Listed resources with listed tags."""
        return Reading("listed", "required")

    @abstractmethod
    def sensitivity(self, log: TagLog) -> Sensitivity:
        """Return how far one person can move the weights, in their units."""


@dataclass(frozen=True)
class Taggers(TagBound):
    """Each person once who tagged anything."""

    def sensitivity(self, log: TagLog) -> Sensitivity:  # noqa: ARG002
        """One person is one."""
        return Sensitivity(1, 1, 1)


@dataclass(frozen=True)
class TagWeights(TagBound):
    """What each tag weighs to the people who used it: n different tags of a person have length 1."""

    norm: Norm

    def sensitivity(self, log: TagLog) -> Sensitivity:
        """Return how far one person can move the weights."""
        return _unit_length_sensitivity(len(log.vocabulary.ids), self.norm)


@dataclass(frozen=True)
class TagMarginals(TagBound):
    """What each tag weighs, and after them what each resource does: both of length 1 for each person.

    Side by side, L1 adds up, and so does the square of L2.
    """

    norm: Norm

    def sensitivity(self, log: TagLog) -> Sensitivity:
        """Return how far one person can move both."""
        tags, resources = len(log.vocabulary.ids), len(log.catalogue.ids)
        return _add_sensitivities(
            _unit_length_sensitivity(tags, self.norm), _unit_length_sensitivity(resources, self.norm)
        )


@dataclass(frozen=True, eq=False)
class TagPairs(TagBound):
    """What each tag on each resource weighs, for some public resources and tags, row by row.

    In L2 there follow the weights of tags together: of a person with n of the tags, x xᵀ / n for their 0/1 vector
    x, the upper triangle with what is off the diagonal multiplied by √2. That has the length of the whole matrix,
    which is 1; here it is ``TAG_PAIR_WEIGHT``.
    """

    resources: Integers
    tags: Integers
    norm: Norm

    def sensitivity(self, log: TagLog) -> Sensitivity:  # noqa: ARG002
        """Return how far one person can move the weights, whichever resources and tags they are of."""
        pairs_sensitivity = _unit_length_sensitivity(self.resources.size * self.tags.size, self.norm)
        if self.norm == "l1":
            return pairs_sensitivity
        entries = self.tags.size * (self.tags.size + 1) // 2
        return _add_sensitivities(
            pairs_sensitivity,
            Sensitivity(root_above(TAG_PAIR_WEIGHT**2 * entries), TAG_PAIR_WEIGHT**2, TAG_PAIR_WEIGHT),
        )


def seal_tag_weights(bound: TagBound, log: TagLog, sums: Integers) -> Bounded:
    """Turn an engine's sums into bounded values.

    >>> log = TagLog.listing([], resources=["film"], vocabulary=["funny", "sad", "dull", "odd"])
    >>> seal_tag_weights(TagWeights("l2"), log, np.zeros(4, np.int64)).sensitivity
    Sensitivity(l1=131072, l2_squared=4294967296, linf=65536)
    """
    unit = 1 if isinstance(bound, Taggers) else FIXED_POINT
    return Bounded(sums, bound.sensitivity(log), SEAL, unit=unit)


def to_symmetric_matrix(triangle: Floats, size: int) -> Floats:
    """Lay the released weights of tags together out as a symmetric matrix, with all factors undone.

    >>> to_symmetric_matrix(np.array([1.0, 2.0, 3.0]), 2).round(3).tolist()
    [[2.0, 2.828], [2.828, 6.0]]
    """
    matrix, (rows, columns) = np.zeros((size, size)), np.triu_indices(size)
    matrix[rows, columns] = (
        triangle / np.where(rows == columns, 1.0, math.sqrt(2)) * (FIXED_POINT / TAG_PAIR_WEIGHT)
    )
    return np.asarray(matrix + np.triu(matrix, 1).T)


def _unit_length_sensitivity(size: int, norm: Norm) -> Sensitivity:
    """How far weights of length 1 over ``size`` places can move them: in L1 at most √size times their L2."""
    if norm == "l1":
        return Sensitivity(FIXED_POINT, FIXED_POINT**2, FIXED_POINT)
    return Sensitivity(root_above(FIXED_POINT**2 * size), FIXED_POINT**2, FIXED_POINT)


def _add_sensitivities(first: Sensitivity, second: Sensitivity) -> Sensitivity:
    return Sensitivity(first.l1 + second.l1, first.l2_squared + second.l2_squared, max(first.linf, second.linf))
