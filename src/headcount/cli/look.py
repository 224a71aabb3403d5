"""``headcount inspect``: what is in an event file. It shows raw data: for the curator's eyes only."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from headcount.answers.words import some
from headcount.cli import options, terminal
from headcount.cli.pack import release_command
from headcount.cli.reading import reading_options
from headcount.events.flags import READERS

if TYPE_CHECKING:
    from headcount.events.formats import TextOptions

_USERS = (
    "user", "user_id", "userid", "uid", "customer", "customer_id", "visitor", "member", "person", "who", "account",
)  # fmt: skip
_ITEMS = (
    "item", "item_id", "venue", "product", "movie", "artist", "page", "resource", "what", "title", "place", "url",
)  # fmt: skip
_CATALOGUE = "catalogue.csv"  # a name that is refused until there is such a file


@click.command(
    "inspect",
    short_help="Look at an event file: columns, types, nulls.",
    epilog=options.example("headcount inspect visits.csv"),
)
@reading_options("inspected", configured=False)
@options.json_option
@options.quiet_option
def command(events: tuple[str, ...], as_json: bool, quiet: bool, **text: Any) -> None:
    """Show columns, types, nulls and three rows of EVENTS, and commands to copy: `check` and `release`.

    Of a packed store it says how it was read. This is raw data, for the curator's eyes only.
    """
    from headcount.events.formats import TextOptions
    from headcount.events.log import the_store
    from headcount.events.readers import open_source
    from headcount.events.sources.asked import Asked
    from headcount.events.sources.naming import shown

    said = options.read(text, READERS["inspected"].flags())
    asked = Asked(said.pop("table"), said.pop("query"))
    how = TextOptions(**said)
    store = the_store(events)
    if store is not None:
        asked.refuse(str(store))
        _show_store(store, how, as_json=as_json)
        return
    source = open_source(list(events), how, asked)
    with terminal.Bar(quiet=quiet) as bar:
        seen = _survey(source, bar)
    read = _suggestion([shown(each) for each in events], seen["columns"], _repeated(text))
    parts = ["headcount", "release", *read, "--epsilon", "1", "--out", "release"]
    if as_json:
        terminal.print_json({**seen, "command": terminal.command_line(parts)})
        return
    click.echo(f"{source.name}: {some(seen['rows'], 'row')}. Raw data, for the curator's eyes only.\n")
    columns = [("column", "left"), ("type", "left"), ("nulls", "right"), ("first rows", "left")]
    rows = [
        [each["name"], each["type"], f"{each['nulls']:,}", " · ".join(_short(value) for value in each["first"])]
        for each in seen["columns"]
    ]
    terminal.print_table(columns, rows)
    click.echo(f"\nTo release from it, list the items that may be released in {_CATALOGUE}, correct and run:\n")
    _show_commands(["headcount", "check", *read], parts)


def _repeated(text: options.Flags) -> list[str]:
    """Return the flags that say how text is written, or what is read of a database, as they were given."""
    given = [(flag, text[name], flag.named(name)) for name, flag in READERS["inspected"].flags().items()]
    told = [(flag, value, named) for flag, value, named in given if value not in (None, False, flag.default)]
    return [part for flag, value, named in told for part in ([named] if flag.switch else [named, value])]


def _show_store(path: Any, how: TextOptions, *, as_json: bool) -> None:
    """Say what is in a packed store, and how it was read."""
    from headcount.events.formats import plain_type
    from headcount.events.log import packed_log, refuse_packed
    from headcount.events.store import open_store

    refuse_packed(path, {}, how)
    source = open_store(path)
    log = packed_log(source)
    parts = release_command(source.name, [])
    columns = [{"name": each.name, "type": plain_type(each.type)} for each in source.schema]
    if as_json:
        seen = {"source": source.name, "packed": True, "rows": source.records, "users": source.users.size}
        asked = {"events": source.events, "items": len(log.catalogue.ids), "columns": columns}
        terminal.print_json({**seen, **asked, "command": terminal.command_line(parts)})
        return
    held = f"{some(source.records, 'record')} of {some(source.users.size, 'user')}"
    click.echo(f"{source.name}: a packed store, {held}. Raw data, for the curator's eyes only.\n")
    rows = [["items", f"{len(log.catalogue.ids):,} in the catalogue"]]
    rows += [[name.replace("_", "-"), _in_words(value)] for name, value in source.events.items()]
    terminal.print_table([("packed with", "left"), ("", "left")], rows)
    click.echo("\nTo release from it, correct and run:\n")
    _show_commands(["headcount", "check", source.name], parts)


def _show_commands(check: list[str], release: list[str]) -> None:
    """Show two commands to copy: what would not be counted, and the release."""
    click.echo(_folded(check))
    click.echo("\nwhich shows you alone what would not be counted, and then:\n")
    click.echo(_folded(release))


def _in_words(value: Any) -> str:
    """Write what was asked for as its flag writes it."""
    if isinstance(value, dict):
        return "; ".join(f"{name}={','.join(values)}" for name, values in value.items())
    return "; ".join(value) if isinstance(value, list) else str(value)


def _survey(source: Any, bar: terminal.Bar) -> dict[str, Any]:
    """Read every row, count what is missing and keep the first three."""
    from headcount.events.formats import plain_type
    from headcount.events.texts import sound_batch

    names = source.names
    nulls = dict.fromkeys(names, 0)
    first: dict[str, list[Any]] = {name: [] for name in names}
    rows = 0
    for batch in map(sound_batch, source.batches(names)):
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
            "type": plain_type(source.type_of(name)),
            "nulls": nulls[name],
            "first": [None if value is None else str(value) for value in first[name]],
        }
        for name in names
    ]
    return {"source": source.name, "rows": rows, "columns": columns}


def _suggestion(events: list[str], columns: list[dict[str, Any]], text_flags: list[str]) -> list[str]:
    """Return what a command has to be told to read the columns, by their names, types and first values."""
    ids = [each["name"] for each in columns if each["type"] == "text" or "int" in each["type"]]
    times = {each["name"]: flags for each in columns if (flags := _time_flags(each)) is not None}
    user = _guess([name for name in ids if name not in times], _USERS)
    user = user or next(iter([*(name for name in ids if name not in times), *ids]), "COL")
    rest = [name for name in ids if name != user]
    item = _guess([name for name in rest if name not in times], _ITEMS)
    item = item or next(iter([*(name for name in rest if name not in times), *rest]), "COL")
    parts = [*events, "--user", user, "--item", item]
    when = next((name for name in times if name not in (user, item)), None)
    parts += ["--context", f"weekday:{when}", *times[when]] if when is not None else []
    return [*parts, *text_flags, "--items", _CATALOGUE]


def _time_flags(column: dict[str, Any]) -> list[str] | None:
    """Return the flags that a column needs to be read as times, or None if it holds none, by its first values."""
    if column["type"].startswith(("timestamp", "date")):
        return []
    values = [value for value in column["first"] if value is not None]
    if not values or not (column["type"] == "text" or "int" in column["type"]):
        return None
    if column["type"] == "text" and all(_is_iso(value) for value in values):
        return []
    timely = any(word in column["name"].lower() for word in ("time", "date", "when", "stamp", "_at"))
    units = {10: "s", 13: "ms", 16: "us"}
    lengths = {len(value) if value.isdecimal() else 0 for value in values}
    unit = units.get(lengths.pop()) if len(lengths) == 1 else None
    return ["--time-format", unit] if timely and unit else None


def _is_iso(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return "-" in value


def _folded(parts: list[str]) -> str:
    """Write a command over several lines, before every second flag, where the shell lets one do so."""
    if os.name == "nt":
        return "  " + terminal.command_line(parts)
    lines, line = [], ""
    for part in parts:
        word = terminal.command_line([part])
        if line and part.startswith("--") and len(line) > terminal.width() - 40:
            lines.append(line)
            line = "    "
        line += word if not line.strip() else f" {word}"
    return " \\\n".join(f"  {each}" for each in [*lines, line])


def _guess(names: list[str], usual: tuple[str, ...]) -> str | None:
    lower = {name.lower(): name for name in names}
    exact = next((lower[each] for each in usual if each in lower), None)
    return exact or next((name for name in names for each in usual if each in name.lower()), None)


def _short(value: str | None) -> str:
    if value is None:
        return "–"
    return value if len(value) <= 24 else value[:23] + "…"
