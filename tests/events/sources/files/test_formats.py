"""What the formats promise: types of ids, text options, empty logs, and clear words about bad files."""

from __future__ import annotations

import codecs
import gzip
import json
import random
import tempfile
from collections.abc import Callable
from encodings.aliases import aliases
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.errors import DataError, UnknownNameError, UsageError
from headcount.events.encode.passes import EncodedLog
from headcount.events.encode.text_columns import sound_batch
from headcount.events.log import read_events
from headcount.events.sources.files.formats import TextOptions
from headcount.events.sources.files.text_blocks import ANY_END, _decoded, unit_of
from headcount.events.sources.source import open_source

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


@pytest.mark.parametrize("kind", [pa.float16(), pa.bool_(), pa.binary(), pa.date32()], ids=str)
def test_other_types_are_no_ids(kind: pa.DataType) -> None:
    table = pa.table({"user": pa.array([], kind), "item": pa.array([], pa.string())})
    with pytest.raises(DataError, match=r"column 'user' is to name the user but holds .*; ids are text or whole"):
        read_events(table, user="user", item="item", items="tea")


NULLS = pa.table({"user": ["ann", None, "bob", None], "item": ["tea", "tea", None, "rye"]})


@pytest.mark.parametrize("how", ["table", "arrow", "parquet", "plain parquet"])
def test_rows_without_user_or_item_are_left_out(how: str, tmp_path: Path, items: Count) -> None:
    path = store(tmp_path / ("log.arrow" if how == "arrow" else "log.parquet"), how, NULLS)
    assert items(path) == items(path, drop_nulls=True) == items(path, drop_nulls=False) == {"tea": 1}
    assert items(path, where="item = rye") == {}


def test_nulls_are_summed_over_batches() -> None:
    events = pa.Table.from_batches(NULLS.to_batches(max_chunksize=1))
    coded = EncodedLog(read_events(events, user="user", item="item", items="tea"))
    assert sum(batch.users.size for batch in coded.batches()) == 1
    assert coded.tally.nulls == {"user": 2, "item": 1}


def test_nulls_inside_a_dictionary(items: Count) -> None:
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0]), pa.array(["tea", None]))
    table = pa.table({"user": ["a", "b", "c", "d"], "item": coded, "day": coded})
    assert items(table) == {"tea": 2}


