"""From two noisy tables, of light users and of heavy ones, to one table of counts with intervals.

Light users, within the limit, were counted in full; heavy ones were weighed. Items of a catalogue that are alike
(:mod:`headcount.adaptive.catalogue_smoothing`) are shrunk together, both tables at once
(:mod:`headcount.adaptive.empirical_bayes`), and brought to the totals that the noisy sums and the released
activity agree on. The heavy table is then scaled up: by what was measured of classes of items
(:mod:`headcount.adaptive.class_scale_up`), or by a model alone (:mod:`headcount.adaptive.scale_up`).

A count is a little less than its mean, given what was released, where that is uncertain: between the mean, which
makes squared errors small, and the median, which makes absolute ones small.

An interval is put together from the posteriors of both tables, how far scaling up may misjudge an item's heavy
users, how uncertain the released activity is, and how many heavier users noise may hide.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Bytes, Floats, Integers
from headcount.accounting.noise_distributions import Law
from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.adaptive.agreeing_sums import to_sums, to_total
from headcount.adaptive.blocks import BLOCK, NoisyPair, blocks
from headcount.adaptive.catalogue_smoothing import kinds_of
from headcount.adaptive.class_scale_up import Ratios, ReleasedShares, classes_of, ratios
from headcount.adaptive.empirical_bayes import Posterior, Shrinkage, fitted, relative_variance
from headcount.adaptive.refinement.estimate import Known
from headcount.adaptive.scale_up import Norm, ScaleUp, in_full, scale_up, weights
from headcount.adaptive.undetected_users import HiddenPeople, KnownPeople
from headcount.adaptive.users_by_size import spread_over

_ITEMS_DIFFER = 0.15
"""How much items differ in how far a model misjudges them: a share of the unevenness of heavy users."""

_NORMAL_95 = 1.96
_LARGEST_ARE_TOO_LARGE = 1.25  # how much further downwards scaling up misjudges: the first were chosen for it
_SHADE = 0.15  # of the way to zero that a count goes of which nothing is known
_CROWD = 5.0  # scales of noise that all people must come to, or nothing is seen of them
_ANYBODY = 2.5  # and this, or how active they seem to be is noise
_STEEPLY = 4
# of people who come to so many scales of noise, or whose records to so many deviations, half may be made up
_MADE_UP, _MADE_UP_RECORDS = 2.0, 0.13
_NEXT_TO_NOTHING = 1e-6  # people: less popular is nobody
_MANY = 0.5  # scales of noise that heavy users must come to, or their table is noise


class _Factors(NamedTuple):
    """What shrunken counts are multiplied by, to sum to what they should: intervals hold what they held, too."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, one: float, other: float) -> _Factors:
        """Multiply by one factor, and then by another."""
        return cls(one * other, min(one, 1.0) * min(other, 1.0), max(one, 1.0) * max(other, 1.0))

    def times(self, shrunk: Posterior) -> Posterior:
        return Posterior(shrunk.mean * self.mean, shrunk.low * self.low, shrunk.high * self.high)


class _Kind(NamedTuple):
    """How counts of light and of heavy users are judged, of the items of one kind."""

    shrinkage: Shrinkage
    factors: tuple[_Factors, _Factors]

    def of(self, light: Floats, heavy: Floats) -> tuple[Posterior, Posterior]:
        own, others = self.shrinkage.of(light, heavy)
        return self.factors[0].times(own), self.factors[1].times(others)


