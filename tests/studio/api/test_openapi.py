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

from headcount.studio.access import AccessLevel, Role, access_level_of
from headcount.studio.app import app_for_studio
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
        (route.path_format, method.lower()): access_level_of(route)
        for route in app.state.routes
        for method in route.methods
    }
    operations = [
        (path, method, operation) for path, held in document["paths"].items() for method, operation in held.items()
    ]
    assert operations
    for path, method, operation in operations:
        assert path.startswith("/api/v1/")
        assert operation["security"] == ([] if doors[path, method] is AccessLevel.ANYONE else [{"token": []}])
        assert operation["responses"]["404"]["content"]["application/json"]["schema"]["$ref"].endswith("/Failure")


def test_every_route_for_programs_is_in_the_document(app: FastAPI) -> None:
    documented = {(path, method) for path, held in app.openapi()["paths"].items() for method in held}
    hidden = {"/api/v1/openapi.json"}
    there = {
        (route.path_format, method.lower())
        for route in app.state.routes
        for method in route.methods
        if route.path.startswith("/api/")
    }
    assert {entry for entry in there if entry[0] not in hidden} == documented


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.usefixtures("published")
def test_no_generated_request_breaks_the_server(role: Role, client: Client) -> None:
    assert _send_generated(client(role), 50).total() == 50


@pytest.mark.slow
@pytest.mark.parametrize("role", list(Role))
@pytest.mark.usefixtures("published")
def test_not_one_of_thousands_breaks_the_server(role: Role, client: Client) -> None:
    asks = client(role)
    operations = _send_generated(asks, 1_200)
    assert operations.total() == 1_200
    paths = asks.app.openapi()["paths"]  # type: ignore[attr-defined]
    assert set(operations) == {f"{method.upper()} {path}" for path, held in paths.items() for method in held}


@pytest.mark.slow
def test_nor_does_one_where_the_store_is_postgresql(tmp_path: Path) -> None:
    studio = Studio(Settings(tmp_path / "desk", store=new_schema()))
    people(studio)
    publish(studio)
    asks = Browser(app_for_studio(studio))
    asks.sign_in("cora")
    assert _send_generated(asks, 400).total() == 400
    studio.stop()


def test_a_server_that_breaks_is_noticed(app: FastAPI, client: Client) -> None:
    asks = client(Role.CURATOR)
    asks.studio.accounts.tokens = lambda _visitor: 1 / 0  # type: ignore[method-assign,assignment,return-value]
    with pytest.raises(AssertionError):
        _send_generated(asks, 50, among="/api/v1/account/tokens")


def _send_generated(asks: Browser, many: int, among: str = "/") -> Counter[str]:
    """Send so many requests, made up from the document, sound and broken; count them by operation."""
    schema = schemathesis.openapi.from_dict(asks.app.openapi())  # type: ignore[attr-defined]
    operations: list[Any] = [operation.ok() for operation in schema.get_all_operations()]  # type: ignore[union-attr]
    operations = [operation for operation in operations if operation.path.startswith(among)]
    sound = [operation.as_strategy(generation_mode=GenerationMode.POSITIVE) for operation in operations]
    broken = [operation.as_strategy(generation_mode=GenerationMode.NEGATIVE) for operation in operations]
    requests_sent: Counter[str] = Counter()
    ids = _ids(asks.studio)

    @settings(
        max_examples=many,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(st.one_of(sound + broken), st.sampled_from([None, *ids]))
    def send(case: Any, object_id: str | None) -> None:
        if object_id is not None:  # something that is there
            case.path_parameters = dict.fromkeys(case.path_parameters or {}, object_id)
        answer = asks.request(**_request(case, asks))
        requests_sent[case.operation.label] += 1
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            assert set(answer.json()) == SHAPE
        assert str(answer.status_code) in case.operation.definition.raw["responses"] or answer.status_code == 405

    send()
    return requests_sent


def _ids(studio: Studio) -> list[str]:
    """Return ids of what is there."""
    cora, ann = (visitor_of(studio, name) for name in ("cora", "ann"))
    datasets = [dataset.id for dataset in studio.datasets.listed(cora)]
    request: dict[str, Any] = {"family": "counts", "asked": {"epsilon": "1"}}
    jobs = [studio.jobs.ask(ann, dataset=dataset.id, **request).id for dataset in studio.datasets.listed(ann)]
    releases = [dataset.id for dataset in studio.releases.listed(cora)]
    return [*datasets, *jobs, *releases, *(user.id for user in studio.accounts.listed())]


def _request(case: Any, asks: Browser) -> dict[str, Any]:
    request = case.as_transport_kwargs(base_url=asks.studio.settings.base_url)
    kept = {"authorization", "cookie", "host", "origin", "x-csrf-token", "content-length"}
    request["headers"] = {name: value for name, value in request["headers"].items() if name.lower() not in kept}
    if isinstance(request.get("data"), bytes | str):
        request["content"] = request.pop("data")
    return {name: value for name, value in request.items() if value is not None and name != "cookies"}
