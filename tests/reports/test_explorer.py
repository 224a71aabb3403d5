"""All rows of a release on its page: what travels, and what a reader can do with it in a real Chromium."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
from playwright.sync_api import Browser, Page

from headcount.releases.release import Release
from headcount.reports import excerpts
from headcount.reports import explorer as exploring
from headcount.reports.explorer import explorer, unpacked
from headcount.reports.release import release_page, write_release_page
from tests.reports.conftest import Visit

Make = Callable[..., Release]
DAYS = ["Monday", "Tuesday", "Wednesday"]
HEARD = "document.querySelector('.explorer [role=status]').textContent"


def held(release: Release) -> dict[str, Any]:
    """Return what the page of a release holds for its script."""
    (payload,) = re.findall(r'<script type="application/gzip"[^>]*>([^<]*)</script>', release_page(release))
    return unpacked(payload)


def numbers(view: dict[str, Any], row: int, per: int) -> tuple[float, int, int]:
    """Return count, low and high as the script works them out."""
    middle = round(view["count"][row] / per)
    return view["count"][row] / per, middle - view["below"][row], middle + view["above"][row]


def test_every_count_with_its_interval_is_in_the_page(adaptive: Make) -> None:
    given = adaptive(items=[f"v{n}" for n in range(400)], contexts=DAYS)
    held_rows = held(given)
    assert held_rows["title"] == "All 400 items"
    assert held_rows["across"] == "weekday"
    assert [view["name"] for view in held_rows["views"]] == ["all together", *DAYS, "unknown"]
    for view, table in zip(
        held_rows["views"],
        [given.items, *(given.edges.filter(pc.equal(given.edges["context"], day)) for day in DAYS)],
        strict=False,
    ):
        rows = {row["item"]: row for row in table.to_pylist()}
        for place, item in enumerate(held_rows["ids"]):
            count, low, high = numbers(view, place, held_rows["per"])
            assert count == pytest.approx(rows[item]["count"], abs=0.01001)
            assert round(count) == round(rows[item]["count"])
            assert (low, high) == (np.floor(rows[item]["low"]), np.ceil(rows[item]["high"]))
    assert held_rows["names"][:2] == ["Venue v0", "Venue v1"]


def test_pairs_without_items_are_there_and_rows_come_by_size(release: Make) -> None:
    given = release(items=["a", "b", "c"] * 3, sizes=[1.0, 30.0, 2.0] * 3, contexts=DAYS, only="edges")
    held_rows = held(given)
    assert held_rows["names"] == ["b", "c", "a"]
    assert [view["name"] for view in held_rows["views"]] == [*DAYS, "unknown"]


def test_what_is_not_released_is_absent_and_not_zero(release: Make) -> None:
    given = release(contexts=DAYS)
    edges = given.edges.filter(pc.invert(pc.equal(given.edges["item"], "v3")))
    held_rows = held(release(tables={**given.tables, "edges": edges}))
    assert [view["count"][3] is None for view in held_rows["views"]] == [False, True, True, True, True]


def test_a_page_shows_no_explorer_where_all_rows_stand_on_it(release: Make, ranking: Make) -> None:
    assert explorer(release(items=["a", "b"]), [], "") is None
    assert explorer(ranking(100), [], "") is None
    assert "data-explorer" not in release_page(ranking(100))


def test_a_long_ranking_can_be_read_to_its_end(ranking: Make) -> None:
    held_rows = held(ranking(5_000))
    assert held_rows["title"] == "All 5,000 ranked items"
    assert held_rows["views"] == [{"name": "all together", "rank": list(range(1, 5_001))}]
    counted = held(ranking(101, DAYS, counts=True))
    assert [view["name"] for view in counted["views"]] == DAYS
    assert numbers(counted["views"][1], 0, counted["per"]) == (5000, 4933, 5067)


def test_of_too_many_rows_the_largest_stay(release: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploring, "MOST_CELLS", 100)
    held_rows = held(release(items=list(range(60)), contexts=DAYS))
    assert held_rows["title"] == "The 20 largest of 60 items"
    assert held_rows["ids"] == [str(n) for n in range(20)]
    assert {len(view["count"]) for view in held_rows["views"]} == {20}


@pytest.fixture
def visit(opened: Callable[..., Visit], tmp_path: Path) -> Callable[..., Visit]:
    def go(release: Release, **window: Any) -> Visit:
        opened_page = opened(write_release_page(release, tmp_path / "report.html"), **window)
        opened_page.page.wait_for_selector("[data-explored]")
        return opened_page

    return go


def shop(release: Make, many: int = 3_000, **given: Any) -> Release:
    labels = [f"{'Café' if n % 7 == 0 else 'Shop'} number {n}" for n in range(many)]
    sizes = [float(n * 7919 % many) for n in range(many)]
    return release(items=[f"s{n}" for n in range(many)], labels=labels, sizes=sizes, **given)


def rows_of(page: Page) -> list[list[str]]:
    """Return the cells of the first rows that are drawn."""
    script = """[...document.querySelectorAll('.rows tbody tr:not(.space)')].slice(0, 4)
        .map((row) => [...row.children].map((cell) => cell.innerText.trim()))"""
    rows: list[list[str]] = page.evaluate(script)
    return rows


def test_rows_are_searched_and_sorted_by_keyboard_alone(release: Make, visit: Callable[..., Visit]) -> None:
    opened_page = visit(shop(release, contexts=DAYS))
    page = opened_page.page
    assert rows_of(page)[0][0] == "1"
    assert page.locator(".few").is_hidden()
    page.locator(".explorer input").focus()
    page.keyboard.type("cafe 29")  # without the accent; all words must be there
    assert page.evaluate(HEARD) == "21 of 3,000 match"
    assert all("Café" in row[1] and "29" in row[1] for row in rows_of(page))
    page.keyboard.press("Escape")
    assert page.evaluate(HEARD) == "3,000 rows"
    page.keyboard.type("s2999")
    assert [row[1] for row in rows_of(page)] == ["Shop number 2999 s2999"]
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")  # the contexts
    page.keyboard.press("ArrowDown")
    assert rows_of(page)[0][2:] == ["1,500", "1,432", "1,567"]  # half of them are on Mondays
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")  # the download
    for _ in range(3):
        page.keyboard.press("Tab")  # the rows themselves, rank, and then the item
    page.keyboard.press("Enter")
    assert rows_of(page)[0][1].startswith("Café number 0")
    assert rows_of(page)[1][1].startswith("Café number 7")
    page.keyboard.press("Enter")
    assert rows_of(page)[0][1].startswith("Shop number 2999")
    assert page.locator(".rows th[aria-sort=descending]").inner_text().startswith("Item")
    for _ in range(2):
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("End")
    page.wait_for_function("document.querySelector('.rows tbody').innerText.includes('Café number 0')")
    assert page.locator(".rows tbody tr").count() < 60, "rows are drawn only in view"
    assert opened_page.requests == []
    assert opened_page.complaints == []


def test_search_results_can_be_downloaded(release: Make, visit: Callable[..., Visit]) -> None:
    page = visit(shop(release, contexts=DAYS)).page

    def downloaded() -> tuple[str, list[dict[str, str]]]:
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Download these rows").click()
        text = Path(waiting.value.path()).read_text(encoding="utf-8")
        return waiting.value.suggested_filename, list(csv.DictReader(io.StringIO(text)))

    name, rows = downloaded()
    assert (name, len(rows)) == ("items-all-together.csv", 3_000)
    assert list(rows[0]) == ["item", "label", "rank", "count", "low", "high"]
    assert rows[0]["count"] == "2999"
    page.locator(".explorer input").fill("number 17")
    page.locator(".explorer select").select_option(label="side by side")
    name, rows = downloaded()
    assert name == "items-side-by-side.csv"
    assert list(rows[0]) == ["item", "label", "all together", *DAYS, "unknown"]
    assert all("17" in row["label"] for row in rows)
    assert page.evaluate(HEARD) == f"{len(rows)} of 3,000 match"
    sizes = [float(row["all together"]) for row in rows]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_rows_without_moving_sideways(
    release: Make, visit: Callable[..., Visit], scheme: str
) -> None:
    names = [f"a-rather-long-name-{n}-" + "x" * 300 for n in range(300)]
    given = release(items=names, labels=names, contexts=DAYS, context_name="a column of a long name " * 3)
    opened_page = visit(given, viewport={"width": 390, "height": 800}, color_scheme=scheme)
    sideways = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    inside = "((each) => each.scrollWidth - each.clientWidth)(document.querySelector('.rows'))"
    assert opened_page.page.evaluate(sideways) == 0
    assert opened_page.page.evaluate(inside) == 0
    opened_page.page.locator(".explorer select").select_option(label="side by side")
    assert opened_page.page.evaluate(sideways) == 0
    assert opened_page.page.evaluate(inside) > 0, "wide rows move inside their own frame"


def test_without_scripts_and_on_paper_the_first_rows_stand(
    release: Make, browser: Browser, visit: Callable[..., Visit], tmp_path: Path
) -> None:
    given = shop(release, 300)
    page = visit(given).page
    page.emulate_media(media="print")
    assert page.locator(".few").is_visible()
    assert page.locator(".explorer .all").is_hidden()
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    assert page.locator(".few tbody tr").count() == excerpts.RANKED
    assert page.locator(".few tbody th").first.is_visible()
    context.close()


EVIL = "<img src=x onerror='window.broken = 1'>"


def test_names_in_rows_run_nothing(release: Make, visit: Callable[..., Visit]) -> None:
    names = [f"{EVIL}{n}" for n in range(40)]
    opened_page = visit(release(items=names, labels=names[::-1], contexts=[EVIL, "Monday"], context_name=EVIL))
    opened_page.page.locator(".explorer select").select_option(index=1)
    opened_page.page.locator(".explorer input").fill(EVIL)
    assert opened_page.page.evaluate(HEARD) == "40 of 40 match"
    assert opened_page.page.evaluate("window.broken") is None
    assert opened_page.page.locator("img").count() == 0
    assert opened_page.requests == []


@pytest.mark.slow
def test_a_hundred_thousand_items_by_weekday_stay_quick_and_small(
    release: Make, visit: Callable[..., Visit], tmp_path: Path
) -> None:
    """What takes longest is measured five times and the least is taken, since others use this machine too."""
    days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    opened_page = visit(shop(release, 100_000, contexts=days))
    assert (tmp_path / "report.html").stat().st_size < 8_000_000
    script = """(query) => {
        const box = document.querySelector('.explorer input');
        const times = [...Array(5)].map(() => {
            box.value = query;
            const begin = performance.now();
            box.dispatchEvent(new Event('input'));
            document.querySelector('.rows').getBoundingClientRect();
            return performance.now() - begin;
        });
        return Math.min(...times);
    }"""
    for query in ("c", "cafe 99", "nothing is called this", "number"):
        assert opened_page.page.evaluate(script, query) < 100, query
    assert opened_page.page.locator(".rows tbody tr").count() < 60
