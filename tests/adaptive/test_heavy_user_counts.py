"""From noisy tables of light and of heavy users to counts and edges: what that takes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.adaptive.activity_histogram import at_most, estimate
from headcount.adaptive.class_scale_up import ReleasedShares
from headcount.adaptive.empirical_bayes import Posterior
from headcount.adaptive.heavy_user_counts import NoisyGroups, draft_of, edges_from
from headcount.adaptive.light_heavy import finished, scaling
from headcount.adaptive.undetected_users import KnownPeople
from headcount.bounds import Scale
from headcount.bounds.counts.activity_bins import BINS, UPPER_ENDS


def test_intervals_take_little_memory() -> None:
    """Counts and intervals of half a million cells within 60 bytes each, 24 of them their own.

    Measured: 50 and 37.
    """
    items, contexts = 500_000, 10
    random = np.random.default_rng(1)
    law = DiscreteLaplace(Fraction(20), Fraction(1, 1 << 16))
    known = np.zeros(BINS)
    known[:8] = 5_000
    people = KnownPeople(estimate(known, 20.0), at_most(known, 20.0), distinct=False)
    bound = Scale(16, apart=True)
    one, many = (
        NoisyGroups((random.laplace(5, 20, (2, *shape)) * (1 << 16)).astype(np.int64), law, law)
        for shape in ((items,), (items // contexts, contexts))
    )

    def counts(noisy: NoisyGroups) -> Posterior:
        draft = draft_of(noisy, people, bound, 0.95)
        classes = draft.classes(40.0)
        shares = ReleasedShares(np.full((UPPER_ENDS.size, classes.max() + 1), 50.0), 40.0, classes)
        return finished(draft, scaling(draft, shares))

    few = counts(replace(one, values=one.values[:, : items // contexts]))
    makes: list[Callable[[], Posterior]] = [lambda: counts(one), lambda: edges_from(many, few, people, bound)]
    for make in makes:
        tracemalloc.start()
        made = make()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert made.mean.size == items
        assert most < 60 * items, most / items
