"""Weights of tags, resources and tag pairs; the weights of one user have length 1 in L1 or L2.

However much a user tagged, their weights together have a length of 1: in L2 each of n things weighs 1/√n, in L1
each weighs 1/n. So everybody counts with all they did, and nothing is drawn. Weights are whole multiples of 2^-16,
rounded down, so that no rounding lengthens them; a user who leaves takes exactly their own weights away.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Codes, Floats, Integers
from headcount.bounds.bound import FIXED_POINT, Bound, Norm
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity
from headcount.bounds.engine_interface import Passes
from headcount.bounds.kernels.sort_rows import drop_equals
from headcount.bounds.tags.kernels import add_tag_pairs, add_weights, most_rows
from headcount.events.encode.passes import CodedBatch, Reading
from headcount.events.log import EventLog
from headcount.events.tag_log import Tagging, TagLog

TAG_PAIR_WEIGHT = FIXED_POINT // 2
"""What a user's pairs of tags weigh beside their tagged resources: half, and noise grows by an eighth."""


class TagBound(Bound[Bounded], ABC):
    """What users tagged, each assignment once; nothing is drawn."""

    draws: ClassVar[bool] = False
    unit: ClassVar[int] = FIXED_POINT

    def reading(self, log: EventLog) -> Reading:  # noqa: ARG002
        """Listed resources with listed tags."""
        return Reading("listed", "required")

    @abstractmethod
    def sensitivity(self, log: TagLog) -> Sensitivity:
        """Return how far one user can move the weights, in their units."""

    @abstractmethod
    def sums_of(self, tagging: Tagging) -> Integers:
        """Return the sums of what each user adds."""

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> Bounded:  # noqa: ARG002
        """Add up weights; assignments stay in memory between the stages of one release."""
        held = passes.cached(log, self.reading(log), lambda: tagging_of(passes, log))
        return self.seal(TagLog.of_log(log), self.sums_of(held))

    def seal(self, log: TagLog, sums: Integers) -> Bounded:
        """Turn sums into bounded values.

        >>> log = TagLog.listing([], resources=["film"], vocabulary=["funny", "sad", "dull", "odd"])
        >>> TagWeights("l2").seal(log, np.zeros(4, np.int64)).sensitivity
        Sensitivity(l1=131072, l2_squared=4294967296, linf=65536)
        """
        return Bounded(sums, self.sensitivity(log), SEAL, unit=self.unit)


@dataclass(frozen=True)
class Taggers(TagBound):
    """Each user once who tagged anything."""

    unit: ClassVar[int] = 1

    def sensitivity(self, log: TagLog) -> Sensitivity:  # noqa: ARG002
        """One user is one."""
        return Sensitivity(1, 1, 1)

    def sums_of(self, tagging: Tagging) -> Integers:
        """Count the users, whose rows lie together."""
        others = np.count_nonzero(tagging.user[1:] != tagging.user[:-1])
        return np.array([others + 1 if tagging.size else 0], dtype=np.int64)


@dataclass(frozen=True)
class TagWeights(TagBound):
    """What each tag weighs to the users who used it: n different tags of a user have length 1."""

    norm: Norm

    def sensitivity(self, log: TagLog) -> Sensitivity:
        """Return how far one user can move the weights."""
        return _unit_length_sensitivity(len(log.vocabulary.ids), self.norm)

    def sums_of(self, tagging: Tagging) -> Integers:
        """Add up the weights of tags, whatever the resource."""
        return _sum_tags(tagging, self.norm)


@dataclass(frozen=True)
class TagMarginals(TagBound):
    """What each tag weighs, and after them what each resource does: both of length 1 for each user."""

    norm: Norm

    def sensitivity(self, log: TagLog) -> Sensitivity:
        """Return how far one user can move both."""
        tags, resources = len(log.vocabulary.ids), len(log.catalogue.ids)
        moved_tags = _unit_length_sensitivity(tags, self.norm)
        return moved_tags.beside(_unit_length_sensitivity(resources, self.norm))

    def sums_of(self, tagging: Tagging) -> Integers:
        """Add up the weights of tags, and then those of resources.

        >>> many = Tagging.from_codes([0, 0, 1], [0, 1, 0], [0, 0, 1], people=2, resources=2, tags=2)
        >>> (TagMarginals("l1").sums_of(many) / 2**16).tolist()
        [1.0, 1.0, 1.5, 0.5]
        """
        places, nowhere = np.arange(tagging.resources, dtype=np.int32), np.zeros(tagging.tags, dtype=np.int32)
        resources = _sum_weights(tagging, places, nowhere, (tagging.resources, 1), self.norm)
        return np.concatenate([_sum_tags(tagging, self.norm), resources])


