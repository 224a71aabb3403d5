"""``headcount query``: answer many counting queries over a table of users with one ε."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from headcount.cli import options, terminal
from headcount.cli.charged import charged_options, show, spend
from headcount.methods.queries import FAMILY, SYNTHETIC
from headcount.releases.formatting import some

if TYPE_CHECKING:
    from headcount.releases.release import Release

_SHOWN = 40


@click.command(
    "query",
    short_help=FAMILY.short_help,
    epilog=options.example(
        "headcount query people.parquet --user id --bins bins.toml \\",
        "  --groups household --max-group 6 --queries queries.sql \\",
        "  --epsilon 1 --out answers/",
    ),
)
@charged_options(FAMILY)
@click.option(
    "--degrees",
    metavar="FILE",
    help="For cim-published: how strongly people are coupled, a table of the columns a, b and degree.",
)
def command(degrees: str | None, **flags: Any) -> None:
    """Answer counting queries over a table of people, all under one ε.

    PEOPLE are files as for `release`, with a row a record. Without --user every row is one person: then nobody may
    have two rows. With --groups, ε protects whole groups: the promise is
    about everyone of a household at once.
    """
    if degrees is not None:  # no field of the request: only a method that is kept for research takes it
        flags["options"] = (*flags["options"], f"degrees={degrees}")
    spent = spend(FAMILY, flags)
    if spent is None:
        return
    release, folder = spent.release, str(spent.folder)
    sheets = ["headcount", "export", folder, "--to", f"{spent.folder.name or 'answers'}-sheets"]
    summary = f"{some(release.answers.num_rows, 'answer')}, of {release.bounded}"
    if SYNTHETIC.name in release.tables:
        summary += f", and {some(release.tables[SYNTHETIC.name].num_rows, SYNTHETIC.noun)}"
    above = partial(_show_answers, release)
    show(spent, flags, summary, sheets, ["headcount", "explain", folder], above=above)


def _show_answers(release: Release) -> None:
    """Print the first answers: those of a GROUP BY below its statement, the others in one table."""
    from headcount.reports.parts.query_answers import NUMBERS, answer_blocks

    for block in answer_blocks(release, _SHOWN):
        if block.statement is not None:
            terminal.say(terminal.printable(block.statement))
        columns = [(name, "left") for name in block.names] + [(name, "right") for name in NUMBERS]
        terminal.print_table(columns, block.shown())
        click.echo()
    if release.answers.num_rows > _SHOWN:
        terminal.say(f"… and {release.answers.num_rows - _SHOWN:,} more, all in the release.")
        click.echo()
