"""Options and control flow that all charged commands share: validate, reserve, read, write, report the cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from headcount.accounting.guarantee import large_epsilon_warning
from headcount.cli import options, terminal
from headcount.cli.input_options import (
    ENGINE,
    THREADS,
    chosen_engine,
    keep_command_line_choice,
    log_of,
    reading_options,
)
from headcount.cli.options import Command, Flags
from headcount.errors import UsageError
from headcount.methods.family import Family
from headcount.methods.request import CHARGING, flags_of, request_of
from headcount.releases.formatting import some

if TYPE_CHECKING:
    from headcount.events.log import EventLog
    from headcount.releases.release import Release
    from headcount.run.charge import Charging
    from headcount.run.curator import Plan
    from headcount.run.prepare import Prepared

_OUT = (
    click.option("--out", metavar="DIR", help="Folder to write the release to."),
    click.option("--force", is_flag=True, help="Replace a release that is there already."),
    click.option("--dry-run", is_flag=True, help="Validate everything, show promise and price, read no events."),
    options.json_option,
    options.quiet_option,
)


def charged_options(family: Family) -> Callable[[Command], Command]:
    """Put on a command what it reads, what can be asked, and how it is charged and kept."""
    request_options = [options.option(name, flag) for name, flag in flags_of(family.request_kind()).items()]
    charging = [options.option(name, flag) for name, flag in CHARGING.items()]
    return options.grouped([reading_options(family.reads), *request_options, *charging, *ENGINE, THREADS, *_OUT])


@dataclass(frozen=True)
class Charged:
    """What a charged command made, where it is kept if anywhere, and how long it took."""

    release: Release
    target: Path | None
    charging: Charging | None
    seconds: float

    @property
    def folder(self) -> Path:
        """Where the release is kept, of a command that must keep it."""
        if self.target is None:
            raise ValueError("this release is kept nowhere")
        return self.target

    def to_json(self) -> dict[str, Any]:
        """Return what a command that keeps its release prints as JSON."""
        return {
            "out": str(self.folder),
            "method": self.release.method,
            "guarantee": self.release.guarantee.to_json(),
            **ledger_fields(self.release),
            **self.timing,
        }

    @property
    def timing(self) -> dict[str, float]:
        """How long it took, for the curator alone: the time that reading takes tells about the data."""
        return {"seconds": round(self.seconds, 3)} if self.charging is None else {}


class Shown(NamedTuple):
    """What a command shows of its release: a summary, commands to go on with, and tables above both."""

    summary: str
    following: Sequence[list[str]] = ()
    above: Callable[[], None] | None = None


Showing = Callable[[Charged, Flags], Shown | None]
"""Returns what to show of a release, or None where the command has printed its own answer."""


def charged_command(
    family: Family,
    *example: str,
    short_help: str = "",
    more: Sequence[Callable[[Any], Any]] = (),
    prepare: Callable[[dict[str, Any]], None] | None = None,
    needs_out: bool = True,
) -> Callable[[Showing], click.Command]:
    """Make the command of a family from its declaration and the function that shows its release.

    The docstring of the function is the help. ``more`` are options that no request has, and ``prepare`` looks at
    all flags before anything is done.
    """

    def declare(showing: Showing) -> click.Command:
        def command(**flags: Any) -> None:
            if prepare is not None:
                prepare(flags)
            spent = spend(family, flags, needs_out=needs_out)
            shown = None if spent is None else showing(spent, flags)
            if spent is not None and shown is not None:
                show(spent, flags, shown.summary, *shown.following, above=shown.above)

        declared = click.command(
            family.command[-1],
            short_help=short_help or family.short_help,
            help=showing.__doc__,
            epilog=options.example(*example) if example else None,
        )
        return declared(charged_options(family)(options.grouped(more)(command)))

    return declare


def command_of(family: Family) -> click.Command:
    """Return the command of a family that has none of its own."""

    def showing(spent: Charged, flags: Flags) -> Shown:  # noqa: ARG001
        return Shown(f"{_row_counts_in_words(spent.release)}, of {spent.release.bounded}")

    showing.__doc__ = (family.request_kind().__doc__ or "").split("\n\n")[0]
    return charged_command(family)(showing)


def _row_counts_in_words(release: Release) -> str:
    from headcount.methods.registry import table

    return " and ".join(some(rows.num_rows, table(name).noun) for name, rows in release.tables.items())


def spend(family: Family, flags: Flags, *, needs_out: bool = True) -> Charged | None:
    """Run a charged command as far as all do alike; None after a dry run, which is shown here."""
    from headcount.events.selection_targets import requests_selection

    begin = time.monotonic()
    target = _target_of(flags, needed=needs_out)
    with terminal.Bar(quiet=flags["quiet"]) as bar:
        kind = family.request_kind()
        request = request_of(kind, **options.read(flags, flags_of(kind)))
        selecting = requests_selection(keep_command_line_choice(flags))
        request.check_delta(selecting=selecting)
        from headcount.run.curator import Curator

        with _charging(flags) as charging, chosen_engine(flags, bar) as (engine, events):
            if charging is not None:
                bar.be_discreet()
            request.build(selecting=selecting)
            log = log_of(family.reads, {**flags, "events": events}, needs_items=request.needs_items)
            curator = Curator(engine=engine, charging=charging)
            ready = curator.prepare(request, log)
            if flags["dry_run"]:
                plan = curator.plan(ready)
            else:
                release = curator.run(ready)
                if target is not None:
                    bar("writing the release", 0, None)
                    release.save(target, force=flags["force"])
    if not flags["quiet"]:
        _note_assumptions(log)
        if charging is not None or flags["dry_run"]:
            _note_text_numbers(log)
        note_large(ready.guarantee.epsilon)
    if flags["dry_run"]:
        show_plan(plan, as_json=flags["as_json"])
        if not flags["as_json"]:
            alone = f"{_checking(log)} shows the curator alone what would not be counted"
            terminal.say(alone, bullet="Check    ", indent="         ")
        return None
    if not flags["quiet"]:
        if charging is None:  # an analyst is told nothing but the release
            note_dropped_records(engine.tally, log)
        _note_cost(release, charging, ready)
        if charging is not None and target is None and release.earlier is None:
            terminal.note("It was kept nowhere: asking again will be charged again. Keep it with --out DIR.")
    return Charged(release, target, charging, time.monotonic() - begin)


def show(
    spent: Charged, flags: Flags, summary: str, *next_ones: list[str], above: Callable[[], None] | None = None
) -> None:
    """Show what was made and promised, and commands to go on with; ``above`` shows a table before that."""
    if flags["as_json"]:
        terminal.print_json(spent.to_json())
        return
    if not spent.release.is_private:
        terminal.say("NOT PRIVATE: for research alone.")
    if above is not None:
        above()
    terminal.say(f"{summary}: {spent.folder}")
    terminal.say(spent.release.guarantee.sentence())
    if not flags["quiet"]:
        terminal.note_commands("\nNext:", *(next_ones or (["headcount", "explain", str(spent.folder)],)))


def show_plan(plan: Plan, *, as_json: bool) -> None:
    """Show what a request would promise, cost and be worth."""
    from headcount.reports.lab.plan_sentences import plan_in_words

    if as_json:
        terminal.print_json(plan.to_json())
        return
    terminal.say("Dry run: nothing was counted, written or charged.")
    click.echo()
    words = plan_in_words(plan)
    _say_about("Promise", words.promise)
    _say_about("Price", terminal.printable(words.price))
    if words.left is not None:
        _say_about("Left", words.left)
    for heading, sentence in words.selected:
        _say_about(heading, sentence)
    _say_about("Cells", words.cells)
    for number, error in enumerate(words.errors):
        _say_about("" if number else "Error", error)
    for note in words.notes:
        _say_about("Note", note)


def _say_about(heading: str, sentence: str) -> None:
    terminal.say(sentence, bullet=f"{heading:<9}", indent=" " * 9)


@contextmanager
def _charging(flags: Flags) -> Iterator[Charging | None]:
    """Open the ledger that the flags or the environment name, None if there is none."""
    from headcount.run.curator import charging_of

    names = ("dataset", "analyst", "again")
    charging = charging_of(flags["ledger"], **{name: flags[name] for name in names})
    try:
        yield charging
    except KeyboardInterrupt:
        if charging is not None:
            click.echo("what was reserved in the ledger stays charged: see `headcount ledger show`", err=True)
        raise
    finally:
        if charging is not None:
            charging.close()


def _target_of(flags: Flags, *, needed: bool) -> Path | None:
    """Return where to write, refused before any work if nothing may be written there."""
    from headcount.releases.folder_integrity import refuse_existing

    if not flags["out"]:
        if needed and not flags["dry_run"]:
            raise UsageError("no folder is given for the release", remedy="add --out DIR, or --dry-run")
        return None
    target = Path(flags["out"])
    refuse_existing(target, force=flags["force"])
    above = next((parent for parent in target.absolute().parents if parent.exists()), None)
    if above is not None and not above.is_dir():
        raise UsageError(f"{above} is a file, so {target} cannot be made", remedy="choose another --out")
    return target


def ledger_fields(release: Release) -> dict[str, Any]:
    """Return what a release says of its ledger, and of the folder that it was copied from."""
    earlier = {} if release.earlier is None else {"earlier": str(release.earlier.folder)}
    return {"ledger": release.ledger, **earlier}


def _note_cost(release: Release, charging: Charging | None, ready: Prepared) -> None:
    """Say what was spent, and where it was charged."""
    if release.earlier is not None:
        folder = terminal.printable(str(release.earlier.folder))
        terminal.note(
            f"Nothing was spent: this was published already, in {folder}, and that release is what you "
            "get. For a fresh draw, charged as new, add --again."
        )
        return
    where, charge = "not charged to any ledger", ready.final_charge(release)
    if charging is not None:
        charge = charge or ready.charge
        version = "" if charging.version is None else f"@{charging.version}"
        entry = (release.ledger or {})["entry"]
        where = f"charged to {charging.dataset}{version} by {charging.analyst}, entry {entry}"
    spent = charge or release.guarantee
    terminal.note(f"{spent.amounts} {'were' if spent.delta else 'was'} spent, {where}.")


def note_large(epsilon: Decimal) -> None:
    """Warn of an ε that protects hardly anyone."""
    doubt = large_epsilon_warning(epsilon)
    if doubt is not None:
        terminal.note(doubt)


def _note_assumptions(log: EventLog) -> None:
    """Warn of a query whose words speak against what is taken for granted of it: they are public."""
    from headcount.events.sources.databases.query_shape import TAKEN
    from headcount.events.sources.source import assumptions_of

    for assumption in assumptions_of(log.source):
        if assumption != TAKEN:
            terminal.note(f"It is taken for granted that {assumption}. Otherwise the promise does not hold.")


def _note_text_numbers(log: EventLog) -> None:
    """Say how numbers are read from text: the flags and the column's type decide it, and no row does."""
    from headcount.events.encode.text_columns import is_textual
    from headcount.events.notation import PLAIN
    from headcount.events.sources.files.packed_store import PackedSource

    roles, packed = log.roles, isinstance(log.source, PackedSource)
    for name in filter(None, (roles.value, roles.times)):
        if not packed and is_textual(log.type_of(name)) and roles.numbers.notation_of(name) == PLAIN:
            terminal.note(
                f"Column {name!r} is text. A value must be written as 1234.5, or it does not count: --decimal and "
                "--thousands name other notations."
            )


