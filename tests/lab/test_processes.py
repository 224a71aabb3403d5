"""Interruptions wait while processes are started, whichever thread they reach."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from headcount.lab.processes import without_interrupts


@pytest.mark.usefixtures("interruptible")
@pytest.mark.skipif(os.name == "nt", reason="a process cannot interrupt itself there")
def test_an_interrupt_that_another_thread_takes_waits_as_well() -> None:
    assert threading.current_thread() is threading.main_thread()
    ended = threading.Event()
    other = threading.Thread(target=ended.wait)
    other.start()  # before anything is blocked, so that the signal can reach it
    handler, reached = signal.getsignal(signal.SIGINT), threading.Event()
    try:
        with pytest.raises(KeyboardInterrupt):
            _interrupt_oneself(reached)
    finally:
        ended.set()
        other.join()
    assert reached.is_set()
    assert signal.getsignal(signal.SIGINT) is handler


def _interrupt_oneself(reached: threading.Event) -> None:
    with without_interrupts():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        reached.set()


def test_without_an_interrupt_nothing_happens() -> None:
    handler = signal.getsignal(signal.SIGINT)
    with without_interrupts():
        assert signal.getsignal(signal.SIGINT) is not handler
    assert signal.getsignal(signal.SIGINT) is handler
