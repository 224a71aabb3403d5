"""The process that works: ``python -m headcount.studio.jobs.worker``, told what to do on its standard input.

For a job it does one thing and ends. With ``--looking`` it does what is quick, one after another.

Whatever goes wrong once events may be read is told in one fixed sentence, as everywhere: see
:func:`headcount.run.charge.withheld`.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from headcount.errors import DataError, HeadcountError, SurroundingsError
from headcount.events.sources.databases.duckdb_files import CONFINED
from headcount.run.charge import WithheldError
from headcount.studio.jobs.ipc import Gate, Line, Told
from headcount.studio.jobs.job_request import CancelledError
from headcount.studio.jobs.resource_limits import take_limits
from headcount.studio.jobs.tasks import JOBS, LOOKS, Task


def main() -> None:
    """Do what is told."""
    line = Line(os.fdopen(os.dup(1), "w", encoding="utf-8"))
    os.dup2(2, 1)  # what a library prints is no answer
    os.environ[CONFINED] = "1"
    if "--looking" in sys.argv[1:]:
        _look(line)
    else:
        _work(line)


def _work(line: Line) -> None:
    told = Told.from_line(sys.stdin.readline())
    _prepare(told)
    gate = Gate(line)
    gate.watch()
    line.say(**_answer(JOBS[told.task], told, line, gate))


def _look(line: Line) -> None:
    line.say(ready=True)
    prepared = False
    for each in sys.stdin:
        told = Told.from_line(each)
        if not prepared:
            _prepare(told)
            prepared = True
        line.say(**_answer(LOOKS[told.task], told, line, Gate(line)))


def _prepare(told: Told) -> None:
    os.chdir(told.settings.files)
    take_limits(told.memory, told.seconds)


def _answer(task: Task, told: Told, line: Line, gate: Gate) -> dict[str, Any]:
    """Do something, and say how it ended."""
    try:
        return {"done": task(told, line, gate)}
    except CancelledError as error:
        return {"cancelled": error.to_json()}
    except HeadcountError as error:
        return {"failed": _placeless(_tellable(error, told, charged=gate.charged), told).to_json()}
    except Exception as error:
        return {"failed": (WithheldError() if gate.charged else _unforeseen(error, told)).to_json()}


def _tellable(error: HeadcountError, told: Told, *, charged: bool = False) -> HeadcountError:
    """Return what an analyst may read: of a charged job that the cost stays, of a file nothing."""
    if told.by_curator:
        return error
    if charged:
        return WithheldError()
    if not isinstance(error, DataError | SurroundingsError):
        return error
    return DataError("the data of this dataset cannot be read as it is set up", remedy="tell a curator")


def _placeless(error: HeadcountError, told: Told) -> HeadcountError:
    """Say nothing of where on this machine the studio lies."""
    error.put(lambda text: text.replace(told.data, "the studio's folder"))
    return error


def _unforeseen(error: Exception, told: Told) -> HeadcountError:
    what = f" ({type(error).__name__})" if told.by_curator else ""
    return HeadcountError(f"something went wrong here{what}", remedy="tell whoever runs the studio")


if __name__ == "__main__":
    main()
