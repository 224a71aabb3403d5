"""Rivals: install each in a virtual environment of its own, check that it does the job, then time it.

Same machine, same cores, same rows. Cold is the wall time and the peak memory of one whole process that does
the job once; warm is the median of repeats in a process that has already done it on one million records.
"""

import hashlib
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.data import WORK, expected_total_path, keys_path, log_path
from benchmarks.measure import CouldNotRunError, median, run

ROOT = Path(__file__).parent.parent
HUGE_EPSILON = 10_000
TOLERANCE = 20.0  # at that epsilon continuous noise moves a sum of 124,390 counts by about 1


@dataclass(frozen=True)
class Rival:
    """A module in ``rivals/`` and the requirement file of its environment."""

    name: str
    module: str
    requirements: str
    whole_tree: bool = False
    rounds_down: bool = False


RIVALS = (
    Rival("opendp", "opendp", "opendp.txt"),
    Rival("opendp-framework", "opendp_framework", "opendp.txt"),
    Rival("tumult", "tumult", "tumult.txt", whole_tree=True),
    Rival("pipelinedp", "pipelinedp", "pipelinedp.txt"),
    Rival("smartnoise", "smartnoise", "smartnoise.txt", rounds_down=True),
)
FAMILIES = tuple(dict.fromkeys(rival.name.partition("-")[0] for rival in RIVALS))


def chosen(families: list[str]) -> list[Rival]:
    return [rival for rival in RIVALS if rival.name.partition("-")[0] in families]


def measure_rival(rival: Rival, size: str, timeout: float) -> dict[str, Any]:
    """Everything about one rival at one size; raises ``CouldNotRunError`` with the reason."""
    python = environment(rival)
    env = {**bare_environment(), "PYTHONPATH": str(ROOT)}
    start: list[str | Path] = [python, "-m", f"benchmarks.rivals.{rival.module}"]
    rest: list[str | Path] = ["--keys", keys_path()]

    def go(log_size: str, *options: str | Path) -> Any:
        command: list[str | Path] = [*start, log_path("wide", log_size), *rest, *options]
        return run(command, env=env, timeout=timeout, whole_tree=rival.whole_tree)

    check_tables(go("1m", "--epsilon", str(HUGE_EPSILON)).answer["tables"], "1m", rounds_down=rival.rounds_down)
    cold = go(size)
    warm = go(size, "--warm-up", log_path("wide", "1m"), "--repeat", "3").answer["seconds"]
    return {
        "warm": median(warm),
        "warm runs": warm,
        "cold": cold.seconds,
        "peak": cold.peak,
        "rows": [rows for rows, _total in cold.answer["tables"]],
    }


def check_tables(tables: list[list[float]], size: str, *, rounds_down: bool = False) -> None:
    """Without noise to speak of, both tables must sum to Σ min(records of the user, LIMIT).

    SmartNoise cuts the fraction off every noisy count, so each of its rows may lack one.
    """
    expected = int(expected_total_path(size).read_text())
    for rows, total in tables:
        least = expected - (rows if rounds_down else 0)
        if not least - TOLERANCE <= total <= expected + TOLERANCE:
            raise CouldNotRunError(f"wrong answer: a table sums to {total}, bounded counts sum to {expected}")


def environment(rival: Rival) -> Path:
    requirements = Path(__file__).parent / "rivals" / rival.requirements
    folder = WORK / "venvs" / requirements.stem
    stamp = folder / "installed"
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    python = folder / "bin" / "python"
    if not (stamp.exists() and stamp.read_text() == digest):
        shutil.rmtree(folder, ignore_errors=True)
        env = bare_environment()
        run([sys.executable, "-m", "venv", folder], env=env)
        run([python, "-m", "pip", "install", "--quiet", "-r", requirements], env=env)
        stamp.write_text(digest)
    return python


def bare_environment() -> dict[str, str]:
    """The caller's environment without what would make a rival see this project's packages."""
    return {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "VIRTUAL_ENV"}}
