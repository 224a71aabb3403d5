"""Many analysts at once on a real server: nothing fails, and nobody spends more than they may."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.performance.studio_load import Analyst, Server, crowd, lay_out, spent


@pytest.mark.slow
def test_a_crowd_of_analysts_neither_fails_nor_overspends(tmp_path: Path) -> None:
    """How quick reads are is for a quiet machine to say: ``python -m benchmarks.performance.studio_load``."""
    desk = lay_out(tmp_path, analysts=50, items=2000, people=500)
    server = Server(desk.settings)
    try:
        server.wait()
        Analyst(desk, "analyst-0").open_all()
        everybody = crowd(desk, seconds=30)
    finally:
        server.stop()
    assert [failure for user in everybody for failure in user.failures] == []
    assert sum(len(user.reads) for user in everybody) > 50
    assert sum(len(user.acknowledged) for user in everybody) > 0
    charges = spent(desk)
    assert (charges["verified"], charges["overspent"]) == (True, False)
