"""``headcount compare``: every method on your own log against the truth. Not private, and it says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from headcount.answers.words import some
from headcount.cli import options, outputs, terminal
from headcount.cli.options import Flags
from headcount.cli.reading import log_of, reading_options
from headcount.errors import UsageError
from headcount.flags import whole_text

NOT_PRIVATE = (
    "NOT PRIVATE: measured against the true counts. For the curator only; never publish it, and choose no method "
    "or limit by it for a release of this same log."
)


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
@click.option("--methods", default="all", show_default=True, metavar="A,B", help="Which methods, or all.")
@click.option("--epsilon", default="0.1,0.5,1,2", show_default=True, metavar="E,E", help="Privacy budgets to try.")
@click.option("--limits", default="1,3,10,30,100", show_default=True, metavar="L,L", help="Limits to try.")
@click.option("--runs", default="20", show_default=True, metavar="N", help="How often each setting is run.")
@outputs.study_options(report="Page to write: plots, a ranking, and a summary in words.")
def command(**flags: Any) -> None:
    """Run every method on EVENTS and measure its counts against the truth. THIS IS NOT PRIVATE.

    What it writes is for the curator's eyes. Methods whose published claim does not hold are compared as well. An
    interrupted comparison goes on where it was if the same command is given again.
    """
    targets = outputs.targets_of(flags)
    if not targets and not flags["as_json"]:
        raise UsageError(
            "a comparison needs a place to go", remedy="add --report compare.html, --table FILE.parquet or --json"
        )
    with terminal.Bar(quiet=flags["quiet"]) as bar:
        comparison = _comparison(flags)
        from headcount.lab.comparing.comparison import MARK, compare, refuse
        from headcount.lab.comparing.grid import save

        log = log_of("compared", flags)
        refuse(log)
        processes = None if flags["processes"] is None else whole_text(flags["processes"], "--processes")
        with outputs.parts_for(targets) as parts:
            table, facts = compare(
                log, comparison, parts, name=_name(flags["events"]), processes=processes, progress=bar
            )
        bar("drawing", 0, None)
        from headcount.reports.comparison import summary, write_comparison_page, write_comparison_pictures
        from headcount.reports.tidy import means

        said = {**MARK, "seed": comparison.seed, "runs": comparison.runs}
        if "table" in targets:
            save(table, targets["table"], said)
        if "report" in targets:
            write_comparison_page(table, facts, targets["report"])
        if "plots" in targets:
            write_comparison_pictures(table, targets["plots"])
    if flags["as_json"]:
        terminal.print_json({**said, "table": table.to_pylist()})
    else:
        for sentence in summary(means(table)):
            terminal.say(sentence)
        for what, path in targets.items():
            terminal.say(f"{path}: {outputs.WHAT[what]}")
    terminal.note(NOT_PRIVATE)


def _comparison(flags: Flags) -> Any:
    from headcount.counts import FAMILY
    from headcount.lab.comparing.comparison import Comparison

    methods = (
        tuple(FAMILY.kinds()) if flags["methods"].strip() == "all" else tuple(listed(flags["methods"], "methods"))
    )
    seed = {} if flags["seed"] is None else {"seed": outputs.seed_of(flags["seed"])}
    return Comparison(
        methods=methods,
        epsilons=tuple(listed(flags["epsilon"], "epsilon")),
        limits=tuple(whole_text(each, "--limits") for each in listed(flags["limits"], "limits")),
        runs=whole_text(flags["runs"], "--runs"),
        **seed,
    )


def listed(text: str, name: str) -> list[str]:
    """Read a list with commas."""
    found = [each.strip() for each in text.split(",")]
    if not all(found):
        raise UsageError(f"--{name} must be a list with commas", given=text, remedy=f"such as --{name} a,b")
    return found


def _name(events: tuple[str, ...]) -> str:
    """Call the log by the name of its file."""
    from headcount.events.sources.naming import shown

    named = shown(events[0])
    first = "standard input" if named == "-" else Path(named).name or named
    return first if len(events) == 1 else f"{first} and {some(len(events) - 1, 'other')}"
