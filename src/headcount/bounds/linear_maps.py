"""Linear maps of bounded values (sums, slices, Walsh–Hadamard, Fourier) and their sensitivity.

A map is a fixed function, known to everyone. It takes nothing but :class:`Bounded` and makes nothing else; the
unit and the chance of admission stay what they were. All but :func:`fourier` and :func:`count_distinct` are linear
and in whole numbers, so one user moves the result by exactly the map of what they moved before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from headcount._internal.arrays import Floats, Integers
from headcount.bounds.bound import FIXED_POINT
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity, root_above
from headcount.bounds.keys.key_support import BoundedKeySupport


def group_sums(bounded: Bounded, labels: Integers, groups: int) -> Bounded:
    """Return the sum of the values in each group; ``labels`` says in which group each value is, and is public.

    Each value is in one group, so sums move by no more in L1 than the values did. All that a user moves may be
    in one group: L∞ is at most L1, and L2 too. And a sum of g values moves by at most g times L∞, its square by at
    most g times the sum of squares, g being the size of the largest group.

    >>> counts = Bounded(np.array([1, 2, 3]), Sensitivity(l1=2, l2_squared=2, linf=1), SEAL)
    >>> group_sums(counts, np.array([1, 0, 1]), 2).sensitivity
    Sensitivity(l1=2, l2_squared=4, linf=2)
    """
    values = _values(bounded)
    if labels.shape != values.shape or (labels.size and (labels.min() < 0 or labels.max() >= groups)):
        raise ValueError(f"labels must name one of {groups} groups for each of {values.size} values")
    there = np.flatnonzero(values)
    sums = np.zeros(groups, dtype=np.int64)
    np.add.at(sums, labels.ravel()[there], values.ravel()[there])
    sensitivity, largest = bounded.sensitivity, int(np.bincount(labels, minlength=1).max())
    return _mapped(
        bounded,
        sums,
        Sensitivity(
            l1=sensitivity.l1,
            l2_squared=min(sensitivity.l1**2, largest * sensitivity.l2_squared),
            linf=min(sensitivity.l1, largest * sensitivity.linf),
        ),
    )


def take_places(bounded: Bounded, places: Sequence[int]) -> Bounded:
    """Take the values at some public places: as :func:`head`, but any.

    >>> counts = Bounded(np.array([4, 7, 9]), Sensitivity(l1=50, l2_squared=50, linf=1), SEAL)
    >>> take_places(counts, [2, 0]).sensitivity
    Sensitivity(l1=2, l2_squared=2, linf=1)
    """
    values = _values(bounded)
    if len(set(places)) != len(places) or not all(0 <= place < values.size for place in places):
        raise ValueError(f"each of {values.size} places may be taken once")
    taken = values[np.array(places, dtype=np.int64)]
    return _mapped(bounded, taken, bounded.sensitivity.of_some(taken.size))


def concatenate_tables(tables: Sequence[Bounded]) -> Bounded:
    """Put tables side by side, as one vector.

    One user may move all of them: distances in L1 add up, and so do squares of those in L2.

    >>> counts = Bounded(np.array([4, 7, 9]), Sensitivity(l1=2, l2_squared=4, linf=2), SEAL)
    >>> concatenate_tables([counts, head(counts, 1)]).sensitivity
    Sensitivity(l1=4, l2_squared=8, linf=2)
    """
    values = [_values(table) for table in tables]
    first, *others = tables
    if any((table.unit, table.admission) != (first.unit, first.admission) for table in others):
        raise ValueError("tables of different units, or of other people, do not go side by side")
    sensitivities = [table.sensitivity for table in tables]
    sensitivity = Sensitivity(
        l1=sum(table.l1 for table in sensitivities),
        l2_squared=sum(table.l2_squared for table in sensitivities),
        linf=max(table.linf for table in sensitivities),
    )
    return _mapped(first, np.concatenate(values), sensitivity)


def take_column(bounded: Bounded, place: int) -> Bounded:
    """Take one column of a table of counts: no user moves it further than the whole table."""
    _values(bounded)
    return _mapped(bounded, bounded.sensitive_values[:, place].copy(), bounded.sensitivity)


def count_distinct(measured: Bounded | BoundedKeySupport) -> Bounded:
    """Return how many different items there are, of each context if there are contexts: those that somebody kept.

    Whole numbers that move by at most l in L1 change between zero and something in l places at most; so the
    numbers of places that are not zero move by at most l in all. A user stands behind at most ``limit`` items of
    a private list, and brings no more new ones. That is no sum over users, but a map of one.

    >>> counts = Bounded(np.array([[1, 0], [2, 3], [0, 0]]), Sensitivity(l1=2, l2_squared=4, linf=2), SEAL)
    >>> count_distinct(counts).sensitive_values, count_distinct(counts).sensitivity.l1
    (array([2, 1]), 2)
    """
    if type(measured) is BoundedKeySupport:
        return Bounded(np.array([len(measured.sensitive_ids)]), Sensitivity.of_l1(measured.limit), SEAL)
    if type(measured) is not Bounded or measured.unit != 1:
        raise TypeError(f"different items are counted of whole records alone, not of {type(measured).__name__}")
    there = np.count_nonzero(measured.sensitive_values, axis=0)
    return _mapped(measured, np.atleast_1d(there).astype(np.int64), Sensitivity.of_l1(measured.sensitivity.l1))


def head(bounded: Bounded, size: int) -> Bounded:
    """Return the first ``size`` values.

    Leaving values out moves nothing further, and k values moved by at most x each, or by y in L2, are moved by at
    most k · x, or √k · y, in L1, and by √k · x in L2.

    >>> counts = Bounded(np.arange(100), Sensitivity(l1=50, l2_squared=90, linf=20), SEAL)
    >>> head(counts, 10).sensitivity
    Sensitivity(l1=30, l2_squared=90, linf=20)
    """
    values = _values(bounded)
    if not 1 <= size <= values.size:
        raise ValueError(f"the head of {values.size} values cannot have {size}")
    return _mapped(bounded, values[:size].copy(), bounded.sensitivity.of_some(size))


def walsh_hadamard(bounded: Bounded) -> Bounded:
    """Return the Walsh-Hadamard coefficients of the values, padded with zeros to n, a power of two.

    They are not divided by √n and so stay whole numbers. They come in order of rising number of sign changes
    (sequency): the first ones hold what is smooth.

    Every coefficient is a sum of all values with signs: it moves by at most the L1 of the values. The matrix is √n
    times an orthonormal one, so L2² grows n-fold. L1 follows as for any n numbers.

    >>> counts = Bounded(np.array([5, 3, 1]), Sensitivity(l1=2, l2_squared=2, linf=1), SEAL)
    >>> walsh_hadamard(counts).sensitive_values, walsh_hadamard(counts).sensitivity
    (array([9, 7, 1, 3]), Sensitivity(l1=6, l2_squared=8, linf=2))
    """
    from headcount.bounds.kernels import walsh_hadamard as transforming

    values = _values(bounded)
    size = power_of_two(values.size)
    natural, coefficients = np.zeros(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    natural[: values.size] = values
    transforming.walsh_hadamard(natural)
    transforming.by_sequency(natural, coefficients)
    return _mapped(bounded, coefficients, walsh_hadamard_sensitivity(bounded.sensitivity, values.size))


def walsh_hadamard_sensitivity(sensitivity: Sensitivity, cells: int) -> Sensitivity:
    """Return how far the Walsh-Hadamard coefficients of so many cells move, if these move so far."""
    size = power_of_two(cells)
    l2_squared = size * sensitivity.l2_squared
    l1 = min(size * sensitivity.l1, root_above(size * l2_squared))
    return Sensitivity(l1, l2_squared, sensitivity.l1)


def inverse_walsh_hadamard(coefficients: Floats, size: int, cells: int) -> Floats:
    """Return the first ``cells`` of ``size`` values from the first released coefficients, the others taken as 0.

    >>> inverse_walsh_hadamard(np.array([9.0, 7.0, 1.0, 3.0]), 4, 3)
    array([5., 3., 1.])
    """
    from headcount.bounds.kernels import walsh_hadamard as transforming

    if size != power_of_two(size) or not max(coefficients.size, cells) <= size:
        raise ValueError(f"{size} is not a power of two, or less than there are coefficients or cells")
    values = np.zeros(size)
    transforming.from_sequency(np.asarray(coefficients, dtype=np.float64), values)
    transforming.walsh_hadamard(values)
    return np.asarray(values[:cells] / size)


def fourier(bounded: Bounded) -> Bounded:
    """Return the real Fourier coefficients of the d values, in 2^-16 of a unit.

    For the published variant alone. They come in the order constant, cos 1, sin 1, cos 2, … The transform is
    orthonormal and keeps L2; rounding moves each coefficient by at most 1/2 with and without a user, so the
    difference by at most 1, and all together by √d in L2. No coefficient moves by more than L2, and L1 is at most
    √d times L2.

    The error of the floating-point transform itself is not included: good enough for the published variant, whose
    claim does not hold anyway, and for nothing else.
    """
    values = _values(bounded)
    spectrum = np.fft.rfft(values)
    ordered = np.empty(2 * spectrum.size)
    ordered[::2], ordered[1::2] = spectrum.real, -spectrum.imag
    # the constant has no sine, nor has the last one where d is even
    coefficients = np.delete(ordered, 1)[: values.size] * _weights(values.size)
    sensitivity = bounded.sensitivity
    r = root_above(FIXED_POINT**2 * sensitivity.l2_squared) + root_above(values.size)
    return Bounded(
        np.rint(coefficients * FIXED_POINT).astype(np.int64),
        Sensitivity(l1=root_above(values.size) * r, l2_squared=r**2, linf=r),
        SEAL,
        unit=bounded.unit * FIXED_POINT,
        admission=bounded.admission,
    )


def inverse_fourier(coefficients: Floats, cells: int) -> Floats:
    """Return the values from the first released coefficients of :func:`fourier`, in records; the others are 0."""
    if not coefficients.size <= cells:
        raise ValueError(f"{cells} values cannot have {coefficients.size} coefficients")
    ordered = np.zeros(2 * (cells // 2 + 1))
    ordered[: coefficients.size] = coefficients / _weights(cells)[: coefficients.size]
    ordered[2:] = ordered[1:-1].copy()  # a place for the sine that the constant does not have
    ordered[1] = 0
    return np.asarray(np.fft.irfft(ordered[::2] - 1j * ordered[1::2], n=cells), dtype=np.float64)


def power_of_two(size: int) -> int:
    """Return the smallest power of two that is not below ``size``.

    >>> [power_of_two(size) for size in (1, 2, 3, 4, 5)]
    [1, 2, 4, 4, 8]
    """
    return 1 << (size - 1).bit_length()


def _weights(size: int) -> Floats:
    """What makes the real Fourier transform orthonormal: √(2/d), but √(1/d) for what has no sine."""
    weights = np.full(size, math.sqrt(2 / size))
    weights[0] = math.sqrt(1 / size)
    if size % 2 == 0:
        weights[-1] = math.sqrt(1 / size)
    return weights


def _values(bounded: Bounded) -> Integers:
    if type(bounded) is not Bounded:
        raise TypeError(f"maps take Bounded values alone, not {type(bounded).__name__}")
    return bounded.sensitive_values.ravel()


def _mapped(bounded: Bounded, values: Integers, sensitivity: Sensitivity) -> Bounded:
    return Bounded(values, sensitivity, SEAL, unit=bounded.unit, admission=bounded.admission)
