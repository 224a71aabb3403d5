"""Estimates of the tag model: from noisy weights to its tables, topics and sentences. Post-processing only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount._internal.arrays import Floats, Integers
from headcount.accounting.budget import Grant
from headcount.accounting.noise_distributions import DiscreteLaplace, NoiseDistribution
from headcount.bounds import Noisy, Norm
from headcount.bounds.tags.tag_weights import TagBound, TagPairs, TagWeights, to_symmetric_matrix
from headcount.events.tag_log import TagLog
from headcount.methods.method import describe_cost
from headcount.methods.tags.denoise import Denoised, denoised, keep_significant, topics

MOST_TAGS, MOST_RESOURCES = 500, 1000
FEWEST = 20
BY_CHANCE = 10
"""Significant weights are above a bar that noise alone passes about so many times in the whole list."""

ENOUGH = 3 * BY_CHANCE
"""Pairs are measured if at least so many resources are significant: most of them then are not so by chance."""

MOST_TOPICS = 20


@dataclass(frozen=True)
class NoisyMarginals:
    """The noisy weights of all tags and resources, and the places of the significant ones."""

    tags: Floats
    resources: Floats
    distribution: NoiseDistribution
    kept_tags: Integers
    kept_resources: Integers
    has_pairs: bool
    """Whether enough resources are significant to measure pairs."""

    @classmethod
    def split(cls, both: Noisy, n_tags: int) -> NoisyMarginals:
        """Split the weights of tags and resources, and find the significant ones."""
        tags, resources, law = both.counts[:n_tags], both.counts[n_tags:], both.distribution
        deviation = math.sqrt(law.variance)
        resource_bar = _bar_of(deviation, resources.size, law)
        kept = keep_significant(resources, resource_bar, min(FEWEST, resources.size), MOST_RESOURCES)
        n_clear = int(np.count_nonzero(resources >= resource_bar))
        has_pairs = n_clear >= min(ENOUGH, resources.size)
        return cls(tags, resources, law, _significant_tags(tags, deviation, law), kept, has_pairs)

    def second_bound(self, norm: Norm) -> TagBound:
        """Return the bound of the second measurement: pairs of the significant ones, else tags once more."""
        return TagPairs(self.kept_resources, self.kept_tags, norm) if self.has_pairs else TagWeights(norm)


@dataclass(frozen=True)
class TagEstimates:
    """The model that follows from all noisy weights: ``second`` holds pairs, or the tags once more."""

    marginals: NoisyMarginals
    second: Noisy
    norm: Norm

    @cached_property
    def tags(self) -> Floats:
        """The weights of all tags; if these were measured twice, the mean by precision."""
        if self.marginals.has_pairs:
            return self.marginals.tags
        first, second = self.marginals.distribution.variance, self.second.distribution.variance
        return np.asarray((self.marginals.tags / first + self.second.counts / second) / (1 / first + 1 / second))

    @cached_property
    def kept_tags(self) -> Integers:
        """The places of the significant tags."""
        if self.marginals.has_pairs:
            return self.marginals.kept_tags
        first, second = self.marginals.distribution.variance, self.second.distribution.variance
        return _significant_tags(self.tags, 1 / math.sqrt(1 / first + 1 / second), self.second.distribution)

    @cached_property
    def noisy_pairs(self) -> Floats | None:
        """The noisy weights of the kept tags on the kept resources, if they were measured."""
        if not self.marginals.has_pairs:
            return None
        shape = self.marginals.kept_resources.size, self.kept_tags.size
        return self.second.counts[: shape[0] * shape[1]].reshape(shape)

    @cached_property
    def tag_pairs(self) -> Floats | None:
        """The noisy weights of each two kept tags, if they were measured."""
        if self.noisy_pairs is None or self.norm != "l2":
            return None
        return to_symmetric_matrix(self.second.counts[self.noisy_pairs.size :], self.kept_tags.size)

    @cached_property
    def fit(self) -> Denoised | None:
        """The weights of tags on resources without most of the noise."""
        if self.noisy_pairs is None:
            return None
        deviation = math.sqrt(self.second.distribution.variance)
        pairs_deviation = deviation * math.sqrt(2)  # twice over for weights of a half, off the diagonal 1/√2 of it
        return denoised(self.noisy_pairs, self.tags[self.kept_tags], deviation, self.tag_pairs, pairs_deviation)

    @property
    def noise_distributions(self) -> dict[str, NoiseDistribution]:
        """The noise of each table."""
        law = self.marginals.distribution
        own = {"model/tags": law, "model/resources": law}
        return own | ({"model/pairs": self.second.distribution} if self.marginals.has_pairs else {})

    @property
    def chosen(self) -> dict[str, Any]:
        """What was decided from released numbers."""
        sizes = {"tags": int(self.kept_tags.size)}
        if self.fit is None:
            return sizes | {"measured": False}
        resources = int(self.marginals.kept_resources.size)
        return sizes | {"measured": True, "resources": resources, "directions": self.fit.directions}

    def tables(self, log: TagLog) -> dict[str, pa.Table]:
        """Return the tables of the model."""
        words, names, kept = log.vocabulary, log.catalogue, self.marginals.kept_resources
        tables = {
            "model/tags": _weight_table("tag", words.ids, words.labels, self.tags, self.kept_tags),
            "model/resources": _weight_table("resource", names.ids, names.labels, self.marginals.resources, kept),
        }
        tags = _texts(words.ids)[self.kept_tags]
        weights = np.maximum(self.tags[self.kept_tags], 0.0)[None, :]
        if self.fit is not None and self.noisy_pairs is not None:
            resources, weights = _texts(names.ids)[kept], self.fit.weights
            tables["model/pairs"] = pa.table(
                {
                    "resource": np.repeat(resources, tags.size),
                    "tag": np.tile(tags, resources.size),
                    "noisy": self.noisy_pairs.ravel(),
                    "weight": weights.ravel(),
                }
            )
        if self.tag_pairs is not None:
            rows, columns = np.triu_indices(tags.size)
            pairs = {"tag": tags[rows], "other": tags[columns], "noisy": self.tag_pairs[rows, columns]}
            tables["model/together"] = pa.table(pairs)
        about, shares = topics(weights, 1 if self.fit is None else min(MOST_TOPICS, self.fit.directions + 1))
        tables["model/topics"] = pa.table(
            {
                "topic": np.repeat(np.arange(1, len(shares) + 1), tags.size),
                "weight": np.repeat(about.sum(axis=0), tags.size),
                "tag": np.tile(tags, len(shares)),
                "share": shares.ravel(),
            }
        )
        return tables

    def steps(self, costs: Mapping[str, Grant]) -> list[str]:
        """Describe the measurements."""
        second, cost = self.second.distribution.in_words(), describe_cost(costs["pairs"])
        sentences = [
            "Everybody counted with all they tagged, and the more of it, the less each part weighed.",
            f"The weights of all {self.tags.size:,} tags and {self.marginals.resources.size:,} resources got "
            f"{self.marginals.distribution.in_words()}, paid with {describe_cost(costs['marginals'])}.",
        ]
        if not self.marginals.has_pairs:
            return [
                *sentences,
                "Too few resources stood out from that noise to tell which tags belong to them, so the tags were "
                f"measured once more, with {second}, paid with {cost}.",
            ]
        more = "" if self.tag_pairs is None else ", and of tags together,"
        return [
            *sentences,
            f"Of what stood out, the weights of {self.kept_tags.size:,} tags on "
            f"{self.marginals.kept_resources.size:,} resources{more} got {second}, paid with {cost}.",
            "Most of the noise was then taken out of these, and topics were worked out from them, which costs "
            "nothing.",
        ]


def _significant_tags(tags: Floats, deviation: float, law: NoiseDistribution) -> Integers:
    return keep_significant(tags, _bar_of(deviation, tags.size, law), min(FEWEST, tags.size), MOST_TAGS)


def _bar_of(deviation: float, size: int, law: NoiseDistribution) -> float:
    """Return what noise alone exceeds about ``BY_CHANCE`` times among so many; lists of few have no bar."""
    rare = min(0.5, BY_CHANCE / max(size, 1))
    if isinstance(law, DiscreteLaplace):
        return deviation / math.sqrt(2) * -math.log(2 * rare)
    return deviation * -NormalDist().inv_cdf(rare)


def _texts(ids: tuple[str, ...] | tuple[int, ...]) -> NDArray[np.object_]:
    return np.array([str(value) for value in ids], dtype=object)


def _weight_table(
    role: str,
    ids: tuple[str, ...] | tuple[int, ...],
    labels: tuple[str | None, ...],
    weights: Floats,
    kept: Integers,
) -> pa.Table:
    stands_out = np.zeros(weights.size, dtype=np.bool_)
    stands_out[kept] = True
    named = pa.array(labels, pa.string())
    return pa.table({role: pa.array(_texts(ids)), "label": named, "weight": weights, "stands_out": stands_out})
