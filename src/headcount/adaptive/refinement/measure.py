"""A closer look at the items with the largest counts, which are what people see first.

How far heavy users' counts have to be scaled up differs between items, and no ε makes that smaller: it is what
counts of popular items are uncertain for, while noise hardly matters to them. Among a few items a person has few
records. So these few are counted once more by themselves, under a limit that cuts off next to nothing of that; and
which limit, and what it cuts off, follows from a histogram of how many records of these few people have. Counts
under all limits are measured at once, on the way on which the shares of classes are, and those under one released.

Why it is private
    Which items is known from what was released before. Whether a record is about one of them is a function of that
    record, so of each person there is a part of what they did: it is in one bin of the histogram, and weighs no
    more than the limit. The limit follows from released numbers, and what was measured under the others is seen by
    nobody. Both are paid for, and add up with what was paid before, by adaptive composition.

Reference
    docs/methods/adaptive.md. What follows from both is :mod:`headcount.adaptive.refinement.estimate`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from headcount._internal.arrays import Floats, Integers
from headcount.accounting.budget import Grant
from headcount.accounting.noise_distributions import Law
from headcount.adaptive.class_scale_up import Ratios
from headcount.adaptive.empirical_bayes import Posterior
from headcount.adaptive.heavy_user_counts import ENDS, drawable, law_for, scale_of
from headcount.adaptive.light_heavy import Draft, known_of
from headcount.adaptive.refinement.estimate import Few
from headcount.adaptive.refinement.subset_activity import people_of_few
from headcount.bounds import (
    FIXED_POINT,
    Among,
    BoundedLook,
    Counting,
    Look,
    Scale,
    Sensitivity,
    Shares,
    sensitivity,
)
from headcount.events.log import EventLog
from headcount.noise import NoiseSource, add, norm_of
from headcount.noise.stages import Stage, Stages, share_out, shared
from headcount.releases.formatting import some

ITEMS_LOOKED_AT = 24
"""A few more than the 20 that are mostly shown, for some change places."""

AGAIN = "the counts of the first items, by themselves"

_PEOPLE = Decimal("0.25")
_LARGEST_LIMIT = 1 << 12
_ROUNDS = 2  # in which what a look found says who has these items, and that what was found
_SMALLEST = 1e-9


@dataclass(frozen=True)
class Looked:
    """What is known of some items before and after a closer look, and what was released for that."""

    places: Integers
    before: Posterior
    counts: Posterior
    limit: int
    people_law: Law
    counts_law: Law

    def put_into(self, counts: Posterior) -> Posterior:
        """Return all counts, with these in place of what was known of them."""
        made = Posterior(counts.mean.copy(), counts.low.copy(), counts.high.copy())
        made.mean[self.places], made.low[self.places] = self.counts.mean, self.counts.low
        made.high[self.places] = self.counts.high
        return made

    def for_contexts(self, counts: Posterior, uncertain: Floats) -> tuple[Posterior, Floats]:
        """Return all counts of people as contexts are worked out from, and how uncertain noise leaves each.

        Of contexts a look tells half, by ratios: who has an item in one is not who has it at all, and is scaled up
        otherwise.
        """
        mean, low, high = self.counts.mean, counts.low.copy(), counts.high.copy()
        down, up = (np.maximum(each, 0.0) for each in (mean - self.before.low, self.before.high - mean))
        low[self.places] = np.minimum(mean - np.sqrt(down * (mean - self.counts.low)), self.counts.low)
        high[self.places] = np.maximum(mean + np.sqrt(up * (self.counts.high - mean)), self.counts.high)
        noise = uncertain.copy()
        noise[self.places] = np.minimum(uncertain[self.places], self.counts.relative_variance)
        return Posterior(counts.mean, low, high), noise

    def told(self, unit: str, weigh: str, paid: str) -> str:
        """Say what was done, in the words of the method that did it."""
        return (
            f"The {some(self.places.size, 'item')} with the largest counts were then counted once more, by "
            f"themselves: it was released how many {unit} of these people have, with "
            f"{self.people_law.in_words()}; from that a limit of {self.limit:,} was chosen; and what people with "
            f"more have was counted in part, so that together {weigh} {self.limit:,}, with "
            f"{self.counts_law.in_words()}. All that was paid with {paid}, and put together with what was known "
            "before, by precision."
        )


def parts(counting: Counting, *, gaussian: bool) -> Stages:
    """Return what a closer look spends its grant on.

    A limit will be chosen whose noise can be drawn, if that of 1 can.
    """
    people = Stage("people", _PEOPLE, gaussian=gaussian, moves=Sensitivity.of_l1(1))
    moves = sensitivity(Scale(1, "l2" if gaussian else "l1"), counting, columns=1)
    counts = Stage("counts", 1 - _PEOPLE, gaussian=gaussian, moves=moves, unit=FIXED_POINT, on=AGAIN)
    return shared([people, counts])


@dataclass(frozen=True)
class Question:
    """What is asked of the first items, what pays for it, and how far each limit's noise deviates."""

    bound: Look
    grants: Mapping[str, Grant]
    deviations: Sequence[float]


