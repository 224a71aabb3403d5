"""Synthetic rows drawn from a released pair model, with a value for each bin.

A listed value stands for itself, and everything else is missing. Of a bin of numbers each is as likely as any
other one: whole numbers where the edges are whole.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.random import PCG64, Generator

from headcount._internal.arrays import Integers
from headcount.events.grid import Bins, Grid, NumberBins
from headcount.methods.queries.inference.pair_model import PairModel

MOST_ROWS = 100_000_000


def synthetic_rows(model: PairModel, grid: Grid, number: int, key: bytes) -> pa.Table:
    """Draw so many rows; ``key`` is fresh from the source of noise, hence from the operating system."""
    draw = Generator(PCG64(int.from_bytes(key, "little")))
    bins = model.rows(number, draw)
    return pa.table(
        {
            column_bins.column: values(column_bins, own, draw)
            for column_bins, own in zip(grid.bins, bins, strict=True)
        }
    )


def values(bins: Bins, places: Integers, draw: Generator) -> pa.Array:
    """Return a value of each bin.

    >>> draw = Generator(PCG64(1))
    >>> values(NumberBins("age", (0, 18, 19, 120)), np.array([1, 0, 1]), draw).to_pylist()
    [18, 8, 18]
    """
    if isinstance(bins, NumberBins):
        edges = np.array(bins.edges)
        low, high = edges[:-1][places], edges[1:][places]
        return pa.array(draw.integers(low, high) if bins.is_whole else draw.uniform(low, high))
    listed = pa.array([*bins.values, *([None] if bins.other else [])])
    return listed.take(pa.array(places))
