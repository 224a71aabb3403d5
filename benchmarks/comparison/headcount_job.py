"""The rivals' job (rivals/job.py) done by Headcount, on the file with int8 weekdays.

``METHOD`` in the environment names another method than SRA, which does the rivals' job to the letter: the adaptive
one takes no limit, and releases the best counts it can for the same epsilon.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.harness.floor_comparison import release as headcount_release
from benchmarks.harness.logs import catalogue_path
from benchmarks.rivals.job import WEEKDAYS, main


def release(log: Path, _keys: Path, epsilon: float) -> list[Any]:
    method = os.environ.get("METHOD", "sra")
    return headcount_release(log, catalogue_path("dense"), method=method, epsilon=f"{epsilon:.10g}")


def cells(tables: list[Any]) -> list[Iterable[tuple[int, float]]]:
    """Names are numbers here; a record without a weekday would be in a cell of its own, which the others lack."""
    items, edges = (table.to_pydict() for table in tables)
    at = zip(edges["item"], edges["context"], edges["count"], strict=True)
    return [
        ((int(item), count) for item, count in zip(items["item"], items["count"], strict=True)),
        ((int(item) * WEEKDAYS + int(weekday), count) for item, weekday, count in at if weekday is not None),
    ]


if __name__ == "__main__":
    main(release, cells)
