"""Kills a spending process at random points: `python -m tests.ledger.killing URL KEY ANCHOR FOLDER ROUNDS SEED`.

The spender reserves, reads, writes a release and publishes, over and over, and notes each step in a file *after*
it was done; it is killed without warning, and a new one goes on. What must hold is checked after each kill.
"""

from __future__ import annotations

import faulthandler
import json
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import sqlalchemy.dialects.sqlite  # noqa: F401  (before the forks, which would each take their time over it)

from headcount.ledger import Charge, Ledger, Reservation
from headcount.ledger.event_time_windows import Clock, Span

DAYS = 30
SPAN = Span(Clock("when"), 0, DAYS * 86_400_000_000)


def spend(ledger: Ledger, folder: Path, start: int) -> None:
    """Spend until killed."""
    notes = os.open(folder / "notes", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(step: str, reservation: Reservation) -> None:
        os.write(notes, (json.dumps([step, reservation.entry, reservation.head]) + "\n").encode())

    for number in range(1_000_000):
        request = json.dumps({"name": f"{start}-{number}"})
        reservation = ledger.reserve("visits", "w1", "ann", request, "c", Charge(Decimal("0.001")), span=SPAN)
        assert isinstance(reservation, Reservation)
        note("reserved", reservation)
        if number % 5 == 4:
            reservation.refund("no such file")
            note("refunded", reservation)
            continue
        reservation.data_read()
        note("read", reservation)
        (folder / f"release-{reservation.entry}").write_text(reservation.head)
        reservation.issue(str(folder / f"release-{reservation.entry}"), reservation.head)
        note("published", reservation)


def _notes(folder: Path) -> list[list[Any]]:
    """Return what was noted so far; a note that is being written is none yet."""
    file = folder / "notes"
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def check(ledger: Ledger, folder: Path) -> None:
    """See that the journal verifies, that nothing published is uncharged, and that no reservation vanished."""
    steps = _notes(folder)
    releases = [path for path in folder.iterdir() if path.name.startswith("release-")]
    witnesses = [(entry, head) for _, entry, head in steps]
    witnesses += [(int(path.name.partition("-")[2]), text) for path in releases if (text := path.read_text())]
    verification = ledger.verify(witnesses=dict(witnesses).items())
    assert verification.ok, verification.sentences()
    entries = {entry.number: entry for entry in ledger.history()}
    ended = {entry.reservation: entry.kind for entry in entries.values() if entry.reservation}
    for step, entry, _ in steps:
        assert entries[entry].kind == "reserve"
        if step in ("refunded", "published"):
            assert ended[entry] == step.removesuffix("ed")
    for path in releases:  # whatever may have been released is charged, and never refunded
        number = int(path.name.partition("-")[2])
        assert entries[number].kind == "reserve"
        assert ended.get(number) != "refund"
    charged = sum(
        1 for entry in entries.values() if entry.kind == "reserve" and ended.get(entry.number) != "refund"
    )
    account = ledger.show("visits")
    assert account.epsilon == charged * Decimal("0.001")
    if account.windows:  # all of them are charged by a request, or none is
        assert {window.epsilon for window in account.windows} == {account.epsilon}
        assert len(account.windows) == DAYS


def main() -> int:
    url, key, anchor, place, rounds, seed = sys.argv[1:]
    folder, draw, reached = Path(place), random.Random(int(seed)), Counter[str]()
    for number in range(int(rounds)):
        child = os.fork()
        if child == 0:
            faulthandler.dump_traceback_later(60, exit=True)  # should it ever hang, say where
            try:
                spend(Ledger(url, key=key, anchor=anchor), folder, number)
            except BaseException:
                traceback.print_exc()
            os._exit(1)
        wanted = len(_notes(folder)) + draw.randrange(9)  # so many steps, and a little more
        while len(_notes(folder)) < wanted:
            assert os.waitpid(child, os.WNOHANG) == (0, 0), "the spender ended by itself"
            time.sleep(0.0005)
        time.sleep(draw.choice((0, draw.uniform(0, 0.01))))
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        reached[_notes(folder)[-1][0] if _notes(folder) else "nothing"] += 1
        with Ledger(url, key=key, anchor=anchor) as ledger:
            check(ledger, folder)
    print(json.dumps(reached))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
