"""What a process of the program loads: no library that the command has no use for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headcount._internal import compiled_library
from tests.cli.conftest import RELEASE, Run

SOURCE = str(Path(__file__).parents[2] / "src")
UNUSED = {"altair", "duckdb", "pandas", "polars", "scipy.linalg", "sklearn", "sqlalchemy", "sqlglot"}
STARTED = "from headcount.cli.startup import start; start()"
LOADED = """
import atexit, json, sys
from headcount.cli.main import run
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
run()
"""


def loaded_by(*arguments: str, **variables: str) -> set[str]:
    """Run the program as a process of its own; return the modules it ended with."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        env={**os.environ, "PYTHONPATH": SOURCE, **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_top_loads_what_reads_parquet_and_little_else(run: Run, work: Path) -> None:
    assert run(*RELEASE, "--out", "friday").code == 0
    loaded = loaded_by("top", "friday")
    assert "pyarrow.parquet" in loaded
    heavy = {"numba", "opendp", "pyarrow.compute", "pyarrow.dataset", "pydantic", "rich.progress"}
    assert not loaded & (UNUSED | heavy)


@pytest.mark.parametrize(
    "lines",
    [
        f"{STARTED}; import sys; sys.modules['pyspark'] = sys; import pandas",
        "from headcount.cli.main import main; main(['--version']); import pandas",
        f"{STARTED}; import sys, numba; assert 'scipy' not in sys.modules; import scipy.linalg",
    ],
    ids=["PySpark", "somebody else's process", "SciPy, after Numba"],
)
def test_what_is_hidden_is_there_for_those_who_use_it(lines: str) -> None:
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run([sys.executable, "-c", lines], env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            "import atexit; atexit.register(print, 'told of the end'); print('said', end=' ')",
            "said told of the end",
        ),
        ("import threading, time; threading.Timer(0.2, print, ['waited for']).start()", "waited for"),
        ("import weakref; weakref.finalize(weakref, print, 'tidied up')", "tidied up"),
    ],
    ids=["exit functions", "threads", "temporary folders"],
)
def test_the_quick_end_leaves_nothing_out(lines: str, expected: str) -> None:
    ended = f"{lines}; from headcount.cli.startup import end; end(7)"
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run(
        [sys.executable, "-c", ended], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (7, expected), done.stderr


@pytest.mark.slow
def test_a_release_loads_nothing_that_is_merely_installed_and_a_later_one_not_the_compiler(work: Path) -> None:
    arguments = [str(argument) for argument in (*RELEASE, "--method", "sra", "--limit", "2")]
    variables = {
        "HEADCOUNT_CACHE": str(work / "kernels"),
        "NUMBA_CACHE_DIR": str(work / "kernels"), compiled_library.WITHOUT: "1",
    }  # fmt: skip
    first = loaded_by(*arguments, "--out", "first", **variables)
    assert "numba.np.arrayobj" in first
    assert not first & UNUSED
    loaded = loaded_by(*arguments, "--out", "second", **variables)
    assert {"numba", "opendp.measurements"} <= loaded
    assert not loaded & (UNUSED | {"numba.np.arrayobj", "opendp.prelude", "rich"})
