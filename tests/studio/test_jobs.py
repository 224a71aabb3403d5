"""Work of the studio with real processes: releases, cancelling, crashes, and looks."""

from __future__ import annotations

import contextlib
import io
import math
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headcount.errors import DataError, HeadcountError, SurroundingsError, UsageError
from headcount.events.sources.databases.duckdb_files import CONFINED
from headcount.events.sources.databases.table_or_query import TableOrQuery
from headcount.events.sources.source import open_source
from headcount.releases.release import Release, load
from headcount.run.withhold import WithheldError
from headcount.studio.access import NotAllowedError
from headcount.studio.jobs import plan_pool, runner, tasks
from headcount.studio.jobs.ipc import CancellationGate, CancelledError, ServerPipe, TaskMessage
from headcount.studio.jobs.tasks import WorkerCharging
from headcount.studio.jobs.worker import _run_task, _visible_error
from headcount.studio.settings import Limits, Settings
from headcount.studio.store import schema
from headcount.studio.store.jobs import Job
from headcount.studio.store.throttling import TooManyError
from headcount.studio.studio import Studio
from tests.studio.conftest import Browser, people
from tests.studio.support.dataset import REQUEST, opened, who

SLOW = "tests.studio.support.slow_worker"


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    """A studio with short steps of time."""
    running = Studio(Settings(tmp_path / "desk", limits=Limits(step_seconds=0.1)))
    people(running)
    yield running
    running.stop()


