"""Grouping and smoothing: columns with a common mean, and the best group size from a noisy sample.

GS puts columns of similar counts into groups of w and releases one noisy mean for each group. A large w smooths
away the differences within a group; a small one leaves more noise on every mean. GS weighs the two on a noisy
sample t_s that is paid for already: it takes c̃ = M · t_s for the truth, simulates the release for every w, and
keeps the w with the smallest Σ |c̃ - t̃_w|.

Everything here is post-processing of released numbers. The simulated noise and the random order protect nobody;
they are fixed functions of a key, so that a choice can be repeated.

Departures from the paper
    Noise lies on a group's sum, so a mean gets it divided by the group's own size; the paper divides by w even in
    the last group, which may be larger. Of equally good sizes the smallest is taken.

Reference
    G. Kellaris, S. Papadopoulos. Practical Differential Privacy via Grouping and Smoothing. VLDB 2013, figures
    2, 4 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Integers
from headcount._internal.threads import parallel_map
from headcount.bounds import draws
from headcount.methods.counts.smoothing import kernels

_THREADS = 2
_FEW_COLUMNS = 1 << 10
_PIECES = 64  # ranges of sizes with equally many groups; a free thread takes the next one


@dataclass(frozen=True, eq=False)
class Groups:
    """Columns dealt to groups: ⌊d/w⌋ runs of ``size`` (w) along the order, what remains joins the last one.

    ``size`` is at least 1 and at most d; :meth:`by_size` takes any limit.

    >>> groups = Groups(order=np.array([3, 0, 4, 1, 2]), size=2)
    >>> groups.sizes.tolist(), groups.labels.tolist()
    ([2, 3], [0, 1, 1, 0, 1])
    """

    order: Integers
    size: int

    @classmethod
    def by_size(cls, order: Integers, size: int) -> Groups:
        """Group by ``size``, or everything into one group if there are fewer columns than that."""
        return cls(order, min(size, order.size))

    @property
    def count(self) -> int:
        """How many groups there are."""
        return self.order.size // self.size

    @property
    def sizes(self) -> Integers:
        """How many columns each group has."""
        sizes = np.full(self.count, self.size, dtype=np.int64)
        sizes[-1] += self.order.size % self.size
        return sizes

    @cached_property
    def labels(self) -> Integers:
        """The group of each column, so that ``np.bincount(labels, values)`` gives the groups' sums."""
        labels = np.empty(self.order.size, dtype=np.int64)
        labels[self.order] = np.minimum(np.arange(self.order.size) // self.size, self.count - 1)
        return labels

    def spread(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put the value of each group on each of its columns.

        >>> Groups(order=np.array([2, 0, 1]), size=1).spread(np.array([0.5, 1.5, 2.5])).tolist()
        [1.5, 2.5, 0.5]
        """
        return values[self.labels]


def random_order(d: int, key: bytes) -> Integers:
    """Return a uniformly random order of d columns that depends on the 16-byte key alone (GS-R).

    It protects nobody: GS-R is private whatever the order, as long as it does not depend on the counts.
    """
    k0, k1 = np.frombuffer(key, dtype="<u8").astype(np.uint64)[:, None]
    start = draws.mix(draws.mix(k0) + k1)  # as the simulated noise of size 0, which does not exist
    tickets = draws.mix(start + np.arange(1, d + 1, dtype=np.uint64) * np.uint64(draws.GOLDEN))
    return np.argsort(tickets, kind="stable").astype(np.int64)


def order_by(noisy: Integers) -> Integers:
    """Return the columns from the smallest noisy count to the largest, equal ones by column.

    >>> order_by(np.array([4, -1, 4, 0])).tolist()
    [1, 3, 0, 2]
    """
    return np.argsort(noisy, kind="stable").astype(np.int64)


def best_size(noisy: Integers, limit: int, scale: float, key: bytes) -> int:
    """Return GS's group size: of all w from 1 to d the one with the smallest error, the smallest of equals.

    >>> best_size(np.array([0, 900, 1, 901, 2, 902]), limit=1, scale=300.0, key=bytes(16))
    3
    """
    return int(np.argmin(size_errors(noisy, limit, scale, key))) + 1


def size_errors(noisy: Integers, limit: int, scale: float, key: bytes) -> NDArray[np.float64]:
    """Return Σ |c̃ - t̃_w| for every w, that of w at w - 1, where c̃ is ``limit`` times the noisy sample t_s.

    ``scale`` is that of the noise on a group's sum of c̃: 2 · limit / ε. The noise is a fixed function of the key
    (16 bytes), w and the group's number; it is simulated and protects nobody. Sums are exact as long as Σ |t_s|
    stays below 2^61, far above any number of people.
    """
    values, times = np.unique(noisy, return_counts=True)
    places = np.repeat(np.arange(values.size, dtype=np.int32), times)
    firsts, prefix = _sums(times), _sums(values[places])
    k0, k1 = np.frombuffer(key, dtype="<u8").astype(np.uint64)
    errors = np.empty(noisy.size)

    def search(first: int, last: int) -> None:
        kernels.size_errors(values, firsts, places, prefix, limit, scale / limit, k0, k1, first, last, errors)

    borders = _borders(noisy.size)
    with parallel_map(_THREADS, few=noisy.size < _FEW_COLUMNS) as map_threads:
        list(map_threads(search, borders[:-1], borders[1:]))
    return errors


def _sums(values: Integers) -> Integers:
    """Return the sums of no value, of the first one, of the first two and so on.

    >>> _sums(np.array([3, -1, 5])).tolist()
    [0, 3, 2, 7]
    """
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(values, dtype=np.int64)])


def _borders(d: int) -> list[int]:
    """Cut the sizes from 1 to d into ranges of about equally many groups: sizes from a to b have d · ln(b/a)."""
    return [int(border) for border in np.unique(np.rint(np.geomspace(1, d + 1, _PIECES + 1)))]
