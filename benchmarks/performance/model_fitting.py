"""Cost of fitting models of ratings and tags: ``python -m benchmarks.performance.model_fitting [--records 10m]``.

A process of its own makes each model, first of a small log, which loads and compiles everything, then of the large
one. Told is by how much the large one raised its resident memory at most, in bytes a record, and the CPU seconds.
With ``--against``, the source folder of another version, that one is measured as well; with ``--surprise``,
Surprise's fit of the same ratings. It has no privacy, no tags, and no ε that errors could be compared at.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.comparison.rival_environments import Rival, environment, rival_environment
from benchmarks.harness.logs import DATA, SIZES, catalogue_path, log_path
from benchmarks.harness.processes import CouldNotRunError, run

KINDS = ("ratings", "tags")
TAGS = 2_000
ROOT = Path(__file__).resolve().parents[2]
SMALL = "1m"
SURPRISE = Rival(
    "surprise", "surprise_fit", "surprise.txt", "scikit-surprise", "has no privacy: no ε, no bound; no tags"
)


def model_path(size: str) -> Path:
    return DATA / f"models-{size}.parquet"


def write_log(size: str) -> None:
    """Write the rows of the dense log with a rating and a tag, both drawn."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(3)
    unfinished = model_path(size).with_suffix(".unfinished")
    writer: Any = None
    for batch in pq.ParquetFile(log_path("dense", size)).iter_batches(columns=["user", "item"]):
        stars = random.integers(1, 6, batch.num_rows).astype(np.int8)
        tags = (TAGS * random.random(batch.num_rows) ** 3).astype(np.int32)
        rows = pa.table(
            [batch.column("user"), batch.column("item"), stars, tags], ["user", "item", "stars", "tag"]
        )
        writer = writer or pq.ParquetWriter(unfinished, rows.schema)
        writer.write_table(rows)
    writer.close()
    unfinished.rename(model_path(size))


def make(kind: str, size: str) -> None:
    """Make one model, with whatever version is imported."""
    import headcount as hc

    log, listed = str(model_path(size)), str(catalogue_path("dense"))
    if kind == "ratings":
        events = hc.read_events(log, user="user", item="item", value="stars", value_range=(1, 5), items=listed)
        hc.fit_neighbours(events, epsilon="1", delta="1e-6")
    else:
        words = [str(tag) for tag in range(TAGS)]
        tagged = hc.read_tags(log, user="user", resource="item", tag="tag", resources=listed, vocabulary=words)
        hc.release_tags(tagged, epsilon="1", delta="1e-6")


def make_logs(size: str) -> None:
    """Write what is not there yet."""
    for log_size in (SMALL, size):
        subprocess.run([sys.executable, "-m", "benchmarks.harness.logs", "dense", log_size], check=True)
        if not model_path(log_size).exists():
            write_log(log_size)


def surprise(size: str, model: str, timeout: float) -> dict[str, float]:
    """Seconds of Surprise's fit of the same ratings, of a whole process, and its peak memory."""
    command: list[str | Path] = [environment(SURPRISE), "-m", f"benchmarks.rivals.{SURPRISE.module}"]
    done = run([*command, model_path(size), "--model", model], env=rival_environment(SURPRISE), timeout=timeout)
    return {**done.answer, "cold": done.seconds, "peak": done.peak}


def measure(kind: str, size: str) -> dict[str, float]:
    make(kind, SMALL)
    before = 1024 * int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0])
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    started, cpu = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    make(kind, size)
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = 1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
    return {
        "bytes": (peak - before) / SIZES[size],
        "cpu": used.ru_utime + used.ru_stime - cpu.ru_utime - cpu.ru_stime,
        "seconds": time.perf_counter() - started,
        "peak": peak,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.performance.model_fitting", description=__doc__)
    parser.add_argument("--records", default="10m", choices=list(SIZES))
    parser.add_argument("--against", type=Path, metavar="SRC")
    parser.add_argument("--surprise", choices=("KNNBasic", "SVD"))
    parser.add_argument("--measure", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help="write the logs, and nothing else")
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure, given.records)))
        return
    make_logs(given.records)
    if given.write:
        return
    sources = {"this": ROOT / "src"} | ({"other": given.against.resolve()} if given.against else {})
    for kind in KINDS:
        for name, source in sources.items():
            command = [
                sys.executable,
                "-m",
                "benchmarks.performance.model_fitting",
                "--records",
                given.records,
                "--measure",
                kind,
            ]
            environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}"}
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
            result = json.loads(done.stdout)
            print(
                f"{kind}, {given.records}, {name}: {result['bytes']:.1f} bytes a record, {result['cpu']:.1f} CPU "
                f"seconds, {result['seconds']:.1f} seconds"
            )
    if given.surprise:
        try:
            times = surprise(given.records, given.surprise, 3600.0)
        except CouldNotRunError as reason:
            print(f"Surprise could not run: {reason}")
        else:
            print(
                f"Surprise, {given.records}: fit {times['fit']:.1f} seconds, after {times['prepare']:.1f} of "
                f"reading"
            )


if __name__ == "__main__":
    main()
