"""Every way in: formats, folders, globs, URIs, standard input and Arrow objects give the same counts."""

from __future__ import annotations

import gc
import gzip
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headcount.errors import CallerError, DataError, HeadcountError, UnknownNameError, UsageError
from headcount.events.encode.passes import EncodedLog
from headcount.events.encode.text_columns import plain_type
from headcount.events.log import read_events
from headcount.events.sources.files.formats import reading
from headcount.events.sources.source import check_reachable, open_source

Count = Callable[..., dict[str, int]]

ROWS = [("ann", "tea"), ("ann", "rye"), ("bob", "tea"), ("bob", "tea"), ("eve", "oat")]
TABLE = pa.table({"user": [user for user, _ in ROWS], "item": [item for _, item in ROWS]})
COUNTS = {"rye": 1, "tea": 3}
CSV = "user,item\n" + "".join(f"{user},{item}\n" for user, item in ROWS)
JSONL = "".join(json.dumps({"user": user, "item": item}) + "\n" for user, item in ROWS)


def write_arrow(path: Path, *, stream: bool) -> None:
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with pa.OSFile(str(path), "wb") as out, make(out, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=2)


def write(path: Path) -> Path:
    """Write the rows in the format that the name says."""
    name = path.name.removesuffix(".gz")
    text = {".csv": CSV, ".tsv": CSV.replace(",", "\t"), ".jsonl": JSONL, ".ndjson": JSONL}.get(Path(name).suffix)
    if name.endswith(".parquet"):
        pq.write_table(TABLE, path, row_group_size=2)
    elif name.endswith((".arrow", ".feather")):
        write_arrow(path, stream=path.name.startswith("stream"))
    elif text is not None:
        path.write_bytes(gzip.compress(text.encode()) if path.name.endswith(".gz") else text.encode())
    return path


FILES = [
    "log.parquet", "log.csv", "LOG.CSV", "log.csv.gz", "log.tsv", "log.tsv.gz", "log.jsonl", "log.ndjson",
    "log.jsonl.gz", "file.arrow", "stream.arrow", "log.feather",
]  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_every_format(name: str, tmp_path: Path, items: Count) -> None:
    if name == "LOG.CSV":
        (tmp_path / name).write_text(CSV)
    else:
        write(tmp_path / name)
    assert items(tmp_path / name) == COUNTS
    assert items(str(tmp_path / name)) == COUNTS
    assert items([tmp_path / name]) == COUNTS


@pytest.mark.parametrize("name", ["log.parquet", "log.csv.gz", "log.jsonl", "file.arrow"])
def test_several_files_globs_folders_and_uris(name: str, tmp_path: Path, items: Count) -> None:
    twice = {item: 2 * count for item, count in COUNTS.items()}
    first, second = write(tmp_path / name), write(tmp_path / ("second-" + name))
    assert items([first, second]) == twice
    assert items(str(tmp_path / f"*{name}")) == twice
    assert items(tmp_path) == twice
    assert items(first.as_uri()) == COUNTS
    assert items(tmp_path.as_uri()) == twice


@pytest.mark.parametrize("name", ["log.parquet", "log.csv", "log.csv.gz", "stream.arrow"])
def test_standard_input_is_recognised_by_its_first_bytes(
    name: str, tmp_path: Path, items: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = write(tmp_path / name).read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    assert items("-") == COUNTS


def test_where_the_first_line_is_a_row_it_does_not_say_what_standard_input_is(
    tmp_path: Path, items: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = write(tmp_path / "log.jsonl").read_bytes()
    for first in (b"", b"PAR1\n", b"\x1f\x8b\n", b"user,item\n", b"null\n"):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(first + lines)))
        assert items("-", format="jsonl") == COUNTS
        rows = b"".join(b"%s,%s\n" % (b"ann", item.encode()) * count for item, count in COUNTS.items())
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(first + rows)))
        assert items("-", header=False, user="1", item="2") == COUNTS
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(lines)))
    with pytest.raises(DataError, match="begins like JSON lines, not with a header; say --format jsonl"):
        items("-")


def test_a_file_whose_name_says_no_format(tmp_path: Path, items: Count) -> None:
    path = write(tmp_path / "log.csv").rename(tmp_path / "log.dat")
    assert items(path, format="csv") == COUNTS
    with pytest.raises(UsageError, match="or say --format"):
        items(path)
    with pytest.raises(UsageError, match="unknown --format, not 'tsv'; one of parquet, csv"):
        items(path, format="tsv")


def test_standard_input_that_is_text_or_absent(items: Count, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(CSV))
    assert items("-") == COUNTS
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match="standard input"):
        items("-")
    with pytest.raises(UsageError, match="cannot be mixed with files"):
        items(["-", "log.csv"])


