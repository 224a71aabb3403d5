"""``headcount query``: thousands of counts over a table of people, under one ε."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from headcount.answers.words import some, whole
from headcount.cli import options, terminal
from headcount.cli.charged import spend
from headcount.errors import DataError, UsageError

_SHOWN = 12
_SMALL = 10  # below, decimals are shown: published methods answer with shares


@click.command(
    "query",
    short_help="Answer many counting queries over a table of people.",
    epilog=options.example(
        "headcount query people.parquet --user id --bins bins.toml \\",
        "  --groups household --max-group 6 --queries queries.sql \\",
        "  --epsilon 1 --out answers/",
    ),
)
@options.people_options
@options.spend_options
@click.option(
    "--bins",
    type=click.UNPROCESSED,
    required=True,
    metavar="FILE",
    help="Public bins of the columns: a TOML file.",
)
@click.option(
    "--queries",
    type=click.UNPROCESSED,
    required=True,
    metavar="FILE",
    help="SQL statements, SELECT COUNT(*) FROM people WHERE …, ended by semicolons.",
)
@click.option("--max-records", default="1", show_default=True, metavar="M", help="The most records of one person.")
@click.option("--groups", metavar="COL", help="Public column that says who belongs together, such as a household.")
@click.option("--max-group", metavar="K", help="The most people of a group; larger ones are cut down by sampling.")
@click.option("--method", metavar="NAME", help="How to answer; see `headcount methods`.  [default: auto]")
@click.option("--shares", metavar="STAGE=S,…", help="How the stages share ε, such as total=0.05,….")
@options.json_option
@options.quiet_option
def command(**flags: Any) -> None:
    """Answer counting queries over a table of people, all under one ε.

    PEOPLE are files as for `release`, with a row a record. With --groups, ε protects whole groups: the promise is
    about everyone of a household at once.
    """
    spent = spend({**flags, "select_items": False}, _request, needs_out=True, log_of=options.people_log)
    if spent is None:
        return
    if flags["as_json"]:
        terminal.print_json(spent.to_json())
        return
    _show(spent.release, spent.folder, quiet=flags["quiet"])


def _request(flags: dict[str, Any]) -> Any:
    from headcount.api import request_of
    from headcount.request import QueryRequest

    given = options.pairs(flags["options"], "--option") or {}
    most = flags["max_group"]
    limit = flags["select_limit"]
    return request_of(
        QueryRequest,
        epsilon=flags["epsilon"],
        delta=flags["delta"],
        select_limit=None if limit is None else options.whole_number(limit, "select-limit"),
        bins=flags["bins"],
        queries=_statements(flags["queries"]),
        groups=flags["groups"],
        max_group=None if most is None else options.whole_number(most, "max-group"),
        max_records=options.whole_number(flags["max_records"], "max-records"),
        method=flags["method"],
        shares=options.pairs(flags["shares"], "--shares"),
        options={name: options.plain_value(value) for name, value in given.items()},
        research=flags["research"],
    )


def _statements(given: Any) -> Any:
    """Read the file of statements; a configuration may list them instead."""
    if isinstance(given, list | tuple):
        return list(given)
    path = Path(given)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror or error})", remedy="give a file of SQL statements"
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text", remedy="give a file of SQL statements") from error
    if not text.strip():
        raise UsageError(f"{path} holds no query", remedy="such as SELECT COUNT(*) FROM people WHERE age >= 18;")
    return text


def _show(release: Any, target: Path, *, quiet: bool) -> None:
    if not release.is_private:
        terminal.say(terminal.FOR_RESEARCH)
    show_answers(release)
    terminal.say(f"{some(release.answers.num_rows, 'answer')}, of {release.bounded}: {target}")
    terminal.say(release.guarantee.sentence())
    if not quiet:
        folder = str(target)
        sheets = ["headcount", "export", folder, "--to", f"{target.name or 'answers'}-sheets"]
        terminal.note_commands("\nNext:", sheets, ["headcount", "explain", folder])


def show_answers(release: Any) -> None:
    """Print the first answers as a table."""
    rows = release.answers.slice(0, _SHOWN).to_pylist()
    columns = [("query", "left"), ("answer", "right"), ("low", "right"), ("high", "right")]
    terminal.print_table(
        columns, [[_name(row), *(_number(row[each]) for each in columns_of(row))] for row in rows]
    )
    if release.answers.num_rows > _SHOWN:
        terminal.say(f"… and {release.answers.num_rows - _SHOWN:,} more.")
    click.echo()


def columns_of(row: dict[str, Any]) -> list[str]:
    """Return the numbers of an answer that are shown."""
    return [name for name in ("answer", "low", "high") if name in row]


def _name(row: dict[str, Any]) -> str:
    return f"{row['query']}" + ("" if row["cell"] is None else f" [{row['cell']}]")


def _number(value: float | None) -> str:
    if value is None:
        return "?"
    return whole(value) if abs(value) >= _SMALL else f"{value:.3g}"
