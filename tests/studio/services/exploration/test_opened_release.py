"""Releases that are open: read once, whoever asks, and let go when there is no room."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import pytest

from headcount.errors import DataError
from headcount.releases.folder_integrity import folder_digest
from headcount.releases.release import load
from headcount.studio.services.exploration import opened_release
from headcount.studio.services.exploration.opened_release import ReleaseCache
from tests.reports.conftest import make


def saved(folder: Path, many: int) -> list[tuple[str, Path]]:
    paths = [make(steps=(f"This is number {n}.",)).save(folder / str(n)) for n in range(many)]
    return [(folder_digest(path), path) for path in paths]


def test_a_release_is_read_once_however_many_ask(tmp_path: Path) -> None:
    (digest, folder), shelf = saved(tmp_path, 1)[0], ReleaseCache()
    together = threading.Barrier(8)

    def ask(_: int) -> object:
        together.wait(timeout=60)
        return shelf.open(digest, folder)

    with mock.patch.object(opened_release, "load", side_effect=load) as reading, ThreadPoolExecutor(8) as pool:
        opened = set(pool.map(ask, range(8)))
    assert len(opened) == 1
    assert reading.call_count == 1


def test_those_looked_at_last_stay(tmp_path: Path) -> None:
    paths = saved(tmp_path, 3)
    size = ReleaseCache().open(*paths[0]).nbytes
    shelf = ReleaseCache(most_bytes=2 * size)
    for place in (0, 1, 0, 2):
        shelf.open(*paths[place])
    assert shelf.held() == [paths[0][0], paths[2][0]]
    alone = ReleaseCache(most_bytes=1)
    assert alone.open(*paths[0]).release.steps == ("This is number 0.",)
    assert alone.held() == [paths[0][0]]


def test_a_folder_that_is_not_what_was_released_is_refused_and_read_when_it_is_back(tmp_path: Path) -> None:
    (digest, folder), shelf = saved(tmp_path, 1)[0], ReleaseCache()
    text = (folder / "release.json").read_text(encoding="utf-8")
    for damage in (text.replace("number 0", "number 7"), "{"):
        (folder / "release.json").write_text(damage, encoding="utf-8")
        with pytest.raises(DataError):
            shelf.open(digest, folder)
    folder.rename(tmp_path / "aside")
    with pytest.raises(DataError, match="gone, or are not what was released"):
        shelf.open(digest, folder)
    (tmp_path / "aside").rename(folder)
    (folder / "release.json").write_text(text, encoding="utf-8")
    assert shelf.open(digest, folder).release.steps == ("This is number 0.",)
