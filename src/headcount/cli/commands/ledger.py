"""``headcount ledger``: create, show, verify, export and import the privacy budget accounts of datasets."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headcount.cli import options, terminal
from headcount.cli.charged import note_large
from headcount.errors import DataError, RefusedError, UsageError
from headcount.ledger.budget_parameters import BUDGET
from headcount.releases.formatting import some

if TYPE_CHECKING:
    from headcount.ledger import Account

_DEFAULT = "sqlite:///headcount.db"
_RECENT = 24  # windows of a dataset that are shown


@click.group(
    "ledger",
    cls=options.Actions,
    short_help="Keep account of what is spent on each dataset.",
    epilog=options.example(
        "headcount ledger create --dataset visits --epsilon 3 --per-analyst 1",
        "headcount ledger show --dataset visits",
    ),
)
def command() -> None:
    """Keep account of what is spent on each dataset: a budget that nobody can spend twice.

    The ledger is a SQLite file, or a PostgreSQL database for several machines.
    """


_ledger_option = click.option(
    "--ledger", metavar="URL", help=f"Which ledger.  [default: HEADCOUNT_LEDGER, else {_DEFAULT}]"
)


def _dataset_option(*, required: bool = False) -> Callable[[Any], Any]:
    words = "The name of the dataset: of its people." if required else "Only this dataset."
    return click.option("--dataset", required=required, metavar="NAME", help=words)


@contextmanager
def _opened(url: str | None, **how: Any) -> Iterator[Any]:
    from headcount.ledger import Ledger

    if url == "":
        raise UsageError("--ledger must be a URL", remedy=f"such as {_DEFAULT}")
    with Ledger(url or os.environ.get("HEADCOUNT_LEDGER") or _DEFAULT, **how) as ledger:
        yield ledger


@command.command(
    "create",
    short_help="Create the budget of a dataset.",
    epilog=options.example("headcount ledger create --dataset visits --epsilon 3 --per-analyst 1"),
)
@_dataset_option(required=True)
@options.grouped(options.option(name, flag) for name, flag in BUDGET.items())
@_ledger_option
@options.json_option
def _create(dataset: str, ledger: str | None, as_json: bool, **budget: Any) -> None:
    """Create the budget of a dataset, and the ledger itself if there is none. A budget is never changed.

    With --window it is the budget of each window of event time: releases then need --since and --until.
    """
    if budget["window"] is not None:
        from headcount.events.times import TimeFormat

        TimeFormat(budget["time_format"], budget["timezone"])  # refuses what no release could read
    with _opened(ledger) as opened:
        account = opened.create(dataset, **budget)
        key = opened.key_path
    note_large(Decimal(budget["epsilon"]))
    if as_json:
        terminal.print_json(account.to_json())
        return
    _show_accounts([account])
    terminal.note(f"The key that signs the journal is {key}. Keep it, and keep a copy.")


@command.command(
    "show",
    short_help="Show what was spent and what is left.",
    epilog=options.example("headcount ledger show --dataset visits"),
)
@_dataset_option()
@_ledger_option
@options.json_option
def _show(dataset: str | None, ledger: str | None, as_json: bool) -> None:
    """Show what was spent and what is left, of each dataset and by each analyst."""
    with _opened(ledger) as opened:
        accounts = [opened.show(name) for name in (opened.datasets() if dataset is None else [dataset])]
    if as_json:
        terminal.print_json([account.to_json() for account in accounts])
        return
    _show_accounts(accounts)


@command.command(
    "allow",
    short_help="Let one analyst spend an amount of their own.",
    epilog=options.example("headcount ledger allow visits ann 0.5"),
)
@click.argument("dataset")
@click.argument("analyst")
@click.argument("epsilon")
@_ledger_option
@options.json_option
def _allow(dataset: str, analyst: str, epsilon: str, ledger: str | None, as_json: bool) -> None:
    """Let ANALYST spend EPSILON of the budget of DATASET, in place of what each analyst may spend.

    It can be raised and lowered again, down to what the analyst has spent. With windows it is for each of them.
    The budget of the dataset stays the limit above all.
    """
    with _opened(ledger) as opened:
        account = opened.allow(dataset, analyst, epsilon)
    if as_json:
        terminal.print_json(account.to_json())
        return
    _show_accounts([account])


@command.command("history", epilog=options.example("headcount ledger history --dataset visits"))
@_dataset_option()
@_ledger_option
@options.json_option
def _history(dataset: str | None, ledger: str | None, as_json: bool) -> None:
    """Show every entry of the journal, oldest first."""
    from headcount.ledger.journal.entries import describe_entry

    with _opened(ledger) as opened:
        entries = opened.history(dataset)
    if as_json:
        terminal.print_json([json.loads(entry.text) for entry in entries])
        return
    rows = []
    for entry in entries:
        dataset = entry.dataset + ("" if entry.version is None else f"@{entry.version}")
        moment = entry.time[:19].replace("T", " ")
        rows.append([entry.number, moment, entry.kind, dataset, entry.analyst, describe_entry(entry)])
    headings = ("", "time (UTC)", "what", "dataset", "analyst", "about")
    terminal.print_table(headings, "rlllll", rows)


@command.command(
    "verify",
    short_help="Look for edits, deletions and reordering.",
    epilog=options.example("headcount ledger verify friday/ saturday/"),
)
@click.argument("releases", nargs=-1, metavar="[RELEASE]...")
@_ledger_option
@options.json_option
def _verify(releases: tuple[str, ...], ledger: str | None, as_json: bool) -> None:
    """Look for edits, deletions and reordering, and say what could not be seen.

    RELEASE folders that were charged to this ledger are witnesses: each carries the entry it was charged as.
    """
    witnesses = [_witness(folder) for folder in releases]
    with _opened(ledger) as opened:
        verification = opened.verify(witnesses)
    if as_json:
        terminal.print_json(verification.to_json())
    else:
        for sentence in verification.sentences():
            terminal.say(sentence)
    if not verification.ok:
        raise click.exceptions.Exit(RefusedError.exit_code)


@command.command("export", epilog=options.example("headcount ledger export --to journal.jsonl"))
@click.option("--to", required=True, metavar="FILE", help="New file to write.")
@_ledger_option
@options.json_option
def _export(to: str, ledger: str | None, as_json: bool) -> None:
    """Write the journal as JSON lines."""
    with _opened(ledger) as opened:
        entries = opened.export(to)
    _report_entries("to", to, entries, as_json=as_json)


@command.command(
    "import",
    short_help="Read an exported journal into a new place.",
    epilog=options.example("headcount ledger import journal.jsonl --ledger sqlite:///new.db"),
)
@click.argument("file")
@_ledger_option
@options.json_option
def _import(file: str, ledger: str | None, as_json: bool) -> None:
    """Read an exported journal into a place where there is no ledger yet. Its key must be there."""
    with _opened(ledger) as opened:
        entries = opened.import_(file)
    _report_entries("from", file, entries, as_json=as_json)


@command.command(
    "upgrade",
    short_help="Bring a ledger of an earlier version up to date.",
    epilog=options.example("headcount ledger upgrade --ledger sqlite:///headcount.db"),
)
@_ledger_option
def _upgrade(ledger: str | None) -> None:
    """Bring the tables of a ledger that an earlier version made up to date. Its journal stays as it is."""
    with _opened(ledger, upgrade=True) as opened:
        verification = opened.verify()
    terminal.say(f"Up to date: {verification.sentences()[0]}")
    if not verification.ok:
        raise click.exceptions.Exit(RefusedError.exit_code)


def _report_entries(direction: str, file: str, entries: int, *, as_json: bool) -> None:
    if as_json:
        terminal.print_json({"file": file, "entries": entries})
        return
    terminal.say(f"{entries:,} {'entry' if entries == 1 else 'entries'} {direction} {terminal.printable(file)}.")


def _witness(folder: str) -> tuple[int, str]:
    from headcount.releases.release import load

    charge_record = load(folder).ledger
    if charge_record is None:
        raise DataError(f"{Path(folder)} was not charged to any ledger", remedy="leave it out")
    return int(charge_record["entry"]), str(charge_record["head"])


def _show_accounts(accounts: list[Any]) -> None:
    if not accounts:
        terminal.say("No dataset has a budget yet; make one with `headcount ledger create`.")
        return
    with_delta = any(account.budget.delta for account in accounts)
    with_windows = any(account.budget.windows for account in accounts)
    rows = [
        _row(balance, with_windows=with_windows, with_delta=with_delta)
        for whole in accounts
        for account in (whole, *whole.windows[-_RECENT:])
        for balance in (account, *account.analysts)
    ]
    texts = ("dataset", "analyst", *(("window",) if with_windows else ()))
    deltas = ("budget δ", "spent δ") if with_delta else ()
    numbers = ("budget ε", "spent", "left", *deltas, "published", "open", "refunded")
    terminal.print_table((*texts, *numbers), "l" * len(texts) + "r" * len(numbers), rows)
    for account in accounts:
        if account.budget.windows is not None:
            budget = account.budget
            terminal.say(f"{account.dataset}: {budget.amounts} in each window of {budget.windows}.")
        if len(account.windows) > _RECENT:
            terminal.note(f"Of {account.dataset} the latest {_RECENT} windows are shown; --json shows all.")
    unpublished = sum(account.open for account in accounts)
    if unpublished:
        words = "charged and not published: running, crashed, or kept nowhere."
        terminal.note(f"{some(unpublished, 'request')} {words}")


def _row(balance: Account, *, with_windows: bool, with_delta: bool) -> list[Any]:
    """Return the cells of a balance: of a dataset or an analyst, at all times or in one window."""
    from headcount.accounting.charges import plain

    windows = balance.budget.windows
    window = None if windows is None else balance.dates.removeprefix("from ") or "all"
    amounts = (balance.most, balance.epsilon, balance.left)
    return [
        balance.dataset,
        balance.analyst,
        *([window] if with_windows else ()),
        *(plain(amount) if amount.is_finite() else None for amount in amounts),
        *(_deltas(balance) if with_delta else ()),
        balance.issued,
        balance.open,
        balance.refunded,
    ]


def _deltas(balance: Account) -> tuple[str | None, str]:
    from headcount.accounting.guarantee import format_delta

    most, spent = (format_delta(delta) if delta else "0" for delta in (balance.most_delta, balance.spent.delta))
    return most if balance.analyst is None and balance.most_delta.is_finite() else None, spent
