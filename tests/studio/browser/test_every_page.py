"""Every page that links lead to: looked at by axe, wide and light, narrow and dark; no wider than a telephone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI

from headcount.studio.access import Role
from headcount.studio.app import app_of
from headcount.studio.demo import furnish
from headcount.studio.settings import Settings
from headcount.studio.studio import Studio
from tests.studio.browser.conftest import Visit, serving

LINKS = "[...document.querySelectorAll('main a[href], nav a[href], .who a[href]')].map((each) => each.href)"


def crawl(seen: Visit, app: FastAPI, look: Callable[[], list[str]]) -> tuple[set[str], list[str]]:
    """Follow links from home, to one page of each route; return the routes that were met, and what is wrong."""
    routes = [each for each in app.state.routes if "GET" in getattr(each, "methods", ())]
    met: set[str] = set()
    wrong: list[str] = []
    waiting = [f"{seen.base}/"]
    while waiting:
        address = waiting.pop(0)
        parts = urlsplit(address)
        route = next((each for each in routes if each.path_regex.match(parts.path)), None)
        if route is None or not address.startswith(f"{seen.base}/"):
            wrong.append(f"{address} leads nowhere")
            continue
        if route.path in met:
            continue
        met.add(route.path)
        answer = seen.page.request.get(address)
        if not answer.ok:
            wrong.append(f"{address} answers {answer.status}")
        elif answer.headers["content-type"].startswith("text/html"):
            seen.go(address.removeprefix(seen.base))
            wrong += look()
            waiting += seen.page.evaluate(LINKS)
    return met, wrong


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, FastAPI]]:
    """The demo, served."""
    made: list[FastAPI] = []

    def make(port: int) -> FastAPI:
        studio = Studio(Settings(tmp_path_factory.mktemp("city"), port=port, demo=True))
        furnish(studio)
        made.append(app_of(studio))
        return made[0]

    with serving(make) as base:
        yield base, made[0]


@pytest.mark.slow
@pytest.mark.parametrize("role", Role)
def test_every_page_that_links_lead_to(
    window: Callable[..., Visit], city: tuple[str, FastAPI], role: Role
) -> None:
    base, app = city
    seen = window(base)
    page = seen.go("/sign-in")
    assert seen.grave() == []
    page.get_by_role("button", name=f"As {role}").click()
    page.wait_for_url(f"{base}/")

    def look() -> list[str]:
        found = seen.grave()
        page.set_viewport_size({"width": 390, "height": 844})
        page.emulate_media(color_scheme="dark")
        wide = page.evaluate("document.documentElement.scrollWidth")
        found += seen.grave()
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1280, "height": 860})
        return found if wide <= 390 else [*found, f"{page.url} is {wide} pixels wide on a telephone"]

    met, wrong = crawl(seen, app, look)
    assert len(met) > 10
    assert wrong == []
