"""Measurements that several rows of the benchmark table share: each is run once and cached."""

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.comparison.rival_environments import (
    HUGE_EPSILON,
    ROOT,
    SMALL,
    Rival,
    check_rival,
    check_tables,
    counts_folder,
    measure_rival,
)
from benchmarks.harness.count_errors import errors_in
from benchmarks.harness.floor_comparison import limit_of
from benchmarks.harness.logs import DATA, WORK, catalogue_path, expected_total_path, keys_path, log_path
from benchmarks.harness.processes import CouldNotRunError, Finished, median, run


@dataclass
class Bench:
    """One run: the sizes and rivals asked for, what has been measured so far, and how it is kept."""

    sizes: list[str]
    rivals: list[Rival]
    rival_timeout: float
    measurements: dict[str, Any] = field(default_factory=dict)
    keep: Callable[[], None] = lambda: None

    @property
    def largest(self) -> str:
        return self.sizes[-1]

    @property
    def contest_size(self) -> str:
        return "10m" if "10m" in self.sizes else self.sizes[0]

    @property
    def contest_sizes(self) -> list[str]:
        return [size for size in self.sizes if size in (SMALL, self.contest_size)]

    def pair(self, kind: str, size: str, method: str, repeat: int = 5) -> dict[str, Any]:
        """Floor and release in turns: lists of seconds."""

        def measure() -> Any:
            self.need(kind, size)
            self.need(kind, "1m")
            dictionary = ["--read-dictionary"] if kind == "text" else []
            options = ["--method", method, "--repeat", str(repeat), *dictionary]
            return self._ours("pair", kind, size, "--warm-up", log_path(kind, "1m"), *options).answer

        return self.once(f"pair {kind} {size} {method}", measure)

    def csv(self, size: str, repeat: int = 5) -> dict[str, Any]:
        """Reading a CSV file with PyArrow, and releasing from it, in turns."""

        def measure() -> Any:
            self.need("dense", size)
            command = [sys.executable, "-m", "benchmarks.performance.cpu_seconds", "--pair", size, str(repeat)]
            return run(command, env=self.environment()).answer

        return self.once(f"csv {size}", measure)

    def model(self, kind: str, size: str) -> dict[str, Any]:
        """What a model of ratings or of tags takes."""

        def measure() -> Any:
            command = [sys.executable, "-m", "benchmarks.performance.model_fitting", "--records", size]
            run([*command, "--write"], env=self.environment())
            return run([*command, "--measure", kind], env=self.environment()).answer

        return self.once(f"model {kind} {size}", measure)

    def packed(self, size: str, method: str, repeat: int = 3) -> dict[str, Any]:
        """Releases from a log and from a packed store of it, in turns."""

        def measure() -> Any:
            self.need("dense", size)
            self.need("dense", "1m")
            options = ["--method", method, "--repeat", str(repeat)]
            return self._ours("packed", "dense", size, "--warm-up", log_path("dense", "1m"), *options).answer

        return self.once(f"packed {size} {method}", measure)

    def sensing(self, size: str) -> dict[str, Any]:
        """DPSense and DPSense-S, whole and their searches alone."""

        def measure() -> Any:
            self.need("dense", size)
            self.need("dense", "1m")
            command: list[str | Path] = [
                sys.executable,
                "-m",
                "benchmarks.performance.dpsense_search",
                log_path("dense", size),
            ]
            options: list[str | Path] = [
                "--catalogue",
                catalogue_path("dense"),
                "--warm-up",
                log_path("dense", "1m"),
            ]
            return run([*command, *options], env=self.environment()).answer

        return self.once(f"sensing {size}", measure)

    def alone(self, kind: str, size: str, method: str) -> dict[str, Any]:
        """Peak memory of a process that makes one release."""

        def measure() -> Any:
            self.need(kind, size)
            self.need(kind, "1m")
            self._ours("alone", kind, "1m", "--method", method)  # so that the kernels are cached
            finished = self._ours("alone", kind, size, "--method", method)
            return {"peak": finished.peak, **finished.answer}

        return self.once(f"alone {kind} {size} {method}", measure)

    def cold(self, size: str, method: str, repeat: int = 3) -> dict[str, Any]:
        """CLI processes with the kernels cached: the first primes the cache and is not counted."""

        def measure() -> Any:
            self.need("dense", size)
            self.command_line(size, method, WORK / "kernels")
            runs = [self.command_line(size, method, WORK / "kernels") for _ in range(repeat)]
            return {
                "seconds": [process.seconds for process in runs],
                "peak": max(process.peak for process in runs),
            }

        return self.once(f"cold {size} {method}", measure)

    def contestant(self, size: str, method: str) -> dict[str, Any]:
        """Headcount at the rivals' job, told like theirs; SRA does the very same and is checked like them."""

        def measure() -> Any:
            self.need("dense", size)
            self.need("dense", SMALL)
            env, start = (
                {**self.environment(), "METHOD": method},
                [sys.executable, "-m", "benchmarks.comparison.headcount_job"],
            )
            keys: list[str | Path] = ["--keys", keys_path()]
            if method == "sra":
                huge = ["--epsilon", str(HUGE_EPSILON)]
                check_tables(
                    run([*start, log_path("dense", SMALL), *keys, *huge], env=env).answer["tables"], SMALL
                )
            with counts_folder() as counts:
                warm_up: list[str | Path] = ["--warm-up", log_path("dense", SMALL), "--repeat", "5"]
                command = [*start, log_path("dense", size), *keys, *warm_up, "--counts", counts]
                answer = run(command, env=env).answer
                warm = answer["seconds"]
                errors = errors_in(Path(counts), size, len(warm))
            cold = self.cold(size, method)
            return {
                "warm": median(warm),
                "warm runs": warm,
                "cold": median(cold["seconds"]),
                "peak": cold["peak"],
                "rows": [rows for rows, _total in answer["tables"]],
                "errors": errors,
                "once": False,
            }

        return self.once(f"contestant {method} {size}", measure)

    def rival(self, rival: Rival, size: str) -> dict[str, Any]:
        """A rival at one size, once it has shown that it does the job."""

        def check() -> Any:
            self.need("wide", SMALL)
            return check_rival(rival, self.rival_timeout)

        def measure() -> Any:
            self.need("wide", size)
            return measure_rival(rival, size, self.rival_timeout)

        self.once(f"rival {rival.name} does the job", check)
        return self.once(f"rival {rival.name} {size}", measure)

    def noise(self) -> dict[str, Any]:
        command = [sys.executable, "-m", "benchmarks.harness.floor_comparison", "noise"]
        return self.once("noise", lambda: run(command, env=self.environment()).answer)

    def all_kernels(self) -> Path:
        """A folder with every kernel a release compiles: NUMBA_CACHE_DIR overrules whatever the source does."""
        folder = fresh_folder("all-kernels")
        self.command_line("1m", "sra", folder, {"NUMBA_CACHE_DIR": str(folder)})
        return folder

    def command_line(self, size: str, method: str, cache: Path, more: Mapping[str, str] | None = None) -> Finished:
        """One ``headcount release`` process."""
        with tempfile.TemporaryDirectory(dir=WORK) as folder:
            command = [*headcount_command(), *release_options(size, method, f"{folder}/release")]
            finished = run(command, env={**self.environment(), "HEADCOUNT_CACHE": str(cache), **(more or {})})
            if not Path(folder, "release", "release.json").exists():
                raise CouldNotRunError("the command ended well but wrote no release")
            return finished

    def environment(self) -> dict[str, str]:
        return environment_of(ROOT / "src", WORK / "kernels")

    def need(self, kind: str, size: str) -> None:
        """Generate a log in a process of its own unless it is there."""
        DATA.mkdir(parents=True, exist_ok=True)
        wanted = [("dense", size), (kind, size)] if kind != "dense" else [(kind, size)]
        for kind_and_size in wanted:
            paths = log_path(*kind_and_size), catalogue_path(kind_and_size[0]), expected_total_path(size)
            if not all(path.exists() for path in paths):
                run([sys.executable, "-m", "benchmarks.harness.logs", *kind_and_size], env=self.environment())

    def _ours(self, task: str, kind: str, size: str, *options: str | Path) -> Finished:
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "benchmarks.harness.floor_comparison",
            task,
            log_path(kind, size),
        ]
        return run([*command, "--catalogue", catalogue_path(kind), *options], env=self.environment())

    def once(self, key: str, measure: Callable[[], Any]) -> dict[str, Any]:
        if key not in self.measurements:
            print(f"measuring: {key}", file=sys.stderr, flush=True)
            try:
                self.measurements[key] = measure()
            except CouldNotRunError as reason:
                self.measurements[key] = {"could not run": str(reason)}
            self.keep()
        measurement: dict[str, Any] = self.measurements[key]
        if "could not run" in measurement:
            raise CouldNotRunError(measurement["could not run"])
        return measurement


