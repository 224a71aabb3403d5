"""Maps of bounded values: what they compute, and that nobody moves the result further than they declare."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from headcount.bounds import FIXED_POINT, Bounded, Sensitivity
from headcount.bounds.bounded import SEAL, root_above
from headcount.bounds.linear_maps import (
    fourier,
    group_sums,
    head,
    inverse_fourier,
    inverse_walsh_hadamard,
    take_column,
    take_places,
    walsh_hadamard,
)

Integers = NDArray[np.int64]
Map = Callable[[Bounded], Bounded]
UNIT_SENSITIVITY = Sensitivity(l1=1, l2_squared=1, linf=1)

values_of = st.lists(st.integers(-(2**20), 2**20), min_size=1, max_size=4)
reaches = st.sampled_from(
    [
        Sensitivity(l1=1, l2_squared=1, linf=1),
        Sensitivity(l1=2, l2_squared=2, linf=1),
        Sensitivity(l1=3, l2_squared=3, linf=1),
        Sensitivity(l1=4, l2_squared=4, linf=1),
        Sensitivity(l1=2, l2_squared=4, linf=2),
        Sensitivity(l1=3, l2_squared=9, linf=3),
        Sensitivity(l1=3, l2_squared=5, linf=2),
    ]
)


def bounded(values: Any, reach: Sensitivity = UNIT_SENSITIVITY) -> Bounded:
    return Bounded(np.array(values, dtype=np.int64), reach, SEAL, unit=3, admission=Fraction(1, 7))


def changes(size: int, reach: Sensitivity) -> Iterator[Integers]:
    """Everything that one person can add or take away."""
    for change in product(range(-reach.linf, reach.linf + 1), repeat=size):
        sizes = [abs(step) for step in change]
        if sum(sizes) <= reach.l1 and sum(step**2 for step in sizes) <= reach.l2_squared:
            yield np.array(change, dtype=np.int64)


def furthest(take: Map, values: Integers, reach: Sensitivity) -> Sensitivity:
    """Return how far any one person moves the result of a map, in each of the three ways."""
    before = take(bounded(values, reach)).sensitive_values
    moved = [
        take(bounded(values + change, reach)).sensitive_values - before for change in changes(values.size, reach)
    ]
    return Sensitivity(
        l1=max(int(np.abs(change).sum()) for change in moved),
        l2_squared=max(int((change**2).sum()) for change in moved),
        linf=max(int(np.abs(change).max()) for change in moved),
    )


def assert_covers(declared: Sensitivity, actual: Sensitivity) -> None:
    assert actual.l1 <= declared.l1
    assert actual.l2_squared <= declared.l2_squared
    assert actual.linf <= declared.linf


@given(values_of, reaches, st.data())
@settings(max_examples=60, deadline=None)
def test_group_sums_keep_the_sensitivity(values: list[int], reach: Sensitivity, data: st.DataObject) -> None:
    labels = np.array([data.draw(st.integers(0, 2)) for _ in values], dtype=np.int64)
    declared = group_sums(bounded(values, reach), labels, 3).sensitivity
    assert_covers(declared, furthest(lambda b: group_sums(b, labels, 3), np.array(values), reach))
    assert declared.l1 == reach.l1


@given(values_of, reaches, st.data())
@settings(max_examples=60, deadline=None)
def test_a_head_keeps_the_sensitivity(values: list[int], reach: Sensitivity, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(values)))
    declared = head(bounded(values, reach), size).sensitivity
    assert_covers(declared, furthest(lambda b: head(b, size), np.array(values), reach))


@given(values_of, reaches, st.data())
@settings(max_examples=60, deadline=None)
def test_a_part_keeps_the_sensitivity(values: list[int], reach: Sensitivity, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1, unique=True))
    taken = take_places(bounded(values, reach), places)
    assert taken.sensitive_values.tolist() == [values[place] for place in places]
    assert_covers(taken.sensitivity, furthest(lambda b: take_places(b, places), np.array(values), reach))
    assert taken.sensitivity.l1 <= len(places) * reach.linf


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=2), reaches)
@settings(max_examples=60, deadline=None)
def test_a_column_keeps_the_sensitivity(rows: list[tuple[int, int]], reach: Sensitivity) -> None:
    values = np.array(rows, dtype=np.int64)
    for place in (0, 1):
        taken = take_column(bounded(values, reach), place)
        assert taken.sensitive_values.tolist() == [row[place] for row in rows]
        actual = furthest(lambda b: take_column(_as_table(b), place), values.ravel(), reach)  # noqa: B023
        assert_covers(taken.sensitivity, actual)


def _as_table(flat: Bounded) -> Bounded:
    return bounded(flat.sensitive_values.reshape(-1, 2), flat.sensitivity)


@given(values_of, reaches)
@settings(max_examples=60, deadline=None)
def test_walsh_hadamard_coefficients_keep_the_sensitivity(values: list[int], reach: Sensitivity) -> None:
    declared = walsh_hadamard(bounded(values, reach)).sensitivity
    actual = furthest(walsh_hadamard, np.array(values), reach)
    assert_covers(declared, actual)
    most = max(int((change**2).sum()) for change in changes(len(values), reach))
    assert actual.l2_squared * reach.l2_squared == declared.l2_squared * most  # it is exactly n-fold


@given(values_of, reaches)
@settings(max_examples=60, deadline=None)
def test_fourier_coefficients_keep_the_sensitivity(values: list[int], reach: Sensitivity) -> None:
    declared = fourier(bounded(values, reach)).sensitivity
    actual = furthest(fourier, np.array(values), reach)
    assert_covers(declared, actual)
    most = max(int((change**2).sum()) for change in changes(len(values), reach))
    assert actual.l2_squared > 0.99 * most * FIXED_POINT**2


def test_the_whole_may_fall_into_one_group_or_one_coefficient() -> None:
    reach = Sensitivity(l1=3, l2_squared=3, linf=1)
    one_group = group_sums(bounded([0, 0, 0], reach), np.zeros(3, dtype=np.int64), 1).sensitivity
    assert one_group == Sensitivity(l1=3, l2_squared=9, linf=3)
    apart = group_sums(bounded([0, 0, 0], reach), np.arange(3), 3).sensitivity
    assert apart == reach
    assert walsh_hadamard(bounded([0, 0, 0, 0], reach)).sensitivity == Sensitivity(l1=7, l2_squared=12, linf=3)


@given(st.lists(st.tuples(st.integers(-(2**60), 2**60), st.integers(0, 4)), min_size=1, max_size=7))
def test_group_sums_are_exact(pairs: list[tuple[int, int]]) -> None:
    """To the last of 63 bits, where floating-point weights would not be."""
    values, labels = np.array([value for value, _ in pairs]), np.array([label for _, label in pairs])
    sums = group_sums(bounded(values), labels, 5).sensitive_values
    assert sums.tolist() == [sum(value for value, label in pairs if label == group) for group in range(5)]


def test_what_is_no_partition_is_refused() -> None:
    for labels in (np.array([0, 1]), np.array([0, 1, 2]), np.array([0, -1, 1]), np.array([[0, 1, 1]])):
        with pytest.raises(ValueError, match="one of 2 groups for each of 3 values"):
            group_sums(bounded([1, 2, 3]), labels, 2)


@pytest.mark.parametrize("size", [0, -1, 4])
def test_a_head_is_part_of_the_whole(size: int) -> None:
    with pytest.raises(ValueError, match="cannot have"):
        head(bounded([1, 2, 3]), size)


@pytest.mark.parametrize("places", [[1, 1], [2, -1], [3], [-4]], ids=str)
def test_repeated_places_are_refused(places: list[int]) -> None:
    """Twice the same value would move twice as far; counted from the end it is the same value, too."""
    with pytest.raises(ValueError, match="each of 3 places may be taken once"):
        take_places(bounded([1, 2, 3]), places)


@given(st.integers(0, 10**60))
def test_roots_are_rounded_up(number: int) -> None:
    root = root_above(number)
    assert root**2 >= number
    assert root == 0 or (root - 1) ** 2 < number


MAPS: dict[str, Map] = {
    "group_sums": lambda b: group_sums(b, np.zeros(4, dtype=np.int64), 1),
    "head": lambda b: head(b, 2),
    "part": lambda b: take_places(b, [3, 1]),
    "walsh_hadamard": walsh_hadamard,
    "fourier": fourier,
}


@pytest.mark.parametrize("name", MAPS)
def test_a_map_carries_unit_and_admission_along(name: str) -> None:
    flat, table = (MAPS[name](bounded(values)) for values in ([1, 2, 3, 4], [[1, 2], [3, 4]]))
    assert flat.unit == (3 * FIXED_POINT if name == "fourier" else 3)
    assert flat.admission == Fraction(1, 7)
    assert np.array_equal(flat.sensitive_values, table.sensitive_values)
    assert flat.sensitive_values.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        flat.sensitive_values[0] = 9


@pytest.mark.parametrize("name", MAPS)
def test_a_map_takes_bounded_values_alone(name: str) -> None:
    class Forged(Bounded):
        """A subclass could say anything of its sensitivity."""

    forged = Forged(np.zeros(4, dtype=np.int64), UNIT_SENSITIVITY, SEAL)
    for given_ in (np.zeros(4, dtype=np.int64), [1, 2, 3, 4], forged, None):
        with pytest.raises(TypeError, match="Bounded values alone"):
            MAPS[name](given_)  # type: ignore[arg-type]


def test_a_column_is_a_copy_with_unit_and_admission() -> None:
    table = bounded([[1, 2], [3, 4]])
    taken = take_column(table, 1)
    assert (taken.unit, taken.admission) == (3, Fraction(1, 7))
    assert not np.shares_memory(taken.sensitive_values, table.sensitive_values)
    with pytest.raises(TypeError, match="Bounded values alone"):
        take_column(np.zeros((2, 2), dtype=np.int64), 0)  # type: ignore[arg-type]


# Walsh-Hadamard


def hadamard(size: int) -> Integers:
    """Sylvester's matrix, its rows sorted by how often they change sign."""
    matrix = np.ones((1, 1), dtype=np.int64)
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    sign_changes = (np.diff(matrix, axis=1) != 0).sum(axis=1)
    assert sorted(sign_changes) == list(range(size))
    return np.asarray(matrix[np.argsort(sign_changes)], dtype=np.int64)


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 64])
def test_walsh_hadamard_is_the_matrix_in_order_of_sign_changes(size: int) -> None:
    columns = [walsh_hadamard(bounded(unit)).sensitive_values for unit in np.eye(size, dtype=np.int64)]
    assert np.array_equal(np.array(columns).T, hadamard(size))
    assert np.array_equal(hadamard(size) @ hadamard(size).T, size * np.eye(size))


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=40))
def test_walsh_hadamard_is_exact_pads_with_zeros_and_goes_back(values: list[int]) -> None:
    coefficients = walsh_hadamard(bounded(values)).sensitive_values
    size = coefficients.size
    assert size // 2 < len(values) <= size
    padded = [*values, *[0] * (size - len(values))]
    expected = [sum(int(h) * value for h, value in zip(row, padded, strict=True)) for row in hadamard(size)]
    assert coefficients.tolist() == expected
    assert sum(value**2 for value in coefficients.tolist()) == size * sum(value**2 for value in values)
    assert inverse_walsh_hadamard(coefficients.astype(float), size, len(values)).tolist() == values


