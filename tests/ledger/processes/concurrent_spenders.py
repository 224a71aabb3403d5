"""Many processes that spend one budget at once: see ``main``.

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
    told = []
    for each in range(requests):
        name = f"{number}-{each}"
        try:
            made = ledger.reserve(
                "visits", "w1", f"analyst-{number % 4}", json.dumps({"name": name}), "c", Charge(Decimal("0.1"))
            )
        except RefusedError:
            told.append({"name": name, "granted": False})
            continue
        assert isinstance(made, Reservation)
        if each % 3 == 0:
            made.data_read()
            made.issue(f"out/{name}", name)
        told.append({"name": name, "granted": True, "entry": made.entry, "head": made.head})
    notes.write_text(json.dumps(told))


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
