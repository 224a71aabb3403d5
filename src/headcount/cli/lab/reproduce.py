"""``headcount reproduce``: run the experiments of a paper and give a verdict for each claim. Not private."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headcount._internal.parameters import read_whole_number
from headcount.cli import options, terminal
from headcount.cli.lab import outputs
from headcount.cli.options import Flags
from headcount.errors import Parameter, UnknownNameError, UsageError

if TYPE_CHECKING:
    from headcount.lab.replicate.all_papers import AllReproductions
    from headcount.lab.replicate.paper import Reproduction

NOT_PRIVATE = "NOT PRIVATE: measured against the true counts of the data. For research alone."
ALL = "all"


class _Papers(click.Command):
    """A command whose help lists the papers there are."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the papers before the options."""
        with formatter.section("Papers"):
            formatter.write_dl(list(_listed()))
        super().format_options(ctx, formatter)


def _listed() -> Iterator[tuple[str, str]]:
    from headcount.lab.replicate.all_papers import PAPERS

    for name, paper in PAPERS.items():
        reference = paper.claims.paper
        yield name, f"{reference.heading}. {reference.title}. {reference.venue}."
    yield ALL, "All of them, on one page."


@click.command(
    "reproduce",
    cls=_Papers,
    short_help="Run a paper's experiments again, and judge its claims. Not private.",
    epilog=options.example(
        "headcount reproduce fan-jin --data data/ --report fan-jin.html",
        "headcount reproduce all --data data/ --quick --report papers.html",
    ),
)
@click.argument("paper", required=False)
@click.option("--data", metavar="DIR", help="Folder with the data sets.  [default: HEADCOUNT_DATA]")
@click.option("--quick", is_flag=True, help="Fewer runs and grid points; what they cannot decide is undecided.")
@click.option("--runs", metavar="N", help="How often each setting is run.  [default: as in the paper]")
@outputs.study_options(report="Page to write: figure by figure, with a verdict per claim.")
def command(paper: str | None, **flags: Any) -> None:
    """Run the experiments of PAPER again, and judge every claim. THIS IS NOT PRIVATE.

    Each claim was written down before it was run; one that fails is shown as failed. Data sets are looked for by
    name: the publishers' own downloads, or Parquet copies. Of all papers, those without data are shown as such. An
    interrupted run that writes a report, a table or plots goes on where it was if the same command is given again.
    """
    _check(paper)
    targets = outputs.targets_of(flags)
    with terminal.Bar(quiet=flags["quiet"]) as bar:
        bar("starting", 0, None)
        from headcount.lab.compare.trial_grid import DEFAULT_SEED, save
        from headcount.lab.replicate.all_papers import clear_all

        words: dict[str, Any] = {
            "quick": flags["quick"],
            "runs": _whole(flags, "runs"),
            "seed": DEFAULT_SEED if flags["seed"] is None else outputs.seed_of(flags["seed"]),
            "processes": _whole(flags, "processes"),
            "progress": bar,
            "keep": True,
        }
        with outputs.parts_for(targets) as parts:
            done = _run(str(paper), flags["data"], parts, words)
            bar("drawing", 0, None)
            if "table" in targets:
                save(done.table, targets["table"], done.summary())
            _draw(done, targets)
            clear_all(parts)
    if flags["as_json"]:
        terminal.print_json(done.document())
    else:
        _show(done)
        for what, path in targets.items():
            terminal.say(f"{path}: {outputs.WHAT[what]}")
    terminal.note(NOT_PRIVATE)


def _check(paper: str | None) -> None:
    """Refuse what is no paper, before any work is done; the complaint lists those there are."""
    papers = dict(_listed())
    if paper is None:
        listed = "; ".join(f"{name} ({words.partition('.')[0]})" for name, words in papers.items())
        raise UsageError("no paper is given", remedy=f"give one of {listed}")
    if paper not in papers:
        raise UnknownNameError.among("paper", paper, papers)


def _run(paper: str, folder: str | None, parts: Path, words: dict[str, Any]) -> Reproduction | AllReproductions:
    from headcount.lab.replicate.all_papers import PAPERS, reproduce_all
    from headcount.lab.replicate.paper import reproduce

    return (
        reproduce_all(folder, parts, **words) if paper == ALL else reproduce(PAPERS[paper], folder, parts, **words)
    )


def _draw(done: Reproduction | AllReproductions, targets: dict[str, Path]) -> None:
    from headcount.lab.replicate.pages import page
    from headcount.lab.replicate.paper import Reproduction

    writers: dict[str, Any] = {"report": page.write_all_pages, "plots": page.write_all_plots}
    if isinstance(done, Reproduction):
        writers = {"report": page.write_page, "plots": page.write_plots}
    for what, write in writers.items():
        if what in targets:
            write(done, targets[what])


def _show(done: Reproduction | AllReproductions) -> None:
    from headcount.lab.replicate.paper import Reproduction

    if isinstance(done, Reproduction):
        _show_paper(done)
        return
    counted = {name: reproduction.counts for name, reproduction in done.done.items()}
    rows = [[name, *counts.values(), sum(counts.values())] for name, counts in counted.items()]
    rows.append([ALL, *done.counts.values(), sum(done.counts.values())])
    terminal.print_table(("paper", *done.counts, "claims"), "l" + "r" * (len(done.counts) + 1), rows)
    click.echo()
    for name, reason in done.absent.items():
        terminal.say(f"{name} (not run): {reason}.")


def _show_paper(done: Reproduction) -> None:
    rows = [[verdict.verdict, verdict.claim.figure, verdict.claim.says] for verdict in done.verdicts]
    terminal.print_table(("verdict", "where", "the paper says"), "lll", rows)
    counted = ", ".join(f"{many} {word}" for word, many in done.counts.items() if many)
    click.echo()
    terminal.say(f"{len(done.verdicts)} claims: {counted}.")
    for name, used in done.datasets.items():
        terminal.say(f"{name} ({used.kind}): {used.provenance}.")
    for name, reason in done.absent.items():
        terminal.say(f"{name} (not used): {reason}.")


def _whole(flags: Flags, name: str) -> int | None:
    return None if flags[name] is None else read_whole_number(flags[name], Parameter(name))
