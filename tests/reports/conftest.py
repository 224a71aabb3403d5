"""Releases to report on, and the browser to look with."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Page, Route, sync_playwright

from headcount.accounting.guarantee import Guarantee
from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.releases.release import Interval, Release

LAW = DiscreteLaplace(Fraction(200, 9))
REACH = float(LAW.half_width(0.95))
TOOLS = Path(__file__).parents[2] / "tools"


def make(
    items: Sequence[object] | None = None,
    labels: Sequence[str | None] | None = None,
    sizes: Sequence[float] | None = None,
    contexts: Sequence[str] | None = None,
    only: str | None = None,
    **changes: Any,
) -> Release:
    """Build a release; with contexts it has edges, of which ``only="edges"`` leaves nothing else."""
    items = [f"v{n}" for n in range(30)] if items is None else items
    sizes = [5000.0 / (n + 1) for n in range(len(items))] if sizes is None else sizes
    labels = [f"Venue {item}" for item in items] if labels is None else labels
    names = pa.array(labels, pa.string())
    tables = {"items": _with_interval({"item": items, "label": names}, list(sizes))}
    if contexts is not None:
        across = [*contexts, None]
        cells = {
            "item": [item for item in items for _ in across],
            "context": pa.array(across * len(items), pa.string()),
        }
        parts = [count / (n + 2) for count in sizes for n in range(len(across))]
        tables["edges"] = _with_interval(cells, parts)
    if only:
        tables = {only: tables[only]}
    given: dict[str, Any] = {
        "method": "hpa",
        "guarantee": Guarantee(epsilon=Decimal("1"), assumes=("the catalogue of items is public",)),
        "noise": dict.fromkeys(tables, LAW),
        "tables": tables,
        "contexts": None if contexts is None else tuple(contexts),
        "context_name": None if contexts is None else "weekday",
        "bounded": "at most 10 records per person",
        "steps": ("Each person kept at most 10 records.", "Every count got noise."),
        "catalogue": "sha256:abc",
        "created": "2031-02-03T04:05:06+00:00",
    }
    return Release(**{**given, **changes})


def make_ranking(
    k: int = 3, contexts: Sequence[str] | None = None, *, counts: bool = False, evil: str = "", **changes: Any
) -> Release:
    """Build a release that holds a direct ranking and nothing else."""
    across = [None] if contexts is None else list(contexts)
    columns: dict[str, Any] = {
        "rank": list(range(1, k + 1)) * len(across),
        "item": [f"v{n}{evil}" for n in range(k)] * len(across),
        "label": pa.array([f"Venue v{n}{evil}" for n in range(k)] * len(across), pa.string()),
    }
    if contexts is not None:
        columns["context"] = [context for context in across for _ in range(k)]
    if counts:
        columns = _counted(columns, [5000.0 / (n + 1) for n in range(k)] * len(across))
    given: dict[str, Any] = {
        "method": "top-k",
        "guarantee": Guarantee(epsilon=Decimal("1"), assumes=("the catalogue of items is public",)),
        "noise": {"ranking": LAW} if counts else {},
        "tables": {"ranking": pa.table(columns)},
        "contexts": None if contexts is None else tuple(contexts),
        "context_name": None if contexts is None else "weekday",
        "interval": Interval(covers="true"),
        "counts": "users",
        "bounded": "everything each person did",
        "steps": ("Every person counted once per item.", "The best were chosen one by one."),
        "catalogue": "sha256:abc",
        "created": "2031-02-03T04:05:06+00:00",
    }
    return Release(**{**given, **changes})


def make_adaptive(
    scopes: Sequence[str] = ("records",), users: Sequence[float] = (900.0, 400.0, 80.0, -12.0, 3.0), **changes: Any
) -> Release:
    """Build a release of estimated counts with lopsided intervals, and of how active people are."""
    base = make(**{name: changes.pop(name) for name in ("items", "contexts", "only") if name in changes})
    tables = {name: _lopsided(table) for name, table in base.tables.items()}
    bins = {
        "from": pa.array([1, *((1 << n - 1) + 1 for n in range(1, len(users)))] * len(scopes), pa.int64()),
        "to": pa.array([*(1 << n for n in range(len(users) - 1)), None] * len(scopes), pa.int64()),
        "users": list(users) * len(scopes),
        "low": [count - 60.0 for count in users] * len(scopes),
        "high": [count + 60.0 for count in users] * len(scopes),
        "of": [count for count in scopes for _ in users],
    }
    given: dict[str, Any] = {
        "method": "adaptive",
        "tables": {**tables, "activity": pa.table(bins)},
        "noise": {**dict.fromkeys(tables, LAW), "activity": LAW},
        "interval": Interval(covers="true", average=True),
        "bounded": "everything each person did",
        "chosen": {name: {"limit": 64} for name in tables},
        "steps": ("First it was released how active people are.",),
    }
    return replace(base, **{**given, **changes})


def _lopsided(table: pa.Table) -> pa.Table:
    counts = table["count"].to_numpy() + 0.37
    columns = {"count": counts, "low": np.maximum(counts - 300.5, 0), "high": 9 * counts + 0.5}
    return pa.table({**{name: table[name] for name in table.column_names}, **columns})


def _with_interval(columns: dict[str, Any], counts: list[float]) -> pa.Table:
    return pa.table(_counted(columns, counts))


def _counted(columns: dict[str, Any], counts: list[float]) -> dict[str, Any]:
    low, high = [count - REACH for count in counts], [count + REACH for count in counts]
    return {**columns, "count": counts, "low": low, "high": high}


@pytest.fixture
def release() -> Callable[..., Release]:
    return make


@pytest.fixture
def ranking() -> Callable[..., Release]:
    return make_ranking


@pytest.fixture
def adaptive() -> Callable[..., Release]:
    return make_adaptive


@pytest.fixture(scope="session")
def browser_tool() -> dict[str, Any]:
    return runpy.run_path(str(TOOLS / "packaging" / "browser.py"))


@pytest.fixture(scope="session")
def chromium(browser_tool: dict[str, Any]) -> Path:
    """Return a Chromium; without one the test fails, since a page nobody opened is not known to work."""
    path = browser_tool["find"]()
    if path is None:
        pytest.fail(f"no Chromium was found; run `python tools/packaging/browser.py`, or {browser_tool['REMEDY']}")
    assert isinstance(path, Path)
    return path


@dataclass
class Visit:
    """An open page, what it asked of the network, and what it complained about."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser(chromium: Path, browser_tool: dict[str, Any]) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=browser_tool["flags"]())
        yield opened
        opened.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Open a written page without network, and wait for its charts."""
    contexts = []

    def go(path: Path, **window: Any) -> Visit:
        context = browser.new_context(**window)
        contexts.append(context)
        visit = Visit(context.new_page())

        def only_files(route: Route) -> None:
            if route.request.url.startswith("file:"):
                route.continue_()
            else:
                visit.requests.append(route.request.url)
                route.abort()

        context.route("**/*", only_files)
        visit.page.on("console", lambda message: visit.complaints.append(f"{message.type}: {message.text}"))
        visit.page.on("pageerror", lambda error: visit.complaints.append(str(error)))
        visit.page.goto(path.as_uri())
        visit.page.wait_for_selector("html[data-charts=drawn]", state="attached")
        return visit

    yield go
    for context in contexts:
        context.close()
