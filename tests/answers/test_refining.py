"""Factors fitted anew: what sums without noise say is found, and noise draws them towards nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from headcount.answers.refining import refined

Numbers = NDArray[np.float64]

DEPTH = 3
ONE, OTHER = np.triu_indices(DEPTH)


def made_up(people: int, weight: float = 1.0) -> tuple[Numbers, Numbers]:
    """Return factors of 40 items, and the sums of people whose tastes are drawn and who rate without chance."""
    rng = np.random.default_rng(3)
    factors = rng.normal(0, 0.3, (40, DEPTH))
    tastes = rng.normal(0, (1.5, 1.0, 0.5), (40, people, DEPTH))
    squares = np.einsum("ipk,ipl->ikl", tastes, tastes) * weight
    liked = np.einsum("ikl,il->ik", squares, factors)
    return factors, np.hstack([liked, squares[:, ONE, OTHER] / 4])


def test_what_many_people_say_is_found() -> None:
    factors, sums = made_up(20_000)
    rows, found = refined(sums, 1.0, factors)
    assert rows.tolist() == list(range(40))
    assert found == pytest.approx(factors, abs=0.05)


@pytest.mark.parametrize("deviation", [10.0, 1000.0])
def test_noise_draws_them_towards_nothing(deviation: float) -> None:
    factors, sums = made_up(2_000)
    clear, doubtful = refined(sums, 1.0, factors)[1], refined(sums, deviation, factors)[1]
    rows = refined(sums, deviation, factors)[0]
    assert (np.linalg.norm(doubtful, axis=1) < np.linalg.norm(clear[rows], axis=1)).all()


def test_items_that_do_not_stand_out_have_none() -> None:
    factors, sums = made_up(500)
    sums[7], sums[9] = 0.0, -sums[9]
    rows, found = refined(sums, 5.0, factors)
    assert set(range(40)) - set(rows.tolist()) == {7, 9}
    assert found.shape == (38, DEPTH)


def test_nothing_but_noise_leaves_nothing_and_no_warning() -> None:
    factors, sums = made_up(10)
    rows, found = refined(-np.abs(sums), 5.0, factors)
    assert (rows.size, found.shape) == (0, (0, DEPTH))
    assert np.isfinite(refined(sums, 0.0, factors)[1]).all()
