"""Residuals: answers are the best linear ones, their variances exact, and weights the best there are."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from functools import reduce
from itertools import combinations
from math import prod, sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import DiscreteGaussian, DiscreteLaplace
from headcount.bounds import LinearQueries, Norm
from headcount.bounds.grid.contrasts import Subset, order_subsets, split_blocks
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.grid import Grid
from headcount.events.user_table import read_people
from headcount.methods.queries import components
from headcount.methods.queries.auto import Automatic
from headcount.methods.queries.components import energies, subsets
from headcount.methods.queries.inference import noise_allocation
from headcount.methods.queries.inference.noise_allocation import allocate_noise
from headcount.methods.queries.inference.unbiased_estimates import Plan, half_widths, least_squares
from headcount.methods.queries.residuals import Residuals
from headcount.methods.queries.workload import TableQueries
from headcount.noise import SeededNoise
from headcount.releases.intervals import Term, half_width
from tests.bounds.grid.test_contrasts import plain
from tests.contracts.support.method_facts import Special

SPECIAL = {"residuals": Special()}

DATA = Path(os.environ.get("HEADCOUNT_DATA", "none"))
SHAPE = (2, 3, 4)
GRID = Grid.from_mapping(
    {name: {"from": 0, "to": size, "bins": size} for name, size in zip("abc", SHAPE, strict=True)}
)
STATEMENTS = (
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) FROM t GROUP BY a, b",
    "SELECT COUNT(*) FROM t WHERE c >= 1 AND b < 2",
    "SELECT COUNT(*) FROM t WHERE c < 3 AND c >= 1",
)
QUERIES = TableQueries(grid=GRID, statements=STATEMENTS)


def query_matrix(queries: TableQueries) -> NDArray[np.float64]:
    return np.array([queries.queries.mask(place) for place in range(queries.queries.size)], dtype=np.float64)


def marginals(grid: Grid, order: int) -> TableQueries:
    names = combinations(grid.columns, order)
    return TableQueries(
        grid=grid,
        statements=tuple(f"SELECT COUNT(*) FROM t GROUP BY {', '.join(map(json.dumps, some))}" for some in names),
    )


def test_weights_are_looked_for_once_however_many_stages_and_releases_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """They hang on the queries and the grid, which are public."""
    search = mock.Mock(wraps=noise_allocation._searched)
    monkeypatch.setattr(noise_allocation, "_searched", search)
    noise_allocation._best.cache_clear()
    log = read_people(pa.table({"user": [1, 2], "a": [0, 1], "b": [0, 1], "c": [3, 0]}), user="user")
    for seed in range(3):
        Residuals(table_queries=QUERIES).release(log, Grant("1"), SeededNoise(seed))
    assert search.call_count == 1


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_answers_are_the_best_linear_ones_and_their_variances_exact(norm: Norm) -> None:
    """Against a pseudo-inverse of the plain matrix of all contrasts."""
    component_energies = QUERIES.energies
    assert component_energies is not None
    weights = allocate_noise(component_energies.components, SHAPE, norm)
    ordered = order_subsets(weights.weights, len(SHAPE))
    matrix = np.vstack([weights.weights[some] * plain(SHAPE, some, norm) for some in ordered]).astype(np.float64)
    rows = query_matrix(QUERIES)
    best = rows @ np.linalg.pinv(matrix)
    own = np.array([rows @ least_squares(unit, weights).ravel() for unit in np.eye(matrix.shape[0])]).T
    assert np.allclose(own @ matrix, rows), "biased"
    assert np.allclose(own, best)
    variances = Plan(QUERIES, weights).variances(9.0)
    assert np.allclose(variances, 9 * (best**2).sum(axis=1))
    assert np.isclose(Plan(QUERIES, weights).mean_variance(9.0), variances.mean())
    assert len(split_blocks(np.zeros(matrix.shape[0]), SHAPE, weights.weights)) == len(weights.weights)


@pytest.mark.parametrize("columns", [(0,), (0, 1), (0, 1, 2)])
def test_variances_of_counts_of_a_table_are_those_of_its_queries(columns: Subset) -> None:
    queries = marginals(GRID, 3)
    for weights in (allocate_noise(queries.energies.components, SHAPE, "l2"), None):  # type: ignore[union-attr]
        plan = Plan(queries, weights)
        mask = np.zeros(SHAPE, dtype=bool)
        mask[tuple(0 if place in columns else slice(None) for place in range(3))] = True
        table_queries = TableQueries(grid=GRID, rows=LinearQueries.from_matrix(mask.reshape(1, -1)))
        assert np.isclose(plan.variance_of(columns, 3.0), Plan(table_queries, weights).variances(3.0)[0])


def test_weights_of_marginals_are_as_good_as_the_closed_form() -> None:
    """The least sum of variances at ρ = 1/2 is (Σ √(energy · cost))²; weights come within one in a thousand."""
    for queries in (marginals(GRID, 2), QUERIES):
        component_energies = queries.energies
        assert component_energies is not None
        energy = component_energies.components
        weights = allocate_noise(energy, SHAPE, "l2")
        inside = {
            some: prod((1 - 1 / n) if at in some else 1 / n for at, n in enumerate(SHAPE)) for some in energy
        }
        least = sum(sqrt(energy[some] * inside[some]) for some in energy) ** 2
        assert 0.9999 * least <= weights.variance(energy) <= 1.001 * least


def test_pure_weights_are_better_than_tables_one_by_one() -> None:
    queries = marginals(GRID, 2)
    energy = queries.energies.components  # type: ignore[union-attr]
    own = allocate_noise(energy, SHAPE, "l1").variance(energy)
    tables = sum(2 * 3**2 * prod(SHAPE[place] for place in some) for some in combinations(range(3), 2))
    assert own < tables, "three tables with a third of ε each"


def test_of_very_many_queries_some_stand_for_all_and_none_goes_unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(1).random((300, 24)) < 0.5
    rows[17] = np.indices(SHAPE).sum(axis=0).ravel() % 2 == 0
    queries = TableQueries(grid=GRID, rows=LinearQueries.from_matrix(rows))
    whole = energies(queries.queries, SHAPE)
    monkeypatch.setattr(components, "_WORK", 24 * 40)
    some = energies(queries.queries, SHAPE)
    assert whole is not None
    assert some is not None
    assert max(map(len, some.rows.values())) <= 40
    for component, energy in whole.components.items():
        assert 0.5 < some.components[component] / energy < 2
    weights = allocate_noise(some.components, SHAPE, "l2")
    variance_by_component = {component: 1 / precise for component, precise in weights.precision.items()}
    assert np.allclose(
        components.variances(queries.queries, some, variance_by_component),
        components.variances(queries.queries, whole, variance_by_component),
    )


def test_queries_over_too_many_columns_are_refused_by_name_and_taken_by_the_choice() -> None:
    grid = Grid.from_mapping({f"c{place}": {"values": [0, 1]} for place in range(14)})
    rows = np.random.default_rng(1).random((2, grid.cells)) < 0.5
    queries = TableQueries(grid=grid, rows=LinearQueries.from_matrix(rows))
    log = read_people(pa.table({"id": [1], **{name: [1] for name in grid.columns}}), user="id")
    with pytest.raises(UsageError, match="too many columns together"):
        Residuals(table_queries=queries).noise_distributions(log, Grant("1"))
    assert Automatic(table_queries=queries).noise_distributions(log, Grant("1"))


@pytest.mark.parametrize("kind", [Residuals, Automatic])
@pytest.mark.parametrize("consistent", [False, True])
@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_queries_that_leave_components_out_are_answered(kind: Any, consistent: bool, delta: str | None) -> None:
    """Odd sums over three columns ask nothing of one or two of them; what is empty asks nothing at all."""
    grid = Grid.from_mapping({name: {"values": [0, 1]} for name in "abc"})
    log = read_people(
        pa.table({"id": range(90), **{name: [n % 2 for n in range(90)] for name in "abc"}}), user="id"
    )
    odd = np.indices((2, 2, 2)).sum(axis=0).ravel() % 2 == 1
    options = {"consistent": consistent} if kind is Residuals else {}
    for rows, answer in ((odd[None], 45), (np.zeros((1, 8), dtype=bool), 0)):
        method = kind(table_queries=TableQueries(grid=grid, rows=LinearQueries.from_matrix(rows)), **options)
        for epsilon, near in (("0.1", 2000), ("900", 10)):
            release = method.release(log, Grant(epsilon, delta), SeededNoise(1))
            assert abs(release.answers["answer"][0].as_py() - answer) <= near
            assert release.answers["low"].null_count == 0


def test_where_counts_stand_clear_the_choice_leans_on_a_fit_within_exact_intervals() -> None:
    """Eight pages that few visit: the fit knows that counts are not negative, and intervals do not move for it."""
    drawn = np.random.default_rng(8).random((20_000, 8)) < 0.01
    table = pa.table({"id": range(20_000), **{f"p{place}": drawn[:, place].astype(int) for place in range(8)}})
    log = read_people(table, user="id")
    queries = marginals(Grid.from_mapping({f"p{place}": {"values": [0, 1]} for place in range(8)}), 3)
    exact = queries.queries.counts(queries.count(log, LocalEngine(), bytes(16)).sensitive_values)
    distances = dict[str, list[float]]()
    for seed in range(5):
        for kind in (Automatic, Residuals):
            release = kind(table_queries=queries).release(log, Grant("1", "1e-6"), SeededNoise(seed))
            low, answers, high = (release.answers[name].to_numpy() for name in ("low", "answer", "high"))
            assert release.chosen.get("choice", {}).get("fits", False) is False
            assert ((low <= answers) & (answers <= high)).all()
            assert ((low <= exact) & (exact <= high)).mean() > 0.9
            distances.setdefault(kind.name, []).append(float(np.abs(answers - exact).mean()))
    assert np.mean(distances["auto"]) < 0.85 * np.mean(distances["residuals"])


def test_plans_say_how_noisy_answers_will_be() -> None:
    log = read_people(pa.table({"id": [1], "a": [1], "b": [1], "c": [1]}), user="id")
    (note,) = Residuals(table_queries=QUERIES).notes(log, Cost.of("1", "1e-6"))
    assert note.startswith("Answers will have standard deviations of ")
    assert Residuals(table_queries=QUERIES, consistent=True).notes(log, Cost.of("1")) == ()


@pytest.mark.parametrize("weights", [(1, 1), (1, 0.5), (1, 0.1), (1, 0.3, 0.3), (1,) * 5, (1, *(0.1,) * 20)])
def test_intervals_of_laplace_sums_are_wide_enough_and_hardly_too_wide(weights: tuple[float, ...]) -> None:
    """Against their exact law, worked out by convolution: never narrower, and at most 10 % wider."""
    law = DiscreteLaplace(Fraction(1000))
    exact = half_width([Term(weight, law) for weight in weights], 0.95)
    own = half_widths(np.array([sum(weight**2 for weight in weights) * law.variance]), law, 0.95)[0]
    assert 0.995 * exact <= own <= 1.1 * exact


def test_intervals_of_gaussian_sums_are_exact() -> None:
    law = DiscreteGaussian(Fraction(1000))
    own = half_widths(np.array([5.0 * law.variance]), law, 0.95)[0]
    assert abs(own / (NormalDist().inv_cdf(0.975) * sqrt(5) * 1000) - 1) < 2e-3


def test_subsets_come_in_the_order_of_axes() -> None:
    codes = [tuple(np.flatnonzero(code)) for code in np.ndindex(2, 2, 2)]
    assert [tuple(int(place) for place in code) for code in codes] == subsets((0, 1, 2))
    assert reduce(lambda total, other: total + len(other), subsets((0, 1)), 0) == 4


def mean_variation(people: pa.Table, bins: dict[str, Any], kind: Any, runs: int) -> float:
    """The mean total variation over all marginals of three columns at ε = 1 and δ = 1e-6."""
    log = read_people(people.append_column("id", pa.array(range(people.num_rows))), user="id")
    queries = marginals(Grid.from_mapping(bins), 3)
    truth = queries.queries.counts(queries.count(log, LocalEngine(), bytes(16)).sensitive_values)
    released = (
        kind(table_queries=queries).release(log, Grant("1", "1e-6"), SeededNoise(seed)) for seed in range(runs)
    )
    apart = [np.abs(release.answers["answer"].to_numpy() - truth).sum() for release in released]
    return float(np.mean(apart) / (2 * people.num_rows * len(queries.statements)))


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "nltcs.parquet").is_file(), reason="HEADCOUNT_DATA has no nltcs")
def test_marginals_of_nltcs() -> None:
    """In closed form .0042; it varies by 3 % from run to run, and seeds are fixed."""
    bins = {f"a{place}": {"values": [0, 1]} for place in range(16)}
    people = pq.read_table(DATA / "nltcs.parquet")
    assert mean_variation(people, bins, Residuals, 2) <= 0.0045
    assert mean_variation(people, bins, Automatic, 2) <= 0.0045


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "uci-adult.parquet").is_file(), reason="HEADCOUNT_DATA has no uci-adult")
def test_marginals_of_adult() -> None:
    """It varies by 2 % from run to run, and seeds are fixed."""
    from tests.methods.queries.test_errors import ADULT

    assert mean_variation(pq.read_table(DATA / "uci-adult.parquet"), ADULT, Automatic, 2) <= 0.07
