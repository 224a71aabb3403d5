"""A Java for the tests of Spark: the machine's own, or that of a wheel, which lacks a module that it asks for."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from headcount.errors import SurroundingsError
from tests.support.spark_session import JAVA_TOOL

ROOT = Path(__file__).parents[3]
SPARK_PROGRAM = """
import runpy, os, sys
os.environ.update(runpy.run_path("tools/packaging/java.py")["environment"]())
from tests.support import spark_session as spark
frame = spark.session().range(10).mapInArrow(lambda batches: batches, "id bigint").groupBy().sum("id")
print("sum", frame.toArrow().to_pylist(), os.environ["JAVA_HOME"].startswith(sys.prefix))
"""


@pytest.fixture
def tool() -> dict[str, Any]:
    return runpy.run_path(str(JAVA_TOOL))


def test_the_stand_in_leaves_one_option_out_and_hands_on_all_others(tool: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    real = tmp_path / "bin" / "java"
    real.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n', encoding="utf-8")
    real.chmod(0o755)
    tool["stand_in"](tmp_path, tmp_path / "home")
    given = ["-cp", "a b:c*", tool["LEFT_OUT"], "--add-opens=java.base/java.nio=ALL-UNNAMED", "", "it's $HOME"]
    printed = subprocess.run(
        [str(tmp_path / "home/bin/java"), *given], capture_output=True, text=True, check=True
    ).stdout
    assert printed == "".join(f"<{argument}>" for argument in given if argument != tool["LEFT_OUT"])


def test_without_any_java_it_is_refused(
    tool: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setitem(tool["environment"].__globals__, "HOME", tmp_path / "none")
    with pytest.raises(SurroundingsError, match=r"Spark needs Java, and none was found"):
        tool["environment"]()


@pytest.mark.slow
def test_a_machine_without_java_gets_one_that_spark_runs_on(tmp_path: Path) -> None:
    """In an environment of its own, with all commands of this machine but Java; a wheel is installed for real."""
    commands, environment_path = tmp_path / "bin", tmp_path / "venv"
    commands.mkdir()
    for name in os.environ["PATH"].split(os.pathsep):
        for executable in Path(name).iterdir() if Path(name).is_dir() else ():
            if not (commands / executable.name).exists() and not executable.name.startswith(("java", "python")):
                (commands / executable.name).symlink_to(executable)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment_path)], check=True)
    python = environment_path / "bin" / "python"
    paths = [str(ROOT / "src"), str(ROOT), sysconfig.get_path("purelib")]
    environment = {key: value for key, value in os.environ.items() if key not in ("JAVA_HOME", "PYSPARK_PYTHON")}
    environment |= {"PATH": str(commands), "PYTHONPATH": os.pathsep.join(paths)}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(python), *command], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
        )

    completed = run("tools/packaging/java.py")
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.strip() == str(environment_path / "java")
    completed_query = run("-c", SPARK_PROGRAM)
    assert completed_query.stdout == "sum [{'sum(id)': 45}] True\n", completed_query.stderr
