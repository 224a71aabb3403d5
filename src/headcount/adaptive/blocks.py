"""Block-wise processing of long noisy tables, so that memory follows the block and not the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Floats, Integers

BLOCK = 1 << 15


def blocks(size: int, block_size: int = BLOCK) -> Iterator[slice]:
    """Cut so many places into blocks; the last one may be shorter.

    >>> list(blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, size, block_size):
        yield slice(start, min(start + block_size, size))


@dataclass(frozen=True, eq=False)
class NoisyPair:
    """Two noisy parts of the same counts, with noise of one law, in whole steps of it (or as they are).

    >>> pair = NoisyPair(np.array([1, 2, 3]), np.array([4, 5, 6]), 0.5)
    >>> [part.tolist() for part in pair.part(slice(0, 2))]
    [[0.5, 1.0], [2.0, 2.5]]
    """

    first: Floats | Integers
    second: Floats | Integers
    step: float = 1.0

    @property
    def size(self) -> int:
        """How many counts there are."""
        return int(self.first.size)

    def part(self, where: slice | Integers) -> tuple[Floats, Floats]:
        """Return both parts of some counts."""
        return np.asarray(self.first[where] * self.step), np.asarray(self.second[where] * self.step)
