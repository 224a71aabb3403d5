"""From two noisy tables, of light users and of heavy ones, to one table of counts with intervals.

Light users, within the limit, were counted in full; heavy ones were weighed. Items of a catalogue that are alike
(:mod:`headcount.answers.neighbourhoods`) are shrunk together, both tables at once
(:mod:`headcount.answers.shrinkage`), and brought to the totals that the noisy sums and the released activity agree
on. The heavy table is then scaled up: by what was measured of classes of items
(:mod:`headcount.answers.measured_scaling`), or by a model alone (:mod:`headcount.answers.scaling`).

A count is a little less than its mean, given what was released, where that is uncertain: between the mean, which
makes squared errors small, and the median, which makes absolute ones small.

An interval is put together from the posteriors of both tables, how far scaling up may misjudge an item's heavy
users, how uncertain the released activity is, and how many heavier users noise may hide.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from headcount.answers.activity import EstimatedActivity
from headcount.answers.measured_scaling import Ratios, ReleasedShares, classes_of, ratios, spread_over
from headcount.answers.neighbourhoods import kinds_of
from headcount.answers.scaling import Norm, in_full, scale_up, weights
from headcount.answers.shrinkage import Posterior, shrink
from headcount.arrays import Floats
from headcount.noise_law import Law

_ITEMS_DIFFER = 0.15
"""How much items differ in how far a model misjudges them: a share of the unevenness of heavy users."""

_NORMAL_95 = 1.96
_SHADE = 0.2  # of the way to zero that a count goes of which nothing is known
_SUMS_OFF = 0.3  # how far shrunken counts of a kind may be off in sum, relatively
_MANY = 0.5  # scales of noise that heavy users must come to, or their table is noise


@dataclass(frozen=True)
class KnownPeople:
    """What is known of the users of a table: their estimated activity, and how much of it there may be.

    ``squares`` says that activity is in squares of records, so that it says little of how many records there are.
    """

    estimated: EstimatedActivity
    at_most: EstimatedActivity
    distinct: bool
    squares: bool = False


@dataclass(frozen=True, eq=False)
class Draft:
    """Both tables shrunk, before the heavy one is scaled up."""

    light: Posterior
    heavy: Posterior
    noisy: tuple[Floats, Floats]
    law: Law
    people: KnownPeople
    limit: int
    norm: Norm
    level: float

    @property
    def above(self) -> EstimatedActivity:
        """The heavy users."""
        return self.people.estimated.above(self.limit)

    @property
    def has_heavy(self) -> bool:
        """Whether there are heavy users, as far as noise lets that be seen."""
        return self.above.total_users > _MANY * self.above.scale and bool(self.heavy.mean.sum() > 0)

    def classes(self, scale: float) -> NDArray[np.int64]:
        """Return the classes of items of which to measure shares, with noise of that scale."""
        above = self.above
        weighed = weights(above.records, self.limit, self.norm) * above.records
        mean = (above.users * weighed).sum() / max(above.total_users, 1e-9)
        return classes_of(self.heavy.mean / max(mean, 1e-9), scale)


def drafted(
    light: Floats,
    heavy: Floats,
    law: Law,
    people: KnownPeople,
    limit: int,
    norm: Norm = "l1",
    *,
    level: float = 0.95,
    leaned: Floats | None = None,
) -> Draft:
    """Shrink both tables together, and bring them to their totals.

    ``leaned`` says how much more a heavy user's record of each cell weighed than if all had weighed alike.
    """
    spread = np.ones(heavy.size) if leaned is None else leaned
    heavy = heavy / spread
    groups = people.estimated.within(limit), people.estimated.above(limit)
    kinds = kinds_of(light, heavy, law.variance**0.5, in_full(groups[1], limit, norm) or 1.0)
    shrunk = _shrunk(light, heavy, law, spread, kinds, level)
    sums = light.size * law.variance, law.variance * (1 / spread**2).sum()
    own, others = (
        each if people.squares else _to_total(each, float(noisy.sum()), variance, group, limit, norm)
        for each, noisy, variance, group in zip(shrunk, (light, heavy), sums, groups, strict=True)
    )
    return Draft(own, others, (light, heavy), law, people, limit, norm, level)


def scaling(draft: Draft, shares: ReleasedShares | None = None) -> Ratios:
    """Return how the heavy table is to be scaled up: by what was measured of it, or by a model."""
    above, weighed = draft.above, draft.heavy.mean
    if not draft.has_heavy:
        return Ratios(np.zeros(weighed.size), np.zeros(weighed.size))
    if shares is not None:
        return ratios(weighed, above, draft.limit, draft.norm, shares, draft.law.variance)
    full = scale_up(above, draft.limit, draft.norm, distinct=draft.people.distinct).apply(weighed)
    each = np.divide(full, weighed, out=np.ones_like(full), where=weighed > 0)
    differing = _ITEMS_DIFFER * above.unevenness * (1.0 if draft.norm == "l1" else 0.25)
    return Ratios(each, np.full(weighed.size, np.sqrt(differing)))


def finished(draft: Draft, found: Ratios) -> Posterior:
    """Scale the heavy table up, and return the counts of all records, with intervals.

    >>> from headcount.noise_law import law_from_json
    >>> law = law_from_json({"law": "discrete-laplace", "scale": "1", "step": "1/100"})
    >>> activity = EstimatedActivity(np.array([1.0, 16.0]), np.array([50.0, 100.0]))
    >>> people = KnownPeople(activity, activity, distinct=False)
    >>> draft = drafted(np.array([50.0, 0.0]), np.array([200.0, 200.0]), law, people, 4)
    >>> finished(draft, scaling(draft)).mean.round(2).tolist()
    [849.99, 799.99]
    """
    own, others, above = draft.light, draft.heavy, draft.above
    full = Posterior(*(each * found.each for each in (others.mean, others.low, others.high)))
    misjudged = _NORMAL_95 * np.hypot(found.off, _uncertain(above, draft.limit, draft.norm))
    mean = own.mean + full.mean
    reach = np.sqrt((own.high - own.mean) ** 2 + (full.high - full.mean) ** 2 + (misjudged * full.mean) ** 2)
    low = own.low + full.low * np.exp(-misjudged)
    high = np.maximum(mean + reach, _as_measured(draft, found.each, misjudged))
    high += _hidden(full.mean, above, draft.people, draft.limit)
    shade = _SHADE * _noisiness(mean, np.hypot(own.high - own.low, full.high - full.low))
    return Posterior(np.clip(mean * (1 - shade), low, high), low, high)


def _as_measured(draft: Draft, ratios: Floats, misjudged: Floats) -> Floats:
    """Return how large counts may be that noise alone made as small as they were measured.

    Shrinkage is right on average over all items; of those that are largest in truth it makes too little. Whatever
    its count, an item's own measurement is no further from it than noise reaches.
    """
    light, heavy = draft.noisy
    measured = light + ratios * heavy
    within = draft.law.half_width(draft.level) * np.hypot(1.0, ratios)
    return np.asarray(measured + np.hypot(within, np.expm1(misjudged) * np.maximum(ratios * heavy, 0.0)))


def _noisiness(mean: Floats, width: Floats) -> Floats:
    """Return how uncertain noise makes counts whose posteriors are so wide: from 0, not at all, to 1.

    >>> _noisiness(np.array([100.0, 1.0]), np.array([4.0, 400.0])).round(2).tolist()
    [0.0, 1.0]
    """
    squared = np.divide(width / (2 * _NORMAL_95), mean, out=np.zeros_like(mean), where=mean > 0) ** 2
    return np.asarray(squared / (1 + squared))


def _uncertain(heavy: EstimatedActivity, limit: int, norm: Norm) -> float:
    """Return how far ratios may be off, relatively, because of the noise of the released activity."""
    if heavy.total_users <= 0:
        return 0.0
    records = 2.0 ** np.arange(np.floor(np.log2(limit)), np.ceil(np.log2(heavy.records.max())) + 1)
    people = spread_over(heavy, records if records.size > 1 else np.append(records, 2 * records))
    records = records if records.size > 1 else np.append(records, 2 * records)
    full, weighed = people * records, people * records * weights(records, limit, norm)
    moves = full / full.sum() - weighed / weighed.sum()
    variances = np.minimum(2 * heavy.scale**2 / np.maximum(people, 1.0) ** 2, 0.5)
    return float(np.sqrt((moves**2 * variances).sum() + heavy.misplaced**2 / 4))


def _shrunk(
    light: Floats, heavy: Floats, law: Law, spread: Floats, kinds: NDArray[np.int64], level: float
) -> tuple[Posterior, Posterior]:
    """Shrink both tables, items of a kind together; and those whose heavy counts are about equally noisy.

    The noise of a heavy count is that of the law divided by its ``spread``, which they have in common up to 19 %.
    """
    noisier = np.round(2 * np.log2(spread)).astype(np.int64)
    named = kinds * (1 << 20) + (noisier - noisier.min(initial=0))
    found = [[np.empty(light.size) for _ in range(3)] for _ in range(2)]
    several = np.unique(named)
    for name in several:
        inside = named == name if several.size > 1 else np.ones(light.size, dtype=bool)
        factor = Fraction(2 ** (-int(noisier[inside][0]) / 2))
        laws = law, law.times(factor) if factor != 1 else law
        tables = light[inside], heavy[inside]
        for into, part, noisy, own in zip(found, shrink(*tables, laws, level), tables, laws, strict=True):
            summed = part if several.size == 1 else _to_sum(part, noisy, own.variance)
            for values, each in zip(into, (summed.mean, summed.low, summed.high), strict=True):
                values[inside] = each
    return Posterior(*found[0]), Posterior(*found[1])


def _to_sum(shrunk: Posterior, noisy: Floats, variance: float) -> Posterior:
    """Bring the shrunken counts of a kind towards what their noisy counts sum to, by precision."""
    found = float(shrunk.mean.sum())
    precisions = 1 / (noisy.size * variance), 1 / ((_SUMS_OFF * found) ** 2 + 1e-9)
    total = (float(noisy.sum()) * precisions[0] + found * precisions[1]) / sum(precisions)
    return _times(shrunk, max(total, 0.0) / found if found > 0 else 1.0)


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
    return _times(shrunk, max(total, 0.0) / found if found > 0 else 1.0)


def _times(shrunk: Posterior, factor: float) -> Posterior:
    """Multiply counts, and let intervals hold what they held and what they come to."""
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
