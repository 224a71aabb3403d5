"""Many processes at once never overspend, and no request is lost or charged twice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from tests.support.ledger_stores import Place


def _run(place: Place, tmp_path: Path, *, processes: int, requests: int, budget: str) -> None:
    ledger = place.open()
    ledger.create("visits", budget)
    ledger.store.close()
    notes = tmp_path / "notes"
    notes.mkdir()
    command = [sys.executable, "-m", "tests.ledger.processes.concurrent_spenders", *place.arguments]
    ran = subprocess.run(
        [*command, str(processes), str(requests), str(notes)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    outcomes = [outcome for file in notes.glob("*.json") for outcome in json.loads(file.read_text())]
    assert len(outcomes) == processes * requests
    granted = {outcome["entry"]: outcome for outcome in outcomes if outcome["granted"]}
    afford = int(Decimal(budget) / Decimal("0.1"))
    assert len(granted) == min(afford, processes * requests)
    account = ledger.show("visits")
    assert account.epsilon == len(granted) * Decimal("0.1") <= Decimal(budget)
    assert sum(analyst.epsilon for analyst in account.analysts) == account.epsilon
    entries = ledger.history()
    reserved = {
        entry.number: json.loads(entry.request or "")["name"] for entry in entries if entry.kind == "reserve"
    }
    assert reserved == {entry: outcome["name"] for entry, outcome in granted.items()}
    assert set(Counter(reserved.values()).values()) == {1}
    published = {entry.digest for entry in entries if entry.kind == "publish"}
    assert published == {name for name in reserved.values() if int(name.partition("-")[2]) % 3 == 0}
    assert (account.issued, account.open) == (len(published), len(granted) - len(published))
    verification = ledger.verify(witnesses=[(outcome["entry"], outcome["head"]) for outcome in granted.values()])
    assert verification.sentences() == (f"{len(entries)} entries, no problem found.",)


def test_a_crowd_never_overspends(place: Place, tmp_path: Path) -> None:
    _run(place, tmp_path, processes=32, requests=8, budget="16")


@pytest.mark.slow
def test_a_large_crowd_never_overspends(place: Place, tmp_path: Path) -> None:
    _run(place, tmp_path, processes=32, requests=200, budget="500")
