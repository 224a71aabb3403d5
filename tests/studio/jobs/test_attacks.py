"""Attacks on datasets, jobs and releases: each is tried, and comes to nothing."""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute

from headcount.errors import HeadcountError, UnknownNameError, UsageError
from headcount.events.sources.databases.connections import AnyDriver
from headcount.studio.access import AccessLevel, Role, Visitor, access_level_of
from headcount.studio.app import routers
from headcount.studio.jobs.ipc import TaskMessage, split_request
from headcount.studio.jobs.tasks import request_for
from headcount.studio.jobs.worker import _without_paths
from headcount.studio.settings import Settings
from headcount.studio.store.datasets import Datasets
from headcount.studio.store.jobs import Jobs
from headcount.studio.store.throttling import TooManyError
from headcount.studio.studio import Studio
from tests.reports.conftest import make
from tests.studio.conftest import Browser
from tests.studio.support.releases import put, visitor_of

Client = Callable[[Role | str | None], Browser]
REQUEST = {"epsilon": "0.1", "method": "sra", "limit": 2}
NOBODYS = "0" * 32


def _ask(studio: Studio, name: str, **how: Any) -> str:
    dataset = studio.datasets.listed(visitor_of(studio, "cora"))[0].id
    return studio.jobs.ask(visitor_of(studio, name), dataset=dataset, family="counts", asked=REQUEST, **how).id


def _routes_with(parameter: str) -> list[tuple[APIRoute, str]]:
    routes = [route for router in routers() for route in router.routes if isinstance(route, APIRoute)]
    return [
        (route, method)
        for route in routes
        for method in route.methods or ()
        if f"{{{parameter}}}" in route.path and access_level_of(route) is AccessLevel.SIGNED_IN
    ]


def _address(route: APIRoute, **values: str) -> str:
    return re.sub(r"\{(\w+)(:\w+)?\}", lambda match: values.get(match[1], "0"), route.path)


# What belongs to somebody else does not exist


@pytest.mark.parametrize("state", ["review", "withheld", "own"])
def test_a_release_of_another_user_does_not_exist(published: Studio, client: Client, state: str) -> None:
    hidden = put(published, make(), state=state, owner="bob" if state == "own" else "cora", title="the hidden one")
    ann = client("ann")
    routes = _routes_with("release")
    assert routes
    for route, method in routes:
        theirs = ann.request(method, _address(route, release=hidden))
        none = ann.request(method, _address(route, release=NOBODYS))
        assert theirs.status_code == none.status_code, (method, route.path)
        assert theirs.status_code in (404, 422), (method, route.path)  # 422: the rest of the address is made up
        assert theirs.text.replace(hidden, NOBODYS) == none.text, (method, route.path)
    assert "the hidden one" not in ann.get("/releases").text + ann.get("/").text


def test_a_job_of_another_user_does_not_exist(published: Studio, client: Client) -> None:
    theirs = _ask(published, "cora", title="the hidden one")
    ann = client("ann")
    for route, method in _routes_with("job"):
        hidden = ann.request(method, _address(route, job=theirs))
        none = ann.request(method, _address(route, job=NOBODYS))
        assert hidden.status_code == none.status_code == 404, (method, route.path)
        assert hidden.text.replace(theirs, NOBODYS) == none.text, (method, route.path)
    for ask in (published.jobs.get, published.jobs.cancel, published.jobs.again):
        with pytest.raises(UnknownNameError):
            ask(visitor_of(published, "ann"), theirs)


def test_a_dataset_of_others_does_not_exist(published: Studio, client: Client) -> None:
    dataset_id = published.datasets.listed(visitor_of(published, "cora"))[0].id
    bob = client("bob")
    for route, method in _routes_with("dataset"):
        theirs = bob.request(method, _address(route, dataset=dataset_id))
        none = bob.request(method, _address(route, dataset=NOBODYS))
        assert theirs.status_code == none.status_code, (method, route.path)
        assert theirs.text.replace(dataset_id, NOBODYS) == none.text, (method, route.path)
    with pytest.raises(UnknownNameError):
        _ask(published, "bob")
    assert published.datasets.listed(visitor_of(published, "bob")) == []


