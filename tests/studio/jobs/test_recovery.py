"""A server that ended: what ran is looked at when it starts again, and nothing is charged twice or lost."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from headcount.errors import SurroundingsError
from headcount.events.log import EventLog
from headcount.ledger import Charge, Reservation
from headcount.methods.counts.request import ReleaseRequest
from headcount.run.curator import Curator
from headcount.studio.jobs import runner as runner_module
from headcount.studio.jobs.runner import _Running
from headcount.studio.store.jobs import Job
from headcount.studio.studio import Studio
from tests.studio.support.dataset import REQUEST, opened, who


@pytest.fixture
def job(studio: Studio) -> Job:
    """A job that ran when the server ended."""
    dataset = opened(studio)
    studio.jobs.ask(who(studio, "cora"), dataset=dataset.id, family="counts", asked=REQUEST)
    taken = studio.jobs.take()
    assert taken is not None
    return taken


def _reserve(studio: Studio, analyst: str = "cora") -> Reservation:
    reservation = studio.ledger.reserve("visits", None, analyst, "{}", "c", Charge(Decimal(1)), again=True)
    assert isinstance(reservation, Reservation)
    return reservation


def _after(studio: Studio, job: Job) -> Job:
    studio.work.runner.recover()
    studio.work.runner.recover()  # it may end while it looks
    return studio.jobs.get(who(studio, "cora"), job.id)


def test_what_was_not_charged_waits_again(studio: Studio, job: Job) -> None:
    _reserve(studio, "somebody else")
    _reserve(studio).refund("no file")
    recovered = _after(studio, job)
    assert (recovered.state, recovered.started, recovered.entry) == ("waiting", None, None)
    assert studio.jobs.take() is not None


@pytest.mark.parametrize("noted", [True, False])
def test_what_was_charged_is_interrupted_and_says_so(studio: Studio, job: Job, noted: bool) -> None:
    entry = _reserve(studio).entry
    if noted:
        studio.jobs.note(job.id, entry=entry)
    aside = studio.settings.releases / f".{job.id}.part"
    aside.mkdir()
    recovered = _after(studio, job)
    assert recovered.outcome is not None
    assert (recovered.state, recovered.entry) == ("interrupted", entry)
    assert recovered.outcome["message"] == (
        "the server ended while this job ran; what was reserved stays charged; ask again, which is charged anew"
    )
    assert not aside.exists()
    assert studio.jobs.again(who(studio, "cora"), job.id).state == "waiting"


def test_one_reservation_belongs_to_one_job(studio: Studio, job: Job) -> None:
    studio.jobs.ask(who(studio, "cora"), dataset=job.dataset, family="counts", asked=REQUEST)
    other = studio.jobs.take()
    assert other is not None
    studio.jobs.note(job.id, entry=_reserve(studio).entry)
    assert _after(studio, job).state == "interrupted"
    assert studio.jobs.get(who(studio, "cora"), other.id).state == "waiting"


def test_a_release_that_is_whole_is_done(studio: Studio, job: Job) -> None:
    entry = _reserve(studio).entry
    curator, log = Curator(), EventLog.of([("ann", "tea")], items=["rye", "tea"])
    release = curator.run(curator.prepare(ReleaseRequest(**REQUEST), log))
    release.save(studio.settings.releases / job.id)
    recovered = _after(studio, job)
    (kept_release,) = studio.releases.listed(who(studio, "cora"))
    assert recovered.outcome is not None
    assert (recovered.state, recovered.entry, recovered.outcome["release"]) == ("done", entry, kept_release.id)


def test_the_copy_of_a_release_for_others_is_deleted_and_what_was_charged_is_not(studio: Studio) -> None:
    """A request that was released for others ends as refused; a copy of it would stay for ever."""
    dataset, ann = opened(studio), who(studio, "ann")
    studio.datasets.allow(who(studio, "cora"), dataset.id, str(ann.id), "1")
    studio.jobs.ask(ann, dataset=dataset.id, family="counts", asked=REQUEST)
    refused = studio.jobs.take()
    assert refused is not None
    curator, log = Curator(), EventLog.of([("ann", "tea")], items=["rye", "tea"])
    release = curator.run(curator.prepare(ReleaseRequest(**REQUEST), log))
    folder = release.save(studio.settings.releases / refused.id)
    charged = release.save(studio.settings.releases / "charged")
    assert _after(studio, refused).state == "failed"
    assert (folder.exists(), charged.exists()) == (False, True)


def test_a_release_that_was_charged_stays_however_its_job_ends(studio: Studio, job: Job) -> None:
    """The ledger gives it to the next who asks for the very same."""
    curator, log = Curator(), EventLog.of([("ann", "tea")], items=["rye", "tea"])
    release = curator.run(curator.prepare(ReleaseRequest(**REQUEST), log))
    folder = release.save(studio.settings.releases / job.id)
    studio.jobs.note(job.id, entry=_reserve(studio).entry)
    studio.jobs.end(job.id, "cancelled", {})
    studio.work.runner._delete_refused(job)
    assert folder.exists()


def test_a_release_that_is_not_whole_is_not(studio: Studio, job: Job) -> None:
    curator, log = Curator(), EventLog.of([("ann", "tea")], items=["rye", "tea"])
    folder = curator.run(curator.prepare(ReleaseRequest(**REQUEST), log)).save(studio.settings.releases / job.id)
    (folder / "items.parquet").unlink()
    assert _after(studio, job).state == "waiting"
    shutil.rmtree(folder)


def test_what_was_cancelled_is_not_begun_again(studio: Studio, job: Job) -> None:
    studio.jobs.cancel(who(studio, "cora"), job.id)
    recovered = _after(studio, job)
    assert recovered.outcome is not None
    assert (recovered.state, "nothing was charged" in str(recovered.outcome["problem"])) == ("cancelled", True)


def test_the_queue_goes_on_whatever_goes_wrong(studio: Studio, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = studio.work.runner

    def fails(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(runner, "_work", fails)
    runner._run(job)
    recovered = studio.jobs.get(who(studio, "cora"), job.id)
    assert recovered.outcome is not None
    assert (recovered.state, recovered.outcome["problem"]) == ("failed", "something went wrong here")
    tried: list[int] = []

    def tend() -> None:
        tried.append(1)
        runner._stopping = len(tried) > 1
        raise ZeroDivisionError

    monkeypatch.setattr(runner, "_tend", tend)
    runner._loop()
    assert len(tried) == 2


def test_other_work_begins_again(studio: Studio) -> None:
    dataset = opened(studio)
    request: dict[str, Any] = {"kind": "check", "dataset": dataset.id}
    studio.jobs.ask(who(studio, "cora"), **request)
    taken = studio.jobs.take()
    assert taken is not None
    assert _after(studio, taken).state == "waiting"


@contextmanager
def full_disk(studio: Studio) -> Iterator[None]:
    """Let the database refuse every transaction that writes, as on a full disk, until the block ends."""

    def refuse(connection: sa.Connection) -> None:
        if connection.get_execution_options().get("writing"):
            raise sa.exc.OperationalError("COMMIT", {}, OSError("database or disk is full"))

    sa.event.listen(studio.store._engine, "commit", refuse)
    try:
        yield
    finally:
        sa.event.remove(studio.store._engine, "commit", refuse)


def _until(condition: Callable[[], Any]) -> None:
    ends = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < ends, "it did not come about"
        time.sleep(0.02)


def test_a_job_that_ends_on_a_full_disk_ends_when_there_is_room(
    studio: Studio, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "_RETRY_SECONDS", 0.02)
    runner, cora, tried = studio.work.runner, who(studio, "cora"), threading.Event()

    def work(*_: object) -> dict[str, Any]:
        tried.set()
        return {"failed": {"error": "RefusedError", "problem": "too much", "remedy": None}}

    monkeypatch.setattr(runner, "_work", work)
    with full_disk(studio):
        thread = threading.Thread(target=runner._run, args=(job,))
        thread.start()
        assert tried.wait(20)
        time.sleep(0.2)
        assert studio.jobs.get(cora, job.id).state == "running"
        assert [tended.job.id for tended in runner._held()] == [job.id]  # it is still tended
        with pytest.raises(SurroundingsError):
            studio.jobs.cancel(cora, job.id)
    thread.join(20)
    assert not thread.is_alive()
    finished = studio.jobs.get(cora, job.id)
    assert finished.outcome is not None
    assert (finished.state, finished.outcome["problem"]) == ("failed", "too much")
    assert runner._held() == []


def test_a_full_disk_ends_no_process_and_loses_no_reservation(
    studio: Studio, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Progress that cannot be kept is left out; the entry of the ledger is kept when there is room."""
    monkeypatch.setattr(runner_module, "_RETRY_SECONDS", 0.02)
    entry = _reserve(studio).entry
    lines = [{"reserved": entry}, {"progress": {"doing": "counting", "done": 1, "of": 2}}, {"cancelled": {}}]
    script = "".join(f"print({json.dumps(json.dumps(line))}, flush=True);" for line in lines)
    monkeypatch.setattr(
        runner_module, "worker_process", partial(_process, f"import sys; sys.stdin.readline(); {script}")
    )
    heard: list[dict[str, Any]] = []
    with full_disk(studio):
        thread = threading.Thread(target=lambda: heard.append(studio.work.runner._work(_Running(job))))
        thread.start()
        time.sleep(0.5)
        assert thread.is_alive()
    thread.join(20)
    assert heard == [{"cancelled": {}}]
    assert studio.jobs.get(who(studio, "cora"), job.id).entry == entry


@contextmanager
def _process(code: str, *_: str) -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], text=True, stdin=pipe, stdout=pipe) as process:
        yield process


def test_an_abandoned_job_is_settled_after_a_failure_of_the_store(
    studio: Studio, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store may say that it failed although it kept that a job was taken."""
    studio.jobs.cancel(who(studio, "cora"), job.id)
    runner, rounds = studio.work.runner, iter([ZeroDivisionError])

    def tend() -> None:
        for failure in rounds:
            raise failure

    monkeypatch.setattr(runner, "_tend", tend)
    thread = threading.Thread(target=runner._loop)
    thread.start()
    try:
        _until(lambda: studio.jobs.get(who(studio, "cora"), job.id).state == "cancelled")
    finally:
        runner._stopping = True
        thread.join(20)
