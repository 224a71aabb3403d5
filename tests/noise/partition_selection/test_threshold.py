"""The noisy threshold: its law is worked out exactly, and (ε, δ) is checked over all outcomes of small worlds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.accounting.budget import Cost, Grant
from headcount.bounds.keys.key_support import BoundedKeySupport, KeySupport
from headcount.errors import GrantError, HeadcountError
from headcount.noise import OperatingSystemNoise, SeededNoise, laplace
from headcount.noise.partition_selection.threshold import select_by_threshold, threshold_for

FALSE_ALARM = 1e-6

amounts = st.sampled_from(["0.1", "0.2", "0.333333333333333333", "1", "2.5", "7", "40"])
deltas = st.sampled_from(["1e-12", "1e-6", "0.001", "0.0123", "0.2", "0.9"])


def reaches(people: int, threshold: int, scale: Fraction) -> Decimal:
    """The probability that so many people, with noise, reach the threshold; nobody never does."""
    if people < 1:
        return Decimal(0)
    with localcontext() as context:
        context.prec = 80
        alpha = (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
        steps = threshold - people
        if steps >= 0:
            return alpha**steps / (1 + alpha)
        return 1 - alpha ** (1 - steps) / (1 + alpha)


def loss(
    before: Sequence[int], after: Sequence[int], threshold: int, scale: Fraction, epsilon: Decimal
) -> Decimal:
    """The least δ with which both numbers of people are ε-close, over all sets of released items."""
    with localcontext() as context:
        context.prec = 80
        factor = epsilon.exp()
        chances = [[reaches(people, threshold, scale) for people in world] for world in (before, after)]
        least = Decimal(0)
        for first, other in (chances, chances[::-1]):
            total = Decimal(0)
            for released in itertools.product((False, True), repeat=len(before)):
                p, q = (
                    _product(c if out else 1 - c for c, out in zip(world, released, strict=True))
                    for world in (first, other)
                )
                total += max(Decimal(0), p - factor * q)
            least = max(least, total)
        return least


def _product(factors: Any) -> Decimal:
    total = Decimal(1)
    for factor in factors:
        total *= factor
    return total


@given(st.integers(1, 1000), amounts, deltas)
def test_items_of_a_single_user_are_released_with_probability_delta_at_most(
    limit: int, epsilon: str, delta: str
) -> None:
    threshold = threshold_for(limit, Cost.of(epsilon, delta))
    with localcontext() as context:
        context.prec = 80
        alone = reaches(1, threshold.users_needed, threshold.distribution.scale)
        assert 1 - (1 - alone) ** limit <= Decimal(delta)
        assert limit * alone <= Decimal(delta)  # the union bound itself
        lower = reaches(1, threshold.users_needed - 1, threshold.distribution.scale)
        assert threshold.users_needed == 1 or limit * lower > Decimal(delta), "a lower threshold would have done"
    assert threshold.distribution.scale >= Fraction(limit) / Fraction(epsilon)


WORLDS = [(0,), (1,), (0, 0), (0, 1), (1, 3), (2, 9), (0, 0, 0), (0, 2, 7), (1, 1, 4), (8, 8, 8)]


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.01"), ("0.5", "1e-6"), ("3", "0.05"), ("3", "0.9")])
def test_a_joining_user_changes_no_outcome_by_more_than_epsilon_and_delta(
    world: tuple[int, ...], epsilon: str, delta: str
) -> None:
    """All outcomes of a person who has all items of a world, and all those of a bystander item beside them."""
    limit = len(world)
    threshold = threshold_for(limit, Cost.of(epsilon, delta))
    for beside in ((), (0,), (4,)):
        before = (*world, *beside)
        after = (*(people + 1 for people in world), *beside)
        least = loss(before, after, threshold.users_needed, threshold.distribution.scale, Decimal(epsilon))
        assert least <= Decimal(delta)


def test_the_check_sees_a_lower_threshold() -> None:
    grant = Grant("1", "0.01")
    for limit in (1, 2, 3):
        threshold = threshold_for(limit, grant.cost)
        before, after = (0,) * limit, (1,) * limit
        lower = loss(before, after, threshold.users_needed - 1, threshold.distribution.scale, Decimal(1))
        assert lower > Decimal("0.01")


def test_an_unbounded_user_is_rejected() -> None:
    threshold = threshold_for(1, Cost.of("1", "0.01"))
    assert loss((0,) * 4, (1,) * 4, threshold.users_needed, threshold.distribution.scale, Decimal(1)) > Decimal(
        "0.01"
    )
    shared = (threshold.users_needed,) * 4
    after = tuple(people + 1 for people in shared)
    assert loss(shared, after, threshold.users_needed, threshold.distribution.scale, Decimal(1)) > Decimal("0.01")


def test_items_without_users_are_rejected() -> None:
    """An item that is in the list though nobody kept it gives away that somebody had it."""
    threshold = threshold_for(1, Cost.of("1", "0.01"))
    zero = reaches(
        1, threshold.users_needed + 1, threshold.distribution.scale
    )  # as if a count of 0 got noise as well
    assert 1 - (1 - zero) ** 10 > Decimal("0.01")  # of ten such items


def support(people: Sequence[int], limit: int = 2) -> BoundedKeySupport:
    return KeySupport(limit).seal(pa.array([f"i{n:06}" for n in range(len(people))]), np.array(people))


@pytest.mark.parametrize("people", [1, 3, 5, 9])
def test_items_are_released_with_their_exact_probability(people: int) -> None:
    """Two-sided normal bound at ``FALSE_ALARM`` (4.9 deviations), fixed seed; a threshold off by one is seen."""
    size, grant = 40_000, Grant("1.5", "0.2")
    threshold = threshold_for(2, Cost.of("1.5", "0.2"))
    released = len(select_by_threshold(support([people] * size), grant, SeededNoise(4)))

    def deviations(threshold_people: int) -> float:
        chance = float(reaches(people, threshold_people, threshold.distribution.scale))
        deviation: float = (size * chance * (1 - chance)) ** 0.5
        return abs(released - size * chance) / deviation

    assert deviations(threshold.users_needed) < 4.9
    assert deviations(threshold.users_needed - 1) > 4.9
    assert deviations(threshold.users_needed + 1) > 4.9


def test_released_items_are_sorted_and_the_grant_is_spent() -> None:
    grant = Grant("1", "1e-6")
    ids = pa.array(["tea", "äther", "Rye", "oat"])
    support_counts = KeySupport(1).seal(ids, np.array([900, 900, 900, 1]))
    assert select_by_threshold(support_counts, grant, OperatingSystemNoise()) == ["Rye", "tea", "äther"]
    assert grant.is_spent
    with pytest.raises(GrantError, match="already spent"):
        select_by_threshold(support_counts, grant, OperatingSystemNoise())
    numbers = KeySupport(1).seal(pa.array([30, 4, 500]), np.array([900, 900, 900]))
    assert select_by_threshold(numbers, Grant("1", "1e-6"), OperatingSystemNoise()) == [4, 30, 500]


def test_no_items_at_all() -> None:
    grant = Grant("1", "1e-6")
    assert select_by_threshold(support([]), grant, OperatingSystemNoise()) == []
    assert grant.is_spent


def test_a_grant_without_delta_selects_nothing() -> None:
    grant = Grant("1")
    with pytest.raises(GrantError, match="δ above 0"):
        select_by_threshold(support([3]), grant, SeededNoise(1))
    assert not grant.is_spent


def test_only_support_is_accepted() -> None:
    with pytest.raises(TypeError, match="BoundedKeySupport alone"):
        select_by_threshold(np.array([3]), Grant("1", "1e-6"), SeededNoise(1))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="made by headcount"):
        BoundedKeySupport(pa.array(["a"]), np.array([1]), 1, object())


def test_support_does_not_tell_its_size() -> None:
    small, other = support([3]), support([3] * 50)
    assert repr(small) == repr(other)
    assert not hasattr(small, "size")
    assert not hasattr(small, "__len__")
    assert not hasattr(small, "shape")


def test_items_without_users_are_left_out() -> None:
    support_counts = support([0, 4, 0])
    assert support_counts.sensitive_ids.to_pylist() == ["i000001"]
    assert support_counts.sensitive_users.tolist() == [4]


def test_opendp_confirms_the_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    import headcount.noise.partition_selection.threshold as module

    monkeypatch.setattr(module, "scale_for", lambda limit, epsilon: laplace.scale_for(limit, 2 * epsilon))
    grant = Grant("1", "1e-6")
    with pytest.raises(HeadcountError, match="does not pay"):
        select_by_threshold(support([3]), grant, SeededNoise(1))
    assert not grant.is_spent
