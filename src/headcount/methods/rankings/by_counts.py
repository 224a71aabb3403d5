"""Ranking by noisy counts: used for many places, when repeated selection would be noisier.

All counts are released at once, as the adaptive method (:mod:`headcount.methods.counts.adaptive`) does it, and
ranked. Their noise grows with how active people are, but not with the number of places. That of peeling grows
with the number of places, but not with activity. A released histogram of activity tells which is smaller; with δ,
which is expected to find more of the top K (:func:`recall_by_counts`). Rankings of several
contexts have a way of their own: :mod:`headcount.methods.rankings.by_context`.

Expected recall (:func:`recall_by_selection`, :func:`recall_by_counts`): activity, the number of items and the
distribution of the noise are known. Popularity is modelled (:mod:`headcount.methods.prediction.popularity`).
Each item then has a count, and a distribution of its noisy value; a ranking lists those above some line, K of
them on average. Gumbel noise has a longer tail, which lifts some of very many unpopular items over the line,
while counts have the error of scaling up, the more the larger they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Floats
from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.adaptive.activity_histogram import EstimatedActivity, UserEstimates
from headcount.adaptive.estimator import counts_from
from headcount.adaptive.measure import add_group_noise
from headcount.adaptive.scale_up import Norm, mean_ratio, weights
from headcount.adaptive.threshold_choice import (
    choose_threshold,
    estimate_users,
    expected_records,
    scale_up_error,
    some_ranks,
    threshold_noise,
)
from headcount.bounds import Noisy, WeightToThreshold
from headcount.engines.engine import Engine
from headcount.events.log import EventLog
from headcount.methods.prediction.popularity import POPULARITY_MODELS
from headcount.methods.rankings.ranking import Ranked, best
from headcount.noise import NoiseSource, noise_norm

_RECALL_TOLERANCE = 0.005
"""The model does not tell such shares apart. Counts are taken then: they tell how many people there are, too."""

_STEPS = 60  # halvings of the range that the line is looked for in
_erfc = np.frompyfunc(math.erfc, 1, 1)

Above = Callable[[float], Floats]
"""The probability of each item to come out above a line."""


@dataclass(frozen=True)
class ByCounts:
    """The plan of a ranking by counts: which limit, and how noisy its counts will be, each group by its own."""

    people: UserEstimates
    limit: int
    own: float
    norm: Norm

    @classmethod
    def plan(cls, log: EventLog, histogram: Noisy, cost: Cost) -> ByCounts:
        """Plan with a released histogram of activity, for counts at a price."""
        norm = noise_norm(cost)
        users = estimate_users(log, "items", histogram, norm)
        limit = choose_threshold(log, {"items": users}, {"items": cost})
        return cls(users, limit, threshold_noise(limit, cost, log.counting).variance ** 0.5, norm)

    @property
    def deviation(self) -> float:
        """How far noise puts a count off: that of light users, and of heavy ones, scaled up."""
        return self.own * math.hypot(1, mean_ratio(self.people.estimated.above(self.limit), self.limit, self.norm))

    @property
    def apart(self) -> float:
        """How many people apart two items are when noise swaps them one time in six: a deviation of both."""
        return math.sqrt(2) * self.deviation

    def pays(self, deviation: float) -> bool:
        """Say whether counts are less noisy than peeling with noise of that deviation."""
        return self.deviation < deviation

    def find_more(self, log: EventLog, k: int, scale: float) -> bool:
        """Say whether counts are expected to find as much of the top K, nearly, as picks with noise of a scale."""
        setting = self.people.estimated, len(log.catalogue.ids), k
        return (
            recall_by_counts(*setting, self.limit, self.own, self.norm)
            >= recall_by_selection(*setting, scale) - _RECALL_TOLERANCE
        )

    def rank(
        self, log: EventLog, k: int, grant: Grant, noise: NoiseSource, engine: Engine
    ) -> tuple[Ranked, NoiseDistribution]:
        """Spend the grant on all counts, and return the best, and the law of the noise."""
        bound = WeightToThreshold(self.limit, self.norm, apart=True)
        noisy = add_group_noise(engine.measure(log, bound, noise.key()).items, grant, noise)
        return best(counts_from(noisy, self.people, bound), k), noisy.distribution


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
