"""Weights of tag assignments: what they are, and how far one person can move them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.bounds import Bounded, Norm
from headcount.bounds.tags.tag_weights import (
    TagBound,
    Taggers,
    TagMarginals,
    TagPairs,
    TagWeights,
    to_symmetric_matrix,
)
from headcount.events.tag_log import Tagging, TagLog
from tests.support.tag_logs import drawn

Weigh = Callable[[Norm], TagBound]
PLACES = np.array([3, 0, 4]), np.array([2, 1])


LOG = TagLog.listing([], resources=[*"abcde"], vocabulary=[*"wxyz"])


def pairs(norm: Norm) -> TagPairs:
    return TagPairs(*PLACES, norm)


def weighed(tagging: Tagging, bound: TagBound) -> Bounded:
    """Weigh assignments of 5 resources with 4 tags."""
    return bound.seal(LOG, bound.sums_of(tagging))


WAYS: list[Weigh] = [TagWeights, TagMarginals, pairs]


def moved(weigh: Weigh, tagging: Tagging, person: int, norm: Norm) -> tuple[np.ndarray, Bounded]:
    bounded = weighed(tagging, weigh(norm))
    without = weighed(tagging.where(tagging.user != person), weigh(norm))
    assert bounded.sensitivity == without.sensitivity
    assert bounded.shape == without.shape
    return bounded.sensitive_values - without.sensitive_values, bounded


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("weigh", WAYS)
@given(seed=st.integers(0, 10_000), person=st.integers(0, 5), size=st.integers(1, 200))
def test_one_user_stays_within_the_sensitivity(
    weigh: Weigh, norm: Norm, seed: int, person: int, size: int
) -> None:
    change, bounded = moved(weigh, drawn(seed, size=size), person, norm)
    reach = bounded.sensitivity
    assert np.abs(change).sum() <= reach.l1
    assert int((change.astype(object) ** 2).sum()) <= reach.l2_squared
    assert np.abs(change).max(initial=0) <= reach.linf
    assert (change >= 0).all()  # who leaves takes their own away, and moves nobody else's


@pytest.mark.parametrize("weigh", WAYS)
def test_the_sensitivity_is_attained_up_to_rounding(weigh: Weigh) -> None:
    tagging = Tagging.from_codes([0] * 4, [3, 0, 3, 0], [2, 2, 1, 1], people=1, resources=5, tags=4)
    for norm, size in (
        ("l1", lambda c: np.abs(c).sum()),
        ("l2", lambda c: math.sqrt((c.astype(float) ** 2).sum())),
    ):
        change, bounded = moved(weigh, tagging, 0, norm)  # type: ignore[arg-type]
        stated = bounded.sensitivity.l1 if norm == "l1" else bounded.sensitivity.l2
        assert size(change) == pytest.approx(stated, rel=2e-4)


def test_weights_are_those_of_the_definition() -> None:
    tagging = drawn(7, size=60)
    has_tag = np.zeros((6, 5, 4))
    has_tag[tagging.user, tagging.resource, tagging.tag] = 1
    tags = has_tag.any(axis=1).astype(float)
    resources = has_tag.any(axis=2).astype(float)
    expected = np.concatenate([(incidence / np.sqrt(np.maximum(incidence.sum(axis=1, keepdims=True),
    1))).sum(axis=0)
                               for incidence in (tags, resources)])  # fmt: skip
    measured = weighed(tagging, TagMarginals("l2"))
    assert measured.sensitive_values / measured.unit == pytest.approx(expected, abs=1e-4)
    some = has_tag[:, PLACES[0]][:, :, PLACES[1]].reshape(6, -1)
    expected = (some / np.sqrt(np.maximum(some.sum(axis=1, keepdims=True), 1))).sum(axis=0)
    measured = weighed(tagging, pairs("l2"))
    assert measured.sensitive_values[:6] / measured.unit == pytest.approx(expected, abs=1e-4)
    chosen = tags[:, PLACES[1]]
    scaled = chosen / np.sqrt(np.maximum(chosen.sum(axis=1, keepdims=True), 1))
    together = to_symmetric_matrix(measured.sensitive_values[6:] / measured.unit, 2)
    assert together == pytest.approx(scaled.T @ scaled, abs=1e-3)
    assert weighed(tagging, pairs("l1")).size == 6


def test_a_user_counts_once() -> None:
    tagging = drawn(1)
    assert weighed(tagging, Taggers()).sensitive_values.tolist() == [len(set(tagging.user.tolist()))]
    assert weighed(tagging.where(tagging.user < 0), Taggers()).sensitive_values.tolist() == [0]


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_order_and_numbering_of_users_have_no_effect(norm: Norm) -> None:
    tagging = drawn(4)
    shuffled = Tagging.from_codes(
        5 - tagging.user[::-1], tagging.resource[::-1], tagging.tag[::-1], people=6, resources=5, tags=4
    )
    for weigh in WAYS:
        original, other = (weighed(log, weigh(norm)) for log in (tagging, shuffled))
        assert (original.sensitive_values == other.sensitive_values).all()
