"""The Spark engine against Tumult Analytics: ``python -m benchmarks.comparison.spark_engine``.

Each run is warm: in a process that has already done the job on one million records. Seconds are fitted as
a + b · rows + c · cells · partitions on the sizes that are asked for, up to 10m; with 100m asked for as well, what
the fit says of it is shown beside what it takes.
"""

import argparse
import os
import sys
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.comparison.rival_environments import (
    HUGE_EPSILON,
    ROOT,
    bare_environment,
    check_rival,
    check_tables,
    measure_rival,
    rivals_of_families,
)
from benchmarks.harness.logs import SIZES, log_path
from benchmarks.harness.measurements import Bench
from benchmarks.harness.processes import CouldNotRunError, median, run
from benchmarks.rivals.job import ITEMS, WEEKDAYS

CELLS = ITEMS * (1 + WEEKDAYS + 1)  # of items, and of items in contexts with the unknown one
MANY = 16  # partitions, beside as many as there are cores


@dataclass(frozen=True)
class Timing:
    """What one size took with so many partitions."""

    size: str
    partitions: int
    seconds: float
    driver: int

    @property
    def terms(self) -> list[float]:
        return [1.0, float(SIZES[self.size]), float(CELLS * self.partitions)]


def timed(size: str, partitions: int, repeat: int) -> Timing:
    measurement = _job(
        size, "--warm-up", str(log_path("dense", "1m")), "--repeat", str(repeat), partitions=partitions
    )
    return Timing(size, partitions, median(measurement["seconds"]), int(measurement["driver"]))


def _job(size: str, *options: str, partitions: int) -> Any:
    start = [sys.executable, "-m", "benchmarks.comparison.spark_job", str(log_path("dense", size)), *options]
    env = {**bare_environment(), "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    return run([*start, "--partitions", str(partitions)], env=env).answer


def fitted(timings: list[Timing]) -> list[float]:
    """Return a, b and c that fit the timings best, each weighed by its own size; none is below zero."""
    import numpy as np
    from scipy.optimize import nnls

    terms, seconds = np.array([case.terms for case in timings]), np.array([case.seconds for case in timings])
    scale = terms.max(axis=0)
    coefficients, _ = nnls(terms / scale / seconds[:, None], np.ones(len(timings)))
    return [float(case) for case in coefficients / scale]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparison.spark_engine", description=__doc__)
    parser.add_argument("--records", default="1m,10m", help="sizes, a subset of 1m,10m,100m")
    parser.add_argument("--rivals", choices=("tumult", "none"), default="tumult")
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    sizes = [size for size in SIZES if size in given.records.split(",")]
    bench = Bench(sizes=sizes, rivals=[], rival_timeout=3600.0)
    for size in {*sizes, "1m"}:
        bench.need("dense", size)
    cores = os.cpu_count() or 1
    check_tables(_job("1m", "--epsilon", str(HUGE_EPSILON), partitions=cores)["tables"], "1m")
    timings = [timed(size, cores, given.repeat) for size in sizes]
    for case in timings:
        print(
            f"{case.size:>5} in {case.partitions} partitions: {case.seconds:.2f} s, driver {case.driver >> 20} MiB"
        )
    _show_cost(timings, given.repeat)
    if given.rivals == "tumult":
        _show_ratio(bench, [case for case in timings if case.size != "100m"][-1])
    return 0


def _show_cost(timings: list[Timing], repeat: int) -> None:
    small_timings = [case for case in timings if case.size != "100m"]
    if len(small_timings) < 2:
        print("cost model: not fitted, it takes 1m and 10m")
        return
    model = fitted([*small_timings, timed(small_timings[0].size, MANY, repeat)])
    once, row, cell = model[0], model[1] * 1e9, model[2] * 1e9
    print(f"cost model: {once:.2f} s + {row:.1f} ns a row + {cell:.1f} ns a cell and partition")
    for case in timings:
        if case.size == "100m":
            total = sum(coefficient * other for coefficient, other in zip(model, case.terms, strict=True))
            print(
                f"100m: predicted {total:.1f} s, took {case.seconds:.1f} s, off by {total / case.seconds - 1:+.0%}"
            )


def _show_ratio(bench: Bench, ours: Timing) -> None:
    for size in {"1m", ours.size}:
        bench.need("wide", size)
    try:
        tumult = replace(rivals_of_families(["tumult"])[0], slow=False)  # as often as ours, whatever it takes
        check_rival(tumult, 3600.0)
        theirs = measure_rival(tumult, ours.size, 3600.0)["warm"]
    except CouldNotRunError as reason:
        print(f"tumult could not run: {reason}")
        return
    print(f"{ours.size}: {ours.seconds:.2f} s, tumult {theirs:.2f} s: {ours.seconds / theirs:.2f} of its time")


if __name__ == "__main__":
    sys.exit(main())
