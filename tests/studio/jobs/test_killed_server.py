"""``kill -9`` of a server under load: whatever it acknowledged is there afterwards, and nobody overspends."""

from __future__ import annotations

import http.client
import threading
import time
from pathlib import Path

import pytest

from benchmarks.performance.studio_load import Analyst, Server, lay_out, spent
from headcount.releases.release import load
from headcount.studio.store.jobs import ENDED
from headcount.studio.studio import Studio
from tests.studio.support.dataset import who

ROUNDS = 3


@pytest.mark.slow
def test_nothing_that_was_acknowledged_is_lost(tmp_path: Path) -> None:
    desk = lay_out(tmp_path, analysts=4, items=50, people=200)
    acknowledged: list[str] = []
    for number in range(ROUNDS):
        server = Server(desk.settings)
        server.wait()
        everybody = [Analyst(desk, name) for name in desk.signed_in if name != "cora"]
        threads = [threading.Thread(target=_ask, args=(client_user, number)) for client_user in everybody]
        for thread in threads:
            thread.start()
        time.sleep(1.0 + 1.7 * number)  # each round it is somewhere else in its work
        server.kill()
        for thread in threads:
            thread.join()
        acknowledged += [job for client_user in everybody for job in client_user.acknowledged]
        assert spent(desk)["verified"]
    assert len(acknowledged) >= ROUNDS
    studio = Studio(desk.settings)
    try:
        cora = who(studio, "cora")
        studio.start()
        ends = time.monotonic() + 600
        while any(not studio.jobs.get(cora, job).is_over for job in acknowledged):
            assert time.monotonic() < ends
            time.sleep(0.2)
        kept = {job.id: job for job in studio.jobs.listed(cora, most=10_000)}
        assert set(acknowledged) <= kept.keys()
        assert {job.state for job in kept.values()} <= set(ENDED)
        done = [job for job in kept.values() if job.state == "done"]
        released = {release.job: release for release in studio.releases.listed(cora)}
        assert {job.id for job in done} == released.keys()
        for release in released.values():
            assert load(studio.releases.folder_of(release)).is_private
        entries = [job.entry for job in kept.values() if job.entry is not None]
        assert len(entries) == len(set(entries))
        reserved = {entry.number for entry in studio.ledger.history() if entry.kind == "reserve"}
        assert reserved == set(entries)  # whatever was charged is known to a job
    finally:
        studio.stop()
    charges = spent(desk)
    assert (charges["verified"], charges["overspent"]) == (True, False)


def _ask(analyst: Analyst, number: int) -> None:
    """Ask for two releases, and read until the server is gone."""
    line = http.client.HTTPConnection("127.0.0.1", analyst.desk.settings.port, timeout=60)
    try:
        for attempt in range(2):
            analyst.ask(line, 100 * number + 10 * attempt + len(analyst.name) + int(analyst.name[-1]))
    except (OSError, http.client.HTTPException):
        return
    finally:
        line.close()
    analyst.work(time.monotonic() + 600, pause=0.2)
