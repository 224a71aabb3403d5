"""PipelineDP on its local backend; ``max_contributions`` bounds records (partitions × 1 would dedupe)."""

from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path
from typing import Any

import pipeline_dp  # type: ignore[import-not-found]
import pyarrow.parquet as pq

from benchmarks.rivals.job import EDGE_KEYS, ITEM_KEYS, LIMIT, WEEKDAYS, main


def release(log: Path, keys: Path, epsilon: float) -> list[Any]:
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=0)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    table = pq.read_table(log)
    rows = list(zip(*(table[name].to_pylist() for name in ("user", "item", "weekday")), strict=True))
    public = [
        pq.read_table(keys / ITEM_KEYS)["item"].to_pylist(),
        list(zip(*(column.to_pylist() for column in pq.read_table(keys / EDGE_KEYS).columns), strict=True)),
    ]
    lazy = [
        engine.aggregate(
            rows,
            pipeline_dp.AggregateParams(
                noise_kind=pipeline_dp.NoiseKind.LAPLACE,
                metrics=[pipeline_dp.Metrics.COUNT],
                max_contributions=LIMIT,
            ),
            pipeline_dp.DataExtractors(
                privacy_id_extractor=itemgetter(0), partition_extractor=key, value_extractor=lambda _row: 0
            ),
            public_partitions=partitions,
        )
        for key, partitions in zip((itemgetter(1), itemgetter(1, 2)), public, strict=True)
    ]
    accountant.compute_budgets()
    return [[(key, metrics.count) for key, metrics in counts] for counts in lazy]


def cells(tables: list[Any]) -> list[Iterable[tuple[int, float]]]:
    items, edges = tables
    return [items, (((item * WEEKDAYS) + weekday, count) for (item, weekday), count in edges)]


if __name__ == "__main__":
    main(release, cells)
