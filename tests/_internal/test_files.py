"""Scratch folders: gone with their owner, however it ends; those of running processes and other users stay."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from headcount._internal import files
from headcount._internal.files import PREFIX, ScratchFolder, remove_stale

needs_locks = pytest.mark.skipif(os.name == "nt", reason="folders cannot be locked there")


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def _killed_owner(place: Path) -> Path:
    """Return the folder that a killed process left, with a file of raw rows in it."""
    code = (
        "import os, signal, sys, tempfile; tempfile.tempdir = sys.argv[1]; "
        "from headcount._internal.files import ScratchFolder; scratch = ScratchFolder(); "
        "(scratch.path / 'rows.arrow').write_bytes(b'raw'); print(scratch.path, flush=True); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(place)], capture_output=True, text=True, check=False)
    folder = Path(done.stdout.strip())
    assert (folder / "rows.arrow").read_bytes() == b"raw", done.stderr
    return folder


def test_a_folder_goes_with_its_owner(tmp_path: Path) -> None:
    owner = ScratchFolder()
    assert owner.path.parent == tmp_path
    assert owner.path.name.startswith(PREFIX)
    assert owner.path.stat().st_mode & 0o077 == 0
    del owner
    assert list(tmp_path.iterdir()) == []


@needs_locks
def test_the_folder_of_a_killed_process_goes_and_that_of_a_running_one_stays(tmp_path: Path) -> None:
    owner, stale = ScratchFolder(), _killed_owner(tmp_path)
    assert owner.path.is_dir()  # the other process looked for stale folders as well
    remove_stale()
    assert (owner.path.is_dir(), stale.exists()) == (True, False)


@needs_locks
def test_a_new_folder_removes_stale_ones_beside_it(tmp_path: Path) -> None:
    stale = _killed_owner(tmp_path)
    owner = ScratchFolder()
    assert [*tmp_path.iterdir()] == [owner.path]
    assert not stale.exists()


@needs_locks
def test_other_folders_links_and_folders_of_other_users_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier_build, mine = tmp_path / "headcount-k2xw_1", tmp_path / "documents"
    for folder in (earlier_build, mine):
        folder.mkdir()
        (folder / "kept").touch()
    (tmp_path / f"{PREFIX}link").symlink_to(mine)
    (tmp_path / f"{PREFIX}file").touch()
    remove_stale()
    assert (earlier_build / "kept").exists()
    assert (mine / "kept").exists()
    assert (tmp_path / f"{PREFIX}file").exists()
    stale = _killed_owner(tmp_path)
    with monkeypatch.context() as context:
        context.setattr(os, "geteuid", lambda: stale.stat().st_uid + 1)
        remove_stale()
    assert (stale / "rows.arrow").exists()
    remove_stale()
    assert not stale.exists()


@needs_locks
def test_a_folder_removed_before_its_lock_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, removed = files._lock, list[Path]()

    def late(path: Path, *, wait: bool) -> int | None:
        if wait and not removed:
            removed.append(path)
            remove_stale()  # of another process that starts just now
        return lock(path, wait=wait)

    monkeypatch.setattr(files, "_lock", late)
    owner = ScratchFolder()
    assert not removed[0].exists()
    assert owner.path.is_dir()
    remove_stale()
    assert owner.path.is_dir()


def test_without_locks_nothing_is_taken_for_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unlocked(*_: Any, **__: Any) -> None:
        return None

    monkeypatch.setattr(files, "_lock", unlocked)
    owner = ScratchFolder()
    remove_stale()
    assert owner.path.is_dir()
    owner.delete()
    assert list(tmp_path.iterdir()) == []
