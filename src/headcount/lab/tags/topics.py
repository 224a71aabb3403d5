"""Latent Dirichlet allocation by collapsed Gibbs sampling, with resources as documents and tags as words.

Each assignment is a word of its resource. Nothing here is private; it is what PriTop is made of.

Reference
    T. Griffiths, M. Steyvers. Finding Scientific Topics. PNAS 101, 2004.

Usefulness of PriTop
    :func:`enough_tags` and :func:`largest_factor` are the conditions of theorems 4.4.1 and 4.4.2 for (α,
    δ)-usefulness: a user's semantic loss stays below α with probability 1 - δ. Neither is of use as printed. The
    proof of theorem 4.4.1 takes the chance that one draw of noise exceeds α, a share, for the chance that all K
    together delete more than that share of a user's tags. Theorem 4.4.2 is Markov's inequality, and its Q is at
    least the number of tags in a topic: it speaks of topics with hardly any choice.

Reference
    T. Zhu. Differential Privacy and Its Application. PhD thesis, Deakin University, 2014, section 4.4.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Floats
from headcount.events.tag_log import Tagging

Counts = NDArray[np.int64]

ALPHA, BETA = 0.1, 0.01
"""Priors: resources have few tags and so few topics. The thesis does not give its own."""

SWEEPS = 60


@dataclass(frozen=True)
class Topics:
    """How often each topic was drawn for each tag and for each resource."""

    of_tag: Counts
    of_resource: Counts

    @property
    def many(self) -> int:
        """How many topics there are."""
        return int(self.of_tag.shape[1])

    @property
    def tags_of_topics(self) -> Floats:
        """Pr(t | z), a row for each topic."""
        smooth = self.of_tag.T + BETA
        return np.asarray(smooth / smooth.sum(axis=1, keepdims=True))


def fit_topics(tagging: Tagging, many: int, seed: int, sweeps: int = SWEEPS) -> Topics:
    """Draw topics for all assignments, again and again; the last draw counts.

    >>> blocks = Tagging.from_codes([0] * 8, [0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 0, 1, 2, 3, 2, 3],
    ...                     people=1, resources=4, tags=4)
    >>> topic_of_tag = fit_topics(blocks, 2, seed=1).of_tag.argmax(axis=1)
    >>> bool(topic_of_tag[0] == topic_of_tag[1] != topic_of_tag[2] == topic_of_tag[3])
    True
    """
    from headcount.lab.tags.kernels import sweep

    draws = np.random.Generator(np.random.PCG64(seed))
    topic = draws.integers(0, many, tagging.size, dtype=np.int32)
    of_tag = np.zeros((tagging.tags, many), dtype=np.int64)
    of_resource = np.zeros((tagging.resources, many), dtype=np.int64)
    np.add.at(of_tag, (tagging.tag, topic), 1)
    np.add.at(of_resource, (tagging.resource, topic), 1)
    of_all = of_tag.sum(axis=0)
    state = draws.integers(0, 1 << 64, dtype=np.uint64)
    sweep(
        tagging.resource, tagging.tag, topic, of_tag, of_resource, of_all, ALPHA, BETA, state, sweeps
    )  # fmt: skip
    return Topics(of_tag, of_resource)


def entropies(shares: Floats) -> Floats:
    """Return the entropy of each distribution, in bits.

    >>> entropies(np.array([[1.0, 0.0], [0.5, 0.5]])).tolist()
    [0.0, 1.0]
    """
    logs = np.log2(np.maximum(shares, 1e-300))
    return np.asarray(-(shares * logs).sum(axis=-1)) + 0.0


def enough_tags(topics: int, epsilon: float, alpha: float, delta: float) -> float:
    """Return how many tags a person must have for the perturbation to be useful, by theorem 4.4.1.

    >>> round(enough_tags(10, epsilon=1, alpha=0.1, delta=0.5), 1)
    19.5
    """
    return topics * math.exp(-epsilon * alpha / 4) / delta


def largest_factor(epsilon: float, alpha: float, delta: float) -> float:
    """Return the largest Q, the sum of exp(ε q / 8) over a topic, for the selection to be useful by theorem 4.4.2.

    >>> round(largest_factor(epsilon=1, alpha=0.5, delta=0.5), 2)
    1.51
    """
    return math.exp(epsilon / 8) / (1 - delta * alpha)
