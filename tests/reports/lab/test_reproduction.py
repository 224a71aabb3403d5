"""The page of a reproduction: all claims with their verdicts, every plot drawn by a real browser."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from headcount.lab.replicate.all_papers import PAPERS, reproduce_all
from headcount.lab.replicate.fan_jin import FAN_JIN, TOPS
from headcount.lab.replicate.pages.chart_declarations import Picture
from headcount.lab.replicate.pages.page import chart_rows, content, plots_of, write_all_pages, write_page
from headcount.lab.replicate.paper import Reproduction, reproduce
from headcount.reports.charts.interval_plots import dots
from tests.lab.replicate import papers

PLOTS = 21


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    folder = papers.shared(tmp_path_factory.mktemp("shared"))
    return reproduce(FAN_JIN, folder, folder / "parts", quick=True, runs=2, processes=1)


@pytest.fixture(scope="module")
def written(done: Reproduction, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(done, tmp_path_factory.mktemp("page") / "fan-jin.html")


@pytest.fixture(scope="module")
def page_values(done: Reproduction) -> dict[str, Any]:
    return content(done, {})


def pictures(done: Reproduction, name: str) -> list[Picture]:
    [section] = [section for section in FAN_JIN.claims.section if section.name == name]
    return section.drawn(done.datasets)


def test_every_claim_stands_there_once_with_its_verdict(page_values: dict[str, Any]) -> None:
    shown = [verdict["id"] for section in page_values["it"]["sections"] for verdict in section["verdicts"]]
    assert sorted(shown) == sorted(claim.id for claim in FAN_JIN.claims.claim)
    assert (
        sum(count["number"] for count in page_values["it"]["counts"]) == page_values["it"]["total"] == len(shown)
    )
    for section in page_values["it"]["sections"]:
        for verdict in section["verdicts"]:
            assert verdict["rule"]
            assert all(case["measured"] for case in verdict["cases"])


def test_the_page_says_what_it_is_and_which_data_were_used(written: Path) -> None:
    text = written.read_text(encoding="utf-8")
    assert '<meta name="headcount-private" content="no' in text
    assert "<h2>Not private</h2>" in text
    assert "from released numbers alone" not in text
    assert "was written down before it was run" in text
    for text_part in ("<b>shared</b>: movielens-1m.parquet", "<b>stand-in</b>: a stand-in with 1 %", "quick run"):
        assert text_part in text, text_part
    assert text.count('class="claim"') == len(FAN_JIN.claims.claim)
    assert text.count("data-download=") == PLOTS
    assert text.count("The paper reports:") == 10


def test_a_claim_that_fails_is_shown_as_failed(done: Reproduction, page_values: dict[str, Any]) -> None:
    [films] = [verdict for verdict in done.verdicts if verdict.claim.id == "t5-original"]
    assert films.verdict == "not reproduced"  # made-up films are not those of the paper
    numbers = {count["verdict"]: count["number"] for count in page_values["it"]["counts"]}
    assert numbers["not reproduced"] > 0


def test_charts_are_drawn_from_the_tidy_table_alone(done: Reproduction) -> None:
    [picture] = [chart for chart in pictures(done, "mse") if chart.table == "edges"]
    rows = chart_rows(done, picture)
    assert {row["group"] for row in rows} == {"Foursquare", "MovieLens"}
    assert len(rows) == 2 * 7
    assert all(row["low"] <= row["mean"] <= row["high"] and row["runs"] == 2 for row in rows)
    assert chart_rows(replace(done, table=done.table.slice(0, 0)), picture) == []


def test_a_chart_of_one_data_set_shows_no_other(done: Reproduction) -> None:
    picture = pictures(done, "top-k")[1]
    assert picture.datasets == ("Gowalla",)
    rows = chart_rows(done, picture)
    assert {row["runs"] for row in rows} == {2}
    assert len(rows) == 7 * len(TOPS)
    values = [
        row["value"]
        for row in done.table.to_pylist()
        if (row["dataset"], row["method"], row["metric"], row["x"], row["experiment"])
        == ("Gowalla", "sra", "precision", 5, "comparison")
    ]
    [mean] = [row["mean"] for row in rows if (row["method"], row["x"]) == ("sra", 5)]
    assert mean == pytest.approx(sum(values) / 2)


def test_a_chart_may_go_along_epsilon(done: Reproduction) -> None:
    [picture] = [chart for chart in pictures(done, "limits") if chart.name == "limits-epsilon-0"]
    rows = chart_rows(done, picture.model_copy(update={"epsilon": None, "x": (10.0,), "along": "epsilon"}))
    assert [(row["x"], row["runs"]) for row in rows] == [(0.2, 2), (1.0, 2), (5.0, 2)]


def test_a_log_has_no_bars(done: Reproduction) -> None:
    [picture] = pictures(done, "week")
    log = [row for row in chart_rows(done, picture) if row["method"] == "log"]
    assert len(log) == 7
    assert {row["low"] for row in log} == {None}


def test_dots_keep_the_order_of_groups_and_everything_in_view() -> None:
    rows = [
        {"group": group, "method": method, "mean": mean, "low": mean / 2, "high": 2 * mean}
        for group in ("films", "places")
        for method, mean in (("sra", 10.0), ("lpa-published", 1e7))
    ]
    spec = dots(rows, title="t", value="MSE", logarithmic=True).to_dict()
    points = spec["layer"][1]["encoding"]
    assert points["y"]["sort"] == ["films", "places"]
    low, high = points["x"]["scale"]["domain"]
    assert low < 10
    assert high > 1e7


@pytest.mark.parametrize(("width", "scheme"), [(1100, "light"), (390, "dark")])
def test_every_plot_is_drawn_in_a_browser(opened: Any, written: Path, width: int, scheme: Any) -> None:
    visit = opened(written, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = visit.page
    drawn = page.locator("[data-chart] svg")
    assert drawn.count() == PLOTS
    for chart in drawn.all():
        box = chart.bounding_box()
        assert box is not None
        assert box["width"] > 250
        assert box["height"] > 60
        assert chart.locator("path[aria-label]").count() > 2, "marks are there"
    week = page.locator("[data-chart=chart-week] svg").text_content() or ""
    assert all(day in week for day in ("Mon", "Thu", "Sun"))
    mse = page.locator("[data-chart=chart-mse-items] svg").text_content() or ""
    assert all(name in mse for name in ("adaptive", "lpa-published", "gs-published", "Foursquare", "records²"))
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0, "the page itself never scrolls sideways"
    with page.expect_download() as waiting:
        page.locator("[data-download=chart-mse-items]").click()
    rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text(encoding="utf-8"))))
    assert len(rows) == 3 * 7
    assert set(rows[0]) == {"group", "method", "mean", "low", "high", "runs"}
    assert (visit.complaints, visit.requests) == ([], [])


def test_links_to_claims_lead_somewhere(written: Path) -> None:
    text = written.read_text(encoding="utf-8")
    ids = set(re.findall(r'id="([^"]+)"', text))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= ids


def test_a_claim_leads_to_the_plots_that_it_is_judged_by(done: Reproduction) -> None:
    def led(name: str) -> list[str]:
        [claim] = [claim_row for claim_row in FAN_JIN.claims.claim if claim_row.id == name]
        return [claim_row.name for claim_row in plots_of(done, claim)]

    assert led("6a-lowest") == ["limits-items"]
    assert led("6b-lowest") == ["limits-edges"]
    assert led("8c-lower-than-items") == ["top-edges"]
    assert led("9-sra-falls") == ["top-items", "tops-foursquare", "tops-gowalla", "tops-movielens"]
    assert led("t4-movielens") == []


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two papers, and of one without data."""
    folder = tmp_path_factory.mktemp("all")
    papers.shared(folder)
    (folder / "dpbench-1d.parquet").unlink()
    some = {name: PAPERS[name] for name in ("kellaris", "dpsense", "cim")}
    everything = reproduce_all(folder, folder / "parts", papers=some, quick=True, runs=2, processes=1)
    return write_all_pages(everything, folder / "all.html")


