"""Packed stores: they open as the log they were packed from, and anything that is not whole is refused."""

from __future__ import annotations

import json
import os
import shutil
import stat
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

from headcount.bounds import SampleRecords
from headcount.engines.local.pack import pack
from headcount.errors import CallerError, DataError, UsageError
from headcount.events.catalogue import Catalogue
from headcount.events.conditions import Compared
from headcount.events.contexts import Context, weekday
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog, read_events
from headcount.events.roles import Roles
from headcount.events.sources.files import packed_store
from headcount.events.sources.files.packed_store import PackedSource, is_store, open_store
from headcount.events.sources.source import TableSource, open_source
from tests.contracts.support.engine_checks import batches_of
from tests.reference.engine import ReferenceEngine

ROWS = {
    "who": ["ann", "ann", "bob", "ann", "cyn", None, "dan"],
    "what": ["tea", "tea", "rye", "rye", "fig", "tea", "tea"],
    "day": ["Mon", "Mon", "Tue", "Sun", "Mon", "Mon", "Mon"],
    "a,b": ["x", "x", "y, z", "x", "x", "x", "x"],
    "when": [f"2026-03-0{day}T10:00" if day else None for day in (6, 6, 7, None, 6, 6, 1)],
    "stars": [5, 5, 4, 3, 2, 1, 5],
    "n": [1, 2, 3, 0, 1, 1, 1],
}  # fmt: skip
REQUESTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "labels": {"items": Catalogue.of(["rye", "tea"], labels=["Rye", None])},
    "a column": {"context": "day", "contexts": "Mon,Tue"},
    "columns": {"context": ["day", "a,b"], "contexts": {"day": ["Mon"], "a,b": ["x", "y, z"]}},
    "a column of an odd name": {"context": ["a,b"], "contexts": {"a,b": ["x", "y, z"]}},
    "a weekday": {"context": weekday("when"), "timezone": "Europe/Zurich"},
    "a format": {"context": "hour:when", "time_format": "%Y-%m-%dT%H:%M", "where": ["stars >= 4", "day != Sun"]},
    "conditions": {"where": ["stars >= 2", "day != 'Tue'"]},
    "a window": {"time": "when", "since": "2026-03-06T00:00:00+01:00", "until": "2026-04-01"},
    "weights": {"times": "n"},
}


def raw_log(**options: Any) -> EventLog:
    how: dict[str, Any] = {"user": "who", "item": "what", "items": "rye,tea", "drop_nulls": True} | options
    return read_events(pa.table(ROWS), **how)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return pack(raw_log(context="day", contexts="Mon,Tue"), tmp_path / "store")


@pytest.mark.parametrize("name", REQUESTS)
def test_a_store_opens_as_the_log_it_was_packed_from(name: str, tmp_path: Path) -> None:
    log = raw_log(**REQUESTS[name])
    opened = read_events(pack(log, tmp_path / "store"))
    assert isinstance(opened.source, PackedSource)
    assert opened.describe() == log.describe()
    assert (opened.roles, opened.context, opened.conditions) == (log.roles, log.context, log.conditions)
    assert opened.catalogue == log.catalogue
    assert opened.catalogue.digest == log.catalogue.digest
    assert opened.source.names == list(log.columns)
    for column in log.columns:
        assert opened.source.type_of(column) == log.source.type_of(column)
    expected = ReferenceEngine().measure(log, SampleRecords(2), bytes(16))
    measured = ReferenceEngine().measure(opened, SampleRecords(2), bytes(16))
    assert np.array_equal(measured.edges.sensitive_values, expected.edges.sensitive_values)
    assert measured.edges.sensitive_values.any()


def test_problems_of_a_pass_are_stored(store: Path) -> None:
    raw, packed = EncodedLog(raw_log(context="day", contexts="Mon,Tue")), EncodedLog(read_events(store))
    for encoded in (raw, packed):
        for _ in range(2):
            list(encoded.batches())
    assert packed.tally == raw.tally
    assert (packed.tally.rows, packed.tally.outside_catalogue, packed.tally.unknown_context) == (7, 1, 1)
    assert packed.tally.nulls == {"who": 1, "what": 0}