def test_an_analyst_changes_nothing_of_a_dataset_or_release(published: Studio) -> None:
    ann, dataset = visitor_of(published, "ann"), published.datasets.listed(visitor_of(published, "cora"))[0].id
    release = published.releases.listed(ann)[0].id
    tries: list[Callable[[], object]] = [
        lambda: published.datasets.update(ann, dataset, about="mine"),
        lambda: published.datasets.allow(ann, dataset, str(ann.id), "9"),
        lambda: published.datasets.close(ann, dataset),
        lambda: published.datasets.members(ann, dataset),
        lambda: published.releases.withhold(ann, release),
        lambda: published.releases.retitle(ann, release, title="mine"),
        lambda: published.jobs.ask(ann, kind="check", dataset=dataset),
        lambda: published.jobs.ask(ann, kind="compare", dataset=dataset),
    ]
    for tried in tries:
        with pytest.raises(HeadcountError, match=r"for curators|not yours"):
            tried()


@pytest.mark.parametrize(
    "extra_fields",
    [
        {"user": "venue"},  # a promise to venues
        {"item": "user"},
        {"items": ["p7"]},  # whether somebody is in it
        {"table": "x"},
        {"query": "SELECT 1"},
        {"where": ["user=p7"]},
        {"context": ["user"], "contexts": ["p7"]},
    ],
)
def test_an_analyst_does_not_say_how_the_log_is_read(published: Studio, extra_fields: dict[str, Any]) -> None:
    """It is refused where it is asked for, or the request has no such field, so that the process refuses it."""
    dataset = published.datasets.listed(visitor_of(published, "cora"))[0].id
    request = {**REQUEST, **extra_fields}
    try:
        published.jobs.ask(visitor_of(published, "ann"), dataset=dataset, family="counts", asked=request)
    except HeadcountError:
        return
    fields, reading, _ = split_request(request)
    assert not reading
    with pytest.raises(HeadcountError):
        request_for(published.settings, "counts", fields, by_curator=False)


@pytest.mark.parametrize(
    "extra_fields",
    [
        {"bins": "visits.csv"},
        {"options": {"depth": "visits.csv"}},
        {"options": {"depth": "notes"}},
        {"options": {"depth": "../studio.db"}},
        {"research": True},
        {"research": "true"},
    ],
)
def test_an_analyst_names_no_file_and_no_method_for_research(
    published: Studio, extra_fields: dict[str, Any]
) -> None:
    """What is in a file would be told by errors, or by what is released."""
    (published.settings.files / "notes").write_text("p7 is on leave", encoding="utf-8")
    with pytest.raises(HeadcountError, match="curators") as caught:
        request_for(published.settings, "counts", {**REQUEST, **extra_fields}, by_curator=False)
    assert "p7" not in str(caught.value)


# Paths and addresses


@pytest.mark.parametrize(
    "name",
    [
        "../studio.db",
        "..",
        "/etc/passwd",
        "uploads/../../headcount.db",
        "C:\\logs\\visits.csv",
        "..\\studio.db",
        "file:///etc/passwd",
        "visits.csv\x00.parquet",
        "link.csv",
        "folder",
        "",
        "~/.ssh/id_rsa",
    ],
)
def test_no_name_leads_out_of_the_files(published: Studio, name: str) -> None:
    files = published.settings.files
    (files / "link.csv").symlink_to(published.settings.data / "studio.db")
    (files / "folder").mkdir()
    (files / "folder" / "out").symlink_to("/etc")
    cora = visitor_of(published, "cora")
    for source in ({"files": [name]}, {"files": ["visits.csv", name]}, {"address": f"sqlite:///{name}"}):
        with pytest.raises(HeadcountError):
            published.datasets.register(cora, name="other", source=source)
    assert len(published.datasets.listed(cora)) == 1


