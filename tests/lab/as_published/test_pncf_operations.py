"""PNCF's selection and perturbation have the laws that the thesis prints.

Statistical tests draw with fixed seeds and bound frequencies by Hoeffding's inequality, means by Bernstein's or
Chebyshev's with a margin: each fails by chance with a probability below 1e-6, and rejects a twin with a wrong law.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from headcount._internal.arrays import Floats
from headcount.lab.as_published.pncf_operations import (
    Mechanism,
    gumbel,
    kth_largest,
    laplace,
    perturbed,
    select,
    sensitivities,
    truncation,
    uniform,
)
from headcount.lab.recommender.candidates import Candidates
from headcount.noise import SeededNoise

RUNS = 40_000
FALSE_ALARM = 1e-6
SIMILARITY, SENSITIVITY = (0.9, 0.5, 0.1, -0.4), (0.2, 0.1, 1.0, 0.3)


def copies(similarity: tuple[float, ...], sensitivity: tuple[float, ...], runs: int) -> Candidates:
    """The same candidates, asked for many times."""
    many = len(similarity)
    nothing = np.zeros(runs * many)
    return Candidates(
        np.repeat(np.arange(runs), many),
        np.tile(similarity, runs),
        np.tile(sensitivity, runs),
        nothing,
        np.zeros(runs),
        np.zeros(runs),
    )


def set_probabilities(scores: Floats, k: int) -> dict[frozenset[int], float]:
    """The probability of each set of k, drawn one after the other without replacement, ∝ exp(score)."""
    weights, probabilities = np.exp(scores), dict[frozenset[int], float]()
    for order in itertools.permutations(range(len(scores)), k):
        chance, left = 1.0, weights.sum()
        for index in order:
            chance *= weights[index] / left
            left -= weights[index]
        probabilities[frozenset(order)] = probabilities.get(frozenset(order), 0.0) + chance
    return probabilities


def frequencies(
    mechanism: Mechanism, k: int, sensitivity: tuple[float, ...] = SENSITIVITY
) -> dict[frozenset[int], float]:
    some = copies(SIMILARITY, sensitivity, RUNS)
    places = select(some, k, sensitivities(some, "cos", mechanism), mechanism, SeededNoise(11))
    drawn = (places % len(SIMILARITY)).reshape(RUNS, k)
    counted: dict[frozenset[int], float] = {}
    for drawn_set in drawn.tolist():
        counted[frozenset(drawn_set)] = counted.get(frozenset(drawn_set), 0.0) + 1 / RUNS
    return counted


def fits(expected: dict[frozenset[int], float], observed: dict[frozenset[int], float]) -> bool:
    margin = math.sqrt(math.log(2 * len(expected) / FALSE_ALARM) / (2 * RUNS))
    return all(abs(observed.get(subset, 0.0) - chance) <= margin for subset, chance in expected.items())


@pytest.mark.parametrize("kind", ["recommendation", "global"])
def test_neighbours_are_drawn_by_the_exponential_mechanism(kind: str) -> None:
    k, epsilon = 2, 3.0
    mechanism = Mechanism(epsilon=epsilon, truncated=False, sensitivity=kind)  # type: ignore[arg-type]
    scale = np.array(SENSITIVITY) if kind == "recommendation" else np.ones(4)
    expected = set_probabilities(epsilon * np.array(SIMILARITY) / (4 * k * scale), k)
    assert sum(expected.values()) == pytest.approx(1)
    observed = frequencies(mechanism, k)
    assert fits(expected, observed)
    assert not fits(set_probabilities(epsilon * np.array(SIMILARITY) / (4 * scale), k), observed)  # k forgotten
    assert not fits(
        set_probabilities(epsilon * np.array(SIMILARITY) / (2 * k * scale), k), observed
    )  # half the scale


def test_truncation_raises_what_is_far_below_the_kth() -> None:
    """With k = 2, s_k is 0.5 and RS 1; w is below s_k for a large ε alone."""
    some, k = copies(SIMILARITY, SENSITIVITY, 1), 2
    assert kth_largest(some, k).tolist() == [0.5]
    wide = Mechanism(epsilon=1.0)
    assert [row.tolist() for row in truncation(some, k, wide)] == [[0.5], [0.5]]
    narrow = Mechanism(epsilon=100.0, rho=0.05)
    w = 4 * 2 * 1.0 / 100 * math.log(2 * (4 - 2) / 0.05)
    assert w < 0.5
    assert truncation(some, k, narrow)[1] == pytest.approx([w])


def test_truncated_similarity_is_what_is_drawn_by() -> None:
    """Here s_k = 0.5 and w = s_k, so that the last one is raised from -0.4 to 0."""
    k, epsilon, ones = 2, 8.0, (1.0,) * 4
    observed = frequencies(Mechanism(epsilon=epsilon), k, ones)
    assert fits(set_probabilities(epsilon * np.maximum(SIMILARITY, 0.0) / (4 * k), k), observed)
    assert not fits(set_probabilities(epsilon * np.array(SIMILARITY) / (4 * k), k), observed)


def test_with_few_candidates_all_are_selected_and_every_query_has_its_own() -> None:
    some = Candidates(np.array([0, 0, 2, 2, 2]), np.arange(5.0), np.ones(5), np.zeros(5), np.zeros(3), np.zeros(3))
    places = select(some, 2, np.ones(5), Mechanism(epsilon=1.0), SeededNoise(1))
    assert sorted(places[:2].tolist()) == [0, 1]
    assert set(places[2:].tolist()) < {2, 3, 4}
    assert len(places) == 4
    assert kth_largest(some, 2).tolist() == [0.0, 0.0, 3.0]


@pytest.mark.parametrize(("form", "times"), [("equation", 2), ("algorithm", 2 * 7)])
def test_similarities_get_laplace_noise_of_the_printed_scale(form: str, times: int) -> None:
    """|Lap(b)| has mean and standard deviation b: over n draws the mean is off by 6 b / √n in 1 of 1e8 runs."""
    mechanism = Mechanism(epsilon=0.5, perturbation=form)  # type: ignore[arg-type]
    similarity, scale = np.full(RUNS, 0.3), np.full(RUNS, 0.25)
    noise = perturbed(similarity, scale, 7, mechanism, SeededNoise(5)) - similarity
    b = times * 0.25 / 0.5
    margin = 6 * b / math.sqrt(RUNS)
    assert abs(np.abs(noise).mean() - b) < margin
    assert abs(np.abs(noise).mean() - b / 2) > margin
    assert abs(noise.mean()) < 2 * margin
    assert abs((noise > b * math.log(2)).mean() - 0.25) < 6 * 0.5 / math.sqrt(RUNS)


def test_numbers_between_0_and_1_are_spread_evenly_and_gumbel_noise_follows() -> None:
    numbers = uniform(RUNS, SeededNoise(2))
    margin = math.sqrt(math.log(2 * 9 / FALSE_ALARM) / (2 * RUNS))
    for tenth in range(1, 10):
        assert abs((numbers < tenth / 10).mean() - tenth / 10) < margin
    assert 0 < numbers.min() < numbers.max() < 1
    assert abs((gumbel(RUNS, SeededNoise(3)) < 0).mean() - math.exp(-1)) < margin
    assert abs((laplace(RUNS, SeededNoise(4)) < 0).mean() - 0.5) < margin


def test_a_sensitivity_of_nothing_does_not_break_the_draw() -> None:
    some = copies((0.9, 0.2), (0.0, 1.0), 100)
    mechanism = replace(Mechanism(epsilon=1.0), truncated=False)
    places = select(some, 1, sensitivities(some, "pcc", mechanism), mechanism, SeededNoise(1))
    assert set((places % 2).tolist()) == {0}  # drawn for certain: what makes it no private method at all
