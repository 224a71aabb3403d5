"""Compiled sweeps of collapsed Gibbs sampling: each assignment gets a new topic, given those of all others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount.compiling import Word, compiled, inlined, uint64

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@inlined
def _uniform(state: Word) -> Word:
    """Return a number in [0, 1) for a state of SplitMix64."""
    x = (state ^ (state >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> uint64(27))) * uint64(0x94D049BB133111EB)
    return np.int64((x ^ (x >> uint64(31))) >> uint64(11)) * 2.0**-53


@compiled
def sweep(
    resource: Codes,
    tag: Codes,
    topic: Codes,
    of_tag: Counts,
    of_resource: Counts,
    of_all: Counts,
    alpha: float,
    beta: float,
    seed: np.uint64,
    sweeps: int,
) -> None:
    """Draw every topic anew, ``sweeps`` times; counts are kept up to date."""
    many = of_all.size
    everything = of_tag.shape[0] * beta
    running = np.empty(many)
    state = seed
    for _ in range(sweeps):
        for at in range(tag.size):
            word, thing, old = tag[at], resource[at], topic[at]
            of_tag[word, old] -= 1
            of_resource[thing, old] -= 1
            of_all[old] -= 1
            total = 0.0
            for each in range(many):
                total += (
                    (of_tag[word, each] + beta) * (of_resource[thing, each] + alpha) / (of_all[each] + everything)
                )
                running[each] = total
            state += _GOLDEN
            bar = _uniform(state) * total
            new = 0
            while new < many - 1 and running[new] <= bar:
                new += 1
            topic[at] = new
            of_tag[word, new] += 1
            of_resource[thing, new] += 1
            of_all[new] += 1
