"""Checks that a mechanism returns a function of its noisy numbers alone, whatever the exact ones.

The noise is forced, so that the noisy numbers come out the same whatever the exact ones are. These range from
nothing to far beyond any crowd of a test, so that a branch that looks at large exact numbers shows.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from headcount import noise
from headcount._internal.arrays import Integers
from headcount.accounting.budget import Grant
from headcount.bounds import Bounded, Scored, Sensitivity
from headcount.bounds.bounded import SEAL
from headcount.bounds.keys.key_support import BoundedKeySupport
from headcount.bounds.keys.key_weights import KeyWeights
from headcount.bounds.scores.quantile_scores import ScoredTogether
from headcount.noise import SeededNoise, add_noise
from headcount.noise.partition_selection.single_key import (
    release_key_hints,
    release_probabilities_for,
    select_keys,
)
from headcount.noise.partition_selection.threshold import select_by_threshold
from headcount.noise.partition_selection.weighted_rounds import WeightedSelection
from headcount.noise.selection.exponential import choose_candidate
from headcount.noise.selection.exponential_parallel import choose_in_parallel
from headcount.noise.selection.sparse_vector import SparseVector
from headcount.noise.selection.top_k import choose_top_k

SIZE = 48
IDS = pa.array([f"i{place:02}" for place in range(SIZE)])
LARGEST = 40
"""Exact and noisy numbers reach up to 2 to that power."""


def numbers(seed: int, largest: int = LARGEST) -> Integers:
    """Return whole numbers of all sizes, the largest among them."""
    powers = np.random.default_rng(seed).uniform(0, largest, SIZE)
    sizes = np.floor(2.0**powers).astype(np.int64)
    sizes[seed % SIZE] = 1 << largest
    return np.asarray(sizes)


TARGETS = (numbers(100), -numbers(101), numbers(102, 16), numbers(103) * np.resize([1, -1], SIZE))
"""Noisy numbers: all of them occur with every set of exact ones."""


def forced(where: str, target: Integers, exact: Integers) -> AbstractContextManager[Any]:
    """Let the draws of a module of noise lead from the exact numbers to the target."""
    return mock.patch(f"headcount.noise.{where}", return_value=target - exact)


def _bounded(exact: Integers) -> Bounded:
    return Bounded(exact.copy(), Sensitivity.of_l1(1), SEAL)


def _add(delta: str | None, where: str) -> Callable[[Integers, Integers], Any]:
    def run(exact: Integers, target: Integers) -> Any:
        with forced(where, target, exact):
            noisy = add_noise(_bounded(exact), Grant("1", delta), SeededNoise(1))
        assert np.array_equal(noisy.values, target), "what is released is not the exact number plus its draw"
        return noisy.values.tolist(), noisy.distribution

    return run


def _glance(exact: Integers, target: Integers) -> Any:
    weights = KeyWeights("shares").seal(IDS, exact.copy(), [True] * SIZE)
    with forced("partition_selection.single_key.draw", target, exact):
        hints = release_key_hints(weights, 14, Grant("1"), SeededNoise(1))
    return hints.factors_of(IDS).tolist(), hints.steady_of(IDS).tolist()


def _sift(exact: Integers, target: Integers) -> Any:
    sifting, rounds = WeightedSelection(Grant("1", "1e-6"), SeededNoise(1)), list[Any]()
    while sifting.left:
        weights = sifting.bound.seal(IDS, exact.copy(), [True] * SIZE)
        with forced("partition_selection.weighted_rounds.gaussian.draw", target // 8, exact):
            sifting.take_round(weights)
        hints = sifting.bound.hints
        rounds.append((sifting.selected, hints and hints.factors_of(IDS).tolist()))
    return rounds


def _select(exact: Integers, target: Integers) -> Any:
    support = BoundedKeySupport(IDS, exact.copy(), 3, SEAL)
    with forced("partition_selection.threshold.draw", target, exact):
        return select_by_threshold(support, Grant("1", "1e-6"), SeededNoise(1))


def _named(exact: Integers, target: Integers) -> Any:
    """Compare the release with the chance of so many users: it alone may depend on the exact number."""
    chances, drawn = (
        release_probabilities_for(Grant("1", "1e-6").cost),
        np.abs(target).astype(np.uint64) << np.uint64(22),
    )
    named = KeyWeights("one").seal(IDS, exact.copy(), [True] * SIZE)
    with mock.patch("headcount.noise.partition_selection.single_key.draw_bits", return_value=drawn):
        released = select_keys(named, Grant("1", "1e-6"), SeededNoise(1))
    last = len(chances.values) - 1
    limits = [chances.values[min(many, last)] for many in exact.tolist()]
    expected = [
        item
        for item, bits, limit in zip(IDS.to_pylist(), drawn.tolist(), limits, strict=True)
        if bits << (chances.bits - 64) < limit
    ]
    assert released == expected, "an item is not released with the chance of as many users as name it"
    return None


def _compared(exact: Integers, target: Integers) -> Any:
    with mock.patch("headcount.noise.selection.sparse_vector.draw", return_value=np.zeros(1, np.int64)):
        test = SparseVector(1 << 20, 1, SIZE, Grant("1"), SeededNoise(1))
    answers = []
    for value, goal in zip(exact, target, strict=True):
        with forced("selection.sparse_vector.draw", np.array([goal]), np.array([value])):
            answers.append(test.is_large(_bounded(np.array([value]))))
    return answers


def _scored(exact: Integers) -> Scored:
    return Scored(exact.copy(), 1, SEAL, rise=1)


def _chosen(where: str, run: Callable[[Scored], Any], drawn: Any) -> Callable[[Integers, Integers], Any]:
    """Let a sampler return one outcome: the mechanism must pass its gaps in, and that outcome on."""

    def check(exact: Integers, _: Integers) -> Any:
        scored = _scored(exact)
        with mock.patch(f"headcount.noise.{where}", return_value=drawn) as draw:
            result = run(scored)
        assert np.array_equal(draw.call_args.args[0], scored.sensitive_gaps), "other gaps than those of the scores"
        return result

    return check


MECHANISMS: Mapping[str, tuple[Callable[[Integers, Integers], Any], ...]] = {
    "add_noise": (_add(None, "laplace.draw"), _add("1e-6", "gaussian.draw")),
    "release_key_hints": (_glance,),
    "WeightedSelection": (_sift,),
    "select_by_threshold": (_select,),
    "select_keys": (_named,),
    "SparseVector": (_compared,),
    "choose_candidate": (
        _chosen(
            "selection.exponential.draw", lambda scored: choose_candidate(scored, Grant("1"), SeededNoise(1)), 7
        ),
    ),
    "choose_top_k": (
        _chosen(
            "selection.top_k.draw", lambda scored: choose_top_k(scored, 2, Grant("1"), SeededNoise(1)), [7, 3]
        ),
    ),
    "choose_in_parallel": (
        _chosen(
            "selection.exponential_parallel.draw",
            lambda scored: choose_in_parallel(ScoredTogether((scored,), SEAL), Grant("1"), SeededNoise(1)),
            [7],
        ),
    ),
}
"""How each mechanism is run on exact numbers, so that its noisy numbers are a target."""


def mechanisms_of_noise() -> Iterator[str]:
    """Yield all public functions and classes of the noise package that spend a grant on draws of a source."""
    for module in pkgutil.walk_packages(noise.__path__, "headcount.noise."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if name.startswith("_") or getattr(value, "__module__", None) != module.name:
                continue
            try:
                parameters = inspect.signature(value).parameters
            except (TypeError, ValueError):
                continue
            if {"grant", "source"} <= parameters.keys():
                yield name


def check_mechanism(name: str) -> None:
    """Run a mechanism on exact numbers of all sizes, with the same noisy numbers each time."""
    for run in MECHANISMS[name]:
        for place, target in enumerate(TARGETS):
            results = [run(exact, target) for exact in (numbers(1, 3), numbers(2, 12), numbers(3, 20), numbers(4))]
            for result in results[1:]:
                assert result == results[0], f"{name}, target {place}: the result depends on the exact numbers"
