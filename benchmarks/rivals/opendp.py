"""OpenDP through its Context API, as its guide shows it.

The keys lie in Parquet files, as the library itself advises for long key sets: handing them over in memory
makes the search for the noise scale ten times slower, which would be unfair.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import opendp.prelude as dp
import polars as pl

from benchmarks.rivals.job import EDGE_KEYS, ITEM_KEYS, LIMIT, WEEKDAYS, main

dp.enable_features("contrib")


def release(log: Path, keys: Path, epsilon: float) -> list[Any]:
    context = dp.Context.compositor(
        data=pl.scan_parquet(log),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user")),
        privacy_loss=dp.loss_of(epsilon=epsilon),
        split_evenly_over=2,
    )
    return [
        context.query()
        .truncate_per_group(LIMIT)
        .group_by(columns)
        .agg(dp.len(signed=True))
        .with_keys(pl.scan_parquet(keys / file))
        .release()
        .collect()
        for columns, file in ((["item"], ITEM_KEYS), (["item", "weekday"], EDGE_KEYS))
    ]


def cells(tables: list[Any]) -> list[Iterable[tuple[int, float]]]:
    items, edges = tables
    return [
        items.select("item", "len").iter_rows(),
        edges.select(pl.col("item") * WEEKDAYS + pl.col("weekday"), "len").iter_rows(),
    ]


if __name__ == "__main__":
    main(release, cells)
