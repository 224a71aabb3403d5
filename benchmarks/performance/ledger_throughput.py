"""Throughput of the privacy ledger: ``python -m benchmarks.performance.ledger_throughput``.

Acknowledged, durable reservations per second on SQLite against the disk's own rate of synced writes, measured in
turns in the same run, since disks are moody; and ``show`` with many entries in the journal. Nothing is cached:
every reservation is one transaction, and is on the disk when it is acknowledged.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from headcount.ledger import Charge, Ledger, Reservation
from headcount.ledger.balances import BalanceRequest, DatasetBalances
from headcount.ledger.journal.entries import Entry, digest_of, sign
from headcount.ledger.journal.keys import read_key
from headcount.ledger.stores import queries

CHARGE = Charge(Decimal("0.0001"))


def rate(act: Callable[[], object], seconds: float) -> float:
    """Return how often something can be done in a second."""
    begin, times = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        act()
        times += 1
    return times / (time.perf_counter() - begin)


def synced_writes(folder: Path) -> Callable[[], None]:
    """Return what writes a page to the end of a file and syncs it, as a database's log does."""
    handle = os.open(folder / "synced", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write() -> None:
        os.write(handle, b"x" * 4096)
        os.fsync(handle)

    return write


def reservations(ledger: Ledger, *, anchored: bool) -> Callable[[], None]:
    """Return what reserves, and anchors if asked to."""
    counter = iter(range(10**9))

    def reserve() -> None:
        reservation = ledger.reserve(
            "visits", "w1", "ann", json.dumps({"n": next(counter)}), "c", CHARGE, again=False
        )
        assert isinstance(reservation, Reservation)
        if anchored:
            reservation.data_read()

    return reserve


def fill(ledger: Ledger, entries: int) -> None:
    """Write that many entries into the journal, as reservations would, in one transaction."""
    key = read_key(ledger.key_path) or b""
    with ledger.store.writing() as run:
        head = queries.head(run)
        assert head is not None
        number, previous, rows = head.count, head.head, []
        for _ in range(entries - number):
            number += 1
            request = json.dumps({"n": number})
            entry = Entry(
                number=number,
                kind="reserve",
                dataset="visits",
                previous=previous,
                time="2026-11-15T00:00:00.000+00:00",
                version="w1",
                analyst=f"analyst-{number % 10}",
                request=request,
                request_digest=digest_of(request),
                catalogue="c",
                charge=CHARGE.to_json(),
            )
            signed = sign(entry, key)
            previous = signed.mac
            rows.append((entry, signed))
        queries.add_entries(run, rows)
        budget = queries.budget(run, "visits")
        assert budget is not None
        balances = DatasetBalances("visits", budget, queries.balances(run, "visits"))
        for entry, _ in rows:
            balances.take(BalanceRequest.from_entry(entry))
        queries.save_balances(run, "visits", balances.by_key)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.performance.ledger_throughput", description=__doc__
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="per measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--folder", default=None, help="on the disk to measure; default a temporary folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        key, anchor = folder / "key", folder / "anchor"
        ledger = Ledger(f"sqlite:///{folder}/headcount.db", key=key, anchor=anchor)
        ledger.create("visits", "100000")
        acts = {
            "synced writes": synced_writes(folder),
            "reservations": reservations(ledger, anchored=False),
            "anchored reservations": reservations(ledger, anchored=True),
        }
        rates: dict[str, list[float]] = {what: [] for what in acts}
        for _ in range(given.rounds):
            for what, act in acts.items():
                rates[what].append(rate(act, given.seconds))
        floor = statistics.median(rates["synced writes"])
        for what, speeds in rates.items():
            ratios = [speed / base for speed, base in zip(speeds, rates["synced writes"], strict=True)]
            print(
                f"{what:24s} {statistics.median(speeds):8.0f} /s   median ratio {statistics.median(ratios):5.2f}"
                f"   (rounds: {', '.join(f'{ratio:.2f}' for ratio in ratios)})"
            )
        print(f"the disk syncs {floor:.0f} writes a second; the target is a ratio of 0.40 for reservations")
        fill(ledger, given.entries)
        looks = [_timed(lambda: ledger.show("visits")) for _ in range(20)]
        print(f"show with {given.entries:,} entries: median {statistics.median(looks) * 1e3:.1f} ms")
        ledger.close()
        script = (
            "import sys\nfrom headcount.ledger import Ledger\n"
            "ledger = Ledger(sys.argv[1], key=sys.argv[2], anchor=sys.argv[3])\n"
            "ledger.show('visits').to_json()\nledger.close()\n"
        )
        command = [sys.executable, "-c", script, f"sqlite:///{folder}/headcount.db", str(key), str(anchor)]
        whole = [_timed(lambda: subprocess.run(command, check=True)) for _ in range(7)]
        bare = [_timed(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True)) for _ in range(7)]
        print(
            f"the same in a new process: median {statistics.median(whole) * 1e3:.0f} ms, of which Python itself "
            f"{statistics.median(bare) * 1e3:.0f} ms"
        )
        again = Ledger(f"sqlite:///{folder}/headcount.db", key=key, anchor=anchor)
        intact: list[bool] = []
        print(
            f"verify: {_timed(lambda: intact.append(again.verify().ok)):.1f} s, {'ok' if intact[0] else 'NOT ok'}"
        )
        again.close()


def _timed(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
