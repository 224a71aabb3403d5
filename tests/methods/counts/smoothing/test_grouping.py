"""Groups, orders, and GS's choice of a group size against its definition.

The definition is written out here in exact fractions, with the simulated noise recomputed from the key. Tests of a
law have a false-alarm rate of ``laws.LEVEL`` = 1e-7; with fixed keys they come out the same in every run.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from headcount.methods.counts.smoothing import grouping, kernels
from headcount.methods.counts.smoothing.grouping import Groups, best_size, order_by, random_order, size_errors
from tests.support.distributions import LEVEL, fits

KEY = bytes(range(16))
CLOSE = 1e-9

keys = st.binary(min_size=16, max_size=16)
scales = st.floats(min_value=1e-6, max_value=1e9)
counts = st.one_of(
    st.lists(st.integers(-3, 3), min_size=1, max_size=40),  # many ties
    st.lists(st.integers(-500, 500), min_size=1, max_size=40),
    st.lists(st.integers(-(2**50), 2**50), min_size=1, max_size=25),
    st.tuples(st.integers(-(2**50), 2**50), st.integers(1, 40)).map(lambda drawn: [drawn[0]] * drawn[1]),
    st.tuples(st.integers(2**40, 2**50), st.lists(st.integers(0, 2), min_size=1, max_size=25)).map(
        lambda drawn: [drawn[0] + difference for difference in drawn[1]]  # large and nearly equal
    ),
)


# The definition


def mixed(x: int) -> int:
    """SplitMix64's output function, in whole numbers of any length."""
    word = (1 << 64) - 1
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & word
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & word
    return x ^ (x >> 31)


def simulated(key: bytes, size: int, group: int) -> float:
    """The inverse CDF of Laplace's law of scale 1 at (53 bits + 1/2) / 2^53."""
    word, golden = (1 << 64) - 1, 0x9E3779B97F4A7C15
    k0, k1 = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    start = mixed((mixed((k0 + size * golden) & word) + k1) & word)
    u = Fraction(2 * (mixed((start + (group + 1) * golden) & word) >> 11) + 1, 2**54)
    return math.log(2 * u) if u < Fraction(1, 2) else -math.log(2 * (1 - u))


def published_groups(order: list[int], size: int) -> list[list[int]]:
    """Figure 2, lines 1 to 6."""
    count = len(order) // size
    groups = [order[j * size : (j + 1) * size] for j in range(count - 1)]
    return [*groups, order[(count - 1) * size :]]


def defined_error(noisy: list[int], size: int, limit: int, scale: float, key: bytes) -> Fraction:
    """Figure 6, lines 3 to 11, for one w."""
    order = sorted(range(len(noisy)), key=lambda column: noisy[column])
    error = Fraction(0)
    for at, group in enumerate(published_groups(order, size)):
        noise = Fraction(scale) * Fraction(simulated(key, size, at))
        mean = (sum(limit * noisy[column] for column in group) + noise) / len(group)
        error += sum((abs(limit * noisy[column] - mean) for column in group), Fraction(0))
    return error


def defined_errors(noisy: list[int], limit: int, scale: float, key: bytes) -> list[Fraction]:
    return [defined_error(noisy, size, limit, scale, key) for size in range(1, len(noisy) + 1)]


# Every size's error, and the choice


@given(noisy=counts, limit=st.integers(1, 2**20), scale=scales, key=keys)
@example(noisy=[0], limit=1, scale=1.0, key=KEY)
@example(noisy=[-7], limit=3, scale=1e9, key=KEY)
@example(noisy=[5] * 7, limit=10, scale=20.0, key=KEY)
@example(noisy=[2**50, -(2**50)] * 10, limit=1, scale=1e-6, key=KEY)
@example(noisy=list(range(37)), limit=1, scale=2.0, key=KEY)
@example(noisy=[0] * 20 + [10**6], limit=1, scale=1e-3, key=KEY)
def test_errors_and_choice_equal_their_definition(noisy: list[int], limit: int, scale: float, key: bytes) -> None:
    defined = defined_errors(noisy, limit, scale, key)
    errors = size_errors(np.array(noisy), limit, scale, key)
    assert errors.shape == (len(noisy),)
    for ours, exact in zip(errors.tolist(), defined, strict=True):
        assert abs(Fraction(ours) - exact) <= CLOSE * exact
    chosen = best_size(np.array(noisy), limit, scale, key)
    assert 1 <= chosen <= len(noisy)
    assert defined[chosen - 1] <= min(defined) * (1 + Fraction(2 * CLOSE))