@pytest.mark.parametrize("bits", range(12, 18))
def test_long_vectors_are_transformed_in_blocks_to_the_same(bits: int) -> None:
    values = np.random.default_rng(bits).integers(0, 1000, (1 << bits) - 5)
    coefficients = walsh_hadamard(bounded(values)).sensitive_values
    natural = np.zeros((1 << bits), dtype=np.int64)
    natural[: values.size] = values
    for bit in range(bits):  # numpy's own way
        pairs = natural.reshape(-1, 2, 1 << bit)
        natural = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
    number = np.arange(1 << bits)
    gray = number ^ (number >> 1)
    places = sum((gray >> bit & 1) << (bits - 1 - bit) for bit in range(bits))
    assert np.array_equal(coefficients, natural[places])
    back = inverse_walsh_hadamard(coefficients.astype(float), 1 << bits, values.size)
    assert np.array_equal(back, values)


def test_the_first_coefficients_hold_what_is_smooth() -> None:
    steps = np.repeat([9, 5, 4, 2], 4)
    coefficients = walsh_hadamard(bounded(steps)).sensitive_values.astype(float)
    assert not coefficients[4:].any()
    assert np.array_equal(inverse_walsh_hadamard(coefficients[:4], 16, 16), steps)
    assert np.array_equal(inverse_walsh_hadamard(coefficients[:1], 16, 16), np.full(16, 5.0))


