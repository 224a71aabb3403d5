"""Gaussian noise, drawn many times for counts with and without one person: no event breaks the (ε, δ) promise.

Each cell of a long vector is a run of its own of the mechanism for one count, which Ann moves by all she may. For
the events "at least c", c on a fixed grid, p(with) <= e^ε p(without) + δ must hold. Both probabilities get exact
binomial bounds that fail with probability 1e-9 each; over 40 events and both directions the false-alarm rate is
below 1e-6 a comparison. The same test rejects a third of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from headcount.accounting.budget import Cost, Grant
from headcount.bounds import SampleRecords
from headcount.events.log import EventLog
from headcount.methods.counts.simple_random import SimpleRandom
from headcount.noise import SeededNoise, add_noise, gaussian
from headcount.noise.stages import split_among_stages

RUNS = 400_000
RISK = 1e-9
LIMIT = 3


def released(count: int, limit: int, epsilon: str, delta: str, seed: int) -> NDArray[np.int64]:
    exact = np.full(RUNS, count, dtype=np.int64)
    bounded = SampleRecords(limit).seal("records", exact, exact[:, None]).items
    return add_noise(bounded, Grant(epsilon, delta), SeededNoise(seed)).values


def violates(here: NDArray[np.int64], there: NDArray[np.int64], epsilon: float, delta: float) -> bool:
    """Say whether some event is surely likelier here than the promise allows for."""
    for cut in np.linspace(-20, 30, 40).round().astype(int).tolist():
        hits, others = int((here >= cut).sum()), int((there >= cut).sum())
        least = float(stats.beta.ppf(RISK, hits, RUNS - hits + 1)) if hits else 0.0
        most = float(stats.beta.ppf(1 - RISK, others + 1, RUNS - others)) if others < RUNS else 1.0
        if least > math.exp(epsilon) * most + delta:
            return True
    return False


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.001"), ("0.5", "0.01"), ("2", "1e-4")])
@pytest.mark.parametrize("limit", [1, 3])
def test_the_guarantee_holds_and_a_third_of_the_noise_is_rejected(epsilon: str, delta: str, limit: int) -> None:
    def both(seed: int) -> bool:
        here = released(limit, limit, epsilon, delta, seed)
        there = released(0, limit, epsilon, delta, seed + 1)
        promise = float(epsilon), float(delta)
        return violates(here, there, *promise) or violates(-there, -here, *promise)

    assert not both(1)
    real = gaussian.sigma_for

    def third(*given: object) -> Fraction:
        return Fraction(round(real(*given) / 3 * 2**16), 2**16)  # type: ignore[arg-type]

    with mock.patch.object(gaussian, "sigma_for", third), mock.patch.object(gaussian, "confirm"):
        assert both(3)


def items_and_item_contexts(count: int, grants: Mapping[str, Grant], seed: int) -> NDArray[np.int64]:
    """Add up the noisy items and edges of a person's records in one cell: what tells the most of that person."""
    exact, noise = np.full(RUNS, count, dtype=np.int64), SeededNoise(seed)
    bounded = SampleRecords(LIMIT).seal("records", exact, exact[:, None])
    return (
        add_noise(bounded.items, grants["items"], noise).values
        + add_noise(bounded.edges, grants["edges"], noise).values[:, 0]
    )


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.001"), ("0.5", "0.01")])
def test_items_and_item_contexts_share_rho_and_full_rho_for_both_is_rejected(epsilon: str, delta: str) -> None:
    log, price = EventLog.of([], items=["tea"], contexts=["a"]), Cost.of(epsilon, delta)
    stages = SimpleRandom(limit=LIMIT, noise="gaussian").stages(log, price)

    def breaks(granted: Callable[[], Mapping[str, Grant]], seed: int) -> bool:
        here, there = (items_and_item_contexts(count, granted(), seed + count) for count in (LIMIT, 0))
        promise = float(epsilon), float(delta)
        return violates(here, there, *promise) or violates(-there, -here, *promise)

    assert not breaks(lambda: split_among_stages(stages, Grant(price)), 1)
    assert breaks(lambda: {"items": Grant(price), "edges": Grant(price)}, 3)
