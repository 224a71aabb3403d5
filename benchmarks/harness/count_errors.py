"""Error of released counts that a contestant wrote to disk; standard library only.

Two truths: the log's own counts ("exact"), which everybody would like to know, and what a random choice of at most
LIMIT records of each person has on average ("bounded"), from which noise and chance alone lead away.
"""

from __future__ import annotations

import statistics
from array import array
from pathlib import Path

from benchmarks.harness.logs import TRUTHS, truth_path
from benchmarks.rivals.job import TABLES, counts_path

Errors = dict[str, dict[str, float]]


def mean_absolute(released: array[float], truth: array[float]) -> float:
    """The mean absolute error over all cells.

    >>> mean_absolute(array("d", [1, 5]), array("d", [2, 2]))
    2.0
    """
    return sum(abs(a - b) for a, b in zip(released, truth, strict=True)) / len(truth)


def errors_in(folder: Path, size: str, runs: int) -> Errors:
    """The mean absolute errors of the counts in a folder, on average over releases."""
    return {
        table: {
            kind: statistics.mean(
                mean_absolute(_doubles(counts_path(folder, run, table)), _doubles(truth_path(size, kind, table)))
                for run in range(runs)
            )
            for kind in TRUTHS
        }
        for table in TABLES
    }


def _doubles(path: Path) -> array[float]:
    numbers = array("d")
    numbers.frombytes(path.read_bytes())
    return numbers
