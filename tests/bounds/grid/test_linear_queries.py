"""Linear queries: sums equal to plain matrices, and no answer, distance or quantile that moves too far."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from headcount.bounds import LinearQueries
from headcount.bounds.bounded import SEAL, Bounded, Sensitivity
from headcount.bounds.grid.linear_queries import distance_scores, distances, exact_answers, quantile
from headcount.errors import UsageError

matrices = st.tuples(st.integers(1, 12), st.integers(1, 40)).flatmap(
    lambda shape: arrays.arrays(np.bool_, shape, elements=st.booleans())
)


def bounded(values: NDArray[np.int64], reach: int) -> Bounded:
    return Bounded(values.copy(), Sensitivity(l1=reach, l2_squared=reach**2, linf=reach), SEAL)


@given(matrices, st.integers(0, 2**32))
def test_sums_are_those_of_the_matrix_however_rows_are_kept(rows: NDArray[np.bool_], seed: int) -> None:
    draw = np.random.default_rng(seed)
    whole: NDArray[np.int64] = draw.integers(-(2**40), 2**40, size=(rows.shape[1],))
    packed = np.packbits(rows, axis=1, bitorder="little")
    for queries in (
        LinearQueries.from_matrix(rows),
        LinearQueries.from_matrix(rows.astype(int).tolist()),
        LinearQueries.from_bits(packed, rows.shape[1]),
        LinearQueries.from_masks(rows, rows.shape[1]),
    ):
        assert queries.size == rows.shape[0]
        assert queries.counts(whole).tolist() == (rows.astype(np.int64) @ whole).tolist()
        assert np.allclose(queries.sums(whole / 7), rows @ (whole / 7), rtol=1e-12)
        assert queries.sizes.tolist() == rows.sum(axis=1).tolist()
        assert all((queries.mask(place) == rows[place]).all() for place in range(rows.shape[0]))
        some = draw.permutation(rows.shape[1])[: draw.integers(0, rows.shape[1] + 1)]
        assert (queries.inside(some) == rows[:, some]).all()


def test_short_rows_are_listed_and_long_ones_packed() -> None:
    rows = np.zeros((3, 6400), dtype=bool)
    rows[0, 5] = rows[2, 7] = True
    rows[1] = True
    queries = LinearQueries.from_masks(rows, 6400)
    assert len(queries._listed) == 2
    assert queries.sums(np.arange(6400.0)).tolist() == [5, 6400 * 6399 / 2, 7]
    assert [int(queries.mask(place).sum()) for place in range(3)] == [1, 6400, 1]
    assert queries.inside(np.array([7, 6399, 5])).tolist() == rows[:, [7, 6399, 5]].tolist()


NONE = np.zeros((1, 0), dtype=np.uint8)
FIRST = np.array([0])


@pytest.mark.parametrize(
    ("packed", "listed", "places"),
    [
        (NONE, [np.array([0, 0, 0])], FIRST),  # one cell three times: one person moves the answer by 3
        (NONE, [np.array([2, 1])], FIRST),
        (NONE, [np.array([-1])], FIRST),
        (NONE, [np.array([3])], FIRST),
        (NONE, [np.array([1.0])], FIRST),
        (NONE, [np.array([[1]])], FIRST),
        (NONE, [np.array([1])], np.array([0, 0])),
        (NONE, [np.array([1]), np.array([2])], np.array([0, 0])),
        (NONE, [np.array([1])], np.array([1])),
        (np.array([[8]], dtype=np.uint8), [], FIRST),
        (np.array([[1]], dtype=np.int64), [], FIRST),
        (np.array([[1], [1]], dtype=np.uint8), [], FIRST),
    ],
)
def test_hand_written_rows_are_checked(packed: Any, listed: list[Any], places: Any) -> None:
    with pytest.raises(UsageError):
        LinearQueries(3, packed, listed, places)


def test_rows_cannot_be_changed_later_nor_answered_in_another_way() -> None:
    bits = np.array([[0b011]], dtype=np.uint8)
    cells = np.array([0, 2], dtype=np.int64)
    packed, listed = LinearQueries.from_bits(bits, 3), LinearQueries(3, NONE, [cells], FIRST)
    bits[:], cells[:] = 0b111, 0
    counts = np.array([1, 10, 100])
    assert packed.counts(counts).tolist() == [11]
    assert listed.counts(counts).tolist() == [101]
    for kept in (packed._packed, listed._listed[0], packed._places):
        with pytest.raises(ValueError, match="read-only"):
            kept[:] = 1

    class Many(LinearQueries):
        def counts(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
            return 1_000 * super().counts(values)

    with pytest.raises(TypeError, match="Many"):
        exact_answers(bounded(counts, 1), Many.from_matrix([[1, 0, 0]]))


def test_an_estimate_that_is_no_number_counts_as_nothing() -> None:
    answers = bounded(np.array([5, 7, 9, 11]), 1)
    apart = distances(answers, np.array([np.nan, 6.4, np.inf, -np.inf])).sensitive_values
    assert apart.tolist() == [5, 1, 2**62 - 9, 2**62 + 11]


def test_digests_tell_queries_apart() -> None:
    queries = LinearQueries.from_matrix([[1, 0], [0, 1]])
    assert queries.digest == LinearQueries.from_matrix([[1, 0], [0, 1]]).digest
    assert (
        len(
            {
                queries.digest,
                LinearQueries.from_matrix([[0, 1], [1, 0]]).digest,
                LinearQueries.from_matrix([[1, 0]]).digest,
            }
        )
        == 3
    )


@pytest.mark.parametrize(
    "rows", [[[0, 2]], [[0.5, 1]], [[-1, 0]], [], [[]], [1, 0], [["a"]], [[1, 0], [1]], [[np.nan, 1]]]
)
def test_anything_but_zeros_and_ones_is_refused(rows: object) -> None:
    with pytest.raises(UsageError):
        LinearQueries.from_matrix(rows)


def test_bits_beyond_the_last_cell_are_refused() -> None:
    with pytest.raises(UsageError, match="beyond the last"):
        LinearQueries.from_bits(np.array([[0b1000]], dtype=np.uint8), 3)
    with pytest.raises(UsageError, match="rows of 1 bytes"):
        LinearQueries.from_bits(np.zeros((1, 2), dtype=np.uint8), 3)


@given(matrices, st.integers(0, 2**32), st.integers(1, 6))
def test_neighbours_stay_within_the_sensitivity(rows: NDArray[np.bool_], seed: int, reach: int) -> None:
    """Answers, distances and every quantile move by at most the reach, and scores by the spread."""
    draw = np.random.default_rng(seed)
    queries = LinearQueries.from_matrix(rows)
    before: NDArray[np.int64] = draw.integers(0, 50, size=(rows.shape[1],))
    after = before.copy()
    np.add.at(after, draw.integers(0, rows.shape[1], reach), 1)
    estimates: NDArray[np.float64] = draw.normal(20, 30, size=(rows.shape[0],))
    pair = [exact_answers(bounded(cells, reach), queries) for cells in (before, after)]
    apart = [distances(log, estimates) for log in pair]
    for original, other in (pair, apart):
        moved = np.abs(original.sensitive_values - other.sensitive_values)
        assert moved.max() <= original.sensitivity.linf == reach
        assert moved.sum() <= original.sensitivity.l1
        assert (moved**2).sum() <= original.sensitivity.l2_squared
    for level in (0.01, 0.5, 0.97, 1.0):
        first, second = (quantile(counts, level) for counts in apart)
        assert abs(first.sensitive_values[0] - second.sensitive_values[0]) <= first.sensitivity.l1 == reach
        assert np.mean(apart[0].sensitive_values <= first.sensitive_values[0]) >= level
    first_scores, second_scores = (distance_scores(counts) for counts in apart)
    gaps = first_scores.sensitive_gaps.astype(np.int64) - second_scores.sensitive_gaps
    assert gaps.max() - gaps.min() <= first_scores.spread == 2 * reach


def test_the_worst_query_is_the_best_candidate() -> None:
    answers = exact_answers(bounded(np.array([5, 30, 9]), 1), LinearQueries.from_matrix(np.eye(3)))
    assert distance_scores(distances(answers, np.array([5.2, 10.0, 0.4]))).sensitive_gaps.tolist() == [20, 0, 11]


def test_only_bounded_values_are_taken() -> None:
    queries = LinearQueries.from_matrix([[1]])
    for call in (
        lambda: exact_answers(np.array([1]), queries),  # type: ignore[arg-type]
        lambda: distances(np.array([1]), np.array([1.0])),  # type: ignore[arg-type]
        lambda: distance_scores(np.array([1])),  # type: ignore[arg-type]
        lambda: quantile(np.array([1]), 0.5),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="Bounded"):
            call()
