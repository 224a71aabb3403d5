"""How fast files are read: ``python -m benchmarks.performance.file_reading [--against SRC] [--records 10m]``.

SRA with limit 10 over one log in several formats: Parquet with an int8 weekday, and text with user, item and an
ISO 8601 time, as CSV (plain and quoted) and JSON lines. With ``--against``, the source folder of another version,
both versions take turns in processes of their own, in one run, and the last column is this version's time over the
other's. Each process releases once to warm up, and then three times; the fastest of all turns is told.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.harness.logs import DATA, SIZES, catalogue_path, log_path

TURNS, REPEATS = 3, 3
TEXTS = ("plain.csv", "quoted.csv", "lines.jsonl")
HERE = Path(__file__).resolve().parents[2] / "src"


def text_path(kind: str, size: str) -> Path:
    return DATA / f"times-{size}-{kind}"


def write_texts(size: str) -> None:
    """Write the rows of the dense log as text, with times spread over 2026."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    from pyarrow import csv

    random = np.random.default_rng(1)
    lines = {kind: text_path(kind, size).with_suffix(".unfinished") for kind in TEXTS}
    with open(lines[TEXTS[2]], "w", encoding="utf-8") as out:
        writers: list[Any] = []
        for batch in pq.ParquetFile(log_path("dense", size)).iter_batches(columns=["user", "item"]):
            seconds = 1_767_225_600 + random.integers(0, 31_536_000, batch.num_rows)
            times = pc.strftime(pa.array(seconds).cast(pa.timestamp("s")), "%Y-%m-%dT%H:%M:%S")
            rows = pa.table([batch.column("user"), batch.column("item"), times], names=["user", "item", "time"])
            if not writers:
                writers = [
                    csv.CSVWriter(lines[kind], rows.schema, write_options=csv.WriteOptions(quoting_style=style))
                    for kind, style in zip(TEXTS, ("none", "all_valid"), strict=False)
                ]
            for writer in writers:
                writer.write_table(rows)
            users, items, when = (rows[name].to_pylist() for name in rows.column_names)
            out.writelines(
                f'{{"user": {user}, "item": {item}, "time": "{at}"}}\n'
                for user, item, at in zip(users, items, when, strict=True)
            )
        for writer in writers:
            writer.close()
    for kind, path in lines.items():
        path.rename(text_path(kind, size))


def measure(log: Path, context: str) -> list[float]:
    """Release warm, in this process, with whatever version it imports."""
    import headcount as hc

    def release() -> None:
        days = list("0123456") if context == "weekday" else None
        events = hc.read_events(
            str(log), user="user", item="item", items=str(catalogue_path("dense")), context=context, contexts=days
        )
        hc.release(events, epsilon="1", method="sra", limit=10)

    release()
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        release()
        times.append(time.perf_counter() - started)
    return times


def turn(source: Path, log: Path, context: str) -> float:
    command = [sys.executable, "-m", "benchmarks.performance.file_reading", "--measure", str(log), context]
    folder = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{folder}"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return float(min(json.loads(done.stdout)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.performance.file_reading", description=__doc__)
    parser.add_argument("--records", default="10m", choices=list(SIZES))
    parser.add_argument("--against", type=Path, metavar="SRC")
    parser.add_argument("--only", nargs="+", choices=["parquet", *TEXTS], default=["parquet", *TEXTS])
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(Path(given.measure[0]), given.measure[1])))
        return
    subprocess.run([sys.executable, "-m", "benchmarks.harness.logs", "dense", given.records], check=True)
    texts = [kind for kind in given.only if kind in TEXTS]
    if texts and not all(text_path(kind, given.records).exists() for kind in TEXTS):
        write_texts(given.records)
    sources = {"this": HERE} | ({"other": given.against.resolve()} if given.against else {})
    print(f"SRA, {given.records} records, warm, seconds")
    for kind in given.only:
        log = log_path("dense", given.records) if kind == "parquet" else text_path(kind, given.records)
        context = "weekday" if kind == "parquet" else "weekday:time"
        best = dict.fromkeys(sources, float("inf"))
        for _ in range(TURNS):
            for name, source in sources.items():
                best[name] = min(best[name], turn(source, log, context))
        ratio = f"  ratio {best['this'] / best['other']:.2f}" if "other" in best else ""
        print(f"{kind:12}" + "".join(f"  {name} {seconds:7.3f}" for name, seconds in best.items()) + ratio)


if __name__ == "__main__":
    main()
