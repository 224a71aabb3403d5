"""CPU seconds of releases beside only reading the file: ``python -m benchmarks.performance.cpu_seconds``.

Wall times say little on a machine that others use. Here floor and release take turns in one process, after a
release of a small log, and the least CPU seconds (user and system, all threads) of all turns count. With
``--against``, the source folder of another version, both versions take turns. The floor uses little more than one
core and a release all there are, so on free cores the ratio of wall times is smaller than the one told here.

The floor is PyArrow streaming the same columns of Parquet, text as dictionaries, or ``pyarrow.csv.read_csv``.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness.floor_comparison import release, stream_columns, timed
from benchmarks.harness.logs import catalogue_path, log_path
from benchmarks.performance.file_reading import text_path, write_texts

ROOT = Path(__file__).resolve().parents[2]
CASES = {
    "sra": ("dense", "100m", "sra"),
    "adaptive": ("dense", "100m", "adaptive"),
    "hpa": ("dense", "100m", "hpa"),
    "sparse": ("sparse", "100m", "sra"),
    "text": ("text", "10m", "sra"),
    "csv": ("csv", "10m", "sra"),
}
TURNS, REPEATS = 2, 2


def cpu_seconds(action: Callable[[], object]) -> tuple[float, float]:
    """User seconds, and system seconds."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    action()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime


def read_csv(size: str) -> object:
    from pyarrow import csv

    return csv.read_csv(text_path("plain.csv", size))


def release_csv(size: str) -> object:
    import headcount as hc

    log = hc.read_events(
        str(text_path("plain.csv", size)),
        user="user",
        item="item",
        items=str(catalogue_path("dense")),
        context="weekday:time",
    )
    return hc.release(log, epsilon="1", method="sra", limit=10)


def both(kind: str, size: str, method: str) -> tuple[Callable[[], object], Callable[[], object]]:
    """The floor, and the release."""
    if kind == "csv":
        return lambda: read_csv(size), lambda: release_csv(size)
    dictionaries = ["user", "item"] if kind == "text" else []
    log = log_path(kind, size)
    return lambda: stream_columns(log, dictionaries), lambda: release(log, catalogue_path(kind), method=method)


def measure(name: str) -> dict[str, list[tuple[float, float]]]:
    kind, size, method = CASES[name]
    floor, ours = both(kind, size, method)
    if kind == "csv":
        ours()
    else:
        both(kind, "1m", method)[1]()
    times: dict[str, list[tuple[float, float]]] = {"floor": [], "ours": []}
    for _ in range(REPEATS):
        times["floor"].append(cpu_seconds(floor))
        times["ours"].append(cpu_seconds(ours))
    return times


def csv_pair(size: str, repeat: int) -> dict[str, list[float]]:
    """Wall seconds of reading a CSV file, and of releasing from it, in turns."""
    make_logs("csv", size)
    floor, ours = both("csv", size, "sra")
    ours()
    times: dict[str, list[float]] = {"floor": [], "ours": []}
    for _ in range(repeat):
        times["floor"].append(timed(floor))
        times["ours"].append(timed(ours))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.performance.cpu_seconds", description=__doc__)
    parser.add_argument("--against", type=Path, metavar="SRC")
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--measure", choices=list(CASES), help=argparse.SUPPRESS)
    parser.add_argument("--pair", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.pair:
        print(json.dumps(csv_pair(given.pair[0], int(given.pair[1]))))
        return
    if given.measure:
        print(json.dumps(measure(given.measure)))
        return
    sources = {"this": ROOT / "src"} | ({"other": given.against.resolve()} if given.against else {})
    print("CPU seconds, user and system; × is to the floor")
    for name in given.only:
        make_logs(*CASES[name][:2])
        times: dict[str, list[tuple[float, float]]] = {"floor": []}
        for _ in range(TURNS):
            for version, source in sources.items():
                environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}"}
                command = [sys.executable, "-m", "benchmarks.performance.cpu_seconds", "--measure", name]
                done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
                measured = json.loads(done.stdout)
                times["floor"] += measured["floor"]
                times.setdefault(version, []).extend(measured["ours"])
        print(f"{name:9}" + "".join(shown(version, times) for version in times), flush=True)


def make_logs(kind: str, size: str) -> None:
    for needed in ("1m", size):
        stored = "dense" if kind == "csv" else kind
        subprocess.run([sys.executable, "-m", "benchmarks.harness.logs", "dense", needed], check=True)
        subprocess.run([sys.executable, "-m", "benchmarks.harness.logs", stored, needed], check=True)
    if kind == "csv" and not text_path("plain.csv", size).exists():
        write_texts(size)


def shown(version: str, times: dict[str, list[tuple[float, float]]]) -> str:
    least, floor = (min(user + system for user, system in times[source]) for source in (version, "floor"))
    of_user = min(user for user, _ in times[version])
    ratio = "" if version == "floor" else f", {least / floor:.2f} ×"
    return f"  {version} {least:.2f} s (user {of_user:.2f}){ratio}"


if __name__ == "__main__":
    main()
