"""``headcount reproduce``: the experiments of a paper again, with a verdict for each claim. Not private."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from headcount.cli import options, outputs, terminal
from headcount.cli.options import Flags
from headcount.errors import UnknownNameError
from headcount.flags import whole_text

NOT_PRIVATE = "NOT PRIVATE: measured against the true counts of the data. For research alone."


@click.command(
    "reproduce",
    short_help="Run a paper's experiments again, and judge its claims. Not private.",
    epilog=options.example("headcount reproduce fan-jin --data data/ --report fan-jin.html"),
)
@click.argument("paper")
@click.option("--data", metavar="DIR", help="Folder with the data sets.  [default: HEADCOUNT_DATA]")
@click.option("--quick", is_flag=True, help="Fewer runs and grid points; what they cannot decide is undecided.")
@click.option("--runs", metavar="N", help="How often each setting is run.  [default: as in the paper]")
@outputs.study_options(report="Page to write: figure by figure, with a verdict per claim.")
def command(paper: str, **flags: Any) -> None:
    """Run the experiments of PAPER again, and judge every claim. THIS IS NOT PRIVATE.

    PAPER is fan-jin, kellaris, dpsense, pncf, pritop or cim.

    Each claim was written down before it was run; one that fails is shown as failed. Data sets are looked for by
    name: the publishers' own downloads, or Parquet copies. An interrupted run goes on where it was if the same
    command is given again.
    """
    targets = outputs.targets_of(flags)
    with terminal.Bar(quiet=flags["quiet"]) as bar:
        bar("starting", 0, None)
        from headcount.lab.comparing.grid import DEFAULT_SEED, save
        from headcount.lab.papers.page import write_page, write_plots
        from headcount.lab.papers.paper import reproduce
        from headcount.lab.papers.registry import PAPERS

        if paper not in PAPERS:
            raise UnknownNameError.among("paper", paper, PAPERS)
        seed = DEFAULT_SEED if flags["seed"] is None else outputs.seed_of(flags["seed"])
        with outputs.parts_for(targets) as parts:
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
        terminal.say(f"{path}: {outputs.WHAT[what]}")


def _whole(flags: Flags, name: str) -> int | None:
    return None if flags[name] is None else whole_text(flags[name], f"--{name}")
