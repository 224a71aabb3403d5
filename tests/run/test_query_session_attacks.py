"""Sessions under attack: threads, forks, copies and interruptions get no more answers than were paid for."""

from __future__ import annotations

import copy
import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import headcount as hc
from headcount.errors import GrantError
from headcount.methods.queries.private_multiplicative_weights import Reply
from headcount.noise.selection import sparse_vector
from tests.support.forks import in_a_fork
from tests.support.town import BINS, GRID, log_of

UPDATES = 3
CROSSED = "SELECT COUNT(*) FROM people WHERE age < 12 AND job = 'cook' AND hours < 10"


@pytest.fixture
def session() -> hc.QuerySession:
    """A session whose table is so wrong that every query is far off, as long as it is not mended."""
    crossed = {
        "id": range(4_000),
        "age": [5, 90] * 2_000,
        "job": ["cook", "clerk"] * 2_000,
        "hours": [5, 75] * 2_000,
    }
    query_session = hc.QuerySession(
        log_of(pa.table(crossed)), epsilon="20", bins=BINS, updates=UPDATES, expected=10
    )
    query_session._mediator.table = np.full(GRID.cells, query_session._mediator.total / GRID.cells)
    return query_session


@pytest.fixture
def threshold_outcomes(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Everything that tests on the data say, each after a while, and always that it is far off."""
    outcomes: list[bool] = []
    lock = threading.Lock()
    real = sparse_vector.SparseVector.is_large

    def slow(law: Any, size: int, source: Any) -> NDArray[np.int64]:
        time.sleep(0.002)
        return np.full(size, 10**9)

    def watched(self: sparse_vector.SparseVector, distance: Any) -> bool:
        large = real(self, distance)
        with lock:
            outcomes.append(large)
        return large

    monkeypatch.setattr(sparse_vector, "draw", slow)
    monkeypatch.setattr(sparse_vector.SparseVector, "is_large", watched)
    return outcomes


def test_threads_measure_no_more_than_was_charged(
    session: hc.QuerySession, threshold_outcomes: list[bool]
) -> None:
    together = threading.Barrier(8)

    def ask() -> list[Reply]:
        together.wait()
        return [session.ask(CROSSED) for _ in range(3)]

    with ThreadPoolExecutor(8) as pool:
        replies = [reply for future in [pool.submit(ask) for _ in range(8)] for reply in future.result()]
    assert sum(threshold_outcomes) == UPDATES
    assert sum(reply.cost for reply in replies) == UPDATES
    assert [reply.left for reply in replies if reply.cost].count(0) == 1
    assert session.left == 0
    release = session.release()
    assert release.answers.num_rows == len(replies) == 24
    assert release.answers["how"].to_pylist().count("measured") == UPDATES


def test_forks_measure_nothing(session: hc.QuerySession) -> None:
    """Of 800 forks of a session on an older tree, every one had all updates left."""

    def ask() -> int:
        with session:
            return sum(reply.cost for reply in session.ask_all(np.eye(GRID.cells)[:4]))

    results = [in_a_fork(ask) for _ in range(8)]
    assert {result if isinstance(result, int) else result[0] for result in results} == {"GrantError"}
    assert "begin one in each process" in results[0][1]
    assert in_a_fork(session.release)[0] == "GrantError"
    assert session.left == UPDATES
    assert session.ask(CROSSED).how == "measured", "the one that began it goes on"


def test_another_process_that_got_the_same_number_is_refused(
    session: hc.QuerySession, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    own = os.getpid()

    def ask() -> object:
        monkeypatch.setattr(os, "getpid", lambda: own)
        return session.ask(CROSSED).how

    assert in_a_fork(ask)[0] == "GrantError"


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_are_refused(session: hc.QuerySession, duplicate: Callable[[object], object]) -> None:
    for instance in (session, session._mediator, session._mediator._test):
        with pytest.raises(GrantError, match="cannot be copied"):
            duplicate(instance)


@pytest.mark.parametrize(
    "where",
    [
        "headcount.methods.queries.private_multiplicative_weights.add_noise",
        "headcount.noise.selection.sparse_vector.draw",
    ],
)
def test_what_breaks_off_while_asking_ends_the_session(
    session: hc.QuerySession, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(where, broken)
        with pytest.raises(KeyboardInterrupt):
            session.ask(CROSSED)
    assert session.left == 0
    assert session.ask(CROSSED).how == "unchecked"
    session.close()


def test_asking_from_within_is_refused(session: hc.QuerySession, monkeypatch: pytest.MonkeyPatch) -> None:
    def again(law: Any, size: int, source: Any) -> NDArray[np.int64]:
        session.ask(CROSSED)
        return np.zeros(size, dtype=np.int64)

    monkeypatch.setattr(sparse_vector, "draw", again)
    with pytest.raises(GrantError, match="from within"):
        session.ask(CROSSED)
    assert session.left == 0
