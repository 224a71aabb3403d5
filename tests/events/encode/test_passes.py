"""Encoding is exact: whatever the ids, the counts are those of a plain Python counter."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headcount.errors import DataError
from headcount.events.encode.id_table import Listed, NumberRange, NumberTable, TextTable, ids_for
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog, read_events
from headcount.events.roles import Roles
from headcount.events.sources.source import Source, TableSource, open_source

exactly = settings(
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.sampled_from(["", "\0", "\0\0", "a", "a\0", "é", "e\u0301", "x" * 300, "x" * 299 + "y", "7", "007"]),
)
EDGES = [0, 1, -1, 2**31 - 1, -(2**31), 2**32, 2**53 + 1, 2**63 - 1, -(2**63)]
WHOLE = st.one_of(st.integers(-(2**63), 2**63 - 1), st.sampled_from(EDGES), st.integers(-3, 3))
LAYOUTS = ["string", "large_string", "string_view", "codes", "int64"]


def tallied(log: EventLog) -> tuple[Counter[tuple[Any, int]], EncodedLog]:
    """Count (raw user, cell) pairs of two passes, which must agree."""
    encoded = EncodedLog(log)
    passes = []
    for _ in range(2):
        pairs: Counter[tuple[int, int]] = Counter()
        for batch in encoded.batches():
            pairs.update(zip(batch.users.tolist(), batch.cells.tolist(), strict=True))
        passes.append(pairs)
    assert passes[0] == passes[1]
    raw = encoded.users.raw
    if isinstance(raw, tuple):
        data, ends = raw
        starts = [0, *ends[:-1].tolist()]
        names: list[Any] = [bytes(data[a:b]).decode() for a, b in zip(starts, ends.tolist(), strict=False)]
    else:
        names = raw.tolist()
    assert len(set(names)) == len(names) == encoded.users.size
    return Counter({(names[user], cell): count for (user, cell), count in passes[0].items()}), encoded


def expected(rows: list[tuple[Any, Any]], catalogue: list[Any]) -> Counter[tuple[Any, int]]:
    place = {item: at for at, item in enumerate(catalogue)}
    return Counter((user, place.get(item, -1)) for user, item in rows)


def laid_out(values: list[Any], layout: str) -> pa.Array:
    if layout == "int64":
        return pa.array(values, pa.int64())
    if layout == "codes":
        return pa.array(values, pa.string()).dictionary_encode()
    return pa.array(values, pa.string()).cast(getattr(pa, layout)())


@exactly
@given(data=st.data(), layout=st.sampled_from(LAYOUTS), chunk=st.integers(1, 7))
def test_in_memory(data: st.DataObject, layout: str, chunk: int) -> None:
    ids: st.SearchStrategy[Any] = WHOLE if layout == "int64" else TEXT
    rows = data.draw(st.lists(st.tuples(ids, ids), max_size=40))
    listed = data.draw(st.lists(ids.filter(lambda text: text != ""), min_size=1, max_size=8, unique=True))
    users, items = ([row[at] for row in rows] for at in (0, 1))
    table = pa.table({"user": laid_out(users, layout), "item": laid_out(items, layout)})
    pieces = pa.Table.from_batches(table.to_batches(max_chunksize=chunk), table.schema)
    counted, encoded = tallied(read_events(pieces, user="user", item="item", items=listed))
    assert counted == expected(rows, listed)
    assert encoded.tally.rows == len(rows)
    assert encoded.tally.outside_catalogue == sum(item not in listed for _, item in rows)


@exactly
@given(data=st.data(), whole=st.booleans(), codes=st.booleans(), group=st.integers(1, 20))
def test_in_parquet(data: st.DataObject, whole: bool, codes: bool, group: int, tmp_path: Path) -> None:
    ids: st.SearchStrategy[Any] = WHOLE if whole else TEXT
    rows = data.draw(st.lists(st.tuples(ids, ids), max_size=40))
    listed = data.draw(st.lists(ids.filter(lambda text: text != ""), min_size=1, max_size=8, unique=True))
    layout = "int64" if whole else "string"
    users, items = (laid_out([row[at] for row in rows], layout) for at in (0, 1))
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"user": users, "item": items}), path, row_group_size=group, use_dictionary=codes)
    assert tallied(read_events(path, user="user", item="item", items=listed))[0] == expected(rows, listed)


@exactly
@given(st.lists(WHOLE, max_size=60), st.integers(0, 3))
def test_whole_numbers_in_a_tiny_table(values: list[int], tiny: int) -> None:
    table = NumberTable(slots=1 << tiny)
    for part in (values[:20], values[20:], values):
        codes = table.codes(pa.array(part, pa.int64())).tolist()
        assert [table.raw.tolist()[code] for code in codes] == part
    assert table.size == len(set(values))
    assert table.codes(pa.array([5, -(2**63)]), may_add=False).tolist() == [
        table.raw.tolist().index(value) if value in values else -1 for value in (5, -(2**63))
    ]


@exactly
@given(st.lists(TEXT, max_size=60), st.integers(0, 3), st.integers(0, 9))
def test_texts_in_a_tiny_table(values: list[str], tiny: int, room: int) -> None:
    table = TextTable(slots=1 << tiny, room=room)
    first = table.codes(pa.array(values[:20], pa.string())).tolist()
    again = table.codes(pa.array(values, pa.large_string()).dictionary_encode()).tolist()
    distinct = list(dict.fromkeys(values))
    assert [distinct[code] for code in again] == values
    assert first == again[:20]
    assert table.size == len(distinct)
    data, ends = table.raw
    assert bytes(data[: ends[-1] if ends.size else 0]) == "".join(distinct).encode()
    assert table.codes(pa.array(["never seen before"]), may_add=False).tolist() == [-1]


def test_texts_with_equal_hashes_stay_distinct(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the kernel as plain Python with a hash that says the same of every text."""
    from headcount.events.encode import kernels

    monkeypatch.setattr(kernels, "hash_bytes", lambda *_: np.uint64(0xABCDEF0000000003))
    for name in ("_first_slots", "intern_text"):
        monkeypatch.setattr(kernels, name, cast("Any", getattr(kernels, name)).py_func)
    table = TextTable(slots=4, room=4)
    values = ["tea", "rye", "te", "tea", "", "teb", "rye", "tea\0"]
    values += [letters for size in (8, 9, 16, 19) for letters in _nearly("x" * size)]
    codes = table.codes(pa.array(values)).tolist()
    distinct = list(dict.fromkeys(values))
    assert codes == [distinct.index(value) for value in values]
    assert table.codes(pa.array(["ate", "teb"]), may_add=False).tolist() == [-1, 4]


