"""Damaged files: cut short or with flipped bytes, they are read or refused, and nothing else happens."""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headcount.bounds import SampleRecords
from headcount.errors import CallerError, DataError
from headcount.events.catalogue import read_catalogue
from headcount.events.log import read_events
from tests.reference.engine import ReferenceEngine

ROWS = 60
TABLE = pa.table(
    {
        "user": pa.array([row % 17 for row in range(ROWS)], pa.int32()),
        "item": [f"tea {row % 7}" for row in range(ROWS)],
        "time": [f"2026-03-{1 + row % 28:02}T10:00" for row in range(ROWS)],
    }
)


def parquet(codes: bool, compression: str) -> bytes:
    """Write a file without statistics: Arrow itself aborts on some that are damaged (docs/known-limits.md)."""
    out = io.BytesIO()
    pq.write_table(
        TABLE, out, row_group_size=25, use_dictionary=codes, compression=compression, write_statistics=False
    )
    return out.getvalue()


def arrow(stream: bool) -> bytes:
    out = io.BytesIO()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(out, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=25)
    return out.getvalue()


LINES = [f'{row["user"]},"{row["item"]}",{row["time"]}\n' for row in TABLE.to_pylist()]
CSV = ("user,item,time\n" + "".join(LINES)).encode()
JSONL = "".join(str(row).replace("'", '"') + "\n" for row in TABLE.to_pylist()).encode()
FILES: dict[str, bytes] = {
    "codes.parquet": parquet(codes=True, compression="snappy"),
    "plain.parquet": parquet(codes=False, compression="none"),
    "zipped.parquet": parquet(codes=True, compression="gzip"),
    "file.arrow": arrow(stream=False),
    "stream.arrow": arrow(stream=True),
    "log.csv": CSV,
    "log.csv.gz": gzip.compress(CSV),
    "log.jsonl": JSONL,
    "log.jsonl.gz": gzip.compress(JSONL),
}


def read(path: Path) -> None:
    log = read_events(
        path, user="user", item="item", context="weekday:time", items="tea 1,tea 2", where="item != tea 3"
    )
    ReferenceEngine().measure(log, SampleRecords(10**6), bytes(16))


def damaged(content: bytes) -> Iterator[bytes]:
    """Yield the content cut at every 7 %, with bytes flipped, zeroed, and with a piece left out."""
    for percent in range(0, 100, 7):
        yield content[: len(content) * percent // 100]
    choice = random.Random(5)
    for _ in range(150):
        broken = bytearray(content)
        for _ in range(choice.choice((1, 1, 2, 8))):
            broken[choice.randrange(len(broken))] ^= 1 << choice.randrange(8)
        yield bytes(broken)
    for _ in range(20):
        start = choice.randrange(len(content))
        yield content[:start] + bytes(8) + content[start + 8 :]
        yield content[:start] + content[start + 5 :]


@pytest.mark.parametrize("name", FILES)
def test_damage_is_refused_in_words(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name])
    read(path)
    refused = 0
    for content in damaged(FILES[name]):
        path.write_bytes(content)
        message = ""
        try:
            read(path)
        except CallerError as error:
            message = str(error)
        refused += bool(message)
        assert "\n" not in message
        assert len(message) < 700
    assert refused > (
        10 if name.endswith((".gz", ".arrow", ".parquet")) else -1
    )  # lines of text are never refused


@pytest.mark.parametrize("name", ["codes.parquet", "log.csv.gz", "log.jsonl.gz", "file.arrow", "stream.arrow"])
def test_a_file_cut_short_is_always_noticed(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    for percent in range(1, 98, 7):
        path.write_bytes(FILES[name][: len(FILES[name]) * percent // 100])
        with pytest.raises(DataError, match=r"cannot be read|is empty"):
            read(path)


@pytest.mark.parametrize("name", FILES)
def test_damaged_catalogues_are_refused_in_words(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    for content in list(damaged(FILES[name]))[::4]:
        path.write_bytes(content)
        with pytest.raises(CallerError):  # ids that are there twice, at best
            read_catalogue(path)


def test_a_file_without_the_right_to_read_it() -> None:
    from headcount.events.sources.files.formats import reading

    with pytest.raises(DataError, match=r"log\.csv cannot be read .*; ask for the right"), reading("log.csv"):
        raise PermissionError(13, "Permission denied")


def test_a_full_disk_is_not_the_callers_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil
    import sys
    import tempfile
    from types import SimpleNamespace

    from headcount.errors import SurroundingsError

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(CSV)))
    monkeypatch.setattr(shutil, "copyfileobj", full)
    with pytest.raises(SurroundingsError, match="standard input cannot be kept for a second pass"):
        read_events("-", user="user", item="item", items="tea")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("coded", [False, True])
def test_texts_in_memory_that_point_nowhere_are_refused(coded: bool) -> None:
    """Offsets that go back: a table that another program made up, since no row can write that."""
    offsets = pa.py_buffer(bytes(pa.array([0, 3, 1, 4], pa.int32()).buffers()[1]))
    texts = pa.StringArray.from_buffers(3, offsets, pa.py_buffer(b"tearyeoat"))
    items = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), texts) if coded else texts
    log = read_events(pa.table({"user": [1, 2, 3], "item": items}), user="user", item="item", items=["tea"])
    with pytest.raises(DataError, match="cannot be read"):
        ReferenceEngine().measure(log, SampleRecords(1), bytes(16))
