"""One engine for several threads: each measures its own log, as if it were alone."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from headcount.bounds import SampleRecords
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog


@pytest.fixture
def quick_turns() -> Iterator[None]:
    """Let Python go from thread to thread a thousand times as often as it does."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(before / 1000)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("quick_turns")
def test_threads_that_share_an_engine_do_not_share_draws() -> None:
    """Without turns, one thread draws with the secret of another one: two logs, 300 secrets, in 4 threads."""
    logs = [EventLog.of([(n % 60, n % size) for n in range(600)], items=range(13)) for size in (11, 13)]
    engine = LocalEngine(threads=1)

    def counted(request: tuple[EventLog, bytes]) -> list[int]:
        log, secret = request
        values: list[int] = engine.measure(log, SampleRecords(3), secret).items.sensitive_values.tolist()
        return values

    requests = [(logs[n // 5 % 2], n.to_bytes(16)) for n in range(300)]
    expected = [counted(request) for request in requests]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(counted, requests)) == expected


def test_an_engine_can_be_sent_to_another_process() -> None:
    sent = pickle.loads(pickle.dumps(LocalEngine(threads=3)))
    assert sent == LocalEngine(threads=3)
    log = EventLog.of([("ann", "tea")], items=["tea"])
    assert sent.measure(log, SampleRecords(1), bytes(16)).items.sensitive_values.tolist() == [1]
