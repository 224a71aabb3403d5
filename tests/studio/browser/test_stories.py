"""Both stories: from an upload to a top 10 that others see, and to one that an analyst paid for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fastapi import FastAPI
from playwright.sync_api import Page

from headcount.lab.synthetic.logs import CheckIns, checkins
from headcount.studio.app import app_for_studio
from headcount.studio.settings import Limits, Settings
from headcount.studio.studio import Studio
from tests.studio.browser.conftest import Visit, serving

PASSWORD = "four words are good"


@dataclass(frozen=True)
class Desk:
    """A studio that is served, and files that are not in it yet."""

    base: str
    studio: Studio
    city: CheckIns


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    studios: list[Studio] = []

    def make(port: int) -> FastAPI:
        limits = Limits(step_seconds=1.0)
        studios.append(Studio(Settings(folder / "studio", port=port, limits=limits)))
        return app_for_studio(studios[0])

    with serving(make) as base:
        yield Desk(base, studios[0], checkins(folder, users=500, venues=40, events=8_000))


def begin(visit: Visit, link: str, name: str | None = None) -> Page:
    """Take up an invitation, and come to the home page."""
    page = visit.go(link.removeprefix(visit.base))
    if name is not None:
        page.get_by_label("Your name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Begin").click()
    page.wait_for_url(f"{visit.base}/")
    return page


def upload(page: Page, path: Path) -> None:
    """Upload a file, and wait until the page shows it."""
    page.locator("#upload").set_input_files(path)
    with page.expect_navigation():
        page.get_by_role("button", name="Upload").click()


def press(page: Page, name: str, then: str) -> None:
    """Press a button, and wait for the heading of the page that follows."""
    page.get_by_role("button", name=name, exact=True).click()
    page.get_by_role("heading", name=re.compile(then)).first.wait_for()


def pick(page: Page, label: str, part: str) -> None:
    """Choose what holds these words."""
    place = page.get_by_label(label).first
    place.select_option(place.locator("option", has_text=part).first.get_attribute("value"))


def register(page: Page, base: str, name: str, file: str) -> None:
    """Register a file, as it was uploaded."""
    page.goto(f"{base}/datasets/new")
    page.get_by_label("Name").fill(name)
    pick(page, "A file of the folder", file)
    press(page, "Go on to its columns", "What its columns mean")


def test_from_an_upload_to_a_top_10_that_others_see(desk: Desk, window: Callable[..., Visit]) -> None:
    curator = window(desk.base)
    link = desk.studio.set_up_link()
    assert link is not None
    page = begin(curator, link, "cora")
    curator.go("/datasets/new")
    upload(page, desk.city.visits)
    upload(page, desk.city.venues)
    register(page, desk.base, "city", "visits")
    press(page, "Keep this, and go on", "What is public")
    pick(page, "A file of the folder", "venues")
    press(page, "Keep this, and go on", "Budget of city")
    page.locator("#field-epsilon").fill("3")
    press(page, "Set the budget, and open the dataset", "city")

    curator.press("Escape")
    page.get_by_role("link", name="Plan a release").click()
    page.locator("#field-epsilon").fill("2")
    page.locator("#outlook").get_by_text("Price").wait_for()
    page.get_by_label("Title").fill("Visits by weekday")
    press(page, "Run it, and charge it", "Visits by weekday")
    page.get_by_role("link", name="Review it").click()
    press(page, "Publish", "Visits by weekday")

    curator.go("/people")
    page.get_by_label("Name").fill("ann")
    press(page, "Make a link", "The link for ann")
    invitation = page.locator("#link").inner_text()
    curator.go("/datasets")
    page.get_by_role("link", name="city").first.click()
    page.get_by_role("link", name="History, and who may spend what").click()
    pick(page, "Analyst", "ann")
    page.get_by_label("ε of their own").fill("0.5")
    page.get_by_role("button", name="Allow").click()
    page.get_by_role("row", name="ann").first.wait_for()

    analyst = window(desk.base, viewport={"width": 390, "height": 844}, color_scheme="dark")
    visit = begin(analyst, invitation)
    visit.get_by_role("link", name="Visits by weekday").click()
    top = visit.locator("tbody[data-rows] th a")
    top.nth(9).wait_for()
    shared = top.all_inner_texts()[:10]
    assert len(set(shared)) == 10

    analyst.ready()
    analyst.press("/")
    analyst.page.keyboard.type(shared[3])
    visit.get_by_role("status").get_by_text("1 of 40 rows").wait_for()
    analyst.press("Tab", "Escape", "g", "a")
    visit.get_by_role("heading", name="Ask for a release").wait_for()
    visit.get_by_role("link", name="Rankings").click()
    visit.locator("#field-k").fill("10")
    visit.locator("#field-epsilon").fill("0.4")
    visit.locator("#outlook").get_by_text("Price").wait_for()
    visit.get_by_role("button", name="Ask, and pay").click()
    visit.get_by_role("button", name="Yes, go on").click()
    visit.get_by_role("link", name="Open the release").click()
    visit.locator("tbody[data-rows] tr").nth(9).wait_for()

    analyst.go("/ask")
    visit.get_by_role("link", name="Rankings").click()
    visit.locator("#field-k").fill("5")
    visit.locator("#field-epsilon").fill("0.4")
    visit.locator("#outlook [data-failure]").wait_for()
    assert "of your own, ε = 0.1 is left" in visit.locator("#outlook").inner_text(), (
        "said before anything is asked"
    )
    visit.get_by_role("button", name="Ask, and pay").click()
    visit.get_by_role("button", name="Yes, go on").click()
    visit.locator("main > [data-failure]").wait_for()
    assert visit.locator("#field-k").input_value() == "5", "what was typed is still there"
