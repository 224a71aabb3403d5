"""From two noisy tables, of light users and of heavy ones, to one table of counts with intervals.

Light users, within the limit, were counted in full; heavy ones were weighed. Both tables are shrunk together
(:mod:`headcount.answers.shrinkage`), brought to the totals that the noisy sums and the released activity agree on,
and the heavy one is scaled up (:mod:`headcount.answers.scaling`).

An interval is put together from four parts: the posteriors of both tables, how far scaling up may misjudge an
item's heavy users, and how many heavier users the noise of the activity may hide. It encloses the true count of
an item with the level asked for on average over all items; single items, such as the largest, may fare worse.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from headcount.answers.activity import EstimatedActivity
from headcount.answers.scaling import Norm, scale_up, weights
from headcount.answers.shrinkage import Posterior, shrink
from headcount.arrays import Floats
from headcount.noise_law import Law

_ITEMS_DIFFER = 0.15
"""How much items differ in how far scaling up misjudges them: a share of the unevenness of heavy users."""

_NORMAL_95 = 1.96


@dataclass(frozen=True)
class KnownPeople:
    """What is known of the users of a table: their estimated activity, and how much of it there may be."""

    estimated: EstimatedActivity
    at_most: EstimatedActivity
    distinct: bool


def combine(
    light: Floats,
    heavy: Floats,
    law: Law,
    people: KnownPeople,
    limit: int,
    norm: Norm = "l1",
    *,
    level: float = 0.95,
    leaned: Floats | None = None,
) -> Posterior:
    """Return the best guess at the counts of all records, and intervals, from the two noisy tables.

    ``leaned`` says how much more a heavy user's record of each cell weighed than if all had weighed alike.

    >>> from headcount.noise_law import law_from_json
    >>> law = law_from_json({"law": "discrete-laplace", "scale": "1", "step": "1/100"})
    >>> activity = EstimatedActivity(np.array([1.0, 16.0]), np.array([50.0, 100.0]))
    >>> people = KnownPeople(activity, activity, distinct=False)
    >>> combine(np.array([50.0, 0.0]), np.array([200.0, 200.0]), law, people, 4).mean.round(2).tolist()
    [850.0, 800.0]
    """
    groups = people.estimated.within(limit), people.estimated.above(limit)
    spread = np.ones(heavy.size) if leaned is None else leaned
    heavy = heavy / spread
    shrunk = _shrunk(light, heavy, law, spread, level)
    sums = light.size * law.variance, law.variance * (1 / spread**2).sum()
    own, others = (
        _to_total(each, float(noisy.sum()), variance, group, limit, norm)
        for each, noisy, variance, group in zip(shrunk, (light, heavy), sums, groups, strict=True)
    )
    curve = scale_up(groups[1], limit, norm, distinct=people.distinct)
    full = Posterior(*(curve.apply(each) for each in (others.mean, others.low, others.high)))
    differing = _ITEMS_DIFFER * groups[1].unevenness * (1.0 if norm == "l1" else 0.25)
    misjudged = _NORMAL_95 * np.sqrt(differing + groups[1].misplaced ** 2)
    mean = own.mean + full.mean
    reach = np.sqrt((own.high - own.mean) ** 2 + (full.high - full.mean) ** 2 + (misjudged * full.mean) ** 2)
    return Posterior(
        mean=mean,
        low=own.low + full.low * np.exp(-misjudged),
        high=mean + reach + _hidden(full.mean, groups[1], people, limit),
    )


def _shrunk(light: Floats, heavy: Floats, law: Law, spread: Floats, level: float) -> tuple[Posterior, Posterior]:
    """Shrink both tables; where the heavy one is noisier in some cells than in others, cells of a kind together.

    Its noise is that of the law divided by ``spread``; cells of a kind have that in common, up to 19 %.
    """
    kinds = np.round(2 * np.log2(spread)).astype(np.int64)
    if (kinds == 0).all():
        return shrink(light, heavy, (law, law), level)
    found = [[np.empty(light.size) for _ in range(3)] for _ in range(2)]
    for kind in np.unique(kinds):
        inside = kinds == kind
        parts = shrink(light[inside], heavy[inside], (law, law.times(Fraction(2 ** (-int(kind) / 2)))), level)
        for into, part in zip(found, parts, strict=True):
            for values, own in zip(into, (part.mean, part.low, part.high), strict=True):
                values[inside] = own
    return Posterior(*found[0]), Posterior(*found[1])


def _to_total(
    shrunk: Posterior, noisy_sum: float, variance: float, group: EstimatedActivity, limit: int, norm: Norm
) -> Posterior:
    """Bring shrunk counts to their total: as the noisy counts have it, and as the activity has it, by precision.

    Posterior means need not sum to what the noisy counts sum to, though noise cancels in a sum.
    """
    expected, deviation = group.sum_of(weights(group.records, limit, norm) * group.records)
    precisions = 1 / variance, 1 / (deviation + 1) ** 2
    total = (noisy_sum * precisions[0] + expected * precisions[1]) / sum(precisions)
    found = shrunk.mean.sum()
    factor = max(total, 0.0) / found if found > 0 else 1.0
    return Posterior(shrunk.mean * factor, shrunk.low * min(factor, 1.0), shrunk.high * max(factor, 1.0))


def _hidden(counts: Floats, heavy: EstimatedActivity, people: KnownPeople, limit: int) -> Floats:
    """Return how much heavier users, whom the noise may hide, may add to each count.

    They have the items that others have, or all alike; and each of them counts once an item where users count.
    """
    above = people.at_most.above(limit)
    records = max(above.total_records - heavy.total_records, 0.0)
    users = max(above.total_users - heavy.total_users, 0.0)
    added = records * (counts / max(heavy.total_records, 1.0) + 1 / counts.size)
    return np.minimum(added, users) if people.distinct else added
