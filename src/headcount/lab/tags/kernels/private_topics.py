"""Compiled Pr(z | t, r) from topic counts with fresh noise for every resource-tag pair (equation 4.3.5)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Codes, Floats
from headcount._internal.compiled import Word, compiled, inlined
from headcount.bounds.kernels.draws import GOLDEN
from headcount.lab.tags.kernels.uniform import uniform

Counts = NDArray[np.int64]


@inlined
def _laplace(drawn: Word, scale: float) -> Word:
    """Turn a number in [0, 1) into Laplace noise."""
    centred = drawn - 0.5
    return -math.copysign(scale, centred) * math.log(1.0 - 2.0 * abs(centred) + 2.0**-54)


@compiled
def noisy_shares(
    resource: Codes,
    tag: Codes,
    times: Counts,
    of_tag: Counts,
    of_resource: Counts,
    priors: tuple[float, float],
    scale: float,
    seed: np.uint64,
    best: Counts,
    shares: Floats,
) -> None:
    """Fill ``best``, the most probable topic of each pair, and add to ``shares`` of its tag, ``times`` over."""
    alpha, beta = priors
    many = of_tag.shape[1]
    of_topic = of_tag.sum(axis=0)
    all_tags, all_topics = of_tag.shape[0] * beta, many * alpha
    chances = np.empty(many)
    state = seed
    for at in range(tag.size):
        word, document = tag[at], resource[at]
        size = of_resource[document].sum()
        total, most = 0.0, 0
        for z in range(many):
            state += GOLDEN
            tag_noise = _laplace(uniform(state), scale)
            state += GOLDEN
            resource_noise = _laplace(uniform(state), scale)
            left = (max(of_tag[word, z] + tag_noise, 0.0) + beta) / (max(of_topic[z] - tag_noise, 0.0) + all_tags)
            right = (max(of_resource[document, z] + resource_noise, 0.0) + alpha) / (
                max(size - resource_noise, 0.0) + all_topics
            )
            chances[z] = left * right
            total += chances[z]
            if chances[z] > chances[most]:
                most = z
        best[at] = most
        for z in range(many):
            shares[word, z] += times[at] * chances[z] / total