def test_users_without_a_record_in_the_catalogue_are_left_out(store: Path) -> None:
    source = open_store(store)
    data, ends = source.users.raw
    names = [bytes(data[begin:end]).decode() for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
    assert sorted(names) == ["ann", "bob", "dan"]
    assert (source.users.size, source.records, source.rows, source.cells.size) == (3, 5, 5, 4)
    assert source.times.tolist().count(2) == 1
    assert sorted(source.times.tolist()) == [1, 1, 1, 2]


def test_a_store_is_readable_by_its_owner_only(store: Path) -> None:
    assert stat.S_IMODE(store.stat().st_mode) == 0o700
    assert not [path for path in store.parent.iterdir() if path != store]


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
@pytest.mark.parametrize("times", [None, "n"])
def test_batches_are_cut_to_size(rows: int, times: str | None, tmp_path: Path) -> None:
    log = raw_log(times=times)
    packed = EncodedLog(read_events(pack(log, tmp_path / "store")))
    with batches_of(rows):
        batches = list(packed.batches())
    assert all(batch.users.size <= rows for batch in batches)
    assert (
        {batch.users.dtype for batch in batches} == {batch.cells.dtype for batch in batches} == {np.dtype("int32")}
    )
    assert all((batch.times is None) == (times is None) for batch in batches)
    whole = sum(batch.users.size if batch.times is None else int(batch.times.sum()) for batch in batches)
    assert whole == (5 if times is None else 7)
    assert packed.log.source.rows == sum(batch.users.size for batch in batches)


def test_a_store_has_no_columns_to_read(store: Path) -> None:
    source = open_store(store)
    assert source.whole_range("who") is None
    with pytest.raises(TypeError, match="no columns"):
        source.batches(["who"])
    with pytest.raises(TypeError, match="have their codes"):
        source.users.codes(pa.array(["ann"]))


# --- what is given for a store, and what for raw files --------------------------------------------------------

BAKED: dict[str, Any] = {
    "user": "who", "item": "what", "items": "rye,tea", "context": "day", "contexts": "Mon", "where": "stars > 1",
    "since": "2026-01-01", "until": "2026-01-01", "time": "when", "times": "n", "time_format": "s",
    "timezone": "UTC", "delimiter": ";", "encoding": "latin-1", "header": False,
}  # fmt: skip


@pytest.mark.parametrize("name", BAKED)
def test_what_is_packed_cannot_be_given_again(name: str, store: Path) -> None:
    with pytest.raises(UsageError, match="packed already") as refused:
        read_events(store, **{name: BAKED[name]})
    flag = {"header": "--no-header"}.get(name, f"--{name.replace('_', '-')}")
    assert str(refused.value).startswith(f"{flag} cannot be given for {store}")


@pytest.mark.parametrize("name", ["user", "item", "items"])
def test_raw_files_need_what_a_store_knows(name: str, tmp_path: Path) -> None:
    pacsv.write_csv(pa.table({"who": ["ann"], "what": ["tea"]}), tmp_path / "log.csv")
    options = {"user": "who", "item": "what", "items": "tea"}
    del options[name]
    with pytest.raises(UsageError, match=f"--{name} is missing"):
        _ = read_events(tmp_path / "log.csv", **options).cells  # type: ignore[arg-type]


def test_what_to_count_is_chosen_anew(tmp_path: Path) -> None:
    options = {"context": "day", "contexts": "Mon,Tue"}
    store = pack(raw_log(**options, count="users", context_of="user"), tmp_path / "store")
    assert (read_events(store).counting, read_events(store).context_of) == ("records", "record")
    chosen = read_events([store], count="users", context_of="user")
    assert chosen.describe() == raw_log(**options, count="users", context_of="user").describe()
    with pytest.raises(UsageError, match="--count must be"):
        read_events(store, count="people")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="--context-of user is given without"):
        read_events(pack(raw_log(), tmp_path / "other"), context_of="user")


