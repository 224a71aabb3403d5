"""A pool of warm worker processes for quick tasks that charge nothing: plans, previews, forecasts.

Queued jobs, which charge, run in ``runner``.
"""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from headcount.errors import DataError, SurroundingsError
from headcount.studio.jobs.ipc import TaskMessage, error_from_json
from headcount.studio.jobs.runner import close_process, parse_message, worker_process
from headcount.studio.store.throttling import TooManyError

_AT_ONCE = 2
"""Tasks at once; of analysts one less, so that a curator waits for no analyst."""
_MOST_PER_USER = 3
"""Tasks of an account under way: one runs, the others wait."""
_WAITING = 20
"""Tasks that may wait in all: each holds a thread of the server."""
_SECONDS = 60.0
"""Seconds that a task may take."""
_TASKS_PER_PROCESS = 500
"""Tasks of a process before another one replaces it."""


class PlanPool:
    """Warm processes; a task that crashes one of them, such as a broken file, affects no other."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._turns = threading.BoundedSemaphore(_AT_ONCE)
        self._analysts_turns = threading.BoundedSemaphore(_AT_ONCE - 1)
        self._idle: list[_WarmProcess] = []
        self._lock = threading.Lock()
        self._asking: Counter[str] = Counter()
        self._own: dict[str, threading.Lock] = {}
        self._closed = False

    def warm(self) -> None:
        """Have a process ready."""
        with self._taken():
            pass

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            self._closed = True
            ending, self._idle = self._idle, []
        for process in ending:
            process.close()

    def run_quick_task(self, message: TaskMessage) -> dict[str, Any]:
        """Run a task, and return its result or raise its error."""
        with self._turn(message.analyst, by_curator=message.by_curator), self._taken() as warm:
            reply = warm.ask(message, self._seconds)
        if "done" in reply:
            return dict(reply["done"])
        raise error_from_json(reply["failed"])

    @contextlib.contextmanager
    def _turn(self, user: str, *, by_curator: bool) -> Iterator[None]:
        """Wait for a turn. An account has one at a time, so that many tasks of one delay no other."""
        with self._lock:
            is_full = not by_curator and self._asking.total() >= _AT_ONCE + _WAITING
            if self._asking[user] >= _MOST_PER_USER or is_full:
                raise TooManyError("too much is looked at just now", remedy="wait a second", seconds=1)
            self._asking[user] += 1
            own = self._own.setdefault(user, threading.Lock())
        try:
            among = contextlib.nullcontext() if by_curator else _acquired(self._analysts_turns, self._seconds)
            with _acquired(own, self._seconds), among, _acquired(self._turns, self._seconds):
                yield
        finally:
            with self._lock:
                self._asking[user] -= 1
                if not self._asking[user]:
                    del self._asking[user], self._own[user]

    @contextlib.contextmanager
    def _taken(self) -> Iterator[_WarmProcess]:
        with self._lock:
            warm = self._idle.pop() if self._idle else None
        if warm is None or warm.process.poll() is not None:
            if warm is not None:
                warm.close()
            warm = _WarmProcess()
        try:
            yield warm
        except BaseException:
            warm.close()
            raise
        with self._lock:
            keep = not self._closed and warm.tasks_taken < _TASKS_PER_PROCESS and warm.process.poll() is None
            if keep:
                self._idle.append(warm)
        if not keep:
            warm.close()


@contextlib.contextmanager
def _acquired(turn: threading.Lock | threading.BoundedSemaphore, seconds: float) -> Iterator[None]:
    if not turn.acquire(timeout=seconds):
        raise SurroundingsError("too much is looked at just now", remedy="try again")
    try:
        yield
    finally:
        turn.release()


class _WarmProcess:
    """A process that was started before it is needed, and a thread that hears it."""

    def __init__(self) -> None:
        self._held = contextlib.ExitStack()
        self.process: subprocess.Popen[str] = self._held.enter_context(worker_process("--looking"))
        self.tasks_taken = 0
        self._heard: queue.Queue[Mapping[str, Any] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._listen, name="studio-look", daemon=True)
        self._thread.start()

    def ask(self, message: TaskMessage, seconds: float) -> Mapping[str, Any]:
        """Ask for something, and wait for the answer."""
        self.tasks_taken += 1
        try:
            assert self.process.stdin is not None  # noqa: S101
            self.process.stdin.write(message.line())
            self.process.stdin.flush()
            while True:
                reply = self._heard.get(timeout=seconds)
                if reply is None:
                    raise DataError("this could not be read: the process that looked at it crashed")
                if "done" in reply or "failed" in reply:
                    return reply
        except queue.Empty:
            raise SurroundingsError(
                "this took too long to look at", remedy="try again, or with less data"
            ) from None
        except OSError as error:
            raise SurroundingsError("nothing can be looked at just now", remedy="try again") from error

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self._thread.join()
        self._held.close()
        close_process(self.process)

    def _listen(self) -> None:
        for line in self.process.stdout or ():
            self._heard.put(parse_message(line))
        self._heard.put(None)
