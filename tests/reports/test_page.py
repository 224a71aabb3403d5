"""Writing pages: whole or not at all, and nothing that could end its own element."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import NoReturn

import pytest

from headcount.errors import SurroundingsError, UsageError
from headcount.reports import page


def test_write_makes_folders_and_replaces(tmp_path: Path) -> None:
    target = tmp_path / "new" / "report.html"
    page.write("first", target)
    assert page.write("ε", target).read_text(encoding="utf-8") == "ε"
    assert [path.name for path in target.parent.iterdir()] == ["report.html"]


@pytest.mark.parametrize(("number", "message"), [(errno.ENOSPC, "disk is full"), (errno.EIO, "cannot write")])
def test_a_failing_disk_leaves_the_old_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, message: str
) -> None:
    target = page.write("old", tmp_path / "report.html")

    def fail(*_: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(SurroundingsError, match=message):
        page.write("new", target)
    assert target.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_an_interrupt_leaves_the_old_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = page.write("old", tmp_path / "report.html")

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "chmod", interrupt)
    with pytest.raises(KeyboardInterrupt):
        page.write("new", target)
    assert target.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_is_not_a_page(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"report\.html"):
        page.write("text", tmp_path)


@pytest.mark.parametrize("text", ["a</script>", "a</STYLE >", "<!-- a"])
def test_no_script_may_end_its_own_element(text: str) -> None:
    with pytest.raises(ValueError, match="its own element"):
        page._script(text)