def _nearly(text: str) -> list[str]:
    """Return a text and all that differ from it in one byte."""
    return [text, *(text[:at] + "y" + text[at + 1 :] for at in range(len(text)))]


def test_many_distinct_ids_grow_the_tables() -> None:
    numbers = np.random.default_rng(1).permutation(200_000).astype(np.int64) * 0x1_0000_0001 - 2**40
    table = NumberTable()
    codes = table.codes(pa.array(np.repeat(numbers, 2)))
    assert (table.raw[codes] == np.repeat(numbers, 2)).all()
    texts = pa.array([f"user {number}" for number in numbers])
    named = TextTable()
    assert (named.codes(texts) == np.arange(200_000)).all()
    assert (named.codes(texts.take(pa.array(np.arange(199_999, -1, -1)))) == np.arange(199_999, -1, -1)).all()


def test_a_range_refuses_what_lies_outside_it() -> None:
    assert NumberRange(2**63 - 3, 2**63 - 1).raw.tolist() == [2**63 - 3, 2**63 - 2, 2**63 - 1]
    for values in (pa.array([9, 10]), pa.array([20], pa.int8()), pa.array([-(2**31)], pa.int32())):
        with pytest.raises(DataError, match=r"column 'who' goes from .* but the file itself says from 10 to 19"):
            NumberRange(10, 19, "who").codes(values)
    with pytest.raises(DataError):
        NumberRange(0, 3).codes(pa.array([-1], pa.int32()))


def test_which_table_fits() -> None:
    assert isinstance(ids_for(pa.string(), None, 10), TextTable)
    assert isinstance(ids_for(pa.int64(), (0, 1000), 10), NumberRange)
    assert isinstance(ids_for(pa.int64(), (0, 2**40), 10), NumberTable)
    assert isinstance(ids_for(pa.int64(), None, 10), NumberTable)
    assert isinstance(ids_for(pa.uint64(), (2**63, 2**63 + 5), 10), NumberTable)


@pytest.mark.parametrize("listed", [[5, 3, 900], [5, 2**40], [-(2**63), 2**63 - 1], [-7]])
def test_catalogues_of_whole_numbers(listed: list[int]) -> None:
    item_codes = Listed(pa.array(listed, pa.int64())).codes
    raw_ids = [*listed, 4, -1, 0, 2**63 - 2, -(2**63) + 1]
    wanted = [listed.index(raw_id) if raw_id in listed else -1 for raw_id in raw_ids]
    assert item_codes(pa.array(raw_ids, pa.int64())).tolist() == wanted


