"""``headcount compare``: measure the errors of every method on your own log. Not private."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from headcount._internal.parameters import read_whole_number
from headcount.cli import options, terminal
from headcount.cli.input_options import log_of, reading_options
from headcount.cli.lab import outputs
from headcount.cli.options import Flags
from headcount.errors import Parameter, UsageError, param
from headcount.releases.formatting import some

NOT_PRIVATE = (
    "NOT PRIVATE: measured against the true counts. For the curator only; never publish it, and choose no method "
    "or limit by it for a release of this same log."
)


_OPTIONS_OF_STUDY: Mapping[str, tuple[str, ...]] = {
    "counts": ("methods", "epsilon", "limits"),
    "rankings": ("methods", "epsilon", "limits", "tops", "delta"),
    "selection": ("epsilon", "limits", "shares", "delta"),
}
"""The lists of settings that each comparison tries."""

_FIELDS = {"epsilon": "epsilons", "delta": "deltas"}  # of a study, where they are not called as their flags


@click.command(
    "compare",
    short_help="Compare all methods on a log against the truth. Not private.",
    epilog=options.example(
        "headcount compare visits.parquet --user user --item venue \\",
        "  --items venues.csv --methods all --epsilon 0.1,0.5,1,2 \\",
        "  --limits 1,3,10,30,100 --runs 20 --report compare.html",
    ),
)
@reading_options("compared")
@click.option(
    "--what",
    type=click.Choice(tuple(_OPTIONS_OF_STUDY)),
    default="counts",
    show_default=True,
    help="Counts; rankings by people, of `rank` and of counts; or the selection of items by --select-items.",
)
@click.option("--methods", metavar="A,B", help="Which methods of counts, or all.  [default: all]")
@click.option("--epsilon", metavar="E,E", help="Privacy budgets to try.  [default: 0.1,0.5,1,2]")
@click.option("--limits", metavar="L,L", help="Limits to try.  [default: 1,3,10,30,100]")
@click.option("-k", "tops", metavar="K,K", help="For rankings: how many places.  [default: 10,20]")
@click.option("--shares", metavar="S,S", help="For selection: shares of ε that it takes.  [default: 0.2,0.5]")
@click.option(
    "--delta",
    metavar="D,D",
    help="For selection: δ to try.  [default: 1e-6]  For rankings: one δ.  [default: none]",
)
@click.option("--runs", default="20", show_default=True, metavar="N", help="How often each setting is run.")
@outputs.study_options(report="Page to write: plots, a ranking, and a summary in words.")
def command(**flags: Any) -> None:
    """Run every method on EVENTS and measure its counts against the truth. THIS IS NOT PRIVATE.

    With --what rankings: what each finds of the items that most people have. With --what selection: which items
    are found where nobody lists them. What it writes is for the curator's eyes. Methods whose published claim does
    not hold are compared as well. An interrupted comparison goes on where it was if the same command is given
    again.
    """
    targets = outputs.targets_of(flags)
    if not targets and not flags["as_json"] and flags["what"] == "counts":
        raise UsageError(
            "a comparison needs a place to go", remedy="add --report compare.html, --table FILE.parquet or --json"
        )
    with terminal.Bar(quiet=flags["quiet"]) as bar:
        study = _study(flags)
        from headcount.lab.compare.comparison import MARK, compare
        from headcount.lab.compare.trial_grid import save

        selecting = study.what == "selection" and not flags["items"]
        log = study.compared(log_of("compared", {**flags, "select_items": flags["select_items"] or selecting}))
        processes = None if flags["processes"] is None else read_whole_number(flags["processes"], param.processes)
        with outputs.parts_for(targets) as parts:
            table, facts = compare(
                log, study, parts, name=_name(flags["events"]), processes=processes, progress=bar
            )
        bar("drawing", 0, None)
        from headcount.reports.charts.trial_means import means
        from headcount.reports.lab.comparison import summary, write_comparison_page, write_comparison_pictures

        metadata = {**MARK, "what": study.what, "seed": study.seed, "runs": study.runs}
        if "table" in targets:
            save(table, targets["table"], metadata)
        if "report" in targets:
            write_comparison_page(table, facts, targets["report"])
        if "plots" in targets:
            write_comparison_pictures(table, targets["plots"], study.what)
    if flags["as_json"]:
        terminal.print_json({**metadata, "table": table.to_pylist()})
    else:
        averages = means(table)
        if study.what != "counts":
            _show(averages, study.what)
        for sentence in summary(averages, study.what):
            terminal.say(sentence)
        for what, path in targets.items():
            terminal.say(f"{path}: {outputs.WHAT[what]}")
    terminal.note(NOT_PRIVATE)


def _study(flags: Flags) -> Any:
    """Return what is compared; an option that it has no use for is refused."""
    from headcount.lab.compare.comparison import Comparison
    from headcount.lab.compare.rankings import RankingComparison
    from headcount.lab.compare.selections import SelectionComparison

    kinds: dict[str, Any] = {
        study_class.what: study_class for study_class in (Comparison, RankingComparison, SelectionComparison)
    }
    what = flags["what"]
    for name in dict.fromkeys(label for option_names in _OPTIONS_OF_STUDY.values() for label in option_names):
        if flags[name] is not None and name not in _OPTIONS_OF_STUDY[what]:
            users = " and ".join(
                f"--what {label}" for label, option_names in _OPTIONS_OF_STUDY.items() if name in option_names
            )
            raise UsageError(f"{_flag(name)} is of no use with --what {what}", remedy=f"it is for {users}")
    given = {name: flags[name] for name in _OPTIONS_OF_STUDY[what] if flags[name] is not None}
    if given.get("methods", "").strip() == "all":
        del given["methods"]
    lists: dict[str, Any] = {_FIELDS.get(name, name): _values(name, text) for name, text in given.items()}
    seed: dict[str, Any] = {} if flags["seed"] is None else {"seed": outputs.seed_of(flags["seed"])}
    return kinds[what](**lists, runs=read_whole_number(flags["runs"], param.runs), **seed)


def _values(name: str, text: str) -> tuple[Any, ...]:
    """Read the values of a list: whole numbers where such are asked for."""
    texts = listed(text, _flag(name).lstrip("-"))
    return (
        tuple(read_whole_number(entry, Parameter("k" if name == "tops" else name)) for entry in texts)
        if name in ("limits", "tops")
        else tuple(texts)
    )


def _flag(name: str) -> str:
    return "-k" if name == "tops" else f"--{name}"


def _show(averages: Any, what: str) -> None:
    """Print what was found at every ε, each at its best limit there, in hindsight."""
    from headcount.reports.lab.comparison import over_epsilons

    for title, headings, rows in over_epsilons(averages, what):
        terminal.say(f"{title}, each at its best limit in hindsight")
        click.echo()
        terminal.print_table(("", *headings), "l" + "r" * len(headings), rows)
        click.echo()


def listed(text: str, name: str) -> list[str]:
    """Read a list with commas."""
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        flag = f"-{name}" if len(name) == 1 else f"--{name}"
        raise UsageError(f"{flag} must be a list with commas", given=text, remedy=f"such as {flag} a,b")
    return parts


def _name(events: tuple[str, ...]) -> str:
    """Call the log by the name of its file."""
    from headcount.events.sources.files.paths import redact

    named = redact(events[0])
    first = "standard input" if named == "-" else Path(named).name or named
    return first if len(events) == 1 else f"{first} and {some(len(events) - 1, 'other')}"
