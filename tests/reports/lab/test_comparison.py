"""The report of a comparison: what it says, and that a real browser draws every plot of it."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import vl_convert
from scipy import stats

from headcount.accounting.guarantee import Standing
from headcount.methods.counts import FAMILY
from headcount.reports.charts import trial_means
from headcount.reports.charts.interval_plots import MOST_LINES, curves, in_turns
from headcount.reports.charts.styles import encodings, in_order, is_claimed, method_styles
from headcount.reports.charts.trial_means import Mean, at_one_limit, best_limits, means, places, refusals, student
from headcount.reports.lab.comparison import (
    Facts,
    comparison_figures,
    comparison_page,
    summary,
    write_comparison_page,
)

METHODS = FAMILY.kinds()

FACTS = Facts(
    name="<b>visits</b>.csv", people=900, records=5000, counted="records, of everything each person did",
    items=40, contexts=7, runs=5, seed=2015, bound=1.0,
)  # fmt: skip
METRICS = ("MSE", "MAE", "MRE", "KL", "precision")
SCHEMA = pa.schema(
    [("dataset", pa.string()), ("label", pa.string()), ("method", pa.string()), ("limit", pa.int64()),
     ("epsilon", pa.float64()), ("delta", pa.float64()), ("run", pa.int64()), ("table", pa.string()),
     ("metric", pa.string()), ("k", pa.int64()), ("key", pa.string()), ("value", pa.float64()),
     ("refused", pa.string())]
)  # fmt: skip


def synthetic_results(tables: tuple[str, ...] = ("items", "edges")) -> pa.Table:
    """A tidy table of all methods: the later one is registered, the larger its errors are."""
    generator = np.random.default_rng(1)
    rows: list[dict[str, Any]] = []
    for place, name in enumerate(in_order(METHODS)):
        for limit in (None,) if name in ("adaptive", "dpsense") else (1, 10):
            for epsilon in (0.5, 1.0):
                for table in tables:
                    for metric in METRICS:
                        for run in range(5):
                            error = (1 + place + (limit or 0) / 20) / epsilon * (1 + 0.02 * generator.random())
                            value = 1 / (1 + error) if metric == "precision" else 50 * error
                            rows.append({"dataset": "log", "label": name, "method": name, "limit": limit,
                                         "epsilon": epsilon, "run": run, "table": table, "metric": metric,
                                         "k": 10 if metric == "precision" else None, "value": value})  # fmt: skip
    rows.append({"dataset": "log", "label": "gs", "method": "gs", "limit": 99, "epsilon": 1.0, "run": 0,
                 "refused": "limit must be smaller; try <i>--limit 10</i>"})  # fmt: skip
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return synthetic_results()


def test_the_page_warns_summarises_and_ranks(table: pa.Table) -> None:
    page = comparison_page(table, FACTS)
    assert page.count('class="banner"') == 1
    assert "must not be published or become part of a release" in page
    assert '<meta name="headcount-private" content="no' in page
    assert "adaptive came out best of 12 private methods (average place 1.0)" in page
    assert "&lt;b&gt;visits&lt;/b&gt;.csv" in page
    assert "<b>visits</b>" not in page
    assert "try &lt;i&gt;" in page
    assert page.count("data-download=") == 20
    names = re.findall(r'<th scope="row" class="text">([a-z-]+)', page)
    assert names[:2] == ["adaptive", "lpa"]
    assert len(names) == 2 * len(METHODS)
    assert page.count('<span class="tag">not private</span>') == 2 * 6


def test_what_is_only_claimed_never_wins_the_summary() -> None:
    better = synthetic_results(("items",))
    fixed = [
        {**row, "value": row["value"] / 1000}
        if METHODS[row["label"]].standing is Standing.CLAIMED and row["value"]
        else row
        for row in better.to_pylist()
    ]
    (sentence,) = summary(means(pa.Table.from_pylist(fixed, schema=SCHEMA)))
    assert "published" not in sentence


def test_means_and_intervals_are_students() -> None:
    values = [3.0, 5.0, 4.0, 8.0]
    common = {"dataset": "a", "label": "m", "method": "m", "epsilon": 1.0, "table": "items", "metric": "MAE"}
    (mean_row,) = means(pa.Table.from_pylist([{**common, "value": value} for value in values], schema=SCHEMA))
    low, high = stats.t.interval(0.95, 3, loc=5.0, scale=stats.sem(values))
    assert mean_row.mean == 5.0
    assert mean_row.low == pytest.approx(low, rel=0.004)
    assert mean_row.high == pytest.approx(high, rel=0.004)
    (alone,) = means(pa.Table.from_pylist([{**common, "value": 3.0}], schema=SCHEMA))
    assert alone.low is None


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 9, 19, 199])
def test_students_quantiles(degrees: int) -> None:
    assert student(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=0.005)


def mean_of(label: str, limit: int | None, metric: str, mean: float) -> Mean:
    k = 10 if metric == "precision" else None
    return Mean("a", label, label, limit, 1.0, None, "items", metric, k, None, mean, None, None, 3)


def test_the_best_limit_is_the_largest_precision_and_the_smallest_error() -> None:
    means_by_limit = [
        mean_of("sra", limit, "precision", value) for limit, value in ((1, 0.2), (3, 0.9), (10, 0.4))
    ]
    means_by_limit += [mean_of("sra", limit, "MAE", value) for limit, value in ((1, 2.0), (3, 1.5), (10, 1.0))]
    assert {mean_row.metric: mean_row.limit for mean_row in best_limits(means_by_limit)} == {
        "precision": 3,
        "MAE": 10,
    }
    assert {mean_row.limit for mean_row in at_one_limit(means_by_limit)} == {10}


def test_equal_methods_share_their_places() -> None:
    equal_means = [mean_of("sra", 1, "MAE", 2.0), mean_of("hpa", 1, "MAE", 2.0), mean_of("lpa", 1, "MAE", 1.0)]
    assert places(equal_means) == {"sra": 2.5, "hpa": 2.5, "lpa": 1.0}


def test_refusals_are_gathered() -> None:
    (refusal,) = refusals(synthetic_results())
    assert (refusal["method"], refusal["limits"], refusal["epsilons"]) == ("gs", [99], [1.0])


def test_every_method_has_a_mark_of_its_own() -> None:
    drawn = [(look["colour"], look["shape"], look["hollow"]) for look in method_styles(list(METHODS))]
    assert len(set(drawn)) == len(METHODS)
    others = [(look["colour"], look["shape"]) for look in method_styles([f"gs ({n})" for n in range(5)])]
    assert len({colour for colour, _ in others}) == len({shape for _, shape in others}) == 5
    many = [(look["colour"], look["shape"]) for look in method_styles([f"{n} of ε" for n in range(25)])]
    assert len(set(many)) == 25
    assert not {shape for _, shape in others} & {shape for _, shape, _ in drawn}
    assert method_styles(["gs-published (row)"])[0]["hollow"]
    names = ("gs-s-published", "gs-s-published (column)")
    columns = [encodings([name])["color"].to_dict()["legend"]["columns"] for name in names]
    assert columns == [3, 2], "long names fit a phone"


def test_no_curve_needs_a_positive_number() -> None:
    rows = [{"epsilon": 1.0, "method": "sra", "mean": mean, "low": None, "high": None} for mean in (0.0, 0.0)]
    assert curves(rows, title="t", x="epsilon", x_title="ε", y_title="error").to_dict()
    rows[0]["mean"] = 5.0
    assert curves(rows, title="t", x="epsilon", x_title="ε", y_title="error").to_dict()


def test_figures_say_their_axes_and_units(table: pa.Table) -> None:
    figures = {figure.name: figure for figure in comparison_figures(trial_means.means(table))}
    assert len(figures) == 20
    assert "mean squared error, counts²" in figures["items-mse-by-epsilon"].words
    assert "limit: the most that one person may add" in figures["edges-kl-by-limit"].words
    assert all("data" in figure.spec for figure in figures.values())


def cells_of(page: str, section: str) -> dict[str, dict[str, tuple[str, bool]]]:
    """Return what a table of a page says of each method under each heading, and whether it is bold."""
    part = page.partition(f'<h2 id="{section}">')[2].partition("</table>")[0]
    headings = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', part)[1:]
    cell_texts = {}
    for row in re.findall(r"<tr>\s*<th scope=\"row\".*?</tr>", part, re.DOTALL):
        name = re.findall(r'class="text">([^<]+)', row)[0]
        cells = re.findall(r"<td>(<b>)?([^<]*)", row)
        cell_texts[name] = {head: (text, bool(bold)) for head, (bold, text) in zip(headings, cells, strict=True)}
    return cell_texts


def crossing() -> pa.Table:
    """A tidy table in which the limit of the smallest error is not that which finds most of the top."""
    values = {("sra", 1): (9.0, 0.9), ("sra", 10): (4.0, 0.5), ("lpa", 1): (8.0, 0.7), ("lpa", 10): (6.0, 0.6),
              ("hpa", 1): (7.0, 0.6), ("hpa", 10): (9.5, 0.95)}  # fmt: skip
    common = {"dataset": "log", "epsilon": 1.0, "run": 0, "table": "items"}
    rows = []
    for (name, limit), (error, precision) in values.items():
        mine = {**common, "label": name, "method": name, "limit": limit}
        rows.append({**mine, "metric": "MAE", "value": error})
        rows += [{**mine, "metric": "precision", "k": k, "value": precision - k / 1000} for k in (10, 20)]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def test_in_short_and_the_table_agree_on_counts() -> None:
    ten = crossing().filter(pc.fill_null(pc.not_equal(crossing()["k"], 20), True))
    page = comparison_page(ten, FACTS)
    (sentence,) = summary(means(ten))
    cells = cells_of(page, "items")
    best, place = re.findall(
        r"together, (\S+) came out best of 3 private methods \(average place ([\d.]+)\)", sentence
    )[0]
    assert (best, place) == (next(iter(cells)), cells[best]["Average place"][0])
    method, limit, error = re.findall(
        r"error is that of (\S+) at limit (\d+): its counts are off by (\S+)", sentence
    )[0]
    assert cells[method]["MAE"] == (error, True)
    assert cells[method]["Limit"][0] == limit
    finders, top = re.findall(r"are found by (.*): ([\d.]+) of them", sentence)[0]
    assert finders == "lpa at limit 10 and hpa at limit 1", "what is as good is named as well"
    for method, limit in re.findall(r"(\S+) at limit (\d+)", finders):
        share, bold = cells[method]["Top-10 precision"]
        assert bold
        assert float(top) == pytest.approx(10 * float(share), abs=0.051)
        assert cells[method]["Limit"][0] == limit


def test_in_short_and_the_table_agree_on_rankings() -> None:
    table = crossing()
    tops = table.filter(pc.equal(table["metric"], "precision"))
    facts = replace(FACTS, what="rankings")
    cells = cells_of(comparison_page(tops, facts), "items")
    for sentence, k in zip(summary(means(tops), "rankings"), (10, 20), strict=True):
        for method, limit, shown in re.findall(r"(\w+) at limit (\d+) ([\d.]+\d)", sentence):
            assert cells[method]["Limit"][0] == limit
            assert float(shown) == pytest.approx(k * float(cells[method][f"Top-{k} precision"][0]), abs=0.051)


def drawn_as(values: list[dict[str, Any]], **given: Any) -> str:
    """Return the SVG of curves over ε."""
    chart = curves(values, title="t", x="epsilon", x_title="ε", y_title="error", **given)
    spec = {**chart.to_dict(), "width": 500}
    return vl_convert.vegalite_to_svg(spec)


def curve(method: str, mean: float, low: float | None = None, high: float | None = None) -> list[dict[str, Any]]:
    point = {"method": method, "mean": mean, "low": low, "high": high}
    return [{"epsilon": epsilon, **point} for epsilon in (0.5, 1.0)]


def test_at_most_eight_lines_are_visible_and_labelled_at_their_end() -> None:
    values = [row for n, name in enumerate(METHODS) for row in curve(name, 10.0 + n / 1000)]
    svg = drawn_as(values, shown=list(METHODS)[4:7])
    assert {name for name in METHODS if f">{name}<" in svg} == set(list(METHODS)[4:7])
    names = in_order(METHODS)
    svg = drawn_as(values)
    labels = re.findall(r'translate\([\d.]+,([\d.]+)\)"[^>]*>([a-z-]+)<', svg)
    heights = {name: float(height) for height, name in labels if name in names}
    assert set(heights) == set(names[:MOST_LINES])
    ordered = sorted(heights.values())
    assert min(after - before for before, after in pairwise(ordered)) > 13, "no name lies on another"
    assert ordered[-1] <= 301


@pytest.mark.parametrize(
    ("low", "high", "arrows"), [(9.0, 11.0, (0, 0)), (-5.0, 11.0, (0, 1)), (9.0, 1e6, (1, 0)), (0.0, 1e6, (1, 1))]
)
def test_bars_that_are_cut_end_in_an_arrow(low: float, high: float, arrows: tuple[int, int]) -> None:
    svg = drawn_as(curve("sra", 10.0, low, high)[:1] + curve("lpa", 100.0, 99.0, 101.0))
    marks = re.findall(r'aria-roledescription="point" transform="translate\(([-\d.]+),([-\d.]+)\)"', svg)
    edges = [float(y) for _, y in marks if float(y) in (4.0, 296.0)]
    assert (edges.count(4.0), edges.count(296.0)) == arrows


def test_pictures_show_every_line_in_turn(table: pa.Table) -> None:
    figure = comparison_figures(trial_means.means(table))[0]
    turns = in_turns(figure)
    assert [figure.name for figure in turns] == [f"items-mse-by-epsilon{end}" for end in ("", "-2", "-3")]
    shown = [figure.spec["params"][0]["value"] for figure in turns]
    assert {len(names) for names in shown[:2]} == {MOST_LINES}
    assert sorted(name for names in shown for name in names) == sorted(METHODS)
    assert not any(is_claimed(name) for name in shown[0])


@pytest.mark.slow
def test_readers_choose_at_most_eight_lines(opened: Any, table: pa.Table, tmp_path: Path) -> None:
    visit = opened(
        write_comparison_page(table, FACTS, tmp_path / "c.html"), viewport={"width": 1100, "height": 900}
    )
    page = visit.page
    lists = page.locator("[data-lines]").first
    chart = page.locator("[data-choosing]").first.locator("[data-chart] svg").first
    assert lists.locator("input:checked").count() == MOST_LINES
    assert lists.locator("input:not(:checked):not(:disabled)").count() == 0, "a ninth cannot be had"
    assert chart.locator("text", has_text=re.compile("^adaptive$")).count() == 1
    lists.locator("input[value=adaptive]").focus()
    page.keyboard.press("Space")
    lists.locator("input[value=gs-published]").check()
    named = "(name) => [...document.querySelectorAll('[data-chart] svg')[0].querySelectorAll('text')]"
    page.wait_for_function(f"{named}.some((each) => each.textContent === name)", arg="gs-published")
    assert chart.locator("text", has_text=re.compile("^adaptive$")).count() == 0
    other = page.locator("[data-choosing]").nth(1).locator("[data-chart] svg").first
    assert other.locator("text", has_text=re.compile("^adaptive$")).count() == 1, "other tables are left alone"
    page.emulate_media(color_scheme="dark")
    ground = "getComputedStyle(document.querySelector('[data-chart] svg')).backgroundColor"
    page.wait_for_function(f"{ground} === 'rgb(26, 32, 41)'")
    assert chart.locator("text", has_text=re.compile("^gs-published$")).count() == 1, "the choice stays"
    assert visit.complaints == []


@pytest.mark.parametrize(("width", "scheme"), [pytest.param(1100, "light", marks=pytest.mark.slow), (390, "dark")])
def test_every_plot_is_drawn_and_its_numbers_can_be_downloaded(
    opened: Any, table: pa.Table, tmp_path: Path, width: int, scheme: Any
) -> None:
    path = write_comparison_page(table, FACTS, tmp_path / "c.html")
    visit = opened(path, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = visit.page
    drawn = page.locator("[data-chart] svg")
    assert drawn.count() == 20
    for chart in drawn.all():
        box = chart.bounding_box()
        assert box is not None
        assert box["width"] > 250
        assert box["height"] > 250
        assert chart.locator("path[aria-label]").count() > 15, "points are there"
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0, "the page itself never scrolls sideways"
    with page.expect_download() as waiting:
        page.locator("[data-download]").first.click()
    content = Path(waiting.value.path()).read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(content)))
    assert len(rows) == 2 * len(METHODS)
    assert set(rows[0]) == {"epsilon", "method", "limit", "mean", "low", "high", "runs"}
    assert waiting.value.suggested_filename == "items-mse-by-epsilon.csv"
    assert (visit.complaints, visit.requests) == ([], [])
