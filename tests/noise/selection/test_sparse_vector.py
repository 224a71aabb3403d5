"""The sparse vector technique: exactly its law, at its price, and no comparison beyond what was paid for.

Frequencies are held against exact probabilities by binomial tests at ``laws.LEVEL`` = 1e-7, with fixed seeds; a
twin with half of the noise is rejected.
"""

from __future__ import annotations

import copy
import math
import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity
from headcount.errors import GrantError
from headcount.noise import SeededNoise
from headcount.noise.selection.sparse_vector import SparseVector, sparse_vector_noise, sparse_vector_split
from tests.support.distributions import LEVEL, binomial
from tests.support.forks import in_a_fork


def distance(value: int, reach: int = 1) -> Bounded:
    return Bounded(np.array([value]), Sensitivity(l1=reach, l2_squared=reach**2, linf=reach), SEAL)


def law(scale: Fraction, reach: int = 600) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    values = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(values) / float(scale))
    return values, weights / weights.sum()


def exact(outcomes: list[bool], values: list[int], threshold: int, scales: tuple[Fraction, Fraction]) -> float:
    """Return the probability of some outcomes, from the definition: sum over the threshold's noise."""
    shifts, weights = law(scales[0])
    _, own = law(scales[1])
    tail = np.concatenate([np.cumsum(own[::-1])[::-1], [0.0]])  # P(ν >= place - 600)
    total = 0.0
    for shift, weight in zip(shifts, weights, strict=True):
        product = 1.0
        for large, value in zip(outcomes, values, strict=True):
            need = min(max(threshold + int(shift) - value + 600, 0), 1201)
            product *= tail[need] if large else 1 - tail[need]
        total += weight * product
    return float(total)


def test_the_scales_pay_for_the_grant() -> None:
    for positives in (1, 4, 20):
        laws = sparse_vector_noise(3, positives, Cost.of("0.7"))
        paid = 3 / laws.threshold.scale + 2 * positives * 3 / laws.distance.scale
        assert Fraction("0.7") * Fraction("0.999999") < paid <= Fraction("0.7")
        assert sum(sparse_vector_split(positives).values()) == 1
    assert sparse_vector_split(4)["threshold"] < sparse_vector_split(1)["threshold"]


@pytest.mark.parametrize(
    ("values", "outcome"), [([-2, -2], [False, True]), ([0, 6], [False, False]), ([9], [True])]
)
def test_outcomes_have_exactly_their_probability(values: list[int], outcome: list[bool]) -> None:
    runs, threshold = 4_000, 4
    laws = sparse_vector_noise(1, 2, Cost.of("2"))
    source, hits = SeededNoise(7), 0
    for _ in range(runs):
        test = SparseVector(threshold, 1, 2, Grant("2"), source)
        hits += [test.is_large(distance(value)) for value in values] == outcome
    expected = exact(outcome, values, threshold, (laws.threshold.scale, laws.distance.scale))
    assert binomial(hits, runs, expected) > LEVEL
    half = exact(outcome, values, threshold, (laws.threshold.scale / 2, laws.distance.scale / 2))
    assert binomial(hits, runs, half) < LEVEL


def test_no_outcome_is_likelier_than_the_grant_allows() -> None:
    """All outcomes of 6 tests on neighbours, exactly; without noise on the threshold the loss is larger."""
    epsilon, positives = 1.0, 2
    laws = sparse_vector_noise(1, positives, Cost.of("1"))
    scales = laws.threshold.scale, laws.distance.scale
    lower, other = [4, 2, 4, 2, 4, 2], [3, 3, 3, 3, 3, 3]
    worst = 0.0
    for code in range(2**6):
        outcome = [bool(code >> place & 1) for place in range(6)]
        if sum(outcome) > positives or (sum(outcome) == positives and not outcome[-1]):
            continue
        chances = [exact(outcome, values, 5, scales) for values in (lower, other)]
        worst = max(worst, abs(math.log(chances[0] / chances[1])))
    assert 0.2 < worst <= epsilon
    many = [False] * 60
    bare = (Fraction(1, 10**6), laws.distance.scale)
    chances = [exact(many, [value] * 60, 5, bare) for value in (3, 4)]
    assert abs(math.log(chances[0] / chances[1])) > epsilon
    chances = [exact(many, [value] * 60, 5, scales) for value in (3, 4)]
    assert abs(math.log(chances[0] / chances[1])) <= epsilon


