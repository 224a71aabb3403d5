"""The worker process, ``python -m headcount.studio.jobs.worker``, which reads tasks from standard input.

For a job it runs one task and ends. With ``--looking`` it runs quick tasks, one after another.

Every error after events may have been read is one fixed sentence, as everywhere: see
:func:`headcount.run.withhold.withhold_errors`.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from headcount.errors import DataError, HeadcountError, SurroundingsError
from headcount.events.sources.databases.duckdb_files import CONFINED
from headcount.run.withhold import WithheldError
from headcount.studio.forms.labels import in_words
from headcount.studio.jobs.ipc import CancellationGate, CancelledError, ServerPipe, TaskMessage
from headcount.studio.jobs.tasks import JOB_TASKS, QUICK_TASKS, Task


def main() -> None:
    """Run the task or the tasks that arrive."""
    line = ServerPipe(os.fdopen(os.dup(1), "w", encoding="utf-8"))
    os.dup2(2, 1)  # what a library prints is no answer
    os.environ[CONFINED] = "1"
    if "--looking" in sys.argv[1:]:
        _run_quick_tasks(line)
    else:
        _run_job(line)


def _run_job(line: ServerPipe) -> None:
    message = TaskMessage.from_line(sys.stdin.readline())
    _prepare(message)
    gate = CancellationGate(line)
    gate.watch()
    line.say(**_run_task(JOB_TASKS[message.task], message, line, gate))


def _run_quick_tasks(line: ServerPipe) -> None:
    line.say(ready=True)
    prepared = False
    for received in sys.stdin:
        message = TaskMessage.from_line(received)
        if not prepared:
            _prepare(message)
            prepared = True
        line.say(**_run_task(QUICK_TASKS[message.task], message, line, CancellationGate(line)))


def _prepare(message: TaskMessage) -> None:
    os.chdir(message.settings.files)
    set_resource_limits(message.memory, message.seconds)


def set_resource_limits(memory: int, seconds: float) -> None:
    """Limit memory and time of this process, where the operating system supports it.

    Time is that of all processors together, a bound for a process that spins; the server ends one that takes
    longer by the clock.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    for limit, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, int(seconds * (os.cpu_count() or 1)) + 1),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(limit)
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (allowed, hard))


def _run_task(task: Task, message: TaskMessage, line: ServerPipe, gate: CancellationGate) -> dict[str, Any]:
    """Run a task, and return how it ended."""
    try:
        return {"done": task(message, line, gate)}
    except CancelledError as error:
        return {"cancelled": error.to_json()}
    except HeadcountError as error:
        return {"failed": _without_paths(_visible_error(error, message, charged=gate.charged), message).to_json()}
    except Exception as error:
        return {"failed": (WithheldError() if gate.charged else _unexpected_error(error, message)).to_json()}


def _visible_error(error: HeadcountError, message: TaskMessage, *, charged: bool = False) -> HeadcountError:
    """Return what an analyst may read: of a charged job that the cost stays, of a file nothing."""
    if message.by_curator:
        return error
    if charged:
        return WithheldError()
    if not isinstance(error, DataError | SurroundingsError):
        return error
    return DataError("the data of this dataset cannot be read as it is set up", remedy="tell a curator")


def _without_paths(error: HeadcountError, message: TaskMessage) -> HeadcountError:
    """Remove the path of the studio on this machine, and write parameters in words."""
    error.redact(message.data, "the studio's folder")
    error.render(in_words)
    return error


def _unexpected_error(error: Exception, message: TaskMessage) -> HeadcountError:
    what = f" ({type(error).__name__})" if message.by_curator else ""
    return HeadcountError(f"something went wrong here{what}", remedy="tell whoever runs the studio")


if __name__ == "__main__":
    main()
