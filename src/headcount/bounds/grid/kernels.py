"""Compiled sums of grid cells for linear queries: packed bits, eight cells at a time.

Rows are packed by blocks of eight cells: ``bits[block, query]`` says which of the cells from 8 · block on a query
asks for. For each block the sums of all 256 choices of its cells are worked out once; a query then takes
one look-up a block. So thousands of queries cost about what hundreds would, one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Bytes, Integers
from headcount._internal.compiled import compiled


@compiled
def packed_sums(bits: Bytes, values: NDArray[Any], first: int, out: NDArray[Any]) -> None:
    """Add to ``out`` the sums of every query over the cells from block ``first`` on; ``values`` are padded.

    Whole numbers are added up exactly.
    """
    table = np.zeros(256, dtype=values.dtype)
    for block in range(bits.shape[0]):
        for choice in range(1, 256):  # what it holds beyond its lowest cell, and that cell
            lowest = 0
            while not (choice >> lowest) & 1:
                lowest += 1
            table[choice] = table[choice & (choice - 1)] + values[8 * (first + block) + lowest]
        for query in range(bits.shape[1]):
            out[query] += table[bits[block, query]]


@compiled
def count_cells(bits: Bytes, out: Integers) -> None:
    """Count the cells of every query."""
    for block in range(bits.shape[0]):
        for query in range(bits.shape[1]):
            choice = bits[block, query]
            while choice:
                out[query] += 1
                choice &= choice - 1
