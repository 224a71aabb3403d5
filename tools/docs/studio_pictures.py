"""Take pictures of the studio's main pages: ``python tools/docs/studio_pictures.py [--all] [--out FOLDER]``.

Starts ``headcount serve --demo`` and looks at it as curator and as analyst. Those of the docs are taken by
default; with ``--all`` every page, wide and narrow, light and dark, to be looked at.
"""

from __future__ import annotations

import argparse
import base64
import re
import runpy
import signal
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

ROOT = Path(__file__).parents[2]
BROWSER = runpy.run_path(str(Path(__file__).parents[1] / "packaging" / "browser.py"))
SIZES = {"wide": ViewportSize(width=1280, height=860), "narrow": ViewportSize(width=390, height=844)}
COLOURS = 256

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")


@dataclass(frozen=True)
class View:
    """A page as somebody sees it: where it is, and the links that are followed from there."""

    name: str
    role: str
    path: str
    follow: tuple[str, ...] = ()
    epsilon: str = ""
    """Typed where an ε is asked for, so that price and error are seen."""
    kept: tuple[tuple[str, Scheme], ...] = ()
    """Which pictures of it the docs show: sizes and schemes."""


VIEWS = (
    View("sign-in", "", "/sign-in"),
    View("home", "analyst", "/"),
    View("home-curator", "curator", "/"),
    View("releases", "analyst", "/releases"),
    View(
        "release",
        "analyst",
        "/releases",
        ("^Visits by weekday$",),
        kept=(("wide", "light"), ("narrow", "dark")),
    ),
    View("contexts", "analyst", "/releases", ("^Visits by weekday$", "^Contexts$")),
    View("heat", "analyst", "/releases", ("^Visits by weekday$", "^Heat map$"), kept=(("wide", "dark"),)),
    View("item", "analyst", "/releases", ("^Visits by weekday$", "^Central Station$")),
    View("promise", "analyst", "/releases", ("^Visits by weekday$", "^The promise$")),
    View("downloads", "analyst", "/releases", ("^Visits by weekday$", "^Downloads$")),
    View("compare", "curator", "/compare"),
    View("datasets", "curator", "/datasets"),
    View("new", "curator", "/datasets/new"),
    View("dataset", "curator", "/datasets", ("^city$",)),
    View("columns", "curator", "/datasets", ("^city$", "columns"), kept=(("wide", "light"),)),
    View("plan", "curator", "/datasets", ("^city$", "^Plan a release$"), epsilon="1.5", kept=(("wide", "light"),)),
    View("budget", "curator", "/datasets", ("^city$", "^History")),
    View("ask", "analyst", "/ask", ("^Counts$",), epsilon="0.5", kept=(("narrow", "light"),)),
    View("budgets", "curator", "/budgets"),
    View("runs", "curator", "/runs"),
    View("lab", "curator", "/lab"),
    View("people", "curator", "/people"),
    View("deeds", "curator", "/deeds"),
    View("account", "analyst", "/account"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every page, in both sizes and schemes")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images" / "studio")
    parser.add_argument("--only", default="", help="pages whose names hold this")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with demo() as base, opened() as browser:
        for view in VIEWS:
            if given.only not in view.name:
                continue
            every = tuple((size, scheme) for size in SIZES for scheme in SCHEMES)
            for size, scheme in every if given.all else view.kept:
                path = given.out / f"{view.name}-{size}-{scheme}.png"
                path.write_bytes(taken(browser, base, view, size, scheme))
                print(f"{path}: {path.stat().st_size:,} bytes")
    return 0


@contextmanager
def demo() -> Iterator[str]:
    """Serve the demo, and tell where."""
    code = "from headcount.cli.main import run; run()"
    command = [sys.executable, "-c", code, "serve", "--demo", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield server.stdout.readline().split()[-1]
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)


@contextmanager
def opened() -> Iterator[Browser]:
    chromium = BROWSER["find"]()
    if chromium is None:
        raise SystemExit(f"no Chromium was found; {BROWSER['REMEDY']}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=BROWSER["flags"]())
        yield browser
        browser.close()


def taken(browser: Browser, base: str, view: View, size: str, scheme: Scheme) -> bytes:
    """Return the picture of a view."""
    page = browser.new_page(viewport=SIZES[size], color_scheme=scheme)
    page.goto(f"{base}/sign-in")
    if view.role:
        page.get_by_role("button", name=f"As {view.role}").click()
    page.goto(base + view.path)
    for link in view.follow:
        page.locator("main").get_by_role("link", name=re.compile(link)).first.click()
        page.wait_for_load_state()
    if view.epsilon:
        page.locator("#field-epsilon").fill(view.epsilon)
        page.locator("#outlook").get_by_text("Price").wait_for()
    page.wait_for_selector("html[data-ready]", state="attached")
    if page.locator("[data-vega]").count():
        page.wait_for_selector("html[data-charts=drawn]", state="attached")
    shot = page.screenshot()
    image = reduced(pixels(page, shot))
    page.close()
    return image


def pixels(page: Page, png: bytes) -> NDArray[np.uint8]:
    """Let the browser decode a picture: an array of rows, columns and colours."""
    page.goto("about:blank")
    answer = page.evaluate(
        """async (data) => {
          const bytes = Uint8Array.from(atob(data), (each) => each.charCodeAt(0));
          const map = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
          const canvas = new OffscreenCanvas(map.width, map.height);
          const drawn = canvas.getContext("2d");
          drawn.drawImage(map, 0, 0);
          const held = drawn.getImageData(0, 0, map.width, map.height).data;
          let text = "";
          for (let at = 0; at < held.length; at += 8192)
            text += String.fromCharCode(...held.subarray(at, at + 8192));
          return [map.width, map.height, btoa(text)];
        }""",
        base64.b64encode(png).decode(),
    )
    width, height, data = answer
    return np.frombuffer(base64.b64decode(data), np.uint8).reshape(height, width, 4)[:, :, :3]


def reduced(picture: NDArray[np.uint8]) -> bytes:
    """Return a PNG of at most 256 colours: those that are frequent stay, others become the nearest of them."""
    height, width = picture.shape[:2]
    packed = picture.astype(np.uint32) @ np.array([65536, 256, 1], np.uint32)
    colours, places, counts = np.unique(packed, return_inverse=True, return_counts=True)
    as_rgb = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1).astype(np.int32)
    palette = as_rgb[np.argsort(counts)[::-1][:COLOURS]]
    nearest = np.array([np.argmin(((palette - colour) ** 2).sum(axis=1)) for colour in as_rgb], np.uint8)
    rows = nearest[places].reshape(height, width)
    lines = np.hstack([np.zeros((height, 1), np.uint8), rows]).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"PLTE", palette.astype(np.uint8).tobytes()), (b"IDAT", zlib.compress(lines, 9)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*content) for content in (*chunks, (b"IEND", b"")))


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


if __name__ == "__main__":
    sys.exit(main())
