"""Local measurement of tag weights: sums over users of distinct assignments. Nothing is drawn."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Codes, Integers
from headcount.bounds import (
    FIXED_POINT,
    TAG_PAIR_WEIGHT,
    Bounded,
    Norm,
    TagBound,
    Taggers,
    TagMarginals,
    TagPairs,
    TagWeights,
    seal_tag_weights,
)
from headcount.bounds.kernels.sort_rows import drop_equals
from headcount.bounds.tags.kernels.tag_pairs import add_tag_pairs, add_weights, most_rows
from headcount.engines.local.runner import LocalRunner
from headcount.events.encode.passes import CodedBatch
from headcount.events.log import EventLog
from headcount.events.tag_assignments import Tagging
from headcount.events.tag_log import TagLog


def measure_tags(passes: LocalRunner, log: EventLog, bound: TagBound, secret: bytes) -> Bounded:  # noqa: ARG001
    """Add up what a bound asks for; assignments stay in memory between the stages of one release."""
    held = passes.cached(log, bound.reading(log), lambda: tagging_of(log, passes))
    return seal_tag_weights(bound, TagLog.of_log(log), sums_of(held, bound))


def tagging_of(log: EventLog, passes: LocalRunner | None = None) -> Tagging:
    """Read who gave which tag to which resource, each assignment once.

    >>> log = TagLog.listing([("ann", "a", "x"), ("ann", "a", "x"), ("bob", "b", "y")],
    ...                      resources=["a", "b"], vocabulary=["x", "z"])
    >>> found = tagging_of(log)
    >>> found.size, found.people
    (1, 1)
    """
    tagged, passes = TagLog.of_log(log), passes or LocalRunner()
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


def sums_of(tagging: Tagging, bound: TagBound) -> Integers:
    """Return the sums of what each person adds.

    >>> many = Tagging.of([0, 0, 1], [0, 1, 0], [0, 0, 1], people=2, resources=2, tags=2)
    >>> (sums_of(many, TagMarginals("l1")) / 2**16).tolist()
    [1.0, 1.0, 1.5, 0.5]
    """
    if isinstance(bound, TagWeights):
        return _sum_tags(tagging, bound.norm)
    if isinstance(bound, TagMarginals):
        places, nowhere = np.arange(tagging.resources, dtype=np.int32), np.zeros(tagging.tags, dtype=np.int32)
        resources = _sum_weights(tagging, places, nowhere, (tagging.resources, 1), bound.norm)
        return np.concatenate([_sum_tags(tagging, bound.norm), resources])
    if isinstance(bound, TagPairs):
        return _sum_tag_pairs(tagging, bound)
    others = np.count_nonzero(tagging.user[1:] != tagging.user[:-1])
    return np.array([others + 1 if tagging.size else 0], dtype=np.int64)


def _sum_tags(tagging: Tagging, norm: Norm) -> Integers:
    places, nowhere = np.arange(tagging.tags, dtype=np.int32), np.zeros(tagging.resources, dtype=np.int32)
    return _sum_weights(tagging, nowhere, places, (1, tagging.tags), norm)


def _sum_tag_pairs(tagging: Tagging, bound: TagPairs) -> Integers:
    resource_places, tag_places = _places(bound.resources, tagging.resources), _places(bound.tags, tagging.tags)
    values = _sum_weights(
        tagging, resource_places, tag_places, (bound.resources.size, bound.tags.size), bound.norm
    )
    if bound.norm == "l1":
        return values
    sums = np.zeros(bound.tags.size * (bound.tags.size + 1) // 2, dtype=np.int64)
    add_tag_pairs(
        tagging.user,
        tagging.tag,
        tag_places,
        bound.tags.size,
        TAG_PAIR_WEIGHT,
        math.isqrt(2 * TAG_PAIR_WEIGHT**2),
        sums,
    )
    return np.concatenate([values, sums])


def _sum_weights(
    tagging: Tagging, resource_places: Codes, tag_places: Codes, shape: tuple[int, int], norm: Norm
) -> Integers:
    """Add up the weights of the different places of each person: rows of resources, and columns of tags."""
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
