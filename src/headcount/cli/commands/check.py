"""``headcount check``: list the records of a log that a release would drop, with exact counts. Not private."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from headcount.cli import options, terminal
from headcount.cli.input_options import ENGINE, local_events, log_of, reading_options
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


def _refused_flags() -> dict[str, str]:
    """Return the flags that spend, by the names of their parameters."""
    flags = {name: flag.named(name) for name, flag in flags_of(FAMILY.request_kind()).items()}
    return flags | {flag.removeprefix("--").replace("-", "_"): flag for flag in (*_CHARGING, *_SWITCHES)}


def _hidden_options() -> list[Callable[[Any], Any]]:
    """Declare the flags that spend, so that all of them can be refused in one sentence."""
    hidden = [
        options.option(name, dataclasses.replace(flag, choices=(), default=None, needed=False), hidden=True)
        for name, flag in flags_of(FAMILY.request_kind()).items()
    ]
    charging = (*_CHARGING, *_SWITCHES, "--ledger")
    return hidden + [click.option(flag, hidden=True, is_flag=flag in _SWITCHES) for flag in charging]


@click.command(
    "check",
    short_help="See what of an event log would not be counted.",
    epilog=options.example(
        "headcount check visits.parquet --user user --item venue \\",
        "  --context weekday:time --items venues.csv",
    ),
)
@options.grouped(
    [reading_options("events"), *ENGINE, options.json_option, options.quiet_option, *_hidden_options()]
)
def command(**flags: Any) -> None:
    """Look through EVENTS, and say what would not be counted and why.

    It takes the flags of `release` that say what is read. It tells exact numbers and raw values: for the curator's
    eyes only. The exit code is 1 if a row would not count, or not in its context, but for rows that a condition
    leaves out.
    """
    _refuse_spending(flags)
    from headcount.events.inspect.scan import scan

    with local_events(flags) as events, terminal.Bar(quiet=flags["quiet"]) as bar:
        report = scan(log_of("events", {**flags, "events": events}, needs_items=False), bar)
    if flags["as_json"]:
        terminal.print_json(report.to_json())
    else:
        _show(report)
    if not report.all_counts:
        raise click.exceptions.Exit(RefusedError.exit_code)


def _refuse_spending(flags: Flags) -> None:
    if flags["ledger"] is not None:
        raise UsageError(
            "check is for the curator alone: it tells exact numbers, which no ledger can charge",
            remedy="leave --ledger out, and show nobody what check says",
        )
    given = [flag for name, flag in _refused_flags().items() if flags[name]]
    if given:
        raise UsageError(
            f"check spends nothing and has no use for {', '.join(given)}",
            remedy="keep the flags that say what is read, such as --user, --item, --items and --context",
        )


def _show(report: Checked) -> None:
    terminal.say(f"{report.source}: {some(report.rows, 'row')}. Raw data, for the curator's eyes only.")
    click.echo()
    counted = f"{some(report.records, 'record')} of {some(report.people, 'person', 'people')}"
    does = _does(report.records)
    terminal.say(
        f"Everything counts: {counted}." if report.all_counts else f"Not everything counts: {counted} {does}."
    )
    if report.left_out:
        terminal.say(f"{some(report.left_out, 'row')} {_does(report.left_out)} not fulfil the conditions.")
    for fate, heading in _HEADINGS.items():
        rows = [problem for problem in report.problems if problem.fate == fate]
        if rows:
            click.echo()
            _show_problems(heading, rows)
    click.echo()
    for title, text in _facts(report):
        terminal.say(text, bullet=f"{title:<10}", indent=" " * 10)


def _does(number: int) -> str:
    return "does" if number == 1 else "do"


def _show_problems(heading: str, problems: list[Any]) -> None:
    from headcount.events.inspect.report import percent

    rows = [[some(problem.number, problem.noun), percent(problem.share), problem.reason] for problem in problems]
    terminal.print_table(("", "share", heading), "rrl", rows)


def _facts(report: Checked) -> list[tuple[str, str]]:
    """Return what else there is to know: titles and sentences."""
    from headcount.events.inspect.report import percent

    facts = []
    if report.activity is not None:
        activity = report.activity
        most = [
            f"the most active {'person has' if users == 1 else f'{users} have'} {records:,} "
            f"({percent(records / activity.records)})"
            for users, records in activity.most
        ]
        half = f"half have at most {some(activity.median, 'record')}, 90 % at most {activity.most_of_90:,}, "
        facts.append(("People", f"{half}99 % at most {activity.most_of_99:,}; {', '.join(most)}"))
    if report.repeats is not None:
        user_share = report.repeats.share_of_people
        among = "" if user_share == 1 else f", seen in {percent(user_share)} of the people"
        share = percent(report.repeats.share) if report.repeats.records else "none"
        facts.append(("Repeats", f"{share} of the records are of an item that the person has already{among}"))
    never = report.contexts_without_records
    if never:
        more = f" and {len(never) - _SHOWN:,} more" if len(never) > _SHOWN else ""
        named = ", ".join(terminal.printable(context) for context in never[:_SHOWN])
        facts.append(("Contexts", f"none of the records that count is in {named}{more}"))
    return facts + [("Hint", hint) for hint in report.hints]
