"""The job runner: a server thread that starts one worker process per queued job and records its end.

Quick tasks that charge nothing run in the plan pool.

A process that crashes, takes too long or is killed ends its job alone, with a sentence. When the server starts
again, it settles jobs that ran when it ended: a whole release is kept, a job that was not charged waits again, and
one that was charged stays charged and says so.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from headcount._internal.files import ScratchFolder
from headcount.errors import DataError, HeadcountError, SurroundingsError
from headcount.ledger import Ledger
from headcount.releases.folder_integrity import folder_digest
from headcount.run.withhold import WithheldError
from headcount.studio.access import Role, Visitor
from headcount.studio.forms.labels import in_words
from headcount.studio.jobs.ipc import CANCEL, CancelledError, TaskMessage
from headcount.studio.settings import Settings
from headcount.studio.store.datasets import Datasets
from headcount.studio.store.jobs import ENDED, InterruptedJobError, Job, Jobs

_LOG = logging.getLogger("headcount.studio")
WORKER = "headcount.studio.jobs.worker"
_TICK = 0.5
_RETRY_SECONDS = 1.0
"""Seconds until a failed update of the store is tried again."""
_END_SECONDS = 15.0
"""Seconds that a process has to end once it was told to."""
SERVER = Visitor(role=Role.CURATOR, name="the studio")


@dataclass
class _Running:
    """A job that is worked on."""

    job: Job
    process: subprocess.Popen[str] | None = None
    began: float = field(default_factory=time.monotonic)
    end_requested_at: float | None = None
    late: bool = False


class Runner:
    """Works on the queue of a studio."""

    def __init__(self, settings: Settings, jobs: Jobs, datasets: Datasets, ledger: Ledger) -> None:
        self._settings, self._jobs, self._datasets, self._ledger = settings, jobs, datasets, ledger
        self._wanted = threading.Event()
        self._lock = threading.Lock()
        self._active: dict[str, _Running] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._thread: threading.Thread | None = None
        self._stopping = False

    def start(self) -> None:
        """Look at what ran when the server ended, and begin to work."""
        self.recover()
        self._stopping = False
        self._thread = threading.Thread(target=self._loop, name="studio-runner", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End all work; jobs that run are looked at when the server starts again."""
        self._stopping = True
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        for running in self._held():
            _kill(running)
        for thread in list(self._threads.values()):
            thread.join()

    def wake(self) -> None:
        """Look at the queue now."""
        self._wanted.set()

    def run_next(self) -> bool:
        """Work on the job that has waited longest, here and now; False if nothing waits."""
        job = self._jobs.take()
        if job is None:
            return False
        self._run(job)
        return True

    def page_of(self, job: Job) -> Path:
        """Return where the page of a comparison or a reproduction lies."""
        return self._settings.data / "pages" / f"{job.id}.html"

    def recover(self) -> None:
        """Settle jobs that nobody works on any more."""
        active = {running.job.id for running in self._held()}  # first: a job that ends now is not begun again
        for job in self._jobs.running():
            if job.id in active:
                continue
            is_done, charged = self._settle_release(job)
            if is_done:
                self._delete_refused(job)
            elif charged:
                self._end(job, "interrupted", _interrupted("the server ended while this job ran", charged=True))
            elif job.cancelling:
                self._end(job, "cancelled", CancelledError.create(charged=False))
            else:
                self._jobs.wait_again(job.id)

    def _settle_release(self, job: Job) -> tuple[bool, bool]:
        """End a job whose process said nothing, if its release is whole; return whether it is, and was charged."""
        for folder in self._settings.releases.glob(f".{job.id}.*"):
            shutil.rmtree(folder, ignore_errors=True)
        finished, entry = self._finished_release(job), self._entry_of(job)
        if entry is not None:
            self._jobs.note(job.id, entry=entry)
        if finished is not None:  # it was killed between the last two steps
            self._jobs.end(job.id, "done", {"earlier": entry is None}, release_files=finished)
        return finished is not None, entry is not None

    def _finished_release(self, job: Job) -> dict[str, str] | None:
        """Return the release of a job, if it is whole: folders are put into place at once."""
        folder = self._settings.releases / job.id
        if job.kind != "release" or not (folder / "release.json").is_file():
            return None
        try:
            return {"folder": folder.name, "digest": folder_digest(folder)}
        except (OSError, DataError):
            return None

    def _entry_of(self, job: Job) -> int | None:
        """Return what was reserved for a job and not given back: also if there was no time left to note it."""
        if job.kind != "release" or job.started is None or job.dataset_name is None:
            return None
        others = self._jobs.entries(besides=job.id)
        reserved: list[int] = []
        for entry in self._ledger.history(job.dataset_name):
            if entry.kind == "refund" and entry.reservation in reserved:
                reserved.remove(entry.reservation or 0)
            late = datetime.fromisoformat(entry.time).timestamp() >= job.started - 1
            mine = entry.number == job.entry or (late and entry.analyst == job.asker_name)
            if entry.kind == "reserve" and mine and entry.number not in others:
                reserved.append(entry.number)
        return reserved[-1] if reserved else None

    def _delete_refused(self, job: Job) -> None:
        """Delete a copy that the asker of a job may not have; the ledger needs the folder of a charged job."""
        held = self._jobs.get(SERVER, job.id)
        if held.kind == "release" and held.state in ENDED and held.state != "done" and held.entry is None:
            shutil.rmtree(self._settings.releases / job.id, ignore_errors=True)

    def _loop(self) -> None:
        in_doubt = False
        while not self._stopping:
            self._wanted.wait(_TICK - time.time() % _TICK)  # by the clock, not by when something ended
            self._wanted.clear()
            try:
                if in_doubt:  # a job may have been taken although the store said that it failed
                    self.recover()
                in_doubt = False
                self._tend()
                self._begin()
            except Exception:  # the store is busy or gone, or worse: the next round tries again
                in_doubt = True
                _LOG.exception("the queue could not be worked on")

    def _begin(self) -> None:
        while not self._stopping and len(self._held()) < self._settings.limits.at_once:
            job = self._jobs.take()
            if job is None:
                return
            with self._lock:
                self._active[job.id] = _Running(job)
            thread = threading.Thread(target=self._run, args=(job,), name=f"studio-job-{job.id[:8]}", daemon=True)
            self._threads[job.id] = thread
            thread.start()

    def _held(self) -> list[_Running]:
        with self._lock:
            return list(self._active.values())

    def _tend(self) -> None:
        """Tell processes whose jobs are cancelled, and end those that take too long."""
        now = time.monotonic()
        for running in self._held():
            if now - running.began > self._settings.limits.work_seconds:
                running.late = True
                _kill(running)
            elif running.end_requested_at is None and self._jobs.is_cancelling(running.job.id):
                running.end_requested_at = now
                _send(running, CANCEL + "\n")
            elif running.end_requested_at is not None and now - running.end_requested_at > _END_SECONDS:
                _kill(running)

    def _run(self, job: Job) -> None:
        with self._lock:
            running = self._active.setdefault(job.id, _Running(job))
        try:
            heard = self._work(running)
            if not self._stopping or heard:
                self._keep(lambda: self._settle(running, heard))
                self._keep(lambda: self._delete_refused(job))
        except HeadcountError as error:
            self._end(job, "failed", error)
        except Exception:
            _LOG.exception("job %s could not be worked on", job.id)
            self._end(
                job, "failed", HeadcountError("something went wrong here", remedy="see the log of the server")
            )
        finally:
            with self._lock:
                self._active.pop(job.id, None)
            self._threads.pop(job.id, None)
            self.wake()

    def _work(self, running: _Running) -> dict[str, Any]:
        """Start a process, and listen to it; return how it ended, nothing if it did not say."""
        job = running.job
        about = None if job.dataset is None else self._datasets.get(SERVER, job.dataset)
        out = self._settings.releases / job.id if job.kind == "release" else self.page_of(job)
        out.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        message = TaskMessage.create(
            self._settings,
            job.kind,
            about,
            family=job.family,
            asked=dict(job.asked),
            analyst=job.asker_name,
            by_curator=job.by_curator,
            visible_digests=self._datasets.published(job.dataset),
            out=str(out.absolute()),
            at=job.created,
        )
        last, ended = 0.0, dict[str, Any]()
        with worker_process() as process:
            running.process = process
            if self._stopping:  # the server ended while the process was made
                _kill(running)
            _send(running, message.line())
            for line in process.stdout or ():
                reply = parse_message(line)
                if "reserved" in reply:
                    self._keep(partial(self._jobs.note, job.id, entry=reply["reserved"]))
                elif "progress" in reply:
                    if time.monotonic() - last >= 1:
                        last = time.monotonic()
                        with contextlib.suppress(SurroundingsError):  # the next line of progress says more
                            self._jobs.note(job.id, progress=reply["progress"])
                elif reply:
                    ended = reply
        return ended

    def _settle(self, running: _Running, heard: Mapping[str, Any]) -> None:
        """End a job as its process said; if it said nothing, see what became of it."""
        job = running.job
        if "done" in heard:
            outcome = dict(heard["done"])
            is_release = job.kind == "release"
            finished = {name: outcome.pop(name) for name in ("folder", "digest")} if is_release else None
            self._jobs.end(job.id, "done", outcome, release_files=finished)
            return
        for state in ("failed", "cancelled"):
            if state in heard:
                self._jobs.end(job.id, state, heard[state])
                return
        is_done, charged = self._settle_release(job)
        if running.end_requested_at is not None and not is_done:
            self._end(job, "cancelled", CancelledError.create(charged=charged))
        elif not is_done:
            self._end(job, "failed", self._broke_off(running, charged=charged))

    def _broke_off(self, running: _Running, *, charged: bool) -> HeadcountError:
        """Say how a process ended that said nothing; once events were read, an analyst is told as ever."""
        if charged and not running.job.by_curator:
            return WithheldError()
        minutes = self._settings.limits.work_seconds / 60
        why = (
            f"it took longer than {minutes:g} minutes" if running.late else "the process that worked on it crashed"
        )
        return _interrupted(why, charged=charged)

    def _end(self, job: Job, state: str, error: HeadcountError) -> None:
        error.render(in_words)
        self._keep(lambda: self._jobs.end(job.id, state, error.to_json()))

    def _keep(self, update: Callable[[], None]) -> None:
        """Update the store; while it fails, as on a full disk, try again until the server stops.

        Each update says what became of a job, so a job that is never updated would run forever. One that is
        repeated changes nothing more.
        """
        while True:
            try:
                return update()
            except SurroundingsError:
                if self._stopping:
                    raise
                _LOG.warning("the state of a job could not be kept; trying again", exc_info=True)
                time.sleep(_RETRY_SECONDS)


