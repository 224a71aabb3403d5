"""The documentation site: it is made without a warning, its links lead somewhere, and it asks no other host."""

from __future__ import annotations

import functools
import os
import runpy
import subprocess
import sys
import threading
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

import headcount

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "tools"
GROUPS = ["Start", "Tasks", "Concepts", "Methods", "Operations", "Research", "Reference"]
LOOKED_AT = ["index.html", "methods/sra.html", "api.html", "search.html?q=ledger"]
COLOURS: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the site as `make docs` does, in a process of its own: a warning is an error there."""
    out = tmp_path_factory.mktemp("built") / "site"
    done = subprocess.run(
        [sys.executable, str(TOOLS / "docs" / "make_site.py"), "--out", str(out)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return out


def test_the_tool_does_what_its_examples_say() -> None:
    command = [sys.executable, "-m", "doctest", str(TOOLS / "docs" / "make_site.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


class Marks(HTMLParser):
    """What a page can be linked by, what it links to, and what it needs to be shown."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.ids: set[str] = {""}
        self.links: list[str] = []
        self.needs: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if "href" in given:
            (self.links if tag == "a" else self.needs).append(given["href"])
        if "src" in given:
            self.needs.append(given["src"])


def lost(site: Path) -> Iterator[str]:
    """Yield every link of a site that leads nowhere, and whatever a page needs from elsewhere."""
    marks = {page: Marks(page) for page in sorted(site.rglob("*.html"))}
    for page, own in marks.items():
        yield from (f"{page.name} needs {link}" for link in own.needs if urlsplit(link).netloc)
        for link in [*own.links, *own.needs]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = Path(os.path.normpath(page.parent / unquote(parts.path))) if parts.path else page
            fragments = marks[target].ids if target in marks else {""}
            if not target.is_file() or unquote(parts.fragment) not in fragments:
                yield f"{page.name} links {link}"


def test_links_and_anchors_lead_somewhere(site: Path) -> None:
    assert list(lost(site)) == []


def test_a_link_that_leads_nowhere_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<p id="x"><a href="b.html"></a><a href="#x"></a><a href="#y"></a>')
    (tmp_path / "c.html").write_text('<script src="https://example.org/x.js"></script><a href="a.html#x"></a>')
    assert list(lost(tmp_path)) == [
        "a.html links b.html", "a.html links #y", "c.html needs https://example.org/x.js",
    ]  # fmt: skip


def test_every_public_name_is_shown_from_its_docstring(site: Path) -> None:
    marks = Marks(site / "api.html")
    assert {f"headcount.{name}" for name in headcount.__all__} <= marks.ids
    assert {"headcount.Release.top", "headcount.Ledger.verify", "headcount.Standing.PROVEN"} <= marks.ids
    assert "<factory>" not in unescape((site / "api.html").read_text(encoding="utf-8"))


class Served(SimpleHTTPRequestHandler):
    """Serves a folder, silently."""

    def log_message(self, *words: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Served, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    tool = runpy.run_path(str(TOOLS / "packaging" / "browser.py"))
    chromium = tool["find"]()
    assert chromium, f"no Chromium was found; {tool['REMEDY']}"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=tool["flags"]())
        yield opened
        opened.close()


def watched(page: Page, allowed: str) -> list[str]:
    """Let a page reach one place alone; return what it asks of others, and what it complains about, as it does."""
    noted: list[str] = []
    page.on("pageerror", lambda error: noted.append(str(error)))

    def only(route: Any) -> None:
        if route.request.url.startswith(allowed):
            route.continue_()
        else:
            noted.append(route.request.url)
            route.abort()

    page.route("**/*", only)
    return noted


@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_asks_no_other_host_and_fits_the_window(address: str, browser: Browser, name: str) -> None:
    page = browser.new_page()
    noted = watched(page, address)
    page.goto(f"{address}/{name}")
    if name.startswith("search"):
        page.wait_for_selector("#search-results p.context")
        assert "ledger" in page.locator("#search-results p.context").first.inner_text().lower()
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    for colours in COLOURS:
        page.emulate_media(color_scheme=colours)
        light = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert light is (colours == "light")
    assert noted == []
    page.close()


def test_the_site_is_searched_and_read_from_disk(site: Path, browser: Browser) -> None:
    page = browser.new_page()
    noted = watched(page, "file:")
    page.goto((site / "getting-started.html").as_uri())
    assert page.locator(".sidebar-tree .caption").all_inner_texts() == [group.upper() for group in GROUPS]
    assert "<!--" not in page.locator("article").inner_text()
    page.fill("input[name=q]", "DPSense")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li a")
    links = [group.get_attribute("href") or "" for group in page.locator("#search-results a").all()]
    assert any("dpsense.html" in link for link in links)
    assert not [group for group in noted if "://" in group]
    page.close()
