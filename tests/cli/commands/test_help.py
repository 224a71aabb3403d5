"""`headcount completion`: shells are told how to ask; asked, they are given commands, flags, choices and files."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headcount.cli.commands.help import SHELLS, VARIABLE
from headcount.cli.main import run as start
from tests.cli.conftest import Run

Program = Callable[..., subprocess.Popen[bytes]]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_its_completion_instruction(run: Run, shell: str) -> None:
    done = run("completion", shell)
    assert done.code == 0, done.err
    assert f"{VARIABLE}={shell}_complete" in done.out
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.out.encode(), check=True, timeout=60)


def offered(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str, shell: str = "bash"
) -> list[str]:
    """Return what the program offers for the last of some words."""
    monkeypatch.setenv(VARIABLE, f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", " ".join(["headcount", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    capsys.readouterr()
    start([])
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("re",), {"plain,release", "plain,recommend", "plain,report", "plain,reproduce"}),
        (("ledger", "cr"), {"plain,create"}),
        (("release", "visits.csv", "--eps"), {"plain,--epsilon"}),
        (("release", "visits.csv", "--count", "u"), {"plain,users"}),
        (("release", "vis"), {"file,vis"}),
        (("release", "visits.csv", "--items", "ven"), {"file,ven"}),
        (("nothing", "such"), {"file,such"}),
        (("release", "--nothing-suc"), set()),
    ],
)
def test_declared_values_are_completed_and_otherwise_files(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    work: Path,
    words: tuple[str, ...],
    wanted: set[str],
) -> None:
    assert set(offered(capsys, monkeypatch, *words)) == wanted


def test_the_program_answers_a_shell(program: Program) -> None:
    variables: dict[str, Any] = {VARIABLE: "bash_complete", "COMP_WORDS": "headcount expl", "COMP_CWORD": "1"}
    with program(env=variables) as running:
        out, err = running.communicate(timeout=60)
    assert (out.decode().split(), err) == (["plain,explain"], b"")
