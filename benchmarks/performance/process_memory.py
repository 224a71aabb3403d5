"""Resident memory of a cold process by import and stage: ``python -m benchmarks.performance.process_memory``.

Resident MiB after each import and each step of ``headcount release`` by SRA: pages of its own, pages of files,
which are libraries, and the peak so far. ``python -m benchmarks.performance.process_times --only 1m`` puts kernels
on disk.
"""

import argparse
import importlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.comparison.rival_environments import ROOT
from benchmarks.harness.logs import SIZES, WORK
from benchmarks.harness.measurements import environment_of, release_options
from benchmarks.harness.processes import run

IMPORTED = {
    "the command line, pydantic": "headcount.cli.commands.release",
    "NumPy": "numpy",
    "PyArrow": "pyarrow.dataset",
    "Headcount": "headcount.run.curator",
    "OpenDP": "opendp.measurements",
}
STEPS = {
    "catalogue, first kernel": ("headcount.engines.local.record_store", "RecordStore", "__init__"),
    "the log, read and held": ("headcount.engines.local.record_store", "RecordStore", "fill"),
    "counts": ("headcount.engines.local.engine", "LocalEngine", "run_kernel"),
    "noise, tables, the release on disk": ("headcount.releases.release", "Release", "save"),
}


def resident() -> tuple[float, float, float]:
    """MiB of a process's own, of files, and at its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    own, files, peak = (int(status[name].split()[0]) / 1024 for name in ("RssAnon", "RssFile", "VmHWM"))
    return own, files, peak


def tell(what: str) -> None:
    own, files, peak = resident()
    print(f"{what:36}{own:8.0f}{files:8.0f}{peak:8.0f}", file=sys.stderr)


def print_after(owner: Any, name: str, what: str) -> None:
    plain: Callable[..., Any] = getattr(owner, name)

    def watched(*given: Any, **named: Any) -> Any:
        result = plain(*given, **named)
        tell(what)
        return result

    setattr(owner, name, watched)


def print_stages() -> None:
    """Be the process that is looked at."""
    from headcount.cli.startup import start

    print(f"{'':36}{'own':>8}{'files':>8}{'peak':>8}", file=sys.stderr)
    tell("Python")
    start()
    for what, module in IMPORTED.items():
        importlib.import_module(module)
        tell(what)
    for what, (module, owner, name) in STEPS.items():
        print_after(getattr(importlib.import_module(module), owner), name, what)
    from headcount.cli.main import main

    sys.exit(main(sys.argv[1:]))


def look() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.performance.process_memory", description=__doc__)
    parser.add_argument("size", nargs="?", default="10m", choices=SIZES)
    size = parser.parse_args().size
    environment = environment_of(ROOT / "src", WORK / "starting-this" / "kernels")
    run([sys.executable, "-m", "benchmarks.harness.logs", "dense", size], env=environment)
    with tempfile.TemporaryDirectory() as folder:
        command = release_options(size, "sra", f"{folder}/release")
        code = "from benchmarks.performance.process_memory import told; told()"
        os.spawnve(
            os.P_WAIT, sys.executable, [sys.executable, "-c", code, *map(str, command), "--quiet"], environment
        )


if __name__ == "__main__":
    look()
