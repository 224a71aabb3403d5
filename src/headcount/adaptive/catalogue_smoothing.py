"""Catalogue smoothing: segments of the catalogue with similar counts, which are shrunk together.

Most catalogues are in some order: by date of addition, by a code, by category. Then noisy counts say far more of a
segment of neighbours than of any one item, since noise cancels. The order is public. The catalogue is cut where
noisy counts say that levels differ, and segments of about the same level are shrunk together
(:mod:`headcount.adaptive.empirical_bayes`). Where the order says nothing, nothing is cut.

A cut halves a segment, or one of its halves, and so on. Of all ways to cut like that, the one is taken with the
smallest sum of squared deviations from the segments' means, plus a penalty for each segment. Large counts are
clipped before: one popular item is no level.

Only released numbers are used, and the catalogue's order.

Reference
    D. L. Donoho. CART and Best-Ortho-Basis: A Connection. Annals of Statistics 1997 (optimal dyadic partitions).
"""

from __future__ import annotations

import numpy as np

from headcount._internal.arrays import Bytes, Floats, Integers
from headcount.adaptive.posterior import BLOCK, NoisyPair, blocks
from headcount.adaptive.priors import PRIORS, LevelPriors

Places = Integers


def group_by_level(pair: NoisyPair, deviation: float, ratio: float, priors: LevelPriors = PRIORS.levels) -> Bytes:
    """Return a number for each item: items with the same number are shrunk together.

    Counts of light and of heavy users have noise of that deviation; heavy ones are scaled up by ``ratio``.

    >>> rng = np.random.default_rng(1)
    >>> counts = np.repeat([9.0, 0.5], [1_000, 3_000])
    >>> pair = NoisyPair(counts + rng.laplace(0, 4, 4_000), rng.laplace(0, 4, 4_000))
    >>> np.bincount(group_by_level(pair, 5.7, 1.0)).tolist()
    [2976, 1024]
    """
    if pair.size < 2 * priors.min_group_items:  # too few for two groups
        return np.zeros(pair.size, dtype=np.uint8)
    run = max(priors.min_segment, -(-pair.size // priors.max_runs))
    sums, sizes, spread = _sum_runs(pair, deviation, run, priors.max_deviations)
    labels = _best_partition(sums / np.sqrt(spread), sizes, priors)
    lengths = np.asarray(np.bincount(labels, weights=sizes), dtype=np.float64)
    levels = np.asarray(np.bincount(labels, weights=sums[:, 0] + ratio * sums[:, 1]), dtype=np.float64) / lengths
    groups = _merge_levels(levels, lengths, priors).astype(np.uint8)  # levels so far apart are few
    return np.repeat(groups[labels], run)[: pair.size]


def _sum_runs(pair: NoisyPair, deviation: float, run: int, max_deviations: float) -> tuple[Floats, Floats, Floats]:
    """Return the sums of runs of neighbours, one column a part, how many items each has, and how counts spread.

    The spread is a variance, from how much one count differs from the next.
    """
    sums, squares, before = [], np.zeros(2), np.empty((2, 0))
    for where in blocks(pair.size, run * max(BLOCK // run, 1)):
        parts = np.clip(np.stack(pair.part(where)) / deviation, -max_deviations, max_deviations)
        sums.append(np.add.reduceat(parts, np.arange(0, parts.shape[1], run), axis=1).T)
        squares += np.square(np.diff(parts, prepend=before)).sum(axis=1)
        before = parts[:, -1:]
    sizes = np.full(-(-pair.size // run), float(run))
    sizes[-1] -= sizes.sum() - pair.size
    steps = pair.size - 1
    spread = np.maximum(squares / steps / 2, 1e-9) if steps else np.ones(2)
    return np.concatenate(sums), sizes, np.asarray(spread)


def _best_partition(sums: Floats, sizes: Floats, priors: LevelPriors = PRIORS.levels) -> Places:
    """Cut runs of neighbours into segments in the best way; return the number of each run's segment."""
    whole = 1 << max(int(sizes.size - 1).bit_length(), 0)
    sums = np.pad(sums, ((0, whole - sizes.size), (0, 0)))
    few_at_the_end = sizes.size > 1 and sizes[-1] < priors.min_segment  # they are no segment of their own
    sizes, length = np.pad(sizes, (0, whole - sizes.size)), sizes.size
    best, cuts = _cost(sums, sizes, priors.segment_penalty), []
    while sums.shape[0] > 1:
        sums, sizes = sums[0::2] + sums[1::2], sizes[0::2] + sizes[1::2]
        apart, together = best[0::2] + best[1::2], _cost(sums, sizes, priors.segment_penalty)
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


def _cost(sums: Floats, sizes: Floats, penalty: float) -> Floats:
    """Return the cost of each segment, without the squares that all ways to cut have in common."""
    explained = np.divide((sums**2).sum(axis=1), sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return np.asarray(np.where(sizes > 0, penalty - explained, 0.0))


def _merge_levels(levels: Floats, sizes: Floats, priors: LevelPriors = PRIORS.levels) -> Places:
    """Put segments of about the same level together, so that every group has enough items.

    >>> _merge_levels(np.array([1.0, 10.0, 1.1]), np.array([300.0, 300.0, 300.0])).tolist()
    [0, 1, 0]
    """
    lowest = max(float(levels.max()) * priors.lowest_level, 1e-9)
    heights = np.maximum(levels, lowest)
    groups = np.zeros(levels.size, dtype=np.int64)
    group, group_items, first = 0, 0.0, None
    for place in np.argsort(heights, kind="stable"):
        if (
            first is not None
            and group_items >= priors.min_group_items
            and heights[place] > priors.min_level_ratio * first
        ):
            group, group_items, first = group + 1, 0.0, None
        first = heights[place] if first is None else first
        groups[place] = group
        group_items += sizes[place]
    if group_items < priors.min_group_items and group > 0:
        groups[groups == group] = group - 1
    return groups
