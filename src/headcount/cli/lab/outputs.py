"""Output flags of ``compare`` and ``reproduce``, and the folder of their unfinished runs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from headcount._internal.parameters import is_whole
from headcount.cli import options, terminal
from headcount.cli.options import Flags
from headcount.errors import Parameter, UsageError

WHAT = {
    "report": "open it in a browser; it needs no network. Not private.",
    "table": "all measured numbers, as a tidy table. Not private.",
    "plots": "every plot as SVG and PNG. Not private.",
}


def study_options(*, report: str) -> Callable[[Any], Any]:
    """Add the options that both have; ``report`` says what their page shows."""
    return options.grouped(
        [
            click.option(
                "--seed", metavar="N", help="Seed of samples and noise, recorded in the report.  [default: 2015]"
            ),
            click.option("--report", metavar="FILE.html", help=report),
            click.option(
                "--table", metavar="FILE.parquet", help="File to write all measured numbers to, as a tidy table."
            ),
            click.option("--plots", metavar="DIR", help="Folder to write every plot to, as SVG and PNG."),
            click.option("--processes", metavar="N", help="Worker processes.  [default: one for each processor]"),
            click.option("--force", is_flag=True, help="Replace files that are there already."),
            options.json_option,
            options.quiet_option,
        ]
    )


def targets_of(flags: Flags) -> dict[str, Path]:
    """Return what is to be written where; refuse what is there already, before any work is done."""
    targets = {what: Path(flags[what]) for what in WHAT if flags[what]}
    for what, path in targets.items():
        if path.exists() and path.is_dir() != (what == "plots"):
            kind, wanted = ("folder", "file") if path.is_dir() else ("file", "folder")
            raise UsageError(f"{path} is a {kind}", remedy=f"give a {wanted} for --{what}")
        taken = any(path.iterdir()) if path.is_dir() else path.exists()
        if taken and not flags["force"]:
            raise UsageError.taken(path, Parameter(what))
    return targets


@contextmanager
def parts_for(targets: dict[str, Path]) -> Iterator[Path]:
    """Return the folder of unfinished work: beside what it is for, so that the same command finds it again."""
    if not targets:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder) / "parts"
        return
    first = next(iter(targets.values()))
    parts = first.with_name(f"{first.name}.parts")
    try:
        yield parts
    except KeyboardInterrupt:
        if parts.exists():
            terminal.note(f"What is finished is kept in {parts}: give the same command again to go on.")
        raise


def seed_of(text: str) -> int:
    """Read a seed."""
    if not is_whole(text) or int(text) < 0:
        raise UsageError("seed must be a whole number", given=text, remedy="try --seed 1")
    return int(text)
