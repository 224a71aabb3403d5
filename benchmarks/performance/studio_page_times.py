"""Load times of a large release's pages: ``python -m benchmarks.performance.studio_page_times [ITEMS]``.

A studio is served on this machine, with one release of that many items over seven contexts. Each page is asked
for over HTTP: once when nothing is open yet, then again and again. If there is a Chromium, it says when it
first paints.
"""

from __future__ import annotations

import http.client
import runpy
import socket
import statistics
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import uvicorn

from headcount.accounting.guarantee import Guarantee
from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.releases.folder_integrity import folder_digest
from headcount.releases.release import Release
from headcount.studio.access import Role
from headcount.studio.app import app_for_studio
from headcount.studio.settings import Settings
from headcount.studio.store import schema, sessions_and_tokens
from headcount.studio.studio import Studio

ITEMS = 100_000
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
TIMES = 20
WORDS = ("tea", "rye", "museum", "harbour", "cinema", "bakery", "library", "garden", "station", "theatre")


def release(items: int = ITEMS) -> Release:
    """Return a release as a city of that many places would have it."""
    random = np.random.default_rng(1)
    ids = [f"venue-{n}" for n in range(items)]
    words = random.choice(WORDS, size=(items, 2))
    labels = [f"{first_word.title()} {other} no. {n}" for n, (first_word, other) in enumerate(words.tolist())]
    sizes = 200_000 / np.arange(1, items + 1) ** 0.8
    parts = sizes[:, None] * random.dirichlet(np.full(len(DAYS) + 1, 3.0), items)
    law = DiscreteLaplace(Fraction(20))
    width = float(law.half_width(0.95))

    def counted(columns: dict[str, object], counts: np.ndarray) -> pa.Table:
        noisy = counts + random.laplace(scale=20, size=counts.shape)
        return pa.table({**columns, "count": noisy, "low": noisy - width, "high": noisy + width})

    across = [*DAYS, None]
    context = pa.array(across * items, pa.string())
    tables = {
        "items": counted({"item": ids, "label": labels}, sizes),
        "edges": counted({"item": np.repeat(ids, len(across)).tolist(), "context": context}, parts.ravel()),
    }
    return Release(
        method="sra",
        guarantee=Guarantee(epsilon=Decimal(1)),
        noise=dict.fromkeys(tables, law),
        tables=tables,
        contexts=DAYS,
        context_name="weekday",
        bounded="at most 10 records per person",
    )


@dataclass(frozen=True)
class Desk:
    """A studio that is served, the release in it, and the cookie of somebody who is signed in."""

    port: int
    base: str
    cookie: tuple[str, str]


