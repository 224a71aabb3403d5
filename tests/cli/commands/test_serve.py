"""``headcount serve``: where it listens, what it refuses, and how it ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run

Program = Callable[..., "subprocess.Popen[bytes]"]


def test_a_port_that_is_taken_is_named(run: Run, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = run("serve", "--port", port, "--data", tmp_path / "desk")
    assert result.code == 2
    assert f"port {port} is taken; choose another --port" in result.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--demo", "--host", "0.0.0.0"], "this machine alone"),
        (["--host", "192.0.2.1"], "choose a --host of this machine"),
        (["--public-url", "studio.example"], "must begin with https://"),
        (["--step", "0"], "0.1"),
    ],
)
def test_what_it_does_not_listen_to(run: Run, tmp_path: Path, flags: list[str], words: str) -> None:
    result = run("serve", "--port", "0", "--data", tmp_path / "desk", *flags)
    assert result.code == 2
    assert words in result.err


def test_a_file_is_no_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / "desk").write_text("x")
    result = run("serve", "--port", "0", "--data", tmp_path / "desk")
    assert result.code == 2
    assert "is a file; choose another --data" in result.err


def test_the_demo_takes_no_folder_that_holds_something(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    result = run("serve", "--port", "0", "--demo", "--data", tmp_path)
    assert result.code == 2
    assert "is not empty" in result.err


def test_without_its_packages_it_says_how_to_get_them(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    result = run("serve", "--port", "0", "--data", tmp_path / "desk")
    assert result.code == 2
    assert "pip install '.[studio]'" in result.err


def test_it_says_where_it_is_and_how_to_begin_and_ends_at_once(program: Program, tmp_path: Path) -> None:
    studio = program("serve", "--port", "0", "--data", tmp_path / "desk")
    assert studio.stdout is not None
    address = studio.stdout.readline().split()[-1].decode()
    link = studio.stdout.readline().split()[-1].decode()
    assert link.startswith(f"{address}/welcome/")
    with urllib.request.urlopen(link, timeout=60) as answer:
        assert b"password" in answer.read()
    studio.send_signal(signal.SIGINT)
    _, errors = studio.communicate(timeout=60)
    assert studio.returncode == 0
    assert f"everything is kept in {tmp_path / 'desk'}" in " ".join(errors.decode().split())


def test_a_folder_is_served_by_one_server_also_after_a_kill(program: Program, tmp_path: Path) -> None:
    desk = tmp_path / "desk"
    first = program("serve", "--port", "0", "--data", desk)
    assert first.stdout is not None
    assert first.stdout.readline().startswith(b"Studio")
    second = program("serve", "--port", "0", "--data", desk)
    _, errors = second.communicate(timeout=60)
    assert second.returncode == 2
    words = f"another server uses {desk}; stop that server, or choose another --data"
    assert words in " ".join(errors.decode().split())
    first.kill()
    first.communicate(timeout=60)
    third = program("serve", "--port", "0", "--data", desk)
    assert third.stdout is not None
    assert third.stdout.readline().startswith(b"Studio")
    third.send_signal(signal.SIGINT)
    third.communicate(timeout=60)
