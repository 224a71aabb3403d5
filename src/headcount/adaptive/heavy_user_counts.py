"""All records of everyone, weighed: what the adaptive release and long rankings have in common.

A histogram of how active people are is released first. Everything else is planned with it: the limit, and how to
get from noisy tables of light and of heavy users to counts. See :mod:`headcount.methods.counts.adaptive` for why
that is private.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from headcount._internal.arrays import Floats
from headcount.accounting.budget import Grant, Price
from headcount.accounting.noise_distributions import DiscreteLaplace, Law
from headcount.adaptive import activity_histogram as activities
from headcount.adaptive.blocks import BLOCK, NoisyPair, blocks
from headcount.adaptive.class_scale_up import Ratios, ReleasedShares
from headcount.adaptive.empirical_bayes import Posterior
from headcount.adaptive.item_context_estimates import edges_of
from headcount.adaptive.light_heavy import Draft, drafted, finished, scaling
from headcount.adaptive.predicted_error import FOR_AN_ORDER, NEARLY_AS_GOOD, best_limit, predicted_error
from headcount.adaptive.scale_up import scale_up
from headcount.adaptive.undetected_users import KnownPeople
from headcount.bounds import (
    ANY_SIZE,
    FIXED_POINT,
    Activity,
    Among,
    Bounded,
    Counting,
    CountTable,
    Noisy,
    Norm,
    Scale,
    Shares,
    columns_of,
    light_and_heavy,
    part,
    sensitivity,
)
from headcount.bounds.counts import activity_bins
from headcount.engines.engine import Engine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.noise import NoiseSource, add, law_of, norm_of
from headcount.releases.reconcile import Weights, reconcile

LARGEST_LIMIT = 1 << 20
MOST_RECORDS = activity_bins.LAST_EDGE + 1
ENDS = tuple(activity_bins.UPPER_ENDS.tolist())
LIGHT_AND_HEAVY = "the counts of light users, in whole numbers, and of heavy ones, before shrinkage"


@dataclass(frozen=True)
class NoisyGroups(Noisy):
    """Noisy tables of light and of heavy users, one after the other, in steps of the law of the second.

    Light users' noise has a law of its own, of the same scale: it is in whole numbers, as their counts are.
    """

    light: Law


def noised(
    measured: Bounded, grant: Grant, noise: NoiseSource, places: Sequence[int] | None = None
) -> NoisyGroups:
    """Spend a grant on noise for the tables of light and of heavy users: all of it on each, as nobody is in both.

    With ``places``, on these cells of either table alone.
    """
    own, others = light_and_heavy(measured)
    grants, shape = grant.for_disjoint_people(("light", "heavy")), own.shape
    if places is not None:
        own, others, shape = part(own, places), part(others, places), (len(places),)
    values = np.empty((2, *shape), dtype=np.int64)
    heavy = add(others, grants["heavy"], noise)
    values[1], law = heavy.values.reshape(shape), heavy.law
    del heavy  # tables may be long
    light = add(own, grants["light"], noise)
    np.multiply(light.values.reshape(shape), measured.unit, out=values[0])
    return NoisyGroups(values, law, light.law)


def histogram(
    log: EventLog,
    table: CountTable,
    grant: Grant,
    noise: NoiseSource,
    engine: Engine,
    norm: Norm = "l1",
    most: int = MOST_RECORDS,
    among: Among | None = None,
) -> Noisy:
    """Release how many users have 1, 2, 3-4, 5-8, … records in a table: each of them is in one bin.

    Users with more than ``most`` are in the bin of so many. With ``among``, records about some items alone.
    """
    bound = Activity(table, min(most, MOST_RECORDS), norm, among, ENDS)
    return add(engine.measure(log, bound, noise.key()), grant, noise)


def people_of(
    log: EventLog, table: CountTable, released: Noisy, norm: Norm = "l1", most: int | None = None
) -> KnownPeople:
    """Say what a released histogram tells of the users of a table, of whom no more than ``most`` records count."""
    distinct = log.counting == "users"
    caps = [each for each in (most, columns_of(log, table) if distinct else None) if each is not None]
    known = released.counts, scale_of(released.law), min(caps, default=None)
    squares = norm == "l2" and not distinct
    return KnownPeople(*activities.both(*known), distinct, squares, cap=most)


def scale_of(law: Law) -> float:
    """Return the scale of the Laplace noise that is as wide."""
    return float(law.scale) if isinstance(law, DiscreteLaplace) else (law.variance / 2) ** 0.5


def law_for(limit: int, price: Price, counting: Counting) -> Law:
    """Return the noise of a table under a limit; refuse what cannot be drawn."""
    moved = sensitivity(Scale(limit, norm_of(price)), counting, columns=1)  # in its norm, columns do not matter
    return law_of(moved, price, unit=FIXED_POINT, on=LIGHT_AND_HEAVY)


def drawable(limit: int, price: Price, counting: Counting) -> bool:
    """Say whether the noise of a table under a limit can be drawn: a public question."""
    try:
        law_for(limit, price, counting)
    except UsageError:
        return False
    return True


def chosen_limit(
    log: EventLog,
    people: Mapping[CountTable, KnownPeople],
    prices: Mapping[CountTable, Price],
    most: int = MOST_RECORDS,
    measured: Price | None = None,
) -> int:
    """Return the limit below ``most`` with the smallest predicted error over the tables; all of this is public.

    ``measured`` is the price at which it will be measured what heavy users have: without it, counts are for their
    order alone.
    """
    largest = min(most - 1, LARGEST_LIMIT)
    limits = sorted({largest, *(1 << k for k in range(largest.bit_length()))})
    limits = [k for k in limits if k == 1 or all(drawable(k, each, log.counting) for each in prices.values())]
    errors = []
    for table, each in people.items():
        norm, one = norm_of(prices[table]), law_for(1, prices[table], log.counting).variance ** 0.5
        deviations = [one * (limit if norm == "l1" else math.sqrt(limit)) for limit in limits]
        errors.append(
            [
                predicted_error(
                    each.estimated,
                    limit,
                    deviation,
                    columns_of(log, table),
                    norm,
                    distinct=True,
                    measured=None if measured is None else 1 / float(measured.exact),
                )
                for limit, deviation in zip(limits, deviations, strict=True)
            ]
        )
    return best_limit(limits, errors, FOR_AN_ORDER if measured is None else NEARLY_AS_GOOD)


def reconciled(items: NoisyGroups, edges: NoisyGroups) -> tuple[NoisyGroups, NoisyGroups]:
    """Make the noisy tables of both groups agree by weighted least squares: edges then sum to items.

    Both keep their laws, though each value now has a little less noise than that.
    """
    weights = Weights.of(
        items_variance=items.law.variance, edges_variance=edges.law.variance, contexts=edges.values.shape[-1]
    )
    steps = float(items.law.step), float(edges.law.step)
    whole = np.empty_like(items.values), np.empty_like(edges.values)
    for group in range(len(items.values)):
        for rows in blocks(items.values.shape[1], max(BLOCK // edges.values.shape[-1], 1)):
            noisy = [each.values[group, rows] * step for each, step in zip((items, edges), steps, strict=True)]
            agreed = reconcile(np.asarray(noisy[0]), np.asarray(noisy[1]), weights)
            for into, found, step in zip(whole, agreed, steps, strict=True):
                into[group, rows] = np.rint(found / step)
    return replace(items, values=whole[0]), replace(edges, values=whole[1])


@dataclass(frozen=True)
class _Measured:
    """Edges as both groups together measure them: those of light users, and those of heavy ones scaled up."""

    noisy: Noisy
    ratios: Floats  # one an item

    @property
    def shape(self) -> tuple[int, ...]:
        """How many items and contexts there are."""
        return self.noisy.values.shape[1:]

    def __getitem__(self, rows: slice, /) -> Floats:
        """Return some rows."""
        light, heavy = self.noisy.values[:, rows] * float(self.noisy.law.step)
        return np.asarray(light + self.ratios[rows, None] * heavy)


def edges_from(
    noisy: Noisy,
    items: Posterior,
    people: KnownPeople,
    bound: Scale,
    less: Floats | None = None,
    uncertain: Floats | None = None,
) -> Posterior:
    """Turn the noisy edges of both groups into edges of the counts per item, from released numbers alone.

    ``less`` says how much less each item is scaled up than all together are, and ``uncertain`` how far noise may
    have its count off, as a relative variance.
    """
    full = scale_up(people.estimated.above(bound.limit), bound.limit, bound.norm, distinct=False)
    average = full.counted[-1] / full.weighed[-1]
    ratios = np.full(items.mean.size, average) if less is None else average / less
    variance = noisy.law.variance * (1 + ratios**2)
    return edges_of(items, _Measured(noisy, ratios), variance, sums=not people.distinct, uncertain=uncertain)


def counts_from(noisy: NoisyGroups, people: KnownPeople, bound: Scale, level: float) -> Posterior:
    """Turn the noisy tables of both groups into one table of counts, from released numbers alone."""
    draft = draft_of(noisy, people, bound, level)
    return _shaped(finished(draft, scaling(draft)), noisy)


def shares_to_ask(table: CountTable, draft: Draft, grant: Grant, most: int | None = None) -> Shares:
    """Return what to ask of heavy users: what kinds of items they have, of classes that stand out of the noise."""
    classes = draft.classes(1 / float(grant.exact))
    return Shares(table, classes, draft.limit, draft.norm, ANY_SIZE if most is None else most)


def measured_counts(
    asked: Shares, measured: Bounded, noisy: NoisyGroups, draft: Draft, grant: Grant, noise: NoiseSource
) -> tuple[Posterior, Ratios]:
    """Release what kinds of items heavy users have, and turn the noisy tables into counts with that.

    The grant is spent whether or not there is anything to measure, so that nothing else hangs on it. Beside the
    counts it is returned how much heavy users' counts were scaled up.
    """
    scale, released = 1 / float(grant.exact), add(measured, grant, noise)
    found = scaling(draft, ReleasedShares(released.counts, scale, asked.classes))
    return _shaped(finished(draft, found), noisy), found


def less_scaled(draft: Draft, found: Ratios) -> Floats:
    """Return how much less the heavy users' counts of each item are scaled up than all together are."""
    weighed, everything = draft.heavy(), slice(None)
    each, _ = found.of(weighed, everything)
    average = float((weighed * each).sum() / max(weighed.sum(), 1e-9))
    return np.divide(average, each, out=np.ones_like(each), where=each > 0)


def draft_of(noisy: NoisyGroups, people: KnownPeople, bound: Scale, level: float) -> Draft:
    """Find out how to shrink the noisy tables of both groups."""
    light, heavy = noisy.values.reshape(2, -1)
    pair = NoisyPair(light, heavy, float(noisy.law.step))
    return drafted(pair, noisy.law, people, bound.limit, bound.norm, level=level, light=noisy.light)


def _shaped(counts: Posterior, noisy: Noisy) -> Posterior:
    shape = noisy.values.shape[1:]
    return Posterior(counts.mean.reshape(shape), counts.low.reshape(shape), counts.high.reshape(shape))
