"""``headcount release``, ``rank`` and ``query``: release counts, direct rankings and answers to queries."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headcount.cli import terminal
from headcount.cli.charged import Charged, Shown, charged_command, ledger_fields
from headcount.cli.commands.post_processing import nothing_selected, show_table, show_totals
from headcount.cli.options import Flags
from headcount.errors import UsageError
from headcount.methods import counts, queries, rankings
from headcount.methods.queries import SYNTHETIC
from headcount.methods.registry import table
from headcount.releases.formatting import some, undecided_contexts

if TYPE_CHECKING:
    from headcount.releases.release import Release

_SHOWN = 40


@charged_command(
    counts.FAMILY,
    "headcount release visits.parquet --user user --item venue \\",
    "  --context weekday:time --items venues.csv \\",
    "  --epsilon 1 --out friday/",
)
def release(spent: Charged, flags: Flags) -> Shown:  # noqa: ARG001
    """Release item counts and item-by-context counts under user-level differential privacy.

    EVENTS are Parquet, CSV, JSON lines or Arrow files, globs, folders, URIs, - for standard input, or a packed
    store.
    """
    released, folder = spent.release, str(spent.folder)
    explain = ["headcount", "explain", folder]
    main = {name: rows for name, rows in released.tables.items() if not table(name).beside}
    if not any(rows.num_rows for rows in main.values()):
        return Shown(nothing_selected(released), [explain])
    beside = "".join(f", and {table(name).beside}" for name in released.tables if table(name).beside)
    summary = " and ".join(some(rows.num_rows, table(name).noun) for name, rows in main.items())
    has_totals = "totals" in released.tables
    best = ["headcount", "top", folder]
    if has_totals:
        best = ["headcount", "export", folder, "--to", f"{spent.folder.name or 'totals'}-sheets"]
    elif "items" not in released.tables:
        best += ["--context", (released.contexts or ("",))[0]]
    page = ["headcount", "report", folder, "--to", f"{spent.folder.name or 'release'}.html"]
    above = partial(show_totals, released) if has_totals else None
    return Shown(f"{summary}, of {released.bounded}{beside}", [best, explain, page], above)


def _refuse_unused_context(flags: Flags) -> None:
    if flags["context"] and not flags["per_context"] and flags["context_of"] != "user":
        raise UsageError(
            "a context changes nothing in a ranking of everything",
            remedy="add --per-context for one ranking each, or leave --context out",
        )


@charged_command(
    rankings.FAMILY,
    "headcount rank visits.parquet --user user --item venue \\",
    "  --items venues.csv --epsilon 0.5 -k 10",
    prepare=_refuse_unused_context,
    needs_out=False,
)
def rank(spent: Charged, flags: Flags) -> None:
    """Release the K items that most people have, under user-level differential privacy.

    Every person counts once per item, so no limit is needed. The ranking is printed, and with --out kept as a
    release. With --per-context and --context-of user each context's ranking gets all of ε.
    """
    ranked = spent.release
    if flags["as_json"]:
        terminal.print_json(_ranking_json(spent))
        return
    contexts = ranked.contexts or (None,)
    for context in contexts:
        show_table(ranked, ranked.top(int(flags["k"]), context), context=context, last=context == contexts[-1])
    if spent.target is not None and not flags["quiet"]:
        _say_where(ranked, spent.target)


def _ranking_json(spent: Charged) -> dict[str, Any]:
    ranked = spent.release
    result: dict[str, Any] = {"guarantee": ranked.guarantee.to_json(), "ranking": ranked.ranking.to_pylist()}
    if undecided_contexts(ranked.chosen):
        result["nothing_told"] = list(undecided_contexts(ranked.chosen))
    if spent.target is not None:
        result |= {"out": str(spent.target), **spent.timing}
    if spent.target is not None or spent.charging is not None:
        result |= ledger_fields(ranked)
    return result


def _say_where(ranked: Release, target: Path) -> None:
    """Say where the release is, and what can be done with it."""
    folder = str(target)
    best = ["headcount", "top", folder, *(["--context", ranked.contexts[0]] if ranked.contexts else [])]
    page = ["headcount", "report", folder, "--to", f"{target.name or 'ranking'}.html"]
    words, explain = f"\nKept in {terminal.printable(folder)}. Next:", ["headcount", "explain", folder]
    terminal.note_commands(words, *([best, explain, page] if ranked.ranking.num_rows else [explain]))


def _add_degrees(flags: dict[str, Any]) -> None:
    """Hand ``--degrees`` to the method as an option: no request has this field."""
    degrees = flags.pop("degrees")
    if degrees is not None:
        flags["options"] = (*flags["options"], f"degrees={degrees}")


@charged_command(
    queries.FAMILY,
    "headcount query people.parquet --user id --bins bins.toml \\",
    "  --groups household --max-group 6 --queries queries.sql \\",
    "  --epsilon 1 --out answers/",
    more=[
        click.option(
            "--degrees",
            metavar="FILE",
            help="For cim-published: how strongly people are coupled, a table of the columns a, b and degree.",
        )
    ],
    prepare=_add_degrees,
)
def query(spent: Charged, flags: Flags) -> Shown:  # noqa: ARG001
    """Answer counting queries over a table of people, all under one ε.

    PEOPLE are files as for `release`, with a row a record. Without --user every row is one person: then nobody may
    have two rows. With --groups, ε protects whole groups: the promise is
    about everyone of a household at once.
    """
    answered, folder = spent.release, str(spent.folder)
    sheets = ["headcount", "export", folder, "--to", f"{spent.folder.name or 'answers'}-sheets"]
    summary = f"{some(answered.answers.num_rows, 'answer')}, of {answered.bounded}"
    if SYNTHETIC.name in answered.tables:
        summary += f", and {some(answered.tables[SYNTHETIC.name].num_rows, SYNTHETIC.noun)}"
    return Shown(summary, [sheets, ["headcount", "explain", folder]], partial(_show_answers, answered))


def _show_answers(release: Release) -> None:
    """Print the first answers: those of a GROUP BY below its statement, the others in one table."""
    from headcount.reports.parts.tables import NUMBERS, answer_blocks

    for block in answer_blocks(release, _SHOWN):
        if block.statement is not None:
            terminal.say(terminal.printable(block.statement))
        sides = "l" * len(block.names) + "r" * len(NUMBERS)
        terminal.print_table((*block.names, *NUMBERS), sides, block.shown())
        click.echo()
    if release.answers.num_rows > _SHOWN:
        terminal.say(f"… and {release.answers.num_rows - _SHOWN:,} more, all in the release.")
        click.echo()