@pytest.mark.parametrize("given", ["{0}", "{0}*", "file://{0}", "{1}"])
def test_a_store_stands_alone(given: str, store: Path) -> None:
    """Its catalogue must never be taken for events: not beside a file, by a glob, nor inside a folder."""
    pacsv.write_csv(pa.table({"id": ["ann"], "label": ["tea"]}), store.parent / "log.csv")
    paths = [given.format(store, store.parent)]
    paths += [str(store.parent / "log.csv")] if given == "{0}" else []
    with pytest.raises(UsageError, match=r"(is|holds) a packed store; give it alone"):
        read_events(paths, user="id", item="label", items="tea")


def test_a_folder_with_a_file_of_that_name_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text('{"shop": 1}', encoding="utf-8")
    pacsv.write_csv(pa.table({"who": ["ann"], "what": ["tea"]}), tmp_path / "log.csv")
    assert not is_store(tmp_path)
    assert read_events(tmp_path, user="who", item="what", items="tea").source.rows is None
    for other in (None, 7, ["store"], "\0", tmp_path / "log.csv", ""):
        assert not is_store(other)


def test_a_log_that_words_cannot_describe_is_not_packed(tmp_path: Path) -> None:
    table = pa.table({"user": ["ann"], "item": ["tea"], "a=b": ["c"]})
    odd = (Compared("a=b", "=", "c"),)
    log = EventLog(
        source=TableSource(table), roles=Roles("user", "item"), catalogue=Catalogue.of(["tea"]), conditions=odd
    )
    with pytest.raises(UsageError, match="cannot be described in words"):
        pack(log, tmp_path / "store")
    with pytest.raises(CallerError):
        pack(replace(log, conditions=(), context=Context(("a=b",), (("",),))), tmp_path / "store")
    assert list(tmp_path.iterdir()) == []


# --- damage ---------------------------------------------------------------------------------------------------


def _edit(**changes: Any) -> Callable[[Path], None]:
    def edit(store: Path) -> None:
        path = store / "store.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes), encoding="utf-8")

    return edit


def _text(text: str) -> Callable[[Path], object]:
    return lambda store: (store / "store.json").write_text(text, encoding="utf-8")


def _cut(name: str, left: int) -> Callable[[Path], None]:
    return lambda store: os.truncate(store / name, left)


def _flip(name: str, at: int) -> Callable[[Path], None]:
    def flip(store: Path) -> None:
        data = bytearray((store / name).read_bytes())
        data[at] ^= 1
        (store / name).write_bytes(data)

    return flip


