"""``kill -9`` at random points leaves a ledger that verifies: nothing is uncharged, nothing has vanished."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ledger_stores import Place


def _run(place: Place, tmp_path: Path, rounds: int, **windows: str) -> dict[str, int]:
    ledger = place.open()
    ledger.create("visits", "1000", **windows)
    ledger.store.close()
    folder = tmp_path / "work"
    folder.mkdir()
    command = [
        sys.executable,
        "-m",
        "tests.ledger.processes.killed_spenders",
        *place.arguments,
        str(folder),
        str(rounds),
        "7",
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    reached: dict[str, int] = json.loads(ran.stdout)
    assert sum(reached.values()) == rounds
    return reached


def test_a_killed_spender_leaves_everything_charged(place: Place, tmp_path: Path) -> None:
    reached = _run(place, tmp_path, 30)
    assert len(reached) > 1  # it was killed in different places


@pytest.mark.slow
def test_a_spender_killed_very_often_leaves_everything_charged(place: Place, tmp_path: Path) -> None:
    reached = _run(place, tmp_path, 220)
    assert len(reached) > 2


@pytest.mark.slow
def test_a_killed_spender_leaves_all_windows_of_a_request_charged_or_none(place: Place, tmp_path: Path) -> None:
    reached = _run(place, tmp_path, 60, window="1d", time="when")
    assert len(reached) > 1