@dataclass(frozen=True, eq=False)
class Draft:
    """How both tables are shrunk, before the heavy one is scaled up. What they come to is made when asked for.

    ``weighed`` is what shrunken counts of heavy users sum to, ``law`` that of their noise, and ``light`` that of
    light users' noise.
    """

    noisy: NoisyPair
    kinds: Bytes
    judged: tuple[_Kind, ...]
    weighed: float
    law: Law
    people: KnownPeople
    limit: int
    norm: Norm
    level: float
    light: Law

    @cached_property
    def above(self) -> EstimatedActivity:
        """The heavy users."""
        return self.people.estimated.above(self.limit)

    @property
    def has_heavy(self) -> bool:
        """Whether there are heavy users, as far as noise lets that be seen."""
        everybody = self.people.estimated
        anybody = everybody.total_users > _ANYBODY * everybody.scale
        return anybody and self.above.total_users > _MANY * self.above.scale and self.weighed > 0

    @property
    def counts_whole(self) -> bool:
        """Whether counts are whole numbers that noise mostly leaves as they are: nobody is heavy then."""
        return not self.has_heavy and self.light.variance <= 1

    @property
    def has_people(self) -> bool:
        """Whether anybody is seen at all."""
        everybody = self.people.estimated
        return everybody.total_users > _CROWD * everybody.scale

    @cached_property
    def certain(self) -> float:
        """Which part of what is seen of heavy users to expect: less where noise may have made people up.

        There may be nobody, or nobody with that many records, which the numbers of people say little of.
        """
        everybody, heavy = self.people.estimated, self.above
        records, off = heavy.sum_of(heavy.records)
        if everybody.total_users <= 0 or records <= 0:
            return 1.0
        anybody = _believed(everybody.total_users, _MADE_UP * everybody.scale)
        return anybody * _believed(records, _MADE_UP_RECORDS * off)

    def part(self, where: slice) -> tuple[Posterior, Posterior]:
        """Return the shrunken counts of some items, of light users and of heavy ones."""
        whole = where == slice(0, self.noisy.size)
        return self._only_block if whole and self.noisy.size <= BLOCK else self._part(where)

    @cached_property
    def _only_block(self) -> tuple[Posterior, Posterior]:
        """Of all items, where that takes no more memory than a block of a long table."""
        return self._part(slice(0, self.noisy.size))

    def _part(self, where: slice | Integers) -> tuple[Posterior, Posterior]:
        light, heavy = self.noisy.part(where)
        kinds = self.kinds[where]
        present = np.flatnonzero(np.bincount(kinds))
        if present.size == 1:
            return self.judged[int(present[0])].of(light, heavy)
        made = _empty(light.size), _empty(light.size)
        for kind in present.tolist():
            inside = kinds == kind
            for into, found in zip(made, self.judged[kind].of(light[inside], heavy[inside]), strict=True):
                into.mean[inside], into.low[inside], into.high[inside] = found.mean, found.low, found.high
        return made

    def at(self, places: Integers) -> tuple[Posterior, Posterior]:
        """Return the shrunken counts of the items at some places, of light users and of heavy ones."""
        return self._part(places)

    def heavy(self) -> Floats:
        """Return the shrunken counts of heavy users, of all items."""
        found = np.empty(self.noisy.size)
        for where in blocks(self.noisy.size):
            found[where] = self.part(where)[1].mean
        return found

    def largest(self, number: int) -> Integers:
        """Return the places of the items whose counts are largest, in the order of the catalogue.

        Before it is known how each is to be scaled up, heavy users' counts are scaled up alike.
        """
        ratio = in_full(self.above, self.limit, self.norm) if self.has_heavy else 0.0
        places, sizes = np.empty(0, dtype=np.int64), np.empty(0)
        for where in blocks(self.noisy.size):
            own, others = self.part(where)
            places = np.append(places, np.arange(where.start, where.start + own.mean.size))
            sizes = np.append(sizes, own.mean + ratio * others.mean)
            if places.size > number:
                first = np.argpartition(-sizes, number - 1)[:number]
                places, sizes = places[first], sizes[first]
        return np.sort(places)

    def classes(self, scale: float) -> Integers:
        """Return the classes of items of which to measure shares, with noise of that scale."""
        above = self.above
        weighed = weights(above.records, self.limit, self.norm) * above.records
        mean = (above.users * weighed).sum() / max(above.total_users, 1e-9)
        people = self.heavy()
        people /= max(mean, 1e-9)
        return classes_of(people, scale)


def _empty(size: int) -> Posterior:
    return Posterior(np.empty(size), np.empty(size), np.empty(size))


