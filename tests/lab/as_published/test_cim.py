"""CIM as published: algorithm 6 step by step, against a plain twin; and that nobody takes it for private."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from headcount.accounting.budget import Grant
from headcount.accounting.guarantee import Standing
from headcount.bounds import LinearQueries
from headcount.errors import UsageError
from headcount.lab.as_published.cim import (
    CoupledIteration,
    CoupledRecords,
    Iterated,
    QueryTable,
    accuracy,
    iterated,
    laplace,
    most_updates,
    round_epsilon,
    update_probabilities,
)
from headcount.lab.as_published.coupled_degrees import CoupledDegrees
from headcount.methods.queries.request import QueryRequest
from headcount.noise import SeededNoise
from tests.support.town import BINS, GRID, STATEMENTS, halves, linear_queries, log_of, plain_cells, table

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
    draws = laplace(SeededNoise(seed), len(rows))
    round_budget = epsilon * eta**2 * 0.36 / np.log(cells)
    x = [1 / cells] * cells
    answers, updates = [], 0
    for t, row in enumerate(rows):
        inside = [k for k in range(n) if row[places[k]]]
        counted = [homes[k] for k in inside]
        sensitivity = max((counted.count(home) for home in set(counted)), default=1) / n
        noisy = len(inside) / n + sensitivity / round_budget * draws[t]
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
def test_rounds_equal_those_of_the_reference(threshold: float, eta: float) -> None:
    rows = np.concatenate([halves(40), np.arange(GRID.cells)[None, :] < np.array([[20], [60], [200]])])
    method = CoupledIteration(
        table_queries=linear_queries(rows, groups="household", max_group=4), threshold=threshold, eta=eta
    )
    release = method.release(log_of(PEOPLE), Grant("1"), SeededNoise(5))
    answers, updates = plain(rows.tolist(), threshold, eta, 1.0, 5)
    assert np.allclose(release.answers["answer"].to_numpy(), answers, atol=1e-9)
    assert release.chosen["answers"]["updates"] == updates
    assert updates > 0 or threshold == 0.3


def test_every_round_alone_gets_more_than_all_of_epsilon() -> None:
    assert round_epsilon(1.0, 7.0, 0.6, 65_536) > 1.5
    assert round_epsilon(2.0, 7.0, 0.6, 65_536) == 2 * round_epsilon(1.0, 7.0, 0.6, 65_536)


def test_the_noise_is_laplace_of_scale_one() -> None:
    """Mean absolute value 1 and median ln 2, of 200,000 draws: 1.5 % are more than six deviations of each."""
    drawn = np.abs(laplace(SeededNoise(1), 200_000))
    assert abs(drawn.mean() - 1) < 0.015
    assert abs(np.median(drawn) - np.log(2)) < 0.015
    assert abs((laplace(SeededNoise(2), 200_000) > 0).mean() - 0.5) < 0.007


def small(first: int, second: int) -> CoupledRecords:
    """Four records in three of four cells, of which two are coupled; one query for each of the first two cells."""
    degrees = CoupledDegrees(4, np.array([first]), np.array([second]), np.array([0.75]))
    table = QueryTable(np.array([1, 2, 1, 0]), LinearQueries.from_matrix([[1, 0, 0, 0], [0, 1, 0, 1]]))
    return CoupledRecords(table, np.array([0, 1, 1, 2]), degrees)


def test_only_what_a_query_counts_makes_it_sensitive() -> None:
    assert (small(0, 2).sensitivities * 4).tolist() == [1, 1], "coupled across both queries"
    assert (small(1, 2).sensitivities * 4).tolist() == [1, 1.75], "coupled within the second"
    assert small(0, 2).table.exact.tolist() == [0.25, 0.5]


def test_an_update_reaches_the_cells_of_coupled_records() -> None:
    """The first query asks for cell 0: its record is coupled with one in cell 1, or with none elsewhere."""
    noisy, up = np.array([1.0, 0.5, 0.5]), np.exp(2.0 * 0.75)
    across = iterated(small(0, 2), noisy, threshold=0.4, step=2.0)
    assert across.answers.tolist() == pytest.approx([1.0, 0.5, up / (2 * up + 2)])
    within = iterated(small(1, 2), noisy, threshold=0.4, step=2.0)
    assert within.answers.tolist() == pytest.approx([1.0, 2 / (up + 3), up / (up + 3)])
    assert across.updates == within.updates == 1
    assert within.furthest == pytest.approx(up / (up + 3) - 0.25)


def repeated(places: list[int], scale: float, threshold: float, rounds: int = 20_000) -> Iterated:
    """Ask for the first of four cells so often, with steps so small that the table stays uniform."""
    table = QueryTable(np.bincount(places, minlength=4), LinearQueries.from_matrix([[1, 0, 0, 0]]))
    records = CoupledRecords(table, np.array(places), CoupledDegrees.alone(len(places)))
    noisy = table.exact[0] + scale * laplace(SeededNoise(3), rounds)
    return iterated(records, noisy, threshold=threshold, step=1e-15)


def test_lemma_5_is_right_where_the_table_is_and_wrong_where_it_is_far_off() -> None:
    """0.013 are more than four deviations of a share of 20,000 rounds."""
    right = repeated([0, 1, 2, 3], 0.2, 0.3)
    assert right.furthest == pytest.approx(0)
    expected = update_probabilities(0.3, right.furthest, np.array([0.2]))[0]
    assert abs(right.updates / 20_000 - expected) < 0.013
    far = repeated([0, 0, 0, 0], 0.05, 0.3)
    assert far.furthest == pytest.approx(0.75)
    assert far.updates > 19_000
    assert update_probabilities(0.3, far.furthest, np.array([0.05]))[0] < 0.001, "where nearly all rounds update"


def test_theorem_5_5_1_is_off_by_nearly_half_the_threshold() -> None:
    """A table that is off by 0.25 is not found out at T = 0.3, but the theorem has T / 2 and a little."""
    near = repeated([0, 0, 1, 2], 0.004, 0.3)
    assert (near.updates, near.furthest) == (0, 0.25)
    assert accuracy(0.3, 0.05, 0.004, 20_000) < 0.18 < 0.25 == abs(near.answers - 0.5).max()


def test_lemma_4_leaves_less_than_one_update() -> None:
    assert most_updates(7.0, 0.6, 65_536) < 1
    assert round_epsilon(1.0, 7.0, 0.6, 99) == pytest.approx(49 * 0.36 / np.log(99))


def test_it_says_everywhere_that_it_is_not_private() -> None:
    release = CoupledIteration(table_queries=linear_queries()).release(log_of(PEOPLE), Grant("1"), SeededNoise(1))
    assert release.guarantee.standing is Standing.CLAIMED
    assert not release.is_private
    assert "not established" in release.explain()
    assert release.answers["low"].null_count == release.answers.num_rows
    assert release.answers["answer"].to_numpy().max() < 5, "answers are shares"
    with pytest.raises(UsageError, match="use auto, or add --research"):
        QueryRequest(epsilon=Grant(1).epsilon, bins=BINS, queries=STATEMENTS, method="cim-published").build()
    with pytest.raises(UsageError, match="above 0"):
        CoupledIteration(table_queries=linear_queries(), eta=0)
    assert isinstance(PEOPLE, pa.Table)
