"""The edge of the program: exit codes, one JSON document, quick help, interrupts, full disks, odd consoles."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount
from headcount.cli import main as edge
from headcount.errors import RefusedError, SurroundingsError
from headcount.releases import release
from headcount.run.curator import Curator
from tests.cli.conftest import FLAGS, RELEASE, WEEKDAY, Run

Program = Callable[..., "subprocess.Popen[bytes]"]

COMMANDS = ("demo", "inspect", "release", "top", "recommend", "explain", "report", "export", "methods")
HEAVY = ("numba", "opendp", "altair", "pyarrow", "numpy", "pydantic")


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_version(run: Run) -> None:
    done = run("--version")
    assert (done.code, done.out) == (0, f"headcount, version {headcount.__version__}\n")


def test_python_runs_it_as_a_module() -> None:
    command = [sys.executable, "-m", "headcount", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"headcount, version {headcount.__version__}\n"


def test_help_lists_every_command(run: Run) -> None:
    done = run("--help")
    assert done.code == 0
    assert all(f"  {name} " in done.out for name in COMMANDS)
    assert run("-h").out == done.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_an_example_and_json(run: Run, name: str) -> None:
    done = run(name, "--help")
    assert done.code == 0
    assert "\n  Example:\n    headcount " in done.out
    assert "\\b" not in done.out
    assert "--json" in done.out
    assert max(len(line) for line in done.out.splitlines()) <= 80


def test_nothing_at_all_shows_help_and_is_a_mistake(run: Run) -> None:
    done = run()
    assert done.code == 2
    assert "Commands:" in done.err + done.out


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["release", "--help"], ["top", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    allowed: set[str] = {"pydantic"} if arguments[0] == "release" else set()
    lines = [
        "import sys",
        "import headcount",
        f"assert not set({HEAVY!r}) & set(sys.modules), 'import headcount'",
        "from headcount.cli.main import main",
        f"assert main({arguments!r}) == 0",
        # the options of a charged command are the fields of its request
        f"print('HEAVY', (set({HEAVY!r}) & set(sys.modules)) - {allowed!r})",
    ]
    source = str(Path(__file__).parents[2] / "src")
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        env={**os.environ, "PYTHONPATH": source}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "HEAVY set()"


def test_public_names_resolve() -> None:
    for name in headcount.__all__:
        assert getattr(headcount, name) is not None
    assert set(headcount.__all__) >= {
        "read_events",
        "release",
        "load",
        "weekday",
        "hour",
        "month",
        "HeadcountError",
    }
    with pytest.raises(AttributeError, match="no attribute 'relese'"):
        headcount.relese  # noqa: B018


WRAPPED = RuntimeError("Error calling __set_name__")
WRAPPED.__cause__ = KeyboardInterrupt()


@pytest.mark.parametrize(
    ("trouble", "code", "words"),
    [
        (RefusedError("no budget left"), 1, "no budget left"),
        (SurroundingsError("the database is gone"), 3, "the database is gone"),
        (OSError(errno.ENOSPC, "No space left on device"), 3, "the disk is full"),
        (PermissionError(errno.EACCES, "Permission denied", "x.csv"), 3, "x.csv: Permission denied"),
        (MemoryError(), 3, "out of memory"),
        (ZeroDivisionError("oh"), 3, "HEADCOUNT_DEBUG"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (WRAPPED, 130, "interrupted"),
    ],
)
def test_troubles_become_exit_codes(
    run: Run, work: Path, monkeypatch: pytest.MonkeyPatch, trouble: BaseException, code: int, words: str
) -> None:
    def fail(*_: Any) -> Any:
        raise trouble

    monkeypatch.setattr(Curator, "run", fail)
    done = run(*RELEASE, "--out", "out")
    assert (done.code, done.out) == (code, "")
    assert words in done.err
    assert len(done.err.splitlines()) == 1
    as_data = run(*RELEASE, "--out", "out", "--json")
    assert as_data.code == code
    assert as_data.data["message"]
    assert not (work / "out").exists()


def test_a_bug_shows_its_traceback_on_request(run: Run, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Curator, "run", lambda *_: 1 / 0)
    assert "Traceback" not in run(*RELEASE, "--out", "out").err
    monkeypatch.setenv("HEADCOUNT_DEBUG", "1")
    assert "Traceback" in run(*RELEASE, "--out", "out").err


# --- a full disk ---------------------------------------------------------------------------------------------


def _wide_catalogue(work: Path) -> None:
    ids = "\n".join(f"item{n}" for n in range(4000))
    (work / "venues.csv").write_text(f"venue\n{ids}\n", encoding="utf-8")


def test_a_full_disk_leaves_nothing_behind(run: Run, work: Path, full_disk: Path) -> None:
    _wide_catalogue(work)
    flags = (*RELEASE, *WEEKDAY, "--epsilon", "0.001")
    done = run(*flags, "--out", full_disk / "out")
    assert done.code == 3
    assert "the disk is full" in done.complaint
    assert list(full_disk.iterdir()) == []
    as_data = run(*flags, "--out", full_disk / "out", "--json")
    assert (as_data.code, as_data.data["error"]) == (3, "SurroundingsError")

    assert run(*flags, "--out", "good", "--quiet").code == 0
    for arguments in (
        ("report", "good", "--to", full_disk / "page.html"),
        ("export", "good", "--to", full_disk / "sheets"),
        ("export", "good", "--to", full_disk / "sheets", "--format", "xlsx"),
    ):
        done = run(*arguments)
        assert done.code == 3, arguments
        assert "the disk is full" in done.complaint
        assert list(full_disk.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_under_standard_output(program: Program, release_folder: Path) -> None:
    with open("/dev/full", "wb") as full:
        process = program("explain", release_folder, "--json", stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert b"the disk is full" in err
    assert b"Exception ignored" not in err


# --- interrupts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["write_table", "write_text", "move_into_place"])
def test_an_interrupt_while_writing_leaves_no_half(
    run: Run, release_folder: Path, work: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    before = {path.name: path.read_bytes() for path in release_folder.iterdir()}

    def interrupt(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    home: Any = {"write_table": pq, "write_text": Path, "move_into_place": release}[where]
    monkeypatch.setattr(home, where, interrupt)
    assert run(*RELEASE, "--out", "new").code == 130
    assert run(*RELEASE, "--out", "made", "--force").code == 130
    assert not (work / "new").exists()
    assert {path.name: path.read_bytes() for path in release_folder.iterdir()} == before
    assert leftovers(work) == []


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log that takes a while: the same million rows, forty times over."""
    path = tmp_path_factory.mktemp("long") / "long.parquet"
    random = np.random.default_rng(1)
    users = pa.array(random.integers(0, 400_000, 1_000_000).astype(np.int32))
    table = pa.table({"user": users, "item": pa.array(random.integers(0, 900, 1_000_000).astype(np.int16))})
    with pq.ParquetWriter(path, table.schema, compression="none") as writer:
        for _ in range(40):
            writer.write_table(table)
    return path


