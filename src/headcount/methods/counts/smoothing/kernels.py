"""Compiled search for GS's group size: the error of smoothing and simulated noise for every size.

With the counts sorted and their prefix sums at hand, a group costs one binary search: the counts below its noisy
mean and those above it are two runs, and the sum of each run is a difference of prefix sums. Size w has ⌊d/w⌋
groups, so all d sizes cost O(d log² d) instead of O(d²). Noisy counts of a sample repeat a lot, so the search goes
over the different ones alone, which stay in the processor's cache; most groups have just one or two of them.

Counts are whole numbers, so a mean is held as a whole number and the rest, between -1/2 and 1/2. Distances to the
whole number are summed exactly; floating point has to hold the small rest alone, whatever the size of the counts.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Integers
from headcount._internal.compiled import Word, compiled, inlined, uint64
from headcount.bounds.kernels.draws import GOLDEN, mix


@inlined
def stream(k0: Word, k1: Word, size: Word) -> Word:
    """Return where the simulated noise of one group size starts."""
    return mix(mix(k0 + uint64(size) * GOLDEN) + k1)


@inlined
def simulated_laplace(start: Word, group: Word) -> Word:
    """Return one simulated value of scale 1, the inverse CDF at u = (53 random bits + 1/2) / 2^53.

    It protects nobody. u stands nearer to 0 or to 1; taking that distance in whole numbers keeps u off both.
    """
    bits = np.int64(mix(start + uint64(group + 1) * GOLDEN) >> uint64(11))
    nearer = min(bits, np.int64((1 << 53) - 1) - bits)
    value = math.log((2 * nearer + 1) * 2.0**-53)
    return value if bits < np.int64(1 << 52) else -value


@inlined
def _first_from(bar: Word, values: Integers, low: Word, high: Word) -> Word:
    """Return the first place in [low, high) whose value is at least ``bar``, or ``high``."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < bar:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def size_errors(
    values: Integers, firsts: Integers, places: NDArray[np.int32], prefix: Integers, limit: Word, scale: Word,
    k0: Word, k1: Word, first: Word, last: Word, errors: NDArray[np.float64],
) -> None:  # fmt: skip
    """Write the error of every group size from ``first`` to before ``last``; that of size w stands at w - 1.

    ``values`` are the different noisy counts of the sample, ``firsts`` tells where each begins among the sorted
    columns, then d; ``places`` is the place of each sorted column in ``values``, ``prefix`` the sums of the sorted
    counts from 0 on. ``scale`` is that of the simulated noise on a group's sum of them; in the end every error
    is multiplied by ``limit``.
    """
    for size in range(first, last):
        start = stream(k0, k1, size)
        groups = places.size // size
        whole, rest = np.int64(0), 0.0
        for group in range(groups):
            begin = group * size
            end = begin + size if group < groups - 1 else places.size
            members, total = end - begin, prefix[end] - prefix[begin]
            floor = total // members
            beyond = (total - floor * members + scale * simulated_laplace(start, group)) / members
            nearest = np.rint(beyond)
            mean, part = floor + np.int64(nearest), beyond - nearest
            bar = mean + 1 if part >= 0 else mean
            first_above = _first_from(bar, values, np.int64(places[begin]), np.int64(places[end - 1]) + 1)
            # a run of equal counts may reach into the groups beside this one
            split: Word = min(max(firsts[first_above], begin), end)
            more_below = 2 * (split - begin) - members
            # the distances to the mean: counts above it less those below it
            whole += mean * more_below + prefix[end] + prefix[begin] - 2 * prefix[split]
            rest += part * more_below
        errors[size - 1] = limit * (whole + rest)