@pytest.mark.parametrize(("kept", "size", "cells"), [(5, 4, 4), (4, 4, 5), (3, 6, 6), (1, 0, 0)])
def test_going_back_needs_sizes_that_fit(kept: int, size: int, cells: int) -> None:
    with pytest.raises(ValueError, match="not a power of two, or less"):
        inverse_walsh_hadamard(np.zeros(kept), size, cells)


# Fourier


def orthonormal(size: int) -> NDArray[np.float64]:
    """Constant, cos 1, sin 1, cos 2, sin 2, …, each of norm 1."""
    angle = 2 * math.pi * np.arange(size) / size
    rows = [np.ones(size)]
    for k in range(1, size // 2 + 1):
        rows += [np.cos(k * angle), np.sin(k * angle)]
    matrix = np.array(rows[:size])
    return np.asarray(matrix / np.linalg.norm(matrix, axis=1)[:, None])


@pytest.mark.parametrize("size", range(1, 12))
def test_fourier_is_the_orthonormal_matrix(size: int) -> None:
    assert orthonormal(size) @ orthonormal(size).T == pytest.approx(np.eye(size), abs=1e-12)
    values = np.random.default_rng(size).integers(0, 1000, size)
    coefficients = fourier(bounded(values)).sensitive_values / FIXED_POINT
    assert coefficients == pytest.approx(orthonormal(size) @ values, abs=0.6 / FIXED_POINT)
    assert (coefficients**2).sum() == pytest.approx((values**2).sum(), rel=1e-4)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=40), st.data())
def test_fourier_goes_back_from_all_or_from_the_first(values: list[int], data: st.DataObject) -> None:
    coefficients = fourier(bounded(values)).sensitive_values / FIXED_POINT
    assert inverse_fourier(coefficients, len(values)) == pytest.approx(np.array(values), abs=1e-3)
    kept = data.draw(st.integers(1, len(values)))
    expected = orthonormal(len(values))[:kept].T @ coefficients[:kept]
    assert inverse_fourier(coefficients[:kept], len(values)) == pytest.approx(expected, abs=1e-6)


def test_fourier_does_not_go_back_from_more_coefficients_than_values() -> None:
    with pytest.raises(ValueError, match="3 values cannot have 4 coefficients"):
        inverse_fourier(np.zeros(4), 3)
