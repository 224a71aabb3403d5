"""A studio in a folder of its own, and browsers that are signed in to it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from headcount.studio.access import Role, Visitor
from headcount.studio.app import app_for_studio
from headcount.studio.settings import Settings
from headcount.studio.studio import Studio
from headcount.studio.web import templates
from tests.reports.conftest import make
from tests.studio.support.releases import put

PASSWORD = "four words are good"


class Browser(TestClient):
    """A client that sends what a browser sends: its origin, and the token that the page has."""

    def __init__(self, app: FastAPI, *, address: str = "testclient") -> None:
        studio: Studio = app.state.studio
        super().__init__(app, base_url=studio.settings.base_url, follow_redirects=False, client=(address, 50000))
        self.headers["origin"] = studio.settings.base_url
        self.studio = studio

    def sign_in(self, name: str, password: str = PASSWORD) -> Any:
        """Sign in as a person does, and remember the token of the pages."""
        response = self.post("/sign-in", data={"name": name, "password": password})
        if response.status_code == 303:
            self.remember()
        return response

    def remember(self) -> None:
        """Take the token of the session, as a page has it."""
        self.headers["x-csrf-token"] = self.visitor().csrf

    def visitor(self) -> Visitor:
        """Return who this browser is, as the server sees it."""
        signed = self.cookies.get(self.studio.cookies.name, "")
        secret = signed.rpartition(".")[0]
        session = self.studio.accounts.of_session(secret)
        assert session is not None
        return session


@pytest.fixture(autouse=True)
def _own_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADCOUNT_LEDGER_KEY", os.fspath(tmp_path / "ledger.key"))
    monkeypatch.setenv("HEADCOUNT_LEDGER_ANCHOR", os.fspath(tmp_path / "ledger.anchor"))


OBJECT = re.compile(r"(?:<|&lt;)(?:built-in|bound method|function|class \b|headcount\.)|object at 0x|Undefined")
"""What a page shows where a template names a Python object in place of its text."""


@pytest.fixture(autouse=True)
def _no_objects(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Search every page that a test renders for Python objects, and fail at its end: the studio catches errors."""
    answer, shown = templates._render, list[str]()

    def searched(request: Any, name: str, status: int, values: dict[str, Any]) -> Any:
        response = answer(request, name, status, values)
        text = bytes(response.body).decode()
        shown.extend(f"{name}: {text[max(0, at.start() - 80) : at.end() + 80]}" for at in OBJECT.finditer(text))
        return response

    monkeypatch.setattr(templates, "_render", searched)
    yield
    assert not shown, "\n".join(shown)


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    """A studio with a curator and two analysts; nothing of the queue is worked on."""
    running = Studio(Settings(tmp_path / "desk"))
    people(running)
    yield running
    running.stop()


def people(studio: Studio) -> None:
    """Make the people that tests sign in as."""
    from headcount.studio.security.secrets import hashed
    from headcount.studio.store.accounts import _add_account

    kept = _kept.setdefault(PASSWORD, "") or hashed(PASSWORD)
    _kept[PASSWORD] = kept
    with studio.store.writing() as run:
        for name, role in (("cora", Role.CURATOR), ("ann", Role.ANALYST), ("bob", Role.ANALYST)):
            _add_account(run, name, role, 0.0, kept)


_kept: dict[str, str] = {}


LOG = "user,venue,day\n" + "".join(f"p{n},v{n % 3},Friday\n" for n in range(30))


@pytest.fixture
def published(studio: Studio) -> Studio:
    """The studio with an open dataset, of which Ann may spend 1, and a published release; Bob is no member."""
    publish(studio)
    return studio


def publish(studio: Studio) -> None:
    """Open a dataset in a studio, and publish a release of it."""
    (studio.settings.files / "visits.csv").write_text(LOG, encoding="utf-8")
    by_name = {user.name: user for user in studio.accounts.listed()}
    cora = by_name["cora"].visitor()
    flags = {"user": "user", "item": "venue", "items": ["v0", "v1", "v2"]}
    dataset = studio.datasets.register(cora, name="visits", source={"files": ["visits.csv"]}, flags=flags)
    studio.datasets.open(cora, dataset.id, epsilon="10")
    studio.datasets.allow(cora, dataset.id, by_name["ann"].id, "1")
    put(studio, make(items=["v0", "v1", "v2"], contexts=["Monday", "Friday"]))


@pytest.fixture
def app(studio: Studio) -> FastAPI:
    """The application of the studio."""
    return app_for_studio(studio)


@pytest.fixture
def browser(app: FastAPI) -> Callable[..., Browser]:
    """Open a browser in which nobody is signed in."""

    def opened(**how: Any) -> Browser:
        return Browser(app, **how)

    return opened


@pytest.fixture
def client(browser: Callable[..., Browser]) -> Callable[[Role | str | None], Browser]:
    """Open a browser that is signed in: by role, by name, or as nobody."""
    names = {Role.CURATOR: "cora", Role.ANALYST: "ann"}

    def signed_in(who: Role | str | None) -> Browser:
        session = browser()
        if who is not None:
            begun = _session(session.studio, names.get(Role(who), "") if who in set(Role) else str(who))
            session.cookies.set(session.studio.cookies.name, begun, domain=session.base_url.host, path="/")
            session.remember()
        return session

    return signed_in


def _session(studio: Studio, name: str) -> str:
    """Begin a session without the password, which takes its time."""
    from headcount.studio.store import sessions_and_tokens

    person = next(user for user in studio.accounts.listed() if user.name == name)
    with studio.store.writing() as run:
        begun = sessions_and_tokens.begin_session(run, person.id, _now())
    return studio.cookies.signed(begun.secret)


def _now() -> float:
    import time

    return time.time()
