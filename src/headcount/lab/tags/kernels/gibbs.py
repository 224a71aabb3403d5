"""Compiled sweeps of collapsed Gibbs sampling for latent Dirichlet allocation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Codes
from headcount._internal.compiled import compiled
from headcount.bounds.kernels.draws import GOLDEN
from headcount.lab.tags.kernels.uniform import uniform

Counts = NDArray[np.int64]


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
            word, document, old = tag[at], resource[at], topic[at]
            of_tag[word, old] -= 1
            of_resource[document, old] -= 1
            of_all[old] -= 1
            total = 0.0
            for z in range(many):
                total += (of_tag[word, z] + beta) * (of_resource[document, z] + alpha) / (of_all[z] + everything)
                running[z] = total
            state += GOLDEN
            bar = uniform(state) * total
            new = 0
            while new < many - 1 and running[new] <= bar:
                new += 1
            topic[at] = new
            of_tag[word, new] += 1
            of_resource[document, new] += 1
            of_all[new] += 1
