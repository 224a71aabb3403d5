"""``headcount inspect``: columns, types and first rows of an event file, with suggested commands. Not private."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from headcount.cli import options, terminal
from headcount.cli.commands.pack import release_command
from headcount.cli.input_options import reading_options
from headcount.errors import command_line, render
from headcount.events.log_parameters import READERS
from headcount.releases.formatting import some

if TYPE_CHECKING:
    from headcount.events.inspect.suggest import Preview
    from headcount.events.sources.files.formats import TextOptions


CATALOGUE, BINS, QUERIES = "catalogue.csv", "bins.toml", "queries.sql"
"""Names that are refused until there are such files: nothing but the curator can say what is public."""

_UNGUESSED = "COL"
_SELECTED = ["--select-items", "--shares", "selection=0.4", "--delta", "1e-6"]
"""In place of a catalogue; a ranking is never longer than what was found, so finding gets its part."""


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
    from headcount.events.inspect.suggest import preview, with_best_delimiter
    from headcount.events.roles import store_path
    from headcount.events.sources.databases.table_or_query import TableOrQuery
    from headcount.events.sources.files.formats import TextOptions
    from headcount.events.sources.files.paths import redact
    from headcount.events.sources.source import open_source

    text_settings = options.read(text, READERS["inspected"].flags())
    table_or_query = TableOrQuery(text_settings.pop("table"), text_settings.pop("query"))
    how = TextOptions(**text_settings)
    store = store_path(events)
    if store is not None:
        table_or_query.refuse(str(store))
        _show_store(store, how, as_json=as_json)
        return
    source, delimiter = with_best_delimiter(open_source(list(events), how, table_or_query))
    with terminal.Bar(quiet=quiet) as bar:
        file_preview = preview(source, bar)
    flags = _repeated(text if delimiter is None else {**text, "delimiter": delimiter})
    proposal = suggestion([redact(entry) for entry in events], file_preview, flags)
    if as_json:
        summary = {"source": file_preview.source, "rows": file_preview.rows, "columns": file_preview.columns}
        ranking = {} if proposal.ranking is None else {"ranking": terminal.command_line(proposal.ranking)}
        terminal.print_json({**summary, "command": terminal.command_line(proposal.parts), **ranking})
        return
    click.echo(f"{source.name}: {some(file_preview.rows, 'row')}. Raw data, for the curator's eyes only.\n")
    rows = [
        [row["name"], row["type"], f"{row['nulls']:,}", " · ".join(_short(value) for value in row["first"])]
        for row in file_preview.columns
    ]
    terminal.print_table(("column", "type", "nulls", "first rows"), "llrl", rows)
    _show_suggestion(proposal, file_preview)


def _repeated(text: options.Flags) -> list[str]:
    """Return the flags that say how text is written, or what is read of a database, as they were given."""
    given = [(flag, text[name], flag.named(name)) for name, flag in READERS["inspected"].flags().items()]
    given_flags = [
        (flag, value, named) for flag, value, named in given if value not in (None, False, flag.default)
    ]
    return [part for flag, value, named in given_flags for part in ([named] if flag.switch else [named, value])]


def _show_store(path: Any, how: TextOptions, *, as_json: bool) -> None:
    """Say what is in a packed store, and how it was read."""
    from headcount.events.encode.text_columns import plain_type
    from headcount.events.log import packed_log
    from headcount.events.roles import refuse_packed
    from headcount.events.sources.files.packed_store import open_store

    refuse_packed(path, {}, how)
    source = open_store(path)
    log = packed_log(source)
    parts = release_command(source.name, [])
    columns = [{"name": field.name, "type": plain_type(field.type)} for field in source.schema]
    if as_json:
        store_facts = {"source": source.name, "packed": True, "rows": source.records, "users": source.users.size}
        log_facts = {"events": source.events, "items": len(log.catalogue.ids), "columns": columns}
        terminal.print_json({**store_facts, **log_facts, "command": terminal.command_line(parts)})
        return
    held = f"{some(source.records, 'record')} of {some(source.users.size, 'user')}"
    click.echo(f"{source.name}: a packed store, {held}. Raw data, for the curator's eyes only.\n")
    rows = [["items", f"{len(log.catalogue.ids):,} in the catalogue"]]
    rows += [[name.replace("_", "-"), _in_words(value)] for name, value in source.events.items()]
    terminal.print_table(("packed with", ""), "ll", rows)
    click.echo("\nTo release from it, correct and run:\n")
    _show_commands(["headcount", "check", source.name], parts)


def _show_suggestion(proposal: Suggestion, file_preview: Preview) -> None:
    """Show what to copy, and what to see to."""
    click.echo()
    if proposal.ranking is None:
        _show_query(proposal, file_preview)
        return
    click.echo(f"To release from it, list the items that may be released in {CATALOGUE}, correct and run:\n")
    _show_commands(proposal.check, proposal.parts)
    click.echo("\nWithout a public list of items, or for the best 20 alone:\n")
    click.echo(_folded(proposal.ranking))
    if proposal.doubt is not None:
        click.echo()
        terminal.say(proposal.doubt)


def _show_query(proposal: Suggestion, file_preview: Preview) -> None:
    """Show how people in rows are asked about: bins, a query and the command."""
    own = proposal.read[proposal.read.index("--user") + 1] if "--user" in proposal.read else None
    user_note = "." if own else ", one row per person. If people have several, add --user."
    bins, query = first_bins(file_preview, own)
    terminal.say(
        f"It looks like a table of people{user_note} Say in {BINS} which values there may be, from what is public "
        f"and not from the table, and in {QUERIES} what you want to know; docs/query.md tells how. For example:"
    )
    for name, lines in ((BINS, bins), (QUERIES, [query])):
        click.echo("\n".join(["", f"  {name}", *(f"      {terminal.printable(line)}" for line in lines)]))
    click.echo("\nThen run:\n")
    click.echo(_folded(proposal.parts))


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
    return " \\\n".join(f"  {text_line}" for text_line in [*lines, line])


def _short(value: str | None) -> str:
    if value is None:
        return "–"
    return value if len(value) <= 24 else value[:23] + "…"


class Suggestion(NamedTuple):
    """A command, with its flags for reading and for public facts, and a doubt for the curator to look at."""

    command: str
    read: list[str]
    public: list[str]
    doubt: str | None = None

    @property
    def parts(self) -> list[str]:
        """The command that releases."""
        out = "answers" if self.command == "query" else "release"
        return ["headcount", self.command, *self.read, *self.public, "--epsilon", "1", "--out", out]

    @property
    def check(self) -> list[str]:
        """The command that shows what would not be counted."""
        return ["headcount", "check", *self.read, *self.public]

    @property
    def ranking(self) -> list[str] | None:
        """The command that needs nothing but the log, if it is one of events."""
        if self.command == "query":
            return None
        context_flags = ["--per-context"] if "--context" in self.read else []
        spend = ["--epsilon", "1", "--out", "best"]
        return ["headcount", "rank", *self.read, "-k", "20", *context_flags, *_SELECTED, *spend]


def suggestion(events: list[str], preview: Preview, text_flags: list[str]) -> Suggestion:
    """Suggest a command for what was seen of a file; ``text_flags`` say how text is written."""
    from headcount.events.inspect.suggest import guess

    guessed = guess(preview.columns, preview.days, preview.texts)
    text_flags = text_flags + [
        part for name, marks in guessed.numbers.items() for mark in marks for part in (f"--{name}", mark)
    ]
    if guessed.reads == "people":
        own = [] if guessed.user is None else ["--user", guessed.user]
        return Suggestion("query", [*events, *own, *text_flags], ["--bins", BINS, "--queries", QUERIES])
    parts = [*events, "--user", guessed.user or _UNGUESSED, "--item", guessed.item or _UNGUESSED]
    if guessed.when is not None:
        parts += ["--context", f"weekday:{guessed.when}"]
        parts += [] if guessed.time_format is None else ["--time-format", guessed.time_format]
    doubt = render(guessed.doubt or "", command_line) or None
    return Suggestion("release", [*parts, *text_flags], ["--items", CATALOGUE], doubt)


def first_bins(preview: Preview, user: str | None) -> tuple[list[str], str]:
    """Return how bins of the first columns are written, and a query that asks for them together.

    The names and types of columns are all that is taken from the file: which bins there are must be public.
    """
    columns = [column for column in preview.columns if column["name"] != user]
    number = next((column["name"] for column in columns if column["type"] != "text"), None)
    text = next((column["name"] for column in columns if column["type"] == "text"), None)
    lines = [] if number is None else [f"[{_toml(number)}]", "edges = [0, 10, 20, 50, 100]"]
    lines += [] if text is None else [f"[{_toml(text)}]", 'values = ["this", "that"]', "other = true"]
    names = ", ".join(f'"{name}"' for name in (number, text) if name is not None)
    return lines, f"SELECT COUNT(*) FROM people GROUP BY {names}"  # noqa: S608 - shown, never run


def _toml(name: str) -> str:
    """Write a name as TOML does.

    >>> _toml("age"), _toml("hours per week")
    ('age', '"hours per week"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