def drafted(
    noisy: NoisyPair,
    law: Law,
    people: KnownPeople,
    limit: int,
    norm: Norm = "l1",
    *,
    level: float = 0.95,
    light: Law | None = None,
) -> Draft:
    """Find out how to shrink both tables together, and to bring them to their totals.

    Light users' noise may have a law of its own.
    """
    groups = people.estimated.within(limit), people.estimated.above(limit)
    kinds = kinds_of(noisy, law.variance**0.5, in_full(groups[1], limit, norm))
    shrinkages = fitted(noisy, law, level, kinds, light)
    shrunk, sums, items = _sums(noisy, kinds, shrinkages)
    factors = np.ones_like(shrunk) if len(shrinkages) == 1 else to_sums(shrunk, sums, items * law.variance)
    found = (shrunk * factors).sum(axis=1)
    totals = [
        1.0 if people.squares else to_total(own, total, noisy.size * law.variance, group, limit, norm)
        for own, total, group in zip(found.tolist(), sums.sum(axis=1).tolist(), groups, strict=True)
    ]
    judged = tuple(
        _Kind(each, (_Factors.of(own, totals[0]), _Factors.of(others, totals[1])))
        for each, (own, others) in zip(shrinkages, factors.T.tolist(), strict=True)
    )
    return Draft(noisy, kinds, judged, float(found[1] * totals[1]), law, people, limit, norm, level, light or law)


def scaling(draft: Draft, shares: ReleasedShares | None = None) -> Ratios:
    """Return how the heavy table is to be scaled up: by what was measured of it, or by a model."""
    above = draft.above
    if not draft.has_heavy:
        return _Nothing()
    if shares is not None:
        settings = draft.limit, draft.norm, shares, draft.law.variance
        return ratios(draft.heavy(), above, *settings, squares=draft.people.squares)
    full = scale_up(above, draft.limit, draft.norm, distinct=draft.people.distinct)
    differing = _ITEMS_DIFFER * above.unevenness * (1.0 if draft.norm == "l1" else 0.25)
    return _Modelled(full, float(np.hypot(np.sqrt(differing), _uncertain(above, draft.limit, draft.norm))))


class _Nothing:
    """Heavy users are not seen: what their table holds is noise."""

    def of(self, weighed: Floats, where: slice | Integers) -> tuple[Floats, Floats]:  # noqa: ARG002
        return np.zeros(weighed.size), np.zeros(weighed.size)

    def shared(self, weighed: Floats, where: slice | Integers) -> Floats:  # noqa: ARG002
        return np.zeros(weighed.size)


class _Modelled(NamedTuple):
    """By a model of which items heavy users have."""

    full: ScaleUp
    off: float

    def of(self, weighed: Floats, where: slice | Integers) -> tuple[Floats, Floats]:  # noqa: ARG002
        full = self.full.apply(weighed)
        each = np.divide(full, weighed, out=np.ones_like(full), where=weighed > 0)
        return each, np.full(weighed.size, self.off)

    def shared(self, weighed: Floats, where: slice | Integers) -> Floats:  # noqa: ARG002
        return np.full(weighed.size, self.off)


def finished(draft: Draft, found: Ratios) -> Posterior:
    """Scale the heavy table up, and return the counts of all records, with intervals.

    >>> from headcount.accounting.noise_distributions import law_from_json
    >>> law = law_from_json({"law": "discrete-laplace", "scale": "1", "step": "1/100"})
    >>> activity = EstimatedActivity(np.array([1.0, 16.0]), np.array([50.0, 100.0]))
    >>> people = KnownPeople(activity, activity, distinct=False)
    >>> draft = drafted(NoisyPair(np.array([50.0, 0.0]), np.array([200.0, 200.0])), law, people, 4)
    >>> finished(draft, scaling(draft)).mean.round(2).tolist()
    [849.96, 800.02]
    """
    made = _empty(draft.noisy.size)
    hidden = _hidden(draft)
    for where in blocks(draft.noisy.size):
        part = _finished(draft, found, where, hidden).no_more_than(draft.people.most_of_an_item)
        made.mean[where], made.low[where], made.high[where] = part.mean, part.low, part.high
    return made


def _hidden(draft: Draft) -> HiddenPeople:
    people, nobody_is_seen = draft.people, not (draft.has_heavy or draft.has_people)
    above = people.at_most.above(draft.limit)
    return HiddenPeople.among(
        draft.above,
        above,
        draft.noisy.size,
        distinct=people.distinct,
        ratio=in_full(above, draft.limit, draft.norm) if nobody_is_seen else 0.0,
        of_one_item=people.of_one_item,
    )


