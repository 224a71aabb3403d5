"""The people behind each item: both engines agree, and what a person keeps hangs on that person alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headcount as hc
from headcount._internal.arrays import Draws
from headcount.bounds import draws
from headcount.bounds.keys.key_support import BoundedKeySupport, KeySupport
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from tests.reference.engine import ReferenceEngine

SECRET = bytes(range(16))
ENGINES: list[Engine] = [ReferenceEngine(), LocalEngine()]

Row = tuple[Any, Any, str | None, int]

rows_of_numbers = st.tuples(
    st.integers(-3, 9), st.integers(-(2**63), -(2**63) + 7), st.sampled_from(["AM", "PM", "night", None]),
    st.integers(0, 3),
)  # fmt: skip
rows_of_texts = st.tuples(
    st.sampled_from(["", "ann", "bob", "cy", "dän"]), st.sampled_from(["", "tea", "rye", "oat", "fíg", "tea "]),
    st.sampled_from(["AM", "PM", "night", None]), st.integers(0, 3),
)  # fmt: skip
rows = st.one_of(st.lists(rows_of_numbers, max_size=60), st.lists(rows_of_texts, max_size=60))


def log_of(rows: Sequence[Row], *, chunk: int | None = None, **more: Any) -> EventLog:
    texts = bool(rows) and isinstance(rows[0][0], str)
    kind = pa.string() if texts else pa.int64()
    table = pa.table(
        {
            "user": pa.array([row[0] for row in rows], kind),
            "item": pa.array([row[1] for row in rows], kind),
            "part": pa.array([row[2] for row in rows], pa.string()),
            "times": pa.array([row[3] for row in rows], pa.int64()),
        }
    )
    if chunk is not None:
        table = pa.Table.from_batches(table.to_batches(max_chunksize=chunk), table.schema)
    return hc.read_events(table, user="user", item="item", select_items=True, **more)


def counted(support: BoundedKeySupport) -> dict[Any, int]:
    counts = dict(zip(support.sensitive_ids.to_pylist(), support.sensitive_users.tolist(), strict=True))
    assert len(counts) == len(support.sensitive_ids)
    return counts


HOW: list[dict[str, Any]] = [
    {},
    {"times": "times"},
    {"where": "times > 1"},
    {"context": "part", "contexts": "AM,PM"},
    {"context": "part", "contexts": "AM,PM", "context_of": "user"},
    {"context": "part", "contexts": "AM,PM", "context_of": "user", "times": "times", "where": "part != night"},
]


@settings(deadline=None)
@given(rows, st.integers(1, 5), st.sampled_from(HOW), st.sampled_from([None, 1, 7]))
def test_the_engines_agree(rows: list[Row], limit: int, how: dict[str, Any], chunk: int | None) -> None:
    slow = counted(ReferenceEngine().measure(log_of(rows, **how), KeySupport(limit), SECRET))
    assert counted(LocalEngine().measure(log_of(rows, chunk=chunk, **how), KeySupport(limit), SECRET)) == slow
    assert counted(LocalEngine().measure(log_of(rows[::-1], **how), KeySupport(limit), SECRET)) == slow


@settings(deadline=None)
@given(rows, st.integers(1, 4), st.sampled_from(HOW))
def test_a_joining_user_changes_no_other_selection(rows: list[Row], limit: int, how: dict[str, Any]) -> None:
    """Removing any one user takes 1 from at most ``limit`` items, and changes nothing else."""
    for engine in ENGINES:
        everyone = Counter(counted(engine.measure(log_of(rows, **how), KeySupport(limit), SECRET)))
        for user in {row[0] for row in rows}:
            others = [row for row in rows if row[0] != user]
            without = Counter(counted(engine.measure(log_of(others, **how), KeySupport(limit), SECRET)))
            alone = [row for row in rows if row[0] == user]
            own = Counter(counted(engine.measure(log_of(alone, **how), KeySupport(limit), SECRET)))
            assert everyone == without + own
            assert sum(own.values()) <= limit
            assert set(own.values()) <= {1}


@pytest.mark.parametrize("engine", ENGINES)
def test_selection_by_position_is_rejected(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken twin: keys by the place of an item in the private list, which hangs on who came first."""
    from headcount.bounds.keys import key_support as fast

    def by_place(raw: Any, secret: bytes) -> Draws:
        size = raw[1].size if isinstance(raw, tuple) else raw.size
        return np.arange(1, size + 1, dtype=np.uint64) * np.uint64(draws.GOLDEN)

    monkeypatch.setattr(fast, "user_keys", by_place)
    places: dict[Any, int] = {}
    monkeypatch.setattr(draws, "user_key", lambda _, raw: places.setdefault(raw, len(places) + 1))
    rows: list[Row] = [(user, item, None, 1) for user in range(12) for item in range(user % 5, 9)]
    everyone = Counter(counted(engine.measure(log_of(rows), KeySupport(2), SECRET)))
    differs = False
    for user in range(12):
        places.clear()
        without = Counter(
            counted(engine.measure(log_of([row for row in rows if row[0] != user]), KeySupport(2), SECRET))
        )
        places.clear()
        moved = sum(abs(everyone[item] - without[item]) for item in {*everyone, *without})
        differs |= moved > 2
    assert differs


