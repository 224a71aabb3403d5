"""``headcount pack``: write an event log as a packed store, grouped by user, that releases read faster."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from headcount.cli import options, terminal
from headcount.cli.charged import note_dropped_records
from headcount.cli.input_options import log_of, reading_options
from headcount.cli.options import Flags
from headcount.releases.formatting import some

_UNITS = {10**9: "GB", 10**6: "MB", 10**3: "kB", 1: "bytes"}


@click.command(
    "pack",
    short_help="Write an event log as a store that releases read quickly.",
    epilog=options.example(
        "headcount pack visits.parquet --user user --item venue \\",
        "  --context weekday:time --items venues.csv --to visits.store",
        "headcount release visits.store --epsilon 1 --method hpa --limit 10 --out friday/",
    ),
)
@reading_options("events")
@click.option("--to", required=True, metavar="STORE", help="Folder to write the store to.")
@click.option("--force", is_flag=True, help="Replace a store that is there already.")
@options.json_option
@options.quiet_option
def command(**flags: Any) -> None:
    """Write EVENTS as a store, grouped by person, which stands in their place in other commands.

    It keeps what the flags say of users, items, contexts and conditions; --count and --context-of are chosen at
    each release. A store holds raw events, for the curator's eyes only: nobody else may open the folder.
    """
    begin = time.monotonic()
    target = Path(flags["to"])
    from headcount.events.sources.files.packed_store import open_store, refuse_existing_store

    refuse_existing_store(target, force=flags["force"])
    with terminal.Bar(quiet=flags["quiet"]) as bar:
        from headcount.engines.local.pack import pack

        log = log_of("events", flags)
        pack(log, target, progress=bar, force=flags["force"])
    store = open_store(target)
    size = sum(path.stat().st_size for path in target.iterdir())
    if not flags["quiet"]:
        note_dropped_records(store.tally, log)
    if flags["as_json"]:
        seconds = round(time.monotonic() - begin, 3)
        terminal.print_json({"store": str(target), "bytes": size, "seconds": seconds})
        return
    held = f"{some(store.records, 'record')} of {some(store.users.size, 'user')}"
    terminal.say(f"{held}, {size_in_words(size)}: {target}")
    if not flags["quiet"]:
        terminal.note("It holds raw events, for the curator's eyes only.")
        terminal.note_commands("\nNext:", release_command(str(target), chosen_anew(flags)))


def chosen_anew(flags: Flags) -> list[str]:
    """Return the flags that a store does not keep, where they are not the defaults."""
    defaults = {"count": "records", "context_of": "record"}
    given = {name: flags[name] for name in defaults if flags[name] != defaults[name]}
    return [part for name, value in given.items() for part in (f"--{name.replace('_', '-')}", value)]


def release_command(store: str, more: list[str]) -> list[str]:
    """Return a release command to copy."""
    spend = ["--epsilon", "1", "--method", "hpa", "--limit", "10", "--out", "release"]
    return ["headcount", "release", store, *more, *spend]


def size_in_words(size: int) -> str:
    """Say how large something is.

    >>> size_in_words(999), size_in_words(40_815_597)
    ('999 bytes', '40.8 MB')
    """
    unit = next((unit for unit, name in _UNITS.items() if size >= unit), 1)
    return f"{size / unit:.1f} {_UNITS[unit]}" if unit > 1 else f"{size} bytes"
