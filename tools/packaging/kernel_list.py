"""Write ``src/headcount/kernels.txt``, what a build compiles: ``python tools/packaging/kernel_list.py [--check]``.

It makes the releases that people mostly make, from made-up logs, and notes which kernels they call, with which
types. Kernels that return more than whole numbers are left to Numba, and so are packed stores. ``--check`` tells
what is not on the list, and fails.
"""

from __future__ import annotations

import argparse
import inspect
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from headcount._internal import compiled_library
from headcount._internal.compiled import Kernel

LIST = Path(__file__).resolve().parents[2] / "src" / "headcount" / "kernels.txt"
HEAD = "# Kernels that a build compiles, and their argument types. tools/packaging/kernel_list.py writes it.\n"
ROWS, MANY_ITEMS, VERY_MANY_ITEMS = 9_000, 3_000, 300_000  # so that noise is drawn in bulk; that records are wider
RETURNED = {"None", "Word", "tuple[Word, Word]", "tuple[Word, Word, Word]", "tuple[Word, Word, Word, Word]"}


def tables() -> dict[str, pa.Table]:
    """Return logs whose ids are numbers, close together or far apart, or texts."""
    rng = np.random.default_rng(1)
    users, items = rng.integers(0, 900, ROWS), rng.integers(0, MANY_ITEMS, ROWS)
    days = rng.integers(0, 7, ROWS).astype(np.int8)
    times = pa.array((1_700_000_000 + 7 * np.arange(ROWS)) * 1_000_000, pa.timestamp("us"))
    texts = [f"u{number}" for number in users], [f"i{number}" for number in items]
    return {
        "small": pa.table({"user": users.astype(np.int32), "item": items.astype(np.int32), "day": days}),
        "plain": pa.table({"user": users, "item": items, "day": days.astype(np.int64), "time": times}),
        "sparse": pa.table({"user": users * 1_000_003_001 + 17, "item": items, "day": days}),
        "worded": pa.table({"user": texts[0], "item": texts[1], "day": days.astype(np.int64), "time": times}),
    }


def logs(folder: Path) -> Iterator[list[str]]:
    """Write logs in several formats and return the flags to read them."""
    for name, table in tables().items():
        pq.write_table(table, folder / f"{name}.parquet")
        pa.csv.write_csv(table, folder / f"{name}.csv")
    for items in (MANY_ITEMS, VERY_MANY_ITEMS):
        (folder / f"{items}.txt").write_text("\n".join(map(str, range(items))), encoding="utf-8")
    (folder / "texts.txt").write_text("\n".join(f"i{item}" for item in range(MANY_ITEMS)), encoding="utf-8")
    daily, timely = ["--context", "day", "--contexts", "0,1,2,3,4,5,6"], ["--context", "weekday:time"]
    for name in ("small.parquet", "plain.parquet", "sparse.parquet", "plain.csv"):
        yield [f"{folder}/{name}", "--items", f"{folder}/{MANY_ITEMS}.txt", *daily]
    yield [f"{folder}/small.parquet", "--items", f"{folder}/{VERY_MANY_ITEMS}.txt", *daily]
    yield [f"{folder}/plain.csv", "--items", f"{folder}/{MANY_ITEMS}.txt", *timely]
    yield [f"{folder}/worded.csv", "--items", f"{folder}/texts.txt", *timely]
    for context in (timely, daily, []):
        yield [f"{folder}/worded.parquet", "--items", f"{folder}/texts.txt", *context]
    for name in ("small", "plain"):
        yield [f"{folder}/{name}.parquet", "--items", f"{folder}/{MANY_ITEMS}.txt"]


def commands(folder: Path) -> Iterator[list[str]]:
    """Return what people mostly run."""
    for log in logs(folder):
        options = [*log, "--user", "user", "--item", "item", "--epsilon", "1"]
        yield ["release", *options]
        yield ["release", *options, "--method", "sra", "--limit", "5"]
    yield ["release", *options, "--count", "users"]
    yield ["release", *options, "--noise", "gaussian", "--delta", "1e-6"]
    yield ["rank", *options, "-k", "5"]


def record_calls(folder: Path) -> list[str]:
    """Return the kernels that these commands call, each with the types it is called with."""
    from headcount.cli.main import main

    signatures: set[str] = set()
    plain = Kernel.__call__

    def call(kernel: Kernel, *given: Any) -> Any:
        types, _ = compiled_library.flatten_arguments(given)
        if "other" not in types and inspect.get_annotations(kernel.py_func)["return"] in RETURNED:
            signatures.add(f"{kernel.__module__}.{kernel.py_func.__name__}({types})")
        return plain(kernel, *given)

    setattr(Kernel, "__call__", call)  # noqa: B010  a method, as mypy sees it
    for at, command in enumerate(commands(folder)):
        print(" ".join(command), file=sys.stderr)
        if main([*command, "--quiet", "--out", f"{folder}/{at}"]) != 0:
            sys.exit("that failed")
    return sorted(signatures)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the list of kernels that a build compiles.")
    parser.add_argument("--check", action="store_true", help="tell what is not on the list, and fail")
    given = parser.parse_args()
    os.environ[compiled_library.WITHOUT] = "1"
    with tempfile.TemporaryDirectory() as temporary:
        signatures = record_calls(Path(temporary))
    if not given.check:
        LIST.write_text(HEAD + "\n".join(signatures) + "\n", encoding="utf-8")
    missing = sorted(set(signatures) - set(LIST.read_text(encoding="utf-8").splitlines()))
    sys.exit("\n".join(["not on the list:", *missing]) if missing else 0)
