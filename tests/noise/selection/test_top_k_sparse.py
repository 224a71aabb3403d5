"""Peeling with implicit zeros has the very law of peeling over the whole list.

Chi-square tests against enumerated laws at ``laws.LEVEL`` = 1e-7, with fixed seeds; broken twins are rejected.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headcount.accounting.budget import Grant
from headcount.bounds.bounded import SEAL
from headcount.bounds.counts.users_per_column import (
    SparseCounts,
    SparseScored,
    UsersPerColumn,
    sparse_scores,
)
from headcount.errors import GrantError, UsageError
from headcount.noise import OperatingSystemNoise, SeededNoise
from headcount.noise.samplers.kernels import exponential
from headcount.noise.selection import top_k, top_k_sparse
from headcount.noise.selection.top_k import choose_top_k, draw
from headcount.noise.selection.top_k_sparse import Zeros, draw_top_k_sparse
from tests.noise.selection.test_top_k import (
    DRAWS,
    Distribution,
    Failing,
    ShortBuffers,
    fits_peeling,
    peeled,
    scored,
)
from tests.support.distributions import LEVEL, fits


def sparse(counts: Sequence[int]) -> SparseScored:
    return sparse_scores(sparse_counts(counts))


def sparse_counts(counts: Sequence[int]) -> SparseCounts:
    dense = np.array(counts, dtype=np.int32)
    there = np.flatnonzero(dense)
    return UsersPerColumn.seal(there.astype(np.int32), dense[there], dense.size)


def by_sampler(counts: Sequence[int], k: int, scale: Fraction, seed: int) -> list[tuple[int, ...]]:
    candidates, source = sparse(counts), SeededNoise(seed)
    return [
        tuple(draw_top_k_sparse(candidates, k, scale.numerator, scale.denominator, source)) for _ in range(DRAWS)
    ]


CASES = [
    ([0, 1], 1, Fraction(1)),
    ([1, 0], 2, Fraction(1)),
    ([0, 0, 0], 2, Fraction(3)),
    ([2, 0, 1, 0], 1, Fraction(3, 2)),
    ([2, 0, 1, 0], 2, Fraction(3, 2)),
    ([0, 3, 0, 0, 1], 3, Fraction(20, 9)),
    ([0, 0, 2, 0, 1, 0], 2, Fraction(355, 113)),
    ([0, 1, 0, 2, 0], 5, Fraction(5, 2)),
    ([3, 1, 2], 2, Fraction(2)),
    ([0, 10**6, 0, 2], 3, Fraction(2**31 - 1, 2**31 - 2)),
]


@pytest.mark.parametrize(("counts", "k", "scale"), CASES, ids=str)
def test_outcomes_have_the_distribution_of_the_dense_list(counts: list[int], k: int, scale: Fraction) -> None:
    outcomes = by_sampler(counts, k, scale, 1)
    assert fits_peeling(outcomes, peeled(counts, k, scale)) > LEVEL
    if any(counts):
        for wrong in (scale / 2, scale * 2):
            assert fits_peeling(outcomes, peeled(counts, k, wrong)) < LEVEL


def differ(first: list[tuple[int, ...]], other: list[tuple[int, ...]], place: int) -> float:
    """Return the p-value of "both samples have one law", by who is at a place: a chi-square test of the table."""
    outcome_counts = [Counter(outcome[place] for outcome in outcomes) for outcomes in (first, other)]
    columns = sorted(outcome_counts[0] | outcome_counts[1])
    return float(
        stats.chi2_contingency(
            [[outcome_count[column] for column in columns] for outcome_count in outcome_counts]
        ).pvalue
    )


@pytest.mark.parametrize("k", [1, 2, 4, 9])
def test_dense_and_sparse_agree(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Place by place, on a list too long to enumerate; false-alarm rate ``LEVEL`` for each place."""
    counts, scale = [0, 4, 0, 2, 0, 0, 3, 0, 1], Fraction(3)
    behind, source = scored(counts).sensitive_gaps, SeededNoise(3)
    dense = [tuple(draw(behind, k, scale.numerator, scale.denominator, source)) for _ in range(DRAWS)]
    outcomes = by_sampler(counts, k, scale, 4)
    assert min(differ(dense, outcomes, place) for place in range(k)) > LEVEL
    monkeypatch.setattr(top_k_sparse, "Zeros", TheFirstZero)
    assert differ(dense, by_sampler(counts, k, scale, 4), 0) < LEVEL


# Broken twins


class TheFirstZero(Zeros):
    """Names the first zero that is left."""

    def take(self, number: int) -> int:
        return super().take(0)


class ForgetsTheTaken(Zeros):
    """Takes the same zero again."""

    def take(self, number: int) -> int:
        taken = super().take(number)
        self._taken.clear()
        return taken


class NoZeros(Zeros):
    """Zeros never win: there are none, as far as anybody can see."""

    def __init__(self, columns: Any, size: int) -> None:
        super().__init__(columns, size)
        self.left = 0


class OneZero(Zeros):
    """All zeros together are one candidate."""

    def __init__(self, columns: Any, size: int) -> None:
        super().__init__(columns, size)
        self.left = min(self.left, 1)


@pytest.mark.parametrize("twin", [TheFirstZero, ForgetsTheTaken, NoZeros, OneZero])
def test_broken_zeros_are_rejected(twin: type[Zeros], monkeypatch: pytest.MonkeyPatch) -> None:
    counts, k, scale = [0, 2, 0, 1, 0], 2, Fraction(3)
    law = peeled(counts, k, scale)
    assert fits_peeling(by_sampler(counts, k, scale, 6), law) > LEVEL
    monkeypatch.setattr(top_k_sparse, "Zeros", twin)
    assert fits_peeling(by_sampler(counts, k, scale, 6), law) < LEVEL


