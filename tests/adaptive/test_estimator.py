"""From noisy tables of light and of heavy users to counts and edges: what that takes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.adaptive.activity_histogram import UserEstimates, estimate_with_upper
from headcount.adaptive.estimator import NoisyGroupTables, item_contexts_from, shrink_groups
from headcount.adaptive.intervals import estimate_counts
from headcount.adaptive.light_heavy_estimates import choose_ratios
from headcount.adaptive.popularity_scale_up import ReleasedProfile
from headcount.adaptive.posterior import Posterior
from headcount.bounds import WeightToThreshold
from headcount.bounds.counts.activity_histogram import BINS, UPPER_ENDS


def test_intervals_take_little_memory() -> None:
    """Counts and intervals of half a million cells within 60 bytes each, 24 of them their own.

    Measured: 50 and 37.
    """
    items, contexts = 500_000, 10
    random = np.random.default_rng(1)
    law = DiscreteLaplace(Fraction(20), Fraction(1, 1 << 16))
    histogram = np.zeros(BINS)
    histogram[:8] = 5_000
    people = UserEstimates(*estimate_with_upper(histogram, 20.0), distinct=False)
    bound = WeightToThreshold(16, apart=True)
    item_counts, many = (
        NoisyGroupTables((random.laplace(5, 20, (2, *shape)) * (1 << 16)).astype(np.int64), law, law)
        for shape in ((items,), (items // contexts, contexts))
    )

    def counts(noisy: NoisyGroupTables) -> Posterior:
        draft = shrink_groups(noisy, people, bound)
        classes = draft.classes(40.0)
        shares = ReleasedProfile(np.full((UPPER_ENDS.size, classes.max() + 1), 50.0), 40.0, classes)
        return estimate_counts(draft, choose_ratios(draft, shares))

    few = counts(replace(item_counts, values=item_counts.values[:, : items // contexts]))
    makes: list[Callable[[], Posterior]] = [
        lambda: counts(item_counts),
        lambda: item_contexts_from(many, few, people, bound),
    ]
    for make in makes:
        tracemalloc.start()
        posterior = make()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert posterior.mean.size == items
        assert most < 60 * items, most / items
