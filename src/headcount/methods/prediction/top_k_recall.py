"""Expected recall of a private top K, by selection or by counts, from released activity alone.

What is known is how active people are, how many items there are, and the law of the noise. How popular items are
is modelled by the usual law (:mod:`headcount.methods.prediction.popularity`). Each item then has a count, and a
law of what it comes out as; a ranking lists those above some line, K of them on average. What tells both ways
apart is not spread alone: Gumbel noise has a longer tail, which lifts some of very many unpopular items over the
line, while counts are misjudged by what scaling up gets wrong, the more the larger they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from headcount._internal.arrays import Floats
from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.adaptive.scale_up import Norm, weights
from headcount.adaptive.threshold_choice import expected_records, scale_up_error, some_ranks
from headcount.methods.prediction.popularity import POPULARITY_MODELS

_STEPS = 60  # halvings of the range that the line is looked for in
_erfc = np.frompyfunc(math.erfc, 1, 1)

Above = Callable[[float], Floats]
"""The probability of each item to come out above a line."""


def recall_by_selection(activity: EstimatedActivity, cells: int, k: int, scale: float) -> float:
    """Return the share of the top K among ``cells`` items that picks with Gumbel noise of that scale find.

    >>> activity = EstimatedActivity(np.array([10.0]), np.array([5_000.0]))
    >>> [round(recall_by_selection(activity, 1_000, 20, scale), 2) for scale in (1, 30, 10_000)]
    [1.0, 0.8, 0.02]
    """
    copies, popularities = _model_popularities(cells)
    counts = expected_records(activity, popularities, distinct=True) @ activity.users
    return _expected_recall(
        copies, k, lambda line: -np.expm1(-np.exp(np.minimum((counts - line) / scale, 50.0))), counts, scale
    )


def recall_by_counts(
    activity: EstimatedActivity, cells: int, k: int, limit: int, deviation: float, norm: Norm
) -> float:
    """Return the share that counts under a limit find, with noise of that deviation on light and heavy users each.

    >>> activity = EstimatedActivity(np.array([10.0]), np.array([5_000.0]))
    >>> [round(recall_by_counts(activity, 1_000, 20, 16, deviation, "l2"), 2) for deviation in (1, 30, 10_000)]
    [1.0, 0.87, 0.02]
    """
    copies, popularities = _model_popularities(cells)
    light, heavy = activity.within(limit), activity.above(limit)
    counts = expected_records(light, popularities, distinct=True) @ light.users
    variances = np.full(counts.size, deviation**2)
    if heavy.total_users > 0:
        expected = expected_records(heavy, popularities, distinct=True)
        full = expected @ heavy.users
        ratios = full / np.maximum(expected @ (heavy.users * weights(heavy.records, limit, norm)), 1e-300)
        variances += (ratios * deviation) ** 2 + scale_up_error(heavy, full, norm)
        counts = counts + full
    spread = np.sqrt(2 * variances)
    return _expected_recall(
        copies, k, lambda line: _erfc((line - counts) / spread).astype(np.float64) / 2, counts, float(spread.max())
    )


def _model_popularities(cells: int) -> tuple[Floats, Floats]:
    """Return how many items share each popularity, and each of them."""
    ranks, copies = some_ranks(cells)
    shift, exponent = POPULARITY_MODELS["usual"]
    weights_by_rank = (ranks + shift) ** -exponent
    return copies, weights_by_rank / (copies @ weights_by_rank)


def _expected_recall(copies: Floats, k: int, above: Above, counts: Floats, scale: float) -> float:
    """Find the line that K items are expected above, and return how many of these are of the true top K."""
    low, high = float(counts.min()) - 50 * scale, float(counts.max()) + 50 * scale
    for _ in range(_STEPS):
        line = (low + high) / 2
        low, high = (line, high) if copies @ above(line) > k else (low, line)
    before = np.cumsum(copies) - copies
    best = np.clip(k - before, 0.0, copies)
    return float(best @ above(low)) / k
