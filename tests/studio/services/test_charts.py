"""Charts of releases: those of each kind, compiled in a process that may hang, for pages that evaluate nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from headcount.errors import SurroundingsError, UnknownNameError
from headcount.releases.release import Release
from headcount.studio.services import charts
from headcount.studio.services.charts import ChartProcess
from headcount.studio.services.exploration.opened_release import OpenedRelease
from tests.reports.conftest import make, make_adaptive, make_ranking

DAYS = ("Monday", "Friday")


@pytest.mark.parametrize(
    ("release", "names"),
    [
        (make(), ["ranking", "curve"]),
        (make(contexts=DAYS), ["ranking", "curve", "heat"]),
        (make(contexts=DAYS, only="edges"), ["ranking", "heat"]),
        (make_ranking(counts=True), ["ranking"]),
        (make_ranking(), []),
        (make_ranking(contexts=DAYS), []),
        (make_adaptive(items=["tea"]), ["ranking", "activity-1"]),
    ],
)
def test_every_kind_of_release_has_its_charts(release: Release, names: list[str]) -> None:
    assert list(charts.charts(OpenedRelease(release))) == names


def test_a_chart_is_vega_in_both_themes_and_for_narrow_screens() -> None:
    chart = charts.chart(OpenedRelease(make(contexts=DAYS)), "heat")
    for spec in (chart.spec, chart.spec["narrow"]):
        for theme in ("light", "dark"):
            assert spec[theme]["$schema"].startswith("https://vega.github.io/schema/vega/")
    assert chart.spec["light"]["background"] != chart.spec["dark"]["background"]
    assert "Heat map" in chart.words


def test_an_unknown_chart_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="chart 'pie' is not known"):
        charts.chart(OpenedRelease(make()), "pie")


def test_a_picture_says_that_it_is_not_private() -> None:
    assert charts.png(OpenedRelease(make(simulated=True)), "ranking").startswith(b"\x89PNG")


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
