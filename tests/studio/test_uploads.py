"""Uploads are streamed, limited and removed if they do not come whole."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headcount.errors import SurroundingsError, UsageError
from headcount.studio import uploads
from headcount.studio.security import path_policy
from headcount.studio.settings import Limits, Settings


@pytest.fixture
def desk(tmp_path: Path) -> Settings:
    settings = Settings(tmp_path / "desk", limits=Limits(upload_bytes=1000))
    settings.files.mkdir(parents=True)
    return settings


def _left(settings: Settings) -> list[Path]:
    return [path for path in settings.files.rglob("*") if path.is_file()]


async def _parts(*parts: bytes, fail: bool = False) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
    if fail:
        raise ConnectionResetError


def test_a_file_is_kept_unchanged_and_resolved_inside(desk: Settings) -> None:
    name = asyncio.run(uploads.receive(desk, _parts(b"user,", b"venue\n"), "visits.csv", 11))
    assert desk.files.joinpath(name).read_bytes() == b"user,venue\n"
    assert path_policy.resolve_inside(desk, name) == name
    assert uploads.list_files(desk) == [name]
    again = uploads.keep(desk, io.BytesIO(b"user,venue\n"), "visits.csv")
    assert again != name


def test_one_that_breaks_off_leaves_nothing(desk: Settings) -> None:
    with pytest.raises(ConnectionResetError):
        asyncio.run(uploads.receive(desk, _parts(b"user,", fail=True), "visits.csv"))
    assert _left(desk) == []
    assert uploads.list_files(desk) == []


def test_what_came_in_while_the_server_ended_is_removed(desk: Settings) -> None:
    kept = uploads.keep(desk, io.BytesIO(b"x"), "visits.csv")
    torn = uploads.Upload(desk, "torn.csv")
    torn.write(b"x")
    torn._file.close()
    uploads.remove_partial_uploads(desk)
    assert [path.relative_to(desk.files).as_posix() for path in _left(desk)] == [kept]


@pytest.mark.parametrize("declared_size", [None, 5, 2000])
def test_one_that_is_too_large_leaves_nothing_whatever_it_says(desk: Settings, declared_size: int | None) -> None:
    with pytest.raises(uploads.TooLargeError, match="larger than"):
        asyncio.run(uploads.receive(desk, _parts(b"x" * 600, b"x" * 600), "visits.csv", declared_size))
    assert _left(desk) == []


def test_an_empty_one_and_one_without_room_leave_nothing(desk: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="empty"):
        asyncio.run(uploads.receive(desk, _parts(), "visits.csv"))
    monkeypatch.setattr(uploads, "_SPARE", 2**62)
    with pytest.raises(SurroundingsError, match="no room"):
        asyncio.run(uploads.receive(desk, _parts(b"x"), "visits.csv"))
    assert _left(desk) == []


@pytest.mark.parametrize(
    "name",
    [
        "visits.exe",
        "visits.csv.exe",
        "visits",
        ".csv",
        "visits.py",
        "visits.html",
        "visits.svg",
        "x.csv/../y",
        "\0",
    ],
)
def test_other_kinds_are_refused(desk: Settings, name: str) -> None:
    with pytest.raises(UsageError, match="not taken"):
        uploads.keep(desk, io.BytesIO(b"x"), name)


@pytest.mark.parametrize("name", ["../../visits.csv", "/etc/visits.csv", "a\\b\\visits.csv", "..visits.csv"])
def test_a_name_leads_nowhere_else(desk: Settings, name: str) -> None:
    kept = uploads.keep(desk, io.BytesIO(b"x"), name)
    assert kept.startswith("uploads/")
    assert kept.endswith("/visits.csv")
    assert desk.files.joinpath(kept).resolve().is_relative_to(desk.files.resolve())
