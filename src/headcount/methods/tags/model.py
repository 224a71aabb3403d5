"""The tag model: noisy tag weights, resource weights and resource-tag pairs.

Everybody counts with all they tagged, weighted down to a length of 1 however much it is. Three things are
measured:

1. ``marginals``: the weight of every tag and of every resource;
2. ``pairs``: for the tags and resources that stand out, the weight of each tag on each resource and, with δ, of
   tags together. Where too few resources stand out for that to be of use, the tags are measured once more instead;
3. ``people``: how many people there are.

What follows is worked out from these: the table of tags on resources with most of its noise taken out, topics, and
recommended tags or synthetic profiles whenever they are wanted (:mod:`headcount.methods.tags.recommend`,
:mod:`headcount.methods.tags.synthesize`).

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
    (:mod:`headcount.lab.as_published.pritop`) publishes a row for each person and promises nothing that
    holds.

Reference
    C. Dwork, K. Talwar, A. Thakurta, L. Zhang. Analyze Gauss: Optimal Bounds for Privacy-Preserving Principal
    Component Analysis. STOC 2014, for tags together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import ClassVar

import pyarrow as pa

from headcount.accounting.budget import Amount, Cost, CostOrGrant, Grant
from headcount.accounting.guarantee import Guarantee, Standing
from headcount.bounds import FIXED_POINT, NO_SECRET, Noisy, Sensitivity
from headcount.bounds.tags.tag_weights import Taggers, TagMarginals, TagPairs, TagWeights
from headcount.engines.engine import Engine
from headcount.errors import UsageError, param
from headcount.events.log import EventLog
from headcount.events.tag_log import TagLog
from headcount.methods.method import ONE_ID, PUBLIC_LISTS, Bounds, MeasuringMethod, describe_cost, describe_filters
from headcount.methods.tags.estimates import NoisyMarginals, TagEstimates
from headcount.noise import NoiseSource, add_noise, noise_norm
from headcount.noise.stages import Stage, Stages, normalize_split, split_among_stages
from headcount.releases.release import Interval, Release


@dataclass(frozen=True)
class NoisyTags:
    """All noisy measurements: weights, with the model that follows from them, and users; and the spent grants."""

    model: TagEstimates
    user_count: Noisy
    grants: Mapping[str, Grant]


@dataclass(frozen=True, kw_only=True)
class TagModel(MeasuringMethod[NoisyTags]):
    """Release a model of who tags what how, of weights with noise.

    >>> from headcount.noise import SeededNoise
    >>> records = [(f"u{n}", "film", "funny") for n in range(90)] + [("eve", "play", "sad")]
    >>> log = TagLog.listing(records, resources=["film", "play"], vocabulary=["funny", "sad"])
    >>> model = TagModel().release(log, Grant("8", "1e-6"), SeededNoise(1)).tables["model/tags"]
    >>> [round(weight) for weight in model["weight"].to_pylist()]
    [89, 2]
    """

    name: ClassVar[str] = "tag-model"
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None
    bounds: ClassVar[Bounds] = (Taggers, TagMarginals, TagPairs, TagWeights)

    shares: Mapping[str, Amount] | None = None

    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """The ε and δ of the grant, for adding or removing a user."""
        return Guarantee(epsilon=priced.epsilon, delta=priced.delta, assumes=(PUBLIC_LISTS, ONE_ID))

    def check(self, log: EventLog) -> None:
        """Refuse what cannot be used."""
        if not log.has_catalogue:
            raise UsageError("the resources must be public", remedy=f"list them with {param.resources('FILE')}")
        if log.context_of == "user" or log.roles.times is not None or log.roles.value is not None:
            raise UsageError(
                f"a tag log has no {param.context_of('user')}, {param.times} or {param.value}",
                remedy="make it with headcount.read_tags",
            )

    def stages(self, log: EventLog, price: Cost) -> Stages:
        """Three measurements, in shares that were best on one half of the users of Last.fm (HetRec 2011).

        With δ, marginals and pairs share ρ by their shares squared, since ρ goes with the square of ε. What is
        measured of pairs hangs on the marginals.
        """
        marginals = Stage(
            "marginals",
            Decimal("0.4"),
            gaussian=bool(price.delta),
            sensitivity=TagMarginals(noise_norm(price)).sensitivity(TagLog.of_log(log)),
            unit=FIXED_POINT,
            tells=("model/tags", "model/resources"),
        )
        pairs = Stage("pairs", Decimal("0.58"), gaussian=marginals.gaussian)
        user_count = Stage("people", Decimal("0.02"), sensitivity=Sensitivity.of_l1(1), tells=("model/people",))
        marginals, pairs, user_count = normalize_split([marginals, pairs, user_count], self.shares)
        first = (marginals.share**2 / (marginals.share**2 + pairs.share**2)).quantize(Decimal("1e-9"))
        return replace(marginals, of_rho=first), replace(pairs, of_rho=1 - first), user_count

    def measure(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine) -> NoisyTags:
        """Measure users, marginals, and then pairs or the tags once more."""
        tagged, norm = TagLog.of_log(log), noise_norm(grant.cost)
        grants = split_among_stages(self.stages(tagged, grant.cost), grant)
        user_count = add_noise(engine.measure(tagged, Taggers(), NO_SECRET), grants["people"], noise)
        both = add_noise(engine.measure(tagged, TagMarginals(norm), NO_SECRET), grants["marginals"], noise)
        marginals = NoisyMarginals.split(both, len(tagged.vocabulary.ids))
        exact = engine.measure(tagged, marginals.second_bound(norm), NO_SECRET)
        second = add_noise(exact, grants["pairs"], noise)
        return NoisyTags(TagEstimates(marginals, second, norm), user_count, grants)

    def estimate(self, log: EventLog, guarantee: Guarantee, noisy: NoisyTags, *, simulated: bool) -> Release:
        """Return the release of noisy weights; this is post-processing."""
        tagged, model, users = TagLog.of_log(log), noisy.model, noisy.user_count
        width, number = users.distribution.half_width(0.95), float(users.counts[0])
        user_table = pa.table({"users": [number], "low": [number - width], "high": [number + width]})
        cost = describe_cost(noisy.grants["people"])
        return Release(
            method=self.name,
            guarantee=guarantee,
            noise={**model.noise_distributions, "model/people": users.distribution},
            tables={**model.tables(tagged), "model/people": user_table},
            interval=Interval(level=0.95, covers="true"),
            counts="users",
            bounded="everything each person tagged, weighted down to a length of 1",
            chosen={"model/pairs": model.chosen},
            steps=(
                *describe_filters(tagged),
                *model.steps(noisy.grants),
                f"The number of people got {users.distribution.in_words()}, paid with {cost}.",
            ),
            catalogue=tagged.catalogue.digest,
            simulated=simulated,
        )
