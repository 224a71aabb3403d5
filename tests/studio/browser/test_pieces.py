"""The pieces that pages are made of, in a real browser and under the strict policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse

from headcount.accounting.guarantee import Guarantee
from headcount.errors import UsageError
from headcount.studio.access import Role, Visitor
from headcount.studio.app import ROUTERS
from headcount.studio.security.middleware import HEADERS
from headcount.studio.settings import Settings
from headcount.studio.web import templates
from tests.studio.browser.conftest import Visit, serving

CHART = {
    "description": "Two bars, the first twice as high",
    "width": 200, "height": 100, "padding": 5,
    "data": [{"name": "t", "values": [{"x": "a", "y": 2}, {"x": "b", "y": 1}]}],
    "signals": [{"name": "tint", "update": "'#' + '7fb0d3'"}],
    "scales": [
        {"name": "x", "type": "band", "range": "width", "domain": {"data": "t", "field": "x"}},
        {"name": "y", "range": "height", "domain": {"data": "t", "field": "y"}, "zero": True},
    ],
    "axes": [{"orient": "bottom", "scale": "x"}],
    "marks": [{"type": "rect", "from": {"data": "t"}, "encode": {"update": {
        "x": {"scale": "x", "field": "x"}, "width": {"scale": "x", "band": 1}, "fill": {"signal": "tint"},
        "y": {"scale": "y", "field": "y"}, "y2": {"scale": "y", "value": 0}, "tooltip": {"signal": "datum.x"}}}}],
}  # fmt: skip
PAGE = """
{% extends "base.html.jinja" %}
{% block title %}Pieces{% endblock %}
{% block content %}
{{ ui.breadcrumbs([("/", "Home"), (none, "Pieces")]) }}
<h1>Pieces</h1>
<section><h2>Form</h2><form method="post" action="/sent" data-confirm="Really?">
{{ ui.form_start() }}
{{ ui.fields(fields, {}, {"epsilon": "must be above 0"}) }}
<button type="submit" class="primary">Send</button></form></section>
<section><h2>Search</h2><label for="q">Venue</label>
<input type="search" id="q" name="q" data-search hx-get="/found" hx-target="#found"
 hx-trigger="input changed delay:10ms">
