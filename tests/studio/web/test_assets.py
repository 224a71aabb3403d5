"""What pages load: under names that say what is held, from this machine, and no style or script within a page."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import re
import runpy
import tomllib
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from headcount.studio.access import Visitor
from headcount.studio.app import ROUTERS
from headcount.studio.settings import Settings
from headcount.studio.web import assets

STUDIO = resources.files("headcount.studio")
TEMPLATES = sorted(Path(str(STUDIO.joinpath("templates"))).rglob("*.jinja"))
STYLE = STUDIO.joinpath("static", "studio.css").read_text(encoding="utf-8")
SCHEMES = {
    scheme: dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block))
    for scheme, block in zip(("light", "dark"), re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL), strict=False)
}
contrast: Any = runpy.run_path(str(Path(__file__).parents[2] / "reports" / "charts" / "test_contrast.py"))[
    "contrast"
]


@pytest.fixture(scope="module")
def client() -> TestClient:
    app = FastAPI()
    app.state.studio = SimpleNamespace(settings=Settings(Path("desk")))

    @app.middleware("http")
    async def nobody(request: Any, follow: Any) -> Any:
        request.state.visitor = Visitor()
        return await follow(request)

    for router in ROUTERS:
        app.include_router(router)
    return TestClient(app, raise_server_exceptions=False)


def test_a_name_says_what_a_file_holds_and_may_be_kept_for_ever(client: TestClient) -> None:
    where = assets.address("studio.css")
    answer = client.get(where, headers={"accept-encoding": "identity"})
    assert answer.text == STYLE
    assert hashlib.sha256(answer.content).hexdigest()[:16] in where
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"].startswith("text/css")


def test_scripts_travel_packed(client: TestClient) -> None:
    answer = client.get(assets.address("vendor/vega.min.js"), headers={"accept-encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert len(answer.content) > 2 * int(answer.headers["content-length"])


def test_packing_changes_nothing() -> None:
    asset = assets.asset(assets.address("studio.js").removeprefix("/static/"))
    assert asset is not None
    assert gzip.decompress(asset.packed) == asset.content


@pytest.mark.parametrize("name", ["studio.css", "../settings.py", "vendor/VERSIONS.toml", "%2e%2e/settings.py"])
def test_nothing_else_is_served(client: TestClient, name: str) -> None:
    assert client.get(f"/static/{name}").status_code >= 400


def test_what_is_vendored_is_what_is_written_down() -> None:
    vendor = Path(str(STUDIO.joinpath("static", "vendor")))
    listed = tomllib.loads((vendor / "VERSIONS.toml").read_text(encoding="utf-8"))
    digests = {entry["file"]: entry["sha256"] for package in listed.values() for entry in package["files"]}
    held = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in vendor.iterdir()}
    held.pop("VERSIONS.toml")
    assert held == digests


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_holds_what_the_policy_forbids(path: Path) -> None:
    text = re.sub(r"\{#.*?#\}", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|hx-on", text), (
        "no style or script within a page"
    )
    for script in re.findall(r"<script([^>]*)>", text):
        assert "src=" in script or 'type="application/json"' in script
    assert not re.search(r"""(src|href|action)=["']?(https?:)?//""", text), "no other host"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read(scheme: str) -> None:
    look = SCHEMES[scheme]
    pairs = {
        "ground paper hover": ("ink", "muted", "accent"),
        "paper": ("danger", "accent"),
        "ink": ("paper",),
        "accent": ("on-accent",),
        **{f"{tone}-ground": (tone,) for tone in ("good", "warn", "bad", "danger")},
    }
    for grounds, words in pairs.items():
        for ground, word in itertools.product(grounds.split(), words):
            assert contrast(look[word], look[ground]) >= 4.5, (word, ground)
    assert contrast(look["edge"], look["paper"]) >= 3, "the edges of what can be typed into"
