"""Folders that are named after users or contexts: no such name, and no empty file, decides the outcome."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.errors import DataError
from headcount.events.log import EventLog
from tests.events.conftest import exact_edges, exact_items

ROWS = {"csv": b"item,n\ntea,1\n", "jsonl": b'{"item": "tea", "n": 1}\n'}
OPTIONS: dict[str, Any] = {"user": "user", "item": "item", "items": ["rye", "tea"]}


def _written(folder: Path, files: dict[bytes, bytes]) -> str:
    for name, content in files.items():
        path = os.path.join(os.fsencode(folder), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(os.fsdecode(path)).write_bytes(content)
    return str(folder)


def _by_user(folder: Path, users: list[bytes], ending: str = "csv") -> EventLog:
    files = {b"user=" + user + b"/part." + ending.encode(): ROWS[ending] for user in users}
    return hc.read_events(_written(folder, files), **OPTIONS)


@pytest.mark.parametrize("ending", ROWS)
@pytest.mark.parametrize("user", [b"x=y", b"0=0", b"=", b"a=", b"x=y=z"])
def test_the_name_of_a_user_may_hold_equals_signs(user: bytes, ending: str, tmp_path: Path) -> None:
    log = _by_user(tmp_path, [b"ann", b"bob", user], ending)
    assert exact_items(log) == {"tea": 3}


@pytest.mark.parametrize("ending", ROWS)
def test_rows_in_a_folder_whose_name_is_not_utf8_are_missing(ending: str, tmp_path: Path) -> None:
    log = _by_user(tmp_path, [b"ann", b"bob", b"\xff"], ending)
    assert exact_items(log) == {"tea": 2}
    pattern = hc.read_events(f"{tmp_path}/user=*/part.{ending}", **OPTIONS)
    assert exact_items(pattern) == {"tea": 2}


@pytest.mark.parametrize("user", [b"a", b"zed"])
@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_an_empty_file_of_several_has_no_rows(user: bytes, content: bytes, tmp_path: Path) -> None:
    _written(tmp_path, {b"user=" + user + b"/part.csv": content})
    log = _by_user(tmp_path, [b"bob", b"cyd"])
    assert exact_items(log) == {"tea": 2}
    assert log.source.names == ["item", "n", "user"]


def test_a_single_empty_file_and_several_empty_ones_are_refused(tmp_path: Path) -> None:
    log = _written(tmp_path, {b"one.csv": b"", b"two.csv": b""})
    for events in (f"{log}/one.csv", log):
        with pytest.raises(DataError, match="is empty"):
            hc.read_events(events, **OPTIONS)


@pytest.mark.parametrize("ending", ROWS)
@pytest.mark.parametrize("place", [b"a", b"zed"])
def test_a_file_without_a_folder_of_a_user_has_no_user(place: bytes, ending: str, tmp_path: Path) -> None:
    _written(tmp_path, {place + b"/part." + ending.encode(): ROWS[ending]})
    assert exact_items(_by_user(tmp_path, [b"bob", b"cyd"], ending)) == {"tea": 2}


def test_without_a_header_a_folder_of_another_user_says_nothing_of_a_numbered_column(tmp_path: Path) -> None:
    _written(
        tmp_path,
        {b"2=rye/part.csv": b"ann,tea\n", b"plain/part.csv": b"bob,tea\n", b"at=1/part.csv": b"cyd,tea\n"},
    )
    log = hc.read_events(str(tmp_path), header=False, **(OPTIONS | {"user": "1", "item": "2"}))
    assert exact_items(log) == {"rye": 1, "tea": 2}


def test_a_context_of_a_folder_may_hold_equals_signs(tmp_path: Path) -> None:
    rows = b"user,item\nann,tea\n"
    files = {b"place=" + place + b"/part.csv": rows for place in (b"F", b"0=0", b"\xff")} | {b"x.csv": rows}
    log = hc.read_events(_written(tmp_path, files), context="place", contexts="F,0=0", **OPTIONS)
    assert exact_edges(log) == {("tea", "F"): 1, ("tea", "0=0"): 1, ("tea", None): 1}
