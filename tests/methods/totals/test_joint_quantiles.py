"""Several quantiles at once: exact spreads over small neighbours, and the exact law of a choice."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.accounting.budget import Grant
from headcount.bounds.scores.joint_quantile_scores import ScoredJointly, directions, user_steps
from headcount.bounds.scores.quantile_scores import POSITIONS_PER_CELL, QuantileRow, quantile_scores
from headcount.noise import SeededNoise
from headcount.noise.selection.exponential_joint import _happens, _stays, _Stream
from headcount.noise.selection.exponential_parallel import choose_in_parallel
from tests.contracts.support import joint_choices
from tests.methods.totals.test_quantiles import FULL_WEIGHT, weights

SHARES = [((1,), 2), ((1, 3), 4), ((1, 5, 9), 10), ((1, 2, 3), 4), ((77, 123, 500), 771), ((1, 2, 3, 4), 5)]

SKEWED = [fractions for fractions in joint_choices.SKEWED if len(fractions[0]) > 1]
"""Quantiles that are all high or all low: users in some gaps move every direction by less than their weight."""


def scored(exact: list[int], part: QuantileRow) -> ScoredJointly:
    scored_row = quantile_scores(weights(*exact), [part]).parts[0]
    assert isinstance(scored_row, ScoredJointly)
    return scored_row


def rows_of(cells: int, many: int) -> list[tuple[int, ...]]:
    return list(itertools.combinations_with_replacement(range(cells), many))


@pytest.mark.parametrize(("below", "denominator"), [*SHARES, *SKEWED])
def test_one_user_moves_directions_by_at_most_one_and_the_sharpest_by_one(
    below: tuple[int, ...], denominator: int
) -> None:
    computed = directions(below, denominator)
    reach = [
        [
            sum(Fraction(f, computed.unit) * part for f, part in zip(row, step, strict=True))
            for row in computed.rows
        ]
        for step in user_steps(below, denominator)
    ]
    assert max(max(moves) for moves in reach) == 1 == -min(min(moves) for moves in reach)
    assert (below, denominator) in SKEWED or all(max(moves) == 1 == -min(moves) for moves in reach)


@settings(deadline=None, max_examples=30)
@given(
    before=st.lists(st.integers(0, 4), min_size=4, max_size=4),
    joined=st.lists(st.integers(0, FULL_WEIGHT // 4), min_size=4, max_size=4),
    shares=st.sampled_from([*SHARES, *SKEWED]),
    cut=st.tuples(st.integers(0, 20), st.integers(0, 20)),
)
def test_one_user_moves_no_row_by_more_than_their_weight(
    before: list[int], joined: list[int], shares: tuple[tuple[int, ...], int], cut: tuple[int, int]
) -> None:
    """Every row of cells, neighbours with and without one person, parts that begin and end within a cell."""
    first, last = cut[0], 4 * POSITIONS_PER_CELL - cut[1]
    part = QuantileRow(0, first, last, *shares)
    exact = [FULL_WEIGHT * count for count in before]
    scored_before, other = scored(exact, part), scored(np.add(exact, joined).tolist(), part)
    owned = sum(
        weight * max(0, min(last, (cell + 1) * POSITIONS_PER_CELL) - max(first, cell * POSITIONS_PER_CELL))
        for cell, weight in enumerate(joined)
    )
    denominator = shares[1] // math.gcd(*shares[0], shares[1])
    cells = scored_before.sensitive_singles[0].size
    for row in rows_of(cells, len(shares[0])):
        assert (
            abs(scored_before.sensitive_gap_of_row(row) - other.sensitive_gap_of_row(row)) <= denominator * owned
        )
    assert scored_before.spread == 2 * denominator * POSITIONS_PER_CELL * FULL_WEIGHT


@settings(deadline=None, max_examples=20)
@given(
    exact=st.lists(st.integers(0, 2000), min_size=5, max_size=5),
    shares=st.sampled_from([*SHARES, *SKEWED]),
)
def test_a_right_row_is_not_off_and_none_is_less_off_than_its_cells(
    exact: list[int], shares: tuple[tuple[int, ...], int]
) -> None:
    scored_row = scored(exact, QuantileRow(0, 0, 5 * POSITIONS_PER_CELL, *shares))
    below, denominator = shares
    offs = {row: scored_row.sensitive_gap_of_row(row) for row in rows_of(5, len(below))}
    up_to = np.cumsum([0, *exact])
    right = tuple(
        next(cell for cell in range(5) if denominator * up_to[cell + 1] >= numerator * up_to[-1])
        for numerator in below
    )
    assert offs[right] == 0
    for row, row_score in offs.items():
        alone = [int(single[cell]) for single, cell in zip(scored_row.sensitive_singles, row, strict=True)]
        assert row_score >= scored_row.even_weight * sum(alone)
        for gap, numerator in zip(alone, below, strict=True):
            assert gap <= row_score * Fraction(max(numerator, denominator - numerator), denominator)


def test_the_stated_spread_is_attained() -> None:
    """A person below all quantiles pushes some rows away and draws others near, by all that they weigh."""
    part = QuantileRow(0, 0, 6 * POSITIONS_PER_CELL, (1, 5, 9), 10)
    before = scored([0, 0, FULL_WEIGHT * 9, FULL_WEIGHT * 9, FULL_WEIGHT * 9, FULL_WEIGHT], part)
    other = scored([FULL_WEIGHT, 0, FULL_WEIGHT * 9, FULL_WEIGHT * 9, FULL_WEIGHT * 9, FULL_WEIGHT], part)
    moved = [before.sensitive_gap_of_row(row) - other.sensitive_gap_of_row(row) for row in rows_of(6, 3)]
    assert max(moved) - min(moved) == before.spread


def row_distribution(
    scored_row: ScoredJointly, cells: int, many: int, sharper: float = 1.0
) -> dict[tuple[int, ...], float]:
    """The law of the exponential mechanism at ε = 2, row by row."""
    scale = scored_row.spread / 2 / sharper
    chances = {row: math.exp(-float(scored_row.sensitive_gap_of_row(row)) / scale) for row in rows_of(cells, many)}
    return {row: chance / sum(chances.values()) for row, chance in chances.items()}


def test_no_row_is_likelier_than_epsilon_allows() -> None:
    """The exact law: no statistics. One that is two and a half times as sharp is refuted."""
    part = QuantileRow(0, 0, 4 * POSITIONS_PER_CELL, (1, 5, 9), 10)
    logs = [
        [0, 0, 0, 0],
        [0, 0, 10 * FULL_WEIGHT, 0],
        [FULL_WEIGHT, 9 * FULL_WEIGHT, 9 * FULL_WEIGHT, FULL_WEIGHT],
        [9 * FULL_WEIGHT, FULL_WEIGHT, FULL_WEIGHT, 9 * FULL_WEIGHT],
    ]
    people = [[FULL_WEIGHT, 0, 0, 0], [0, FULL_WEIGHT, 0, 0], [0, 0, 0, FULL_WEIGHT], [160, 192, 0, 160]]
    worst = {}
    for sharper in (1.0, 2.5):
        pairs = [
            [
                row_distribution(scored(counts, part), 4, 3, sharper)
                for counts in (log, np.add(log, person).tolist())
            ]
            for log in logs
            for person in people
        ]
        worst[sharper] = max(abs(math.log(before[row] / other[row])) for before, other in pairs for row in before)
    assert worst[1.0] <= 2 + 1e-9
    assert worst[2.5] > 2.1


def test_rows_follow_the_distribution() -> None:
    """10 rows, 1,500 draws: χ² with 9 degrees above 55 once in 10⁸; rows drawn cell by cell are refuted."""
    exact, runs, row = (
        [2 * FULL_WEIGHT, FULL_WEIGHT, 5 * FULL_WEIGHT, FULL_WEIGHT],
        1500,
        QuantileRow(0, 0, 4 * POSITIONS_PER_CELL, (1, 2), 4),
    )
    scored_row, part = quantile_scores(weights(*exact), [row]), scored(exact, row)
    drawn = [choose_in_parallel(scored_row, Grant(2), SeededNoise(seed))[0] for seed in range(runs)]

    def surprise(chances: dict[tuple[int, ...], float]) -> float:
        scale = runs / sum(chances.values())
        return sum((drawn.count(row) - scale * chance) ** 2 / (scale * chance) for row, chance in chances.items())

    law, scale = row_distribution(part, 4, 2), part.spread / 2 / float(part.even_weight)
    alone = {
        row: math.exp(
            -sum(int(gaps[cell]) for gaps, cell in zip(part.sensitive_singles, row, strict=True)) / scale
        )
        for row in law
    }
    assert surprise(law) < 55
    assert surprise(alone) > 55


def test_three_at_once_are_less_off_than_level_by_level_where_values_are_dense() -> None:
    """There a row is off by r · U, U even in the ball of the score and r of a gamma law of 4: by 5.5 / ε in all.

    One by one it is 13.8 / ε, and on two levels 7.8 / ε. The mean of 15,000 points of the ball is within 1 %.
    """
    computed, edges = directions((1, 5, 9), 10), np.array([0.9, 0.5, 0.9])
    points = np.random.default_rng(3).uniform(-1, 1, (80_000, 3)) * edges
    inside = (points @ (np.array(computed.rows) / computed.unit).T).max(axis=1) <= 1
    assert 2 * 4 * np.abs(points[inside]).sum(axis=1).mean() == pytest.approx(5.55, rel=0.01)


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(9, 4)])
def test_trials_are_as_likely_as_they_say(exponent: Fraction) -> None:
    """20,000 trials within 5.5 deviations of e^-x, once in 10⁷ not; a chance that is a fifth larger is refuted."""
    stream, runs = _Stream(SeededNoise(5)), 20_000
    chance = math.exp(-float(exponent))
    share = sum(_stays(exponent, stream) for _ in range(runs)) / runs
    deviation = math.sqrt(chance * (1 - chance) / runs)
    assert abs(share - chance) <= 5.5 * deviation
    assert exponent == 0 or abs(share - 1.2 * chance) > 5.5 * deviation


def test_digits_decide_exactly() -> None:
    class Fixed:
        is_private = False

        def __init__(self, *words: int) -> None:
            self._words = np.array(words, dtype=np.uint32)

        def words(self, count: int) -> np.ndarray:
            return self._words

        def key(self) -> bytes:
            return bytes(16)

    quarter, third = 1 << 30, (1 << 32) // 3
    for chance, words, expected in (
        (Fraction(1, 4), (quarter - 1,), True),
        (Fraction(1, 4), (quarter,), False),
        (Fraction(1, 3), (third, third, third - 1), True),
        (Fraction(1, 3), (third, third, third + 1), False),
        (Fraction(1), (), True),
    ):
        assert _happens(chance, _Stream(Fixed(*words))) is expected


def test_an_exponent_that_is_no_probability_is_refused() -> None:
    with pytest.raises(ValueError, match="no probability"):
        _stays(Fraction(-1, 10**9), _Stream(SeededNoise(1)))


def test_scores_are_sealed_and_shares_must_rise() -> None:
    with pytest.raises(TypeError, match="made by headcount"):
        ScoredJointly(np.array([0, 1]), ((1,), 2), 1, object())
    for below in ((), (2, 2), (3, 1), (0, 1), (1, 4)):
        with pytest.raises(ValueError, match="must lie within"):
            quantile_scores(weights(1, 2, 3), [QuantileRow(0, 0, 16, below, 4)])
    with pytest.raises(ValueError, match="in order"):
        scored([1, 2, 3], QuantileRow(0, 0, 3 * POSITIONS_PER_CELL, (1, 2), 4)).sensitive_gap_of_row((1, 0))
