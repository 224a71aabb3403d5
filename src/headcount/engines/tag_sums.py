"""Weights of tags, summed over people: from assignments in memory, each once. Nothing is drawn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.arrays import Integers
from headcount.bounding import (
    FIXED_POINT,
    TOGETHER,
    Bounded,
    Norm,
    TagBound,
    Taggers,
    TagMarginals,
    TagPairs,
    TagWeights,
    certify_tags,
)
from headcount.engines.kernels.together import add_together
from headcount.engines.passes import Passes
from headcount.events.log import EventLog
from headcount.events.tagged import TagLog
from headcount.events.tagging import Tagging

Codes = NDArray[np.integer[Any]]


def tagged(passes: Passes, log: EventLog, bound: TagBound, secret: bytes) -> Bounded:  # noqa: ARG001
    """Add up what a bound asks for; assignments stay in memory between the stages of one release."""
    held = passes.once(log, bound.reading(log), lambda: tagging_of(log, passes))
    return certify_tags(bound, TagLog.of_log(log), sums_of(held, bound))


def tagging_of(log: EventLog, passes: Passes | None = None) -> Tagging:
    """Read who gave which tag to which resource, each assignment once.

    >>> log = TagLog.listing([("ann", "a", "x"), ("ann", "a", "x"), ("bob", "b", "y")],
    ...                      resources=["a", "b"], vocabulary=["x", "z"])
    >>> found = tagging_of(log)
    >>> found.size, found.people
    (1, 1)
    """
    tagged, passes = TagLog.of_log(log), passes or Passes()
    _, rows = passes.read(tagged, Taggers().reading(tagged), "reading tags")
    people, user = np.unique(rows.users, return_inverse=True)
    sizes = {"resources": len(tagged.catalogue.ids), "tags": len(tagged.vocabulary.ids)}
    tags = np.empty(0, dtype=np.int32) if rows.contexts is None else rows.contexts
    return Tagging.of(user, rows.cells, tags, people=people.size, **sizes)


def sums_of(tagging: Tagging, bound: TagBound) -> Integers:
    """Return the sums of what each person adds.

    >>> many = Tagging.of([0, 0, 1], [0, 1, 0], [0, 0, 1], people=2, resources=2, tags=2)
    >>> (sums_of(many, TagMarginals("l1")) / 2**16).tolist()
    [1.0, 1.0, 1.5, 0.5]
    """
    if isinstance(bound, TagWeights):
        return _summed(tagging.user, tagging.tag, tagging.tags, bound.norm)
    if isinstance(bound, TagMarginals):
        tags = _summed(tagging.user, tagging.tag, tagging.tags, bound.norm)
        resources = _summed(tagging.user, tagging.resource, tagging.resources, bound.norm)
        return np.concatenate([tags, resources])
    if isinstance(bound, TagPairs):
        return _pairs(tagging, bound)
    return np.array([np.unique(tagging.user).size], dtype=np.int64)


def _pairs(tagging: Tagging, bound: TagPairs) -> Integers:
    at, of = _places(bound.resources, tagging.resources), _places(bound.tags, tagging.tags)
    here = (at[tagging.resource] >= 0) & (of[tagging.tag] >= 0)
    cell = at[tagging.resource[here]] * bound.tags.size + of[tagging.tag[here]]
    values = _summed(tagging.user[here], cell, bound.resources.size * bound.tags.size, bound.norm)
    if bound.norm == "l1":
        return values
    known = of[tagging.tag] >= 0
    return np.concatenate([values, _together(tagging.user[known], of[tagging.tag[known]], bound.tags.size)])


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
    both = np.unique(np.stack([user.astype(np.int64), tag.astype(np.int64)]), axis=1)
    _, many = np.unique(both[0], return_counts=True)
    starts = np.concatenate([[0], np.cumsum(many)])
    sums = np.zeros(size * (size + 1) // 2, dtype=np.int64)
    alone, together = TOGETHER // many, math.isqrt(2 * TOGETHER**2) // many
    add_together(starts, np.ascontiguousarray(both[1]), alone, together, size, sums)
    return sums


def _places(chosen: Integers, size: int) -> Integers:
    """Return at which place of the chosen ones each of all stands, or -1."""
    places = np.full(size, -1, dtype=np.int64)
    places[chosen] = np.arange(chosen.size)
    return places
