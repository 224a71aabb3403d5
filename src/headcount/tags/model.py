"""Tag model: which tags people use, on which resources and together, as a model with noise.

Everybody counts with all they tagged, weighted down to a length of 1 however much it is. Three things are
measured:

1. ``marginals``: the weight of every tag and of every resource;
2. ``pairs``: for the tags and resources that stand out, the weight of each tag on each resource and, with δ, of
   tags together. Where too few resources stand out for that to be of use, the tags are measured once more instead;
3. ``people``: how many people there are.

What follows is worked out from these: the table of tags on resources with most of its noise taken out, topics, and
recommended tags or synthetic profiles whenever they are wanted (:mod:`headcount.tags.recommending`,
:mod:`headcount.tags.profiles`).

Why it is private
    A person with n different tags adds 1/√n to each of them: a vector of L2 length 1, rounded down to multiples of
    2^-16, which only shortens it. The same holds for their resources, for their (resource, tag) pairs, and, times
    1/2, for the matrix x xᵀ / n of their tags. So the marginals move by at most √2 in L2 and the second
    measurement by at most √(1 + 1/4), or 1 where it is of tags alone, whichever tags and resources it is about:
    these were chosen from released numbers. Discrete Gaussian noise makes them ρ₁- and ρ₂-zero-concentrated, the
    second knowing what the first released, hence ρ₁ + ρ₂ together, which is what their ε and δ allow for. Without
    δ each of n things weighs 1/n, an L1 length of 1, and discrete Laplace noise pays for 2 and for 1. One person
    moves the number of people by 1. The costs add up (composition), and everything else is post-processing.

Departures from mechanisms that inspired it
    Nobody's records are sampled: weights keep all of them, without the chance of a sample. Pairs are measured
    directly and their themes found afterwards, with the help of the second moment. PriTop
    (:mod:`headcount.tags.pritop`) publishes a row for each person and promises nothing that holds.

Reference
    C. Dwork, K. Talwar, A. Thakurta, L. Zhang. Analyze Gauss: Optimal Bounds for Privacy-Preserving Principal
    Component Analysis. STOC 2014, for tags together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

import pyarrow as pa

from headcount.bounding import (
    FIXED_POINT,
    Noisy,
    Norm,
    marginal_weights,
    people_tagging,
)
from headcount.budget import Amount, Grant
from headcount.engines.engine import Engine
from headcount.engines.local import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.events.tagged import TagLog
from headcount.events.tagging import Tagging
from headcount.guarantee import Guarantee, Standing
from headcount.method import ONE_ID, paid, shares_of, what_counted
from headcount.noise import NoiseSource, add, scale_for, sigma_for
from headcount.noise_law import DiscreteGaussian, DiscreteLaplace, Law
from headcount.releases import Interval, Release
from headcount.tags.measured import Measured, noisy

DEFAULT_SHARES = {"marginals": "0.4", "pairs": "0.58", "people": "0.02"}
"""Chosen by measurement on one half of the users of Last.fm (HetRec 2011), at ε = 1, 4 and 8."""

PUBLIC_LISTS = "the lists of resources and tags are public, fixed without looking at the log"


@dataclass(frozen=True, kw_only=True)
class TagModel:
    """Release a model of who tags what how, of weights with noise.

    >>> from headcount.noise import SeededNoise
    >>> records = [(f"u{n}", "film", "funny") for n in range(90)] + [("eve", "play", "sad")]
    >>> log = TagLog.listing(records, resources=["film", "play"], vocabulary=["funny", "sad"])
    >>> model = TagModel().release(log, Grant("8", "1e-6"), SeededNoise(1)).tables["model/tags"]
    >>> [round(each) for each in model["weight"].to_pylist()]
    [89, 2]
    """

    name: ClassVar[str] = "tag-model"
    family: ClassVar[str] = "tags"
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None

    shares: Mapping[str, Amount] | None = None

    def guarantee(self, grant: Grant) -> Guarantee:
        """The ε and δ of the grant, for adding or removing a user."""
        return Guarantee(epsilon=grant.epsilon, delta=grant.delta, assumes=(PUBLIC_LISTS, ONE_ID))

    def stages(self, log: EventLog, grant: Grant) -> Mapping[str, Grant]:
        """Split a grant as far as ε and δ are split: with δ both measurements share what is left by their ρ."""
        TagLog.of_log(log)
        return _stages(Grant(grant.epsilon, grant.delta or None), self._shares())

    def laws(self, log: EventLog, grant: Grant) -> Mapping[str, Law]:
        """Return the noise of the marginals and of the number of people; that of pairs hangs on the data."""
        tagged = _checked(log)
        parts = _split(Grant(grant.epsilon, grant.delta or None), self._shares())
        both = marginal_weights(_empty(tagged), _norm(grant)).sensitivity
        law = _law(both.l1, both.l2_squared, parts["marginals"])
        people = DiscreteLaplace(scale_for(1, parts["people"].exact))
        return {"model/tags": law, "model/resources": law, "model/people": people}

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Collect the assignments, and go on with them."""
        tagged = _checked(log)
        return self.of_assignments((engine or LocalEngine()).tagging(tagged), tagged, grant, noise)

    def of_assignments(self, exact: Tagging, tagged: TagLog, grant: Grant, noise: NoiseSource) -> Release:
        """Measure three times, and work the model out."""
        guarantee, norm = self.guarantee(grant), _norm(grant)
        grants = _split(grant, self._shares())
        people = add(people_tagging(exact), grants["people"], noise)
        both = noisy(marginal_weights(exact, norm), grants["marginals"], noise)
        found = Measured.of(both, exact.tags)
        if found.has_pairs:
            found.measure_pairs(exact, norm, grants["pairs"], noise)
        else:
            found.measure_tags(exact, norm, grants["pairs"], noise)
        laws = {**found.laws, "model/people": people.law}
        return Release(
            method=self.name,
            guarantee=guarantee,
            noise=laws,
            tables={**found.tables(tagged), "model/people": _people(people)},
            interval=Interval(level=0.95, covers="true"),
            counts="users",
            bounded="everything each person tagged, weighted down to a length of 1",
            chosen={"model/pairs": found.chosen()},
            steps=(*what_counted(tagged), *found.story(grants), _story_of_people(people, grants["people"])),
            catalogue=tagged.catalogue.digest,
            simulated=not noise.is_private,
        )

    def _shares(self) -> dict[str, Decimal]:
        return shares_of(tuple(DEFAULT_SHARES), DEFAULT_SHARES, self.shares)