@pytest.mark.parametrize("engine", ENGINES)
def test_a_user_counts_once_per_item(engine: Engine) -> None:
    rows = [("ann", "tea", None, 1)] * 50 + [("ann", "rye", None, 1), ("bob", "tea", None, 1)]
    assert counted(engine.measure(log_of(rows), KeySupport(2), SECRET)) == {"tea": 2, "rye": 1}
    assert sum(counted(engine.measure(log_of(rows), KeySupport(1), SECRET)).values()) == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_every_item_of_a_user_is_equally_likely_to_be_kept(engine: Engine) -> None:
    """3 of 8 items by each of 4,000 people: 1,500 each, deviation 30.6; six of these are a false alarm in 10⁸."""
    users = 400 if isinstance(engine, ReferenceEngine) else 4_000
    rows: list[Row] = [
        (user, item, None, 1) for user in range(users) for item in range(8) for _ in range(1 + item % 2)
    ]
    counts = counted(engine.measure(log_of(rows), KeySupport(3), SECRET))
    assert sum(counts.values()) == 3 * users
    assert all(abs(people - users * 3 / 8) < 6 * (users * 15 / 64) ** 0.5 for people in counts.values())


def test_another_secret_is_another_choice() -> None:
    rows: list[Row] = [(user, item, None, 1) for user in range(40) for item in range(9)]
    first, other = (
        counted(LocalEngine().measure(log_of(rows), KeySupport(3), secret)) for secret in (SECRET, bytes(16))
    )
    assert first != other


@pytest.mark.parametrize("engine", ENGINES)
def test_one_context_per_user(engine: Engine) -> None:
    rows: list[Row] = [
        ("ann", "tea", "AM", 1), ("ann", "tea", "AM", 1), ("ann", "rye", "PM", 1), ("ann", "fig", None, 1),
        ("bob", "oat", "night", 1),
        ("cy", "rye", "AM", 1), ("cy", "tea", "PM", 5),
    ]  # fmt: skip
    log = log_of(rows, context="part", contexts="AM,PM", context_of="user", times="times")
    assert counted(engine.measure(log, KeySupport(9), SECRET)) == {"tea": 2, "oat": 1}
    alike = replace(log, context_of="record")
    assert counted(engine.measure(alike, KeySupport(9), SECRET)) == {"tea": 2, "rye": 2, "fig": 1, "oat": 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_without_user_or_item(engine: Engine) -> None:
    rows: list[Row] = [("ann", "tea", None, 1), ("bob", None, None, 1), (None, "rye", None, 1)]
    assert counted(engine.measure(log_of(rows), KeySupport(2), SECRET)) == {"tea": 1}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [pa.uint64(), pa.int8(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())])
def test_ids_of_any_type(engine: Engine, kind: pa.DataType) -> None:
    numbers = pa.types.is_integer(kind)
    items: list[Any] = [3, 100, 3] if numbers else ["b", "a", "b"]
    if pa.types.is_uint64(kind):
        items = [2**64 - 1, 3, 2**64 - 1]
    table = pa.table(
        {
            "user": ["ann", "ann", "bob"],
            "item": pa.array(items).cast(kind) if kind != pa.uint64() else pa.array(items, kind),
        }
    )
    log = hc.read_events(table, user="user", item="item", select_items=True)
    assert counted(engine.measure(log, KeySupport(2), SECRET)) == {items[0]: 2, items[1]: 1}


def test_a_log_without_rows_or_columns() -> None:
    assert counted(LocalEngine().measure(log_of([]), KeySupport(2), SECRET)) == {}
    nothing = pa.table({"user": pa.nulls(0), "item": pa.nulls(0)})
    assert (
        counted(
            LocalEngine().measure(
                hc.read_events(nothing, user="user", item="item", select_items=True), KeySupport(2), SECRET
            )
        )
        == {}
    )


def test_engines_agree_on_many_users_and_items() -> None:
    """Tables of ids, and room for histories, grow over many batches."""
    generator = np.random.default_rng(3)
    table = pa.table(
        {
            "user": pa.array([f"u{n}" for n in generator.integers(0, 9_000, 40_000)]),
            "item": pa.array([f"i{n}" for n in generator.integers(0, 7_000, 40_000)]),
        }
    )
    pieces = pa.Table.from_batches(table.to_batches(max_chunksize=999))
    reference_counts, other = (
        counted(
            engine.measure(
                hc.read_events(source, user="user", item="item", select_items=True), KeySupport(2), SECRET
            )
        )
        for engine, source in ((ReferenceEngine(), table), (LocalEngine(), pieces))
    )
    assert reference_counts == other
    assert sum(reference_counts.values()) > 9_000


def test_a_limit_must_be_a_number() -> None:
    for engine in ENGINES:
        with pytest.raises(UsageError, match="select_limit"):
            engine.measure(log_of([]), KeySupport(0), SECRET)