@dataclass(frozen=True, eq=False)
class TagPairs(TagBound):
    """What each tag on each resource weighs, for some public resources and tags, row by row.

    In L2 there follow the weights of tags together: of a user with n of the tags, x xᵀ / n for their 0/1 vector
    x, the upper triangle with what is off the diagonal multiplied by √2. That has the length of the whole matrix,
    which is 1; here it is ``TAG_PAIR_WEIGHT``.
    """

    resources: Integers
    tags: Integers
    norm: Norm

    def sensitivity(self, log: TagLog) -> Sensitivity:  # noqa: ARG002
        """Return how far one user can move the weights, whichever resources and tags they are of."""
        moved = _unit_length_sensitivity(self.resources.size * self.tags.size, self.norm)
        entries = self.tags.size * (self.tags.size + 1) // 2
        return moved if self.norm == "l1" else moved.beside(Sensitivity.of_l2(TAG_PAIR_WEIGHT, entries))

    def sums_of(self, tagging: Tagging) -> Integers:
        """Add up the weights of tags on resources, and in L2 those of tags together."""
        resource_places, tag_places = _places(self.resources, tagging.resources), _places(self.tags, tagging.tags)
        shape = self.resources.size, self.tags.size
        values = _sum_weights(tagging, resource_places, tag_places, shape, self.norm)
        if self.norm == "l1":
            return values
        size, together = self.tags.size, math.isqrt(2 * TAG_PAIR_WEIGHT**2)
        sums = np.zeros(size * (size + 1) // 2, dtype=np.int64)
        add_tag_pairs(tagging.user, tagging.tag, tag_places, size, TAG_PAIR_WEIGHT, together, sums)
        return np.concatenate([values, sums])


def tagging_of(passes: Passes, log: EventLog) -> Tagging:
    """Read who gave which tag to which resource, each assignment once."""
    tagged = TagLog.of_log(log)
    narrow = np.int16 if len(tagged.vocabulary.ids) < 1 << 15 else np.int32  # many rows wait to be sorted

    def tags(batch: CodedBatch) -> NDArray[np.int16 | np.int32]:
        return np.zeros(batch.cells.size, narrow) if batch.contexts is None else batch.contexts.astype(narrow)

    rows = passes.read_sorted(tagged, Taggers().reading(tagged), tags, "reading tags")
    drop_equals(rows.starts, rows.cells, rows.beside)
    many = np.diff(rows.starts)
    many = many[many > 0]
    user = np.repeat(np.arange(many.size, dtype=np.int32), many)
    resource, tag = rows.cells[: user.size], rows.beside[: user.size]
    return Tagging(user, resource, tag, many.size, len(tagged.catalogue.ids), len(tagged.vocabulary.ids))


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
        return Sensitivity.of_l1(FIXED_POINT)
    return Sensitivity.of_l2(FIXED_POINT, size)


def _sum_tags(tagging: Tagging, norm: Norm) -> Integers:
    places, nowhere = np.arange(tagging.tags, dtype=np.int32), np.zeros(tagging.resources, dtype=np.int32)
    return _sum_weights(tagging, nowhere, places, (1, tagging.tags), norm)


def _sum_weights(
    tagging: Tagging, resource_places: Codes, tag_places: Codes, shape: tuple[int, int], norm: Norm
) -> Integers:
    """Add up the weights of the different places of each user: rows of resources, and columns of tags."""
    rows, columns = shape
    sums = np.zeros(rows * columns, dtype=np.int64)
    most = min(sums.size, most_rows(tagging.user))
    add_weights(
        tagging.user,
        tagging.resource,
        tagging.tag,
        resource_places,
        tag_places,
        columns,
        _weights_by_number(np.arange(most + 1), norm),
        sums,
    )
    return sums


def _weights_by_number(n_places: Integers, norm: Norm) -> Integers:
    """Return what each of n things weighs, rounded down: exactly, whatever n.

    >>> _weights_by_number(np.array([0, 1, 2, 4]), "l2").tolist()
    [0, 65536, 46340, 32768]
    >>> _weights_by_number(np.array([0, 1, 2, 3]), "l1").tolist()
    [0, 65536, 32768, 21845]
    """
    whole = FIXED_POINT**2 if norm == "l2" else FIXED_POINT
    weights = [0 if n == 0 else math.isqrt(whole // n) if norm == "l2" else whole // n for n in n_places.tolist()]
    return np.array(weights, dtype=np.int64)


def _places(chosen: Integers, size: int) -> Codes:
    """Return at which place of the chosen ones each of all stands, or -1."""
    places = np.full(size, -1, dtype=np.int32)
    places[chosen] = np.arange(chosen.size)
    return places