@pytest.mark.usefixtures("interruptible")
@pytest.mark.skipif(os.name == "nt", reason="interrupts are sent in another way there")
def test_ctrl_c_half_way(program: Program, long_log: Path, tmp_path: Path) -> None:
    items = ",".join(map(str, range(900)))
    flags = (
        "--user",
        "user",
        "--item",
        "item",
        "--items",
        items,
        "--epsilon",
        "1",
        "--method",
        "hpa",
        "--limit",
        "5",
    )
    process = program("release", long_log, *flags, "--out", tmp_path / "out")
    _wait_until_open(process, long_log)
    time.sleep(0.4)
    assert process.poll() is None, "it was over too soon"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == b""
    assert b"interrupted" in err
    assert b"Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("interruptible")
@pytest.mark.skipif(os.name == "nt", reason="signals are sent in another way there")
@pytest.mark.parametrize(("ending", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_leaves_no_rows_in_the_temporary_folder(
    program: Program, tmp_path: Path, ending: str, code: int
) -> None:
    process = _reading(program, tmp_path)
    process.send_signal(getattr(signal, ending))
    _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert b"interrupted" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="folders cannot be locked there")
def test_the_next_command_removes_rows_of_a_killed_one_and_no_others(
    program: Program, work: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("temporary")
    killed = _reading(program, place)
    killed.kill()
    killed.communicate()
    assert len([*place.iterdir()]) == 1
    other = _reading(program, place)
    (folder,) = place.iterdir()
    assert program("inspect", "visits.csv", env={"TMPDIR": str(place)}).communicate(timeout=60)[1] == b""
    assert [*place.iterdir()] == [folder]
    other.terminate()
    other.communicate(timeout=60)
    assert [*place.iterdir()] == []


@pytest.mark.skipif(os.name == "nt", reason="signals are sent in another way there")
def test_a_signal_that_the_caller_ignores_stays_ignored(program: Program, tmp_path: Path) -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        process = _reading(program, tmp_path)
    finally:
        signal.signal(signal.SIGTERM, before)
    process.terminate()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.kill()
    process.communicate()


def _reading(program: Program, place: Path) -> subprocess.Popen[bytes]:
    """Start a release whose rows arrive on standard input, and wait until some are in a temporary file."""
    flags = ("--user", "user", "--item", "item", "--items", "tea", "--epsilon", "1", "--method", "hpa")
    named = {"stdin": subprocess.PIPE, "env": {"TMPDIR": str(place)}}
    process = program("release", "-", *flags, "--limit", "5", "--dry-run", **named)
    assert process.stdin is not None
    process.stdin.write(b"user,item\n" + b"ann,tea\n" * 500_000)
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not any(path.is_file() and path.stat().st_size for path in place.rglob("*")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


def _wait_until_open(process: subprocess.Popen[bytes], path: Path) -> None:
    """Wait until the program has the file open; where that cannot be seen, for as long as it takes to start."""
    folder = Path(f"/proc/{process.pid}/fd")
    if not folder.exists():
        time.sleep(4)
        return
    for _ in range(600):
        try:
            if any(os.readlink(descriptor) == str(path) for descriptor in folder.iterdir()):
                return
        except OSError:
            pass
        assert process.poll() is None
        time.sleep(0.05)
    pytest.fail("the program never opened the log")


# --- pipes and consoles --------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="a closed pipe is told apart in another way there")
def test_a_reader_that_goes_away_is_no_error(program: Program, work: Path, run: Run) -> None:
    _wide_catalogue(work)
    assert run(*RELEASE, "--out", "out", "--quiet").code == 0
    process = program("top", "out", "-k", "4000", "--format", "csv", cwd=work)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b"rank,")
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 0
    assert err == b""


@pytest.mark.parametrize("arguments", [("explain",), ("top",), ("top", "--context", "Friday")])
def test_a_console_without_greek_shows_what_it_can(
    program: Program, release_folder: Path, arguments: tuple[str, ...]
) -> None:
    process = program(arguments[0], release_folder, *arguments[1:], env={"PYTHONIOENCODING": "cp1252"})
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert b"\\u03b5 = " in out or b"Caf\xe9 \\u03a9" in out


def test_json_and_csv_lose_nothing_on_any_console(program: Program, release_folder: Path) -> None:
    for encoding in ("cp1252", "ascii"):
        process = program("top", release_folder, "--json", env={"PYTHONIOENCODING": encoding})
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert {row["label"] for row in json.loads(out.decode(encoding))} >= {"Café Ω"}


def test_files_get_utf8_whatever_the_locale(program: Program, release_folder: Path) -> None:
    quiet = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    process = program("top", release_folder, "--format", "csv", env=quiet)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Café Ω" in out.decode("utf-8")


def test_standard_input_is_a_log_too(program: Program, work: Path) -> None:
    with open(work / "visits.csv", "rb") as log:
        arguments = ("release", "-", *FLAGS, "--epsilon", "1", "--method", "sra", "--limit", "2")
        process = program(*arguments, "--out", "out", "--json", stdin=log, cwd=work)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert json.loads(out)["out"] == "out"


def test_the_streams_are_left_alone_when_they_are_not_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    edge._prepare_output()
    edge._discard_output()
    sys.stdout.write("still here")
