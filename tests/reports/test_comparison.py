"""The report of a comparison: what it says, and that a real browser draws every plot of it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import Browser, sync_playwright
from scipy import stats

from headcount.counts import FAMILY
from headcount.guarantee import Standing
from headcount.reports import tidy
from headcount.reports.comparison import Facts, comparison_figures, comparison_page, summary, write_comparison_page
from headcount.reports.curves import curves
from headcount.reports.palette import encodings, in_order, looks
from headcount.reports.tidy import Mean, at_one_limit, best_limits, means, places, refusals, student

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


def made_up(tables: tuple[str, ...] = ("items", "edges")) -> pa.Table:
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
    return made_up()


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
    better = made_up(("items",))
    fixed = [
        {**row, "value": row["value"] / 1000}
        if METHODS[row["label"]].standing is Standing.CLAIMED and row["value"]
        else row
        for row in better.to_pylist()
    ]
    (said,) = summary(means(pa.Table.from_pylist(fixed, schema=SCHEMA)))
    assert "published" not in said


def test_means_and_intervals_are_students() -> None:
    values = [3.0, 5.0, 4.0, 8.0]
    common = {"dataset": "a", "label": "m", "method": "m", "epsilon": 1.0, "table": "items", "metric": "MAE"}
    (found,) = means(pa.Table.from_pylist([{**common, "value": each} for each in values], schema=SCHEMA))
    low, high = stats.t.interval(0.95, 3, loc=5.0, scale=stats.sem(values))
    assert found.mean == 5.0
    assert found.low == pytest.approx(low, rel=0.004)
    assert found.high == pytest.approx(high, rel=0.004)
    (alone,) = means(pa.Table.from_pylist([{**common, "value": 3.0}], schema=SCHEMA))
    assert alone.low is None


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 9, 19, 199])
def test_students_quantiles(degrees: int) -> None:
    assert student(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=0.005)


def of(label: str, limit: int | None, metric: str, mean: float) -> Mean:
    k = 10 if metric == "precision" else None
    return Mean("a", label, label, limit, 1.0, None, "items", metric, k, None, mean, None, None, 3)


def test_the_best_limit_is_the_largest_precision_and_the_smallest_error() -> None:
    found = [of("sra", limit, "precision", value) for limit, value in ((1, 0.2), (3, 0.9), (10, 0.4))]
    found += [of("sra", limit, "MAE", value) for limit, value in ((1, 2.0), (3, 1.5), (10, 1.0))]
    assert {each.metric: each.limit for each in best_limits(found)} == {"precision": 3, "MAE": 10}
    assert {each.limit for each in at_one_limit(found)} == {10}


def test_equal_methods_share_their_places() -> None:
    found = [of("sra", 1, "MAE", 2.0), of("hpa", 1, "MAE", 2.0), of("lpa", 1, "MAE", 1.0)]
    assert places(found) == {"sra": 2.5, "hpa": 2.5, "lpa": 1.0}


def test_refusals_are_gathered() -> None:
    (each,) = refusals(made_up())
    assert (each["method"], each["limits"], each["epsilons"]) == ("gs", [99], [1.0])


def test_every_method_has_looks_of_its_own() -> None:
    drawn = [(each["colour"], each["shape"], each["hollow"]) for each in looks(list(METHODS))]
    assert len(set(drawn)) == len(METHODS)
    others = [(each["colour"], each["shape"]) for each in looks([f"gs ({n})" for n in range(5)])]
    assert len({colour for colour, _ in others}) == len({shape for _, shape in others}) == 5
    many = [(each["colour"], each["shape"]) for each in looks([f"{n} of ε" for n in range(25)])]
    assert len(set(many)) == 25
    assert not {shape for _, shape in others} & {shape for _, shape, _ in drawn}
    assert looks(["gs-published (row)"])[0]["hollow"]
    names = ("gs-s-published", "gs-s-published (column)")
    columns = [encodings([name])["color"].to_dict()["legend"]["columns"] for name in names]
    assert columns == [3, 2], "long names fit a phone"


def test_no_curve_needs_a_positive_number() -> None:
    rows = [{"epsilon": 1.0, "method": "sra", "mean": mean, "low": None, "high": None} for mean in (0.0, 0.0)]
    assert curves(rows, title="t", x="epsilon", x_title="ε", y_title="error").to_dict()
    rows[0]["mean"] = 5.0
    assert curves(rows, title="t", x="epsilon", x_title="ε", y_title="error").to_dict()


def test_figures_say_their_axes_and_units(table: pa.Table) -> None:
    figures = {each.name: each for each in comparison_figures(tidy.means(table))}
    assert len(figures) == 20
    assert "mean squared error, counts²" in figures["items-mse-by-epsilon"].words
    assert "limit: the most that one person may add" in figures["edges-kl-by-limit"].words
    assert all("data" in figure.spec for figure in figures.values())


@pytest.fixture(scope="module")
def browser(chromium: Path, browser_tool: dict[str, Any]) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=browser_tool["flags"]())
        yield opened
        opened.close()


@pytest.mark.parametrize(("width", "scheme"), [(1100, "light"), (390, "dark")])
def test_every_plot_is_drawn_and_its_numbers_can_be_downloaded(
    browser: Browser, table: pa.Table, tmp_path: Path, width: int, scheme: Any
) -> None:
    path = write_comparison_page(table, FACTS, tmp_path / "c.html")
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-charts=drawn]", state="attached")
    drawn = page.locator("[data-chart] svg")
    assert drawn.count() == 20
    for chart in drawn.all():
        box = chart.bounding_box()
        assert box is not None
        assert box["width"] > 250
        assert box["height"] > 250
        assert chart.locator("path[aria-label]").count() > 20, "points are there"
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0, "the page itself never scrolls sideways"
    with page.expect_download() as waiting:
        page.locator("[data-download]").first.click()
    content = Path(waiting.value.path()).read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(content)))
    assert len(rows) == 2 * len(METHODS)
    assert set(rows[0]) == {"epsilon", "method", "limit", "mean", "low", "high", "runs"}
    assert waiting.value.suggested_filename == "items-mse-by-epsilon.csv"
    assert complaints == []
    assert [url for url in asked if not url.startswith(("file:", "blob:"))] == []
    page.close()
