"""Which items are judged together: found where levels differ, and nowhere else. All draws are seeded."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

from headcount.adaptive.catalogue_smoothing import _merge_levels, group_by_level
from headcount.adaptive.posterior import NoisyPair

Floats = NDArray[np.float64]

SCALE = 4.0
DEVIATION = SCALE * 2**0.5


def kinds(counts: Floats, seed: int, heavy: Floats | None = None, ratio: float = 1.0) -> NDArray[np.uint8]:
    random = np.random.default_rng(seed)
    noise = random.laplace(0, SCALE, (2, counts.size))
    return group_by_level(
        NoisyPair(counts + noise[0], (0.0 if heavy is None else heavy) + noise[1]), DEVIATION, ratio
    )


@pytest.mark.parametrize("size", [4_096, 4_097, 6_000])
@pytest.mark.parametrize("of_heavy", [False, True])
def test_a_level_shift_separates_items(size: int, of_heavy: bool) -> None:
    """A third of the catalogue has 9 people an item, hardly more than noise; 97 % are of a kind of their level."""
    high = np.arange(size) < size // 3
    level = np.where(high, 9.0, 0.5)
    for seed in range(5):
        item_classes = kinds(np.zeros(size), seed, level, 3.0) if of_heavy else kinds(level, seed)
        shares = np.bincount(item_classes, weights=high) / np.bincount(item_classes)
        assert ((shares[item_classes] > 0.5) == high).mean() > 0.97
        assert (np.diff(shares > 0.5) >= 0).all(), "a kind of the higher level has not the higher number"
        assert set(item_classes[:100]).isdisjoint(item_classes[-100:])


@pytest.mark.parametrize("size", [600, 3_000])
def test_an_order_that_says_nothing_is_left_alone(size: int) -> None:
    """Zipf's counts in no order: one kind in each of 100 catalogues (chance cuts one in 55 places)."""
    counts = 2_000 / np.arange(1, size + 1)
    cut = sum(kinds(np.random.default_rng(seed).permutation(counts), seed).any() for seed in range(100))
    assert cut <= 2


def test_stretches_of_too_few_items_are_of_one_kind_whatever_their_levels() -> None:
    """So that nothing is cut below 200 items; from there on two levels may be told apart."""
    random = np.random.default_rng(1)
    for _ in range(200):
        sizes = random.multinomial(199, random.dirichlet(np.ones(9))).astype(np.float64)
        levels: Floats = np.exp(random.uniform(-5, 9, 9))
        assert not _merge_levels(levels, sizes).any()
    assert _merge_levels(np.array([1.0, 100.0]), np.array([100.0, 100.0])).tolist() == [0, 1]
    assert not kinds(np.repeat([0.0, 100.0], [100, 99]), 1).any()
    assert kinds(np.repeat([0.0, 100.0], [100, 108]), 1).any()


def test_one_popular_item_is_no_level() -> None:
    counts = np.zeros(2_000)
    counts[700] = 1e9
    assert not kinds(counts, 1).any()


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 64, 65, 1 << 12, (1 << 12) + 1])
def test_catalogues_of_any_size(size: int) -> None:
    """Every item has a kind; numbers are those from 0 on; and a kind has 100 items, unless all are one."""
    for counts in (np.zeros(size), np.linspace(500, 0, size), np.full(size, -30.0)):
        item_classes = kinds(counts, 1)
        assert item_classes.shape == (size,)
        held = np.bincount(item_classes)
        assert (held > 0).all()
        assert held.size == 1 or held.min() >= 100


def test_without_noise_of_note_levels_of_one_size_are_one_kind() -> None:
    """High, low and high again: the two high stretches are judged together."""
    item_classes = kinds(np.repeat([40.0, 0.0, 40.0], 512), 1)
    assert item_classes.tolist() == np.repeat([1, 0, 1], 512).tolist()


def test_millions_of_cells_take_little_memory() -> None:
    """3 million cells within 15 bytes a cell (measured: 12)."""
    size = 3_000_000
    light, heavy = np.random.default_rng(1).laplace(0, SCALE, (2, size))
    light[: size // 4] += 9
    tracemalloc.start()
    item_classes = group_by_level(NoisyPair(light, heavy), DEVIATION, 1.0)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 15 * size
    assert set(item_classes[: size // 4 - 100]).isdisjoint(item_classes[size // 4 + 100 :])
