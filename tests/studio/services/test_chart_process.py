"""Charts are drawn in another process, which may hang or die."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from headcount.errors import SurroundingsError
from headcount.studio.services.chart_process import ChartProcess


@pytest.fixture
def drawing() -> Iterator[ChartProcess]:
    pool = ChartProcess(seconds=60.0)
    yield pool
    pool.end()


def test_it_is_another_process_and_the_same_again(drawing: ChartProcess) -> None:
    there = drawing(os.getpid)
    assert there != os.getpid()
    assert drawing(os.getpid) == there


def test_a_crashed_or_hanging_process_is_replaced(drawing: ChartProcess) -> None:
    first = drawing(os.getpid)
    with pytest.raises(SurroundingsError, match="could not be drawn"):
        drawing(os._exit, 1)
    second = drawing(os.getpid)
    assert second != first
    drawing._seconds = 0.5
    with pytest.raises(SurroundingsError, match="could not be drawn"):
        drawing(time.sleep, 600)
    drawing._seconds = 60.0
    assert drawing(os.getpid) != second


def test_what_goes_wrong_there_is_raised_here(drawing: ChartProcess) -> None:
    with pytest.raises(ZeroDivisionError):
        drawing(divmod, 1, 0)
