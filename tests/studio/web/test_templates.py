"""Whether templates escape, refuse what is missing, and show each role its own places."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI, Request, Response
from fastapi.testclient import TestClient
from jinja2 import UndefinedError

from headcount.accounting.guarantee import Guarantee, Standing
from headcount.errors import UsageError
from headcount.studio.access import AccessLevel, Role, Visitor, router_for
from headcount.studio.settings import Settings
from headcount.studio.web import templates


def call(name: str, *given: Any, **more: Any) -> str:
    module: Any = templates.environment().get_template("macros.html.jinja").make_module({"csrf": "c1"})
    return str(getattr(module, name)(*given, **more))


def opened(visitor: Visitor, show: Callable[[Request], Response], path: str = "/releases") -> str:
    app = FastAPI()
    app.state.studio = SimpleNamespace(settings=Settings(Path("desk")))
    for where, who in {
        "/": AccessLevel.SIGNED_IN,
        "/people": AccessLevel.CURATORS,
        "/releases": AccessLevel.SIGNED_IN,
    }.items():
        router = router_for(who)
        router.add_api_route(where, show)
        app.include_router(router)

    @app.middleware("http")
    async def identify(request: Any, follow: Any) -> Any:
        request.state.visitor = visitor
        return await follow(request)

    return str(TestClient(app).get(path).text)


def failing(request: Request) -> Response:
    return templates.page(request, "failure.html.jinja", error=UsageError("<b>no</b>", remedy="try 1"))


def test_what_comes_from_outside_is_escaped() -> None:
    text = opened(Visitor("1", "<i>Ann", Role.ANALYST, csrf='"><b>'), failing)
    assert "<b>no" not in text
    assert "&lt;b&gt;no" in text
    assert "<i>Ann" not in text
    assert '"><b>' not in text


@pytest.mark.parametrize(("role", "is_shown"), [(Role.ANALYST, False), (Role.CURATOR, True)])
def test_every_role_has_its_navigation(role: Role, is_shown: bool) -> None:
    text = opened(Visitor("1", "Ann", role, csrf="c"), failing)
    assert ('href="/people"' in text) == is_shown
    assert 'href="/releases" data-key="r" aria-current="page"' in text
    assert 'href="/lab"' not in text, "the application has no such route"


def test_a_session_sends_its_token_with_every_request() -> None:
    text = opened(Visitor("1", "Ann", Role.ANALYST, csrf="c17"), failing)
    assert """hx-headers='{"X-CSRF-Token": "c17"}'""" in text
    assert '<input type="hidden" name="csrf" value="c17">' in text


def test_a_name_that_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        templates.environment().get_template("failure.html.jinja").render(visitor=Visitor(), csrf="", studio=None)


def field(**changes: Any) -> SimpleNamespace:
    given = {"name": "epsilon", "label": "ε", "kind": "text", "help": "", "choices": (), "default": None,
             "needed": True, "many": False, "advanced": False}  # fmt: skip
    return SimpleNamespace(**{**given, **changes})


def test_a_field_names_its_label_help_and_error() -> None:
    text = call("field", field(help="how much"), "0", "must be above 0")
    assert 'for="field-epsilon"' in text
    assert 'id="field-epsilon"' in text
    assert 'value="0"' in text
    assert 'aria-describedby="field-epsilon-help field-epsilon-error"' in text
    assert 'aria-invalid="true"' in text


def test_a_field_of_choices_shows_what_was_chosen() -> None:
    text = call("field", field(choices=("adaptive", ("sra", "SRA"))), "sra")
    assert '<option value="sra" selected>SRA</option>' in text
    assert '<option value="adaptive">' in text


def test_fields_for_the_few_are_folded_and_opened_where_one_is_wrong() -> None:
    some = [field(), field(name="limit", advanced=True)]
    assert "<details" in call("fields", some)
    assert "open>" in call("fields", some, {}, {"limit": "too small"})


@pytest.mark.parametrize(
    ("spent", "total", "value"), [("1", "4", "25.00"), ("9", "4", "100.00"), ("0", "0", "100.00")]
)
def test_a_gauge_never_leaves_its_scale(spent: str, total: str, value: str) -> None:
    assert f'value="{value}"' in call("gauge", Decimal(spent), Decimal(total), "words")


def test_a_claim_is_no_good_badge() -> None:
    proven = Guarantee(epsilon=Decimal(1))
    claimed = Guarantee(epsilon=Decimal(1), standing=Standing.CLAIMED, reason="r")
    assert '"badge"' in call("badge", proven)
    assert '"badge bad"' in call("badge", claimed)


def test_a_table_has_headings_and_links() -> None:
    text = call("table", [("venue", "text"), ("visits", "number")], [[{"text": "<x>", "href": "/a"}, "12"]])
    assert '<th scope="row" class="text"><a href="/a">&lt;x&gt;</a></th>' in text
    assert '<td class="number" data-label="visits">12</td>' in text


def test_progress_without_an_end_is_no_number() -> None:
    job = SimpleNamespace(state="running", progress={"doing": "reading", "done": 3, "of": None})
    assert "max=" not in call("progress", job)
    job.progress = {"doing": "reading", "done": 3, "of": 9}
    assert 'max="9" value="3"' in call("progress", job)


def test_a_failure_reads_as_an_error_does_in_either_form() -> None:
    error = UsageError("limit must be 1 or more", given="0", remedy="try 10")
    assert call("failure", error) == call("failure", error.to_json())
    assert "Limit must be 1 or more, not “0”." in call("failure", error)


def test_a_chart_cannot_end_its_script() -> None:
    assert "</script><b>" not in call("chart", "c", {"title": "</script><b>"})
