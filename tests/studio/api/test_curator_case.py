"""Datasets and jobs for programs: the same as the pages, over JSON."""

from collections.abc import Callable
from typing import Any

import pytest

from headcount.studio.access import Role
from tests.studio.conftest import Browser
from tests.studio.pages.test_curator_case import LOG, _own_ledger, desk, studio

__all__ = ["_own_ledger", "desk", "studio"]


@pytest.fixture
def cora(client: Callable[[Any], Browser]) -> Browser:
    """A curator's program."""
    return client(Role.CURATOR)


def registered(cora: Browser, name: str, **more: Any) -> str:
    """Register a dataset, and return what it is known by."""
    kept = cora.post("/api/v1/files?name=visits.csv", content=LOG.encode())
    assert kept.status_code == 201, kept.text
    flags = {"user": "person", "item": "venue", "items": ["tea", "rye", "oat"]}
    body = {"name": name, "source": {"files": [kept.json()["file"]]}, "flags": flags} | more
    response = cora.post("/api/v1/datasets", json=body)
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def test_from_a_file_to_a_plan_and_a_job(cora: Browser, client: Callable[[Any], Browser]) -> None:
    key = registered(cora, "by-program")
    at = f"/api/v1/datasets/{key}"
    assert cora.get(at).json()["state"] == "draft"
    assert cora.post(f"{at}/open", json={"budget": {"epsilon": 2, "per_analyst": "1"}}).json()["state"] == "open"
    assert cora.get(f"{at}/budget").json()["epsilon"] == {"budget": "2", "spent": "0", "left": "2"}
    request = {"epsilon": "1", "method": "sra", "limit": 1}
    plan = cora.post(f"{at}/plan", json={"family": "counts", "asked": request}).json()
    assert plan["price"] == {"epsilon": "1", "delta": "0"} or plan["price"]["epsilon"] == "1"
    assert plan["cells"] == {"items": 3}
    job = cora.post("/api/v1/jobs", json={"dataset": key, "family": "counts", "asked": request, "title": "Counts"})
    assert job.status_code == 202, job.text
    job_data = cora.get(f"/api/v1/jobs/{job.json()['id']}").json()
    assert (job_data["state"], job_data["asked"], job_data["title"]) == ("waiting", request, "Counts")
    assert client(Role.ANALYST).get(f"/api/v1/jobs/{job_data['id']}").status_code == 404
    ended = cora.post(f"/api/v1/jobs/{job_data['id']}/cancel").json()
    assert ended["state"] == "cancelled"
    assert cora.post(f"{at}/close").json()["state"] == "closed"


def test_an_analyst_gets_only_the_public_fields_of_a_dataset(
    cora: Browser, client: Callable[[Any], Browser]
) -> None:
    key = registered(cora, "told-of", about="Three places.")
    at = f"/api/v1/datasets/{key}"
    cora.post(f"{at}/open", json={"budget": {"epsilon": "2"}})
    ann = client(Role.ANALYST)
    assert ann.get(at).status_code == 404
    who = ann.visitor().id
    assert cora.put(f"{at}/members/{who}", json={"epsilon": "0.5"}).json()["epsilon"] == "0.5"
    description = ann.get(at).json()
    assert (description["place"], description["about"]) == (None, "Three places.")
    names = {field["name"] for field in ann.get(f"{at}/fields?family=rankings").json()}
    assert {"epsilon", "k", "since"} <= names
    assert not names & {"where", "context"}
    refused = ann.post("/api/v1/jobs", json={"dataset": key, "family": "counts", "asked": {"where": ["a = 1"]}})
    assert refused.status_code == 400
    for method, path in (("post", f"{at}/close"), ("get", f"{at}/preview"), ("get", "/api/v1/files")):
        assert getattr(ann, method)(path).status_code == 403, path
    assert cora.delete(f"{at}/members/{who}").status_code == 204
    assert ann.get(at).status_code == 404


def test_flags_travel_as_keywords_and_come_back_as_they_were(cora: Browser) -> None:
    key = registered(cora, "flags")
    flags = {"user": "1", "item": "2", "header": False, "where": ["3 = a"], "select_items": True}
    at = f"/api/v1/datasets/{key}"
    assert cora.patch(at, json={"flags": flags}).json()["flags"] == flags
    file = cora.post("/api/v1/files?name=venues.csv", content=b"id\ntea\n").json()["file"]
    listed = {"user": "1", "items": {"file": file, "columns": "id"}}
    kept = cora.patch(at, json={"flags": listed}).json()["flags"]
    assert kept == {"user": "1", "items": f"{file}:id"}
    assert cora.patch(at, json={"flags": kept}).json()["flags"] == kept


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "x", "source": {"files": ["../../etc/passwd"]}}, 404),
        ({"name": "x", "source": {"address": "postgresql://db.example/shop"}}, 400),
        ({"name": "x", "source": {"files": []}}, 400),
        ({"name": "x", "source": {"files": ["a.csv"]}, "flags": {"nonsense": 1}}, 400),
        ({"name": "x", "source": {"files": ["a.csv"]}, "reads": "nonsense"}, 404),
        ({"name": "x", "source": {"files": ["a.csv"]}, "state": "open"}, 422),
        ({"name": "x\0", "source": {"files": ["a.csv"]}}, 422),
        ({"name": "x", "source": {"files": ["a.csv"]}, "flags": {"where": 3}}, 400),
    ],
)
def test_what_is_refused_has_the_one_shape(cora: Browser, body: dict[str, Any], status: int) -> None:
    answer = cora.post("/api/v1/datasets", json=body)
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error", "problem", "given", "remedy", "message"}


def test_files_of_other_kinds_and_of_no_size_are_refused(cora: Browser) -> None:
    assert cora.post("/api/v1/files?name=visits.exe", content=b"MZ").status_code == 400
    assert cora.post("/api/v1/files?name=visits.csv", content=b"").status_code == 400


def test_trials_are_for_curators_and_refuse_what_they_do_not_know(
    cora: Browser, client: Callable[[Any], Browser]
) -> None:
    key = registered(cora, "tried")
    sent = cora.post("/api/v1/trials", json={"kind": "check", "dataset": key})
    assert sent.status_code == 202, sent.text
    cora.post(f"/api/v1/jobs/{sent.json()['id']}/cancel")
    assert cora.post("/api/v1/trials", json={"kind": "nonsense"}).status_code == 404
    wrong = {"kind": "audit", "asked": {"method": "/etc/passwd"}}
    assert cora.post("/api/v1/trials", json=wrong).status_code == 400
    assert client(Role.ANALYST).post("/api/v1/trials", json={"kind": "check"}).status_code == 403


def test_a_release_is_published_by_a_program(cora: Browser) -> None:
    unknown = cora.post("/api/v1/releases/nothing/publish", json={"note": "x"})
    assert unknown.status_code == 404