def question_of(log: EventLog, draft: Draft, shares: Shares, grant: Grant) -> Question:
    """Ask for the items whose counts are largest as far as is known, beside the shares of classes."""
    grants = share_out(parts(log.counting, gaussian=grant.price.delta > 0), grant)
    places = draft.largest(ITEMS_LOOKED_AT)
    most = min(places.size if log.counting == "users" else _LARGEST_LIMIT, shares.most)
    limits = _limits(log, grants["counts"], most)
    bound = Look(shares, Among(places), tuple(limit for limit, _ in limits), ENDS)
    return Question(bound, grants, [deviation for _, deviation in limits])


def look_closer(
    log: EventLog,
    question: Question,
    measured: BoundedLook,
    counts: Posterior,
    draft: Draft,
    found: Ratios,
    noise: NoiseSource,
) -> Looked:
    """Spend what pays for the question on how many records of the first items people have, and on their counts."""
    asked, distinct = question.bound, log.counting == "users"
    places, norm = asked.among.places, asked.shares.norm
    released = add(measured.people, question.grants["people"], noise)
    known = known_of(draft, found, counts, places)
    part_of_all = None if distinct else float(known.counts.mean.sum() / max(counts.mean.sum(), _SMALLEST))

    def few_with(each: Floats) -> Few:
        """Say who has these items, if they have such counts."""
        seen = released.counts, scale_of(released.law), draft.people.estimated, draft.people.at_most
        having = people_of_few(*seen, replace(known.counts, mean=each), part_of_all)
        return Few(known, each, having, distinct, norm, draft.people.squares, draft.people.cap)

    few = few_with(known.counts.mean)
    limit = few.best_limit(list(zip(asked.limits, question.deviations, strict=True)))
    noisy = add(measured.counts[asked.limits.index(limit)], question.grants["counts"], noise)
    best = few.together(noisy.counts, limit, noisy.law.variance**0.5)
    for _ in range(_ROUNDS):
        best = few_with(best.mean).together(noisy.counts, limit, noisy.law.variance**0.5)
    best = best.no_more_than(draft.people.most_of_an_item)
    return Looked(places, known.counts, best, limit, released.law, noisy.law)


def _limits(log: EventLog, grant: Grant, most: int) -> list[tuple[int, float]]:
    """Return limits whose noise can be drawn, and its deviation: that of 1 can be, by what was checked before."""
    norm, one = norm_of(grant.price), law_for(1, grant.price, log.counting).variance ** 0.5
    limits = sorted({most, *(1 << k for k in range(most.bit_length()))})
    return [
        (each, one * (each if norm == "l1" else math.sqrt(each)))
        for each in limits
        if each == 1 or drawable(each, grant.price, log.counting)
    ]
