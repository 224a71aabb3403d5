"""Run one measurement in a child process; record its wall time and peak memory.

The peak is ``ru_maxrss`` of that very process as the kernel reports it at its end. A child starts with its
parent's high-water mark, so the parent (this package's ``__main__``) never imports PyArrow or NumPy.
Spark keeps its memory in a JVM of its own; for it the resident memory of the whole tree is added up ten times
a second, and the highest sum counts.
"""

import json
import os
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAGE = os.sysconf("SC_PAGE_SIZE")


class CouldNotRunError(Exception):
    """A measurement that gave no number, and why."""


@dataclass(frozen=True)
class Finished:
    """What one process took, by the clock and of the processors, and what it printed."""

    seconds: float
    busy: float
    peak: int
    output: str

    @property
    def answer(self) -> dict[str, Any]:
        """The JSON document on the last line of standard output."""
        lines = self.output.strip().splitlines()
        try:
            answer = json.loads(lines[-1])
        except (IndexError, ValueError):
            raise CouldNotRunError(f"no JSON in its output: {self.output[-200:]!r}") from None
        if not isinstance(answer, dict):
            raise CouldNotRunError(f"not a JSON object: {lines[-1][:200]!r}")
        return answer


def run(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str],
    timeout: float = 3600.0,
    whole_tree: bool = False,
) -> Finished:
    """Run ``command`` to its end; a failure or more than ``timeout`` seconds is a ``CouldNotRunError``."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command], env=dict(env), stdout=out, stderr=err, start_new_session=True
        )
        late = threading.Event()

        def stop() -> None:
            late.set()
            os.killpg(process.pid, signal.SIGKILL)  # its own session: nothing but what it started

        timer = threading.Timer(timeout, stop)
        timer.start()
        watch = _TreeWatch(process.pid) if whole_tree else None
        try:
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - started
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)  # interrupted: leave nothing running behind
            raise
        finally:
            timer.cancel()
            tree_peak = watch.stop() if watch else 0
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        output, errors = out.read().decode(errors="replace"), err.read().decode(errors="replace")
    if late.is_set():
        raise CouldNotRunError(f"stopped after {timeout:.0f} s")
    if process.returncode != 0:
        lines = [line for line in errors.splitlines() if line.strip()]
        reason = lines[-1].strip() if lines else "no message"
        raise CouldNotRunError(f"exit code {process.returncode}: {reason[:300]}")
    busy, peak = usage.ru_utime + usage.ru_stime, max(usage.ru_maxrss * 1024, tree_peak)
    return Finished(seconds=seconds, busy=busy, peak=peak, output=output)


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


class _TreeWatch:
    """Adds up the resident memory of a process and all its descendants until told to stop."""

    def __init__(self, root: int, every: float = 0.1) -> None:
        self._root, self._every, self._peak = root, every, 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        self._done.set()
        self._thread.join()
        return self._peak

    def _watch(self) -> None:
        while not self._done.wait(self._every):
            self._peak = max(self._peak, _tree_resident(self._root))


def _tree_resident(root: int) -> int:
    parents: dict[int, int] = {}
    resident: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
            pages = int((entry / "statm").read_text().split()[1])
        except (OSError, IndexError):
            continue  # it ended meanwhile
        parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
        resident[int(entry.name)] = pages * PAGE
    total, todo = 0, [root]
    while todo:
        process = todo.pop()
        total += resident.get(process, 0)
        todo.extend(child for child, parent in parents.items() if parent == process)
    return total