def _missing(name: str) -> Callable[[Path], None]:
    return lambda store: (store / name).unlink()


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a newer version": (_edit(version=2), "version 2.*reads headcount-store, version 1"),
    "another format": (_edit(format="headcount-release"), "format 'headcount-release'"),
    "no object": (_text("[]"), "format None"),
    "no JSON": (_cut("store.json", 40), "store.json cannot be understood"),
    "no arrays": (_edit(arrays={}), "store.json cannot be understood"),
    "no events": (_edit(events={}), "does not say how it was read"),
    "strange events": (_edit(events={"user": "who", "item": "what", "shop": 1}), "does not say how it was read"),
    **{f"no {name}": (_edit(**{name: None}), "cannot be understood") for name in ("cells", "rows", "tally")},
    "an odd tally": (_edit(tally={"rows": "many"}), "store.json cannot be understood"),
    "no catalogue": (_edit(catalogue={}), "store.json cannot be understood"),
    "events that are none": (_edit(events=7), "store.json cannot be understood"),
    "no schema": (_edit(schema="????"), "store.json cannot be understood"),
    "other contexts": (
        _edit(events={"user": "who", "item": "what", "context": "day", "contexts": {"day": ["Mon"]}}),
        "not those it was packed with",
    ),
    "cut cells": (_cut("cells.npy", 130), "cells.npy cannot be read"),
    "cut header": (_cut("starts.npy", 20), "starts.npy cannot be read"),
    "empty array": (_cut("user_ends.npy", 0), "user_ends.npy cannot be read"),
    "another type": (lambda store: np.save(store / "cells.npy", np.zeros(4, np.int64)), "holds int64"),
    "another length": (lambda store: np.save(store / "cells.npy", np.zeros(5, np.uint16)), r"shape \(5,\)"),
    "pickled": (
        lambda store: np.save(store / "times.npy", np.array([{}], dtype=object), allow_pickle=True),
        "times.npy cannot be read",
    ),
    "flipped cell": (_flip("cells.npy", -1), "cells.npy does not hold what was packed"),
    "flipped start": (_flip("starts.npy", -3), "starts.npy does not hold what was packed"),
    "flipped times": (_flip("times.npy", -4), "times.npy does not hold what was packed"),
    "flipped letter": (_flip("user_bytes.npy", -1), "user_bytes.npy does not hold what was packed"),
    "flipped end": (_flip("user_ends.npy", -8), "user_ends.npy does not hold what was packed"),
    "flipped catalogue": (_flip("catalogue.parquet", 30), "catalogue.parquet does not hold what was packed"),
    **{
        f"without {name}": (_missing(name), f"{name} is missing")
        for name in (
            "catalogue.parquet",
            "cells.npy",
            "starts.npy",
            "times.npy",
            "user_bytes.npy",
            "user_ends.npy",
        )
    },
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_refused(name: str, store: Path) -> None:
    harm, words = DAMAGE[name]
    harm(store)
    with pytest.raises(DataError, match=words) as refused:
        ReferenceEngine().measure(read_events(store), SampleRecords(2), bytes(16))
    assert str(store) in str(refused.value)
    assert "pack it again" in str(refused.value)


def test_arrays_that_do_not_fit_are_refused_though_nothing_was_flipped(store: Path, tmp_path: Path) -> None:
    """A cell beyond the catalogue would lead a compiled loop out of its arrays."""
    other = pack(raw_log(items="fig,rye,tea", context="day", contexts="Mon,Tue"), tmp_path / "other")
    mine, its = (json.loads((store_folder / "store.json").read_text()) for store_folder in (store, other))
    for name in its["arrays"]:
        shutil.copy(other / f"{name}.npy", store / f"{name}.npy")
    _edit(arrays=its["arrays"], rows=its["rows"])(store)
    assert mine["cells"] < its["cells"]
    with pytest.raises(DataError, match="do not fit together"):
        ReferenceEngine().measure(read_events(store), SampleRecords(2), bytes(16))


def test_a_store_that_is_none_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a store"):
        open_store(tmp_path)


def test_a_store_that_changes_between_passes_is_refused(store: Path) -> None:
    encoded = EncodedLog(read_events(store))
    list(encoded.batches())
    log = raw_log(context="day", contexts="Mon,Tue", where="stars > 3")
    pack(log, store, force=True)
    with pytest.raises(DataError, match="changed while it was being read"):
        list(encoded.batches())
    list(EncodedLog(read_events(store)).batches())


@pytest.mark.parametrize("name", ["store.json", "cells.npy", "catalogue.parquet"])
def test_a_store_that_changes_during_a_pass_is_refused(name: str, store: Path) -> None:
    with batches_of(1):
        batches = EncodedLog(read_events(store)).batches()
        next(batches)
        os.utime(store / name, ns=(1, 1))
        with pytest.raises(DataError, match="changed while it was being read"):
            list(batches)


def test_raw_sources_stay_as_they_were(tmp_path: Path) -> None:
    pacsv.write_csv(pa.table({"who": ["ann"], "what": ["tea"]}), tmp_path / "log.csv")
    assert open_source(tmp_path).names == ["who", "what"]


def test_the_checksum_of_parts_is_that_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_store, "_PART", 1)
    for size in (0, 1, 2, 7, 64, 1_000):
        array = np.arange(size, dtype=np.int32) * 40_503
        for threads in (1, 2, 3, 8):
            monkeypatch.setattr(packed_store, "_THREADS", threads)
            assert packed_store.checksums({"cells": array}) == {"cells": zlib.crc32(array.tobytes())}