@pytest.mark.parametrize(
    "address",
    [
        "http://169.254.169.254/latest/meta-data/",
        "https://evil.example/log.csv",
        "postgresql://127.0.0.1:5432/postgres",
        "s3://bucket/log.parquet",
        "sqlite:////etc/passwd",
        "duckdb:///../studio.db",
        "adbc+postgresql://127.0.0.1/x",
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/",
        "jar:http://evil.example!/",
    ],
)
def test_no_address_makes_the_server_connect_elsewhere(published: Studio, address: str) -> None:
    cora = visitor_of(published, "cora")
    with pytest.raises(HeadcountError):
        published.datasets.register(cora, name="other", source={"address": address})


@pytest.mark.parametrize(
    "driver", ["manager:./uploads/evil.csv", "nowhere:x", "/srv/evil.so:x", "snowflake: Profile://x", "sqlite:x"]
)
def test_with_remote_no_address_names_a_library_to_run(published: Studio, driver: str) -> None:
    """The manager of ADBC takes a name, or what a profile says, for the path of a library."""
    remote = Settings(published.settings.data, remote=True)
    datasets, cora = Datasets(remote, published.store, published.ledger), visitor_of(published, "cora")
    with pytest.raises(UsageError, match="no address that can be read"):
        datasets.register(cora, name="evil", source={"address": f"adbc+{driver}"})
    fine = datasets.register(cora, name="fine", source={"address": "adbc+postgresql:postgresql://db.example/shop"})
    assert fine.place == "adbc+postgresql"


@pytest.mark.parametrize("driver", ["manager", "nowhere", "./evil", "manager.dbapi", "postgresql.dbapi", ""])
def test_no_driver_name_is_the_path_of_a_library(tmp_path: Path, driver: str) -> None:
    with pytest.raises(UsageError, match="no ADBC driver that is installed"):
        AnyDriver(f"adbc+{driver}:{tmp_path}/evil.csv")


def test_a_password_in_an_address_is_never_shown(tmp_path: Path, published: Studio) -> None:
    remote = Settings(published.settings.data, remote=True)
    datasets = Datasets(remote, published.store, published.ledger)
    address = "postgresql://reader:tulip@db.example/shop"
    dataset = datasets.register(visitor_of(published, "cora"), name="shop", source={"address": address})
    assert "tulip" not in dataset.place
    assert "tulip" not in repr(published.audit_log.listed())


def test_no_path_leads_out_of_a_release(published: Studio, client: Client) -> None:
    ann = client("ann")
    release = published.releases.listed(visitor_of(published, "ann"))[0].id
    for bad in ("../../studio.db", "..%2f..%2fstudio.db", "%2e%2e/%2e%2e/studio", "/etc/passwd", "....//studio"):
        for place in (
            f"downloads/tables/{bad}.csv",
            f"tables/{bad}",
            f"charts/{bad}",
            f"downloads/charts/{bad}.png",
        ):
            assert ann.get(f"/releases/{release}/{place}").status_code == 404, place
    names = zipfile.ZipFile(io.BytesIO(ann.get(f"/releases/{release}/downloads/release.zip").content)).namelist()
    assert names
    assert not any(name.startswith("/") or ".." in name for name in names)


# Names that mean mischief


def test_names_in_a_release_are_text(published: Studio, client: Client) -> None:
    bad = "<script>alert(1)</script>"
    items = [bad, '"><img src=x onerror=alert(1)>', "javascript:alert(1)"]
    release = put(published, make(items=items, contexts=[bad, "Friday"]), title=bad, note=bad)
    ann = client("ann")
    for place in ("", "/contexts", "/heat", "/promise", "/downloads", f"/items/{items[0]}"):
        page = ann.get(f"/releases/{release}{place}")
        assert page.status_code == 200, place
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
    assert "<script>alert" not in ann.get("/").text + ann.get("/releases").text


