"""Fixtures that run the command line and return exit code, standard output and standard error."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from headcount.cli.main import main

VISITS = """user,venue,time,sex,age,stars
ann,tea,2026-03-06T10:00:00,F,0-24,5
ann,rye,2026-03-07T10:00:00,F,0-24,3
bob,tea,2026-03-06T12:00:00,M,25+,4
bob,elsewhere,2026-03-06T13:00:00,M,25+,4
cyn,rye,,X,25+,1
"""
VENUES = "venue,name\ntea,Café Ω\nrye,=1+1\noat,[bold]Oat[/x]\n"


@dataclass(frozen=True)
class Outcome:
    """What one run of the program came to."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """The one sentence on standard error, of a run that failed."""
        lines = self.err.splitlines()
        assert len(lines) == 1, f"not one sentence: {self.err!r}"
        assert lines[0].startswith("error: ")
        assert "Traceback" not in self.err
        return lines[0].removeprefix("error: ")


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the program in this process."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("HEADCOUNT_LEDGER", raising=False)

    def start(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return start


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working folder with a small log and its catalogue."""
    (tmp_path / "visits.csv").write_text(VISITS, encoding="utf-8")
    (tmp_path / "venues.csv").write_text(VENUES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def own_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the keys of ledgers in a folder of the test."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("HEADCOUNT_LEDGER_KEY", "HEADCOUNT_LEDGER_ANCHOR"):
        monkeypatch.delenv(name, raising=False)


FLAGS = ("--user", "user", "--item", "venue", "--items", "venues.csv")
SPEND = ("--epsilon", "1", "--method", "sra", "--limit", "2")
WEEKDAY = ("--context", "weekday:time")
RELEASE = ("release", "visits.csv", *FLAGS, *SPEND)


@pytest.fixture(scope="session")
def program() -> Callable[..., subprocess.Popen[bytes]]:
    """Start the real program in its own process."""

    def start(*arguments: object, **how: Any) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "COLUMNS": "100", **how.pop("env", {})}
        environment.pop("HEADCOUNT_LEDGER", None)
        source = str(Path(__file__).parents[2] / "src")
        environment["PYTHONPATH"] = os.pathsep.join([source, environment.get("PYTHONPATH", "")])
        code = "from headcount.cli.main import run; run()"
        command = [sys.executable, "-c", code, *map(str, arguments)]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
        return subprocess.Popen(command, env=environment, **streams)

    return start


@pytest.fixture
def release_folder(run: Run, work: Path) -> Path:
    """Return a release of items and weekdays."""
    assert run(*RELEASE, *WEEKDAY, "--out", "made", "--quiet").code == 0
    return work / "made"


@pytest.fixture
def research(run: Run, work: Path) -> Path:
    """Return a release whose claim is not established."""
    flags = ("--method", "hpa-published", "--research", "--out", "research", "--quiet")
    assert run(*RELEASE, *WEEKDAY, *flags).code == 0
    return work / "research"


@pytest.fixture(params=["real", "pretended"])
def full_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a full disk: a real one of 64 kB where mounting is allowed, and one that says so."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        real = request.param == "real" and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        real = False
    if real:
        yield folder
        subprocess.run(["umount", str(folder)], check=True, timeout=20)
    else:
        with pytest.MonkeyPatch.context() as patch:
            pretend_full(patch, folder)
            yield folder


def pretend_full(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let every attempt to write a file under a folder fail as on a full disk."""

    def refusing(original: Callable[..., Any], target_of: Callable[..., object]) -> Callable[..., Any]:
        def refuse(*arguments: Any, **named: Any) -> Any:
            target = target_of(*arguments, **named)
            if target is not None and str(target).startswith(str(folder)):
                raise OSError(errno.ENOSPC, "No space left on device", str(target))
            return original(*arguments, **named)

        return refuse

    def opened(file: object, mode: str = "r", *_: Any, **__: Any) -> object:
        return file if set(mode) & set("wxa+") else None

    patch.setattr(pq, "write_table", refusing(pq.write_table, lambda _, where, **__: where))
    patch.setattr(pacsv, "write_csv", refusing(pacsv.write_csv, lambda _, where, **__: where))
    patch.setattr(tempfile, "mkstemp", refusing(tempfile.mkstemp, lambda *_, dir=None, **__: dir))  # noqa: A006
    patch.setattr(io, "open", refusing(io.open, opened))
    patch.setattr("builtins.open", refusing(open, opened))