@contextlib.contextmanager
def worker_process(*flags: str) -> Any:
    """Start a process that works, and see that it and its temporary files are gone afterwards."""
    scratch = ScratchFolder()
    process = subprocess.Popen(  # noqa: S603 - nothing of it comes from a request
        [sys.executable, "-m", WORKER, *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # a library may print what is in the data
        text=True,
        encoding="utf-8",
        bufsize=1,
        start_new_session=True,  # Ctrl-C is for the server, which ends it
        env=os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch.path)),
        pass_fds=() if scratch.lock is None else (scratch.lock,),  # the folder stays while either process runs
    )
    try:
        yield process
    finally:
        close_process(process)
        scratch.delete()


def parse_message(line: str) -> dict[str, Any]:
    """Read a line of a process: nothing, if it was killed in the middle of it.

    >>> parse_message('{"reserved": 3}'), parse_message('{"reser')
    ({'reserved': 3}, {})
    """
    try:
        return dict(json.loads(line))
    except ValueError:
        return {}


def close_process(process: subprocess.Popen[str]) -> None:
    """Close what leads to a process, and wait until it is gone."""
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()  # it ends by itself
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _send(running: _Running, line: str) -> None:
    process = running.process
    if process is not None and process.stdin is not None:
        with contextlib.suppress(OSError, ValueError):  # it has ended already
            process.stdin.write(line)
            process.stdin.flush()


def _kill(running: _Running) -> None:
    if running.process is not None:
        running.process.kill()


def _interrupted(why: str, *, charged: bool) -> InterruptedJobError:
    cost = "what was reserved stays charged" if charged else "nothing was charged"
    return InterruptedJobError(
        f"{why}; {cost}", remedy="ask again, which is charged anew" if charged else "ask again"
    )
