"""CPU seconds of each step of a warm release: ``python -m benchmarks.performance.release_steps``.

Every step's own CPU time is taken, on whichever thread it runs; that of decoding is the floor's, PyArrow streaming
the same columns. What is left is Python between the steps, sums, tables, and the system: how much of all is the
system's, most of it pages of memory that are touched for the first time, stands apart. The turn that took least in
all is told.
"""

import argparse
import resource
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from benchmarks.harness.floor_comparison import release, stream_columns
from benchmarks.harness.logs import KINDS, SIZES, catalogue_path, log_path
from benchmarks.performance.cpu_seconds import cpu_seconds, make_logs


def watched(spent: dict[str, float]) -> None:
    """Let each step add its CPU seconds to its name."""
    import headcount
    from headcount.bounds.counts import class_profile, count_bound
    from headcount.engines.local import record_store
    from headcount.events.encode.passes import EncodedLog
    from headcount.noise.randomness import OperatingSystemNoise
    from headcount.noise.samplers.kernels import discrete

    lock = threading.Lock()

    def watch(owner: Any, name: str, step: str, within: str = "") -> None:
        plain = getattr(owner, name)

        def timed(*given: Any, **named: Any) -> Any:
            before = time.thread_time()
            try:
                return plain(*given, **named)
            finally:
                with lock:
                    spent[step] += time.thread_time() - before
                    spent[within] -= time.thread_time() - before

        setattr(owner, name, timed)

    watch(headcount, "read_events", "catalogue and columns")
    watch(EncodedLog, "_coded", "codes of people")
    watch(EncodedLog, "_within", "cells of items and contexts", "codes of people")
    watch(record_store, "sort_into_blocks", "dealing to blocks")
    for module, kernel in (
        (count_bound, "count_sampled"), (count_bound, "count_weighted"), (class_profile, "profile_users"),
    ):  # fmt: skip
        watch(module, kernel, "grouping, choosing, counting")
    watch(OperatingSystemNoise, "words", "random words of the system")
    watch(discrete, "draw", "noise from these words")


def turn(floor: Callable[[], object], ours: Callable[[], object], spent: dict[str, float]) -> dict[str, float]:
    decoding = sum(cpu_seconds(floor))
    spent.clear()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    user, system = cpu_seconds(ours)
    parts = {"decoding": decoding} | {step: seconds for step, seconds in spent.items() if step}
    parts["the rest"] = user + system - sum(parts.values())
    sums = {"all": user + system, "of it the system": system}
    return parts | sums | {"page faults": resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.performance.release_steps", description=__doc__)
    parser.add_argument("kind", nargs="?", choices=[kind for kind in KINDS if kind != "wide"], default="dense")
    parser.add_argument("size", nargs="?", choices=list(SIZES), default="10m")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--method", choices=("sra", "adaptive"), default="sra")
    given = parser.parse_args()
    make_logs(given.kind, given.size)
    log, catalogue = log_path(given.kind, given.size), catalogue_path(given.kind)
    dictionaries = ["user", "item"] if given.kind == "text" else []
    release(log_path(given.kind, "1m"), catalogue, method=given.method)
    spent: dict[str, float] = defaultdict(float)
    watched(spent)
    turns = [
        turn(
            lambda: stream_columns(log, dictionaries), lambda: release(log, catalogue, method=given.method), spent
        )
        for _ in range(given.turns)
    ]
    best = min(turns, key=lambda times: times["all"])
    faults = best.pop("page faults")
    for step, seconds in best.items():
        print(f"{step:28} {1e3 * seconds:8.1f} ms {1e9 * seconds / SIZES[given.size]:7.2f} ns a record")
    print(f"{'page faults':28} {faults:8.0f}")


if __name__ == "__main__":
    main()
