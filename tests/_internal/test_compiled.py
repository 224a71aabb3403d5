"""Kernels: compiled as one whole, stored, and loaded again without the compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytestmark = pytest.mark.slow
SOURCE = str(Path(__file__).parents[2] / "src")
MANY_COLLECTIONS = 100  # where they are made, 342
KERNELS = """
import numpy as np
from headcount._internal.compiled import compiled, inlined

@inlined
def small(x):
    return x + 1

@compiled
def part(values):
    total = np.int64(0)
    for value in values:
        total += small(value)
    return total

@compiled
def kernel(values, times):
    room = np.zeros(times, dtype=np.int64)
    for at in range(times):
        room[at] = part(values) + at
    return room
"""
RUN = """
import gc, json, sys
import numpy as np
import headcount._internal.numba_compiler
import some_kernels
looks = []
gc.callbacks.append(lambda phase, told: looks.append(phase))
values = np.arange(5)
found = some_kernels.kernel(values, 3).tolist()
told = dict(found=found, looks=len(looks), collecting=gc.isenabled(), loaded=sorted(sys.modules))
if {parts}:
    told["parts"] = [int(some_kernels.part(values)), int(some_kernels.small(4))]
print(json.dumps(told))
"""


class Runs(NamedTuple):
    """What the process that compiled told, which kernels it stored, and what the one that loaded them told."""

    compiling: dict[str, Any]
    stored: list[str]
    loading: dict[str, Any]


def run_in_process(folder: Path, *, parts: bool) -> dict[str, Any]:
    path, cache = f"{SOURCE}{os.pathsep}{folder}", str(folder / "cache")
    environment = {**os.environ, "PYTHONPATH": path, "HEADCOUNT_CACHE": cache, "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", RUN.format(parts=parts)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    output: dict[str, Any] = json.loads(done.stdout)
    return output


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "some_kernels.py").write_text(KERNELS, encoding="utf-8")
    compiling = run_in_process(folder, parts=False)
    stored = sorted(path.name.split("-")[0] for path in folder.rglob("*.nbi"))
    return Runs(compiling, stored, run_in_process(folder, parts=True))


def test_a_stored_kernel_gives_the_same_without_the_compiler(runs: Runs) -> None:
    assert runs.compiling["found"] == runs.loading["found"] == [15, 16, 17]
    assert "numba.np.arrayobj" in runs.compiling["loaded"]
    assert not {"numba.np.arrayobj", "scipy.linalg"} & set(runs.loading["loaded"])


def test_parts_are_stored_inside_their_kernel_and_nowhere_else(runs: Runs) -> None:
    assert runs.stored == ["some_kernels.kernel"]


def test_parts_can_be_called_from_python_as_well(runs: Runs) -> None:
    assert runs.loading["parts"] == [15, 5]


def test_garbage_collection_is_off_while_a_kernel_is_compiled(runs: Runs) -> None:
    assert runs.compiling["collecting"]
    assert runs.compiling["looks"] < MANY_COLLECTIONS
