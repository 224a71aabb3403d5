"""Whatever is planned or predicted is said without a row of the log: a source whose rows raise says the same."""

from __future__ import annotations

import io
from typing import Any

import pytest

from headcount.events.sources.files.file_source import FileSource
from headcount.studio.jobs import tasks
from headcount.studio.jobs.ipc import CancellationGate, ServerPipe, TaskMessage
from headcount.studio.studio import Studio
from tests.studio.support.dataset import lay_out

REQUESTS: dict[str, dict[str, Any]] = {
    "counts": {"epsilon": "1"},
    "totals": {"epsilon": "1", "method": "totals", "limit": 3},
    "rankings": {"epsilon": "1", "k": 2},
    "neighbours": {"epsilon": "1", "delta": "1e-6"},
}
FIGURES: dict[str, Any] = {"users": 900, "items": 5, "median": 2, "max": 2, "k": 2, "epsilon": "1"}


@pytest.fixture
def desk(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> Studio:
    """A studio with a log of which not one row can be read."""
    lay_out(studio)
    monkeypatch.chdir(studio.settings.files)

    reading = FileSource.batches

    def raising(source: FileSource, *columns: Any, **how: Any) -> Any:
        if "visits.csv" in source.files:
            raise AssertionError("a row was read")
        return reading(source, *columns, **how)

    monkeypatch.setattr(FileSource, "batches", raising)
    return studio


def looked(desk: Studio, task: str, family: str | None = None, **request: Any) -> dict[str, Any]:
    """Look at something as a process of the studio does, here."""
    flags = {"user": "user", "item": "venue", "items": "venues.csv"}
    about = {
        "name": "visits",
        "version": None,
        "reads": "events",
        "source": {"files": ["visits.csv"]},
        "flags": flags,
    }
    task_input = TaskMessage(
        task=task,
        data=str(desk.settings.data),
        ledger=desk.settings.ledger_url,
        dataset=about,
        family=family,
        asked=request,
        analyst="cora",
        by_curator=True,
    )
    line = ServerPipe(io.StringIO())
    return tasks.QUICK_TASKS[task](task_input, line, CancellationGate(line))


@pytest.mark.parametrize("family", REQUESTS)
def test_a_plan_reads_no_row(desk: Studio, family: str) -> None:
    plan = looked(desk, "plan", family, **REQUESTS[family])
    assert "factor of at most" in plan["words"]["promise"]
    assert plan["price"]["epsilon"] == "1"


def test_what_is_public_and_a_forecast_read_no_row(desk: Studio) -> None:
    assert looked(desk, "log") == {"items": 3, "contexts": None}
    assert "will be right" in looked(desk, "forecast", **FIGURES)["top"]["words"]


def test_a_preview_would_be_noticed(desk: Studio) -> None:
    with pytest.raises(AssertionError, match="a row was read"):
        looked(desk, "inspect")
