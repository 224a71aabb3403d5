"""``headcount check``: what of a log would not be counted. It tells exact numbers: for the curator's eyes only."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from headcount.cli import options, terminal
from headcount.cli.engines import ENGINE, seen_events
from headcount.cli.log_options import log_of, reading_options
from headcount.cli.options import Flags
from headcount.errors import RefusedError, UsageError
from headcount.methods.counts import FAMILY
from headcount.methods.request import flags_of
from headcount.releases.formatting import some

if TYPE_CHECKING:
    from headcount.events.inspect.report import Checked

_CHARGING = ("--dataset", "--analyst", "--out")
_SWITCHES = ("--again", "--force", "--dry-run")
_SHOWN = 7
_HEADINGS = {"not counted": "not counted", "counted as unknown": "counted, but in no known context"}


def _refused_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let flags that spend be known, so that all of them can be refused in one sentence."""
    for name, flag in flags_of(FAMILY.request_kind()).items():
        known = dataclasses.replace(flag, choices=(), default=None, needed=False)
        command = options.option(name, known, hidden=True)(command)
    for flags in (*_CHARGING, *_SWITCHES, "--ledger"):
        command = click.option(flags, hidden=True, is_flag=flags in _SWITCHES)(command)
    return command


@click.command(
    "check",
    short_help="See what of an event log would not be counted.",
    epilog=options.example(
        "headcount check visits.parquet --user user --item venue \\",
        "  --context weekday:time --items venues.csv",
    ),
)
@options.grouped([reading_options("events"), *ENGINE, options.json_option, options.quiet_option])
@_refused_options
def command(**flags: Any) -> None:
    """Look through EVENTS, and say what would not be counted and why.

    It takes the flags of `release` that say what is read. It tells exact numbers and raw values: for the curator's
    eyes only. The exit code is 1 if a row would not count, or not in its context, but for rows that a condition
    leaves out.
    """
    _refuse_spending(flags)
    from headcount.events.inspect.scan import survey

    with seen_events(flags) as events, terminal.Bar(quiet=flags["quiet"]) as bar:
        found = survey(log_of("events", {**flags, "events": events}, needs_items=False), bar)
    if flags["as_json"]:
        terminal.print_json(found.to_json())
    else:
        _show(found)
    if not found.all_counts:
        raise click.exceptions.Exit(RefusedError.exit_code)


def _refuse_spending(flags: Flags) -> None:
    if flags["ledger"] is not None:
        raise UsageError(
            "check is for the curator alone: it tells exact numbers, which no ledger can charge",
            remedy="leave --ledger out, and show nobody what check says",
        )
    known = {name: flag.named(name) for name, flag in flags_of(FAMILY.request_kind()).items()}
    known |= {flag.removeprefix("--").replace("-", "_"): flag for flag in (*_CHARGING, *_SWITCHES)}
    given = [flag for name, flag in known.items() if flags[name]]
    if given:
        raise UsageError(
            f"check spends nothing and has no use for {', '.join(given)}",
            remedy="keep the flags that say what is read, such as --user, --item, --items and --context",
        )


def _show(found: Checked) -> None:
    terminal.say(f"{found.source}: {some(found.rows, 'row')}. Raw data, for the curator's eyes only.")
    click.echo()
    counted = f"{some(found.records, 'record')} of {some(found.people, 'person', 'people')}"
    does = _does(found.records)
    terminal.say(
        f"Everything counts: {counted}." if found.all_counts else f"Not everything counts: {counted} {does}."
    )
    if found.left_out:
        terminal.say(f"{some(found.left_out, 'row')} {_does(found.left_out)} not fulfil the conditions.")
    for fate, heading in _HEADINGS.items():
        rows = [each for each in found.problems if each.fate == fate]
        if rows:
            click.echo()
            _show_problems(heading, rows)
    click.echo()
    for title, text in _facts(found):
        terminal.say(text, bullet=f"{title:<10}", indent=" " * 10)


def _does(number: int) -> str:
    return "does" if number == 1 else "do"


def _show_problems(heading: str, problems: list[Any]) -> None:
    from headcount.events.inspect.report import percent

    rows = [[some(each.number, each.noun), percent(each.share), each.reason] for each in problems]
    terminal.print_table([("", "right"), ("share", "right"), (heading, "left")], rows)


def _facts(found: Checked) -> list[tuple[str, str]]:
    """Return what else there is to know: titles and sentences."""
    from headcount.events.inspect.report import percent

    facts = []
    if found.activity is not None:
        each = found.activity
        most = [
            f"the most active {'person has' if people == 1 else f'{people} have'} {records:,} "
            f"({percent(records / each.records)})"
            for people, records in each.most
        ]
        half = f"half have at most {some(each.median, 'record')}, 90 % at most {each.most_of_90:,}, "
        facts.append(("People", f"{half}99 % at most {each.most_of_99:,}; {', '.join(most)}"))
    if found.repeats is not None:
        seen = found.repeats.share_of_people
        among = "" if seen == 1 else f", seen in {percent(seen)} of the people"
        share = percent(found.repeats.share) if found.repeats.records else "none"
        facts.append(("Repeats", f"{share} of the records are of an item that the person has already{among}"))
    never = found.contexts_without_records
    if never:
        more = f" and {len(never) - _SHOWN:,} more" if len(never) > _SHOWN else ""
        named = ", ".join(terminal.printable(each) for each in never[:_SHOWN])
        facts.append(("Contexts", f"none of the records that count is in {named}{more}"))
    return facts + [("Hint", hint) for hint in found.hints]
