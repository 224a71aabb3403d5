"""One user's long texts decide nothing: beyond a public length they are missing, and no batch expands unbounded.

The releases run in processes of little memory. Each log holds hundreds of megabytes of one user's ids, in files of
a few kilobytes, or in shared buffers.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest

import headcount as hc
from headcount.errors import DataError
from headcount.events.encode.text_columns import MAX_TEXT_BYTES, sound
from tests.mutants.planted import Plant

LIMIT = 768 << 20
RELEASE = """
import gzip, os, resource, sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
import headcount as hc

way, limit = sys.argv[1], int(sys.argv[2])
MEGABYTE, TYPES = 1 << 20, pa.schema([("user", pa.int64()), ("item", pa.string())])
many = 80 if way.startswith("many") else 1
ids = [f"{number:08d}" + "x" * (MEGABYTE - 8) for number in range(many)]
user = lambda rows: pa.array(np.zeros(rows, np.int64))
events = f"events.{way.split()[-1]}"
if way == "one entry in parquet":
    codes = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int32)), pa.array(ids))
    pq.write_table(pa.table({"user": user(100_000), "item": codes}), events, store_schema=False)
elif way == "many texts in parquet":
    with pq.ParquetWriter(events, TYPES, use_dictionary=False, compression="zstd") as writer:
        for _ in range(8):
            writer.write_batch(pa.record_batch([user(80), pa.array(ids)], schema=TYPES))
elif way == "many texts in csv.gz":
    with gzip.open(events, "wb", 1) as file:
        file.write(b"user,item\\n")
        for copy in range(6):
            for text in ids:
                file.write(f"0,{copy}{text}\\n".encode())
else:
    shared = pa.array(ids).cast(pa.string_view())
    views = shared.buffers()[1].to_pybytes() * 100_000
    buffers = [None, pa.py_buffer(views), *shared.buffers()[2:]]
    events = pa.table({"user": user(100_000), "item": pa.Array.from_buffers(pa.string_view(), 100_000, buffers)})
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (used + limit, used + limit))
log = hc.read_events(events, user="user", item="item", select_items=True)
print(len(hc.release(log, method="sra", limit=5, epsilon="1", delta="1e-6").items))
"""
WAYS = ("one entry in parquet", "many texts in parquet", "many texts in csv.gz", "views in memory")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
@pytest.mark.parametrize("layout", WAYS)
def test_one_user_s_long_ids_fit_into_little_memory(layout: str, tmp_path: Any) -> None:
    line = [sys.executable, "-c", RELEASE, layout, str(LIMIT)]
    run = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert (run.returncode, run.stdout) == (0, "0\n"), run.stderr


LAYOUTS = [
    pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view(),
    pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int8(), pa.large_string()),
    pa.dictionary(pa.int32(), pa.binary()),
]  # fmt: skip


@pytest.mark.parametrize("kind", LAYOUTS, ids=str)
def test_a_longer_text_is_missing_in_every_layout_and_none_beside_it(kind: pa.DataType) -> None:
    texts = ["tea", "a" * MAX_TEXT_BYTES, "b" * (MAX_TEXT_BYTES + 1), None, "é" * 1_024, "é" * 1_025, "rye"]
    column = pa.array(texts)
    if pa.types.is_dictionary(kind):
        codes = column.dictionary_encode()
        column = pa.DictionaryArray.from_arrays(
            codes.indices.cast(kind.index_type), codes.dictionary.cast(kind.value_type)
        )
    column = column.cast(kind)
    expected = [text if text is None or len(text.encode()) <= MAX_TEXT_BYTES else None for text in texts]
    for start in range(len(texts)):
        values = sound(column.slice(start)).to_pylist()
        assert [text.decode() if isinstance(text, bytes) else text for text in values] == expected[start:]


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_check_tells_how_many_texts_are_too_long(kind: pa.DataType) -> None:
    items = pa.array(["tea", "x" * 5_000, None, "x" * 3_000])
    coded = items.dictionary_encode() if pa.types.is_dictionary(kind) else items.cast(kind)
    table = pa.table({"user": [1, 2, 3, 4], "item": coded})
    problems = hc.check(hc.read_events(table, user="user", item="item", items="tea")).problems
    assert [(problem.what, problem.number) for problem in problems] == [
        ("no item in column 'item'", 1),
        ("a text of more than 2,048 bytes in column 'item'", 2),
    ]
    assert "shorten them" in str(problems[1])
    assert "x" not in str(problems[1]).replace("text", "")


def test_a_catalogue_lists_no_longer_ids() -> None:
    table = pa.table({"user": ["ann"], "item": ["tea"]})
    expected = r"lists an id of more than 2,048 bytes, 'é+'…; shorten it there and in the log"
    with pytest.raises(DataError, match=expected):
        hc.read_events(table, user="user", item="item", items=["tea", "é" * 1_025])
    assert hc.read_events(table, user="user", item="item", items=["tea", "é" * 1_024]).cells == 2


DECODED = Plant(
    "the length of a text is that of its letters", "events", "", "events.encode.text_columns:_without_long",
    "np.diff(places) >", "np.asarray(pc.fill_null(pc.utf8_length(column), 0)) >",
)  # fmt: skip


def test_a_length_in_letters_is_noticed() -> None:
    with DECODED.planted(), pytest.raises(AssertionError):
        test_a_longer_text_is_missing_in_every_layout_and_none_beside_it(pa.string())
