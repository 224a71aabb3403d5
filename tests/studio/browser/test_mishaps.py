"""What people meet that goes wrong, and everything by keyboard: in a studio whose queue nobody works on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from playwright.sync_api import Page

from headcount.studio.access import Role
from headcount.studio.app import app_for_studio
from headcount.studio.settings import Settings
from headcount.studio.studio import Studio
from tests.studio.browser.conftest import Visit, serving

PASSWORD = "four words are good"
VISITS = "".join(f"u{n % 50},{'tea' if n % 3 else 'rye'}\n" for n in range(200))


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    folder = tmp_path_factory.mktemp("idle")
    studios: list[Studio] = []

    def make(port: int) -> FastAPI:
        studio = Studio(Settings(folder, port=port))
        (folder / "files" / "visits.csv").write_text(f"user,venue\n{VISITS}", encoding="utf-8")
        cora = studio.accounts.create("cora", Role.CURATOR, PASSWORD).visitor()
        flags = {"user": "user", "item": "venue", "items": "rye,tea"}
        shop = studio.datasets.register(cora, name="shop", source={"files": ["visits.csv"]}, flags=flags)
        studio.datasets.open(cora, shop.id, epsilon="3")
        studios.append(studio)
        return app_for_studio(studio)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Studio, "start", lambda _studio: None)
        with serving(make):
            yield studios[0]


@pytest.fixture
def cora(studio: Studio, window: Callable[..., Visit]) -> Visit:
    """The curator, signed in without touching the mouse."""
    visit = window(studio.settings.base_url)
    visit.go("/sign-in")
    visit.page.keyboard.type("cora")
    visit.press("Tab")
    visit.page.keyboard.type(PASSWORD)
    visit.press("Enter")
    visit.page.wait_for_url(f"{visit.base}/")
    visit.ready()
    return visit


def tab_to(visit: Visit, words: str) -> None:
    """Press Tab until something with these words has the focus, which is seen."""
    named = "(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()"
    for _ in range(60):
        visit.press("Tab")
        if visit.page.evaluate(named).startswith(words):
            assert visit.page.evaluate("document.activeElement.matches(':focus-visible')")
            return
    raise AssertionError(f"no key leads to {words!r}")


def test_a_release_is_planned_requested_and_cancelled_by_keyboard(cora: Visit) -> None:
    page = cora.page
    cora.press("g", "d")
    page.get_by_role("heading", name="Datasets").wait_for()
    tab_to(cora, "shop")
    cora.press("Enter")
    page.get_by_role("heading", name="How it is read").wait_for()
    tab_to(cora, "Plan a release")
    cora.press("Enter")
    page.locator("#field-epsilon").wait_for()
    tab_to(cora, "ε")
    page.keyboard.type("1")
    page.locator("#outlook").get_by_text("Price").wait_for()
    cora.press("Enter")
    page.get_by_role("heading", name="It waits for its turn").wait_for()
    tab_to(cora, "Cancel")
    cora.press("Enter")
    page.locator("#confirm").wait_for()
    cora.press("Shift+Tab", "Enter")
    page.get_by_role("heading", name="It was cancelled").wait_for()


def test_a_file_of_another_kind_is_refused_with_what_there_can_be(cora: Visit, tmp_path: Path) -> None:
    page = cora.go("/datasets/new")
    wrong = tmp_path / "holiday.jpeg"
    wrong.write_bytes(b"\xff\xd8\xff")
    page.locator("#upload").set_input_files(wrong)
    page.get_by_role("button", name="Upload").click()
    message = page.locator("[data-failure], .toast.bad").first
    message.wait_for()
    assert ".csv" in message.inner_text()


def test_a_file_that_is_not_what_its_name_says(cora: Visit, studio: Studio) -> None:
    (studio.settings.files / "broken.parquet").write_bytes(b"no parquet at all")
    page = cora.go("/datasets/new")
    page.get_by_label("Name").fill("broken")
    files = page.get_by_label("A file of the folder")
    files.select_option(files.locator("option", has_text="broken").get_attribute("value"))
    page.get_by_role("button", name="Go on to its columns").click()
    message = page.locator("[data-failure]")
    message.wait_for()
    assert "broken.parquet" in message.inner_text()


def test_an_insufficient_budget_is_reported_before_the_request(cora: Visit, studio: Studio) -> None:
    page = plan(cora, studio, "99")
    message = page.locator("#outlook [data-failure]")
    message.wait_for()
    assert "ε = 0 of 3" in message.inner_text()


def test_a_connection_that_is_lost_while_planning_comes_back(cora: Visit, studio: Studio) -> None:
    page = plan(cora, studio, "1")
    page.locator("#outlook").get_by_text("Price").wait_for()
    page.context.set_offline(True)
    page.locator("#field-epsilon").fill("2")
    page.locator("[data-lost]").wait_for()
    page.context.set_offline(False)
    page.locator("[data-lost]").wait_for(state="hidden")
    page.locator("#field-epsilon").fill("0.5")
    page.locator("#outlook").get_by_text("ε = 0.5").first.wait_for()


def test_a_session_that_ended_leads_to_the_sign_in_and_back(cora: Visit, studio: Studio) -> None:
    page = plan(cora, studio, "1")
    address = page.url
    cora.page.context.clear_cookies()
    page.reload()
    page.get_by_label("Name").fill("cora")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(address)


def plan(visit: Visit, studio: Studio, epsilon: str) -> Page:
    """Open a plan, and type an ε."""
    curator = next(user for user in studio.accounts.listed() if user.name == "cora").visitor()
    shop = next(user for user in studio.datasets.listed(curator) if user.name == "shop")
    page = visit.go(f"/datasets/{shop.id}/plan?family=counts")
    page.locator("#field-epsilon").fill(epsilon)
    return page