def note_dropped_records(tally: Any, log: EventLog) -> None:
    """Tell the curator what was left out: never in the release, nor in JSON."""
    if tally is None:
        return
    nulls, roles = dict(tally.nulls), log.roles
    without_user_or_item = sum(nulls.pop(name, 0) for name in dict.fromkeys((roles.user, roles.item)))
    unlisted = "not selected" if log.selects else "outside the catalogue"
    undeclared = "not selected" if log.selects_contexts else "outside its domain"
    context_words = f"with a context {undeclared}, or that cannot be read,"
    notes = [
        (tally.outside_catalogue, f"of items {unlisted}", "dropped"),
        (tally.unknown_context, context_words, "counted as unknown"),
        (without_user_or_item, "without user or item", "dropped"),
        *((number, f"for which column {name!r} says no number", "dropped") for name, number in nulls.items()),
    ]
    for number, which, fate in notes:
        if number:
            verb = "was" if number == 1 else "were"
            terminal.note(f"For the curator only: {some(number, 'record')} {which} {verb} {fate}.")
    if tally.rows and not log.selects and 2 * tally.outside_catalogue > tally.rows:
        terminal.note("That is more than half of the log: check --items and --item.")
    if any(number for number, *_ in notes):
        terminal.note(f"{_checking(log)} shows more.")


def _checking(log: EventLog) -> str:
    """Say how to look at what would not be counted; the command knows no tables of people and no tags."""
    from headcount.events.tag_log import TagLog

    in_python = isinstance(log, TagLog) or log.roles.item == log.roles.user
    return "hc.check(log), in Python," if in_python else "`headcount check`, with the same event flags,"
