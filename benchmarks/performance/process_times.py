"""Wall time of whole commands, start-up included: ``python -m benchmarks.performance.process_times``.

    help     ``headcount --help``
    top      ``headcount top`` of a release of one million records
    1m, 10m  ``headcount release``, cold: kernels are cached on disk
    first    ``headcount release`` of one million records with an empty cache, as after an installation of a wheel

With ``--against``, the source folder of another version, both take turns. The fastest turn is told, in seconds by
the clock and in seconds that the processors were busy, which other programs disturb less; and the largest peak
of memory, in MiB.
"""

import argparse
import shutil
import sys
from pathlib import Path

from benchmarks.comparison.rival_environments import ROOT
from benchmarks.harness.logs import WORK
from benchmarks.harness.measurements import environment_of, release_options
from benchmarks.harness.processes import Finished, run

TASKS = ("help", "top", "1m", "10m", "first")
PROGRAM = [sys.executable, "-c", "from headcount.cli.main import run; run()"]


def turn(task: str, source: Path, own: Path) -> Finished:
    """Run one process of a version, whose kernels and releases lie in a folder of its own."""
    kernels, out = own / "kernels", own / "release"
    if task == "first":
        kernels = own / "first"
        shutil.rmtree(kernels, ignore_errors=True)
    size = "10m" if task == "10m" else "1m"
    arguments: list[str | Path] = ["--help"] if task == "help" else ["top", out]
    if task not in ("help", "top"):
        shutil.rmtree(out, ignore_errors=True)
        arguments = release_options(size, "sra", out)
    return run([*PROGRAM, *arguments], env=environment_of(source, kernels))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.performance.process_times", description=__doc__)
    parser.add_argument("--against", type=Path, metavar="SRC")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=TASKS, default=list(TASKS))
    given = parser.parse_args()
    sources = {"this": ROOT / "src"} | ({"other": given.against.resolve()} if given.against else {})
    for size in {"1m", *given.only} & {"1m", "10m"}:
        run(
            [sys.executable, "-m", "benchmarks.harness.logs", "dense", size],
            env=environment_of(ROOT / "src", WORK),
        )
    folders = {name: WORK / f"starting-{name}" for name in sources}
    for name, folder in folders.items():
        folder.mkdir(parents=True, exist_ok=True)
        turn("1m", sources[name], folder)  # bytecode, kernels and a release, for those that follow
    for task in given.only:
        runs_by_source: dict[str, list[Finished]] = {name: [] for name in sources}
        for _ in range(given.turns):
            for name, source in sources.items():
                runs_by_source[name].append(turn(task, source, folders[name]))
        for name, runs in runs_by_source.items():
            clock, busy, peak = min(x.seconds for x in runs), min(x.busy for x in runs), max(x.peak for x in runs)
            print(f"{task:6}{name:6} clock {clock:7.3f}  busy {busy:7.3f}  peak {peak >> 20:4}", flush=True)


if __name__ == "__main__":
    main()