def environment_of(source: Path, kernels: Path) -> dict[str, str]:
    """A source tree as if it was installed: with bytecode, and kernels in a folder that is the benchmark's own."""
    path, bytecode = f"{ROOT}{os.pathsep}{source}", str(WORK / "bytecode")
    own = {"PYTHONPATH": path, "PYTHONPYCACHEPREFIX": bytecode, "HEADCOUNT_CACHE": str(kernels)}
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"} | own


def release_options(size: str, method: str, out: str | Path) -> list[str | Path]:
    """The arguments of ``headcount`` that do the job of the benchmark."""
    limit = limit_of(method)
    return [
        *("release", log_path("dense", size), "--user", "user", "--item", "item"),
        *("--items", catalogue_path("dense"), "--context", "weekday", "--contexts", "0,1,2,3,4,5,6"),
        *("--epsilon", "1", "--method", method, "--out", out, "--json"),
        *([] if limit is None else ["--limit", str(limit)]),
    ]


def headcount_command() -> list[str]:
    """The installed command beside this Python, else the same function from the source tree."""
    script = Path(sys.executable).with_name("headcount")
    if script.exists():
        return [str(script)]
    return [sys.executable, "-c", "from headcount.cli.main import run; run()"]


def source_digest() -> str:
    """What the source tree is now: a table whose rows come from two states of it is not one run."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        digest.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def kernels_in(folder: Path) -> int:
    return sum(1 for _ in folder.rglob("*.nbi"))


def fresh_folder(name: str = "first-kernels") -> Path:
    """An empty folder for compiled kernels, as after an installation."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
