"""The charts of a release, as in its report, compiled to Vega for the pages.

Charts are described and compiled here, from released numbers alone; the page only draws them, with an interpreter
that evaluates no code. A separate process with a time limit compiles them, since the chart library may hang. A
chart that takes too long ends that process, and the next chart gets another.
"""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import pyarrow as pa

from headcount.errors import SurroundingsError, UnknownNameError
from headcount.releases.formatting import some
from headcount.reports import page
from headcount.reports.charts import release_charts
from headcount.reports.charts.styles import THEMES
from headcount.reports.page import Figure
from headcount.reports.parts import topics
from headcount.reports.release import figures_of
from headcount.reports.sentences import counted_words
from headcount.studio.services.exploration import views
from headcount.studio.services.exploration.opened_release import OpenedRelease

BARS = 20
"""Bars of a chart."""
SECONDS = 60.0
"""Seconds that a chart may take; the first one waits for the process to begin."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Chart:
    """A chart as a page draws it: in both themes, and for narrow screens if it differs there."""

    name: str
    title: str
    words: str
    note: str
    spec: Mapping[str, Any]


class ChartProcess:
    """One process that draws, begun when it is first needed."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None

    def __call__(
        self, make: Callable[_Arguments, _Result], *arguments: _Arguments.args, **keywords: _Arguments.kwargs
    ) -> _Result:
        """Make something there, and return it."""
        with self._lock:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
            try:
                return self._pool.submit(make, *arguments, **keywords).result(self._seconds)
            except (TimeoutError, BrokenProcessPool) as error:
                self._end()
                raise SurroundingsError("this chart could not be drawn", remedy="try again") from error

    def end(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            working = list(pool._processes.values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in working:
                process.kill()


_CHART_PROCESS = ChartProcess()


def charts(opened: OpenedRelease) -> Mapping[str, Figure]:
    """Return the figures of a release by their names, that of what it is about first."""
    return opened.cached("figures", lambda: {chart_figure.name: chart_figure for chart_figure in _figures(opened)})


def figure(opened: OpenedRelease, name: str) -> Figure:
    """Return one figure of a release."""
    figures = charts(opened)
    if name not in figures:
        raise UnknownNameError.among("chart", name, figures)
    return figures[name]


def chart(opened: OpenedRelease, name: str) -> Chart:
    """Return one chart of a release, ready to be drawn."""
    return opened.cached(("chart", name), lambda: compile_chart(figure(opened, name)))


def png(opened: OpenedRelease, name: str) -> bytes:
    """Return one chart of a release as a picture, which says so if it is not private."""
    warning = "" if opened.release.is_private else "NOT PRIVATE: for research alone."
    return opened.cached(("png", name), lambda: _CHART_PROCESS(page.png_of, figure(opened, name), warning))


def compile_chart(source: Figure) -> Chart:
    """Return a figure ready to be drawn."""
    spec: dict[str, Any] = {theme: _CHART_PROCESS(page.vega_of, source, theme) for theme in THEMES}
    if source.narrow is not None:
        spec["narrow"] = {theme: _CHART_PROCESS(page.vega_of, source, theme, narrow=True) for theme in THEMES}
    return Chart(source.name, source.title, source.words, source.note, spec)


_NUMBERS = ("count", "low", "high")


def _figures(opened: OpenedRelease) -> list[Figure]:
    tables = opened.release.tables
    if "model/topics" in tables and tables["model/topics"].num_rows:
        return [topics.figure(views.topics(opened))]
    if {"items", "edges"} & set(tables):
        figures = figures_of(opened.release)
        return sorted(figures, key=lambda candidate: candidate.name != "ranking")
    bar_charts = [_largest(opened, name) for name in ("ranking", "model/items", "model/pairs", "answers")]
    return [candidate for candidate in bar_charts if candidate is not None]


def _largest(opened: OpenedRelease, table: str) -> Figure | None:
    """Return the first rows of a table with counts as bars, in the order in which it is shown."""
    release = opened.release
    if table not in release.tables or (release.contexts and table == "ranking"):
        return None
    browsed = opened.browsed(table)
    number = next((column for column in ("count", "answer") if column in browsed.columns), None)
    if number is None or not {"low", "high"} <= set(browsed.columns):
        return None
    rows = [
        {"name": _row_label(opened, row), "count": row[number], "low": row["low"], "high": row["high"]}
        for row in browsed.page(size=BARS).rows
        if all(row[column] is not None for column in (number, "low", "high"))
    ]
    title = (
        f"The first {some(len(rows), number)}" if number == "answer" else f"The {some(len(rows), 'largest count')}"
    )
    return _bars("ranking", rows, title, counted_words(release)) if rows else None


def _row_label(opened: OpenedRelease, row: Mapping[str, Any]) -> str:
    keys = [column for column in ("item", "other", "query", "cell") if row.get(column) is not None]
    names = [opened.name(key, row[key]) for key in keys]
    return " · ".join(names)


def _bars(name: str, rows: Sequence[Mapping[str, Any]], title: str, counted: str) -> Figure:
    table = pa.table({key: [row[key] for row in rows] for key in ("name", *_NUMBERS)})
    wide, narrow = (
        release_charts.ranking(table, title=title, counted=counted, narrow=is_narrow)
        for is_narrow in (False, True)
    )
    return Figure.from_chart(name, wide, f"Bars: {counted[:1].lower()}{counted[1:]}. Lines: intervals.", narrow)
