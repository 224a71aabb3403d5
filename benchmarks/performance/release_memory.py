"""Resident memory at each stage of one release: ``python -m benchmarks.performance.release_memory``.

The resident memory of this process, in MiB, from its start to the end of a release: pages of its own, and pages of
libraries. While the log is read, the records that are held are told apart, from their size, and so is what PyArrow
has in use; the rest is what allocators keep, and Python. A process that does nothing else has the least, so a size
is measured at a time.
"""

import argparse
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness.floor_comparison import release
from benchmarks.harness.logs import KINDS, SIZES, catalogue_path, log_path
from benchmarks.performance.cpu_seconds import make_logs

MIB = 1 << 20


def resident() -> tuple[float, float]:
    """MiB of the process's own pages, and of libraries' pages."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["RssAnon"].split()[0]) / 1024, int(status["RssFile"].split()[0]) / 1024


class Watch:
    """Takes down the highest resident memory since it was last asked."""

    def __init__(self) -> None:
        self._highest, self._done = resident(), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def print_stage(self, stage: str, more: str = "") -> None:
        own, libraries = max(self._highest, resident(), key=sum)
        print(
            f"{stage:34} {own + libraries:6.0f} MiB, own {own:4.0f}, libraries {libraries:4.0f}{more}", flush=True
        )
        self._highest = resident()

    def stop(self) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.002):
            self._highest = max(self._highest, resident(), key=sum)


def watched(watch: Watch) -> None:
    """Let reading and counting tell what they held."""
    import pyarrow as pa

    from headcount.engines.local.engine import LocalEngine
    from headcount.engines.local.record_store import RecordStore

    read, run_passes = RecordStore._read, LocalEngine.run_kernel

    def reading(held: RecordStore, *given: Any) -> None:
        watch.print_stage("imports, catalogue, kernels loaded")
        read(held, *given)
        records = held._size * (held.low.itemsize + held.high.itemsize) + held.starts.nbytes
        arrow = pa.default_memory_pool().max_memory()
        watch.print_stage("reading", f"; records {records / MIB:.0f}, PyArrow's at most {arrow / MIB:.0f}")

    def counting(passes: LocalEngine, *given: Any) -> None:
        run_passes(passes, *given)
        watch.print_stage("counting")

    replace: Callable[[Any, str, Any], None] = setattr
    replace(RecordStore, "_read", reading)
    replace(LocalEngine, "run_kernel", counting)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.performance.release_memory", description=__doc__)
    parser.add_argument("kind", nargs="?", choices=[kind for kind in KINDS if kind != "wide"], default="dense")
    parser.add_argument("size", nargs="?", choices=list(SIZES), default="100m")
    parser.add_argument("--method", default="sra")
    given = parser.parse_args()
    make_logs(given.kind, given.size)
    watch = Watch()
    watch.print_stage("Python itself")
    watched(watch)
    release(log_path(given.kind, given.size), catalogue_path(given.kind), method=given.method)
    watch.print_stage("noise and tables")
    watch.stop()


if __name__ == "__main__":
    main()