def test_names_on_the_page_of_all_papers_are_their_own(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)
    assert "Not run: none of the data of cim is at hand" in text
    kellaris = text.partition('id="paper-kellaris"')[2].partition('id="section-')[0]
    assert len(re.findall("too large to be kept here", kellaris, re.IGNORECASE)) == 1
    assert '<meta name="headcount-private" content="no' in text


SHOWN = {
    "kellaris": (3 + 3 + 6, "mae-1", ("lpa-published", "gs-published", "adaptive", "Trajectory", "MAE (people)")),
    "dpsense": (6 + 5 + 4 + 6 + 6, "errors-kosarak", ("quality, ε = ln 3", "MAE, ε = ln 1.5", "limit θ")),
}


@pytest.mark.parametrize(("width", "scheme"), [(1100, "light"), (390, "dark")])
def test_every_claim_is_one_click_from_the_whole_picture(
    opened: Any, picture: Path, width: int, scheme: Any
) -> None:
    visit = opened(picture, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = visit.page
    assert page.locator(".picture .tiles a").count() == sum(len(PAPERS[name].claims.claim) for name in SHOWN)
    assert page.locator("[data-chart] svg").count() == 0, "nothing is drawn that is folded away"
    for name, (plots, chart, words) in SHOWN.items():
        link = page.locator(f'.picture .tiles a[href^="#{name}."]').last
        claim = page.locator(f'[id="{(link.get_attribute("href") or "")[1:]}"]')
        assert not claim.is_visible()
        link.click()
        page.wait_for_function(
            "([name, many]) => document.querySelectorAll(`#paper-${name} [data-chart] svg`).length === many",
            arg=[name, plots],
        )
        expect(claim).to_be_in_viewport()
        assert claim.locator("text=Rule:").count() == 1
        assert claim.locator(".verdict").count() >= 1
        for drawn in page.locator(f"#paper-{name} [data-chart] svg").all():
            box = drawn.bounding_box()
            assert box is not None
            assert box["width"] > 250
            assert drawn.locator("path[aria-label]").count() > 2, "marks are there"
        shown = page.locator(f'[data-chart="chart-{name}.{chart}"] svg').text_content() or ""
        assert [word for word in words if word not in shown] == []
        assert page.locator(f"#paper-{name} .claim").count() == len(PAPERS[name].claims.claim)
        assert page.locator(f"#paper-{name} >> text=The paper reports:").count() == len(
            PAPERS[name].claims.section
        )
    page.locator('[id="kellaris.9-gs-best"] a').first.click()
    expect(page.locator('[id="plot-kellaris.mae-0"] svg').first).to_be_in_viewport()
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0, "the page itself never scrolls sideways"
    assert visit.complaints == []
