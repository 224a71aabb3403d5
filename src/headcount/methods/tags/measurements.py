"""Measurements of the tag model, and the tables and sentences made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
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
"""What stands out is above a bar that noise alone passes about so many times in the whole list."""

ENOUGH = 3 * BY_CHANCE
"""Pairs are measured if at least so many resources stand out: most of them then do not by chance."""

MOST_TOPICS = 20


@dataclass
class Measured:
    """What was released so far, and what follows from it."""

    tags: Floats
    resources: Floats
    noise_distributions: dict[str, NoiseDistribution]
    kept_tags: Integers
    kept_resources: Integers
    has_pairs: bool
    noisy_pairs: Floats | None = None
    together: Floats | None = None
    fit: Denoised | None = None
    again: NoiseDistribution | None = None

    @classmethod
    def of(cls, both: Noisy, many_tags: int) -> Measured:
        """Read the marginals, and see which tags and resources stand out from their noise."""
        tags, resources = both.counts[:many_tags], both.counts[many_tags:]
        bars = [_bar(both.distribution, weights.size) for weights in (tags, resources)]
        kept_tags = keep_significant(tags, bars[0], min(FEWEST, tags.size), MOST_TAGS)
        kept = keep_significant(resources, bars[1], min(FEWEST, resources.size), MOST_RESOURCES)
        n_clear = int(np.count_nonzero(resources >= bars[1]))
        laws = {"model/tags": both.distribution, "model/resources": both.distribution}
        return cls(tags, resources, laws, kept_tags, kept, n_clear >= min(ENOUGH, resources.size))

    def next(self, norm: Norm) -> TagBound:
        """Say what is measured next: tags on resources where enough of these stand out, else tags once more."""
        return TagPairs(self.kept_resources, self.kept_tags, norm) if self.has_pairs else TagWeights(norm)

    def take(self, released: Noisy, norm: Norm) -> None:
        """Take in what was measured next."""
        if self.has_pairs:
            self._take_pairs(released, norm)
        else:
            self._take_tags(released)

    def _take_pairs(self, released: Noisy, norm: Norm) -> None:
        """Take in tags on resources and tags together, and take out the noise."""
        shape = self.kept_resources.size, self.kept_tags.size
        self.noisy_pairs = released.counts[: shape[0] * shape[1]].reshape(shape)
        deviation = math.sqrt(released.distribution.variance)
        if norm == "l2":
            self.together = to_symmetric_matrix(released.counts[shape[0] * shape[1] :], shape[1])
        beside = deviation * math.sqrt(2)  # twice over for weights of a half, and off the diagonal 1/√2 of that
        self.noise_distributions["model/pairs"] = released.distribution
        self.fit = denoised(self.noisy_pairs, self.tags[self.kept_tags], deviation, self.together, beside)

    def _take_tags(self, released: Noisy) -> None:
        """Average both measurements of the tags by how precise they are."""
        first, second = self.noise_distributions["model/tags"].variance, released.distribution.variance
        self.tags = (self.tags / first + released.counts / second) / (1 / first + 1 / second)
        self.again = released.distribution
        bar = _bar_of(1 / math.sqrt(1 / first + 1 / second), self.tags.size, released.distribution)
        self.kept_tags = keep_significant(self.tags, bar, min(FEWEST, self.tags.size), MOST_TAGS)

    def chosen(self) -> dict[str, Any]:
        """Say what was decided from released numbers."""
        sizes = {"tags": int(self.kept_tags.size)}
        if self.fit is None:
            return sizes | {"measured": False}
        return sizes | {
            "measured": True,
            "resources": int(self.kept_resources.size),
            "directions": self.fit.directions,
        }

    def tables(self, log: TagLog) -> dict[str, pa.Table]:
        """Return the tables of the model."""
        words, names = log.vocabulary, log.catalogue
        tables = {
            "model/tags": _listed("tag", words.ids, words.labels, self.tags, self.kept_tags),
            "model/resources": _listed("resource", names.ids, names.labels, self.resources, self.kept_resources),
        }
        chosen_words = _texts(words.ids)[self.kept_tags]
        shown = np.maximum(self.tags[self.kept_tags], 0.0)[None, :]
        if self.fit is not None and self.noisy_pairs is not None:
            chosen_names = _texts(names.ids)[self.kept_resources]
            tables["model/pairs"] = pa.table(
                {
                    "resource": np.repeat(chosen_names, chosen_words.size),
                    "tag": np.tile(chosen_words, chosen_names.size),
                    "noisy": self.noisy_pairs.ravel(),
                    "weight": self.fit.weights.ravel(),
                }
            )
            shown = self.fit.weights
        if self.together is not None:
            rows, columns = np.triu_indices(chosen_words.size)
            pairs = {"tag": chosen_words[rows], "other": chosen_words[columns]}
            tables["model/together"] = pa.table({**pairs, "noisy": self.together[rows, columns]})
        many = 1 if self.fit is None else min(MOST_TOPICS, self.fit.directions + 1)
        about, shares = topics(shown, many)
        tables["model/topics"] = pa.table(
            {
                "topic": np.repeat(np.arange(1, len(shares) + 1), chosen_words.size),
                "weight": np.repeat(about.sum(axis=0), chosen_words.size),
                "tag": np.tile(chosen_words, len(shares)),
                "share": shares.ravel(),
            }
        )
        return tables

    def story(self, grants: Mapping[str, Grant]) -> list[str]:
        """Say in plain sentences what was measured."""
        law = self.noise_distributions["model/tags"]
        sentences = [
            "Everybody counted with all they tagged, and the more of it, the less each part weighed.",
            f"The weights of all {self.tags.size:,} tags and {self.resources.size:,} resources got "
            f"{law.in_words()}, paid with {describe_cost(grants['marginals'])}.",
        ]
        if self.fit is None and self.again is not None:
            return [
                *sentences,
                "Too few resources stood out from that noise to tell which tags belong to them, so the tags were "
                f"measured once more, with {self.again.in_words()}, paid with {describe_cost(grants['pairs'])}.",
            ]
        more = "" if self.together is None else ", and of tags together,"
        return [
            *sentences,
            f"Of what stood out, the weights of {self.kept_tags.size:,} tags on {self.kept_resources.size:,} "
            f"resources{more} got {self.noise_distributions['model/pairs'].in_words()}, paid with "
            f"{describe_cost(grants['pairs'])}.",
            "Most of the noise was then taken out of these, and topics were worked out from them, which costs "
            "nothing.",
        ]


def _bar(law: NoiseDistribution, size: int) -> float:
    return _bar_of(math.sqrt(law.variance), size, law)


def _bar_of(deviation: float, size: int, law: NoiseDistribution) -> float:
    """Return what noise alone exceeds about ``BY_CHANCE`` times among so many; lists of few have no bar."""
    rare = min(0.5, BY_CHANCE / max(size, 1))
    if isinstance(law, DiscreteLaplace):
        return deviation / math.sqrt(2) * -math.log(2 * rare)
    return deviation * -NormalDist().inv_cdf(rare)


def _texts(ids: tuple[str, ...] | tuple[int, ...]) -> NDArray[np.object_]:
    return np.array([str(value) for value in ids], dtype=object)


def _listed(
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
