"""Records that are weighed and shared where they lie, without grouping: the reference finds the same."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.bounds import ActivityHistogram, ClassProfile, CountTable, ItemSubset, WeightToThreshold
from headcount.bounds.counts.class_profile import NO_SIZE_CAP
from headcount.bounds.counts.top_item_counts import TopItemCounts
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from tests.reference.engine import ReferenceEngine

ITEMS, CONTEXTS, LIMIT = 40, 3, 5
USERS = 3_000  # of a known range: pieces of several blocks, of more than one person each
SECRET = bytes(range(16))


@pytest.fixture(scope="module", params=[1_000, 70_000], ids=["few cells", "many cells"])
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> EventLog:
    """People with 1 to 12 records, many with just as many as the limit, in a file that tells the range of ids."""
    rng = np.random.default_rng(5)
    sizes = np.where(rng.random(USERS) < 0.3, LIMIT, rng.integers(1, 13, USERS))
    users = rng.permutation(np.repeat(np.arange(USERS), sizes))
    rows = {
        "user": pa.array(users, pa.int32()),
        "item": pa.array(rng.integers(0, ITEMS, users.size), pa.int32()),
        "context": pa.array(rng.integers(0, CONTEXTS, users.size), pa.int32()),
    }
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    pq.write_table(pa.table(rows), path, row_group_size=1000)
    listed = range(request.param)  # most of them nobody's: cells of more bits
    return hc.read_events(
        str(path), user="user", item="item", items=list(listed), context="context", contexts=list(range(CONTEXTS))
    )


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_weights_are_those_of_the_reference(log: EventLog, threads: int, apart: bool) -> None:
    bound = WeightToThreshold(LIMIT, apart=apart)
    measured, expected = (
        engine.measure(log, bound, SECRET) for engine in (LocalEngine(threads), ReferenceEngine())
    )
    assert np.array_equal(measured.items.sensitive_values, expected.items.sensitive_values)
    assert np.array_equal(measured.edges.sensitive_values, expected.edges.sensitive_values)
    assert measured.edges.sensitive_values.any()


@pytest.mark.parametrize("table", ["items", "edges"])
@pytest.mark.parametrize("above", [0, LIMIT])
def test_shares_are_those_of_the_reference(log: EventLog, table: CountTable, above: int) -> None:
    columns = len(log.catalogue.ids) * (1 if table == "items" else log.width)
    bound = ClassProfile(table, np.arange(columns, dtype=np.int64) % 7, above)
    measured, expected = (
        engine.measure(log, bound, SECRET).sensitive_values for engine in (LocalEngine(2), ReferenceEngine())
    )
    assert np.array_equal(measured, expected)
    assert measured.any()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("above", "most"), [(0, NO_SIZE_CAP), (LIMIT, NO_SIZE_CAP), (0, LIMIT + 2)])
def test_a_refinement_equals_the_reference(log: EventLog, threads: int, above: int, most: int) -> None:
    """The items looked at are counted in their classes as well, of whoever has enough records in all."""
    classes = np.arange(len(log.catalogue.ids), dtype=np.int64) % 7
    bound = TopItemCounts(
        ClassProfile("items", classes, above, most=most), ItemSubset(np.arange(3, 30, 4)), (1, 2, 3, 8), (1, 2, 4)
    )
    measured, expected = (
        engine.measure(log, bound, SECRET) for engine in (LocalEngine(threads), ReferenceEngine())
    )
    assert measured.people.sensitive_values.all()
    for part, other in zip(
        (measured.shares, measured.people, *measured.counts),
        (expected.shares, expected.people, *expected.counts),
        strict=True,
    ):
        assert np.array_equal(part.sensitive_values, other.sensitive_values)
        assert part.sensitivity == other.sensitivity


def test_activity_is_that_of_the_reference(log: EventLog) -> None:
    bound = ActivityHistogram("items", 1 << 20, ends=(1, 2, 4, 8))
    measured, expected = (
        engine.measure(log, bound, SECRET).sensitive_values for engine in (LocalEngine(2), ReferenceEngine())
    )
    assert np.array_equal(measured, expected)