def test_columns_of_nulls_alone_and_names_with_dots(tmp_path: Path, items: Count) -> None:
    table = pa.table({"user": pa.nulls(2), "item": pa.nulls(2)})
    assert items(table) == {}
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
    path = csv(tmp_path, "user,item\nann,Käse\nann,tea\n".encode("latin-1"))
    assert items(path) == items(path, encoding="ascii") == {"tea": 1}
    path = csv(tmp_path, "user,Käse\nann,tea\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"log\.csv cannot be read .*name the right one with --encoding"):
        items(path)


@pytest.mark.parametrize("encoding", ["shift_jis", "euc_jp", "gb18030", "iso2022_jp", "utf-7", "cp932", "big5"])
def test_every_line_is_decoded_by_itself(encoding: str, tmp_path: Path, items: Count) -> None:
    good = "bob,tea\n".encode(encoding)
    for odd in (b"\x1b$B", b"\x81", b"+", b"\x8f\xa1", b"~{", b"\xff\xfe"):
        path = csv(tmp_path, "user,item\n".encode(encoding) + b"ann," + odd + b"\n" + good * 3)
        assert items(path, encoding=encoding) == {"tea": 3}


EBCDIC = ("cp037", "cp273", "cp424", "cp500", "cp875", "cp1026", "cp1140")


@pytest.mark.parametrize("encoding", EBCDIC)
def test_no_control_byte_in_ebcdic_changes_how_other_lines_are_read(
    encoding: str, tmp_path: Path, items: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In EBCDIC the bytes 0x0A and 0x0D of ASCII are no line ends, or others; NEL and LF end lines."""
    head, good = "user,item\n".encode(encoding), "bob,tea\nliv,tea\n".encode(encoding)
    for size in (1, 3, 1 << 20):
        monkeypatch.setattr("headcount.events.sources.files.text_blocks.BLOCK_BYTES", size)
        for control in (*range(0x40), 0xFF):
            odd = "ann,".encode(encoding) + bytes([control]) + "\n".encode(encoding)
            path = csv(tmp_path, head + odd + good * 2)
            assert items(path, encoding=encoding) == {"tea": 4}, hex(control)
    for end in ("\x85", "\r", "\r\n"):
        path = csv(tmp_path, (head + good).decode(encoding).replace("\n", end).encode(encoding))
        assert items(path, encoding=encoding) == {"tea": 2}
        assert open_source(path, TextOptions(encoding=encoding)).names == ["user", "item"]
        assert items(path, user="1", item="2", encoding=encoding, header=False) == {"tea": 2}


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_lone_surrogate_is_a_missing_value_in_its_own_line(
    encoding: str, tmp_path: Path, items: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    for size in (1, 3, 1 << 20):
        monkeypatch.setattr("headcount.events.sources.files.text_blocks.BLOCK_BYTES", size)
        for odd in ("\ud800", "\udc00", "\udbff\ud800", "\U0010ffff", "\ufffe", "\u0a0d", "\u0d0a"):
            text = f"user,item\nann,{odd}\n{odd},tea\nbob,tea\n"
            path = csv(tmp_path, text.encode(encoding, "surrogatepass"))
            lost = "\ud800" <= odd[0] <= "\udfff"
            assert items(path, encoding=encoding) == {"tea": 1 if lost else 2}
            assert items(path, user="1", item="2", encoding=encoding, header=False) == {"tea": 1 if lost else 2}


def _text_encodings() -> list[str]:
    names = {codecs.lookup(alias).name for alias in set(aliases.values()) - {"mbcs", "oem"}}
    return sorted(name for name in names if codecs.lookup(name)._is_text_encoding)


def test_every_encoding_reads_lines_by_themselves_or_is_refused() -> None:
    """Any bytes between two lines leave both as they are: no codec stops, and none remembers."""
    refused = set()
    chance = random.Random(41)
    odd = [bytes(chance.choices(range(256), k=length)) for length in range(40)]
    odd += [b"\x1b$B", b"\x1b$)C\x0e", b"\x0e", b"~{", b"+", b"\\", b"\\N{", b"\x8f\xa1", b"\xff\xfe", b"\x81"]
    for name in _text_encodings():
        if unit_of(name) is None:
            refused.add(name)
            with pytest.raises(UsageError, match="cannot be read by themselves; convert the file to utf-8"):
                TextOptions(encoding=name)
            continue
        line = "bob,tea\n".encode(name)
        width = {"utf-16": 2, "utf-32": 4}.get(name[:6], 1)
        mark, line = (line[:width], line[width:]) if name in ("utf-16", "utf-32") else (b"", line)
        for encoding in odd:
            whole = encoding[: len(encoding) // width * width]
            content = mark + line + whole + line[-width:] + line
            read = b"".join(_decoded(iter([content]), name, ANY_END)).splitlines()
            assert (read[0], read[-1]) == (b"bob,tea", b"bob,tea"), (name, encoding)
    assert refused == {
        "charmap", "idna", "iso2022_kr", "punycode", "raw-unicode-escape", "undefined", "unicode-escape",
    } & set(_text_encodings())  # fmt: skip
    assert "iso2022_kr" in refused


@pytest.mark.parametrize("encoding", ["utf-16", "U16", "utf_32"])
def test_a_first_row_does_not_say_the_byte_order(encoding: str) -> None:
    with pytest.raises(UsageError, match=f"would take the byte order from a row; name it: {encoding}-le"):
        TextOptions(encoding=encoding, header=False)


def test_ids_in_text_are_never_guessed(tmp_path: Path, items: Count) -> None:
    path = csv(tmp_path, "user,item\n007,1.50\n7,2026-03-06\n7,true\n 7,NaN\n7,null\n")
    wanted = ["1.50", "2026-03-06", "true", "NaN", "null", "1.5"]
    assert items(path, wanted) == {"1.50": 1, "2026-03-06": 1, "true": 1, "NaN": 1, "null": 1}
    assert EncodedLog(read_events(path, user="user", item="item", items="x")).users.size == 0
    assert items(path, ["007", "7", " 7"], item="user") == {"007": 1, "7": 3, " 7": 1}


def test_long_files(tmp_path: Path, items: Count) -> None:
    filler = "x" * 200
    rows = "".join(f'"user, {number}","tea ""earl""",{filler}\n' for number in range(100_000))
    path = csv(tmp_path, "user,item,note\n" + rows)  # longer than a block
    assert items(path, ['tea "earl"'], count="users") == {'tea "earl"': 100_000}


@pytest.mark.parametrize("quote", ['"tea', 'tea"', '"tea\n', '"', '"""', '"te"a', 'te"a', '"tea"",'])
def test_a_stray_quote_changes_no_other_users_row(quote: str, tmp_path: Path, items: Count) -> None:
    path = csv(tmp_path, f"user,item\nx,{quote}\n" + "".join(f"u{number},tea\n" for number in range(1_000)))
    assert items(path, count="users", where="user != x")["tea"] == 1_000


def test_a_line_that_is_too_long_is_left_out_wherever_it_is_cut(
    tmp_path: Path, items: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headcount.events.sources.files.text_blocks.LONGEST_LINE", 40)
    rows = ["a,tea", "b,tea" + "x" * 36, "c,tea", "d," + "x" * 38, "e,tea", "f," + "y" * 38]
    path = csv(tmp_path, "user,item\n" + "\n".join(rows))
    for size in (1, 2, 3, 7, 19, 39, 1000):
        monkeypatch.setattr("headcount.events.sources.files.text_blocks.BLOCK_BYTES", min(size, 40))
        assert items(path, ["tea", "x" * 38, "y" * 38]) == {"tea": 3, "x" * 38: 1, "y" * 38: 1}


def test_empty_cells_are_missing(tmp_path: Path, items: Count) -> None:
    path = csv(tmp_path, 'user,item\nann,\n"",tea\nbob,tea\n')
    assert items(path) == {"tea": 1}


@pytest.mark.parametrize("row", ["ann", "ann,tea,x", 'ann,"tea",'])
def test_ragged_lines_do_not_count(row: str, tmp_path: Path, items: Count) -> None:
    assert items(csv(tmp_path, f"user,item\nbob,rye\n{row}\n")) == {"rye": 1}
    assert items(csv(tmp_path, f"bob,rye\n{row}\n"), user="1", item="2", header=False)["rye"] == 1


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


def test_json_keeps_numbers_as_they_are_written(tmp_path: Path, items: Count) -> None:
    path = jsonl(tmp_path, '{"user": "2026-03-06", "item": 7}', "", '{"item": -7, "user": "x", "extra": [1]}')
    assert items(path, [7, -7]) == {"7": 1, "-7": 1}
    assert items(path, ["2026-03-06"], item="user") == {"2026-03-06": 1}
    assert items(path, ["seven"]) == {}
    path = jsonl(tmp_path, '{"user": 1, "item": 7}', '{"user": 1, "item": "7"}', '{"user": 1, "item": 7.0}')
    assert items(path, [7]) == {"7": 2}
    assert items(path, ["7.0"]) == {"7.0": 1}


BROKEN = (
    b'{"user": 1, "item": ', b"[1]", b"7", b"user,item", b'{"user": "\xe9", "item": "tea"}', b'{"item": "tea"}',
    b'{"user": "a", "item": "tea",}', b'{"user": "a" "item": "tea"}', b'{"user": 01, "item": "tea"}',
    b'{"user": "a", "item": "tea"} x', b'{"user": "a", "item": "te\\xa"}', b'{"user": "a\x01", "item": "tea"}',
    b'{"user": "\\ud800", "item": "tea"}', b'{"user": ["a"], "item": "tea"}', b'{"user": nul, "item": "tea"}',
    b'{"user": "a", "item": "tea", "x": ' + b"[" * 100 + b"]" * 100 + b"}", b'{user: "a", "item": "tea"}',
)  # fmt: skip


@pytest.mark.parametrize("line", BROKEN)
def test_a_line_that_is_no_object_says_nothing(line: bytes, tmp_path: Path, items: Count) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"user": "ann", "item": "tea"}\n' + line + b'\n{"user": "bob", "item": "tea"}')
    assert items(path) == {"tea": 2}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("item"), inner),
        max_leaves=20,
    ),
    st.sampled_from([None, (",", ":"), (" ,\t", " : ")]),
    st.booleans(),
)
def test_json_is_read_as_the_standard_library_reads_it(value: Any, separators: Any, ascii_only: bool) -> None:
    line = json.dumps({"x": value, "user": "ann", "item": value}, ensure_ascii=ascii_only, separators=separators)
    try:
        raw = line.encode()
    except UnicodeEncodeError:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_bytes(raw)
        source = open_source(path)
        (batch,) = source.batches(["user", "item"])
    row = sound_batch(batch).to_pylist()[0]
    halves = isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value)
    nested = value is None or isinstance(value, list | dict)
    wanted = None if halves or nested else value if isinstance(value, str) else json.dumps(value)
    assert row == {"user": "ann", "item": wanted}


def test_missing_values_in_json(tmp_path: Path, items: Count) -> None:
    path = jsonl(tmp_path, '{"user": null, "item": "tea"}', '{"item": "tea"}')
    assert items(path) == {}


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
