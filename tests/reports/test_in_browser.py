"""The written page in a real Chromium, from disk and without network."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from playwright.sync_api import Browser

import headcount as hc
from headcount.releases.release import Release
from headcount.reports.release import write_release_page
from tests.reports.conftest import Visit

Make = Callable[..., Release]
DAYS = ["Monday", "Tuesday", "Wednesday"]
EVIL = "<img src='http://example.com/x' onerror='window.broken = 1'></script><script>window.broken = 1</script>"


@pytest.fixture
def visit(opened: Callable[..., Visit], tmp_path: Path) -> Callable[..., Visit]:
    def go(release: Release, **window: Any) -> Visit:
        return opened(write_release_page(release, tmp_path / "report.html"), **window)

    return go


def test_charts_are_drawn_without_network(release: Make, visit: Callable[..., Visit]) -> None:
    opened_page = visit(release(contexts=DAYS))
    assert opened_page.page.locator("[data-chart] svg").count() == 3
    for chart in opened_page.page.locator("[data-chart] svg").all():
        box = chart.bounding_box()
        assert box is not None
        assert box["width"] > 300
        assert box["height"] > 100
    assert opened_page.requests == []
    assert opened_page.complaints == []
    text = opened_page.page.locator("main").inner_text()
    for sentence in (
        "privacy: proven",
        "of at most 10 records per person",
        "Venue v0",
        "5,000",
        "unknown",
        "For the record",
    ):
        assert sentence in text, sentence
    ranking = opened_page.page.locator("[data-chart=chart-ranking] svg").text_content() or ""
    assert ranking.index("1. Venue v0") < ranking.index("2. Venue v1") < ranking.index("20. Venue v19")
    heat = opened_page.page.locator("[data-chart=chart-heat] svg").text_content() or ""
    assert heat.index("Monday") < heat.index("Wednesday") < heat.index("unknown")


def test_names_run_nothing(release: Make, visit: Callable[..., Visit]) -> None:
    names = [f"{n}{EVIL}" for n in range(15)]
    opened_page = visit(release(items=names, labels=names, contexts=[EVIL, "Monday"], context_name="image"))
    bar = opened_page.page.locator("[data-chart=chart-heat] svg .mark-rect path").first
    bar.hover(position={"x": 4, "y": 4})
    opened_page.page.wait_for_selector(".vg-tooltip.visible")
    assert opened_page.page.evaluate("window.broken") is None
    assert opened_page.page.locator("img").count() == 0
    assert opened_page.requests == []
    assert opened_page.complaints == []


def test_the_warning_is_visible_first(release: Make, visit: Callable[..., Visit]) -> None:
    opened_page = visit(release(simulated=True), viewport={"width": 1200, "height": 500})
    banner = opened_page.page.get_by_role("alert")
    box = banner.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 500
    assert "NOT PRIVATE" in banner.inner_text()


def test_dark_screens_and_a_change_of_mind(release: Make, visit: Callable[..., Visit]) -> None:
    opened_page = visit(release(contexts=DAYS), color_scheme="dark")
    ground = "getComputedStyle(document.querySelector('[data-chart] svg')).backgroundColor"
    assert opened_page.page.evaluate(ground) == "rgb(26, 32, 41)"
    opened_page.page.emulate_media(color_scheme="light")
    opened_page.page.wait_for_function(f"{ground} === 'rgb(255, 255, 255)'")
    assert opened_page.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(245, 246, 247)"
    assert opened_page.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_estimates_and_activity_are_drawn(adaptive: Make, visit: Callable[..., Visit], scheme: str) -> None:
    users = [900.0, 700.0, 300.0, 80.0, -40.0, 5.0, 0.0]
    window = {"color_scheme": scheme, "viewport": {"width": 360, "height": 800}}
    opened_page = visit(adaptive(scopes=("items", "pairs"), users=users, contexts=DAYS), **window)
    assert opened_page.page.locator("[data-chart] svg").count() == 5
    for name in ("activity-1", "activity-2"):
        bars = opened_page.page.locator(f"[data-chart=chart-{name}] svg .mark-rect path")
        assert bars.count() == 5 + 2 * 5  # the bars, and the ends of their lines
        text = opened_page.page.locator(f"[data-chart=chart-{name}] svg").text_content() or ""
        assert text.index("3–4") < text.index("5–8") < text.index("9–16")
    assert opened_page.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert opened_page.complaints == []


@pytest.mark.parametrize("width", [390, 1200])
def test_bars_keep_their_room_and_numbers_stand_beside_them(
    release: Make, visit: Callable[..., Visit], width: int
) -> None:
    names = [f"A ROOM OF ONE'S OWN, VOLUME {n}" for n in range(30)]
    opened_page = visit(
        release(items=names, labels=names, contexts=DAYS), viewport={"width": width, "height": 900}
    )
    chart = opened_page.page.locator("[data-chart=chart-ranking]")
    frame = chart.bounding_box()
    bar = chart.locator("svg .mark-rect path").first.bounding_box()
    number = chart.locator("svg text", has_text=re.compile("^5,000$")).last.bounding_box()
    assert frame is not None
    assert bar is not None
    assert number is not None
    assert bar["width"] > (0.5 if width > 1000 else 0.8) * frame["width"]
    assert number["x"] + number["width"] <= frame["x"] + frame["width"] + 1, "no number is cut"
    if width > 1000:
        assert 0 < bar["x"] - number["x"] - number["width"] < 20, "before its bar"
    else:
        assert 0 <= bar["y"] - number["y"] - number["height"] < 10, "above its bar"
        cells = opened_page.page.locator("[data-chart=chart-heat]").bounding_box()
        assert cells is not None
        assert cells["width"] < width, "nothing is to be moved sideways"
    opened_page.page.set_viewport_size({"width": 1590 - width, "height": 900})
    opened_page.page.wait_for_function(
        "(wide) => (document.querySelector('[data-chart=chart-ranking] .role-axis-label text') !== null"
        " && [...document.querySelectorAll('[data-chart=chart-ranking] .role-axis-label text')]"
        ".some((each) => each.textContent.startsWith('1. '))) === wide",
        arg=width < 1000,
    )


@pytest.mark.parametrize("width", [360, 1200])
def test_no_window_is_too_narrow(release: Make, visit: Callable[..., Visit], width: int) -> None:
    names = [f"a-rather-long-name-{n}-" + "x" * 300 for n in range(30)]
    given = release(items=names, labels=names, contexts=DAYS)
    opened_page = visit(given, viewport={"width": width, "height": 800})
    assert opened_page.page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened_page.complaints == []


def test_a_cross_table_fits_a_phone(browser: Browser, tmp_path: Path) -> None:
    """Its numbers are what a reader came for: nobody has to move it sideways to see them."""
    schools = ["HS-grad", "Some-college", "Bachelors", "Masters"]
    rows = {"education": schools * 500, "income": ["<=50K", ">50K"] * 1000}
    bins = {name: {"values": sorted({*values})} for name, values in rows.items()}
    statement = "SELECT education, income, COUNT(*) FROM people GROUP BY education, income"
    release = hc.query(hc.read_people(pa.table(rows)), statement, epsilon=1, bins=bins)
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(write_release_page(release, tmp_path / "answers.html").as_uri())
    table = page.locator("table.grouped")
    assert table.locator("thead th").all_inner_texts() == ["education", "income", "Answer", "Low", "High"]
    assert table.evaluate("each => each.scrollWidth <= each.parentElement.clientWidth")
    page.close()


def test_a_ranking_is_read_without_scripts_and_in_any_window(
    ranking: Make, browser: Browser, tmp_path: Path
) -> None:
    path = write_release_page(ranking(5, DAYS, counts=True, evil="x" * 300), tmp_path / "ranking.html")
    for width in (360, 1200):
        context = browser.new_context(viewport={"width": width, "height": 800}, java_script_enabled=False)
        page = context.new_page()
        page.goto(path.as_uri())
        assert page.locator("table").count() == 3
        assert "Best for Wednesday" in page.locator("main").inner_text()
        box = page.locator("main").bounding_box()
        assert box is not None
        assert box["width"] <= width
        context.close()
