"""Rival libraries: install each in its own virtual environment, check its result, then time it.

Same machine, same cores, same rows. Cold is the wall time and the peak memory of one whole process that does
the job once; warm is the median of repeats in a process that has already done it on one million records. What is
slow does larger jobs once: then warm is its only call in a process that has imported everything.
"""

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness.count_errors import errors_in
from benchmarks.harness.logs import WORK, expected_total_path, keys_path, log_path
from benchmarks.harness.processes import CouldNotRunError, Finished, median, run

ROOT = Path(__file__).parents[2]
HUGE_EPSILON = 10_000
TOLERANCE = 20.0  # at that epsilon continuous noise moves a sum of 124,390 counts by about 1
SMALL = "1m"
INSTALLING = 900.0


@dataclass(frozen=True)
class Rival:
    """A module in ``rivals/``, the requirement file of its environment, and what it is known by and cannot do."""

    name: str
    module: str
    requirements: str
    package: str = ""
    cannot: str = ""
    slow: bool = False
    java: bool = False
    rounds_down: bool = False

    @property
    def version(self) -> str:
        """Which version of its package is installed."""
        lines = (ROOT / "benchmarks" / "rivals" / self.requirements).read_text().splitlines()
        pinned = dict(line.split("==") for line in lines if "==" in line)
        return f"{self.package} {pinned[self.package]}"


_INT8 = "refuses int8 columns"
RIVALS = (
    Rival(
        "opendp", "opendp", "opendp.txt", "opendp", f"{_INT8}; its Context API searches for the noise scale anew"
    ),
    Rival("opendp-framework", "opendp_framework", "opendp.txt", "opendp", f"{_INT8}; the caller finds the scale"),
    Rival(
        "tumult", "tumult", "tumult.txt", "tmlt.analytics", f"{_INT8}; needs Java and Spark", slow=True, java=True
    ),
    Rival(
        "pipelinedp",
        "pipelinedp",
        "pipelinedp.txt",
        "pipeline-dp",
        "its local backend takes rows as Python values, not files",
        slow=True,
    ),
    Rival(
        "smartnoise",
        "smartnoise",
        "smartnoise.txt",
        "smartnoise-sql",
        "takes no public keys: it tells without noise which are in the log, so that most of its counts are exact "
        "zeros and its errors cannot be compared; it cuts fractions off",
        slow=True,
        rounds_down=True,
    ),
)
FAMILIES = tuple(dict.fromkeys(rival.name.partition("-")[0] for rival in RIVALS))


def rivals_of_families(families: list[str]) -> list[Rival]:
    return [rival for rival in RIVALS if rival.name.partition("-")[0] in families]


def check_rival(rival: Rival, timeout: float) -> dict[str, Any]:
    """The sums of its tables with hardly any noise; raises ``CouldNotRunError`` if it does another job."""
    tables = _run_job(rival, SMALL, timeout, "--epsilon", str(HUGE_EPSILON)).answer["tables"]
    check_tables(tables, SMALL, rounds_down=rival.rounds_down)
    return {"tables": tables}


def measure_rival(rival: Rival, size: str, timeout: float) -> dict[str, Any]:
    """Everything about one rival at one size; raises ``CouldNotRunError`` with the reason."""
    if rival.slow and size != SMALL:
        with counts_folder() as counts:
            cold = _run_job(rival, size, timeout, "--counts", counts)
            warm = cold.answer["seconds"]
            errors = errors_in(Path(counts), size, len(warm))
    else:
        cold = _run_job(rival, size, timeout)
        with counts_folder() as counts:
            options: list[str | Path] = ["--warm-up", log_path("wide", SMALL), "--repeat", "3", "--counts", counts]
            warm = _run_job(rival, size, timeout, *options).answer["seconds"]
            errors = errors_in(Path(counts), size, len(warm))
    rows = [rows for rows, _total in cold.answer["tables"]]
    measurement = {"warm": median(warm), "warm runs": warm, "cold": cold.seconds, "peak": cold.peak, "rows": rows}
    return {**measurement, "errors": errors, "once": rival.slow and size != SMALL}


def counts_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for the counts of contestants, which are read and forgotten."""
    WORK.mkdir(exist_ok=True)
    return tempfile.TemporaryDirectory(dir=WORK)


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
    """The Python of a rival's environment, which is made unless it is there."""
    requirements = ROOT / "benchmarks" / "rivals" / rival.requirements
    folder = WORK / "venvs" / requirements.stem
    stamp = folder / "installed"
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    python = folder / "bin" / "python"
    if not (stamp.exists() and stamp.read_text() == digest):
        print(f"installing: {requirements.stem}", file=sys.stderr, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        env = bare_environment()
        run([sys.executable, "-m", "venv", folder], env=env, timeout=INSTALLING)
        run([python, "-m", "pip", "install", "--quiet", "-r", requirements], env=env, timeout=INSTALLING)
        stamp.write_text(digest)
    return python


def bare_environment() -> dict[str, str]:
    """The caller's environment without what would make a rival see this project's packages."""
    return {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "VIRTUAL_ENV"}}


def rival_environment(rival: Rival) -> dict[str, str]:
    """What a rival's process runs in: this package, and a Java where it needs one."""
    return {**bare_environment(), "PYTHONPATH": str(ROOT), **(_java() if rival.java else {})}


def _run_job(rival: Rival, size: str, timeout: float, *options: str | Path) -> Finished:
    python = environment(rival)
    command: list[str | Path] = [python, "-m", f"benchmarks.rivals.{rival.module}", log_path("wide", size)]
    env = rival_environment(rival)
    return run([*command, "--keys", keys_path(), *options], env=env, timeout=timeout, whole_tree=rival.java)


def _java() -> Mapping[str, str]:
    """The machine's own Java, or one that is installed beside this Python."""
    env = {**bare_environment(), "PYTHONPATH": str(ROOT / "src")}
    home = Path(
        run([sys.executable, ROOT / "tools" / "packaging" / "java.py"], env=env, timeout=INSTALLING).output.strip()
    )
    return {"JAVA_HOME": str(home)} if home.is_dir() else {}