OBJECTS: dict[str, Callable[[], Any]] = {
    "table": lambda: TABLE,
    "batch": lambda: TABLE.to_batches()[0],
    "reader": lambda: pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=2)),
    "pandas": TABLE.to_pandas,
    "pandas categories": lambda: TABLE.to_pandas().astype("category"),
    "polars": lambda: pl.DataFrame(TABLE),
    "polars categories": lambda: pl.DataFrame(TABLE).cast(pl.Categorical),
    "arrow array": lambda: SimpleNamespace(__arrow_c_array__=TABLE.to_batches()[0].__arrow_c_array__),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_arrow_objects(kind: str, items: Count) -> None:
    assert items(OBJECTS[kind]()) == COUNTS


def test_duckdb_relation(items: Count) -> None:
    import duckdb

    connection = duckdb.connect()
    connection.register("visits", TABLE)
    assert items(connection.sql("SELECT * FROM visits")) == COUNTS


def test_streams_are_spooled_read_twice_and_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pieces = [pa.array(["a", "b"]).dictionary_encode(), pa.array(["c", "a"]).dictionary_encode()]
    batches = [pa.record_batch({"user": piece, "item": piece}) for piece in pieces]  # dictionaries differ
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    log = read_events(reader, user="user", item="item", items="a,b,c")
    encoded = EncodedLog(log)
    passes = [[batch.cells.tolist() for batch in encoded.batches()] for _ in range(2)]
    assert passes[0] == passes[1] == [[0, 1], [2, 0]]
    assert len(os.listdir(tmp_path)) == 1
    assert log.source.name == "the Arrow stream"
    del log, encoded
    gc.collect()
    assert os.listdir(tmp_path) == []


def test_a_stream_that_breaks_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def breaking() -> Any:
        yield TABLE.to_batches()[0]
        raise ValueError("the well ran dry")

    with pytest.raises(DataError, match=r"the Arrow stream cannot be read .*the well ran dry"):
        open_source(pa.RecordBatchReader.from_batches(TABLE.schema, breaking()))
    gc.collect()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("events", [7, None, [], [1, 2], b"log.csv", {"user": ["ann"]}, object()])
def test_what_is_no_log_is_refused(events: Any) -> None:
    with pytest.raises(UsageError, match="events must be a path, several paths, or an Arrow object"):
        open_source(events)


def test_columns_of_objects_are_text_value_by_value() -> None:
    objects = [
        1,
        "1",
        1.0,
        True,
        None,
        float("nan"),
        b"x",
        ["x"],
        "\ud800",
        pd.Timestamp("2026-03-06"),
        pd.NaT,
        pd.NA,
    ]
    texts = ["1", "1", "1.0", "true", None, None, None, None, None, "2026-03-06 00:00:00", None, None]
    few = [*objects[:2], *objects[9:10]]
    for column in (pd.Series(objects, dtype=object), pd.Series(few, dtype=object).astype("category")):
        source = open_source(pd.DataFrame({"n": range(len(column)), "user": column, "f": 0.5}))
        assert [str(source.type_of(name)) for name in ("n", "user", "f")] == ["int64", "string", "double"]
        (batch,) = source.batches(["user"])
        wanted = texts if len(column) == len(texts) else [*texts[:2], texts[9]]
        assert batch.column("user").to_pylist() == wanted
    assert str(open_source(pd.DataFrame({"user": pd.Series([7], dtype=object)})).type_of("user")) == "string"
    assert "ann" not in repr(open_source(pd.DataFrame({"user": ["ann"]})))


def test_no_text_or_index_entry_makes_a_frame_fail() -> None:
    """Python strings need be no Unicode, and an index may hold anything."""
    items = pd.array(["tea", "\ud800"], dtype=pd.StringDtype("python"))
    for index in (["x", 3], [2**70, None], [("a", 1.0), "b"], pd.Index(["x", "\ud800"], dtype=object)):
        frame = pd.DataFrame({"user": ["a", "b"], "item": items}, index=pd.Index(index, dtype=object, name="key"))
        for table in (frame, frame.astype({"item": pd.CategoricalDtype(pd.Series(items))})):
            source = open_source(table)
            assert source.names == ["user", "item", "key"]
            (batch,) = source.batches(["item"])
            assert batch.column("item").to_pylist() == ["tea", None]
    frame = pd.DataFrame({"n": [1.5, 2]}, index=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["k", None]))
    source = open_source(frame)
    assert [plain_type(source.type_of(name)) for name in source.names] == ["double", "text", "int64"]
    assert source.names == ["n", "k", "__index_level_1__"]


def test_lazy_frames_say_what_to_do() -> None:
    with pytest.raises(UsageError, match="collect it first"):
        open_source(pl.LazyFrame({"user": ["ann"]}))
    with pytest.raises(CallerError):
        open_source(pa.chunked_array([[1, 2]]))


