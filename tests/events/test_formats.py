"""What the formats promise: types of ids, text options, empty logs, and clear words about bad files."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headcount.errors import DataError, UnknownNameError, UsageError
from headcount.events.encoding import EncodedLog
from headcount.events.log import read_events

Count = Callable[..., dict[str, int]]

WHOLE = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
TEXTS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]


def store(path: Path, how: str, table: pa.Table) -> Any:
    if how == "table":
        return table
    if how == "arrow":
        with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
    else:
        pq.write_table(table, path, row_group_size=2, use_dictionary=how == "parquet")
    return path


@pytest.mark.parametrize("how", ["table", "arrow", "parquet", "plain parquet"])
@pytest.mark.parametrize("kind", WHOLE, ids=str)
def test_whole_numbers_of_every_width(kind: pa.DataType, how: str, tmp_path: Path, items: Count) -> None:
    signed = pa.types.is_signed_integer(kind)
    high = 2 ** (kind.bit_width - signed) - 1
    low = -high - 1 if signed else 0
    values = [low, high, 5, low, high, high]
    users = [low, low + 1, low + 2, low, low + 1, low + 1]
    table = pa.table({"user": pa.array(users, kind), "item": pa.array(values, kind)})
    path = store(tmp_path / ("log.arrow" if how == "arrow" else "log.parquet"), how, table)
    expected = {str(low): 2, str(high): 3}
    assert items(path, [low, high]) == expected
    assert items(path, [str(low), str(high)]) == expected
    assert items(path, [low, high], count="users") == {str(low): 1, str(high): 1}
    coded = list(EncodedLog(read_events(path, user="item", item="item", items=[low])).batches())
    assert len({code for batch in coded for code in batch.users.tolist()}) == 3
    for beyond in (low - 1, high + 1):
        with pytest.raises(DataError, match=f"lists {beyond}, but column 'item' holds .*{low} to {high}"):
            items(path, [beyond])


@pytest.mark.parametrize("how", ["table", "arrow", "parquet", "plain parquet"])
@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_text_in_every_layout(kind: pa.DataType, how: str, tmp_path: Path, items: Count, edges: Any) -> None:
    values = pa.array(["tea", "", "007", "7", "tea", "Grüße 🌍"], pa.string()).cast(kind)
    table = pa.table({"user": values, "item": values, "where": values})
    path = store(tmp_path / ("log.arrow" if how == "arrow" else "log.parquet"), how, table)
    assert items(path, ["tea", "007", "Grüße 🌍"]) == {"tea": 2, "007": 1, "Grüße 🌍": 1}
    assert items(path, [7]) == {"7": 1}
    assert items(path, ["tea"], where="where = tea") == {"tea": 2}
    assert edges(path, ["tea"], context="where", contexts=["tea"]) == {("tea", "tea"): 2}
    assert edges(path, ["7"], context="where", contexts=["tea"]) == {("7", None): 1}


def test_categories_of_whole_numbers(items: Count, edges: Any) -> None:
    column = pa.array([3, 4, 3, 3]).dictionary_encode()
    table = pa.table({"user": column, "item": column, "day": column})
    assert items(table, [3, 4]) == {"3": 3, "4": 1}
    assert edges(table, [3, 4], context="day", contexts="3") == {("3", "3"): 3, ("4", None): 1}


@pytest.mark.parametrize("kind", [pa.float64(), pa.bool_(), pa.binary(), pa.date32()], ids=str)
def test_other_types_are_no_ids(kind: pa.DataType) -> None:
    table = pa.table({"user": pa.array([], kind), "item": pa.array([], pa.string())})
    with pytest.raises(DataError, match=r"column 'user' is to name the user but holds .*; ids are text or whole"):
        read_events(table, user="user", item="item", items="tea")


NULLS = pa.table({"user": ["ann", None, "bob", None], "item": ["tea", "tea", None, "rye"]})


@pytest.mark.parametrize("how", ["table", "arrow", "parquet", "plain parquet"])
def test_nulls_are_counted_over_the_whole_pass_and_refused(how: str, tmp_path: Path, items: Count) -> None:
    path = store(tmp_path / ("log.arrow" if how == "arrow" else "log.parquet"), how, NULLS)
    with pytest.raises(DataError) as caught:
        items(path)
    assert "column 'user' is empty in 2 rows and column 'item' is empty in 1 row; " in str(caught.value)
    assert "--drop-nulls" in str(caught.value)
    assert items(path, drop_nulls=True) == {"tea": 1}
    assert items(path, where="item = rye", drop_nulls=True) == {}


def test_nulls_are_summed_over_batches(items: Count) -> None:
    batches = NULLS.to_batches(max_chunksize=1)
    with pytest.raises(DataError, match="column 'user' is empty in 2 rows and column 'item' is empty in 1 row"):
        items(pa.Table.from_batches(batches))


def test_nulls_inside_a_dictionary(items: Count) -> None:
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0]), pa.array(["tea", None]))
    table = pa.table({"user": ["a", "b", "c", "d"], "item": coded, "day": coded})
    with pytest.raises(DataError, match="column 'item' is empty in 2 rows"):
        items(table)
    assert items(table, drop_nulls=True) == {"tea": 2}


def test_columns_of_nulls_alone_and_names_with_dots(tmp_path: Path, items: Count) -> None:
    table = pa.table({"user": pa.nulls(2), "item": pa.nulls(2)})
    with pytest.raises(DataError, match="column 'user' is empty in 2 rows"):
        items(table)
    assert items(table, drop_nulls=True) == {}
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"user.id": ["ann"], "item.id": ["tea"]}), path)
    assert items(path, user="user.id", item="item.id") == {"tea": 1}


def test_a_column_that_is_there_twice_or_not_at_all(items: Count) -> None:
    table = pa.table([["ann"], ["bob"], ["tea"]], names=["user", "user", "item"])
    with pytest.raises(DataError, match="two columns named 'user'"):
        items(table)
    with pytest.raises(UnknownNameError, match=r"column 'itme' is not in the table; did you mean 'item'\?"):
        items(table.select([0, 2]), item="itme")


def csv(tmp_path: Path, content: str | bytes, name: str = "log.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_delimited_text(tmp_path: Path, items: Count) -> None:
    assert items(csv(tmp_path, "user;item\nann;tea\n"), delimiter=";") == {"tea": 1}
    assert items(csv(tmp_path, "user\titem\nann\ttea\n"), delimiter="\\t") == {"tea": 1}
    assert items(csv(tmp_path, "user,item\r\nann,tea\r\n")) == {"tea": 1}
    assert items(csv(tmp_path, "user,item\nann,tea")) == {"tea": 1}
    assert items(csv(tmp_path, "\n\nuser,item\n\nann,tea\n\n")) == {"tea": 1}
    assert items(csv(tmp_path, b"\xef\xbb\xbfuser,item\nann,tea\n")) == {"tea": 1}
    assert items(csv(tmp_path, '"user","item"\n"a ""b"", c","tea"\n')) == {"tea": 1}
    assert items(csv(tmp_path, "ann,x,tea\n"), user="1", item="3", header=False) == {"tea": 1}
    assert items(csv(tmp_path, b"\xef\xbb\xbftea,x,tea\n"), user="1", item="1", header=False) == {"tea": 1}


def test_text_in_other_encodings(tmp_path: Path, items: Count) -> None:
    for encoding in ("latin-1", "utf-16", "cp1252", "utf-8-sig"):
        path = csv(tmp_path, "user,item\nann,Käse\n".encode(encoding))
        assert items(path, ["Käse"], encoding=encoding) == {"Käse": 1}
    path = csv(tmp_path, "user,item\nann,Käse\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"log\.csv cannot be read .*name the right one with --encoding"):
        items(path)
    with pytest.raises(DataError, match="byte 0xe4 is not ascii text"):
        items(path, encoding="ascii")


def test_ids_in_text_are_never_guessed(tmp_path: Path, items: Count) -> None:
    path = csv(tmp_path, "user,item\n007,1.50\n7,2026-03-06\n7,true\n 7,NaN\n7,null\n")
    wanted = ["1.50", "2026-03-06", "true", "NaN", "null", "1.5"]
    assert items(path, wanted) == {"1.50": 1, "2026-03-06": 1, "true": 1, "NaN": 1, "null": 1}
    assert EncodedLog(read_events(path, user="user", item="item", items="x")).users.size == 0
    assert items(path, ["007", "7", " 7"], item="user") == {"007": 1, "7": 3, " 7": 1}


def test_newlines_in_quotes_and_long_files(tmp_path: Path, items: Count) -> None:
    filler = "x" * 200
    rows = "".join(f'"user\n{number}","tea\nearl\n",{filler}\n' for number in range(100_000))
    path = csv(tmp_path, "user,item,note\n" + rows)  # longer than a block
    assert items(path, ["tea\nearl\n"], count="users") == {"tea\nearl\n": 100_000}


def test_empty_cells_are_missing(tmp_path: Path, items: Count) -> None:
    path = csv(tmp_path, 'user,item\nann,\n"",tea\nbob,tea\n')
    with pytest.raises(DataError, match="column 'user' is empty in 1 row and column 'item' is empty in 1 row"):
        items(path)
    assert items(path, drop_nulls=True) == {"tea": 1}


@pytest.mark.parametrize("row", ["ann", "ann,tea,x", 'ann,"tea",'])
def test_ragged_lines_are_refused(row: str, tmp_path: Path, items: Count) -> None:
    with pytest.raises(DataError, match=r"log\.csv cannot be read \(CSV parse error.*check that the file is"):
        items(csv(tmp_path, f"user,item\nbob,rye\n{row}\n"))


def test_headers_that_cannot_be_used(tmp_path: Path, items: Count) -> None:
    with pytest.raises(DataError, match="has two columns named 'user'"):
        items(csv(tmp_path, "user,user,item\n"))
    with pytest.raises(DataError, match="has no name for column 2"):
        items(csv(tmp_path, "user,,item\n"))
    with pytest.raises(UnknownNameError, match=r"did you mean 'user'\? \(there are: 'user', 'item'\)"):
        items(csv(tmp_path, "user,item\n"), user="usr")


@pytest.mark.parametrize("delimiter", ["", "ab", "é", "\n", '"'])
def test_delimiters_that_cannot_be_used(delimiter: str, tmp_path: Path, items: Count) -> None:
    with pytest.raises(UsageError, match="--delimiter must be one ASCII character"):
        items(csv(tmp_path, "user,item\n"), delimiter=delimiter)


@pytest.mark.parametrize("encoding", ["utf-9", "", "base64", "\0"])
def test_encodings_that_do_not_exist(encoding: str, tmp_path: Path, items: Count) -> None:
    with pytest.raises(UsageError, match="unknown --encoding"):
        items(csv(tmp_path, "user,item\n"), encoding=encoding)


def jsonl(tmp_path: Path, *lines: str) -> Path:
    return csv(tmp_path, "".join(line + "\n" for line in lines), "log.jsonl")


def test_json_keeps_its_own_types(tmp_path: Path, items: Count) -> None:
    path = jsonl(tmp_path, '{"user": "2026-03-06", "item": 7}', "", '{"item": -7, "user": "x", "extra": [1]}')
    assert items(path, [7, -7]) == {"7": 1, "-7": 1}
    assert items(path, ["2026-03-06"], item="user") == {"2026-03-06": 1}
    with pytest.raises(DataError, match="the catalogue lists 'seven', but column 'item' holds whole numbers"):
        items(path, ["seven"])


def test_json_that_is_mixed_or_broken(tmp_path: Path, items: Count) -> None:
    with pytest.raises(DataError, match=r"log\.jsonl cannot be read .*/item\) changed from number to string"):
        items(jsonl(tmp_path, '{"user": 1, "item": 7}', '{"user": 1, "item": "7"}'))
    for line in ('{"user": 1, "item": ', "[1]", "7", "user,item"):
        path = tmp_path / "log.jsonl"
        path.write_text('{"user": "ann", "item": "tea"}\n' + line + "\n")
        with pytest.raises(DataError, match=r"log\.jsonl cannot be read \("):
            items(path)
    path.write_bytes(b'{"user": "\xe9", "item": "tea"}\n')
    with pytest.raises(DataError, match=r"column 'user' holds bytes that are not UTF-8|log\.jsonl cannot be read"):
        items(path)


def test_missing_values_in_json(tmp_path: Path, items: Count) -> None:
    path = jsonl(tmp_path, '{"user": null, "item": "tea"}', '{"item": "tea"}')
    with pytest.raises(DataError, match="column 'user' is empty in 2 rows"):
        items(path)
    assert items(path, drop_nulls=True) == {}


EMPTY: dict[str, bytes] = {
    "header.csv": b"user,item,time\n",
    "no newline.csv": b"user,item,time",
    "header.csv.gz": gzip.compress(b"user,item,time\n"),
    "empty.jsonl": b"",
    "blank.jsonl": b"\n\n",
    "empty.jsonl.gz": gzip.compress(b""),
}


@pytest.mark.parametrize("name", [*EMPTY, "table", "log.parquet", "log.arrow", "no row group.parquet"])
def test_an_empty_log_is_not_an_error(name: str, tmp_path: Path, items: Count, edges: Any) -> None:
    table = pa.table({name: pa.array([], pa.string()) for name in ("user", "item", "time")})
    path: Any = tmp_path / name
    if name in EMPTY:
        path.write_bytes(EMPTY[name])
    elif name == "no row group.parquet":
        pq.ParquetWriter(path, table.schema).close()
    else:
        path = store(path, "arrow" if name.endswith("arrow") else name.partition(".")[2] or "table", table)
    assert items(path) == {}
    assert edges(path, context="weekday:time", where="time != x", since="2026-01-01", time="time") == {}
    log = read_events(path, user="user", item="item", items="rye,tea", context="time", contexts="a,b")
    assert log.cells == 6
    assert list(EncodedLog(log).batches()) == []


def test_empty_files_without_columns(tmp_path: Path, items: Count) -> None:
    with pytest.raises(DataError, match=r"log\.csv is empty; it needs at least a header line"):
        items(csv(tmp_path, ""))
    assert items(csv(tmp_path, ""), user="1", item="2", header=False) == {}
    with pytest.raises(DataError, match=r"log\.parquet cannot be read \("):
        items(csv(tmp_path, "", "log.parquet"))
    with pytest.raises(DataError, match=r"log\.arrow cannot be read \("):
        items(csv(tmp_path, "", "log.arrow"))
    full = jsonl(tmp_path, '{"user": 1, "item": 7}')
    assert items([csv(tmp_path, "", "empty.jsonl"), full], [7]) == {"7": 1}
    assert items([full, csv(tmp_path, "", "empty.jsonl")], [7]) == {"7": 1}
