"""Steps of the adaptive method in words: the only place for its sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from headcount.accounting.budget import Grant
from headcount.accounting.noise_distributions import NoiseKind
from headcount.adaptive.estimator import LEVEL, Measurements, RefinementMeasurements
from headcount.bounds import Counting, Noisy
from headcount.methods.counts.tables import NOUNS
from headcount.methods.method import describe_cost
from headcount.releases.formatting import some
from headcount.releases.release import UNCOVERED


class AdaptiveFacts(NamedTuple):
    """Settings of a release that its steps depend on."""

    counting: Counting
    noise: NoiseKind
    threshold_declared: bool
    cap: int | None
    integers: bool
    rounded: bool

    @property
    def unit(self) -> str:
        """What is counted."""
        return "records" if self.counting == "records" else "different items"

    @property
    def weigh(self) -> str:
        """How the weights of a heavy user add up."""
        return "they weigh" if self.noise == "laplace" else "the squares of their weights sum to"


def describe_steps(
    facts: AdaptiveFacts, histogram: Noisy, measured: Measurements, grants: Mapping[str, Grant]
) -> Iterator[str]:
    """Yield a sentence for each step."""
    unit, threshold = facts.unit, measured.plan.bound.limit
    if facts.cap is not None:
        yield f"A person with more than {facts.cap:,} {unit} counted as if so many of them were all."
    yield (
        f"First it was released how many people have 1, 2, 3-4, 5-8, … {unit}, with "
        f"{histogram.distribution.in_words()}, paid with {describe_cost(grants['activity'])}."
    )
    if facts.threshold_declared:
        yield f"The limit of {threshold:,} was given."
    else:
        yield f"From that alone a limit of {threshold:,} was chosen, by predicted error, at no further cost."
    yield (
        f"People with at most {some(threshold, unit[:-1])} were counted in full; of the others all {unit} count "
        f"in part, so that together {facts.weigh} {threshold:,}. No person is in both groups."
    )
    for table, noisy in measured.tables.items():
        yield (
            f"Every {NOUNS[table]} of each group, zeros included, got {noisy.distribution.in_words()}, of the "
            f"first group in whole numbers, paid with {describe_cost(grants[table])}."
        )
    yield (
        "Items were put into classes by these noisy counts, and it was released which shares of their records the "
        "others have in each class, people of each activity together, paid with "
        f"{describe_cost(grants['shares'])}."
    )
    yield (
        "From these released numbers alone, the counts of both groups were shrunk together by empirical Bayes, "
        "neighbours in the catalogue together where their counts are alike, and those of the second group were "
        "scaled up by what was released of their classes."
    )
    if measured.refinement is not None:
        yield _describe_refinement(facts, measured.refinement, grants["first"])
    if len(measured.tables) == 2 and facts.counting == "records":
        yield "Items and edges were reconciled by least squares, so that the edges of an item sum to its count."
    if facts.cap is None and facts.counting == "records":
        yield _describe_undetected(facts, histogram)
    if facts.rounded:
        why = "" if facts.integers else "Nobody else seems to be there, so counts are whole. "
        yield f"{why}All numbers were then rounded to whole ones, so that sums may be off by a few."


def _describe_refinement(facts: AdaptiveFacts, refinement: RefinementMeasurements, grant: Grant) -> str:
    """Describe the second measurement of the first items."""
    histogram, counts = (noisy.distribution.in_words() for noisy in (refinement.histogram, refinement.counts))
    return (
        f"The {some(refinement.places.size, 'item')} with the largest counts were then counted once more, by "
        f"themselves: it was released how many {facts.unit} of these people have, with {histogram}; from that "
        f"a limit of {refinement.threshold:,} was chosen; and what people with more have was counted in part, so "
        f"that together {facts.weigh} {refinement.threshold:,}, with {counts}. All that was paid with "
        f"{describe_cost(grant)}, and put together with what was known before, by precision."
    )


def _describe_undetected(facts: AdaptiveFacts, histogram: Noisy) -> str:
    """Say which users no interval covers where nothing bounds a user's records."""
    users = some(math.ceil(histogram.distribution.half_width(LEVEL)), "person", "people")
    sentence = (
        f"{UNCOVERED}{users} of any one activity, even with extremely many records each: counts and "
        "intervals know nothing of such people."
    )
    return sentence if facts.noise == "gaussian" else f"{sentence} A public cap, --at-most, bounds what they add."
