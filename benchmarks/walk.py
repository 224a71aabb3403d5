"""Count what a reader must follow: modules, functions and switches of a release, ``python -m benchmarks.walk``.

Each command runs twice in this process on a synthetic log, and the second run is traced: a switch is a call from
one module of Headcount into another one. Compiled kernels are seen by no trace. ``cold`` counts the modules that a
process of its own has loaded after the same release.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import headcount as hc

USERS, ROWS, ITEMS, SEED = 800, 4934, 40, 7
PACKAGE = "headcount"
_COLD = """
import json, sys
from headcount.cli.main import main
code = main(sys.argv[1:])
loaded = [name for name in sys.modules if name.split(".")[0] == "headcount"]
print(json.dumps([code, len(loaded), sum(name.startswith("headcount.ledger") for name in loaded)]))
"""


class Walk(NamedTuple):
    """What one traced call enters."""

    modules: int
    functions: int
    calls: int
    switches: int
    room_switches: int
    lines: int


def room(module: str) -> str:
    """Return the room that a module lies in.

    >>> room("headcount.events.encode.cells")
    'events'
    """
    return module.split(".")[1] if "." in module else module


def walk(run: Callable[[], object]) -> Walk:
    """Trace a call, and count what it enters."""
    functions: set[tuple[str, int]] = set()
    modules: set[str] = set()
    calls = switches = room_switches = 0

    def trace(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls, switches, room_switches
        callee = frame.f_globals.get("__name__", "")
        if event != "call" or callee.split(".")[0] != PACKAGE:
            return
        code = frame.f_code
        functions.add((code.co_filename, code.co_firstlineno))
        modules.add(callee)
        calls += 1
        caller = frame.f_back.f_globals.get("__name__", "") if frame.f_back else ""
        if caller.split(".")[0] == PACKAGE and caller != callee:
            switches += 1
            room_switches += room(caller) != room(callee)

    sys.setprofile(trace)
    try:
        run()
    finally:
        sys.setprofile(None)
    files = [sys.modules[module].__file__ or "" for module in modules]
    lines = sum(Path(file).read_text(encoding="utf-8").count("\n") for file in files)
    return Walk(len(modules), len(functions), calls, switches, room_switches, lines)


def log_of(folder: Path) -> Path:
    """Write the log: items of falling popularity, visited on seven days."""
    random = np.random.default_rng(SEED)
    columns = {
        "user": random.integers(0, USERS, ROWS),
        "item": (ITEMS * random.random(ROWS) ** 2).astype(np.int64),
        "day": random.integers(0, 7, ROWS),
    }
    file = folder / "log.parquet"
    pq.write_table(pa.table(columns), file)
    return file


def cold(file: Path, method: list[str], folder: Path) -> tuple[int, int]:
    """Return how many modules a process loads for a release, and how many of them belong to the ledger."""
    items = ",".join(map(str, range(ITEMS)))
    columns = ["--user", "user", "--item", "item", "--items", items]
    flags = ["release", str(file), *columns, "--epsilon", "1", "--quiet"]
    command = [sys.executable, "-c", _COLD, *flags, *method, "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    code, loaded, of_ledger = json.loads(done.stdout.splitlines()[-1])
    if code:
        raise RuntimeError(done.stderr)
    return loaded, of_ledger


def main() -> int:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        file = log_of(folder)

        def release(**method: Any) -> hc.Release:
            days = hc.read_events(
                str(file), user="user", item="item", context="day", contexts="0,1,2,3,4,5,6", items=range(ITEMS)
            )
            return hc.release(days, epsilon="1", **method)

        ready = release(method="sra", limit=3)
        runs: dict[str, Callable[[], object]] = {
            "release, sra": lambda: release(method="sra", limit=3),
            "release, adaptive": lambda: release(method="adaptive"),
            "top": lambda: ready.top(10),
        }
        print(f"{'':<20}" + "".join(f"{name.replace('_', ' '):>15}" for name in Walk._fields))
        for name, run in runs.items():
            run()
            print(f"{name:<20}" + "".join(f"{count:>15,}" for count in walk(run)))
        for name, method in {"sra": ["--method", "sra", "--limit", "3"], "adaptive": []}.items():
            loaded, of_ledger = cold(file, method, folder / name)
            print(f"cold, {name}: {loaded} modules loaded, {of_ledger} of them of the ledger")
    return 0


if __name__ == "__main__":
    sys.exit(main())