@contextmanager
def served(released: Release) -> Iterator[Desk]:
    """Serve a studio with a release in it."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        port = int(listening.getsockname()[1])
        studio = Studio(Settings(Path(folder) / "desk", port=port))
        key, cookie = _furnished(studio, released)
        server = uvicorn.Server(uvicorn.Config(app_for_studio(studio), log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield Desk(port, f"/releases/{key}", (studio.cookies.name, cookie))
        finally:
            server.should_exit = True
            thread.join(60)


def _furnished(studio: Studio, released: Release) -> tuple[str, str]:
    key, who, dataset = (uuid.uuid4().hex for _ in range(3))
    folder = released.save(studio.settings.releases / key)
    with studio.store.writing() as run:
        run.execute(schema.accounts.insert().values(id=who, name="ann", role=str(Role.ANALYST), created=0.0))
        log = {"reads": "events", "source": {}, "flags": {}, "state": "open", "made_by": who, "created": 0.0}
        run.execute(schema.datasets.insert().values(id=dataset, name="visits", about="", **log))
        kept = {"folder": key, "digest": folder_digest(folder), "state": "published", "created": 1.0}
        columns = {"dataset": dataset, "owner": who, "family": "counts", "title": "A city", "note": ""}
        run.execute(schema.releases.insert().values(id=key, published=1.0, **columns, **kept))
        begun = sessions_and_tokens.begin_session(run, who, time.time())
    return key, studio.cookies.signed(begun.secret)


class Took(NamedTuple):
    """Seconds that went by, and seconds that this machine worked for it: more of the former when it is busy."""

    wall: float
    cpu: float | None = None


def seconds(desk: Desk, path: str, target: str = "") -> Took:
    """Return how long it takes until all of a page has arrived."""
    headers = {"Cookie": "=".join(desk.cookie)} | ({"HX-Request": "true", "HX-Target": target} if target else {})
    began, worked = time.perf_counter(), time.process_time()
    link = http.client.HTTPConnection("127.0.0.1", desk.port, timeout=120)
    link.request("GET", path, headers=headers)
    answer = link.getresponse()
    content = answer.read()
    link.close()
    took = Took(time.perf_counter() - began, time.process_time() - worked)
    if answer.status != http.HTTPStatus.OK:
        raise SystemExit(f"{path}: {answer.status} {content[:300]!r}")
    return took


def looks(base: str) -> dict[str, tuple[str, str]]:
    """Return what somebody does with a release: addresses, and what of the page is asked for."""
    return {
        "search": (f"{base}?q=garden+tea+77", "browse"),
        "search for what nothing has": (f"{base}?q=zeppelin", "browse"),
        "sort by name": (f"{base}?sort=item&q=rye", "browse"),
        "Fridays alone": (f"{base}?context=Friday&q=tea", "browse"),
        "more rows": (f"{base}?start=5000", "following"),
        "one item": (f"{base}/items/venue-77", ""),
        "popular on Fridays": (f"{base}/contexts?context=Friday", ""),
        "heat map": (f"{base}/heat?q=museum", "heat"),
    }


def measure(desk: Desk) -> dict[str, Took]:
    """Return seconds: of the page when nothing is open yet, and the median of everything once it was asked for."""
    times = {"first page, nothing open": seconds(desk, desk.base)}
    times["first page"] = _median(partial(seconds, desk, desk.base))
    for name, (path, target) in looks(desk.base).items():
        times[f"{name}, the first time"] = seconds(desk, path, target)
        times[name] = _median(partial(seconds, desk, path, target))
    return times


def _median(ask: Callable[[], Took]) -> Took:
    taken = [ask() for _ in range(TIMES)]
    return Took(*(statistics.median(column) for column in zip(*taken, strict=True)))


def painted(desk: Desk) -> dict[str, Took]:
    """Return when a Chromium first paints the page, and how long after a key the rows of a search are there."""
    tool = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "packaging" / "browser.py"))
    path = tool["find"]()
    if path is None:
        return {}
    from playwright.sync_api import expect, sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=tool["flags"]())
        page = browser.new_page()
        address = f"http://127.0.0.1:{desk.port}"
        page.context.add_cookies([{"name": desk.cookie[0], "value": desk.cookie[1], "url": address}])
        paints = []
        for _ in range(5):
            page.goto(address + desk.base)
            page.wait_for_selector("html[data-ready]", state="attached")
            paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
            paints.append(page.evaluate(paint) / 1000)
        page.locator("#q").fill("garden tea 7")
        expect(page.locator("#browse p.note")).to_contain_text("garden tea 7")
        began = time.perf_counter()
        page.locator("#q").press("7")
        expect(page.locator("#browse p.note")).to_contain_text("garden tea 77")
        typed = time.perf_counter() - began
        browser.close()
    return {
        "first paint in a browser (median of 5)": Took(statistics.median(paints)),
        "from a key to its rows in a browser (120 ms of them waiting for the next key)": Took(typed),
    }


def main() -> None:
    """Print how long everything takes."""
    items = int(sys.argv[1]) if len(sys.argv) > 1 else ITEMS
    with served(release(items)) as desk:
        print(f"A release of {items:,} items over {len(DAYS)} contexts, {(len(DAYS) + 1) * items:,} cells.\n")
        print("     went by      worked")
        for name, took in {**measure(desk), **painted(desk)}.items():
            worked = "" if took.cpu is None else f"{1000 * took.cpu:.1f} ms"
            print(f"{1000 * took.wall:9.1f} ms {worked:>11}   {name}")


if __name__ == "__main__":
    main()
