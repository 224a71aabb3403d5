"""Throughput of audits: releases per CPU second, and the time of a whole audit, by method.

    python -m benchmarks.auditing.audit_rates [--runs 20] [--only NAME …] [--profile]

Some runs of both logs of every pair are timed, in seconds of the processor, after some that are not; where many
copies are run in one release, a thousand times as many. They are made in a process like those that an audit
starts, since in others libraries for matrices may keep further processors busy. All runs of an audit at that rate
are its seconds: one that finds a violation ends sooner, and looking for events comes on top. ``--profile`` shows
where the time goes.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from headcount.lab.audit.audit import expected_runs
from headcount.lab.audit.target_registry import NAMES, pairs_for, runs_for, target
from headcount.lab.processes import workers
from headcount.noise import SeededNoise

Result = TypeVar("Result")

_COPIES = 1_000
_LIMIT = 2
_SHOWN = 40


def rate(name: str, runs: int) -> float:
    """Return how many releases of a method there are in a second of the processor, all pairs alike."""
    audited, pairs, spent = target(name, _LIMIT, Decimal(1)), pairs_for(name, _LIMIT), 0.0
    many = runs * _COPIES if audited.copies else runs
    for pair in pairs:
        for present in (True, False):
            audited.observe(pair, SeededNoise(0), max(1, many // 5), present=present)
            began = time.process_time()
            audited.observe(pair, SeededNoise(1), many, present=present)
            spent += time.process_time() - began
    return 2 * len(pairs) * many / spent


def profile(name: str, runs: int) -> None:
    """Print the functions of Headcount in which most of the processor's time is spent, as shares of a release."""
    audited, pairs = target(name, _LIMIT, Decimal(1)), pairs_for(name, _LIMIT)
    for pair in pairs:
        audited.observe(pair, SeededNoise(0), runs, present=True)
    watch = cProfile.Profile(time.process_time)
    with watch:
        for pair in pairs:
            audited.observe(pair, SeededNoise(1), runs, present=True)
    profile_stats: Any = pstats.Stats(watch)
    whole, calls = profile_stats.total_tt, profile_stats.total_calls / (runs * len(pairs))
    print(f"{name}: {calls:,.0f} calls a release")
    spent = [(function_stats[3], at) for at, function_stats in profile_stats.stats.items() if "headcount" in at[0]]
    for seconds, (file, line, function) in sorted(spent, reverse=True)[:_SHOWN]:
        print(f"{100 * seconds / whole:6.1f} %  {Path(file).stem}.{function} ({line})", flush=True)


def main() -> None:
    """Print a table, or profiles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only", nargs="*", default=NAMES)
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    with workers() as pool:
        if given.profile:
            for name in given.only:
                _elsewhere(pool, profile, name, given.runs)
        else:
            table(given.only, given.runs, pool)


def _elsewhere(pool: Executor | None, what: Callable[[str, int], Result], name: str, runs: int) -> Result:
    """Let another process do it, where there are some."""
    return what(name, runs) if pool is None else pool.submit(what, name, runs).result()


def table(names: Sequence[str], runs: int, pool: Executor | None) -> None:
    """Print a line for each method, and one for all."""
    print("| Method | releases a second | releases of an audit | seconds |\n|---|---:|---:|---:|")
    whole = 0.0
    for name in names:
        pairs_rate = _elsewhere(pool, rate, name, runs)
        copies = target(name, _LIMIT, Decimal(1)).copies
        releases = 2 * expected_runs(len(pairs_for(name, _LIMIT)), runs_for(name, copies=copies))
        whole += releases / pairs_rate
        print(f"| `{name}` | {pairs_rate:,.0f} | {releases:,} | {releases / pairs_rate:,.0f} |", flush=True)
    print(f"| all | | | {whole:,.0f} |")


if __name__ == "__main__":
    main()
