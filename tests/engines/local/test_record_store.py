"""Records in memory: how many bytes each takes, and that what is made wider says the same as before."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import headcount as hc
from headcount.bounds import SampleRecords
from headcount.engines.engine import silent
from headcount.engines.local.engine import LocalEngine
from headcount.engines.local.record_store import RecordStore
from headcount.events.log import EventLog

ITEMS = 160_000
MANY = 1 << 15  # so many people that a record of them, and of one of the cells, has more than 24 bits


def log_of(users: list[list[int]], *, as_text: bool) -> EventLog:
    """A log whose batches are about these people, everybody with one record about the item of their number."""
    kind = pa.string() if as_text else pa.int64()
    chunks = [pa.array(1_000_003 * np.array(values)).cast(kind) for values in users]
    items = [pa.array(np.array(values) % ITEMS) for values in users]
    hours = [pa.array(np.array(values) % 24) for values in users]
    table = pa.table([pa.chunked_array(values) for values in (chunks, items, hours)], ["user", "item", "hour"])
    listed = [str(hour) for hour in range(24)]
    return hc.read_events(
        table, user="user", item="item", items=list(range(ITEMS)), context="hour", contexts=listed
    )


def filled(log: EventLog) -> RecordStore:
    held = RecordStore(log, 1 << 20)
    with ThreadPoolExecutor(1) as pool:
        held.fill(0, silent, pool)
    return held


@pytest.mark.parametrize("as_text", [True, False])
def test_few_users_take_three_bytes_a_record_for_any_ids(as_text: bool) -> None:
    held = filled(log_of([list(range(200))], as_text=as_text))
    assert held.low.itemsize + held.high.itemsize == 3


@pytest.mark.parametrize("memory", [1 << 30, 1 << 17])
def test_record_storage_widens_for_many_users(memory: int) -> None:
    """Also where it then takes several passes; the first batch is held narrow, and everybody counts once."""
    users = [list(range(150_000, 150_100)), list(range(MANY + 5000)), list(range(150_000, 150_100))]
    log = log_of(users, as_text=False)
    counted = LocalEngine(memory=memory).measure(log, SampleRecords(5), bytes(16))
    everybody = np.concatenate([np.array(values) for values in users])
    assert counted.items.sensitive_values.tolist() == np.bincount(everybody % ITEMS, minlength=ITEMS).tolist()
    edges = np.bincount(everybody % ITEMS * 25 + everybody % 24, minlength=25 * ITEMS)
    assert counted.edges.sensitive_values.ravel().tolist() == edges.tolist()


def test_many_users_take_four_bytes_a_record() -> None:
    held = filled(log_of([list(range(100)), list(range(100, MANY + 5000))], as_text=False))
    assert held.high.itemsize == 2
