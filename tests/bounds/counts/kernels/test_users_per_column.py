"""The hash tables behind sparse counts: they grow, they are put together, and collisions lose nobody."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from headcount.bounds import CountTable
from headcount.bounds.counts.kernels import users_per_column as people_kernels
from headcount.bounds.counts.users_per_column import UsersPerColumn, UserTable, merge_tables
from headcount.engines.local.engine import LocalEngine
from headcount.engines.local.pack import pack
from headcount.events.catalogue import Catalogue
from headcount.events.contexts import Context
from headcount.events.log import EventLog, read_events
from headcount.events.roles import Roles
from headcount.events.sources.source import TableSource
from tests.reference.engine import ReferenceEngine


def large(stride: int) -> EventLog:
    """Tens of thousands of cells with people, at multiples of some number, so that tables grow several times."""
    generator = np.random.default_rng(stride)
    size = 40_000
    table = {
        "user": pa.array(generator.integers(0, 3_000, size)),
        "item": pa.array((15_000 * generator.random(size) ** 2).astype(np.int64) * stride),
        "context": pa.array(np.array(["AM", "PM", "night"])[generator.integers(0, 3, size)]),
    }
    return EventLog(
        source=TableSource(pa.table(table)),
        roles=Roles("user", "item", None),
        catalogue=Catalogue.of(range(15_000 * stride)),
        context=Context(("context",), (("AM", "PM"),)),
    )


@pytest.mark.parametrize("table", ["items", "edges"])
@pytest.mark.parametrize("stride", [1, 64])
def test_tables_grow(table: CountTable, stride: int, tmp_path: Path) -> None:
    log = large(stride)
    expected = ReferenceEngine().measure(log, UsersPerColumn(table), bytes(16))
    assert expected.sensitive_columns.size > 8 * 2**10
    assert expected.sensitive_users.max() > 5
    stored = read_events(pack(log, tmp_path / "store"))
    engines = (LocalEngine(threads=1), LocalEngine(threads=3, memory=20_000))
    for source, engine in ((log, engines[0]), (log, engines[1]), (stored, engines[0]), (stored, engines[1])):
        counts = engine.measure(source, UsersPerColumn(table), bytes(16))
        assert counts.size == expected.size
        assert counts.sensitive_columns.tolist() == expected.sensitive_columns.tolist()
        assert counts.sensitive_users.tolist() == expected.sensitive_users.tolist()


def test_tables_are_put_together_in_the_order_of_columns() -> None:
    generator, everything = np.random.default_rng(1), Counter[int]()
    tables = [UserTable() for _ in range(4)]
    for table in tables[:3]:  # one stays empty
        columns = generator.choice(10**6, 500, replace=False)
        columns[:100] = np.arange(100)  # in all of them
        people = generator.integers(1, 9, 500)
        held, counts, _ = people_kernels.new_table(1 << 10)
        held[:500], counts[:500] = columns, people
        table.held = people_kernels.UserCountTable(held, counts, 500)
        everything += Counter(dict(zip(columns.tolist(), people.tolist(), strict=True)))
    merged_columns, counted = merge_tables(tables)
    assert dict(zip(merged_columns.tolist(), counted.tolist(), strict=True)) == everything
    assert merged_columns.tolist() == sorted(everything)
    assert merged_columns.dtype == counted.dtype == np.int32
    assert merge_tables(tables)[0].tolist() == []  # the tables were let go
