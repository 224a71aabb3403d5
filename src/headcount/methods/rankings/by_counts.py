"""Ranking by noisy counts: used for many places, when repeated selection would be noisier.

All counts are released at once, as the adaptive method (:mod:`headcount.methods.counts.adaptive`) does it, and
ranked. Their noise grows with how active people are, but not with the number of places. That of peeling grows
with the number of places, but not with activity. A released histogram of activity tells which is smaller; with δ,
which is expected to find more of the top K (:mod:`headcount.methods.prediction.top_k_recall`). Rankings of several
contexts have a way of their own: :mod:`headcount.methods.rankings.by_context`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.adaptive.activity_histogram import UserEstimates
from headcount.adaptive.estimator import counts_from
from headcount.adaptive.measure import add_group_noise
from headcount.adaptive.scale_up import Norm, mean_ratio
from headcount.adaptive.threshold_choice import choose_threshold, estimate_users, threshold_noise
from headcount.bounds import Noisy, WeightToThreshold
from headcount.engines.engine import Engine
from headcount.events.log import EventLog
from headcount.methods.prediction.top_k_recall import recall_by_counts, recall_by_selection
from headcount.methods.rankings.ranking import Ranked, best
from headcount.noise import NoiseSource, noise_norm

_RECALL_TOLERANCE = 0.005
"""The model does not tell such shares apart. Counts are taken then: they tell how many people there are, too."""


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
