"""OpenDP through its lower-level constructors: the fastest use of it we found.

The Context API searches for the noise scale by building the measurement again and again, which takes longer
than the release itself. Whoever knows the scale (2 * LIMIT / epsilon) builds it once; ``check`` confirms it.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import opendp.prelude as dp
import polars as pl

from benchmarks.rivals.job import EDGE_KEYS, ITEM_KEYS, LIMIT, WEEKDAYS, main

dp.enable_features("contrib")
COLUMNS = ("user", "item", "weekday")


def release(log: Path, keys: Path, epsilon: float) -> list[Any]:
    domain = dp.lazyframe_domain([dp.series_domain(name, dp.atom_domain(T=dp.i32)) for name in COLUMNS])
    user = pl.col("user")
    shape = pl.LazyFrame(schema=dict.fromkeys(COLUMNS, pl.Int32))
    bounded = shape.filter(pl.int_range(pl.len()).shuffle().over(user) < LIMIT)
    tables: list[Any] = []
    for columns, file in ((["item"], ITEM_KEYS), (["item", "weekday"], EDGE_KEYS)):
        counted = bounded.group_by(columns).agg(dp.len(signed=True))
        plan = pl.scan_parquet(keys / file).join(counted, how="left", on=columns, nulls_equal=True)
        measurement = dp.m.make_private_lazyframe(
            domain,
            dp.symmetric_id_distance(user),
            dp.max_divergence(),
            plan,
            global_scale=2 * LIMIT / epsilon,
        )
        if not measurement.check(1, epsilon / 2):
            raise SystemExit("the noise scale does not give half of epsilon")
        tables.append(measurement(pl.scan_parquet(log)).collect())
    return tables


def cells(tables: list[Any]) -> list[Iterable[tuple[int, float]]]:
    items, edges = tables
    return [
        items.select("item", "len").iter_rows(),
        edges.select(pl.col("item") * WEEKDAYS + pl.col("weekday"), "len").iter_rows(),
    ]


if __name__ == "__main__":
    main(release, cells)
