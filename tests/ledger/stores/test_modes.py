"""Who may read and write the files of a ledger: its owner, unless the owner says otherwise."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import headcount as hc
from headcount.errors import RefusedError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX")


@pytest.fixture
def open_to_all() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def ledger(folder: Path) -> hc.Ledger:
    return hc.Ledger(f"sqlite:///{folder}/headcount.db", key=folder / "key", anchor=folder / "anchor")


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.mark.usefixtures("open_to_all")
def test_files_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    with ledger(tmp_path) as new_ledger:
        new_ledger.create("town", "1")
        actual = modes(tmp_path)
        assert {"headcount.db", "key", "anchor"} <= actual.keys()
        assert set(actual.values()) == {0o600}, actual


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o620, 0o644, 0o666, 0o601])
def test_a_key_that_others_may_read_or_change_is_refused(tmp_path: Path, mode: int) -> None:
    with ledger(tmp_path) as new_ledger:
        new_ledger.create("town", "1")
    (tmp_path / "key").chmod(mode)
    with ledger(tmp_path) as again, pytest.raises(RefusedError, match=f"{mode:04o}.*chmod 600"):
        again.create("village", "1")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o440, 0o400])
def test_a_group_may_share_a_key(tmp_path: Path, mode: int) -> None:
    with ledger(tmp_path) as new_ledger:
        new_ledger.create("town", "1")
    (tmp_path / "key").chmod(mode)
    with ledger(tmp_path) as again:
        again.create("village", "1")
        assert again.show("village").left == 1


def test_a_ledger_that_anybody_may_write_to_is_refused(tmp_path: Path) -> None:
    with ledger(tmp_path) as new_ledger:
        new_ledger.create("town", "1")
    (tmp_path / "headcount.db").chmod(0o662)
    with ledger(tmp_path) as again:
        with pytest.raises(RefusedError, match="chmod o-w"):
            again.show("town")
        with pytest.raises(RefusedError, match="chmod o-w"):
            again.create("village", "1")
        (tmp_path / "headcount.db").chmod(0o660)
        assert again.show("town").left == 1
