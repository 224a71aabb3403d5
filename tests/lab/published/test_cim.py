"""CIM as published: algorithm 6 step by step, against a plain twin; and that nobody takes it for private."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from headcount.budget import Grant
from headcount.errors import UsageError
from headcount.guarantee import Standing
from headcount.lab.published.cim import CoupledIteration, CoupledRecords, laplace, round_epsilon
from headcount.noise import SeededNoise
from headcount.queries.request import QueryRequest
from tests.queries.town import BINS, GRID, STATEMENTS, asked, halves, log_of, plain_cells, table

PEOPLE = table(600)


def plain(
    rows: list[list[bool]], threshold: float, eta: float, epsilon: float, seed: int
) -> tuple[list[float], int]:
    """Algorithms 6 and 7, one step after the other, with households as coupled groups."""
    places, homes = [], []
    for row in PEOPLE.to_pylist():
        counts = plain_cells(PEOPLE.slice(0, 0).from_pylist([row]))
        places.append(int(counts.argmax()))
        homes.append(row["household"])
    n, cells = len(places), GRID.cells
    members = {home: homes.count(home) for home in set(homes)}
    draws = laplace(SeededNoise(seed), len(rows))
    each = epsilon * eta**2 * 0.36 / np.log(cells)
    x = [1 / cells] * cells
    answers, updates = [], 0
    for t, row in enumerate(rows):
        inside = [k for k in range(n) if row[places[k]]]
        sensitivity = max((members[homes[k]] for k in inside), default=1) / n
        noisy = len(inside) / n + sensitivity / each * draws[t]
        own = sum(x[cell] for cell in range(cells) if row[cell])
        if abs(own - noisy) <= threshold:
            answers.append(own)
            continue
        answers.append(noisy)
        updates += 1
        coupled = {homes[k] for k in inside}
        bins = {places[k] for k in range(n) if homes[k] in coupled}
        factor = np.exp(-eta * 0.6 * own) if own > noisy else np.exp(eta * 0.6 * (1 - own))
        x = [value * factor if cell in bins else value for cell, value in enumerate(x)]
        total = sum(x)
        x = [value / total for value in x]
    return answers, updates


@pytest.mark.parametrize(("threshold", "eta"), [(0.3, 7.0), (0.05, 7.0), (0.02, 1.0)])
def test_rounds_are_those_of_a_plain_twin(threshold: float, eta: float) -> None:
    rows = np.concatenate([halves(40), np.arange(GRID.cells)[None, :] < np.array([[20], [60], [200]])])
    method = CoupledIteration(asked=asked(rows, groups="household", max_group=4), threshold=threshold, eta=eta)
    release = method.release(log_of(PEOPLE), Grant("1"), SeededNoise(5))
    answers, updates = plain(rows.tolist(), threshold, eta, 1.0, 5)
    assert np.allclose(release.answers["answer"].to_numpy(), answers, atol=1e-9)
    assert release.chosen["answers"]["updates"] == updates
    assert updates > 0 or threshold == 0.3


def test_each_round_alone_has_more_than_all_of_epsilon() -> None:
    assert round_epsilon(1.0, 7.0, 0.6, 65_536) > 1.5
    assert round_epsilon(2.0, 7.0, 0.6, 65_536) == 2 * round_epsilon(1.0, 7.0, 0.6, 65_536)


def test_the_noise_is_laplace_of_scale_one() -> None:
    """Mean absolute value 1 and median ln 2, of 200,000 draws: 1.5 % are more than six deviations of each."""
    drawn = np.abs(laplace(SeededNoise(1), 200_000))
    assert abs(drawn.mean() - 1) < 0.015
    assert abs(np.median(drawn) - np.log(2)) < 0.015
    assert abs((laplace(SeededNoise(2), 200_000) > 0).mean() - 0.5) < 0.007


def test_records_without_a_group_are_alone_and_degrees_count() -> None:
    records = CoupledRecords.coupled(np.array([0, 1, 1, 2]), np.array([7, -1, 7, -1]), 3)
    assert records.sizes.tolist() == [2, 1, 2, 1]
    assert records.coupled_cells(np.array([True, False, False])).tolist() == [True, True, False]
    weighted = CoupledRecords(records.places, records.groups, 3, np.array([0.6, 1.0, 0.8, 1.0]))
    assert weighted.sizes.tolist() == pytest.approx([1.8, 1, 1.6, 1])


def test_it_says_everywhere_that_it_is_not_private() -> None:
    release = CoupledIteration(asked=asked()).release(log_of(PEOPLE), Grant("1"), SeededNoise(1))
    assert release.guarantee.standing is Standing.CLAIMED
    assert not release.is_private
    assert "not established" in release.explain()
    assert release.answers["low"].null_count == release.answers.num_rows
    assert release.answers["answer"].to_numpy().max() < 5, "answers are shares"
    with pytest.raises(UsageError, match="use auto, or add --research"):
        QueryRequest(epsilon=Grant(1).epsilon, bins=BINS, queries=STATEMENTS, method="cim-published").build()
    with pytest.raises(UsageError, match="above 0"):
        CoupledIteration(asked=asked(), eta=0)
    assert isinstance(PEOPLE, pa.Table)
