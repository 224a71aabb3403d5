"""``headcount release``: from an event log to a folder of private counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from headcount.answers.words import some, whole
from headcount.cli import options, terminal
from headcount.cli.charged import NOUNS, check_spending, select_limit_of, spend
from headcount.cli.top import NO_ITEMS

_VALUES = ("value", "low", "high")


@click.command(
    "release",
    short_help="Release private counts from an event log.",
    epilog=options.example(
        "headcount release visits.parquet --user user --item venue \\",
        "  --context weekday:time --items venues.csv \\",
        "  --epsilon 1 --out friday/",
    ),
)
@options.event_options
@options.spend_options
@click.option("--method", metavar="NAME", help="How to release; see `headcount methods`.  [default: adaptive]")
@click.option("--limit", metavar="L", help="The most records (or item and context pairs) one person may add.")
@click.option(
    "--what",
    type=click.Choice(["items", "edges", "both", "totals"]),
    help="Which counts, or totals over all people.  [default: both if there is a context, else items]",
)
@click.option("--shares", metavar="STAGE=S,…", help="How the stages share ε, such as items=0.5,edges=0.5.")
@click.option(
    "--noise",
    type=click.Choice(["laplace", "gaussian"]),
    default="laplace",
    show_default=True,
    help="Kind of noise; gaussian needs --delta.",
)
@options.json_option
@options.quiet_option
def command(**flags: Any) -> None:
    """Release item counts and item-by-context counts under user-level differential privacy.

    EVENTS are Parquet, CSV, JSON lines or Arrow files, globs, folders, URIs, - for standard input, or a packed
    store.
    """
    spent = spend(flags, _request, needs_out=True)
    if spent is None:
        return
    if flags["as_json"]:
        terminal.print_json(spent.to_json())
        return
    _show_release(spent.release, spent.folder, quiet=flags["quiet"])


def _request(flags: dict[str, Any]) -> Any:
    check_spending(flags)
    limit = flags["limit"]
    given = options.pairs(flags["options"], "--option") or {}
    from headcount.api import request_of
    from headcount.request import ReleaseRequest

    return request_of(
        ReleaseRequest,
        epsilon=flags["epsilon"],
        delta=flags["delta"],
        select_limit=select_limit_of(flags),
        method=flags["method"],
        limit=None if limit is None else options.whole_number(limit, "limit"),
        what=flags["what"],
        shares=options.pairs(flags["shares"], "--shares"),
        noise=flags["noise"],
        options={name: options.plain_value(value) for name, value in given.items()},
        research=flags["research"],
    )


def _show_release(release: Any, target: Path, *, quiet: bool) -> None:
    counted = {name: table for name, table in release.tables.items() if name != "activity"}
    made = " and ".join(some(table.num_rows, NOUNS[name]) for name, table in counted.items())
    beside = ", and a histogram of how active people are" if "activity" in release.tables else ""
    if not release.is_private:
        terminal.say(terminal.FOR_RESEARCH)
    nothing = not any(table.num_rows for table in counted.values())
    if "totals" in release.tables:
        show_totals(release)
    terminal.say(f"{NO_ITEMS}: {target}" if nothing else f"{made}, of {release.bounded}{beside}: {target}")
    terminal.say(release.guarantee.sentence())
    if not quiet:
        folder = str(target)
        best = ["headcount", "top", folder]
        if "totals" in release.tables:
            best = ["headcount", "export", folder, "--to", f"{target.name or 'totals'}-sheets"]
        elif "items" not in release.tables:
            best += ["--context", release.contexts[0]]
        page = ["headcount", "report", folder, "--to", f"{target.name or 'release'}.html"]
        explain = ["headcount", "explain", folder]
        terminal.note_commands("\nNext:", *([explain] if nothing else [best, explain, page]))


def show_totals(release: Any) -> None:
    """Print totals as a table."""
    columns = [("", "left"), ("value", "right"), ("low", "right"), ("high", "right")]
    rows = [
        [row["total"], *(f"{row[each]:,.6g}" if row["total"] == "mean" else whole(row[each]) for each in _VALUES)]
        for row in release.totals.to_pylist()
    ]
    terminal.print_table(columns, rows)
    click.echo()
