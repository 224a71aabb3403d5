"""Every page that links lead to: looked at by axe, wide and light, narrow and dark; no wider than a telephone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI

from headcount.studio.access import Role
from headcount.studio.app import app_for_studio
from headcount.studio.demo import fill_demo
from headcount.studio.settings import Settings
from headcount.studio.studio import Studio
from tests.studio.browser.conftest import Visit, serving

LINKS = "[...document.querySelectorAll('main a[href], nav a[href], .who a[href]')].map((each) => each.href)"


def crawl(visit: Visit, app: FastAPI, look: Callable[[], list[str]]) -> tuple[set[str], list[str]]:
    """Follow links from home, to one page of each route; return the routes that were met, and what is wrong."""
    routes = [route for route in app.state.routes if "GET" in getattr(route, "methods", ())]
    visited_routes: set[str] = set()
    wrong: list[str] = []
    waiting = [f"{visit.base}/"]
    while waiting:
        address = waiting.pop(0)
        parts = urlsplit(address)
        route = next((candidate for candidate in routes if candidate.path_regex.match(parts.path)), None)
        if route is None or not address.startswith(f"{visit.base}/"):
            wrong.append(f"{address} leads nowhere")
            continue
        if route.path in visited_routes:
            continue
        visited_routes.add(route.path)
        answer = visit.page.request.get(address)
        if not answer.ok:
            wrong.append(f"{address} answers {answer.status}")
        elif answer.headers["content-type"].startswith("text/html"):
            visit.go(address.removeprefix(visit.base))
            wrong += look()
            waiting += visit.page.evaluate(LINKS)
    return visited_routes, wrong


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, FastAPI]]:
    """The demo, served."""
    apps: list[FastAPI] = []

    def make(port: int) -> FastAPI:
        studio = Studio(Settings(tmp_path_factory.mktemp("city"), port=port, demo=True))
        fill_demo(studio)
        apps.append(app_for_studio(studio))
        return apps[0]

    with serving(make) as base:
        yield base, apps[0]


@pytest.mark.slow
@pytest.mark.parametrize("role", Role)
def test_every_page_that_links_lead_to(
    window: Callable[..., Visit], city: tuple[str, FastAPI], role: Role
) -> None:
    base, app = city
    visit = window(base)
    page = visit.go("/sign-in")
    assert visit.grave() == []
    page.get_by_role("button", name=f"As {role}").click()
    page.wait_for_url(f"{base}/")

    def look() -> list[str]:
        violations = visit.grave()
        page.set_viewport_size({"width": 390, "height": 844})
        page.emulate_media(color_scheme="dark")
        wide = page.evaluate("document.documentElement.scrollWidth")
        violations += visit.grave()
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1280, "height": 860})
        return violations if wide <= 390 else [*violations, f"{page.url} is {wide} pixels wide on a telephone"]

    visited_routes, wrong = crawl(visit, app, look)
    assert len(visited_routes) > 10
    assert wrong == []