@given(noisy=counts, key=keys, seed=st.integers(0, 2**32 - 1))
def test_the_columns_may_come_in_any_order(noisy: list[int], key: bytes, seed: int) -> None:
    """Only the sorted counts matter, so neither the choice nor any error tells where a column stood."""
    shuffled = np.random.default_rng(seed).permutation(noisy)
    assert np.array_equal(size_errors(np.array(noisy), 3, 6.0, key), size_errors(shuffled, 3, 6.0, key))


def test_a_long_vector_equals_its_definition() -> None:
    """Sizes all over 20,000 columns: long groups, long runs of equal counts, noise of a few units."""
    noisy = zipf_sample(20_000)
    errors = size_errors(noisy, 10, 20.0, KEY)
    for size in [1, 2, 3, 7, 64, 141, 142, 1000, 6666, 6667, 9999, 10_000, 10_001, 20_000]:
        exact = defined_error(noisy.tolist(), size, 10, 20.0, KEY)
        assert abs(Fraction(float(errors[size - 1])) - exact) <= CLOSE * exact


@pytest.mark.parametrize("d", [1, 2, 3, 64, 1000, 20_000])
def test_threads_and_pieces_do_not_change_the_errors(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    noisy = zipf_sample(d)
    error_arrays = []
    for threads, pieces in [(1, 1), (1, 64), (2, 64), (5, 7)]:
        monkeypatch.setattr(grouping, "_THREADS", threads)
        monkeypatch.setattr(grouping, "_PIECES", pieces)
        error_arrays.append(size_errors(noisy, 10, 20.0, KEY))
    assert all(np.array_equal(error_arrays[0], errors) for errors in error_arrays[1:])


def zipf_sample(d: int) -> NDArray[np.int64]:
    random = np.random.default_rng(1)
    law = 1 / np.arange(1, d + 1)
    exact = random.multinomial(5 * d, law / law.sum())
    return np.asarray(exact + random.geometric(0.4, d) - random.geometric(0.4, d), dtype=np.int64)


def test_of_equally_good_sizes_the_smallest_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "size_errors", lambda *_: np.array([2.0, 1.0, 1.0, 3.0]))
    assert best_size(np.zeros(4, dtype=np.int64), 1, 1.0, KEY) == 2


def test_much_noise_asks_for_large_groups_and_none_for_none() -> None:
    noisy = zipf_sample(1000)
    chosen = [best_size(noisy, 1, scale, KEY) for scale in (1e-6, 20.0, 1e9)]
    assert chosen[0] == 1
    assert 1 < chosen[1] < 500 < chosen[2]


def test_the_key_decides() -> None:
    noisy = zipf_sample(100)
    first, again = (size_errors(noisy, 10, 20.0, KEY) for _ in range(2))
    assert np.array_equal(first, again)
    for at in range(16):  # every byte of it
        other = bytes(byte ^ (at == place) for place, byte in enumerate(KEY))
        assert not (size_errors(noisy, 10, 20.0, other) == first).any()


# The simulated noise


def simulated_matrix(sizes: int, groups: int) -> NDArray[np.float64]:
    """What the kernel simulates: a row for each size, a column for each group."""
    k0, k1 = np.frombuffer(KEY, dtype="<u8").astype(np.uint64)
    starts = [np.uint64(kernels.stream(k0, k1, size)) for size in range(1, sizes + 1)]
    return np.array([[kernels.simulated_laplace(start, group) for group in range(groups)] for start in starts])


@pytest.mark.parametrize(("sizes", "groups"), [(1, 40_000), (200, 200), (40_000, 1)])
def test_simulated_noise_is_laplace_distributed(sizes: int, groups: int) -> None:
    """Kolmogorov and Smirnov's test within a size, over sizes, and of first groups: right and wrong scales."""
    values = simulated_matrix(sizes, groups).ravel()
    assert stats.kstest(values, stats.laplace().cdf).pvalue > LEVEL
    for wrong in (1.3, 1 / 1.3):
        assert stats.kstest(values, stats.laplace(scale=wrong).cdf).pvalue < LEVEL
    assert stats.spearmanr(values[:-1], values[1:]).pvalue > LEVEL


