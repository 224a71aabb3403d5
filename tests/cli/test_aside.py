"""The process that compiles beside the program's own: when there is one, and how it ends."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headcount import aside
from headcount.engines.kernels.keys import keys_of_texts
from tests.cli.conftest import RELEASE

SOURCE = str(Path(__file__).parents[2] / "src")
COMPILED_HERE = """
import atexit, sys
from headcount.cli.main import run
from headcount.engines.kernels.keeping import keep
from_disk, missed = keep.stats.cache_hits, keep.stats.cache_misses
atexit.register(lambda: print(sum(from_disk.values()), sum(missed.values()), file=sys.stderr))
run()
"""


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder of kernels, in the program's own process, on two processors."""
    monkeypatch.setenv("HEADCOUNT_CACHE", str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(aside, "_allowed", True)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(aside, "_CODE", "import sys; sys.stdin.buffer.read()")
    yield tmp_path
    assert aside._helper is None


def test_there_is_one_where_nothing_is_compiled_and_it_ends_with_the_command(kernels: Path) -> None:
    with aside.at_hand(wanted=True):
        helper = aside._helper
        assert helper is not None
        assert helper.process.poll() is None
    assert helper.process.returncode is not None


def test_there_is_none_where_it_is_not_wanted_or_not_of_use(
    kernels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with aside.at_hand(wanted=False):
        assert aside._helper is None
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(aside, "_allowed", False)
        with aside.at_hand(wanted=True):
            assert aside._helper is None
    with monkeypatch.context() as small:
        small.setattr(os, "sched_getaffinity", lambda _: {0})
        with aside.at_hand(wanted=True):
            assert aside._helper is None
    (kernels / "some").mkdir()
    (kernels / "some" / "kernel.nbi").touch()
    with aside.at_hand(wanted=True):
        assert aside._helper is None


def test_it_ends_when_the_command_fails(kernels: Path) -> None:
    helpers = []

    def interrupted() -> None:
        with aside.at_hand(wanted=True):
            helpers.append(aside._helper)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [helper is not None and helper.process.returncode is not None for helper in helpers] == [True]


def test_one_that_dies_is_not_waited_for(kernels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aside, "_CODE", "raise SystemExit(1)")
    wanted = aside.Wanted("some.module", "kernel", ())
    began = time.monotonic()
    with aside.at_hand(wanted=True):
        assert aside._helper is not None
        aside._helper.process.wait()
        aside._helper.ask(wanted)
        aside.wait_for(wanted)
        aside.meanwhile(lambda: pytest.fail("nobody is at it"))
    assert time.monotonic() - began < aside._MOST_SECONDS


def asked_for_a_kernel(folder: Path) -> subprocess.Popen[bytes]:
    key, texts = np.uint64(0), np.empty(0, np.uint8)
    arguments = key, key, texts, np.empty(0, np.int64), np.empty(0, np.uint64)
    kernel: Any = keys_of_texts
    types = tuple(kernel.typeof_pyval(each) for each in arguments)
    cache = {"HEADCOUNT_CACHE": str(folder), "NUMBA_CACHE_DIR": str(folder)}
    environment = {**os.environ, "PYTHONPATH": SOURCE, **cache}
    helping = subprocess.Popen([sys.executable, "-c", aside._CODE], env=environment, stdin=subprocess.PIPE)
    assert helping.stdin is not None
    helping.stdin.write(pickle.dumps(aside.Wanted(keys_of_texts.__module__, keys_of_texts.__name__, types)))
    helping.stdin.flush()
    return helping


@pytest.mark.slow
def test_it_compiles_what_it_is_asked_for(tmp_path: Path) -> None:
    with asked_for_a_kernel(tmp_path) as helping:
        assert helping.wait() == 0
    assert [path.name.split("-")[0] for path in tmp_path.rglob("*.nbi")] == ["keys.keys_of_texts"]


@pytest.mark.slow
def test_it_ends_with_its_pipe_which_is_closed_when_the_program_is_killed(tmp_path: Path) -> None:
    with asked_for_a_kernel(tmp_path) as helping:
        assert helping.stdin is not None
        helping.stdin.close()
        assert helping.wait() == 1
    assert not list(tmp_path.rglob("*.nbi"))


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="it needs a processor of its own",
)
def test_the_first_release_finds_its_largest_kernel_on_disk(work: Path) -> None:
    arguments = [str(each) for each in (*RELEASE, "--method", "sra", "--limit", "2", "--out", "first")]
    folder = str(work / "kernels")
    environment = {**os.environ, "PYTHONPATH": SOURCE, "HEADCOUNT_CACHE": folder, "NUMBA_CACHE_DIR": folder}
    done = subprocess.run(
        [sys.executable, "-c", COMPILED_HERE, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "1 0"
