"""How many bytes a record takes while ratings and tags are read, sorted and added up."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import headcount as hc
from headcount.bounds.ratings.rating_bound import read_ratings
from headcount.bounds.tags.tag_weights import Taggers, TagMarginals, TagPairs, tagging_of
from headcount.engines.local.engine import LocalEngine

RECORDS, BATCH, ITEMS, TAGS, PEOPLE = 600_000, 20_000, 500, 50, 3000
MOST = 24


def rows() -> pa.Table:
    random = np.random.default_rng(5)
    sizes = {"user": PEOPLE, "item": ITEMS, "tag": TAGS, "stars": 6}
    columns = {name: random.integers(0, size, RECORDS).astype(np.int32) for name, size in sizes.items()}
    whole = pa.table(columns)
    return pa.concat_tables(whole.slice(start, BATCH) for start in range(0, RECORDS, BATCH))


def rate(table: pa.Table) -> None:
    log = hc.read_events(
        table, user="user", item="item", items=list(range(ITEMS)), value="stars", value_range=(0, 5)
    )
    assert read_ratings(LocalEngine(), log).items.size > RECORDS / 4


def tag(table: pa.Table) -> None:
    vocabulary = [str(tag_number) for tag_number in range(TAGS)]
    log = hc.read_tags(
        table, user="user", resource="item", tag="tag", resources=list(range(ITEMS)), vocabulary=vocabulary
    )
    held = tagging_of(LocalEngine(), log)
    for bound in (Taggers(), TagMarginals("l2"), TagPairs(np.arange(20), np.arange(10), "l2")):
        assert bound.sums_of(held).any()


@pytest.mark.parametrize("read", [rate, tag])
def test_a_record_takes_few_bytes(read: Callable[[pa.Table], None]) -> None:
    """Of Python's and NumPy's memory; batches come and go, and are small here."""
    table = rows()
    read(table.slice(0, RECORDS - 1))  # compiled, imported
    tracemalloc.start()
    try:
        read(table)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= MOST * RECORDS
