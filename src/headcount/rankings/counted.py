"""Rankings by counts: for many places, where peeling them off one by one would be too noisy.

All counts are released at once, as the adaptive method (:mod:`headcount.counts.adaptive`) does it, and ranked.
Their noise grows with how active people are, but not with the number of places. That of peeling grows with the
number of places (over all contexts that share ε), but not with activity. A released histogram of activity tells
which is smaller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headcount.adapting import chosen_limit, counts_from, law_for, people_of
from headcount.answers.scaling import weights
from headcount.answers.shrinkage import Posterior
from headcount.answers.two_groups import KnownPeople
from headcount.bounding import CountTable, Noisy, Scale
from headcount.budget import Grant, Price
from headcount.engines.engine import Engine
from headcount.events.log import EventLog
from headcount.noise import NoiseSource, add
from headcount.noise_law import Law
from headcount.rankings.ranked import Ranked


@dataclass(frozen=True)
class ByCounts:
    """The plan of a ranking by counts: which limit, and how noisy its counts will be."""

    table: CountTable
    people: KnownPeople
    limit: int
    deviation: float

    @classmethod
    def of(cls, log: EventLog, table: CountTable, histogram: Noisy, price: Price) -> ByCounts:
        """Plan with a released histogram of activity, for counts at a price."""
        people = people_of(log, table, histogram)
        limit = chosen_limit(log, {table: people}, {table: price})
        heavy = people.estimated.above(limit)
        weighed = (heavy.users * heavy.records * weights(heavy.records, limit, "l1")).sum()
        ratio = heavy.total_records / weighed if weighed > 0 else 0.0
        own = law_for(limit, price, log.counting).variance ** 0.5
        return cls(table, people, limit, own * math.hypot(1, ratio))

    def pays(self, rounds: int, epsilon: float) -> bool:
        """Say whether counts are less noisy than peeling so many places at that ε, of scale rounds/ε each."""
        return self.deviation < rounds / epsilon

    def rank(
        self, log: EventLog, k: int, grant: Grant, noise: NoiseSource, engine: Engine, level: float
    ) -> tuple[list[Ranked], Law]:
        """Spend the grant on all counts, and return the best of each column, and the law of the noise."""
        bound = Scale(self.limit, apart=True)
        noisy = add(getattr(engine.measure(log, bound, noise.key()), self.table), grant, noise)
        counts = counts_from(noisy, self.people, bound, level)
        if self.table == "items":
            return [_best(counts, k)], noisy.law
        return [
            _best(Posterior(counts.mean[:, at], counts.low[:, at], counts.high[:, at]), k)
            for at in range(log.width - 1)
        ], noisy.law


def _best(counts: Posterior, k: int) -> Ranked:
    """Return the k largest counts; of equal ones the first in the catalogue."""
    places: Sequence[int] = np.argsort(-counts.mean, kind="stable")[:k].tolist()
    return Ranked(places, counts.mean[places].tolist(), counts.low[places].tolist(), counts.high[places].tolist())
