"""Worker processes of an audit: started where there is enough to do, and gone when it ends, however it ends."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from headcount.errors import SurroundingsError


@contextlib.contextmanager
def workers(*, wanted: bool = True) -> Iterator[Executor | None]:
    """Start a process for each processor; None if that is not wanted, or there is only one. Ctrl-C is for us."""
    many = os.cpu_count() or 1
    if not wanted or many < 2:
        yield None
        return
    how, ignoring = multiprocessing.get_context("spawn"), (signal.SIGINT, signal.SIG_IGN)
    pool = ProcessPoolExecutor(many, mp_context=how, initializer=signal.signal, initargs=ignoring)
    others = set(multiprocessing.active_children())
    with _without_interrupts():  # processes inherit that from their very beginning; each task starts one
        for _ in range(many):
            pool.submit(int)
    try:
        yield pool
    except BrokenProcessPool as error:
        remedy = "free some memory, or audit with fewer runs or a smaller log"
        raise SurroundingsError("a process was ended from outside", remedy=remedy) from error
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()  # what they are at is of no use any more
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
