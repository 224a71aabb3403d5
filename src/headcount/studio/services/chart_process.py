"""Compiles and draws charts in a separate process with a time limit, since the chart library may hang.

A chart that takes too long is given up, and the process with it; the next one gets another. The server goes on.
"""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, ParamSpec, TypeVar

from headcount.errors import SurroundingsError
from headcount.reports import page
from headcount.reports.page import Figure

SECONDS = 60.0
"""How long a chart may take; the first one waits for the process to begin."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


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


def vega_of(figure: Figure, theme: str, *, narrow: bool = False) -> dict[str, Any]:
    """Return a figure in the language of Vega, compiled in the other process."""
    return _CHART_PROCESS(page.vega_of, figure, theme, narrow=narrow)


def png_of(figure: Figure, subtitle: str = "") -> bytes:
    """Return a figure as PNG, drawn in the other process."""
    return _CHART_PROCESS(page.png_of, figure, subtitle)