def test_after_the_last_large_one_nothing_is_compared() -> None:
    test = SparseVector(0, 1, 2, Grant("50"), SeededNoise(1))
    assert test.is_large(distance(1_000))
    assert not test.is_large(distance(-1_000))
    assert test.left == 1
    assert test.is_large(distance(1_000))
    with pytest.raises(GrantError, match="used up"):
        test.is_large(distance(1_000))


def test_the_whole_grant_is_spent_at_the_start() -> None:
    grant = Grant("1")
    SparseVector(10, 1, 3, grant, SeededNoise(1))
    assert grant.is_spent
    with pytest.raises(GrantError):
        SparseVector(10, 1, 3, grant, SeededNoise(1))
    with pytest.raises(GrantError, match="δ"):
        SparseVector(10, 1, 3, Grant("1", "1e-6"), SeededNoise(1))


def test_only_single_distances_of_the_declared_sensitivity_are_compared() -> None:
    test = SparseVector(10, 1, 3, Grant("1"), SeededNoise(1))
    with pytest.raises(TypeError, match="Bounded"):
        test.is_large(np.array([1]))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at most 1"):
        test.is_large(distance(1, reach=2))
    two = Bounded(np.array([1, 2]), Sensitivity(1, 1, 1), SEAL)
    with pytest.raises(ValueError, match="one distance"):
        test.is_large(two)
    assert isinstance(sparse_vector_noise(1, 1, Cost.of("1")).threshold, DiscreteLaplace)


class SlowNoise(SeededNoise):
    """Lets other threads run in the middle of a draw, as a real draw does by releasing the interpreter's lock."""

    def words(self, count: int) -> NDArray[np.uint32]:
        time.sleep(0.002)
        return super().words(count)


def test_threads_together_find_no_more_large_ones_than_were_paid_for() -> None:
    test = SparseVector(0, 1, 5, Grant("50"), SlowNoise(1))
    together = threading.Barrier(12)

    def ask() -> int:
        together.wait()
        large_count = 0
        for _ in range(4):
            with suppress(GrantError):
                large_count += test.is_large(distance(1_000))
        return large_count

    with ThreadPoolExecutor(12) as pool:
        large_count = sum(future.result() for future in [pool.submit(ask) for _ in range(12)])
    assert large_count == 5
    assert test.left == 0


def test_forks_compare_nothing() -> None:
    test = SparseVector(0, 1, 2, Grant("50"), SeededNoise(1))
    outcomes = [in_a_fork(lambda: test.is_large(distance(1_000))) for _ in range(10)]
    assert {kind for kind, _ in outcomes} == {"GrantError"}
    assert "in the process that made it" in outcomes[0][1]
    assert test.is_large(distance(1_000)), "here it goes on"


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_copy_has_nothing_left_because_there_is_none(duplicate: Callable[[object], object]) -> None:
    test = SparseVector(0, 1, 2, Grant("50"), SeededNoise(1))
    with pytest.raises(GrantError, match="cannot be copied"):
        duplicate(test)


class Breaking(SeededNoise):
    """Breaks off the draw, as Ctrl-C does, or asks once more in the middle of it, as a signal handler may."""

    act: Callable[[], object] | None = None

    def words(self, count: int) -> NDArray[np.uint32]:
        if self.act is not None:
            self.act()
        return super().words(count)


def test_what_is_broken_off_is_not_given_back() -> None:
    source = Breaking(1)
    test = SparseVector(0, 1, 2, Grant("50"), source)

    def stop() -> None:
        raise KeyboardInterrupt

    source.act = stop
    with pytest.raises(KeyboardInterrupt):
        test.is_large(distance(-1_000))
    assert test.left == 1
    source.act = lambda: test.is_large(distance(1_000))
    with pytest.raises(GrantError, match="from within"):
        test.is_large(distance(1_000))
    assert test.left == 0
