"""A studio that is really served, and a browser that reaches nothing else."""

from __future__ import annotations

import runpy
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Route, sync_playwright

BROWSER = runpy.run_path(str(Path(__file__).parents[3] / "tools" / "packaging" / "browser.py"))
PATIENCE = 60_000  # milliseconds: a busy machine is slow, and a page that never comes is what is tested
GRAVE = ("serious", "critical")


@contextmanager
def serving(make: Callable[[int], Any]) -> Iterator[str]:
    """Serve an application, made for the port that it gets, in a thread; and tell its address."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        port = listening.getsockname()[1]
        config = uvicorn.Config(make(port), log_level="error", ws="none", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}"  # whoever comes early waits: the socket is there
        finally:
            server.should_exit = True
            thread.join(PATIENCE / 1000)


@dataclass
class Visit:
    """A window of somebody: what it asked of other hosts, and what the browser complained about."""

    page: Page
    base: str
    elsewhere: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def go(self, path: str) -> Page:
        """Open a page of the studio, and wait until its scripts are there."""
        self.page.goto(self.base + path)
        return self.ready()

    def ready(self) -> Page:
        """Wait for the scripts and the charts of the page."""
        self.page.wait_for_selector("html[data-ready]", state="attached")
        if self.page.locator("[data-vega]").count():
            self.page.wait_for_selector("html[data-charts=drawn]", state="attached")
        return self.page

    def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def grave(self) -> list[str]:
        """Return what axe finds on this page that is serious."""
        violations = Axe().run(self.page).response["violations"]
        return [
            f"{self.page.url} {violation['id']}: {node['html'][:160]}"
            for violation in violations
            if violation["impact"] in GRAVE
            for node in violation["nodes"]
        ]

    def heard(self) -> list[str]:
        """Return what the browser complained about, but what it says of answers and gaps that a test asked for."""
        meant = ("Failed to load resource", "htmx:sendError", "htmx:sendAbort", "htmx:afterRequest")
        return [complaint for complaint in self.complaints if not any(pattern in complaint for pattern in meant)]


@pytest.fixture(scope="module", autouse=True)
def _own_ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the key and the anchor of the ledger as long as the studio of a module is served."""
    folder = tmp_path_factory.mktemp("keys")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADCOUNT_LEDGER_KEY", str(folder / "ledger.key"))
        patch.setenv("HEADCOUNT_LEDGER_ANCHOR", str(folder / "ledger.anchor"))
        yield


@pytest.fixture(scope="module")  # while it is open, no other test of this process may have a loop of its own
def chromium() -> Iterator[Browser]:
    path = BROWSER["find"]()
    if path is None:
        pytest.fail(f"no Chromium was found; run `python tools/packaging/browser.py`, or {BROWSER['REMEDY']}")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=BROWSER["flags"]())
        yield opened
        opened.close()


@pytest.fixture
def window(chromium: Browser) -> Iterator[Callable[..., Visit]]:
    """Open windows of people who do not know each other, closed after the test, without a network."""
    contexts: list[BrowserContext] = []
    visits: list[Visit] = []

    def opened(base: str, **settings: Any) -> Visit:
        context = chromium.new_context(**settings)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        visit = Visit(context.new_page(), base)
        visits.append(visit)

        def here_alone(route: Route) -> None:
            if urlsplit(route.request.url).netloc == urlsplit(base).netloc:
                route.continue_()
            else:
                visit.elsewhere.append(route.request.url)
                route.abort()

        context.route("**/*", here_alone)

        def hear(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                visit.complaints.append(message.text)

        visit.page.on("console", hear)
        visit.page.on("pageerror", lambda error: visit.complaints.append(str(error)))
        return visit

    yield opened
    for context in contexts:
        context.close()
    assert [visit.elsewhere for visit in visits] == [[] for _ in visits], "no request to another host"
    assert [visit.heard() for visit in visits] == [[] for _ in visits], (
        "nothing that the browser refuses or fails at"
    )
