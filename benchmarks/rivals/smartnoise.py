"""SmartNoise SQL on pandas.

It returns only keys it saw, so it draws less noise than the others: an advantage we leave it. ``weekday``
is a word of its SQL (so is ``day``), so the column is called ``wd`` here.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import snsql  # type: ignore[import-not-found]

from benchmarks.rivals.job import LIMIT, WEEKDAYS, main

QUERIES = (
    "SELECT item, COUNT(*) AS n FROM log.log GROUP BY item",
    "SELECT item, wd, COUNT(*) AS n FROM log.log GROUP BY item, wd",
)


def release(log: Path, _keys: Path, epsilon: float) -> list[Any]:
    frame = pd.read_parquet(log).rename(columns={"weekday": "wd"})
    table = {
        "row_privacy": False,
        "max_ids": LIMIT,
        "sample_max_ids": True,
        "censor_dims": False,
        "clamp_counts": False,
        "rows": len(frame),
        "user": {"type": "int", "private_id": True},
        "item": {"type": "int"},
        "wd": {"type": "int"},
    }
    privacy = snsql.Privacy(epsilon=epsilon / 2, delta=0.0)
    reader = snsql.from_df(frame, metadata={"": {"log": {"log": table}}}, privacy=privacy)
    return [reader.execute(query) for query in QUERIES]


def cells(tables: list[Any]) -> list[Iterable[tuple[int, float]]]:
    """The first row of each table has its names."""
    items, edges = tables
    return [items[1:], ((item * WEEKDAYS + weekday, count) for item, weekday, count in edges[1:])]


if __name__ == "__main__":
    main(release, cells)
