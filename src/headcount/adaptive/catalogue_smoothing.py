"""Catalogue smoothing: segments of the catalogue with similar counts, which are shrunk together.

Most catalogues are in some order: by the date an item was added, by a code, by a kind. Then noisy counts say far
more of a stretch of neighbours than of any one item: noise cancels. The order is public, and here it is put to
use: the catalogue is cut where the noisy counts say that levels differ, and stretches of about the same level are
judged together (:mod:`headcount.adaptive.empirical_bayes`). Where the order says nothing, nothing is cut.

A cut halves a stretch, or one of its halves, and so on; of all ways to cut like that, the one is taken with the
smallest sum of squared deviations from the stretches' means, plus a price for each stretch. Large counts are cut
down before: one popular item is no level.

Only released numbers are used, and the catalogue's order.

Reference
    D. L. Donoho. CART and Best-Ortho-Basis: A Connection. Annals of Statistics 1997 (optimal dyadic partitions).
"""

from __future__ import annotations

import numpy as np

from headcount._internal.arrays import Bytes, Floats, Integers
from headcount.adaptive.blocks import BLOCK, NoisyPair, blocks

_SEGMENT_PENALTY = 8.0  # of a stretch, in variances: chance alone cuts one in 55 places
_MAX_DEVIATIONS = 6.0  # deviations of noise: counts beyond are taken for that
_MIN_SEGMENT = 8
_MAX_RUNS = 1 << 20
_MIN_GROUP_ITEMS = 100  # items whose spread can be learnt
_MIN_LEVEL_RATIO = 1.6
_LOWEST_LEVEL = 1 / 200  # of the highest

Places = Integers


def group_by_level(pair: NoisyPair, deviation: float, ratio: float) -> Bytes:
    """Return a number for each item: items with the same number are judged together.

    Counts of light and of heavy users have noise of that deviation; ``ratio`` is how much more a heavy one stands
    for.

    >>> rng = np.random.default_rng(1)
    >>> counts = np.repeat([9.0, 0.5], [1_000, 3_000])
    >>> pair = NoisyPair(counts + rng.laplace(0, 4, 4_000), rng.laplace(0, 4, 4_000))
    >>> np.bincount(group_by_level(pair, 5.7, 1.0)).tolist()
    [2976, 1024]
    """
    if pair.size < 2 * _MIN_GROUP_ITEMS:  # too few for two kinds
        return np.zeros(pair.size, dtype=np.uint8)
    run = max(_MIN_SEGMENT, -(-pair.size // _MAX_RUNS))
    sums, sizes, spread = _sum_runs(pair, deviation, run)
    labels = _best_partition(sums / np.sqrt(spread), sizes)
    lengths = np.asarray(np.bincount(labels, weights=sizes), dtype=np.float64)
    levels = np.asarray(np.bincount(labels, weights=sums[:, 0] + ratio * sums[:, 1]), dtype=np.float64) / lengths
    groups = _merge_levels(levels, lengths).astype(np.uint8)  # levels so far apart are few
    return np.repeat(groups[labels], run)[: pair.size]


def _sum_runs(pair: NoisyPair, deviation: float, run: int) -> tuple[Floats, Floats, Floats]:
    """Return the sums of runs of neighbours, one column a part, how many items each has, and how counts spread.

    The spread is a variance, from how much one count differs from the next.
    """
    sums, squares, before = [], np.zeros(2), np.empty((2, 0))
    for where in blocks(pair.size, run * max(BLOCK // run, 1)):
        parts = np.clip(np.stack(pair.part(where)) / deviation, -_MAX_DEVIATIONS, _MAX_DEVIATIONS)
        sums.append(np.add.reduceat(parts, np.arange(0, parts.shape[1], run), axis=1).T)
        squares += np.square(np.diff(parts, prepend=before)).sum(axis=1)
        before = parts[:, -1:]
    sizes = np.full(-(-pair.size // run), float(run))
    sizes[-1] -= sizes.sum() - pair.size
    steps = pair.size - 1
    spread = np.maximum(squares / steps / 2, 1e-9) if steps else np.ones(2)
    return np.concatenate(sums), sizes, np.asarray(spread)


def _best_partition(sums: Floats, sizes: Floats) -> Places:
    """Cut runs of neighbours into stretches in the best way; return the number of each run's stretch."""
    whole = 1 << max(int(sizes.size - 1).bit_length(), 0)
    sums = np.pad(sums, ((0, whole - sizes.size), (0, 0)))
    few_at_the_end = sizes.size > 1 and sizes[-1] < _MIN_SEGMENT  # they are no stretch of their own
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
    if few_at_the_end:
        starts[length - 1] = False
    return np.cumsum(starts[:length]) - 1


def _cost(sums: Floats, sizes: Floats) -> Floats:
    """Return what each stretch costs, but for the squares that all ways to cut have in common."""
    explained = np.divide((sums**2).sum(axis=1), sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return np.asarray(np.where(sizes > 0, _SEGMENT_PENALTY - explained, 0.0))


def _merge_levels(levels: Floats, sizes: Floats) -> Places:
    """Put stretches of about the same level together, so that every kind has enough items.

    >>> _merge_levels(np.array([1.0, 10.0, 1.1]), np.array([300.0, 300.0, 300.0])).tolist()
    [0, 1, 0]
    """
    lowest = max(float(levels.max()) * _LOWEST_LEVEL, 1e-9)
    heights = np.maximum(levels, lowest)
    groups = np.zeros(levels.size, dtype=np.int64)
    group, group_items, first = 0, 0.0, None
    for place in np.argsort(heights, kind="stable"):
        if first is not None and group_items >= _MIN_GROUP_ITEMS and heights[place] > _MIN_LEVEL_RATIO * first:
            group, group_items, first = group + 1, 0.0, None
        first = heights[place] if first is None else first
        groups[place] = group
        group_items += sizes[place]
    if group_items < _MIN_GROUP_ITEMS and group > 0:
        groups[groups == group] = group - 1
    return groups
