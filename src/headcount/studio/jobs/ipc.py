"""Messages between the server and a worker process, one line of JSON each: tasks, errors, progress, cancellation.

The server writes the task, and later perhaps that it is cancelled. If the pipe ends, the server is gone, and the
process ends, too.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from headcount import errors
from headcount.errors import HeadcountError, RefusedError
from headcount.ledger import Reservation
from headcount.run.withhold import WithheldError
from headcount.studio.settings import Settings

if TYPE_CHECKING:
    from headcount.studio.store.datasets import Dataset

CANCEL = "cancel"
ANALYST_READ_FLAGS = ("since", "until")
"""Flags of reading that a request may set, beside those of its dataset; curators may set more."""
CURATOR_READ_FLAGS = (
    *ANALYST_READ_FLAGS, "where", "context", "contexts", "select_contexts", "context_of", "count",
)  # fmt: skip
_ERROR_CLASSES: Mapping[str, type[HeadcountError]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, HeadcountError)
}
_PROGRESS_SECONDS = 0.25
"""Seconds between two lines of progress."""


class CancelledError(RefusedError):
    """A job that was cancelled."""

    @classmethod
    def create(cls, *, charged: bool) -> CancelledError:
        """Say that it was cancelled, and what that means for its cost."""
        if charged:
            return cls("it was cancelled after the data was opened; what was reserved stays charged")
        return cls("it was cancelled before anything was read; nothing was charged")


def split_request(request_values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """Split a request: its fields, its flags of reading, and whether to draw again.

    >>> split_request({"epsilon": "1", "since": "2026-03-01", "again": True})
    ({'epsilon': '1'}, {'since': '2026-03-01'}, True)
    """
    fields = {name: value for name, value in request_values.items() if name not in (*CURATOR_READ_FLAGS, "again")}
    flags = {name: request_values[name] for name in CURATOR_READ_FLAGS if name in request_values}
    return fields, flags, bool(request_values.get("again"))


def error_from_json(error: Mapping[str, Any]) -> HeadcountError:
    """Return the error of another process.

    >>> missing = {"error": "UsageError", "problem": "epsilon is missing", "given": None, "remedy": "give one"}
    >>> error_from_json(missing)
    UsageError('epsilon is missing; give one')
    """
    if error["error"] == WithheldError.__name__:
        return WithheldError()
    kind = _ERROR_CLASSES.get(str(error["error"]), HeadcountError)
    return kind(str(error["problem"]), given=error["given"], remedy=error["remedy"])


@dataclass(frozen=True)
class TaskMessage:
    """The task of a process, as plain data."""

    task: str
    data: str
    ledger: str
    remote: bool = False
    memory: int = 0
    seconds: float = 0.0
    dataset: Mapping[str, Any] | None = None
    family: str | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)
    analyst: str = ""
    by_curator: bool = False
    visible_digests: Sequence[str] = ()
    """Digests of the releases that an analyst sees; others were not released, as far as a plan says."""
    hidden_entries: Sequence[int] = ()
    """Reservations of an analyst whose results are not shown yet: a plan does not count them."""
    until: float = math.inf
    """When a charge of another user was reserved at the latest that a plan counts, in seconds since 1970."""
    out: str = ""
    at: float = 0.0
    """When it was asked for, in seconds since 1970."""

    @classmethod
    def create(cls, settings: Settings, task: str, dataset: Dataset | None = None, **more: Any) -> TaskMessage:
        """Create a message with the settings that a process needs."""
        return cls(
            task=task,
            data=str(settings.data.absolute()),
            ledger=absolute_ledger_url(settings.ledger_url),
            remote=settings.remote,
            memory=settings.limits.work_bytes,
            seconds=settings.limits.work_seconds,
            dataset=None if dataset is None else asdict(dataset),
            **more,
        )

    @property
    def settings(self) -> Settings:
        """The settings of the studio, as far as they matter to the process."""
        return Settings(Path(self.data), ledger=self.ledger, remote=self.remote)

    def line(self) -> str:
        """Write it as one line."""
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def from_line(cls, line: str) -> TaskMessage:
        """Read it back."""
        return cls(**json.loads(line))


def absolute_ledger_url(url: str) -> str:
    """Return the address of a ledger as it is from any folder.

    >>> absolute_ledger_url("postgresql://server/db"), absolute_ledger_url("sqlite:////srv/headcount.db")
    ('postgresql://server/db', 'sqlite:////srv/headcount.db')
    """
    scheme, _, path = url.partition(":///")
    return f"sqlite:///{Path(path).absolute()}" if scheme == "sqlite" else url


class ServerPipe:
    """The line to the server; several threads may speak."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._lock, self._last = out, threading.Lock(), 0.0

    def say(self, **what: Any) -> None:
        """Tell the server something."""
        with self._lock:
            self._out.write(json.dumps(what) + "\n")
            self._out.flush()

    def progress(self, stage: str, done: int, total: int | None) -> None:
        """Tell how far work is, now and then."""
        now = time.monotonic()
        if now - self._last >= _PROGRESS_SECONDS:
            self._last = now
            self.say(progress={"doing": stage, "done": done, "of": total})


class CancellationGate:
    """Where a request is charged: who cancels before loses nothing, who cancels after has paid."""

    def __init__(self, line: ServerPipe) -> None:
        self._line, self._lock = line, threading.Lock()
        self._cancelled = False
        self._reservation: Reservation | None = None

    @property
    def charged(self) -> bool:
        """Whether a cost was reserved, and not given back."""
        return self._reservation is not None and self._reservation.state != "refunded"

    @contextlib.contextmanager
    def reserving(self) -> Iterator[Callable[[Reservation], None]]:
        """Hold back who cancels meanwhile; what is given is called once the cost is reserved, and nothing read."""
        with self._lock:
            yield self._pass

    def _pass(self, reservation: Reservation) -> None:
        if self._cancelled:
            raise CancelledError.create(charged=False)
        self._reservation = reservation

    def cancel(self) -> None:
        """End this process, and say whether it has paid."""
        self._cancelled = True
        with self._lock:
            self._line.say(cancelled=CancelledError.create(charged=self.charged).to_json())
            os._exit(0)

    def watch(self) -> None:
        """Listen to the server from a thread of its own, and end with it."""

        def listen() -> None:
            for line in sys.stdin:
                if line.strip() == CANCEL:
                    self.cancel()
            os._exit(3)

        threading.Thread(target=listen, daemon=True).start()