def _finished(draft: Draft, found: Ratios, where: slice, hidden: HiddenPeople) -> Posterior:
    """Return the counts of some items, with intervals."""
    own, others = draft.part(where)
    each, off = found.of(others.mean, where)
    full = Posterior(others.mean * each, others.low * each, others.high * each)
    misjudged = _NORMAL_95 * off
    mean = own.mean + full.mean
    reach = np.sqrt((own.high - own.mean) ** 2 + (full.high - full.mean) ** 2 + (misjudged * full.mean) ** 2)
    low = own.low + full.low * np.exp(-_LARGEST_ARE_TOO_LARGE * misjudged)
    high = np.maximum(mean + reach, _as_measured(draft, where, np.maximum(each, hidden.ratio), misjudged))
    high += hidden.may_add(full.mean)
    shade = _SHADE * _noisiness(mean, np.hypot(own.high - own.low, full.high - full.low))
    return Posterior(np.clip((own.mean + full.mean * draft.certain) * (1 - shade), low, high), low, high)


def _as_measured(draft: Draft, where: slice, ratios: Floats, misjudged: Floats) -> Floats:
    """Return how large counts may be that noise alone made as small as they were measured.

    Shrinkage is right on average over all items; of those that are largest in truth it makes too little. Whatever
    its count, an item's own measurement is no further from it than noise reaches.
    """
    light, heavy = draft.noisy.part(where)
    measured = light + ratios * heavy
    own, others = (law.half_width(draft.level) for law in (draft.light, draft.law))
    within = np.hypot(own, others * ratios)
    return np.asarray(measured + np.hypot(within, np.expm1(misjudged) * np.maximum(ratios * heavy, 0.0)))


def known_of(draft: Draft, found: Ratios, counts: Posterior, places: Integers) -> Known:
    """Say what is known of the items at some places, whose counts were worked out with these ratios."""
    own, others = draft.at(places)
    each, off = found.of(others.mean, places)
    shared, full = found.shared(others.mean, places), each * others.mean
    return Known(
        counts=Posterior(counts.mean[places], counts.low[places], counts.high[places]),
        noise=np.hypot(own.high - own.low, each * (others.high - others.low)) / (2 * _NORMAL_95),
        differ=np.sqrt(np.maximum(off**2 - shared**2, 0.0)) * full,
        shared=shared * full,
        popularity=np.log(np.maximum(others.mean / draft.limit, _NEXT_TO_NOTHING)),
    )


def uncertain(draft: Draft, found: Ratios) -> Floats:
    """Return how uncertain noise leaves each count, whatever scaling up may misjudge: relative variances."""
    made = np.empty(draft.noisy.size)
    for where in blocks(draft.noisy.size):
        own, others = draft.part(where)
        each, _ = found.of(others.mean, where)
        width = np.hypot(own.high - own.low, each * (others.high - others.low))
        made[where] = relative_variance(own.mean + each * others.mean, width)
    return made


def _believed(seen: float, made_up: float) -> float:
    """Return which part of what is seen to believe, where so much of it may be made up.

    >>> [_believed(seen, 2.0) for seen in (1.0, 2.0, 4.0)]
    [0.058823529411764705, 0.5, 0.9411764705882353]
    """
    return seen**_STEEPLY / (seen**_STEEPLY + made_up**_STEEPLY)


def _noisiness(mean: Floats, width: Floats) -> Floats:
    """Return how uncertain noise makes counts whose posteriors are so wide: from 0, not at all, to 1.

    >>> _noisiness(np.array([100.0, 1.0]), np.array([4.0, 400.0])).round(2).tolist()
    [0.0, 1.0]
    """
    variance = relative_variance(mean, width)
    return np.asarray(variance / (1 + variance))


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


def _sums(noisy: NoisyPair, kinds: Bytes, shrinkages: tuple[Shrinkage, ...]) -> tuple[Floats, Floats, Floats]:
    """Return what shrunken counts sum to, and noisy ones, and how many there are: of each group and each kind."""
    shrunk, sums, items = (np.zeros((2, len(shrinkages))) for _ in range(3))
    for where in blocks(noisy.size):
        light, heavy = noisy.part(where)
        for kind in np.flatnonzero(np.bincount(kinds[where])):
            inside = kinds[where] == kind
            mine = light[inside], heavy[inside]
            shrunk[:, kind] += [each.sum() for each in shrinkages[kind].means(*mine)]
            sums[:, kind] += [each.sum() for each in mine]
            items[:, kind] += mine[0].size
    return shrunk, sums, items
