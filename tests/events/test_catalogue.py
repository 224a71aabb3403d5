"""Public catalogues: files and lists, labels, exact ids, and clear words about bad ones."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headcount.errors import CallerError, DataError, UnknownNameError, UsageError
from headcount.events.catalogue import Catalogue, read_catalogue


def write(tmp_path: Path, name: str, content: str | bytes) -> str:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def test_lists() -> None:
    assert read_catalogue("rye, tea").ids == ("rye", "tea")
    assert read_catalogue("tea").ids == ("tea",)
    assert read_catalogue("imdb.com:1,imdb.com:2").ids == ("imdb.com:1", "imdb.com:2")
    assert read_catalogue("a.txt,b.txt").ids == ("a.txt", "b.txt")
    assert read_catalogue(",".join(map(str, range(9000)))).ids[-1] == "8999"  # longer than a file name may be
    for listed in (range(3), [0, 1, 2], np.arange(3), pa.array([0, 1, 2]), pa.chunked_array([[0, 1], [2]])):
        assert read_catalogue(listed).ids == (0, 1, 2)
    two = ["a", "b"]
    for several in (pd.Series(two), pl.Series(two), np.array(two), iter(two), dict.fromkeys(two)):
        assert read_catalogue(several).ids == ("a", "b")


def test_text_files(tmp_path: Path) -> None:
    assert read_catalogue(write(tmp_path, "a.txt", "tea\n rye \n\na,b\n")).ids == ("tea", " rye ", "a,b")
    assert read_catalogue(write(tmp_path, "a.txt", b"\xef\xbb\xbftea\r\nrye")).ids == ("tea", "rye")
    assert read_catalogue(write(tmp_path, "a.TXT", "x\x0by\u2028z\n")).ids == ("x\x0by\u2028z",)
    assert read_catalogue(Path(write(tmp_path, "a.txt.gz", gzip.compress(b"tea\n")))).ids == ("tea",)


TABLE = "id,other,Name\n007,x,James\n7,y,\n"


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.parquet", "a.jsonl", "C:films.csv"])
def test_tables_with_labels(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if name.endswith(".parquet"):
        pq.write_table(pa.table({"id": ["007", "7"], "other": ["x", "y"], "Name": ["James", None]}), name)
    elif name.endswith(".jsonl"):
        write(tmp_path, name, '{"id": "007", "other": "x", "Name": "James"}\n{"id": "7", "other": "y"}\n')
    else:
        text = TABLE.replace(",", "\t") if name.endswith("tsv") else TABLE
        write(tmp_path, name, gzip.compress(text.encode()) if name.endswith("gz") else text)
    assert read_catalogue(name) == Catalogue(("007", "7"), ("James", None))
    assert read_catalogue(f"{name}:other") == Catalogue(("x", "y"), ("James", None))
    assert read_catalogue(f"{name}:other,id") == Catalogue(("x", "y"), ("007", "7"))
    with pytest.raises(UnknownNameError, match=r"column 'nmae' is not in .*; did you mean 'Name'\?"):
        read_catalogue(f"{name}:id,nmae")


def test_whole_numbers_in_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": pa.array([3, 1], pa.int16()), "title": [1.5, None]}), path)
    assert read_catalogue(path) == Catalogue((3, 1), ("1.5", None))


def test_a_windows_path_with_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, r"C:\films.csv", "id,label\n1,One\n")
    assert read_catalogue(r"C:\films.csv").labels == ("One",)
    assert read_catalogue(r"C:\films.csv:label,id").ids == ("One",)


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ("", "the list of items is empty; list at least one item"),
        ([], "the catalogue is empty; list at least one item"),
        ("a,,b", "the list of items has an entry without an id, or a line"),
        (["a", None], "has an entry without an id"),
        ("a,b,a", "the list of items lists 'a' twice; remove one of them"),
        ([1, 2, 1], "lists 1 twice"),
        ([1, "a"], "lists text ('a') and whole numbers (1); write all ids alike"),
        ([1.5], "must list text or whole numbers, not 1.5; cast the ids to text"),
        ([True], "must list text or whole numbers, not True"),
        (["\udc80"], "which is not Unicode text"),
        (pa.table({"a": [1]}), "must list text or whole numbers"),
        ("films.csv", "the catalogue films.csv does not exist; check the path given to --items"),
        ("films.csv:id,title", "the catalogue films.csv does not exist"),
        (Path("films.csv"), "the catalogue films.csv does not exist"),
    ],
)
def test_catalogues_that_cannot_be_used(items: Any, words: str) -> None:
    with pytest.raises(DataError) as caught:
        read_catalogue(items)
    assert words in str(caught.value)


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    for name, content, words in (
        ("a.txt", "", "a.txt is empty; list at least one item"),
        ("a.txt", b"\xe9", "byte 0xe9 is not utf-8 text"),
        ("a.txt", "tea\ntea\n", "a.txt lists 'tea' twice"),
        ("a.csv", "", "a.csv is empty; it needs at least a header line"),
        ("a.csv", "id\n", "a.csv is empty; list at least one item"),
        ("a.csv", "id,label\n,x\n", "a.csv has an entry without an id, or a line"),
        ("a.csv", "id,label\n1\n", "a.csv has an entry without an id, or a line"),
        ("a.parquet", "PAR1", "a.parquet cannot be read"),
        ("a.jsonl", "", "a.jsonl is empty; list at least one item"),
    ):
        with pytest.raises(DataError) as caught:
            read_catalogue(write(tmp_path, name, content))
        assert words in str(caught.value)
    with pytest.raises(UsageError, match="is plain text without columns; leave out ':id'"):
        read_catalogue(write(tmp_path, "a.txt", "x") + ":id")
    with pytest.raises(UsageError, match="FILE:ID,LABEL"):
        read_catalogue(write(tmp_path, "a.csv", TABLE) + ":id,Name,other")
    with pytest.raises(UsageError, match="is a folder; give the file"):
        read_catalogue(str(tmp_path))
    for odd in (7, None, b"a"):
        with pytest.raises(CallerError, match="items must be a file, a list or a Catalogue"):
            read_catalogue(odd)
    with pytest.raises(UsageError, match="has 2 ids but 1 labels"):
        Catalogue.of(["a", "b"], ["A"])


@pytest.mark.parametrize("entry", ["007", " 7", "7 ", "+7", "7.0", "0x7", "-0", "1_0", "٧", "seven", "9" * 2_000])
def test_ids_are_cast_exactly(entry: str) -> None:
    with pytest.raises(DataError) as caught:
        Catalogue.of([entry]).as_type(pa.int64(), "film")
    assert str(caught.value).startswith(f"the catalogue lists {entry!r}, but column 'film' holds whole numbers")
    assert "choose another id column with --items FILE:ID" in str(caught.value)
    assert Catalogue.of([entry]).as_type(pa.string(), "film").to_pylist() == [entry]


def test_whole_numbers_name_texts() -> None:
    assert Catalogue.of([7, -7]).as_type(pa.large_string(), "film").to_pylist() == ["7", "-7"]
    assert Catalogue.of(["7", "-7"]).as_type(pa.int8(), "film").to_pylist() == [7, -7]
