"""A release in a real browser: found as one types, drawn without evaluating code, and on a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from headcount.studio.app import app_for_studio
from headcount.studio.settings import Settings
from headcount.studio.studio import Studio
from tests.reports.conftest import make
from tests.studio.browser.conftest import PATIENCE, Visit, serving
from tests.studio.conftest import _session, people
from tests.studio.support.releases import put

DAYS = ("Monday", "Tuesday", "Friday")
Window = Callable[..., Visit]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Studio, str]]:
    folder: Path = tmp_path_factory.mktemp("released")
    held: list[Studio] = []

    def make_app(port: int) -> object:
        studio = Studio(Settings(folder / "desk", port=port))
        people(studio)
        held.append(studio)
        return app_for_studio(studio)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADCOUNT_LEDGER_KEY", str(folder / "ledger.key"))
        patch.setenv("HEADCOUNT_LEDGER_ANCHOR", str(folder / "ledger.anchor"))
        with serving(make_app) as base:
            key = put(held[0], make(items=[f"v{n}" for n in range(120)], contexts=DAYS))
            yield base, held[0], key


def signed_in(window: Window, served: tuple[str, Studio, str], **settings: object) -> Visit:
    base, studio, _ = served
    visit = window(base, **settings)
    cookie = {"name": studio.cookies.name, "value": _session(studio, "ann"), "url": base}
    visit.page.context.add_cookies([cookie])  # type: ignore[list-item]
    return visit


def test_rows_are_filtered_while_typing_and_loaded_while_scrolling(
    window: Window, served: tuple[str, Studio, str]
) -> None:
    visit = signed_in(window, served)
    page = visit.go(f"/releases/{served[2]}")
    rows = page.locator("[data-rows] > tr:not(#following)")
    assert rows.count() == 50
    page.locator("#following").scroll_into_view_if_needed()
    expect(rows).to_have_count(100, timeout=PATIENCE)
    visit.press("Home", "/")
    page.keyboard.type("venue v77")
    expect(rows).to_have_count(1, timeout=PATIENCE)
    assert rows.locator("a").inner_text() == "Venue v77"
    assert page.url.endswith("q=venue%20v77&context=")
    page.locator("#context").select_option("Friday")
    page.wait_for_url("**context=Friday")
    rows.locator("a").click()
    visit.ready()
    assert "Venue v77" in page.title()
    assert page.locator("text=Expected").first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_are_drawn_in_both_themes_and_on_a_phone(
    scheme: str, window: Window, served: tuple[str, Studio, str]
) -> None:
    width = 390 if scheme == "dark" else 1280
    visit = signed_in(window, served, color_scheme=scheme, viewport={"width": width, "height": 800})
    page = visit.go(f"/releases/{served[2]}")
    page.locator(".later").first.scroll_into_view_if_needed()
    page.wait_for_selector("[data-vega='chart-ranking'][data-drawn=yes] canvas")
    drawn = page.locator("[data-vega='chart-ranking'] canvas")
    assert drawn.evaluate("each => each.clientWidth") > 250
    ground = drawn.evaluate("each => [...each.getContext('2d').getImageData(1, 1, 1, 1).data].slice(0, 3)")
    assert (sum(ground) < 200) is (scheme == "dark")
    assert "Bar chart, 20 bars" in (page.locator("[data-vega='chart-ranking']").get_attribute("aria-label") or "")
    assert visit.grave() == []  # every page is looked at by test_every_page; there no chart may have been drawn
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
