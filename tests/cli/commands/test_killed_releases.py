"""``kill -9`` of a real ``headcount release`` that is charged: whatever is there afterwards was paid for."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headcount.ledger import Ledger
from headcount.releases.release import load
from tests.cli.conftest import FLAGS

pytestmark = pytest.mark.long

PRICE = "0.001"


def _start(work: Path, number: int) -> subprocess.Popen[bytes]:
    command = ["release", "visits.csv", *FLAGS, "--method", "sra", "--limit", "2", "--epsilon", PRICE, "--again"]
    charged = ["--ledger", "sqlite:///headcount.db", "--dataset", "visits@w46", "--out", f"out-{number}"]
    program = [str(Path(sys.executable).with_name("headcount")), *command, *charged]
    environment = os.environ | {"XDG_CONFIG_HOME": str(work / "config")}
    return subprocess.Popen(
        program, cwd=work, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _kill(work: Path, rounds: int, seed: int, ending: signal.Signals = signal.SIGKILL) -> dict[str, int]:
    """Kill so many releases, each at a random moment; return how many reached what."""
    with Ledger(f"sqlite:///{work}/headcount.db") as ledger:
        ledger.create("visits", "10")
    _start(work, 0).wait()  # compiles what is not compiled yet
    begin = time.monotonic()
    assert _start(work, 1).wait() == 0
    whole, draw = time.monotonic() - begin, random.Random(seed)
    for number in range(2, rounds + 2):
        child = _start(work, number)
        time.sleep(draw.uniform(0.3, 1.05) * whole)
        child.send_signal(ending)
        child.wait()
    return _check(work)


def _check(work: Path) -> dict[str, int]:
    written = [folder for folder in work.glob("out-*") if folder.is_dir()]
    witnesses = [load(folder).ledger for folder in written]  # what has its name is whole
    with Ledger(f"sqlite:///{work}/headcount.db") as ledger:
        verification = ledger.verify(
            [(witness["entry"], witness["head"]) for witness in witnesses if witness is not None]
        )
        assert verification.ok, verification.sentences()
        entries, account = {record.number: record for record in ledger.history()}, ledger.show("visits")
    kinds = [witness.kind for witness in entries.values()]
    assert "refund" not in kinds
    assert account.epsilon * 1000 == kinds.count("reserve")
    charged = {witness["entry"] for witness in witnesses if witness is not None}
    assert len(charged) == len(written)  # nothing is uncharged, and nothing charged once serves two
    assert all(entries[number].kind == "reserve" for number in charged)
    published = {witness.reservation for witness in entries.values() if witness.kind == "publish"}
    assert published <= charged
    return {"reserved": kinds.count("reserve"), "written": len(written), "published": len(published)}


@pytest.fixture
def _own_keys(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(work / "config"))
    for name in ("HEADCOUNT_LEDGER", "HEADCOUNT_LEDGER_KEY", "HEADCOUNT_LEDGER_ANCHOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("_own_keys")
def test_killed_releases_are_charged(work: Path) -> None:
    reached = _kill(work, 6, seed=1)
    assert reached["published"] >= 2  # those that were let live


@pytest.mark.usefixtures("_own_keys")
@pytest.mark.slow
def test_terminated_releases_are_charged_and_leave_no_half(work: Path) -> None:
    before = set(work.iterdir())
    reached = _kill(work, 10, seed=3, ending=signal.SIGTERM)
    assert reached["published"] >= 2
    new_names = {path.name for path in set(work.iterdir()) - before}
    assert {name for name in new_names if not name.startswith("out-")} == {"config", "headcount.db"}


@pytest.mark.slow
@pytest.mark.usefixtures("_own_keys")
def test_releases_killed_very_often_are_charged(work: Path) -> None:
    reached = _kill(work, 200, seed=2)
    assert reached["reserved"] < 202  # some were killed before anything was reserved
    assert reached["published"] < reached["reserved"], json.dumps(reached)  # and some after
