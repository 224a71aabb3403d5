"""The charts: order, names, what they say, and how much they carry."""

from __future__ import annotations

import json
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa
import pytest
import vl_convert

from headcount.reports.charts import release_charts
from headcount.reports.charts.styles import THEMES


def counts(values: list[float], reach: float = 10.5, **columns: Any) -> pa.Table:
    low, high = [value - reach for value in values], [value + reach for value in values]
    return pa.table({**columns, "count": values, "low": low, "high": high})


def data(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of the largest data set of a chart."""
    datasets = [*spec.get("datasets", {}).values(), spec.get("data", {}).get("values", [])]
    datasets += [layer.get("data", {}).get("values", []) for layer in spec["layer"]]
    return max(datasets, key=len)


def test_ranking_keeps_the_order_and_numbers_the_names() -> None:
    table = counts([30.0, 20.0, 10.0], name=["tea", "rye", "tea"])
    rows = data(release_charts.spec_of(release_charts.ranking(table, title="t", counted="c")))
    assert [row["name"] for row in rows] == ["1. tea", "2. rye", "3. tea"]


def test_intervals_are_rounded_outward() -> None:
    row = data(
        release_charts.spec_of(release_charts.ranking(counts([30.2], name=["tea"]), title="t", counted="c"))
    )[0]
    assert (row["low"], row["high"]) == (19, 41)


def test_the_unknown_context_is_last_and_never_mistaken() -> None:
    table = counts([3.0, 2.0, 1.0], name=["tea"] * 3, context=[None, "unknown", "Monday"])
    spec = release_charts.spec_of(
        release_charts.heat_map(table, title="t", counted="c", contexts=["unknown", "Monday"])
    )
    assert spec["layer"][0]["encoding"]["x"]["sort"] == ["unknown", "Monday", "(unknown)"]
    assert {row["context"] for row in data(spec)} == {"unknown", "Monday", "(unknown)"}


def test_numbers_leave_a_heat_map_that_has_no_room_for_them() -> None:
    for columns, layers in ((release_charts.MOST_NUMBERED, 3), (release_charts.MOST_NUMBERED + 1, 1)):
        names = [str(n) for n in range(columns)]
        table = counts([1.0] * columns, name=["tea"] * columns, context=names)
        spec = release_charts.spec_of(release_charts.heat_map(table, title="t", counted="c", contexts=names))
        assert len(spec["layer"]) == layers


def test_a_long_curve_keeps_few_points_and_both_ends() -> None:
    values = np.random.default_rng(1).permutation(20_000).astype(float)
    spec = release_charts.spec_of(
        release_charts.rank_size(counts(list(values)), title="t", counted="c", level=0.95)
    )
    rows = data(spec)
    assert len(rows) <= release_charts.CURVE_POINTS
    assert (rows[0]["rank"], rows[0]["count"]) == (1, 19_999)
    assert (rows[-1]["rank"], rows[-1]["count"]) == (20_000, 0)


def test_the_noise_level_is_marked() -> None:
    table = counts([500.0, 20.0, -3.0], reach=60.0)
    spec = release_charts.spec_of(release_charts.rank_size(table, title="t", counted="c", level=0.95))
    texts = [layer["mark"].get("text", "") for layer in spec["layer"]]
    assert "95 % of pure noise falls into this band (±60)" in texts
    assert "1 lie" in spec["description"]


def bins(users: list[float], reach: float = 10.5) -> pa.Table:
    ends = [*(1 << n for n in range(len(users) - 1)), None]
    starts = [1, *(end + 1 for end in ends if end is not None)]
    low, high = [count - reach for count in users], [count + reach for count in users]
    return pa.table({"from": starts, "to": pa.array(ends, pa.int64()), "users": users, "low": low, "high": high})


def test_a_histogram_shows_every_bin_it_is_given_in_order() -> None:
    spec = release_charts.spec_of(
        release_charts.histogram(bins([90.0, 40.5, 8.0, -12.0]), title="t", counted="People", unit="records")
    )
    rows = data(spec)
    assert [row["name"] for row in rows] == ["1", "2", "3–4", "over 4"]
    assert [(row["count"], row["low"], row["high"]) for row in rows[1:]] == [
        (40.5, 30, 51),
        (8, -3, 19),
        (-12, -23, -1),
    ]
    assert spec["layer"][0]["encoding"]["x"]["sort"] is None
    assert spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == [-23, 101]
    assert "4 bins. Largest: 1 with 90 (79 to 101)" in spec["description"]


@pytest.mark.parametrize("users", [[5.0], [-7.0, -90.0], [0.0] * 22, [3e9, 1.0]])
def test_every_histogram_compiles(users: list[float]) -> None:
    chart = release_charts.histogram(bins(users), title="t", counted="People", unit="records")
    assert vl_convert.vegalite_to_svg({**release_charts.spec_of(chart), "width": 400}).startswith("<svg")


def test_intervals_that_dwarf_the_counts_are_cut_and_marked() -> None:
    table = pa.table({"name": ["a", "b"], "count": [100.0, 40.0], "low": [80.0, 20.0], "high": [9000.0, 60.0]})
    spec = release_charts.spec_of(release_charts.ranking(table, title="t", counted="c"))
    rows = data(spec)
    assert [row["end"] for row in rows] == [250, 60]
    assert [row["high"] for row in rows] == [9000, 60]  # tooltips tell the truth
    arrows = [layer for layer in spec["layer"] if layer["mark"].get("shape") == "triangle-right"]
    assert [layer["transform"] for layer in arrows] == [[{"filter": "datum.high > datum.end"}]]
    assert vl_convert.vegalite_to_svg({**spec, "width": 400}).startswith("<svg")


def test_intervals_as_wide_as_the_noise_are_never_cut() -> None:
    table = counts([3.0, 1.0], reach=500.0, name=["a", "b"])
    spec = release_charts.spec_of(release_charts.ranking(table, title="t", counted="c"))
    assert [row["end"] for row in data(spec)] == [503, 501]
    assert len(spec["layer"]) == 5


def test_a_curve_of_estimates_has_the_interval_of_every_rank_and_no_noise_band() -> None:
    table = pa.table({"count": [5.5, 500.0, 20.0], "low": [0.0, 300.5, 2.0], "high": [60.5, 4000.0, 90.0]})
    chart = release_charts.rank_size(table, title="t", counted="c", level=0.95, noise_alone=False)
    spec = release_charts.spec_of(chart)
    assert [(row["low"], row["high"]) for row in data(spec)] == [(300, 4000), (2, 90), (0, 61)]
    assert "noise" not in json.dumps({**spec, "config": {}})
    assert vl_convert.vegalite_to_svg({**spec, "width": 400}).startswith("<svg")


@pytest.mark.parametrize("values", [[5.0], [-7.0, -9.0], [0.0, 0.0], [3e9, 1.0]])
def test_every_chart_compiles(values: list[float]) -> None:
    names = [f"n{n}" for n in range(len(values))]
    table = counts(values, name=names, context=["Monday"] * len(values))
    charts = [
        release_charts.ranking(table, title="t", counted="c"),
        release_charts.heat_map(table, title="t", counted="c", contexts=["Monday"]),
        release_charts.rank_size(table, title="t", counted="c", level=0.95),
    ]
    for chart in charts:
        spec = {**release_charts.spec_of(chart), "width": 400}
        assert vl_convert.vegalite_to_svg(spec).startswith("<svg")


def test_plots_write_per_cent_as_pages_do() -> None:
    """Drawn, for it is the locale of a theme that says so."""
    axis = alt.Axis(format=".0%")
    chart = alt.Chart(alt.InlineData(values=[{"share": 0.5}])).mark_point().encode(x=alt.X("share:Q", axis=axis))
    for theme in THEMES.values():
        drawn = vl_convert.vegalite_to_svg(chart.configure(**theme).to_dict())
        assert ">50 %<" in drawn
        assert "50%" not in drawn