def test_simulated_noise_is_finite_at_both_ends() -> None:
    """The smallest and the largest 53 bits, and the two in the middle: u is never 0, 1/2 or 1."""
    for bits, value in [
        (0, -53 * math.log(2)),
        (2**53 - 1, 53 * math.log(2)),
        (2**52 - 1, math.log1p(-(2.0**-53))),
        (2**52, -math.log1p(-(2.0**-53))),
    ]:
        start = (unmixed(bits << 11) - 0x9E3779B97F4A7C15) % 2**64
        assert kernels.simulated_laplace(np.uint64(start), 0) == pytest.approx(value, rel=1e-12)


def unmixed(x: int) -> int:
    """The inverse of :func:`mixed`, found by undoing its steps."""

    def unshifted(x: int, by: int) -> int:
        value = x
        for _ in range(64 // by + 1):
            value = x ^ (value >> by)
        return value

    x = unshifted(x, 31)
    x = unshifted((x * pow(0x94D049BB133111EB, -1, 2**64)) % 2**64, 27)
    return unshifted((x * pow(0xBF58476D1CE4E5B9, -1, 2**64)) % 2**64, 30)


# Groups


@given(d=st.integers(1, 60), size=st.integers(1, 90), key=keys)
@example(d=1, size=1, key=KEY)
@example(d=7, size=7, key=KEY)
@example(d=7, size=4, key=KEY)
@example(d=8, size=4, key=KEY)
def test_groups_partition_the_columns_as_published(d: int, size: int, key: bytes) -> None:
    order = random_order(d, key)
    groups = Groups.by_size(order, size)
    published = published_groups(order.tolist(), min(size, d))
    assert groups.size == min(size, d)
    assert groups.count == len(published)
    assert groups.sizes.tolist() == [len(group) for group in published]
    assert groups.labels.dtype == groups.sizes.dtype == np.int64
    members = [np.flatnonzero(groups.labels == group).tolist() for group in range(groups.count)]
    assert members == [sorted(group) for group in published]
    assert sorted(itertools.chain.from_iterable(published)) == list(range(d))


@given(noisy=counts, size=st.integers(1, 50))
def test_means_are_put_back_on_their_columns(noisy: list[int], size: int) -> None:
    groups = Groups.by_size(order_by(np.array(noisy)), size)
    sums = np.bincount(groups.labels, np.array(noisy, dtype=np.float64))
    means = groups.spread(sums / groups.sizes)
    for group in published_groups(groups.order.tolist(), groups.size):
        exact = Fraction(sum(noisy[column] for column in group), len(group))
        size_of_counts = max(abs(noisy[column]) for column in group)
        for column in group:
            assert abs(Fraction(float(means[column])) - exact) <= CLOSE * size_of_counts


# Orders


@given(noisy=counts)
def test_columns_are_ordered_by_count_and_then_by_column(noisy: list[int]) -> None:
    assert order_by(np.array(noisy)).tolist() == sorted(range(len(noisy)), key=lambda at: (noisy[at], at))


@given(d=st.integers(1, 300), key=keys)
def test_a_random_order_is_an_order_and_repeats(d: int, key: bytes) -> None:
    order = random_order(d, key)
    assert order.dtype == np.int64
    assert sorted(order.tolist()) == list(range(d))
    assert np.array_equal(order, random_order(d, key))


def test_random_orders_are_uniform() -> None:
    """All six orders of three columns, over 12,000 keys."""
    random = np.random.default_rng(1)
    outcomes = Counter(tuple(random_order(3, random.bytes(16)).tolist()) for _ in range(12_000))
    law = dict.fromkeys(itertools.permutations(range(3)), 1 / 6)
    assert fits(outcomes, law) > LEVEL
    uneven = {order: (1.3 if order == (0, 1, 2) else 0.94) / 6 for order in law}
    assert fits(outcomes, uneven) < LEVEL


def test_random_orders_of_neighbouring_keys_are_unrelated() -> None:
    """One bit of the key apart: rank correlation, false-alarm rate ``laws.LEVEL``."""
    first = random_order(2000, KEY)
    for at in range(16):
        other = bytes(byte ^ (at == place) for place, byte in enumerate(KEY))
        assert stats.spearmanr(first, random_order(2000, other)).pvalue > LEVEL
        assert not np.array_equal(first, random_order(2000, other))
