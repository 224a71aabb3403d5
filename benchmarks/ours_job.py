"""Headcount as a contestant: the job of rivals/job.py, on the file with int8 weekdays."""

from pathlib import Path
from typing import Any

from benchmarks.data import catalogue_path
from benchmarks.ours import release as headcount_release
from benchmarks.rivals.job import main


def release(log: Path, _keys: Path, epsilon: float) -> list[Any]:
    return headcount_release(log, catalogue_path("dense"), method="sra", epsilon=f"{epsilon:.10g}")


def summary(tables: list[Any]) -> list[tuple[int, float]]:
    return [(table.num_rows, float(sum(table["count"].to_pylist()))) for table in tables]


if __name__ == "__main__":
    main(release, summary)