class Lying(TableSource):
    """A file whose statistics are wrong."""

    def whole_range(self, column: str) -> tuple[int, int] | None:
        return 0, 1


def test_wrong_file_statistics_are_detected() -> None:
    source: Source = Lying(pa.table({"user": pa.array([0, 7], pa.int32()), "item": ["tea", "tea"]}))
    log = EventLog(
        source=source,
        roles=Roles("user", "item"),
        catalogue=read_events(
            pa.table({"user": ["a"], "item": ["tea"]}), user="user", item="item", items="tea"
        ).catalogue,
    )
    with pytest.raises(DataError, match="column 'user' goes from 0 to 7, but the file itself says from 0 to 1"):
        list(EncodedLog(log).batches())


def test_a_text_that_is_not_utf8_is_missing(tmp_path: Path) -> None:
    bad = pa.array([b"\xe9\xe9", b"ok"], pa.binary())
    column = pa.Array.from_buffers(pa.string(), 2, bad.buffers())
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"user": column, "item": ["tea", "rye"], "time": column}), path)
    for dictionary in (True, False):
        pq.write_table(pa.table({"user": column, "item": ["tea", "rye"]}), path, use_dictionary=dictionary)
        coded = EncodedLog(read_events(path, user="user", item="item", items="tea"))
        assert sum(batch.users.size for batch in coded.batches()) == 1
        assert coded.tally.nulls == {"user": 1, "item": 0}
    table = pa.table({"user": ["a", "b"], "item": ["tea", "tea"], "time": column})
    coded = EncodedLog(read_events(table, user="user", item="item", items="tea", context="weekday:time"))
    assert [batch.cells.tolist() for batch in coded.batches()] == [[7, 7]]


@pytest.mark.parametrize("codes", [pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.int64()], ids=str)
@pytest.mark.parametrize("large", [False, True])
def test_a_text_that_is_not_utf8_is_missing_in_declared_codes(
    codes: pa.DataType, large: bool, tmp_path: Path, items: Any
) -> None:
    data = pa.array([b"tea", b"\xff"], pa.large_binary() if large else pa.binary())
    texts = data.view(pa.large_string() if large else pa.string())
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0], codes), texts)
    for name, other, expected in (("user", "item", {"tea": 1, "rye": 1}), ("item", "user", {"tea": 2})):
        rows = pa.table({name: column, other: ["tea", "tea", "tea", "rye"]})
        pq.write_table(rows, tmp_path / "log.parquet", row_group_size=3)
        assert items(str(tmp_path / "log.parquet")) == expected


def test_problems_of_a_pass_are_counted() -> None:
    items, days = ["tea", "tea", "oat", "tea"], ["x", "x", "x", "?"]
    table = pa.table({"user": ["a", None, "b", "c"], "item": items, "day": days})
    encoded = EncodedLog(
        read_events(table, user="user", item="item", items="tea", context="day", contexts="x", drop_nulls=True)
    )
    for _ in range(2):
        list(encoded.batches())
        tally = encoded.tally
        assert (tally.rows, tally.outside_catalogue, tally.unknown_context) == (4, 1, 1)
        assert tally.nulls == {"user": 1, "item": 0}


def test_a_source_can_be_passed_on() -> None:
    source = open_source(pa.table({"user": ["a"], "item": ["tea"]}))
    assert open_source(source) is source


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize("missing", [False, True], ids=["together", "one after the other"])
def test_items_and_contexts_become_cells_in_one_way_or_two(kind: pa.DataType, missing: bool) -> None:
    """With a missing context they are looked up one after the other; every row says the same either way."""
    raw = pa.array([7, 8, 9, 7, 120, 9])
    items = raw.cast(pa.string()).dictionary_encode() if pa.types.is_dictionary(kind) else raw.cast(kind)
    days = pa.array([0, 1, 5, None if missing else -3, 0, 1], pa.int8())
    table = pa.table({"user": [1, 2, 3, 4, 5, 6], "item": items, "day": days})
    log = read_events(table, user="user", item="item", items=["9", "7"], context="day", contexts=["0", "1"])
    encoded = EncodedLog(log)
    assert [batch.cells.tolist() for batch in encoded.batches()] == [[3, -1, 2, 5, -1, 1]]
    assert (encoded.tally.outside_catalogue, encoded.tally.unknown_context) == (2, 2)
