"""A server that ended: what ran is looked at when it starts again, and nothing is charged twice or lost."""

from __future__ import annotations

import shutil
from decimal import Decimal
from typing import Any

import pytest

from headcount.counts.request import ReleaseRequest
from headcount.curator import Curator
from headcount.events.log import EventLog
from headcount.ledger import Charge, Reservation
from headcount.studio.store.jobs import Job
from headcount.studio.studio import Studio
from tests.studio.desk import ASKED, opened, who


@pytest.fixture
def job(studio: Studio) -> Job:
    """A job that ran when the server ended."""
    dataset = opened(studio)
    studio.jobs.ask(who(studio, "cora"), dataset=dataset.id, family="counts", asked=ASKED)
    taken = studio.jobs.take()
    assert taken is not None
    return taken


def _reserve(studio: Studio, analyst: str = "cora") -> Reservation:
    made = studio.ledger.reserve("visits", None, analyst, "{}", "c", Charge(Decimal(1)), again=True)
    assert isinstance(made, Reservation)
    return made


def _after(studio: Studio, job: Job) -> Job:
    studio.work.runner.recover()
    studio.work.runner.recover()  # it may end while it looks
    return studio.jobs.get(who(studio, "cora"), job.id)


def test_what_was_not_charged_waits_again(studio: Studio, job: Job) -> None:
    _reserve(studio, "somebody else")
    _reserve(studio).refund("no file")
    found = _after(studio, job)
    assert (found.state, found.started, found.entry) == ("waiting", None, None)
    assert studio.jobs.take() is not None


@pytest.mark.parametrize("noted", [True, False])
def test_what_was_charged_is_interrupted_and_says_so(studio: Studio, job: Job, noted: bool) -> None:
    entry = _reserve(studio).entry
    if noted:
        studio.jobs.note(job.id, entry=entry)
    aside = studio.settings.releases / f".{job.id}.part"
    aside.mkdir()
    found = _after(studio, job)
    assert found.outcome is not None
    assert (found.state, found.entry) == ("interrupted", entry)
    assert found.outcome["message"] == (
        "the server ended while this job ran; what was reserved stays charged; ask again, which is charged anew"
    )
    assert not aside.exists()
    assert studio.jobs.again(who(studio, "cora"), job.id).state == "waiting"


def test_one_reservation_belongs_to_one_job(studio: Studio, job: Job) -> None:
    studio.jobs.ask(who(studio, "cora"), dataset=job.dataset, family="counts", asked=ASKED)
    other = studio.jobs.take()
    assert other is not None
    studio.jobs.note(job.id, entry=_reserve(studio).entry)
    assert _after(studio, job).state == "interrupted"
    assert studio.jobs.get(who(studio, "cora"), other.id).state == "waiting"


def test_a_release_that_is_whole_is_done(studio: Studio, job: Job) -> None:
    entry = _reserve(studio).entry
    curator, log = Curator(), EventLog.of([("ann", "tea")], items=["rye", "tea"])
    release = curator.run(curator.prepare(ReleaseRequest(**ASKED), log))
    release.save(studio.settings.releases / job.id)
    found = _after(studio, job)
    (made,) = studio.releases.listed(who(studio, "cora"))
    assert found.outcome is not None
    assert (found.state, found.entry, found.outcome["release"]) == ("done", entry, made.id)


def test_a_release_that_is_not_whole_is_not(studio: Studio, job: Job) -> None:
    curator, log = Curator(), EventLog.of([("ann", "tea")], items=["rye", "tea"])
    folder = curator.run(curator.prepare(ReleaseRequest(**ASKED), log)).save(studio.settings.releases / job.id)
    (folder / "items.parquet").unlink()
    assert _after(studio, job).state == "waiting"
    shutil.rmtree(folder)


def test_what_was_cancelled_is_not_begun_again(studio: Studio, job: Job) -> None:
    studio.jobs.cancel(who(studio, "cora"), job.id)
    found = _after(studio, job)
    assert found.outcome is not None
    assert (found.state, "nothing was charged" in str(found.outcome["problem"])) == ("cancelled", True)


def test_the_queue_goes_on_whatever_goes_wrong(studio: Studio, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = studio.work.runner

    def fails(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(runner, "_work", fails)
    runner._run(job)
    found = studio.jobs.get(who(studio, "cora"), job.id)
    assert found.outcome is not None
    assert (found.state, found.outcome["problem"]) == ("failed", "something went wrong here")
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
    asked: dict[str, Any] = {"kind": "check", "dataset": dataset.id}
    studio.jobs.ask(who(studio, "cora"), **asked)
    taken = studio.jobs.take()
    assert taken is not None
    assert _after(studio, taken).state == "waiting"