def test_zeros_that_always_fail_or_never_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, k, scale = [0, 2, 0, 1, 0], 1, Fraction(3)
    law = peeled(counts, k, scale)
    real: Any = exponential.permute_and_flip_with_zeros
    for gap in (0, 1, 3, 10**6):

        def flip(*arguments: Any, gap: int = gap) -> Any:
            return real(*arguments[:7], gap, *arguments[8:])

        monkeypatch.setattr(exponential, "permute_and_flip_with_zeros", flip)
        assert fits_peeling(by_sampler(counts, k, scale, 7), law) < LEVEL


# Word for word


def test_without_zeros_it_is_peeling_word_for_word() -> None:
    counts = [5, 1, 9, 2, 2, 8, 7] * 5
    behind, candidates = scored(counts).sensitive_gaps, sparse(counts)
    for seed in range(60):
        expected = draw(behind, 12, 20, 3, SeededNoise(seed))
        assert draw_top_k_sparse(candidates, 12, 20, 3, SeededNoise(seed)) == expected


@pytest.mark.parametrize("size", [1, 5, 17, 1_000])
def test_the_size_of_the_buffers_does_not_change_the_outcome(size: int) -> None:
    candidates = sparse([0, 3, 0, 1, 0, 0, 2] * 20)
    whole = [draw_top_k_sparse(candidates, 12, 20, 3, SeededNoise(seed)) for seed in range(60)]
    assert len(set(map(tuple, whole))) > 50
    cut = [draw_top_k_sparse(candidates, 12, 20, 3, ShortBuffers(SeededNoise(seed), size)) for seed in range(60)]
    assert cut == whole


@given(st.sets(st.integers(0, 11)), st.data())
def test_zeros_are_the_places_that_are_left(columns: set[int], data: st.DataObject) -> None:
    zeros = Zeros(np.array(sorted(columns), dtype=np.int32), 12)
    left = [place for place in range(12) if place not in columns]
    while left:
        assert zeros.left == len(left)
        number = data.draw(st.integers(0, len(left) - 1))
        assert zeros.take(number) == left.pop(number)
    assert zeros.left == 0


def test_every_part_of_a_long_list_is_reached() -> None:
    """A hundred million candidates, of which one has a person: the others take no memory, and all can win."""
    size = 10**8
    candidates = sparse_scores(UsersPerColumn.seal(np.array([7], np.int32), np.array([1], np.int32), size))
    source = ShortBuffers(SeededNoise(4))
    tenths = [
        index // (size // 10) for _ in range(60) for index in draw_top_k_sparse(candidates, 50, 10**6, 1, source)
    ]
    law = dict.fromkeys(range(10), 0.1)
    assert fits(Counter(tenths), law) > LEVEL
    assert fits(Counter(tenth % 9 for tenth in tenths), law) < LEVEL


# The grant


@pytest.mark.parametrize("source", [OperatingSystemNoise(), SeededNoise(1)], ids=lambda s: str(type(s).__name__))
@pytest.mark.parametrize(("size", "k"), [(1, 1), (2, 2), (5_000, 40), (300, 300)])
def test_peel_spends_the_grant_once(source: Any, size: int, k: int) -> None:
    for counts in ([0] * size, [9, *[0] * (size - 1)], [1] * size):
        grant = Grant("0.5")
        taken = choose_top_k(sparse(counts), k, grant, source)
        assert len(set(taken)) == len(taken) == k
        assert {type(index) for index in taken} == {int}
        assert set(taken) <= set(range(size))
        assert grant.is_spent
        with pytest.raises(GrantError, match="already spent"):
            choose_top_k(sparse(counts), k, grant, source)


def test_peel_has_the_distribution_of_its_grant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top_k, "confirm", lambda *_: None)  # slow, and tested elsewhere
    counts, k, candidates, source = [3, 0, 0, 1], 2, sparse([3, 0, 0, 1]), SeededNoise(5)
    outcomes = [tuple(choose_top_k(candidates, k, Grant("1.7"), source)) for _ in range(DRAWS)]
    exact = Fraction(k) / Fraction("1.7")
    assert fits_peeling(outcomes, peeled(counts, k, exact)) > LEVEL
    for wrong in (exact / 2, exact * 2):
        assert fits_peeling(outcomes, peeled(counts, k, wrong)) < LEVEL


def test_the_best_come_out_and_a_grant_is_spent_even_if_drawing_fails() -> None:
    assert choose_top_k(sparse([0, 90, 3, 50, 0]), 2, Grant("50"), SeededNoise(1)) == [1, 3]
    grant = Grant("1")
    with pytest.raises(OSError, match="no randomness"):
        choose_top_k(sparse([1, 0]), 1, grant, Failing())
    assert grant.is_spent
    grant = Grant("1")
    with pytest.raises(UsageError, match="k must lie between 1 and 3, the number of candidates"):
        choose_top_k(sparse([0, 1, 0]), 4, grant, Failing())
    assert not grant.is_spent


class Heir(SparseScored):
    """A class that could override what the score declared."""


def test_heirs_are_refused() -> None:
    with pytest.raises(TypeError, match="Scored candidates alone"):
        choose_top_k(Heir(sparse_counts([0, 2]), SEAL), 1, Grant("1"), SeededNoise(1))


def test_equals_come_in_any_order() -> None:
    outcomes = by_sampler([0] * 4, 4, Fraction(1), 3)
    law: Distribution = dict.fromkeys(itertools.permutations(range(4)), 1 / 24)
    assert fits_peeling(outcomes, law) > LEVEL
    assert fits_peeling([tuple(sorted(outcome)) for outcome in outcomes], law) < LEVEL
