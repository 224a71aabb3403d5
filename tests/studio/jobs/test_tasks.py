"""What a process of the studio does, without the process: logs and requests of plain data, work of curators."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headcount.errors import HeadcountError, UnknownNameError, UsageError
from headcount.studio.jobs import tasks
from headcount.studio.jobs.ipc import CancellationGate, ServerPipe, TaskMessage
from headcount.studio.settings import Settings
from headcount.studio.studio import Studio
from tests.studio.support.dataset import FLAGS, REQUEST, lay_out


@pytest.fixture
def desk(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of a studio whose files are the folder of this process, as it is in a worker."""
    lay_out(studio)
    monkeypatch.chdir(studio.settings.files)
    return studio.settings


def about(**changes: Any) -> dict[str, Any]:
    """Return a dataset as it is told."""
    named = {"name": "visits", "version": None, "reads": "events", "source": {"files": ["visits.csv"]}}
    return {**named, "flags": FLAGS, **changes}


def run(desk: Settings, task: str, **more: Any) -> dict[str, Any]:
    """Do something, as a worker would."""
    task_input = TaskMessage(
        task, str(desk.data), desk.ledger_url, **{"by_curator": True, "dataset": about(), **more}
    )
    line = ServerPipe(io.StringIO())
    done: dict[str, Any] = {**tasks.JOB_TASKS, **tasks.QUICK_TASKS}[task](
        TaskMessage.from_line(task_input.line()), line, CancellationGate(line)
    )
    return json.loads(json.dumps(done))  # type: ignore[no-any-return]


def test_a_dataset_that_reads_in_another_way_says_what_is_missing(desk: Settings) -> None:
    for flags, message in (
        ({"user": "user", "items": "venues.csv"}, "which column is the item"),
        ({"user": "user", "item": "venue"}, "catalogue|--items"),
        ({**FLAGS, "tag": "x"}, "tag is of no use here"),
        ({**FLAGS, "user": "usr"}, "usr"),
    ):
        with pytest.raises(HeadcountError, match=message):
            run(desk, "plan", family="counts", asked=REQUEST, dataset=about(flags=flags))


def test_an_empty_field_counts_as_not_given(desk: Settings) -> None:
    empty = {**FLAGS, "where": [], "since": "", "context": None, "select_items": False, "drop_nulls": False}
    assert run(desk, "plan", family="counts", asked=REQUEST, dataset=about(flags=empty))["cells"] == {"items": 3}


def test_a_plan_tells_an_analyst_of_no_release_that_they_do_not_see(studio: Studio, desk: Settings) -> None:
    """Asked again and again, it would tell to the moment when the work on their own request has ended."""
    studio.ledger.create("visits", epsilon="3")
    options: dict[str, Any] = {"family": "counts", "asked": REQUEST}
    as_ann = {**options, "by_curator": False, "analyst": "ann"}
    before = run(desk, "plan", **as_ann)
    release = run(desk, "release", **options, analyst="ann", out=str(desk.releases / "one"))
    after = run(desk, "plan", **as_ann, hidden_entries=[2])
    assert after["ledger"]["published"] is None
    assert after == before
    assert run(desk, "plan", **as_ann, visible_digests=[release["digest"]])["ledger"]["published"] == "this studio"
    assert run(desk, "plan", **options)["ledger"]["published"] == "this studio"


def test_a_request_may_narrow_what_is_read(desk: Settings) -> None:
    report = run(desk, "check", asked={"where": ["venue = tea"]})["checked"]
    whole = run(desk, "check")["checked"]
    assert (whole["records"], whole["all_counts"]) == (200, True)
    assert 0 < report["records"] < whole["records"]


def test_hints_are_in_the_words_of_the_web(desk: Settings) -> None:
    assert run(desk, "check")["checked"]["hints"] == ["each person has an item once: count users is more accurate"]


def test_an_unknown_family_and_an_unknown_field_are_reported(desk: Settings) -> None:
    with pytest.raises(UnknownNameError, match="family 'count'"):
        run(desk, "plan", family="count", asked=REQUEST)
    with pytest.raises(UsageError, match="colour"):
        run(desk, "plan", family="counts", asked={**REQUEST, "colour": "red"})


def test_an_audit_reports_its_result(desk: Settings) -> None:
    result = run(desk, "audit", dataset=None, asked={"method": "sra", "replay": True})
    assert (result["violation"], result["sentences"][0][:18]) == (False, "No violation found")
    with pytest.raises(HeadcountError, match="nothing"):
        run(desk, "audit", dataset=None, asked={"method": "nothing"})


def test_an_unknown_paper_is_reported(desk: Settings) -> None:
    with pytest.raises(UnknownNameError, match="paper 'nothing'"):
        run(desk, "reproduce", dataset=None, asked={"paper": "nothing"}, out="page.html")


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        ("reproduce", {"paper": "kellaris", "data": "/etc"}),
        ("reproduce", {"paper": "kellaris", "processes": 1000}),
        ("compare", {"processes": 1000}),
        ("audit", {"method": "sra", "pool": 3}),
    ],
)
def test_a_request_says_neither_where_data_lie_nor_how_many_processes_run(
    desk: Settings, task: str, settings: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match="is of no use here"):
        run(desk, task, asked=settings, out="page.html")


@pytest.mark.slow
def test_a_comparison_writes_a_page(desk: Settings, tmp_path: Path) -> None:
    request = {"methods": ["sra"], "epsilon": ["1"], "limits": [1], "runs": 1}
    result = run(desk, "compare", asked=request, out=str(tmp_path / "page.html"))
    assert result["page"] == "page.html"
    assert "NOT PRIVATE" in (tmp_path / "page.html").read_text().upper()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits are those of Linux")
def test_a_process_that_takes_too_much_ends() -> None:
    """Only this process: a limit that is taken stays."""
    taking = "from headcount.studio.jobs.worker import set_resource_limits; set_resource_limits({}, {}); "
    greedy = subprocess.run(
        [sys.executable, "-c", taking.format(2**29, 60) + "held = bytearray(2**30)"],
        capture_output=True,
        check=False,
    )
    assert greedy.returncode == 1
    assert b"MemoryError" in greedy.stderr
    busy = subprocess.run(
        [sys.executable, "-c", taking.format(2**40, 0) + "\nwhile True: pass"],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert busy.returncode < 0
