"""Denoising of released tag weights by significant singular directions and topics: post-processing.

Tags on resources follow a few themes. So the noisy table of resources by tags is taken apart into what every
resource has in proportion to how popular tags are, and the few directions in which resources differ by more than
noise would. What lies in no such direction is noise, and is left out; what does is shrunk by the noise it holds.
Everything here is worked out from released numbers and the law of their noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Floats

_ABOVE_NOISE = 1.02  # a direction counts if it is so much longer than the longest that noise alone makes
_ROUNDS = 300  # of looking for topics: far beyond where the word lists settle


@dataclass(frozen=True)
class Denoised:
    """Weights of tags on resources as far as they stand out from the noise, and in how many directions they do."""

    weights: Floats
    directions: int


def denoised(
    noisy: Floats, popular: Floats, deviation: float, together: Floats | None = None, beside: float = 1.0
) -> Denoised:
    """Return what is left of a noisy table of resources by tags once the noise is taken out.

    ``popular`` says how popular each tag is, and ``deviation`` how large the noise is. ``together``, how much
    people use two tags at once, helps to find the directions; ``beside`` is the noise of an entry of it.

    >>> clear = np.outer([4.0, 2.0], [3.0, 1.0])
    >>> denoised(clear, np.array([3.0, 1.0]), 0.01).weights.round(1).tolist()
    [[12.0, 4.0], [6.0, 2.0]]
    """
    common = _of_length_one(np.maximum(popular, 0.0))
    along = noisy @ common
    rest = noisy - np.outer(along, common)
    stacked = rest / deviation
    if together is not None:
        apart = np.eye(common.size) - np.outer(common, common)
        stacked = np.vstack([stacked, apart @ together @ apart / beside])
    _, lengths, directions = np.linalg.svd(stacked, full_matrices=False)
    longest = _ABOVE_NOISE * (math.sqrt(stacked.shape[0]) + math.sqrt(stacked.shape[1]))
    kept_directions = directions[: int(np.count_nonzero(lengths > longest))]
    weights = np.outer(_shrunk(along[:, None], deviation)[:, 0], common)
    weights += _shrunk(rest @ kept_directions.T, deviation) @ kept_directions
    return Denoised(np.maximum(weights, 0.0), len(kept_directions))


def topics(weights: Floats, many: int) -> tuple[Floats, Floats]:
    """Take weights apart into topics: how much of each resource is about each topic, and each topic's tags.

    Both are at least 0, and the tags of a topic sum to 1. The topics that weigh most come first.

    >>> blocks = np.array([[4.0, 4.0, 0.0], [0.0, 0.0, 2.0]])
    >>> about, tags = topics(blocks, 2)
    >>> (about.round(1) + 0.0).tolist(), (tags.round(1) + 0.0).tolist()
    ([[8.0, 0.0], [0.0, 2.0]], [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    """
    if min(many, *weights.shape) == 1:  # all rows alike: what the updates would end with
        total = max(float(weights.sum()), 1e-12)
        return weights.sum(axis=1, keepdims=True), weights.sum(axis=0, keepdims=True) / total
    about, tags = _begun(weights, min(many, *weights.shape))
    for _ in range(_ROUNDS):  # Lee and Seung's updates for the divergence of counts
        about *= _quotient(weights, about @ tags) @ tags.T / np.maximum(tags.sum(axis=1), 1e-12)
        tags *= about.T @ _quotient(weights, about @ tags) / np.maximum(about.sum(axis=0), 1e-12)[:, None]
    sizes = tags.sum(axis=1)
    about, tags = about * sizes, tags / np.maximum(sizes, 1e-12)[:, None]
    order = np.argsort(-about.sum(axis=0), kind="stable")
    return about[:, order], tags[order]


def keep_significant(weights: Floats, bar: float, least: int, most: int) -> NDArray[np.int64]:
    """Return the places of the largest weights that reach a bar, at least so many and at most so many.

    >>> keep_significant(np.array([1.0, 9.0, 5.0]), bar=4.0, least=1, most=2).tolist()
    [1, 2]
    """
    order = np.argsort(-weights, kind="stable")
    return order[: min(most, max(least, int(np.count_nonzero(weights >= bar))))]


def _begun(weights: Floats, many: int) -> tuple[Floats, Floats]:
    """Begin with the sides of the singular vectors that are longer, and a little of everything."""
    left, lengths, right = np.linalg.svd(weights, full_matrices=False)
    about, tags = np.zeros((weights.shape[0], many)), np.zeros((many, weights.shape[1]))
    for at in range(many):
        up = np.maximum(left[:, at], 0), np.maximum(right[at], 0)
        down = np.maximum(-left[:, at], 0), np.maximum(-right[at], 0)
        side = max((up, down), key=lambda pair: float(np.linalg.norm(pair[0]) * np.linalg.norm(pair[1])))
        about[:, at], tags[at] = math.sqrt(lengths[at]) * side[0], math.sqrt(lengths[at]) * side[1]
    little = 1e-3 * math.sqrt(max(float(weights.mean()), 1e-12))
    return about + little, tags + little


def _quotient(weights: Floats, fitted: Floats) -> Floats:
    return np.asarray(weights / np.maximum(fitted, 1e-12))


def _shrunk(coordinates: Floats, deviation: float) -> Floats:
    """Shrink each column by the share of its mean square that noise makes up."""
    square = np.maximum((coordinates**2).mean(axis=0), 1e-300)
    return np.asarray(coordinates * np.maximum(1 - deviation**2 / square, 0.0))


def _of_length_one(vector: Floats) -> Floats:
    length = float(np.linalg.norm(vector))
    return vector / length if length else np.full(vector.size, 1 / math.sqrt(vector.size))