def test_folders_with_keys(tmp_path: Path, items: Count, edges: Callable[..., Any]) -> None:
    for city in ("Bern", "San%20Jos%C3%A9", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / f"year=2026/city={city}").mkdir(parents=True)
        write(tmp_path / f"year=2026/city={city}" / "part.parquet")
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "checkpoint.parquet").write_bytes(b"not events")
    (tmp_path / ".hidden.parquet").write_bytes(b"not events")
    (tmp_path / "README.txt").write_text("not events")
    assert items(tmp_path, "tea", where="city = San José") == {"tea": 3}
    assert items(tmp_path, "tea", where="year >= 2026") == {"tea": 9}
    counted = edges(tmp_path, "tea", context="city", contexts=["Bern", "San José"])
    assert counted == {("tea", "Bern"): 3, ("tea", "San José"): 3, ("tea", None): 3}
    assert items(tmp_path, "Bern", item="city", drop_nulls=True) == {"Bern": 5}


def test_a_key_may_name_the_user_or_item(tmp_path: Path, items: Count) -> None:
    for name in ("tea", "rye"):
        (tmp_path / f"drink={name}").mkdir()
        write(tmp_path / f"drink={name}" / "log.csv")
    assert items(tmp_path, item="drink") == {"rye": 5, "tea": 5}


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    for path, words in (
        (tmp_path / "log.csv", "log.csv does not exist; check the path"),
        (tmp_path / "*.csv", "matches no file"),
        (tmp_path, "holds no event files; files end in"),
        ((tmp_path / "log.csv").as_uri(), "log.csv does not exist"),
        ("", "does not exist"),
        ("x\0y.csv", "does not exist"),
    ):
        with pytest.raises(DataError, match=words.replace("*", r"\*").replace(".", r"\.")):
            read_events(path, user="user", item="item", items="tea")
    for path in ("s4://nowhere/log.csv", "file://%zz/log.csv"):
        with pytest.raises(CallerError):
            read_events(path, user="user", item="item", items="tea")


def test_files_that_do_not_go_together(tmp_path: Path) -> None:
    def read(*paths: Path, **options: Any) -> None:
        log = read_events(paths, user="user", item="item", items="tea", **options)
        list(EncodedLog(log).batches())

    csv, parquet = write(tmp_path / "a.csv"), write(tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="several formats: csv, parquet; give files of one format"):
        read(csv, parquet)
    with pytest.raises(UsageError, match="given twice"):
        read(csv, csv)
    (tmp_path / "log.xlsx").touch()
    with pytest.raises(UsageError, match="no format; rename it to"):
        read(tmp_path / "log.xlsx")
    other = tmp_path / "b.parquet"
    pq.write_table(pa.table({"user": [1], "item": ["tea"]}), other)
    with pytest.raises(DataError, match=r"column 'user' holds int64 in .*b\.parquet but text in .*a\.parquet"):
        read(parquet, other)
    pq.write_table(pa.table({"usr": ["ann"], "item": ["tea"]}), other)
    with pytest.raises(UnknownNameError, match=r"column 'user' is not in .*b\.parquet; did you mean 'usr'\?"):
        read(parquet, other)
    given: list[tuple[dict[str, Any], str]] = [
        ({"delimiter": ";"}, "--delimiter"),
        ({"encoding": "latin-1"}, "--encoding"),
        ({"header": False}, "--no-header"),
    ]
    for options, flag in given:
        with pytest.raises(UsageError, match=f"{flag} is for delimited text"):
            read(parquet, **options)
        with pytest.raises(UsageError, match=f"{flag} is for files of delimited text"):
            read_events(TABLE, user="user", item="item", items="tea", **options)


def test_a_file_that_changes_between_passes_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "log.parquet")
    encoded = EncodedLog(read_events(path, user="user", item="item", items="tea"))
    assert len(list(encoded.batches())) > 0
    pq.write_table(TABLE.slice(1), path)
    with pytest.raises(DataError, match=r"log\.parquet changed while it was being read; wait until"):
        list(encoded.batches())
    path.unlink()
    with pytest.raises(DataError, match="does not exist"):
        list(encoded.batches())


def test_a_file_that_changes_during_a_pass_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv")
    batches = read_events(path, user="user", item="item", items="tea").source.batches(["user", "item"])
    next(batches)
    path.write_text(CSV + "late,tea\n")
    with pytest.raises(DataError, match="changed while it was being read"):
        list(batches)


