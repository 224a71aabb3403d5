"""Calibration of shrunken counts: factors that bring them to the noisy sums and the released activity.

Posterior means need not sum to what noisy counts sum to, though noise cancels in a sum.
"""

from __future__ import annotations

import numpy as np

from headcount._internal.arrays import Floats
from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.adaptive.scale_up import Norm, weights

_SUM_DEVIATION = 0.3  # how far shrunken counts of a kind may be off in sum, relatively


def calibrate_sums(shrunk: Floats, noisy: Floats, variances: Floats) -> Floats:
    """Return what brings shrunken counts of a kind towards what their noisy counts sum to, by precision."""
    precisions = 1 / variances, 1 / ((_SUM_DEVIATION * shrunk) ** 2 + 1e-9)
    totals = (noisy * precisions[0] + shrunk * precisions[1]) / (precisions[0] + precisions[1])
    return np.divide(np.maximum(totals, 0.0), shrunk, out=np.ones_like(shrunk), where=shrunk > 0)


def calibrate_total(
    shrunk: float, noisy: float, variance: float, group: EstimatedActivity, limit: int, norm: Norm
) -> float:
    """Return what brings shrunken counts to their total: by precision, as noisy counts and the activity have it.

    Posterior means need not sum to what the noisy counts sum to, though noise cancels in a sum.
    """
    expected, deviation = group.sum_of(weights(group.records, limit, norm) * group.records)
    precisions = 1 / variance, 1 / (deviation + 1) ** 2
    total = (noisy * precisions[0] + expected * precisions[1]) / sum(precisions)
    return max(total, 0.0) / shrunk if shrunk > 0 else 1.0
