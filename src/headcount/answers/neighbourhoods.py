"""Which items of a catalogue to judge together: neighbours are alike where the order says something.

Most catalogues are in some order: by the date an item was added, by a code, by a kind. Then noisy counts say far
more of a stretch of neighbours than of any one item: noise cancels. The order is public, and here it is put to
use: the catalogue is cut where the noisy counts say that levels differ, and stretches of about the same level are
judged together (:mod:`headcount.answers.shrinkage`). Where the order says nothing, nothing is cut.

A cut halves a stretch, or one of its halves, and so on; of all ways to cut like that, the one is taken with the
smallest sum of squared deviations from the stretches' means, plus a price for each stretch. Large counts are cut
down before: one popular item is no level.

Only released numbers are used, and the catalogue's order.

Reference
    D. L. Donoho. CART and Best-Ortho-Basis: A Connection. Annals of Statistics 1997 (optimal dyadic partitions).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount.arrays import Floats

_PRICE = 10.0  # of a stretch, in variances: chance alone cuts one in 150 places
_FURTHEST = 6.0  # deviations of noise: counts beyond are taken for that
_SHORTEST = 8
_MOST_BLOCKS = 1 << 20
_FEWEST = 200  # items whose spread can be learnt
_LEVELS_DIFFER = 1.6
_LOWEST_LEVEL = 1 / 200  # of the highest

Places = NDArray[np.int64]


def kinds_of(light: Floats, heavy: Floats, deviation: float, ratio: float) -> Places:
    """Return a number for each item: items with the same number are judged together.

    ``light`` and ``heavy`` have noise of that deviation; ``ratio`` is how much more a heavy count stands for.

    >>> rng = np.random.default_rng(1)
    >>> counts = np.repeat([9.0, 0.5], [1_000, 3_000])
    >>> kinds = kinds_of(counts + rng.laplace(0, 4, 4_000), rng.laplace(0, 4, 4_000), 5.7, 1.0)
    >>> np.bincount(kinds).tolist()
    [2976, 1024]
    """
    parts = [np.clip(each / deviation, -_FURTHEST, _FURTHEST) for each in (light, heavy)]
    block = max(_SHORTEST, -(-light.size // _MOST_BLOCKS))
    sums, sizes = _blocks(parts, block)
    spread = [max(float(np.square(np.diff(each)).mean() / 2), 1e-9) if each.size > 1 else 1.0 for each in parts]
    labels = _stretches(sums / np.sqrt(spread), sizes)
    lengths = np.asarray(np.bincount(labels, weights=sizes), dtype=np.float64)
    levels = np.asarray(np.bincount(labels, weights=sums[:, 0] + ratio * sums[:, 1]), dtype=np.float64) / lengths
    kinds = _kinds(levels, lengths)
    return np.repeat(kinds[labels], block)[: light.size]


def _blocks(parts: list[Floats], block: int) -> tuple[Floats, Floats]:
    """Return the sums of runs of ``block`` neighbours, one column a part, and how many items each run has."""
    starts = np.arange(0, parts[0].size, block)
    sums = np.stack([np.add.reduceat(each, starts) for each in parts], axis=1)
    return sums, np.diff(np.append(starts, parts[0].size)).astype(np.float64)


def _stretches(sums: Floats, sizes: Floats) -> Places:
    """Cut runs of neighbours into stretches in the best way; return the number of each run's stretch."""
    whole = 1 << max(int(sizes.size - 1).bit_length(), 0)
    sums = np.pad(sums, ((0, whole - sizes.size), (0, 0)))
    sizes, length = np.pad(sizes, (0, whole - sizes.size)), sizes.size
    best, cuts = _cost(sums, sizes), []
    while sums.shape[0] > 1:
        sums, sizes = sums[0::2] + sums[1::2], sizes[0::2] + sizes[1::2]
        apart, together = best[0::2] + best[1::2], _cost(sums, sizes)
        cuts.append(apart < together)
        best = np.minimum(apart, together)
    starts, inside = np.zeros(1, dtype=bool), np.ones(1, dtype=bool)
    starts[0] = True
    for cut in reversed(cuts):
        inside = np.repeat(inside & cut, 2)
        starts = np.stack([starts, np.zeros_like(starts)], axis=1).ravel()
        starts[1::2] |= inside[1::2]
    return np.cumsum(starts[:length]) - 1


def _cost(sums: Floats, sizes: Floats) -> Floats:
    """Return what each stretch costs, but for the squares that all ways to cut have in common."""
    explained = np.divide((sums**2).sum(axis=1), sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return np.asarray(np.where(sizes > 0, _PRICE - explained, 0.0))


def _kinds(levels: Floats, sizes: Floats) -> Places:
    """Put stretches of about the same level together, so that every kind has enough items.

    >>> _kinds(np.array([1.0, 10.0, 1.1]), np.array([300.0, 300.0, 300.0])).tolist()
    [0, 1, 0]
    """
    lowest = max(float(levels.max()) * _LOWEST_LEVEL, 1e-9)
    heights = np.maximum(levels, lowest)
    kinds = np.zeros(levels.size, dtype=np.int64)
    kind, held, first = 0, 0.0, None
    for place in np.argsort(heights, kind="stable"):
        if first is not None and held >= _FEWEST and heights[place] > _LEVELS_DIFFER * first:
            kind, held, first = kind + 1, 0.0, None
        first = heights[place] if first is None else first
        kinds[place] = kind
        held += sizes[place]
    if held < _FEWEST and kind > 0:
        kinds[kinds == kind] = kind - 1
    return kinds