def by_user(folder: Path, ending: str, *users: str) -> Path:
    """Write a log with a folder for each user."""
    for user in users:
        place = folder / "logs" / f"user={user}"
        place.mkdir(parents=True)
        write(place / f"part{ending}")
    return folder / "logs"


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def _other_columns(path: Path) -> None:
    write_table(pa.table({"itme": ["tea"], "n": [1]}), path)


def _other_types(path: Path) -> None:
    write_table(pa.table({"item": [7], "user": [7]}), path)


def write_table(table: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
        return
    with pa.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table)


def _header_twice(path: Path) -> None:
    path.write_text("item,item\ntea,tea\n")


def _not_text(path: Path) -> None:
    path.write_bytes(b"item,caf\xe9\n")


def _fail_as_removed(path: Path) -> None:
    path.unlink()


Fault = Callable[[Path], None]
FAULTS: list[tuple[str, Fault | None]] = [
    *((ending, fault) for ending in (".parquet", ".csv", ".arrow") for fault in (None, _fail_as_removed)),
    *(
        (ending, fault)
        for ending in (".parquet", ".arrow")
        for fault in (_empty, _torn, _other_columns, _other_types)
    ),
    *((".csv", fault) for fault in (_header_twice, _not_text)),
]


def _read_all(events: str, item: str, path: Path, fault: Fault | None) -> None:
    """Describe a log, look whether it is there and read it; a file may vanish in between."""
    if fault not in (None, _fail_as_removed):
        fault(path)
    log = read_events(events, user="user", item=item, items="tea")
    if fault is _fail_as_removed:
        fault(path)
    check_reachable(log.source)
    list(EncodedLog(log).batches())


@pytest.mark.parametrize("given", ["{}", "{}/*", "{}/*/part*", "file://{}"])
@pytest.mark.parametrize(("ending", "fault"), FAULTS)
def test_no_error_names_or_counts_files_that_were_listed(
    given: str, ending: str, fault: Fault | None, tmp_path: Path
) -> None:
    """A folder may be named after a user, so names and number of listed files say who is there."""
    messages = set()
    for number, users in enumerate((["ann0815"], ["ann0815", "bob4711"], ["bob4711", "eve0007", "liv9999"])):
        for last in (True, False):
            place = by_user(tmp_path / f"{number}{last}", ending, *users, "mallory")
            path = place / f"user={'mallory' if last else users[0]}" / f"part{ending}"
            if not last and fault is _other_types:  # it says then what all files must hold
                continue
            with pytest.raises(CallerError) as raised:
                _read_all(given.format(place), "item" if fault else "itme", path, fault)
            words = str(raised.value)
            assert given.format(place) in words
            assert not any(user in words for user in (*users, "mallory", "more", "user="))
            if fault not in (None, _fail_as_removed, _other_columns):
                assert raised.value.file == str(path)
            messages.add((last, words.replace(str(place), "")))
    assert len({words for last, words in messages if last}) == 1


def test_no_error_about_paths_names_files_that_were_listed(tmp_path: Path) -> None:
    place = by_user(tmp_path, ".csv", "ann0815")
    (place / "user=bob4711").mkdir()
    (place / "user=bob4711" / "log.xlsx").touch()
    for paths, message in (
        ([f"{place}/user=b*"], r"user=b\* holds no event files"),
        ([f"{place}/*/*"], r"^a file has a file name that says no format"),
        ([f"{place}/user=a*", f"{place}/*/part.csv"], r"^a file is given twice"),
    ):
        with pytest.raises(CallerError, match=message) as raised:
            read_events(paths, user="user", item="item", items="tea")
        assert "ann0815" not in str(raised.value)
        assert "bob4711" not in str(raised.value)


def test_what_a_library_says_of_a_path_names_what_was_given() -> None:
    for path in ("bucket/user=ann0815/part.csv", "/logs/user=ann0815/part.csv"):
        key = path.partition("/")[2]
        error = OSError(f"When reading information for key '{key}' in bucket 'bucket': no ({path}) {'x' * 300}")
        with pytest.raises(HeadcountError) as raised, reading("s3://bucket", remote=True, path=path):
            raise error
        assert "ann0815" not in str(raised.value)


def test_folders_with_keys_above_files_without_names(tmp_path: Path, edges: Callable[..., Any]) -> None:
    for shop, item in (("north", "tea"), ("south", "rye")):
        (tmp_path / f"shop={shop}").mkdir()
        (tmp_path / f"shop={shop}" / "part.csv").write_text(f"ann,{item}\n")
    counted = edges(
        tmp_path, "tea,rye", user="1", item="2", header=False, context="shop", contexts=["north", "south"]
    )
    assert counted == {("tea", "north"): 1, ("rye", "south"): 1}
    with pytest.raises(UsageError, match="with --no-header columns are called 1, 2, 3"):
        edges(tmp_path, "tea", user="user", item="2", header=False)
