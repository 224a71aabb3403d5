"""No page shows a Python object: pages of a demo and of another studio are rendered, and their text is searched.

``conftest.py`` searches every page that any test of the studio renders. The test below adds the pages that links
lead to, and lists the templates that are left to other tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jinja2 import meta

from headcount.studio.app import app_for_studio
from headcount.studio.settings import Settings
from headcount.studio.studio import Studio
from headcount.studio.web import templates
from tests.reports.conftest import make, make_adaptive, make_ranking
from tests.studio.conftest import Browser, people, publish
from tests.studio.support.releases import put

LINK = re.compile(r'(?:href|hx-get)="(/[^"]*)"')
DAYS = ["Monday", "Friday"]
ELSEWHERE = {
    *("checked.html.jinja", "run.html.jinja", "run_progress.html.jinja"),  # jobs: test_curator_case.py
    *("outlook.html.jinja", "forecast.html.jinja", "failure_part.html.jinja"),  # forms: test_requests.py
    *("related.html.jinja", "tags.html.jinja", "topics.html.jinja"),  # models: test_release_pages.py
    "welcome.html.jinja",  # invitations: test_account.py
}
"""Templates that no link leads to here, with the tests that render them."""


@pytest.fixture(params=[True, False], ids=["demo", "studio"])
def studio(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Studio]:
    """A studio with releases of several families, as a demo and as a studio of its own."""
    studio = Studio(Settings(tmp_path / "desk", demo=request.param))
    people(studio)
    publish(studio)
    yield studio
    studio.stop()


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of templates that were rendered so far."""
    names: set[str] = set()
    answer = templates._render

    def recorded(request: Any, name: str, status: int, values: dict[str, Any]) -> Any:
        names.add(name)
        return answer(request, name, status, values)

    monkeypatch.setattr(templates, "_render", recorded)
    return names


def with_parts(names: set[str]) -> set[str]:
    """Return templates with all that they extend, include or import."""
    environment, reached, waiting = templates.environment(), set[str](), [*names]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            assert environment.loader is not None
            source = environment.loader.get_source(environment, name)[0]
            waiting += [
                template for template in meta.find_referenced_templates(environment.parse(source)) if template
            ]
    return reached


def crawl(browser: Browser, starts: list[str]) -> None:
    """Follow links, to one item of each release."""
    waiting, visited = [*starts], set[str]()
    while waiting:
        address = waiting.pop(0).split("#")[0]
        kind = address if address in starts else re.sub(r"/items/.*", "/items/X", address.split("?")[0])
        if kind in visited:
            continue
        visited.add(kind)
        answer = browser.get(address)
        if answer.headers.get("content-type", "").startswith("text/html"):
            waiting += [link.replace("&amp;", "&") for link in LINK.findall(answer.text)]


def test_no_page_shows_an_object(studio: Studio, rendered: set[str]) -> None:
    releases = (make(contexts=DAYS), make_adaptive(contexts=DAYS), make_ranking(), make(counts="users"))
    keys = [put(studio, release, title=release.method) for release in releases]
    put(studio, make(), state="review")
    pairs = [f"/compare?first={first}&second={second}" for first in keys for second in keys]
    for name in (None, "cora", "ann"):
        browser = Browser(app_for_studio(studio))
        if name is not None:
            assert browser.sign_in(name).status_code == 303
        crawl(browser, ["/", "/sign-in", "/nowhere", *(pairs if name else ())])
    missing = set(templates.environment().list_templates(extensions=["jinja"])) - with_parts(rendered)
    assert missing == ELSEWHERE
