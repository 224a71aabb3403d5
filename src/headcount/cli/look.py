"""``headcount inspect``: what is in an event file. It shows raw data: for the curator's eyes only."""

from __future__ import annotations

import shlex
from typing import Any

import click

from headcount.cli import options, terminal

_USERS = (
    "user",
    "user_id",
    "userid",
    "uid",
    "customer",
    "customer_id",
    "visitor",
    "member",
    "person",
    "who",
    "account",
)
_ITEMS = (
    "item",
    "item_id",
    "venue",
    "product",
    "movie",
    "artist",
    "page",
    "resource",
    "what",
    "title",
    "place",
    "url",
)


@click.command("inspect", short_help="Look at an event file: columns, types, nulls.")
@click.argument("events", nargs=-1, required=True, metavar="EVENTS...")
@click.option("--delimiter", metavar="C", help="Delimiter of text files.")
@click.option("--encoding", default="utf-8", show_default=True, metavar="NAME", help="Encoding of text files.")
@click.option("--no-header", is_flag=True, help="Text files have no header.")
@options.json_option
@options.quiet_option
def command(
    events: tuple[str, ...], delimiter: str | None, encoding: str, no_header: bool, as_json: bool, quiet: bool
) -> None:
    r"""Show columns, types, nulls and three rows of EVENTS, and a `release` command to copy.

    This is raw data, for the curator's eyes only.

    \b
    Example:
      headcount inspect visits.csv
    """
    from headcount.events.formats import TextOptions  # noqa: PLC0415
    from headcount.events.readers import open_source  # noqa: PLC0415

    source = open_source(list(events), TextOptions(delimiter, encoding, not no_header))
    with terminal.Bar(quiet=quiet) as bar:
        seen = _survey(source, bar)
    command_line = _suggestion(list(events), seen["columns"], no_header=no_header)
    if as_json:
        terminal.print_json({**seen, "command": command_line})
        return
    click.echo(f"{source.name}: {seen['rows']:,} rows. Raw data, for the curator's eyes only.\n")
    columns = [("column", "left"), ("type", "left"), ("nulls", "right"), ("first rows", "left")]
    rows = [
        [each["name"], each["type"], f"{each['nulls']:,}", " · ".join(_short(value) for value in each["first"])]
        for each in seen["columns"]
    ]
    terminal.print_table(None, columns, rows)
    click.echo(f"\nTo release from it, correct and run:\n  {command_line}")


def _survey(source: Any, bar: terminal.Bar) -> dict[str, Any]:
    from headcount.events.formats import plain_type  # noqa: PLC0415

    names = source.schema.names
    nulls = dict.fromkeys(names, 0)
    first: dict[str, list[Any]] = {name: [] for name in names}
    rows = 0
    for batch in source.batches(names):
        for name in names:
            column = batch.column(name)
            nulls[name] += column.null_count
            if len(first[name]) < 3:
                first[name] += column.slice(0, 3 - len(first[name])).to_pylist()
        rows += batch.num_rows
        bar("reading events", rows, source.rows)
    columns = [
        {
            "name": name,
            "type": plain_type(source.schema.field(name).type),
            "nulls": nulls[name],
            "first": [None if value is None else str(value) for value in first[name]],
        }
        for name in names
    ]
    return {"source": source.name, "rows": rows, "columns": columns}


def _suggestion(events: list[str], columns: list[dict[str, Any]], *, no_header: bool) -> str:
    names = [column["name"] for column in columns]
    user = _guess(names, _USERS) or "COL"
    item = _guess([name for name in names if name != user], _ITEMS) or "COL"
    times = [
        c["name"] for c in columns if c["type"].startswith(("timestamp", "date")) or c["name"].lower() == "time"
    ]
    parts = ["headcount", "release", *events, "--user", user, "--item", item]
    parts += ["--context", f"weekday:{times[0]}"] if times else []
    parts += ["--no-header"] if no_header else []
    parts += ["--items", "CATALOGUE", "--epsilon", "1", "--method", "hpa", "--limit", "10", "--out", "release/"]
    return shlex.join(parts)


def _guess(names: list[str], usual: tuple[str, ...]) -> str | None:
    lower = {name.lower(): name for name in names}
    exact = next((lower[each] for each in usual if each in lower), None)
    return exact or next((name for name in names for each in usual if each in name.lower()), None)


def _short(value: str | None) -> str:
    if value is None:
        return "–"
    return value if len(value) <= 24 else value[:23] + "…"
