"""Tag assignments as weights that one person can move only so far.

However much a person tagged, their weights together have a length of 1: in L2 each of n things weighs 1/√n, in L1
each weighs 1/n. So everybody counts with all they did, and nothing is drawn. Weights are whole multiples of 2^-16,
rounded down, so that no rounding lengthens them; a person who leaves takes exactly their own weights away.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.arrays import Floats, Integers
from headcount.bounding.bounded import SEAL, Bounded, Sensitivity, root_above
from headcount.bounding.bounds import FIXED_POINT, Norm
from headcount.events.tagging import Tagging

Codes = NDArray[np.integer[Any]]

TOGETHER = FIXED_POINT // 2
"""What a person's pairs of tags weigh beside their tagged resources: half, and noise grows by an eighth."""


def people_tagging(tagging: Tagging) -> Bounded:
    """Count the people who tagged anything: each person once.

    >>> people_tagging(Tagging.of([0, 0, 1], [0, 1, 0], [0, 0, 1], people=2, resources=2, tags=2)).sensitive_values
    array([2])
    """
    return Bounded(np.array([np.unique(tagging.user).size], dtype=np.int64), Sensitivity(1, 1, 1), SEAL)


def tag_weights(tagging: Tagging, norm: Norm) -> Bounded:
    """Add up what each tag weighs to the people who used it: n different tags of a person have length 1."""
    values = _summed(tagging.user, tagging.tag, tagging.tags, norm)
    return Bounded(values, _reach(tagging.tags, norm), SEAL, unit=FIXED_POINT)


def marginal_weights(tagging: Tagging, norm: Norm) -> Bounded:
    """Add up what each tag weighs, and after them what each resource does: both of length 1 for each person.

    Side by side, L1 adds up, and so does the square of L2.

    >>> many = Tagging.of([0, 0, 1], [0, 1, 0], [0, 0, 1], people=2, resources=2, tags=2)
    >>> (marginal_weights(many, "l1").sensitive_values / 2**16).tolist()
    [1.0, 1.0, 1.5, 0.5]
    """
    tags = _summed(tagging.user, tagging.tag, tagging.tags, norm)
    resources = _summed(tagging.user, tagging.resource, tagging.resources, norm)
    one, other = _reach(tagging.tags, norm), _reach(tagging.resources, norm)
    return Bounded(np.concatenate([tags, resources]), _beside(one, other), SEAL, unit=FIXED_POINT)


def pair_weights(tagging: Tagging, resources: Integers, tags: Integers, norm: Norm) -> Bounded:
    """Add up what each tag on each resource weighs, for some public resources and tags, row by row.

    In L2 there follow the weights of tags together: of a person with n of the tags, x xᵀ / n for their 0/1 vector
    x, the upper triangle with what is off the diagonal multiplied by √2. That has the length of the whole matrix,
    which is 1; here it is ``TOGETHER``.
    """
    at, of = _places(resources, tagging.resources), _places(tags, tagging.tags)
    here = (at[tagging.resource] >= 0) & (of[tagging.tag] >= 0)
    cells = resources.size * tags.size
    cell = at[tagging.resource[here]] * tags.size + of[tagging.tag[here]]
    values, reach = _summed(tagging.user[here], cell, cells, norm), _reach(cells, norm)
    if norm == "l1":
        return Bounded(values, reach, SEAL, unit=FIXED_POINT)
    known = of[tagging.tag] >= 0
    together = _together(tagging.user[known], of[tagging.tag[known]], tags.size)
    entries = tags.size * (tags.size + 1) // 2
    other = Sensitivity(root_above(TOGETHER**2 * entries), TOGETHER**2, TOGETHER)
    return Bounded(np.concatenate([values, together]), _beside(reach, other), SEAL, unit=FIXED_POINT)


def square(triangle: Floats, size: int) -> Floats:
    """Lay the released weights of tags together out as a symmetric matrix, with all factors undone.

    >>> square(np.array([1.0, 2.0, 3.0]), 2).round(3).tolist()
    [[2.0, 2.828], [2.828, 6.0]]
    """
    matrix, (rows, columns) = np.zeros((size, size)), np.triu_indices(size)
    matrix[rows, columns] = triangle / np.where(rows == columns, 1.0, math.sqrt(2)) * (FIXED_POINT / TOGETHER)
    return np.asarray(matrix + np.triu(matrix, 1).T)


def _summed(user: Codes, place: Codes, size: int, norm: Norm) -> Integers:
    """Add up the weights of the different places of each person."""
    both = np.unique(np.stack([user.astype(np.int64), place.astype(np.int64)]), axis=1)
    many = np.bincount(both[0], minlength=1)
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, both[1], _shares(many, norm)[both[0]])
    return sums


def _shares(many: Integers, norm: Norm) -> Integers:
    """Return what each of n things weighs, rounded down: exactly, whatever n.

    >>> _shares(np.array([0, 1, 2, 4]), "l2").tolist(), _shares(np.array([0, 1, 2, 3]), "l1").tolist()
    ([0, 65536, 46340, 32768], [0, 65536, 32768, 21845])
    """
    distinct, which = np.unique(many, return_inverse=True)
    whole = FIXED_POINT**2 if norm == "l2" else FIXED_POINT
    found = [0 if n == 0 else math.isqrt(whole // n) if norm == "l2" else whole // n for n in distinct.tolist()]
    return np.array(found, dtype=np.int64)[which]


def _together(user: Codes, tag: Codes, size: int) -> Integers:
    """Return the upper triangle of the sum of x xᵀ / n over all people, off the diagonal times √2."""
    from scipy import sparse

    both = np.unique(np.stack([user.astype(np.int64), tag.astype(np.int64)]), axis=1)
    people, which = np.unique(both[0], return_inverse=True)
    many = np.bincount(which, minlength=people.size)
    has = sparse.csr_matrix((np.ones(which.size, dtype=np.int64), (which, both[1])), shape=(people.size, size))
    off = has.T @ sparse.diags(math.isqrt(2 * TOGETHER**2) // np.maximum(many, 1), dtype=np.int64) @ has
    matrix = np.asarray(off.todense(), dtype=np.int64)
    np.fill_diagonal(matrix, has.T @ (TOGETHER // np.maximum(many, 1)))
    return np.asarray(matrix[np.triu_indices(size)])


def _reach(size: int, norm: Norm) -> Sensitivity:
    """How far weights of length 1 over ``size`` places can move them: in L1 at most √size times their L2."""
    if norm == "l1":
        return Sensitivity(FIXED_POINT, FIXED_POINT**2, FIXED_POINT)
    return Sensitivity(root_above(FIXED_POINT**2 * size), FIXED_POINT**2, FIXED_POINT)


def _beside(one: Sensitivity, other: Sensitivity) -> Sensitivity:
    return Sensitivity(one.l1 + other.l1, one.l2_squared + other.l2_squared, max(one.linf, other.linf))


def _places(chosen: Integers, size: int) -> Integers:
    """Return at which place of the chosen ones each of all stands, or -1."""
    places = np.full(size, -1, dtype=np.int64)
    places[chosen] = np.arange(chosen.size)
    return places
