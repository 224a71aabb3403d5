"""Many processes that spend one budget at once: `python -m tests.ledger.crowd`.

Each process writes down what it was told: granted with entry and MAC, or refused.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from decimal import Decimal
from pathlib import Path

from headcount.errors import RefusedError
from headcount.ledger import Charge, Ledger, Reservation


def ask(ledger: Ledger, number: int, requests: int, notes: Path) -> None:
    """Ask for a number of requests, each one different, and publish every third."""
    outcomes = []
    for attempt in range(requests):
        name = f"{number}-{attempt}"
        try:
            reservation = ledger.reserve(
                "visits", "w1", f"analyst-{number % 4}", json.dumps({"name": name}), "c", Charge(Decimal("0.1"))
            )
        except RefusedError:
            outcomes.append({"name": name, "granted": False})
            continue
        assert isinstance(reservation, Reservation)
        if attempt % 3 == 0:
            reservation.data_read()
            reservation.issue(f"out/{name}", name)
        outcomes.append({"name": name, "granted": True, "entry": reservation.entry, "head": reservation.head})
    notes.write_text(json.dumps(outcomes))


def main() -> int:
    url, key, anchor, processes, requests, notes = sys.argv[1:]
    ledger = Ledger(url, key=key, anchor=anchor)
    with ledger.store.writing():
        pass  # opened before the fork: each process must get its own connection
    children = []
    for number in range(int(processes)):
        child = os.fork()
        if child == 0:
            try:
                ask(ledger, number, int(requests), Path(notes) / f"{number}.json")
                ledger.store.close()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        children.append(child)
    failed = sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0 for child in children)
    ledger.close()
    return failed


if __name__ == "__main__":
    sys.exit(main())
