"""Worker process pools: started when there is enough work, and always terminated at the end.

A worker waits for its next task on a pipe that all workers hold, so it never sees that nobody is left to write to
it. Another pipe, or a handle on Windows, is the parent's alone: Python gives it to every process that it spawns,
to be watched.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from types import FrameType

from headcount.errors import SurroundingsError

_BUSY = 0.2  # seconds that a first task takes, so that the next one gets a process of its own
_PATIENCE = 20.0
_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def follow_parent() -> None:
    """Leave interruptions to the parent, and end when it ends; for the beginning of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)  # nobody is left to be told anything


@contextlib.contextmanager
def workers(*, wanted: bool = True) -> Iterator[Executor | None]:
    """Start a process for each processor; None if that is not wanted, or there is only one. Ctrl-C is for us."""
    many = os.cpu_count() or 1
    if not wanted or many < 2:
        yield None
        return
    pool = ProcessPoolExecutor(many, multiprocessing.get_context("spawn"), initializer=follow_parent)
    others = set(multiprocessing.active_children())
    try:
        with (
            without_interrupts(),
            _single_threaded_libraries(),
        ):  # processes inherit that from their very beginning
            for _ in range(many):
                pool.submit(time.sleep, _BUSY)  # a process is started where none is idle
        yield pool
    except BaseException as error:
        pool.shutdown(wait=False, cancel_futures=True)
        _let_finish(others)
        if not isinstance(error, BrokenProcessPool):
            raise
        remedy = "free some memory, or audit with fewer runs or a smaller log"
        raise SurroundingsError("a process was ended from outside", remedy=remedy) from error
    else:
        pool.shutdown()


def _let_finish(others: set[BaseProcess]) -> None:
    """Wait for what is under way, which is little: a process that is ended while it answers blocks the pool."""
    patience = time.monotonic() + _PATIENCE
    while time.monotonic() < patience and set(multiprocessing.active_children()) - others:
        time.sleep(0.02)
    for child in set(multiprocessing.active_children()) - others:
        child.terminate()


@contextlib.contextmanager
def _single_threaded_libraries() -> Iterator[None]:
    """Let libraries for matrices use one thread a process: there is a process for each processor already."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def without_interrupts() -> Iterator[None]:
    """Let interruptions wait until processes were started, which inherit that none reaches them.

    Blocking a signal in one thread is not enough: any other may take it, and Python then interrupts the main one,
    between the start of a process and what that process is told first.
    """
    if threading.current_thread() is not threading.main_thread():
        with _blocked():
            yield
        return
    came: list[tuple[int, FrameType | None]] = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        with _blocked():
            yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if came and callable(handler):
        handler(*came[0])


@contextlib.contextmanager
def _blocked() -> Iterator[None]:
    """Block interruptions of this thread and of what it starts, where signals can be blocked."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
