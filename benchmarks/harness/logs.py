"""The synthetic logs and catalogues of the benchmark: generated once, cached in benchmarks/.work/data.

    dense    int32 user and item, int8 weekday, as the targets define them
    wide     the same rows with an int32 weekday, for rivals that refuse int8
    sparse   the same rows, user and item ids scattered over 63 bits
    text     the same rows, user and item as strings

Run as ``python -m benchmarks.harness.logs KIND SIZE`` so that the process that measures stays small.
"""

import sys
from pathlib import Path
from typing import Any

from benchmarks.rivals.job import EDGE_KEYS, ITEM_KEYS, ITEMS, LIMIT, TABLES, WEEKDAYS

WORK = Path(__file__).parents[1] / ".work"
DATA = WORK / "data"
SIZES = {"1m": 1_000_000, "10m": 10_000_000, "100m": 100_000_000}
TRUTHS = ("exact", "bounded")
KINDS = ("dense", "wide", "sparse", "text")
NETFLIX_USERS, NETFLIX_RECORDS, NETFLIX_LARGEST = 480_189, 100_480_507, 17_653
_SCATTER = 0x9E3779B97F4A7C15  # odd, so multiplying by it modulo 2**63 maps no two ids to one


def log_path(kind: str, size: str) -> Path:
    return DATA / f"{kind}-{size}.parquet"


def catalogue_path(kind: str) -> Path:
    """One item id per line; ``wide`` has the ids of ``dense``."""
    return DATA / f"{'dense' if kind == 'wide' else kind}-items.txt"


def keys_path() -> Path:
    """The public keys as Parquet files, for rivals."""
    return DATA / "keys"


def expected_total_path(size: str) -> Path:
    """Σ min(records of the user, LIMIT): what bounded counts sum to without noise."""
    return DATA / f"expected-{size}.txt"


def truth_path(size: str, kind: str, table: str) -> Path:
    """Counts of all records ("exact"), or of at most LIMIT of each person on average ("bounded"), as doubles."""
    return DATA / f"truth-{size}-{kind}-{table}.f64"


def users_of(size: str) -> int:
    return round(SIZES[size] * NETFLIX_USERS / NETFLIX_RECORDS)


def _make(kind: str, size: str) -> None:
    DATA.mkdir(parents=True, exist_ok=True)
    _write_catalogues(kind)
    target = log_path(kind, size)
    if not target.exists():
        unfinished = target.with_suffix(".unfinished")
        if kind == "dense":
            _generate(unfinished, size)
        else:
            _derive(kind, log_path("dense", size), unfinished)
        unfinished.rename(target)
    if not expected_total_path(size).exists():
        _write_truth(log_path("dense", size), size)


def _generate(target: Path, size: str) -> None:
    from headcount.lab.synthetic.logs import netflix_shaped

    netflix_shaped(
        target, users=users_of(size), items=ITEMS, records=SIZES[size], largest=NETFLIX_LARGEST, seed=2006
    )


def _derive(kind: str, source: Path, target: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    reader = pq.ParquetFile(source, pre_buffer=False)
    writer: Any = None
    for group in range(reader.num_row_groups):
        table = reader.read_row_group(group)
        columns = {name: _converted(kind, name, table[name].combine_chunks()) for name in table.column_names}
        table = pa.table(columns)
        if writer is None:
            writer = pq.ParquetWriter(target, table.schema, use_dictionary=_dictionaries(kind))
        writer.write_table(table)
    writer.close()


def _dictionaries(kind: str) -> list[str]:
    """As in the dense log: numbers of users are stored plain, all else as dictionaries."""
    return ["user", "item", "weekday"] if kind == "text" else ["item", "weekday"]


def _converted(kind: str, name: str, column: Any) -> Any:
    import pyarrow as pa

    if name == "weekday":
        return column.cast(pa.int32()) if kind == "wide" else column
    if kind == "sparse":
        return pa.array(_scattered(column.to_numpy()))
    if kind == "text":
        names = pa.array([_text(name, code) for code in range(int(column.to_numpy().max()) + 1)])
        return names.take(column)
    return column


def _scattered(ids: Any) -> Any:
    import numpy as np

    return ((ids.astype(np.uint64) * np.uint64(_SCATTER)) & np.uint64(2**63 - 1)).astype(np.int64)


def _text(name: str, code: int) -> str:
    return f"{name}-{code:07d}"


def _write_catalogues(kind: str) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    ids: list[Any] = list(range(ITEMS))
    if kind == "sparse":
        ids = _scattered(np.arange(ITEMS)).tolist()
    if kind == "text":
        ids = [_text("item", code) for code in range(ITEMS)]
    catalogue_path(kind).write_text("".join(f"{item}\n" for item in ids))
    keys_path().mkdir(exist_ok=True)
    items = np.arange(ITEMS, dtype=np.int32)
    pq.write_table(pa.table({"item": items}), keys_path() / ITEM_KEYS)
    weekdays = np.tile(np.arange(WEEKDAYS, dtype=np.int32), ITEMS)
    pq.write_table(pa.table({"item": np.repeat(items, WEEKDAYS), "weekday": weekdays}), keys_path() / EDGE_KEYS)


def _write_truth(log: Path, size: str) -> None:
    import numpy as np
    import pyarrow.parquet as pq

    records = np.zeros(users_of(size), dtype=np.int64)
    for batch in pq.ParquetFile(log).iter_batches(columns=["user"]):
        records += np.bincount(batch.column("user").to_numpy(), minlength=records.size)
    kept = np.minimum(1.0, LIMIT / records)
    counts = {(kind, table): np.zeros(cells) for kind in TRUTHS for table, cells in TABLES.items()}
    for batch in pq.ParquetFile(log).iter_batches(columns=["user", "item", "weekday"]):
        user, item, weekday = (column.to_numpy().astype(np.int64) for column in batch.columns)
        for table, cell in zip(TABLES, (item, item * WEEKDAYS + weekday), strict=True):
            counts["exact", table] += np.bincount(cell, minlength=TABLES[table])
            counts["bounded", table] += np.bincount(cell, kept[user], minlength=TABLES[table])
    for (kind, table), true_counts in counts.items():
        truth_path(size, kind, table).write_bytes(true_counts.tobytes())
    expected_total_path(size).write_text(str(int(np.minimum(records, LIMIT).sum())))


if __name__ == "__main__":
    _make(sys.argv[1], sys.argv[2])
