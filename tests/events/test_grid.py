"""Public grids: which bin a value is in, which conditions go along edges, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.errors import DataError, UnknownNameError, UsageError
from headcount.events.encode.cells import check_table
from headcount.events.encode.passes import EncodedLog, Reading
from headcount.events.grid import Grid, NumberBins, read_bins
from headcount.events.user_table import read_people


def cells_of(table: pa.Table, bins: dict[str, Any], groups: str | None = None) -> list[int]:
    log = read_people(table, user="id")
    coded = EncodedLog(log, Reading(Grid.from_mapping(bins), "none", groups))
    return [cell for batch in coded.batches() for cell in batch.cells.tolist()]


def test_numbers_are_cut_to_the_range_and_fall_into_half_open_bins() -> None:
    ages = [-5.0, 0.0, 17.9, 18.0, 64.0, 65.0, 1e9, None, float("nan"), float("inf")]
    table = pa.table({"id": range(len(ages)), "age": ages})
    assert cells_of(table, {"age": {"edges": [0, 18, 65]}}) == [0, 0, 0, 1, 1, 1, 1, -1, -1, -1]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_values_are_listed_and_others_have_a_bin_or_none(kind: pa.DataType) -> None:
    table = pa.table({"id": range(4), "job": pa.array(["cook", "clerk", "pilot", None]).cast(kind)})
    listed = {"values": ["clerk", "cook"]}
    assert cells_of(table, {"job": listed}) == [1, 0, -1, -1]
    assert cells_of(table, {"job": {**listed, "other": True}}) == [1, 0, 2, 2]


def test_integers_are_counted_as_numbers_and_as_text() -> None:
    bins = {"flag": {"values": [1, 0]}}
    for kind in (pa.int8(), pa.string()):
        table = pa.table({"id": range(3), "flag": pa.array([0, 1, 7]).cast(kind)})
        assert cells_of(table, bins) == [1, 0, -1]


def test_the_last_column_runs_quickest() -> None:
    table = pa.table({"id": range(2), "a": [1, 0], "b": [2, 1]})
    bins = {"a": {"from": 0, "to": 2, "bins": 2}, "b": {"from": 0, "to": 3, "bins": 3}}
    assert cells_of(table, bins) == [5, 1]
    assert Grid.from_mapping(bins).shape == (2, 3)


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=8, unique=True).map(sorted), st.booleans())
def test_a_bound_is_answered_exactly_or_refused(edges: list[int], inclusive: bool) -> None:
    bins = NumberBins("x", tuple(edges))
    values = np.arange(edges[0], edges[-1])  # all there are, after cutting to the range
    place = np.searchsorted(edges[1:-1], values, side="right")
    for bound in range(edges[0] - 2, edges[-1] + 3):
        below = values <= bound if inclusive else values < bound
        shares = [below[place == at].mean() for at in range(bins.size)]
        if all(share in (0, 1) for share in shares):
            assert bins.below(bound, inclusive=inclusive) == sum(shares)
        else:
            with pytest.raises(UsageError, match="cuts the bin"):
                bins.below(bound, inclusive=inclusive)


def test_bounds_of_broken_numbers_are_strict() -> None:
    bins = NumberBins("x", (0.0, 1.5, 3.0))
    assert bins.below(1.5, inclusive=False) == 1
    assert (bins.below(-1, inclusive=True), bins.below(9, inclusive=True)) == (0, 2)
    for bound in (0.0, 1.5, 3.0):
        with pytest.raises(UsageError, match="write < or >="):
            bins.below(bound, inclusive=True)


@pytest.mark.parametrize(
    ("bins", "complaint"),
    [
        ({}, "no bins are given"),
        ({"a": 3}, "must be a table"),
        ({"a": {"edges": [1]}}, "rising numbers"),
        ({"a": {"edges": [1, 1]}}, "rising numbers"),
        ({"a": {"edges": [1, float("nan")]}}, "rising numbers"),
        ({"a": {"edges": [False, True]}}, "rising numbers"),
        ({"a": {"edges": "12"}}, "rising numbers"),
        ({"a": {"from": 2, "to": 1, "bins": 3}}, "up to a larger one"),
        ({"a": {"from": 0, "to": 1, "bins": 0}}, "up to a larger one"),
        ({"a": {"values": []}}, "different texts"),
        ({"a": {"values": ["x", 1]}}, "different texts"),
        ({"a": {"values": ["x", "x"]}}, "different texts"),
        ({"a": {"edges": [1, 2], "other": True}}, "must have edges"),
        ({f"c{n}": {"from": 0, "to": 20, "bins": 20} for n in range(15)}, "more than 4,611,686,018,427,387,904"),
        ({f"c{n}": {"edges": [0, 1]} for n in range(61)}, "bins of 61 columns"),
    ],
)
def test_bins_that_make_no_grid_are_refused(bins: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        Grid.from_mapping(bins)


def test_a_wide_grid_is_refused_where_all_cells_are_counted() -> None:
    narrow, wide = (
        Grid.from_mapping({f"c{n}": {"from": 0, "to": 20, "bins": 20} for n in range(columns)})
        for columns in (5, 6)
    )
    narrow.check_narrow()
    with pytest.raises(UsageError, match=r"64,000,000 cells, more than 10,000,000; use --method pairs"):
        wide.check_narrow()


def test_bins_come_from_a_file_and_go_back_to_plain_data(tmp_path: Path) -> None:
    path = tmp_path / "bins.toml"
    path.write_text(
        '[age]\nedges = [0, 18, 65]\n[pay]\nfrom = 0.5\nto = 2\nbins = 3\n[job]\nvalues = ["a"]\n', "utf-8"
    )
    grid = read_bins(path)
    assert grid.shape == (2, 3, 1)
    assert grid.bins[0].names == ("0..17", "18..64")
    assert grid.bins[1].names == ("0.5 to 1", "1 to 1.5", "1.5 to 2")
    assert Grid.from_mapping(grid.to_json()) == grid
    path.write_text("[age", "utf-8")
    with pytest.raises(DataError, match="not a TOML file"):
        read_bins(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_bins(tmp_path / "none.toml")


def test_columns_must_be_there_and_of_the_right_kind() -> None:
    table = pa.table({"id": [1], "age": [3], "when": pa.array([0], pa.timestamp("s"))})
    log = read_people(table, user="id")
    with pytest.raises(UnknownNameError, match="did you mean 'age'"):
        check_table(log, Grid.from_mapping({"agee": {"edges": [0, 1]}}), None)
    with pytest.raises(UnknownNameError, match="household"):
        check_table(log, Grid.from_mapping({"age": {"edges": [0, 1]}}), "household")
    with pytest.raises(DataError, match="name the group"):
        check_table(log, Grid.from_mapping({"age": {"edges": [0, 1]}}), "when")
    with pytest.raises(UsageError, match="bins list texts"):
        check_table(log, Grid.from_mapping({"age": {"values": ["x"]}}), None)
