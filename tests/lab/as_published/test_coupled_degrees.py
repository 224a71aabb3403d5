"""Coupled degrees: a symmetric matrix, sensitivities as defined, and every way to them from the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headcount.accounting.budget import Grant
from headcount.errors import CallerError, UsageError
from headcount.lab.as_published import coupled_degrees as module
from headcount.lab.as_published.cim import CoupledIteration, bins_of
from headcount.lab.as_published.coupled_degrees import CoupledDegrees
from headcount.lab.as_published.couplings import Coupling
from headcount.noise import SeededNoise
from tests.support.town import GRID, halves, linear_queries, log_of, table

PEOPLE = table(200)
IDS = PEOPLE["id"].to_pylist()


def dense(coupled: CoupledDegrees) -> Any:
    """Δ as it is printed: all records with all."""
    matrix = np.eye(coupled.size)
    for i, other, degree in zip(coupled.first, coupled.second, coupled.degrees, strict=True):
        assert matrix[i, other] == 0, "a pair stands once"
        matrix[i, other] = matrix[other, i] = degree
    return matrix


def some_degrees(size: int = 40, pairs: int = 90) -> CoupledDegrees:
    draw = np.random.default_rng(4)
    flat = draw.choice(size * (size - 1) // 2, pairs, replace=False)
    first, second = (indices[flat] for indices in np.triu_indices(size, 1))
    return CoupledDegrees(size, first, second, draw.uniform(0.6, 1, pairs) * draw.choice([-1, 1], pairs))


def test_both_records_of_a_pair_have_the_same_degree() -> None:
    """One degree a record gave 1.8 to one and 1.6 to the other of the same pair."""
    pair = CoupledDegrees(2, np.array([0]), np.array([1]), np.array([0.7]))
    assert pair.record_sensitivities.tolist() == pytest.approx([1.7, 1.7])
    assert (dense(some_degrees()) == dense(some_degrees()).T).all()


def test_sensitivities_are_those_of_definitions_13_and_14() -> None:
    coupled, rows = some_degrees(), halves(700, 25)
    places = np.random.default_rng(5).integers(0, 25, coupled.size)
    matrix = np.abs(dense(coupled))
    expected = []
    for row in rows:
        counted = row[places]
        of_records = matrix @ counted
        expected.append(max(of_records[counted], default=1.0))
    assert coupled.coupled_sensitivities(rows, places) == pytest.approx(np.array(expected))
    assert coupled.record_sensitivities == pytest.approx(matrix.sum(axis=1))
    nobody = np.zeros((1, 25), dtype=bool)
    assert coupled.coupled_sensitivities(nobody, places).tolist() == [1.0]


def test_coupled_sensitivity_is_at_most_k_as_lemma_3_says() -> None:
    coupled = some_degrees()
    rows, places = halves(500, 40), np.arange(40)
    most = coupled.coupled_sensitivities(rows, places).max()
    assert 1 < most <= coupled.record_sensitivities.max() <= coupled.others.max() + 1


def test_pearson_degrees_are_those_of_numpy() -> None:
    attributes = np.random.default_rng(1).normal(size=(700, 4))
    attributes[3] = 5.0  # constant: no coefficient
    with np.errstate(invalid="ignore"):
        expected = np.asarray(np.nan_to_num(np.corrcoef(attributes)))
    expected[np.abs(expected) < 0.6] = 0
    np.fill_diagonal(expected, 1)
    assert np.allclose(dense(CoupledDegrees.of_pearson(attributes, 0.6)), expected, atol=1e-5)


def test_more_pairs_than_are_held_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PAIRS", 9)
    assert CoupledDegrees.of_groups(np.zeros(4, dtype=np.int64)).first.size == 6
    makers: list[Callable[[], object]] = [
        lambda: CoupledDegrees.of_groups(np.zeros(5, dtype=np.int64)),
        lambda: CoupledDegrees.of_pearson(np.array([[1.0, 2.0]] * 5), 0.6),
    ]
    for make in makers:
        with pytest.raises(UsageError, match="10 or more pairs of records, and at most 9 are held; raise delta0"):
            make()


def matrix_of(rows: pa.Table = PEOPLE, **how: Any) -> Any:
    return dense(CoupledIteration(table_queries=linear_queries(), **how).records(log_of(rows)).degrees)


def test_an_attribute_couples_users_with_equal_values() -> None:
    homes = np.array(PEOPLE["household"].to_pylist())
    by_attribute = matrix_of(coupling="attribute:household")
    assert (by_attribute == (homes[:, None] == homes)).all()
    grouped = CoupledIteration(table_queries=linear_queries(groups="household", max_group=4))
    assert (dense(grouped.records(log_of(PEOPLE)).degrees) == by_attribute).all(), "as the groups always did"


def test_times_couple_users_of_the_same_interval() -> None:
    minutes = np.random.default_rng(2).integers(0, 3_000, PEOPLE.num_rows)
    stamps = np.datetime64("2026-03-01T00:00", "us") + minutes.astype("timedelta64[m]")
    texts = pa.array([None if place == 5 else str(stamp) for place, stamp in enumerate(stamps)])
    expected = (minutes // 90)[:, None] == minutes // 90
    seconds = stamps.astype("datetime64[s]").astype(np.int64)
    for column in (pa.array(stamps), pa.array(seconds)):
        coupled = matrix_of(PEOPLE.append_column("seen", column), coupling="time:seen/90m")
        assert (coupled == expected).all()
    expected[5, :] = expected[:, 5] = False
    expected[5, 5] = True
    assert (matrix_of(PEOPLE.append_column("seen", texts), coupling="time:seen/90m") == expected).all()


def test_pearson_is_of_the_bins_of_the_users() -> None:
    log = log_of(PEOPLE)
    places = CoupledIteration(table_queries=linear_queries()).records(log).places
    expected = dense(CoupledDegrees.of_pearson(bins_of(places, GRID), 0.7))
    assert (matrix_of(coupling="pearson", delta0=0.7) == expected).all()
    assert np.count_nonzero(expected) > 200


def file_of(folder: Path, a: list[Any], b: list[Any], degree: list[Any], name: str = "degrees.parquet") -> str:
    pq.write_table(pa.table({"a": a, "b": b, "degree": degree}), folder / name)
    return str(folder / name)


def test_a_file_says_who_is_coupled_and_how_strongly(tmp_path: Path) -> None:
    a, b = [IDS[0], IDS[2], IDS[0], IDS[3], "nobody", IDS[4]], [IDS[1], IDS[3], IDS[0], IDS[2], IDS[5], IDS[6]]
    path = file_of(tmp_path, a, b, [0.7, -0.9, 1.0, -0.9, 1.0, 0.5])
    expected = np.eye(200)
    expected[0, 1] = expected[1, 0] = 0.7
    expected[2, 3] = expected[3, 2] = -0.9
    assert (matrix_of(degrees=path) == expected).all(), "below δ₀, and who is not there, count as nothing"
    text = tmp_path / "degrees.csv"
    text.write_text("a,b,degree\n" + "".join(f"{x},{y},{z}\n" for x, y, z in [(IDS[0], IDS[1], 0.7)]))
    expected[2, 3] = expected[3, 2] = 0
    assert (matrix_of(degrees=str(text)) == expected).all()


def test_all_records_of_two_users_are_coupled(tmp_path: Path) -> None:
    rows = table(30, records=3)
    who = np.array(rows["id"].to_pylist())
    path = file_of(tmp_path, ["p1", "p2"], ["p7", "p9"], [0.8, 0.6])
    expected = (who[:, None] == who).astype(float)
    for first, other, degree in (("p1", "p7", 0.8), ("p2", "p9", 0.6)):
        expected[np.ix_(who == first, who == other)] = expected[np.ix_(who == other, who == first)] = degree
    assert (matrix_of(rows, degrees=path) == expected).all()


@pytest.mark.parametrize(
    ("a", "b", "degree", "says"),
    [
        (["p1"], ["p2"], [1.5], "column 'degree' of .* from -1 to 1 in row 1, not 1.5; give 1 for full coupling"),
        (["p1", "p1"], ["p2", "p3"], ["1", "much"], "column 'degree' of .* in row 2, not 'nothing that is one'"),
        (["p1", "p2"], ["p2", "p1"], [0.8, 0.6], "'p2' and 'p1' two degrees, 0.8 and 0.6: .* symmetric; keep one"),
        (["p1"], ["p1"], [0.8], "must be 1 in row 1, where 'p1' stands with itself, not 0.8; give 1"),
        (["p1", None], ["p2", "p3"], [1.0, 1.0], "column 'a' of .* is empty in row 2; name a person there"),
    ],
)
def test_what_is_no_matrix_of_degrees_is_refused(
    tmp_path: Path, a: list[Any], b: list[Any], degree: list[Any], says: str
) -> None:
    path = file_of(tmp_path, a, b, degree)
    grant = Grant("1")
    with pytest.raises(CallerError, match=says):
        CoupledIteration(table_queries=linear_queries(), degrees=path).release(
            log_of(PEOPLE), grant, SeededNoise(1)
        )
    grant.spend()  # it was not


def test_a_file_without_its_columns_and_ids_of_another_kind_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["p1"], "b": ["p2"]}), tmp_path / "two.parquet")
    with pytest.raises(CallerError, match="has no column 'degree'; degrees are a table of the columns a, b and"):
        matrix_of(degrees=str(tmp_path / "two.parquet"))
    numbered = PEOPLE.set_column(0, "id", pa.array(range(PEOPLE.num_rows)))
    with pytest.raises(CallerError, match=r"column 'a' of .* holds 'p1', which cannot be a person of the table"):
        matrix_of(numbered, degrees=file_of(tmp_path, ["p1"], ["p2"], [1.0]))
    assert np.count_nonzero(matrix_of(numbered, degrees=file_of(tmp_path, [0, 1], [5, 7], [1.0, 0.7]))) == 204


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"coupling": "friends"},
            "coupling must read attribute:COLUMN, time:COLUMN/90m or pearson, not 'friends'",
        ),
        ({"coupling": "time:seen"}, "coupling must read"),
        ({"coupling": "pearson", "degrees": "x.csv"}, "both say who is coupled; leave one of them out"),
    ],
)
def test_ways_that_do_not_exist_are_refused(options: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        CoupledIteration(table_queries=linear_queries(), **options)  # type: ignore[arg-type]


def test_columns_that_couple_no_users_are_refused_before_anything_is_read() -> None:
    with pytest.raises(CallerError, match="column 'home' is not in"):
        CoupledIteration(table_queries=linear_queries(), coupling="attribute:home").check(log_of(PEOPLE))
    odd = PEOPLE.append_column("part", pa.array(np.linspace(0, 1, PEOPLE.num_rows)))
    odd = odd.append_column("yes", pa.array([True] * PEOPLE.num_rows))
    for coupling, says in (("attribute:yes", "ids are text or whole"), ("time:part/1d", "where times are needed")):
        with pytest.raises(CallerError, match=says):
            CoupledIteration(table_queries=linear_queries(), coupling=coupling).check(log_of(odd))


def test_noise_follows_the_degrees() -> None:
    rows = halves(60)
    alone, homes = (
        CoupledIteration(table_queries=linear_queries(rows), coupling=coupling)
        .records(log_of(PEOPLE))
        .sensitivities
        for coupling in (None, "attribute:household")
    )
    assert alone.tolist() == [1 / 200] * 60
    assert set(homes * 200) <= {1.0, 2.0, 3.0, 4.0}
    assert homes.max() > alone.max()


def test_couplings_read_as_they_are_written() -> None:
    assert Coupling.parse("time:a/b/2d") == Coupling("time", "a/b", 172_800)