def test_a_spreadsheet_runs_nothing(published: Studio, client: Client) -> None:
    items = ["=cmd|' /C calc'!A0", "+1+1", "-2", "@SUM(1)", "\t=1", "\r=1"]
    release = put(published, make(items=items, labels=items))
    answer = client("ann").get(f"/releases/{release}/downloads/tables/items.csv")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"
    cells = re.split(r"[,\n]", answer.text)
    assert not [cell for cell in cells if re.match(r'"?[=+@\t\r]|"?-[^0-9]|"?-2"', cell)], answer.text


def test_a_file_name_makes_no_header(published: Studio, client: Client) -> None:
    release = put(published, make(), title='x"\r\nset-cookie: a=b; filename="evil.html')
    answer = client("ann").get(f"/releases/{release}/downloads/tables/items.csv")
    assert "set-cookie" not in answer.headers
    assert re.fullmatch(r'attachment; filename="[a-z0-9.-]+"', answer.headers["content-disposition"])


@pytest.mark.parametrize("search", ["' OR 1=1 --", "%", "_", "\\", "(", ".*" * 500, "\u202e", "v" * 5000])
def test_a_search_is_never_part_of_a_statement(published: Studio, client: Client, search: str) -> None:
    release = published.releases.listed(visitor_of(published, "ann"))[0].id
    answer = client("ann").get(f"/releases/{release}", params={"q": search, "search": search, "page": "-1"})
    assert answer.status_code < 500


# Uploads


@pytest.mark.parametrize(
    "name", ["evil.html", "evil.svg", "evil.py", "x.csv.exe", ".csv", "", "../../x.sh", "a.csv/"]
)
def test_files_of_another_kind_are_not_taken(published: Studio, client: Client, name: str) -> None:
    cora = client("cora")
    answer = cora.post("/uploads", files={"file": (name or " ", b"a,b\n1,2\n")})
    assert 400 <= answer.status_code < 500
    assert not [
        path for path in published.settings.files.rglob("*") if path.is_file() and path.name != "visits.csv"
    ]


def test_a_file_that_unpacks_without_end_is_only_kept(published: Studio, client: Client) -> None:
    """A few bytes that stand for a gigabyte: the server keeps them as they came, and reads nothing of them."""
    import gzip

    bomb = gzip.compress(b"0" * 50_000_000)
    answer = client("cora").post("/uploads", files={"file": ("bomb.csv.gz", bomb)})
    assert answer.status_code in (200, 303)
    (kept,) = published.settings.files.rglob("bomb.csv.gz")
    assert kept.read_bytes() == bomb


def test_an_upload_stays_where_it_belongs(published: Studio, client: Client) -> None:
    client("cora").post("/uploads", files={"file": ("../../../visits2.csv", b"a,b\n1,2\n")})
    (kept,) = published.settings.files.rglob("visits2.csv")
    assert kept.resolve().is_relative_to(published.settings.files.resolve() / "uploads")
    assert os.stat(kept.parent).st_mode & 0o077 == 0


# What time and counts tell


def test_an_analyst_does_not_learn_early_that_a_job_has_ended(published: Studio) -> None:
    """Not by its state, its times, its place in a list, or by how many more may wait."""
    now = [1000.0]
    ann, clocked = visitor_of(published, "ann"), _clocked(published, now)
    dataset = published.datasets.listed(ann)[0].id
    first = clocked.ask(ann, dataset=dataset, family="counts", asked=REQUEST)
    waiting = clocked.get(ann, first.id)
    taken = clocked.take()
    assert taken is not None
    assert clocked.get(ann, first.id) == waiting
    now[0] += 1
    clocked.end(first.id, "failed", {"error": "WithheldError"})
    assert clocked.get(ann, first.id) == waiting
    assert clocked.listed(ann) == [waiting]
    for _ in range(published.settings.limits.waiting - 1):
        clocked.ask(ann, dataset=dataset, family="counts", asked=REQUEST)
    with pytest.raises(TooManyError):  # the first counts until it is shown
        clocked.ask(ann, dataset=dataset, family="counts", asked=REQUEST)
    now[0] = 1000.0 + published.settings.limits.step_seconds
    assert clocked.get(ann, first.id).state == "failed"
    clocked.ask(ann, dataset=dataset, family="counts", asked=REQUEST)


