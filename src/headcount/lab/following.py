"""Worker processes that end with the process that started them, even if that one is killed.

A worker waits for its next task on a pipe that all workers hold, so it never sees that nobody is left to write to
it. Another pipe, or a handle on Windows, is the parent's alone: Python gives it to every process that it spawns,
to be watched.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from multiprocessing import connection


def follow_parent() -> None:
    """Leave interruptions to the parent, and end when it ends; for the beginning of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)  # nobody is left to be told anything
