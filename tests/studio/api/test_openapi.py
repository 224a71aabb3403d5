"""What programs are told of the API, and requests that are made up from it: none is too much for the server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from headcount.studio.access import Door, Role, door_of
from headcount.studio.app import app_of
from headcount.studio.settings import Settings
from headcount.studio.studio import Studio
from tests.studio.conftest import Browser, people, publish
from tests.studio.support.releases import visitor_of
from tests.support.servers import new_schema

Client = Callable[[Role | str | None], Browser]
SHAPE = {"error", "problem", "given", "remedy", "message"}


def test_the_document_says_how_one_proves_who_one_is(app: FastAPI, client: Client) -> None:
    document = client(None).get("/api/v1/openapi.json").json()
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    doors = {
        (route.path_format, method.lower()): door_of(route)
        for route in app.state.routes
        for method in route.methods
    }
    operations = [
        (path, method, each) for path, held in document["paths"].items() for method, each in held.items()
    ]
    assert operations
    for path, method, each in operations:
        assert path.startswith("/api/v1/")
        assert each["security"] == ([] if doors[path, method] is Door.ANYONE else [{"token": []}])
        assert each["responses"]["404"]["content"]["application/json"]["schema"]["$ref"].endswith("/Failure")


def test_every_route_for_programs_is_in_the_document(app: FastAPI) -> None:
    told = {(path, method) for path, held in app.openapi()["paths"].items() for method in held}
    hidden = {"/api/v1/openapi.json"}
    there = {
        (route.path_format, method.lower())
        for route in app.state.routes
        for method in route.methods
        if route.path.startswith("/api/")
    }
    assert {each for each in there if each[0] not in hidden} == told


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.usefixtures("published")
def test_no_made_up_request_breaks_the_server(role: Role, client: Client) -> None:
    assert _made_up(client(role), 50).total() == 50


@pytest.mark.slow
@pytest.mark.parametrize("role", list(Role))
@pytest.mark.usefixtures("published")
def test_not_one_of_thousands_breaks_the_server(role: Role, client: Client) -> None:
    asks = client(role)
    told = _made_up(asks, 1_200)
    assert told.total() == 1_200
    paths = asks.app.openapi()["paths"]  # type: ignore[attr-defined]
    assert set(told) == {f"{method.upper()} {path}" for path, held in paths.items() for method in held}


@pytest.mark.slow
def test_nor_does_one_where_the_store_is_postgresql(tmp_path: Path) -> None:
    studio = Studio(Settings(tmp_path / "desk", store=new_schema()))
    people(studio)
    publish(studio)
    asks = Browser(app_of(studio))
    asks.sign_in("cora")
    assert _made_up(asks, 400).total() == 400
    studio.stop()


def test_a_server_that_breaks_is_noticed(app: FastAPI, client: Client) -> None:
    asks = client(Role.CURATOR)
    asks.studio.people.tokens = lambda _visitor: 1 / 0  # type: ignore[method-assign,assignment,return-value]
    with pytest.raises(AssertionError):
        _made_up(asks, 50, among="/api/v1/account/tokens")


def _made_up(asks: Browser, many: int, among: str = "/") -> Counter[str]:
    """Send so many requests, made up from the document, sound and broken; count them by operation."""
    schema = schemathesis.openapi.from_dict(asks.app.openapi())  # type: ignore[attr-defined]
    operations: list[Any] = [each.ok() for each in schema.get_all_operations()]  # type: ignore[union-attr]
    operations = [each for each in operations if each.path.startswith(among)]
    sound = [each.as_strategy(generation_mode=GenerationMode.POSITIVE) for each in operations]
    broken = [each.as_strategy(generation_mode=GenerationMode.NEGATIVE) for each in operations]
    told: Counter[str] = Counter()
    ids = _ids(asks.studio)

    @settings(
        max_examples=many,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(st.one_of(sound + broken), st.sampled_from([None, *ids]))
    def send(case: Any, known: str | None) -> None:
        if known is not None:  # something that is there
            case.path_parameters = dict.fromkeys(case.path_parameters or {}, known)
        answer = asks.request(**_request(case, asks))
        told[case.operation.label] += 1
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            assert set(answer.json()) == SHAPE
        assert str(answer.status_code) in case.operation.definition.raw["responses"] or answer.status_code == 405

    send()
    return told


def _ids(studio: Studio) -> list[str]:
    """Return ids of what is there."""
    cora, ann = (visitor_of(studio, name) for name in ("cora", "ann"))
    datasets = [each.id for each in studio.datasets.listed(cora)]
    asked: dict[str, Any] = {"family": "counts", "asked": {"epsilon": "1"}}
    jobs = [studio.jobs.ask(ann, dataset=each.id, **asked).id for each in studio.datasets.listed(ann)]
    releases = [each.id for each in studio.releases.listed(cora)]
    return [*datasets, *jobs, *releases, *(each.id for each in studio.people.listed())]


def _request(case: Any, asks: Browser) -> dict[str, Any]:
    made = case.as_transport_kwargs(base_url=asks.studio.settings.base_url)
    kept = {"authorization", "cookie", "host", "origin", "x-csrf-token", "content-length"}
    made["headers"] = {name: value for name, value in made["headers"].items() if name.lower() not in kept}
    if isinstance(made.get("data"), bytes | str):
        made["content"] = made.pop("data")
    return {name: value for name, value in made.items() if value is not None and name != "cookies"}