def _clocked(studio: Studio, now: list[float]) -> Jobs:
    return Jobs(studio.settings.limits, studio.store, studio.datasets, lambda: now[0])


def test_a_plan_gets_only_what_its_user_may_see(published: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    put(published, make(), state="review", digest="e" * 64)
    put(published, make(), state="own", owner="bob", digest="f" * 64)
    dataset = published.datasets.listed(visitor_of(published, "cora"))[0].id
    tasks_sent: list[TaskMessage] = []

    def look(task: TaskMessage) -> dict[str, Any]:
        tasks_sent.append(task)
        return {}

    monkeypatch.setattr(published.work._plan_pool, "run_quick_task", look)
    published.work.run_quick_task(
        visitor_of(published, "ann"), "plan", dataset=dataset, family="counts", asked=REQUEST
    )
    shared = [release.digest for release in published.releases.listed(visitor_of(published, "ann"))]
    assert list(tasks_sent[0].visible_digests) == shared
    assert not {"e" * 64, "f" * 64} & set(shared)


def test_an_analyst_needs_an_account(published: Studio) -> None:
    with pytest.raises(HeadcountError):
        _ = published.datasets.get(Visitor(), published.datasets.listed(visitor_of(published, "cora"))[0].id)
    assert published.jobs.listed(Visitor()) == []


@pytest.mark.parametrize("state", ["review", "withheld", "own", "published"])
def test_what_others_may_not_see_is_not_had_by_asking_for_the_same(published: Studio, state: str) -> None:
    """A request that was released already costs nothing, and gives that release: to whom it is for."""
    job = _ask(published, "ann")
    put(published, make(), state=state, owner="bob" if state == "own" else "cora", digest="d" * 64)
    published.jobs.take()
    done = {"earlier": True, "payer": "bob" if state == "own" else "cora"}
    published.jobs.end(job, "done", done, release_files={"folder": job, "digest": "d" * 64})
    cora = visitor_of(published, "cora")
    assert published.jobs.get(cora, job).state == ("done" if state == "published" else "failed")
    assert (published.releases.of_job(cora, job) is not None) is (state == "published")


def test_a_charged_request_is_free_when_repeated(published: Studio) -> None:
    job = _ask(published, "ann")
    published.jobs.take()
    done = {"earlier": True, "payer": "ann"}
    published.jobs.end(job, "done", done, release_files={"folder": job, "digest": "d" * 64})
    assert published.releases.of_job(visitor_of(published, "cora"), job) is not None
    assert "payer" not in repr(published.jobs.get(visitor_of(published, "cora"), job).outcome)


def test_the_api_hides_other_users_data_too(published: Studio, client: Client) -> None:
    dataset = published.datasets.listed(visitor_of(published, "cora"))[0].id
    hidden = put(published, make(), state="withheld", title="the hidden one")
    shown = published.releases.listed(visitor_of(published, "ann"))[0].id
    bob, wanted = client("bob"), {"family": "counts", "asked": {"epsilon": "1"}}
    theirs = [
        bob.post(f"/api/v1/datasets/{dataset}/plan", json=wanted),
        bob.post("/api/v1/jobs", json={**wanted, "dataset": dataset}),
        bob.get("/api/v1/compare", params={"first": shown, "second": hidden}),
        bob.get(f"/api/v1/datasets/{dataset}/fields"),
    ]
    none = [
        bob.post(f"/api/v1/datasets/{NOBODYS}/plan", json=wanted),
        bob.post("/api/v1/jobs", json={**wanted, "dataset": NOBODYS}),
        bob.get("/api/v1/compare", params={"first": shown, "second": NOBODYS}),
        bob.get(f"/api/v1/datasets/{NOBODYS}/fields"),
    ]
    assert [response.status_code for response in theirs] == [404] * 4
    assert [response.json() for response in theirs] == [response.json() for response in none]
    assert "the hidden one" not in bob.get("/api/v1/releases").text
    assert bob.get("/api/v1/jobs", params={"dataset": dataset}).json() == []


def test_a_withheld_release_is_unreachable_at_once(published: Studio, client: Client) -> None:
    ann, cora = client("ann"), visitor_of(published, "cora")
    release = published.releases.listed(cora)[0].id
    addresses = [_address(route, release=release) for route, method in _routes_with("release") if method == "GET"]
    reachable = [address for address in addresses if ann.get(address).status_code == 200]
    assert len(reachable) > 5
    published.releases.withhold(cora, release)
    assert [ann.get(address).status_code for address in reachable] == [404] * len(reachable)


def test_nothing_behind_a_door_is_stored_by_a_cache(published: Studio, client: Client) -> None:
    cora = client("cora")
    release = published.releases.listed(cora.visitor())[0].id
    dataset = published.datasets.listed(cora.visitor())[0].id
    job = _ask(published, "ann")
    for router in routers():
        for route in router.routes:
            assert isinstance(route, APIRoute)
            slow = route.path.endswith(("/preview", "/columns", "/plan"))  # these start a process
            if access_level_of(route) is not AccessLevel.ANYONE and "GET" in (route.methods or ()) and not slow:
                answer = cora.get(_address(route, release=release, dataset=dataset, job=job))
                assert answer.headers["cache-control"] == "no-store", route.path


def test_a_large_upload_shows_its_token_in_the_header(published: Studio, client: Client) -> None:
    """Nothing of it is read before that, and elsewhere so much is never taken."""
    cora, large = client("cora"), b"user,venue\n" + b"ann,tea\n" * 300_000
    assert cora.post("/uploads", files={"file": ("large.csv", large)}).status_code == 303
    assert cora.post("/api/v1/files", params={"name": "large.csv"}, content=large).status_code == 201
    assert cora.post("/people", files={"name": ("large.csv", large)}).status_code == 413
    token = cora.headers.pop("x-csrf-token")
    assert cora.post("/uploads", files={"file": ("late.csv", large)}, data={"csrf": token}).status_code == 403
    assert len(list(published.settings.files.rglob("large.csv"))) == 2
    assert not list(published.settings.files.rglob("late.csv"))


def test_a_form_that_does_not_say_how_long_it_is_is_not_held(published: Studio, client: Client) -> None:
    """Where uploads are taken a body may be long: one without a length must not be read to find its token."""
    cora = client("cora")
    token, read = cora.headers.pop("x-csrf-token"), []

    def parts() -> Iterator[bytes]:
        for number in range(50):
            read.append(number)
            yield b"csrf=" + token.encode() + b"&" if not number else b"x" * 1000

    kind = {"content-type": "application/x-www-form-urlencoded"}
    assert cora.post("/uploads", content=parts(), headers=kind).status_code == 403


def test_no_error_says_where_the_studio_lies(published: Studio) -> None:
    """What was released, and is gone from its folder, is said to be gone from there: by its name alone."""
    task = TaskMessage.create(published.settings, "release", by_curator=True)
    error = _without_paths(
        UsageError(f"published in {task.data}/releases/7, which is gone", remedy=task.data), task
    )
    assert "the studio's folder/releases/7" in str(error)
    assert task.data not in repr(error.to_json())
