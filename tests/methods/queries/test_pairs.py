"""Pairs: wide tables are answered from columns and pairs of them, and rows are drawn from the same model."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from itertools import combinations
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import headcount as hc
from headcount._internal.arrays import Floats
from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import DiscreteGaussian, DiscreteLaplace
from headcount.bounds import LinearQueries
from headcount.bounds.grid.marginals import ColumnPlaces
from headcount.errors import UsageError
from headcount.events.grid import Grid
from headcount.events.log import EventLog
from headcount.methods.queries.inference.pair_model import (
    PairModel,
    fit_pair_model,
    independent_table,
    synthetic_rows,
)
from headcount.methods.queries.pairs import PairCounts
from headcount.methods.queries.query_method import answers_table
from headcount.methods.queries.request import QueryRequest
from headcount.methods.queries.workload import QueryNames, TableQueries
from headcount.methods.request import request_of
from headcount.noise import SeededNoise
from headcount.releases.release import Release

PEOPLE, COLUMNS, SIZE = 3000, 12, 5
BINS: Mapping[str, Any] = {f"c{n}": {"from": 0, "to": SIZE, "bins": SIZE} for n in range(COLUMNS)}
TRIPLE = "SELECT COUNT(*) FROM people GROUP BY c0, c1, c2"


def crowd(seed: int = 1) -> dict[str, list[int]]:
    """Each column follows from the one before it, but for some noise."""
    draw = np.random.default_rng(seed)
    columns = [draw.integers(0, SIZE, PEOPLE)]
    for _ in range(COLUMNS - 1):
        columns.append(np.where(draw.random(PEOPLE) < 0.7, columns[-1], draw.integers(0, SIZE, PEOPLE)))
    return {f"c{n}": column.tolist() for n, column in enumerate(columns)}


TABLE = crowd()
LOG: EventLog = hc.read_people(pa.table({"id": range(PEOPLE), **TABLE}), user="id")


def pair_counts(
    statements: tuple[str, ...] = (TRIPLE,), bins: Mapping[str, Any] = BINS, **words: Any
) -> PairCounts:
    synthetic = words.pop("synthetic", None)
    return PairCounts(
        table_queries=TableQueries(grid=Grid.from_mapping(bins), statements=statements, **words),
        synthetic=synthetic,
    )


def released(method: PairCounts, epsilon: str = "20", delta: str | None = None, seed: int = 1) -> Release:
    return method.release(LOG, Grant(epsilon, delta), SeededNoise(seed))


def counted(*columns: str) -> Floats:
    totals = np.zeros((SIZE,) * len(columns))
    np.add.at(totals, tuple(np.array(TABLE[name]) for name in columns), 1)
    return totals


def test_a_grid_that_is_too_wide_leads_here_by_itself() -> None:
    assert Grid.from_mapping(BINS).is_wide
    for method in (None, "auto"):
        release = hc.query(LOG, TRIPLE, epsilon="1", bins=BINS, method=method)
        assert release.method == "pairs"
    narrow = {name: BINS[name] for name in ("c0", "c1", "c2")}
    assert hc.query(LOG, TRIPLE, epsilon="1", bins=narrow).method == "auto"
    assert hc.query(LOG, TRIPLE, epsilon="1", bins=narrow, synthetic=3).method == "pairs"


@pytest.mark.parametrize("method", ["histogram", "mwem", "pmw"])
def test_other_methods_refuse_it_and_name_this_one(method: str) -> None:
    with pytest.raises(UsageError, match=r'244,140,625 cells, more than 10,000,000; use method="pairs"'):
        hc.query(LOG, TRIPLE, epsilon="1", bins=BINS, method=method)
    with pytest.raises(UsageError, match='use method="pairs"'):
        hc.QuerySession(LOG, epsilon="1", bins=BINS)


def test_answers_are_near_and_intervals_hold() -> None:
    truth = counted("c0", "c1", "c2")
    for delta in (None, "1e-6"):
        table = released(pair_counts(), delta=delta).answers
        answers, low, high = (table[name].to_numpy().reshape(truth.shape) for name in ("answer", "low", "high"))
        distance = np.abs(answers - truth).sum() / (2 * PEOPLE)
        alone = independent_table((truth.sum((1, 2)), truth.sum((0, 2))), (0, 1))
        far = np.abs(alone[:, :, None] * truth.sum((0, 1)) / PEOPLE - truth).sum() / (2 * PEOPLE)
        assert distance < far / 6
        assert ((low <= truth) & (truth <= high)).mean() >= 0.95


def test_conditions_are_answered_like_sums_of_cells() -> None:
    """The same counts as by rows over all cells, whatever the statement looks at."""
    bins = {name: BINS[name] for name in ("c0", "c1", "c2", "c3")}
    grid = Grid.from_mapping(bins)
    statements = (
        "SELECT COUNT(*) FROM t",
        "SELECT COUNT(*) FROM t WHERE c3 >= 2 AND NOT c1 IN (0, 4)",
        "SELECT COUNT(*) FROM t WHERE c0 = 1 OR c2 < 3",
        "SELECT COUNT(*) FROM t WHERE c1 < 3 GROUP BY c2, c1",
        "SELECT COUNT(*) FROM t GROUP BY c3, c0",
    )
    queries = TableQueries(grid=grid, statements=statements)
    cells = np.random.default_rng(2).random(grid.shape)

    def table(places: ColumnPlaces) -> Floats:
        return np.asarray(cells.sum(axis=tuple(set(range(4)) - set(places))))

    assert queries.workload.answers(table) == pytest.approx(queries.queries.sums(cells.ravel()))
    assert queries.workload.names == queries.names
    assert set(queries.workload.tables) == {(), (1, 3), (0, 2), (1, 2), (0, 3)}


def test_rows_of_zeros_and_ones_are_answered_where_all_cells_can_be() -> None:
    bins = {name: BINS[name] for name in ("c0", "c1")}
    rows = LinearQueries.from_matrix(np.eye(SIZE * SIZE, dtype=bool))
    release = PairCounts(table_queries=TableQueries(grid=Grid.from_mapping(bins), rows=rows)).release(
        LOG, Grant("50"), SeededNoise(1)
    )
    assert release.answers["answer"].to_numpy() == pytest.approx(counted("c0", "c1").ravel(), abs=5)


def test_a_statement_over_too_many_columns_is_refused_before_anything_is_spent() -> None:
    everything = f"SELECT COUNT(*) FROM people GROUP BY {', '.join(BINS)}"
    with pytest.raises(UsageError, match=r"12 columns of 244,140,625 cells together.*fewer columns"):
        pair_counts((everything,)).check(LOG)


def test_bins_whose_pairs_alone_are_too_many_are_refused() -> None:
    many = {**BINS, **{f"c{n}": {"from": 0, "to": 4000, "bins": 4000} for n in range(2)}}
    with pytest.raises(
        UsageError, match=r"all pairs of columns have 16,40\d,\d+ cells.*as of 'c0', which has 4,000"
    ):
        pair_counts(bins=many).check(LOG)


def test_a_pair_of_very_many_cells_is_not_counted() -> None:
    large = {**BINS, **{f"c{n}": {"from": 0, "to": 400, "bins": 400} for n in range(2)}}
    release = released(pair_counts(("SELECT COUNT(*) FROM t WHERE c0 < 2 GROUP BY c1",), large), "100")
    assert ["c0", "c1"] not in release.chosen["answers"]["pairs"]
    assert np.isfinite(release.answers["answer"].to_numpy()).all()


def test_pairs_that_belong_together_are_taken() -> None:
    taken = released(pair_counts(), "3").chosen["answers"]["pairs"]
    neighbours = [[f"c{n}", f"c{n + 1}"] for n in range(COLUMNS - 1)]
    assert [pair for pair in neighbours if pair not in taken] == []
    assert len(taken) < COLUMNS * (COLUMNS - 1) // 2


def test_noise_is_laplace_without_delta_and_gaussian_with_it() -> None:
    for delta, law in ((None, DiscreteLaplace), ("1e-6", DiscreteGaussian)):
        release = released(pair_counts(), "1", delta)
        assert set(release.noise) == {"columns", "scores", "pairs", "error"}
        assert all(isinstance(distribution, law) for distribution in release.noise.values())
        assert release.guarantee.delta == Decimal(delta or 0)


def test_noise_follows_from_how_many_tables_a_group_moves() -> None:
    """With δ: k tables move by √k times what a group adds, at a share of ρ."""
    method = pair_counts(groups="home", max_group=3, max_records=2)
    price = Cost.of("1", "1e-6")
    laws = {stage.name: stage.sensitivity for stage in method.stages(LOG, price)}
    pairs = COLUMNS * (COLUMNS - 1) // 2
    assert [
        (name, bound.l1, bound.l2_squared, bound.linf) for name, bound in laws.items() if bound is not None
    ] == [
        ("columns", 6 * COLUMNS, 36 * COLUMNS, 6),
        ("scores", 6 * pairs, 36 * pairs, 6),
        ("pairs", 6 * pairs, 36 * pairs, 6),
        ("error", 6, 36, 6),
    ]


def test_with_a_huge_budget_empty_cells_are_released_as_empty() -> None:
    """A column of which no bin is left uncounted may have a bin with nobody: nothing is divided by that."""
    bins = {**BINS, "c0": {"from": 0, "to": 2 * SIZE, "bins": 2 * SIZE}}
    for epsilon, delta in (("100000", None), ("10000", "1e-6"), ("1e-6", None), ("1e-6", "1e-9")):
        answers = released(pair_counts((TRIPLE,), bins, synthetic=3), epsilon, delta).answers["answer"].to_numpy()
        assert np.isfinite(answers).all()


@pytest.mark.parametrize("columns", [1, 2])
def test_one_column_and_two_have_nothing_to_choose(columns: int) -> None:
    bins = {f"c{n}": BINS[f"c{n}"] for n in range(columns)}
    release = released(
        pair_counts((f"SELECT COUNT(*) FROM t GROUP BY {', '.join(bins)}",), bins, synthetic=4), "50"
    )
    assert set(release.noise) == {"columns", "error"} | ({"pairs"} if columns == 2 else set())
    assert release.answers["answer"].to_numpy() == pytest.approx(counted(*bins).ravel(), abs=5)
    assert release.tables["synthetic"].column_names == list(bins)


def model_of(columns: int, pairs: Mapping[tuple[int, int], Floats]) -> PairModel:
    ones = tuple(np.full(SIZE, 200.0) for _ in range(columns))
    return fit_pair_model(ones, pairs, 1.0)


def test_a_pair_that_was_not_counted_is_what_a_third_column_tells() -> None:
    near = np.full((SIZE, SIZE), 10.0) + np.eye(SIZE) * 150
    model = model_of(3, {(0, 1): near, (1, 2): near})
    assert model.pairs[0, 2] == pytest.approx(near @ near / 200, rel=0.03)


def test_a_table_agrees_with_all_its_pairs() -> None:
    draw = np.random.default_rng(3)
    noisy = {pair: draw.uniform(10, 70, (SIZE, SIZE)) for pair in combinations(range(4), 2)}
    model = model_of(4, noisy)
    table = model.table((0, 1, 2, 3))
    for first, second in combinations(range(4), 2):
        others = tuple(set(range(4)) - {first, second})
        assert table.sum(axis=others) == pytest.approx(model.pairs[first, second], rel=0.02)


def test_synthetic_rows_have_the_values_of_their_bins() -> None:
    grid = Grid.from_mapping(
        {
            "age": {"edges": [0, 18, 65]},
            "pay": {"edges": [0.5, 1.5, 4.0]},
            "job": {"values": ["cook", "smith"], "other": True},
            "rank": {"values": [3, 7]},
        }
    )
    columns = tuple(np.full(size, 12 / size) for size in grid.shape)
    rows = synthetic_rows(fit_pair_model(columns, {}, 1.0), grid, 500, bytes(16))
    assert rows.schema == pa.schema(
        [("age", pa.int64()), ("pay", pa.float64()), ("job", pa.string()), ("rank", pa.int64())]
    )
    ages, pays = rows["age"].to_numpy(), rows["pay"].to_numpy()
    assert (ages.min(), ages.max()) == (0, 64)
    assert 0.5 <= pays.min() < pays.max() < 4.0
    assert set(rows["job"].to_pylist()) == {"cook", "smith", None}
    assert set(rows["rank"].to_pylist()) == {3, 7}


def test_synthetic_rows_follow_the_model() -> None:
    """Seeded, so that it never fails by chance; rows that hang on no other column are far off.

    Distances are in standard deviations of a cell; columns that a row's chain leaves out add some.
    """
    release = released(pair_counts(synthetic=40_000))
    rows = np.stack([release.tables["synthetic"][name].to_numpy() for name in ("c0", "c1", "c2")])
    totals = np.zeros((SIZE,) * 3)
    np.add.at(totals, tuple(rows), 1)
    share = release.answers["answer"].to_numpy().reshape(totals.shape)
    share = share / share.sum()

    def apart(table: Floats) -> float:
        return float((np.abs(table - 40_000 * share) / np.sqrt(40_000 * share + 1)).max())

    assert apart(totals) < 12
    for axis in range(3):
        rows[axis] = np.random.default_rng(axis).permutation(rows[axis])
    mixed = np.zeros((SIZE,) * 3)
    np.add.at(mixed, tuple(rows), 1)
    assert apart(mixed) > 50


def test_synthetic_rows_cost_nothing_and_change_no_answer() -> None:
    with_rows, without = released(pair_counts(synthetic=7)), released(pair_counts())
    assert with_rows.answers == without.answers
    assert with_rows.guarantee == without.guarantee
    assert with_rows.tables["synthetic"].num_rows == 7
    assert with_rows.number == "answer"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"synthetic": 0}, "synthetic"),
        ({"synthetic": 10**9}, "between 1 and 100,000,000 rows"),
        (
            {"synthetic": 5, "method": "mwem"},
            'method="mwem" fits no model that rows could be drawn from; use method="pairs"',
        ),
        ({"delta": "1e-6", "method": "mwem"}, "delta= is of no use here"),
        ({"delta": "1e-6", "method": "cim-published", "research": True}, "delta= is of no use here"),
    ],
)
def test_what_cannot_be_had_is_refused(words: Mapping[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        hc.query(LOG, TRIPLE, epsilon="1", bins=BINS, **words)


def test_a_request_goes_through_json() -> None:
    request = request_of(QueryRequest, epsilon="1", delta="1e-9", bins=BINS, queries=[TRIPLE], synthetic=9)
    again = QueryRequest.model_validate_json(request.model_dump_json())
    assert again == request
    assert (again.synthetic, again.answered_by) == (9, "pairs")
    assert request.cells(LOG) == {"answers": SIZE**3, "synthetic": 9}
    assert request.columns(LOG)["synthetic"] == tuple(BINS)


def test_many_answers_take_no_more_time_than_few_per_answer() -> None:
    """All triples of a wide grid are 100,000 cells: that took minutes once, and takes a tenth of a second."""
    many = 60_000
    cells = tuple((("age", str(place)), ("sex", "F"), ("job", "none")) for place in range(many))
    begin = process_time()
    table = answers_table(QueryNames(("all",) * many, cells), {"answer": np.zeros(many)})
    assert process_time() - begin < 5
    assert table["age"].to_pylist()[-1] == str(many - 1)
