"""Tumult Analytics on Spark in local mode, one task slot a core, as many shuffle partitions as cores.

The default of 200 shuffle partitions would be slower here. The two sums differ by design when epsilon is
small only: each query bounds the users anew.
"""

import os
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.rivals.job import EDGE_KEYS, ITEM_KEYS, LIMIT, WEEKDAYS, main

os.environ["PYSPARK_PYTHON"] = sys.executable

from pyspark.sql import SparkSession
from tmlt.analytics import (  # type: ignore[import-not-found]
    AddRowsWithID,
    KeySet,
    MaxRowsPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)


@cache
def spark() -> Any:
    cores = os.cpu_count() or 1
    session = (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.driver.memory", "8g")
        .config("spark.sql.shuffle.partitions", str(cores))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


def release(log: Path, keys: Path, epsilon: float) -> list[Any]:
    session = Session.from_dataframe(
        privacy_budget=PureDPBudget(epsilon),
        source_id="log",
        dataframe=spark().read.parquet(str(log)),
        protected_change=AddRowsWithID("user"),
    )
    bounded = QueryBuilder("log").enforce(MaxRowsPerID(LIMIT))
    return [
        session.evaluate(
            bounded.groupby(KeySet.from_dataframe(spark().read.parquet(str(keys / file)))).count(),
            PureDPBudget(epsilon / 2),
        ).toPandas()
        for file in (ITEM_KEYS, EDGE_KEYS)
    ]


def cells(tables: list[Any]) -> list[Iterable[tuple[int, float]]]:
    items, edges = tables
    return [
        zip(items["item"], items["count"], strict=True),
        zip(edges["item"] * WEEKDAYS + edges["weekday"], edges["count"], strict=True),
    ]


if __name__ == "__main__":
    main(release, cells)
