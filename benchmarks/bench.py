"""Measurements that several rows share: each is taken once a run and remembered."""

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.contest import HUGE_EPSILON, ROOT, Rival, check_tables, measure_rival
from benchmarks.data import DATA, WORK, catalogue_path, expected_total_path, keys_path, log_path
from benchmarks.measure import CouldNotRunError, Finished, run


@dataclass
class Bench:
    """One run: the sizes and rivals asked for, and what has been measured so far."""

    sizes: list[str]
    rivals: list[Rival]
    rival_timeout: float
    seen: dict[str, Any] = field(default_factory=dict)

    @property
    def largest(self) -> str:
        return self.sizes[-1]

    @property
    def contest_size(self) -> str:
        return "10m" if "10m" in self.sizes else self.sizes[0]

    def pair(self, kind: str, size: str, method: str, repeat: int = 5) -> dict[str, Any]:
        """Floor and release in turns: lists of seconds."""

        def measure() -> Any:
            self.need(kind, size)
            self.need(kind, "1m")
            dictionary = ["--read-dictionary"] if kind == "text" else []
            options = ["--method", method, "--repeat", str(repeat), *dictionary]
            return self._ours("pair", kind, size, "--warm-up", log_path(kind, "1m"), *options).answer

        return self._once(f"pair {kind} {size} {method}", measure)

    def packed(self, size: str, method: str, repeat: int = 3) -> dict[str, Any]:
        """Releases from a log and from a packed store of it, in turns."""

        def measure() -> Any:
            self.need("dense", size)
            self.need("dense", "1m")
            options = ["--method", method, "--repeat", str(repeat)]
            return self._ours("packed", "dense", size, "--warm-up", log_path("dense", "1m"), *options).answer

        return self._once(f"packed {size} {method}", measure)

    def sensing(self, size: str) -> dict[str, Any]:
        """DPSense and DPSense-S, whole and their searches alone."""

        def measure() -> Any:
            self.need("dense", size)
            self.need("dense", "1m")
            command: list[str | Path] = [sys.executable, "-m", "benchmarks.sensing", log_path("dense", size)]
            options: list[str | Path] = [
                "--catalogue",
                catalogue_path("dense"),
                "--warm-up",
                log_path("dense", "1m"),
            ]
            return run([*command, *options], env=self.environment()).answer

        return self._once(f"sensing {size}", measure)

    def alone(self, kind: str, size: str, method: str) -> dict[str, Any]:
        """Peak memory of a process that makes one release."""

        def measure() -> Any:
            self.need(kind, size)
            self.need(kind, "1m")
            self._ours("alone", kind, "1m", "--method", method)  # so that the kernels are cached
            finished = self._ours("alone", kind, size, "--method", method)
            return {"peak": finished.peak, **finished.answer}

        return self._once(f"alone {kind} {size} {method}", measure)

    def cold(self, size: str, method: str, repeat: int = 3) -> dict[str, Any]:
        """CLI processes with the kernels cached: the first primes the cache and is not counted."""

        def measure() -> Any:
            self.need("dense", size)
            self.command_line(size, method, WORK / "kernels")
            runs = [self.command_line(size, method, WORK / "kernels") for _ in range(repeat)]
            return {"seconds": [one.seconds for one in runs], "peak": max(one.peak for one in runs)}

        return self._once(f"cold {size} {method}", measure)

    def contestant(self, size: str) -> dict[str, Any]:
        """Headcount's own warm time at the rivals' job, checked like theirs."""

        def measure() -> Any:
            self.need("dense", size)
            self.need("dense", "1m")
            env, start = self.environment(), [sys.executable, "-m", "benchmarks.ours_job"]
            keys: list[str | Path] = ["--keys", keys_path()]
            tables = run([*start, log_path("dense", "1m"), *keys, "--epsilon", str(HUGE_EPSILON)], env=env).answer[
                "tables"
            ]
            check_tables(tables, "1m")
            warm_up: list[str | Path] = ["--warm-up", log_path("dense", "1m"), "--repeat", "5"]
            return run([*start, log_path("dense", size), *keys, *warm_up], env=env).answer

        return self._once(f"contestant {size}", measure)

    def rival(self, rival: Rival, size: str) -> dict[str, Any]:
        def measure() -> Any:
            self.need("wide", size)
            self.need("wide", "1m")
            return measure_rival(rival, size, self.rival_timeout)

        return self._once(f"rival {rival.name} {size}", measure)

    def noise(self) -> dict[str, Any]:
        command = [sys.executable, "-m", "benchmarks.ours", "noise"]
        return self._once("noise", lambda: run(command, env=self.environment()).answer)

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
        for one in wanted:
            paths = log_path(*one), catalogue_path(one[0]), expected_total_path(size)
            if not all(path.exists() for path in paths):
                run([sys.executable, "-m", "benchmarks.data", *one], env=self.environment())

    def _ours(self, task: str, kind: str, size: str, *options: str | Path) -> Finished:
        command: list[str | Path] = [sys.executable, "-m", "benchmarks.ours", task, log_path(kind, size)]
        return run([*command, "--catalogue", catalogue_path(kind), *options], env=self.environment())

    def _once(self, key: str, measure: Callable[[], Any]) -> dict[str, Any]:
        if key not in self.seen:
            print(f"measuring: {key}", file=sys.stderr, flush=True)
            try:
                self.seen[key] = measure()
            except CouldNotRunError as reason:
                self.seen[key] = {"could not run": str(reason)}
        found: dict[str, Any] = self.seen[key]
        if "could not run" in found:
            raise CouldNotRunError(found["could not run"])
        return found


def environment_of(source: Path, kernels: Path) -> dict[str, str]:
    """A source tree as if it was installed: with bytecode, and kernels in a folder that is the benchmark's own."""
    path, bytecode = f"{ROOT}{os.pathsep}{source}", str(WORK / "bytecode")
    own = {"PYTHONPATH": path, "PYTHONPYCACHEPREFIX": bytecode, "HEADCOUNT_CACHE": str(kernels)}
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"} | own


def release_options(size: str, method: str, out: str | Path) -> list[str | Path]:
    """The arguments of ``headcount`` that do the job of the benchmark."""
    return [
        *("release", log_path("dense", size), "--user", "user", "--item", "item"),
        *("--items", catalogue_path("dense"), "--context", "weekday", "--contexts", "0,1,2,3,4,5,6"),
        *("--epsilon", "1", "--method", method, "--limit", "10", "--out", out, "--json"),
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