<div id="found"></div></section>
<section class="card"><h2>Others</h2>
{{ ui.gauge(9, 10, "9 of 10") }}{{ ui.badge(guarantee) }}{{ ui.progress(job) }}
{{ ui.failure(error) }}{{ ui.empty("Nothing here.", ("/", "Begin")) }}
{{ ui.state("review") }} {{ ui.state("failed") }} {{ ui.state("done") }}
{{ ui.table([("venue", "text"), ("visits", "number")],
            [[{"text": "Tea", "href": "/?1"}, "2"], [{"text": "Rye", "href": "/?2"}, "1"]], "Venues") }}
{{ ui.chart("bars", chart, title="Bars") }}
<p><button type="button" hx-post="/broken" hx-target="#found">Break</button>
<button type="button" hx-post="/sent" hx-confirm="Sure?" hx-target="#found">Ask</button></p></section>
{% endblock %}
"""


def field(name: str, **changes: Any) -> SimpleNamespace:
    given = {"name": name, "label": name, "kind": "text", "help": "Some help.", "choices": (), "default": None,
             "needed": True, "many": False, "advanced": False}  # fmt: skip
    return SimpleNamespace(**{**given, **changes})


FIELDS = [field("epsilon", default="1"), field("method", choices=("adaptive", "sra")), field("all", kind="flag"),
          field("context", many=True, needed=False), field("limit", advanced=True, needed=False)]  # fmt: skip


@pytest.fixture(scope="module")
def pieces() -> Iterator[str]:
    app = FastAPI()
    app.state.studio = SimpleNamespace(settings=Settings(Path("desk")))

    @app.middleware("http")
    async def shell(request: Request, follow: Any) -> Any:
        request.state.visitor = Visitor("1", "Ann", Role.CURATOR, csrf="c1")
        answer = await follow(request)
        for name, value in HEADERS.items():
            answer.headers.setdefault(name, value)
        return answer

    @app.get("/")
    def page(request: Request) -> Response:
        job = SimpleNamespace(state="running", progress={"doing": "reading", "done": 1, "of": 4})
        values = {"fields": FIELDS, "job": job, "chart": CHART, "guarantee": Guarantee(epsilon=Decimal(1)),
                  "error": UsageError("no", remedy="yes"), "visitor": request.state.visitor, "csrf": "c1",
                  "studio": None, "active": "/", "request": request,
                  "places": templates.NAVIGATION_LINKS}  # fmt: skip
        return HTMLResponse(templates.environment().from_string(PAGE).render(values))

    @app.get("/found")
    def search_results(q: str) -> Response:
        return HTMLResponse(f"found {len(q)}")

    @app.post("/sent")
    def sent(request: Request) -> Response:
        return HTMLResponse(f"sent {request.headers.get('x-csrf-token', 'by form')}")

    @app.post("/broken")
    def broken(request: Request) -> Response:
        return templates.page(request, "failure.html.jinja", status=409, error=UsageError("the budget is spent"))

    for router in ROUTERS:
        app.include_router(router)
    with serving(lambda _port: app) as base:
        yield base


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_everything_is_reachable_and_fits(
    window: Callable[..., Visit], pieces: str, scheme: str, width: int
) -> None:
    visit = window(pieces, color_scheme=scheme, viewport={"width": width, "height": 900})
    page = visit.go("/")
    assert visit.grave() == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    assert page.locator(".chart canvas").count() == 1, "Vega draws without evaluating code"


def test_keys(window: Callable[..., Visit], pieces: str) -> None:
    visit = window(pieces)
    page = visit.go("/")
    visit.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("tea")
    page.get_by_text("found 3").wait_for()
    visit.press("Escape", "?")
    assert page.locator("#keys").is_visible()
    visit.press("Escape")
    page.locator("#keys").wait_for(state="hidden")
    page.get_by_role("link", name="Tea").focus()
    visit.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == "Rye"
    visit.press("g", "r")
    page.wait_for_url("**/releases")


def test_the_first_key_skips_to_the_content(window: Callable[..., Visit], pieces: str) -> None:
    visit = window(pieces)
    page = visit.go("/")
    visit.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    visit.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_questions_come_before_what_cannot_be_undone(window: Callable[..., Visit], pieces: str) -> None:
    visit = window(pieces)
    page = visit.go("/")
    page.get_by_role("button", name="Ask").click()
    page.get_by_role("button", name="No").click()
    page.get_by_role("button", name="Ask").click()
    page.get_by_role("button", name="Yes, go on").click()
    page.get_by_text("sent c1").wait_for()
    page.get_by_role("button", name="Send").click()
    page.get_by_text("Really?").wait_for()
    page.get_by_role("button", name="Yes, go on").click()
    page.get_by_text("sent by form").wait_for()


def test_errors_are_reported_without_losing_the_page(window: Callable[..., Visit], pieces: str) -> None:
    visit = window(pieces)
    page = visit.go("/")
    page.get_by_role("button", name="Break").click()
    page.locator(".toast.bad", has_text="The budget is spent").wait_for()
    assert page.locator("h1").all_text_contents() == ["Pieces"]


def test_a_lost_connection_is_reported_and_the_request_is_repeated(
    window: Callable[..., Visit], pieces: str
) -> None:
    visit = window(pieces)
    page = visit.go("/")
    page.context.set_offline(True)
    page.locator("#q").fill("rye!")
    page.locator("[data-lost]").wait_for(state="visible")
    page.context.set_offline(False)
    page.get_by_text("found 4").wait_for()
    page.locator("[data-lost]").wait_for(state="hidden")
