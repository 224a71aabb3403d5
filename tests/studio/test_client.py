"""A studio from Python: releases as they were released, errors as they are here, requests that are paid for."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

import headcount as hc
from headcount.errors import DataError, RefusedError, SurroundingsError, UnknownNameError, UsageError
from headcount.studio.app import app_for_studio
from headcount.studio.client import Client
from headcount.studio.settings import Limits, Settings
from headcount.studio.studio import Studio
from tests.reports.conftest import make
from tests.studio.browser.conftest import serving
from tests.studio.conftest import people
from tests.studio.support.releases import put, visitor_of

ROOT = Path(__file__).parents[2]


@dataclass
class Served:
    """A studio that is served, with tokens of Ann and Bob; Ann may spend ε = 3 on visits."""

    studio: Studio
    base: str
    ann: Client
    bob: Client
    release: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("client")
    held: list[Studio] = []

    def make_app(port: int) -> object:
        held.append(Studio(Settings(folder / "desk", port=port, limits=Limits(step_seconds=0.0))))
        return app_for_studio(held[0])

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADCOUNT_LEDGER_KEY", str(folder / "ledger.key"))
        patch.setenv("HEADCOUNT_LEDGER_ANCHOR", str(folder / "ledger.anchor"))
        with serving(make_app) as base:
            studio = held[0]
            people(studio)
            rows = "person,venue\n" + "".join(f"u{n},{('tea', 'rye')[n % 3 == 0]}\n" for n in range(600))
            (studio.settings.files / "visits.csv").write_text(rows, encoding="utf-8")
            cora, ann = (visitor_of(studio, name) for name in ("cora", "ann"))
            flags = {"user": "person", "item": "venue", "items": ["tea", "rye"]}
            dataset = studio.datasets.register(
                cora, name="visits", source={"files": ["visits.csv"]}, flags=flags, about="Visits."
            )
            studio.datasets.open(cora, dataset.id, epsilon="10")
            studio.datasets.allow(cora, dataset.id, ann.id or "", "3")
            mine, his = (
                Client(base, studio.accounts.make_token(visitor_of(studio, name), "test")[1])
                for name in ("ann", "bob")
            )
            key = put(studio, make(contexts=("Monday", "Friday")), title="Where people go")
            yield Served(studio, base, mine, his, key)


def test_a_release_arrives_as_it_was_released(served: Served) -> None:
    (listed,) = served.ann.releases()
    assert listed["title"] == "Where people go"
    got = served.ann.release(listed)
    wanted = make(contexts=("Monday", "Friday"))
    assert got.top(3, "friday") == wanted.top(3, "friday")
    assert got.to_json() == wanted.to_json()
    assert all(got.tables[name].equals(table) for name, table in wanted.tables.items())


def test_what_goes_wrong_is_raised_as_it_is_here(served: Served) -> None:
    with pytest.raises(UnknownNameError, match="there is no such release"):
        served.ann.release("0" * 32)
    with pytest.raises(UnknownNameError, match="dataset 'vists' is not known; did you mean 'visits'"):
        served.ann.plan("vists", k=1)
    with pytest.raises(UnknownNameError, match="dataset 'visits' is not known"):
        served.bob.budget("visits")
    with pytest.raises(UsageError, match="there is no colour here"):
        served.ann.ask("visits", "rankings", k=1, epsilon="1", colour="red")
    with pytest.raises(RefusedError, match=r"not|token|signed"):
        Client(served.base, "hc_no-such-token").releases()
    with pytest.raises(SurroundingsError, match="cannot be reached"):
        Client("http://127.0.0.1:1", "x", timeout=5).releases()


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "127.0.0.1:8000", "file:///etc/passwd", "http://"])
def test_what_is_no_address_of_a_studio_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="a studio has an address"):
        Client(url, "x")


def test_a_token_is_not_shown_and_does_not_travel_unprotected() -> None:
    assert "secret" not in repr(Client("https://studio.example", "secret"))
    with pytest.raises(UsageError, match="unprotected"):
        Client("http://studio.example", "secret")
    assert Client("http://studio.example", "secret", allow_http=True).url


def test_a_token_for_this_machine_goes_through_no_proxy() -> None:
    """The proxies of the environment are read when the module is: a process of its own has one."""
    with odd(releases=(200, {}, b"[]")) as client:
        proxy = {"http_proxy": client.url, "https_proxy": client.url, "no_proxy": "", "NO_PROXY": ""}
        ask = "import sys, headcount.studio.client as c; c.Client(sys.argv[1], 'secret', timeout=5).releases()"
        completed = subprocess.run(
            [sys.executable, "-c", ask, "http://127.0.0.1:1"],
            env=os.environ | proxy,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert Odd.requested_paths == []
        assert "cannot be reached" in completed.stderr


class Odd(BaseHTTPRequestHandler):
    """A server that is no studio."""

    answers: ClassVar[dict[str, tuple[int, dict[str, str], bytes]]] = {}
    requested_paths: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        Odd.requested_paths.append(self.path)
        status, headers, content = Odd.answers[self.path]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def odd(**answers: tuple[int, dict[str, str], bytes]) -> Iterator[Client]:
    Odd.answers = {f"/api/v1/{path}": answer for path, answer in answers.items()}
    Odd.requested_paths = []
    with HTTPServer(("127.0.0.1", 0), Odd) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield Client(f"http://127.0.0.1:{server.server_port}", "secret", timeout=10)
        finally:
            server.shutdown()
            thread.join()


def test_a_token_goes_nowhere_else() -> None:
    with odd(releases=(302, {"Location": "/api/v1/datasets"}, b""), datasets=(200, {}, b"[]")) as client:
        with pytest.raises(hc.HeadcountError, match="302"):
            client.releases()
        assert Odd.requested_paths == ["/api/v1/releases"]


def test_a_server_that_is_no_studio_is_refused() -> None:
    with odd(releases=(200, {}, b"<html>"), datasets=(502, {}, b"bad gateway")) as client:
        with pytest.raises(SurroundingsError, match="does not answer as a studio does"):
            client.releases()
        with pytest.raises(SurroundingsError, match="502"):
            client.datasets()


@pytest.mark.parametrize("name", ["../evil.parquet", "/etc/passwd", "model/../x.parquet", "run.py", "a/b.parquet"])
def test_nothing_is_unpacked_that_has_no_place_in_a_release(name: str) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as packed:
        packed.writestr(name, b"x")
    with (
        odd(**{"releases/1/folder": (200, {}, held.getvalue()), "releases/2/folder": (200, {}, b"PK")}) as client,
        pytest.raises(DataError, match="has no place in a release"),
    ):
        client.release("1")
    with (
        odd(**{"releases/2/folder": (200, {}, b"PK")}) as client,
        pytest.raises(DataError, match="no release"),
    ):
        client.release("2")


@pytest.mark.slow
def test_what_the_page_shows_runs(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```text\n(client = hc\.Client.*?)^```$", page, re.MULTILINE | re.DOTALL)
    address, token = served.base, served.ann.token
    example = shown.replace('"http://127.0.0.1:8000"', repr(address)).replace('"hc_…"', repr(token))
    names: dict[str, Any] = {"hc": hc}
    exec(compile(example, "docs/python.md", "exec"), names)
    assert names["ranking"].top(1)[0]["item"] == "tea"
    assert served.ann.budget("visits")["epsilon"]["left"] == "2.5"
    with pytest.raises(RefusedError, match="costs"):
        served.ann.plan("visits", "rankings", k=1, epsilon="4")
    with pytest.raises(RefusedError, match="costs"):
        served.ann.ask("visits", "rankings", k=1, epsilon="4")
    ann, wanted = visitor_of(served.studio, "ann"), {"k": 1, "epsilon": "4"}
    dataset = served.ann.datasets()[0]["id"]
    failed = served.studio.jobs.ask(ann, dataset=dataset, family="rankings", asked=wanted)
    with pytest.raises(RefusedError, match="costs"):
        served.ann.wait(failed.id, every=0.1)