def until(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Wait until something is so."""
    ends = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < ends, "it did not come about"
        time.sleep(0.02)
    return value


def _over(studio: Studio, job: Job) -> Job:
    cora = who(studio, "cora")
    return until(lambda: (current := studio.jobs.get(cora, job.id)).is_over and current)  # type: ignore[no-any-return]


def test_a_release_is_computed_and_the_same_request_costs_nothing(studio: Studio) -> None:
    dataset, cora, ann = opened(studio), who(studio, "cora"), who(studio, "ann")
    studio.datasets.allow(cora, dataset.id, str(ann.id), "1")
    studio.start()
    first = _over(studio, studio.jobs.ask(cora, dataset=dataset.id, family="counts", asked=REQUEST))
    assert (first.state, first.entry) == ("done", 3)
    (listed,) = studio.releases.listed(cora)
    release = load(studio.releases.folder_of(listed))
    assert (release.is_private, release.ledger and release.ledger["entry"]) == (True, 3)
    assert datetime.fromisoformat(release.created).timestamp() == int(first.created) == int(listed.created)
    assert studio.ledger.show("visits").epsilon == 1
    early = _over(studio, studio.jobs.ask(ann, dataset=dataset.id, family="counts", asked=REQUEST))
    assert early.state == "failed"  # what a curator reviews, or withheld, is not had by asking for it
    assert early.outcome is not None
    assert "not published" in early.outcome["problem"]
    assert studio.releases.listed(ann) == []
    until(lambda: not (studio.settings.releases / early.id).exists())  # the copy is of no use to the studio
    assert load(studio.releases.folder_of(listed)).is_private
    studio.releases.publish(cora, listed.id)
    second = _over(studio, studio.jobs.ask(ann, dataset=dataset.id, family="counts", asked=REQUEST))
    assert second.outcome is not None
    assert (second.state, second.outcome["earlier"], second.entry) == ("done", True, None)
    assert (studio.settings.releases / second.id).is_dir()
    assert studio.ledger.show("visits").epsilon == 1
    refused = _over(
        studio, studio.jobs.ask(ann, dataset=dataset.id, family="counts", asked={**REQUEST, "epsilon": "2"})
    )
    assert refused.outcome is not None
    assert (refused.state, refused.outcome["error"]) == ("failed", "RefusedError")
    assert refused.outcome["problem"] == "this is beyond the budget; of your own, ε = 1 is left"
    assert until(
        lambda: {listed_release.state for listed_release in studio.releases.listed(ann)} == {"own", "published"}
    )
    assert studio.ledger.verify().ok


def _reserved(studio: Studio, job: Job) -> int:
    """Wait until a job has paid, and return the id of its process."""
    cora = who(studio, "cora")
    until(lambda: studio.jobs.get(cora, job.id).entry)
    process = studio.work.runner._held()[0].process
    assert process is not None
    return process.pid


def _is_there(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError, OSError):
        state = Path(f"/proc/{pid}/stat")
        if state.exists():
            return state.read_text().rpartition(")")[2].split()[0] != "Z"
        os.kill(pid, 0)
        return not sys.platform.startswith("linux")
    return False


def test_cancelling_and_crashing_once_data_was_opened_stays_charged_and_harms_no_other_job(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "WORKER", SLOW)
    dataset, cora = opened(studio), who(studio, "cora")
    studio.start()
    job = studio.jobs.ask(cora, dataset=dataset.id, family="counts", asked=REQUEST)
    pid = _reserved(studio, job)
    waiting = studio.jobs.ask(cora, dataset=dataset.id, family="counts", asked=REQUEST)
    studio.jobs.cancel(cora, job.id)
    cancelled = _over(studio, job)
    assert cancelled.outcome is not None
    assert (cancelled.state, cancelled.outcome["error"]) == ("cancelled", "CancelledError")
    assert "stays charged" in cancelled.outcome["problem"]
    assert not _is_there(pid)
    os.kill(_reserved(studio, waiting), signal.SIGKILL)
    crashed = _over(studio, waiting)
    assert crashed.outcome is not None
    assert (crashed.state, crashed.outcome["error"]) == ("failed", "InterruptedJobError")
    assert crashed.outcome["problem"] == "the process that worked on it crashed; what was reserved stays charged"
    account = studio.ledger.show("visits")
    assert (account.epsilon, account.open) == (Decimal(2), 2)
    ann = who(studio, "ann")
    studio.datasets.allow(cora, dataset.id, str(ann.id), "1")
    theirs = studio.jobs.ask(ann, dataset=dataset.id, family="counts", asked=REQUEST)
    os.kill(_reserved(studio, theirs), signal.SIGKILL)
    outcome = _over(studio, theirs).outcome
    assert outcome is not None
    assert outcome["error"] == "WithheldError"  # whether data took all memory is not for an analyst


@pytest.mark.parametrize("ending", ["cancelled", "killed", "late", "stopped"])
def test_no_rows_stay_in_the_temporary_folder_however_work_ends(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setattr(runner, "WORKER", SLOW)
    dataset, cora = opened(studio), who(studio, "cora")
    studio.start()
    job = studio.jobs.ask(cora, dataset=dataset.id, family="counts", asked=REQUEST)
    pid = _reserved(studio, job)
    until(lambda: list(place.rglob("rows.arrow")))
    if ending == "cancelled":
        studio.jobs.cancel(cora, job.id)
    elif ending == "killed":
        os.kill(pid, signal.SIGKILL)
    elif ending == "late":
        studio.work.runner._held()[0].began = -math.inf
    else:
        studio.stop()
    until(lambda: not _is_there(pid))
    until(lambda: not list(place.rglob("rows.arrow")), 10)
    studio.stop()  # ends the processes that look, which have folders, too
    assert list(place.iterdir()) == []


def test_a_worker_ends_when_its_server_does(studio: Studio, tmp_path: Path) -> None:
    opened(studio)
    dataset = studio.datasets.listed(who(studio, "cora"))[0]
    task = TaskMessage.create(
        studio.settings,
        "release",
        dataset,
        family="counts",
        asked=REQUEST,
        analyst="cora",
        out=str(tmp_path / "out"),
    )
    server = (
        "import subprocess, sys; "
        f"worker = subprocess.Popen([sys.executable, '-m', {SLOW!r}], stdin=subprocess.PIPE, text=True); "
        f"worker.stdin.write({task.line()!r}); worker.stdin.flush(); print(worker.pid, flush=True); worker.wait()"
    )
    with subprocess.Popen([sys.executable, "-c", server], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        until(lambda: studio.ledger.show("visits").open)
        assert _is_there(pid)
        parent.kill()
    until(lambda: not _is_there(pid))
    assert studio.ledger.show("visits").epsilon == 1


def test_quick_tasks_charge_nothing_and_stay_inside(studio: Studio) -> None:
    dataset, cora, ann = opened(studio), who(studio, "cora"), who(studio, "ann")
    studio.datasets.allow(cora, dataset.id, str(ann.id), "0.5")
    look = studio.work.run_quick_task
    description = look(cora, "inspect", dataset=dataset.id)
    assert (description["rows"], description["reads"], description["flags"]) == (
        200,
        "events",
        {"user": "user", "item": "venue"},
    )
    assert [column["name"] for column in description["columns"]] == ["user", "venue"]
    plan = look(ann, "plan", dataset=dataset.id, family="counts", asked={**REQUEST, "epsilon": "0.5"})
    assert (plan["ledger"]["left"], plan["cells"], plan["method"]) == ("0.5", {"items": 3}, "sra")
    assert "epsilon" not in plan["ledger"]  # of the whole dataset
    assert (
        look(cora, "plan", dataset=dataset.id, family="counts", asked=REQUEST)["ledger"]["epsilon"]["left"] == "3"
    )
    with pytest.raises(HeadcountError, match=r"beyond the budget; of your own, ε = 0\.5 is left"):
        look(ann, "plan", dataset=dataset.id, family="counts", asked=REQUEST)
    with pytest.raises(UsageError, match="limit must be a whole number"):
        look(cora, "plan", dataset=dataset.id, family="counts", asked={**REQUEST, "limit": 0})
    for kind in ("inspect", "log"):
        with pytest.raises(NotAllowedError):
            look(ann, kind, dataset=dataset.id)
    draft = studio.datasets.register(cora, name="draft", source={"files": ["visits.csv"]})
    for source in (
        {"files": ["../headcount.db"]},
        {"files": ["/etc/passwd"]},
        {"address": "duckdb:////etc/passwd"},
    ):
        with studio.store.writing() as run:  # as if the studio had not refused it
            run.execute(schema.datasets.update().where(schema.datasets.c.id == draft.id).values(source=source))
        with pytest.raises(HeadcountError):
            look(cora, "inspect", dataset=draft.id)
    warm = studio.work._plan_pool._idle[0]
    os.kill(warm.process.pid, signal.SIGKILL)
    warm.process.wait()
    assert look(cora, "inspect", dataset=dataset.id)["source"] == "visits.csv"
    assert studio.ledger.show("visits").epsilon == 0
    assert len(studio.ledger.history()) == 2


def test_plans_of_one_analyst_delay_no_other_user(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    """One plan of a user is worked on, two wait, and further ones are refused at once."""
    dataset, cora, ann = opened(studio), who(studio, "cora"), who(studio, "ann")
    studio.datasets.allow(cora, dataset.id, str(ann.id), "0.5")
    at_once, most, go_on = [0], [0], threading.Event()

    def ask(*_: Any) -> dict[str, Any]:
        at_once[0] += 1
        most[0] = max(most[0], at_once[0])
        assert go_on.wait(60)
        at_once[0] -= 1
        return {"done": {}}

    monkeypatch.setattr(plan_pool._WarmProcess, "ask", ask)
    request = {**REQUEST, "epsilon": "0.5"}

    def plan(_number: int) -> Any:
        try:
            return studio.work.run_quick_task(ann, "plan", dataset=dataset.id, family="counts", asked=request)
        except TooManyError as error:
            return error.seconds

    with ThreadPoolExecutor(12) as pool:
        plans = [pool.submit(plan, number) for number in range(12)]
        until(lambda: sum(plan.done() for plan in plans) == 9)
        assert {plan.result() for plan in plans if plan.done()} == {1.0}
        others = pool.submit(studio.work.run_quick_task, cora, "inspect", dataset=dataset.id)
        until(lambda: at_once[0] == 2)  # the other process is free for another user
        go_on.set()
        assert others.result(60) == {}
        assert [plan.result(60) for plan in plans].count({}) == 3
    assert most == [2]
    assert (studio.work._plan_pool._asking, studio.work._plan_pool._own) == ({}, {})


def test_quick_tasks_of_analysts_leave_a_process_to_curators(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, cora = opened(studio), who(studio, "cora")
    asking, go_on = list[str](), threading.Event()

    def ask(_warm: Any, task: TaskMessage, _seconds: float) -> dict[str, Any]:
        asking.append(task.analyst)
        assert task.by_curator or go_on.wait(60)
        return {"done": {}}

    monkeypatch.setattr(plan_pool._WarmProcess, "ask", ask)
    monkeypatch.setattr(plan_pool, "_WAITING", 0)
    for name in ("ann", "bob"):
        studio.datasets.allow(cora, dataset.id, str(who(studio, name).id), "0.5")
    with ThreadPoolExecutor(2) as pool:
        looks = [
            pool.submit(studio.work.run_quick_task, who(studio, name), "forecast", dataset=dataset.id)
            for name in ("ann", "bob")
        ]
        until(lambda: studio.work._plan_pool._asking.total() == 2 and asking)
        assert studio.work.run_quick_task(cora, "inspect", dataset=dataset.id) == {}
        assert len(asking) == 2  # an analyst, then the curator; the other analyst waits
        go_on.set()
        assert [look.result(60) for look in looks] == [{}, {}]


def test_a_request_beyond_the_budget_is_refused_before_a_process_starts(
    studio: Studio, client: Callable[[str], Browser]
) -> None:
    dataset, cora, ann = opened(studio), who(studio, "cora"), who(studio, "ann")
    studio.datasets.allow(cora, dataset.id, str(ann.id), "0.5")
    browser = client("ann")
    wanted = {"dataset": dataset.id, "family": "counts", "asked": REQUEST}
    refused = browser.post("/api/v1/jobs", json=wanted)
    assert (refused.status_code, refused.json()["error"]) == (409, "RefusedError")
    assert studio.jobs.listed(cora) == []
    job = studio.jobs.ask(ann, dataset=dataset.id, family="counts", asked=REQUEST)
    studio.jobs.cancel(ann, job.id)
    until(lambda: studio.jobs.get(ann, job.id).is_over)
    assert browser.post(f"/api/v1/jobs/{job.id}/again").status_code == 409
    assert browser.post(f"/runs/{job.id}/again").status_code == 409
    assert [job_row.id for job_row in studio.jobs.listed(cora)] == [job.id]
    fits = browser.post("/api/v1/jobs", json={**wanted, "asked": {**REQUEST, "epsilon": "0.5"}})
    assert fits.status_code == 202


def test_too_many_plans_are_answered_with_429_and_when_to_ask_again(
    studio: Studio, client: Callable[[str], Browser], monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, cora = opened(studio), client("cora")
    monkeypatch.setattr(plan_pool, "_MOST_PER_USER", 0)
    answer = cora.post(f"/api/v1/datasets/{dataset.id}/plan", json={"family": "counts", "asked": REQUEST})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")


def test_a_quick_task_that_takes_too_long_is_ended(studio: Studio) -> None:
    dataset, cora = opened(studio), who(studio, "cora")
    studio.work._plan_pool._seconds = 0.001
    with pytest.raises(SurroundingsError, match="too long"):
        studio.work.run_quick_task(cora, "inspect", dataset=dataset.id)
    assert studio.work._plan_pool._idle == []


def test_a_duckdb_file_opens_no_other_file(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    pq.write_table(pa.table({"password": ["hush"]}), tmp_path / "secret.parquet")
    with duckdb.connect(str(tmp_path / "sent.duckdb")) as connection:
        connection.sql(f"CREATE VIEW peek AS SELECT * FROM read_parquet('{tmp_path}/secret.parquet')")
        connection.sql("CREATE TABLE fine AS SELECT 'ann' AS who")
    address = f"duckdb://{tmp_path}/sent.duckdb"
    assert open_source(address, target=TableOrQuery("peek", None)).names == ["password"]
    monkeypatch.setenv(CONFINED, "1")
    for target in (
        TableOrQuery("peek", None),
        TableOrQuery(None, f"SELECT * FROM read_parquet('{tmp_path}/secret.parquet')"),
    ):
        with pytest.raises(DataError):
            open_source(address, target=target)
    assert open_source(address, target=TableOrQuery("fine", None)).names == ["who"]


@pytest.mark.parametrize("pragma", ["pragma_database_list", "pragma_table_list", "pragma_compile_options()"])
def test_an_error_of_a_sqlite_query_does_not_reveal_the_studios_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pragma: str
) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "sent.db")) as connection:
        connection.execute("CREATE TABLE fine (who TEXT)")
    address = f"sqlite:///{tmp_path}/sent.db"

    def rows(query: str) -> int:
        source = open_source(address, target=TableOrQuery(None, query))
        return sum(batch.num_rows for batch in source.batches(source.names))

    assert rows(f"SELECT * FROM {pragma}") > 0
    monkeypatch.setenv(CONFINED, "1")
    with pytest.raises(DataError):
        rows(f"SELECT * FROM {pragma}")
    for target in (
        TableOrQuery("fine", None),
        TableOrQuery(None, "SELECT who FROM fine, (SELECT 1 FROM sqlite_master)"),
    ):
        assert open_source(address, target=target).names == ["who"]


def test_an_analyst_learns_that_a_charged_job_stays_charged_when_the_disk_is_full(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Path:
        raise SurroundingsError("no space left on the device")

    opened(studio)
    monkeypatch.chdir(studio.settings.files)
    monkeypatch.setattr(Release, "save", full)
    about = studio.datasets.listed(who(studio, "cora"))[0]
    task = TaskMessage.create(
        studio.settings, "release", about, family="counts", asked=REQUEST, analyst="ann", out="out"
    )
    line = ServerPipe(io.StringIO())
    failed = _run_task(tasks.release, TaskMessage.from_line(task.line()), line, CancellationGate(line))["failed"]
    assert failed == WithheldError().to_json()
    assert studio.ledger.show("visits").epsilon == 1
    (studio.settings.files / "visits.csv").unlink()  # what fails before any event is read is given back
    task = replace(task, asked={**REQUEST, "epsilon": "0.5"})
    failed = _run_task(tasks.release, TaskMessage.from_line(task.line()), line, CancellationGate(line))["failed"]
    assert "stays charged" not in str(failed)
    assert studio.ledger.show("visits").epsilon == 1


def test_who_cancels_while_it_is_charged_gets_the_cost_back(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headcount.events.log import EventLog
    from headcount.methods.counts.request import ReleaseRequest
    from headcount.run.curator import Curator

    opened(studio)
    output = io.StringIO()
    gate = CancellationGate(ServerPipe(output))
    gate._cancelled = True  # as if somebody cancelled just now, and waits for the lock
    charging = WorkerCharging(studio.ledger, "visits", None, "cora", line=ServerPipe(output), gate=gate)
    curator = Curator(charging=charging)
    log = EventLog.of([("ann", "tea")], items=["rye", "tea"])
    with pytest.raises(CancelledError, match="nothing was charged"):
        curator.run(curator.prepare(ReleaseRequest(**REQUEST), log))
    assert [entry.kind for entry in studio.ledger.history()] == ["create", "reserve", "refund"]
    assert studio.ledger.show("visits").epsilon == 0


def test_an_analyst_does_not_learn_the_error_in_a_file() -> None:
    wrong = DataError("column 'usr' is not in visits.csv")
    task = TaskMessage("release", "desk", "sqlite:///x.db")
    assert "usr" not in str(_visible_error(wrong, task))
    assert _visible_error(wrong, TaskMessage("release", "desk", "sqlite:///x.db", by_curator=True)) is wrong
    error = UsageError("limit must be at least 1")
    assert _visible_error(error, task) is error