def _checked(log: EventLog) -> TagLog:
    """Refuse what cannot be used."""
    if not log.has_catalogue:
        raise UsageError("the resources must be public", remedy="list them with --resources FILE")
    if log.context_of == "user" or log.roles.times is not None or log.roles.value is not None:
        raise UsageError(
            "a tag log has no --context-of user, --times or --value", remedy="make it with headcount.read_tags"
        )
    return TagLog.of_log(log)


def _norm(grant: Grant) -> Norm:
    return "l2" if grant.delta else "l1"


def _stages(grant: Grant, shares: Mapping[str, Decimal]) -> dict[str, Grant]:
    if not grant.delta:
        return grant.split(shares)
    return grant.split({"people": shares["people"], "measured": 1 - shares["people"]}, {"measured": Decimal(1)})


def _split(grant: Grant, shares: Mapping[str, Decimal]) -> dict[str, Grant]:
    """Split a grant among all measurements; by ρ, shares count squared, since ρ goes with the square of ε."""
    parts = _stages(grant, shares)
    if not grant.delta:
        return parts
    squared = {name: shares[name] ** 2 for name in ("marginals", "pairs")}
    first = (squared["marginals"] / sum(squared.values())).quantize(Decimal("1e-9"))
    return {"people": parts["people"], **parts["measured"].split_rho({"marginals": first, "pairs": 1 - first})}


def _law(l1: int, l2_squared: int, grant: Grant) -> Law:
    if grant.delta:
        return DiscreteGaussian(sigma_for(l2_squared, grant.rho)).divided(FIXED_POINT)
    return DiscreteLaplace(scale_for(l1, grant.exact)).divided(FIXED_POINT)


def _empty(log: TagLog) -> Tagging:
    sizes = {"resources": len(log.catalogue.ids), "tags": len(log.vocabulary.ids)}
    return Tagging.of([], [], [], people=0, **sizes)


def _people(people: Noisy) -> pa.Table:
    width, number = people.law.half_width(0.95), float(people.counts[0])
    return pa.table({"users": [number], "low": [number - width], "high": [number + width]})


def _story_of_people(people: Noisy, grant: Grant) -> str:
    return f"The number of people got {people.law.in_words()}, paid with {paid(grant)}."
