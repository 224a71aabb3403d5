"""``headcount reproduce``: the experiments of a paper again, with a verdict for each claim. Not private."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from headcount.cli import options, terminal
from headcount.errors import UnknownNameError, UsageError

NOT_PRIVATE = "NOT PRIVATE: measured against the true counts of the data. For research alone."
_WHAT = {
    "report": "open it in a browser; it needs no network. Not private.",
    "table": "all measured numbers, as a tidy table. Not private.",
    "plots": "every plot as SVG and PNG. Not private.",
}


@click.command(
    "reproduce",
    short_help="Run a paper's experiments again, and judge its claims. Not private.",
    epilog=options.example("headcount reproduce fan-jin --data data/ --report fan-jin.html"),
)
@click.argument("paper")
@click.option("--data", metavar="DIR", help="Folder with the data sets.  [default: HEADCOUNT_DATA]")
@click.option("--quick", is_flag=True, help="Fewer runs and grid points; what they cannot decide is undecided.")
@click.option("--runs", metavar="N", help="How often each setting is run.  [default: as in the paper]")
@click.option("--seed", metavar="N", help="Seed of samples and noise, recorded in the report.  [default: 2015]")
@click.option("--report", metavar="FILE.html", help="Page to write: figure by figure, with a verdict per claim.")
@click.option("--table", metavar="FILE.parquet", help="File to write all measured numbers to, as a tidy table.")
@click.option("--plots", metavar="DIR", help="Folder to write every plot to, as SVG and PNG.")
@click.option("--processes", metavar="N", help="Worker processes.  [default: one for each processor]")
@click.option("--force", is_flag=True, help="Replace files that are there already.")
@options.json_option
@options.quiet_option
def command(paper: str, **flags: Any) -> None:
    """Run the experiments of PAPER again, and judge every claim. THIS IS NOT PRIVATE.

    PAPER is fan-jin, kellaris or dpsense.

    Each claim was written down before it was run; one that fails is shown as failed. Data sets are looked for by
    name: the publishers' own downloads, or Parquet copies. An interrupted run goes on where it was if the same
    command is given again.
    """
    targets = _targets(flags)
    with terminal.Bar(quiet=flags["quiet"]) as bar:
        bar("starting", 0, None)
        from headcount.evaluation.grid import DEFAULT_SEED, save
        from headcount.evaluation.papers.page import write_page, write_plots
        from headcount.evaluation.papers.paper import reproduce
        from headcount.evaluation.papers.registry import PAPERS

        if paper not in PAPERS:
            raise UnknownNameError.among("paper", paper, PAPERS)
        seed = DEFAULT_SEED if flags["seed"] is None else _seed(flags["seed"])
        with _parts(targets) as parts:
            done = reproduce(
                PAPERS[paper],
                flags["data"],
                parts,
                quick=flags["quick"],
                runs=_whole(flags, "runs"),
                seed=seed,
                processes=_whole(flags, "processes"),
                progress=bar,
            )
        bar("drawing", 0, None)
        if "table" in targets:
            save(done.table, targets["table"], done.summary())
        if "report" in targets:
            write_page(done, targets["report"])
        if "plots" in targets:
            write_plots(done, targets["plots"])
    if flags["as_json"]:
        claims = [each.to_json() for each in done.verdicts]
        terminal.print_json({**done.summary(), "claims": claims, "table": done.table.to_pylist()})
    else:
        _show(done, targets)
    terminal.note(NOT_PRIVATE)


def _show(done: Any, targets: dict[str, Path]) -> None:
    columns = [("verdict", "left"), ("where", "left"), ("the paper says", "left")]
    terminal.print_table(columns, [[each.verdict, each.claim.figure, each.claim.says] for each in done.verdicts])
    counted = Counter(each.verdict for each in done.verdicts)
    click.echo()
    terminal.say(f"{len(done.verdicts)} claims: {', '.join(f'{many} {word}' for word, many in counted.items())}.")
    for name, used in done.datasets.items():
        terminal.say(f"{name} ({used.kind}): {used.provenance}.")
    for name, reason in done.absent.items():
        terminal.say(f"{name} (not used): {reason}.")
    for what, path in targets.items():
        terminal.say(f"{path}: {_WHAT[what]}")


def _targets(flags: dict[str, Any]) -> dict[str, Path]:
    """Return what is to be written where; refuse what is there already, before any work is done."""
    targets = {what: Path(flags[what]) for what in _WHAT if flags[what]}
    for what, path in targets.items():
        if path.exists() and path.is_dir() != (what == "plots"):
            kind, wanted = ("folder", "file") if path.is_dir() else ("file", "folder")
            raise UsageError(f"{path} is a {kind}", remedy=f"give a {wanted} for --{what}")
        taken = any(path.iterdir()) if path.is_dir() else path.exists()
        if taken and not flags["force"]:
            raise UsageError(f"{path} exists already", remedy=f"choose another --{what}, or add --force")
    return targets


@contextmanager
def _parts(targets: dict[str, Path]) -> Iterator[Path]:
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


def _whole(flags: dict[str, Any], name: str) -> int | None:
    return None if flags[name] is None else options.whole_number(flags[name], name)


def _seed(text: str) -> int:
    if not options.is_whole(text) or int(text) < 0:
        raise UsageError("seed must be a whole number", given=text, remedy="try --seed 1")
    return int(text)
