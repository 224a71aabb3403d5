"""What all charged commands do alike: validate, reserve, read, write, and say what it cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from headcount.answers.words import some
from headcount.cli import options, terminal
from headcount.errors import UsageError

NOUNS = {
    "items": "item count", "edges": "item-by-context count", "ranking": "place", "totals": "total",
    "model/items": "item", "model/pairs": "pair of items", "answers": "answer",
    "model/tags": "tag weight", "model/resources": "resource weight",
}  # fmt: skip
"""What the numbers of each table are called."""


@dataclass(frozen=True)
class Spent:
    """What a charged command made, where it is kept if anywhere, and how long it took."""

    release: Any
    target: Path | None
    charging: Any
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


def spend(
    flags: dict[str, Any],
    request_of: Callable[[dict[str, Any]], Any],
    *,
    needs_out: bool,
    log_of: Callable[[dict[str, Any]], Any] = options.event_log,
) -> Spent | None:
    """Run a charged command as far as all do alike; None after a dry run, which is shown here."""
    begin = time.monotonic()
    target = target_of(flags, needed=needs_out)
    with terminal.Bar(quiet=flags["quiet"]) as bar:
        request = request_of(flags)
        from headcount.curator import Curator
        from headcount.engines.local import LocalEngine

        with options.charging(flags) as charging:
            if charging is not None:
                bar.be_discreet()
            request.build(selecting=flags["select_items"])
            log = log_of(flags)
            engine = LocalEngine(progress=bar)
            curator = Curator(engine=engine, charging=charging)
            if flags["dry_run"]:
                plan = curator.plan(request, log)
            else:
                release = curator.run(request, log)
                if target is not None:
                    bar("writing the release", 0, None)
                    release.save(target, force=flags["force"])
    if flags["dry_run"]:
        show_plan(plan, as_json=flags["as_json"])
        if not flags["as_json"]:
            alone = f"{_checking(log)} shows the curator alone what would not be counted"
            terminal.say(alone, bullet="Check    ", indent="         ")
        return None
    if not flags["quiet"]:
        if charging is None:  # an analyst is told nothing but the release
            note_what_was_met(engine.tally, log)
        note_price(release, charging, request, log)
        if charging is not None and target is None and release.earlier is None:
            terminal.note("It was kept nowhere: asking again will be charged again. Keep it with --out DIR.")
    return Spent(release, target, charging, time.monotonic() - begin)


def target_of(flags: dict[str, Any], *, needed: bool) -> Path | None:
    """Return where to write, refused before any work if nothing may be written there."""
    from headcount.releases import refuse_existing

    if not flags["out"]:
        if needed and not flags["dry_run"]:
            raise UsageError("no folder is given for the release", remedy="add --out DIR, or --dry-run")
        return None
    target = Path(flags["out"])
    refuse_existing(target, force=flags["force"])
    above = next((each for each in target.absolute().parents if each.exists()), None)
    if above is not None and not above.is_dir():
        raise UsageError(f"{above} is a file, so {target} cannot be made", remedy="choose another --out")
    return target


def check_spending(flags: dict[str, Any]) -> None:
    """Refuse a bad ε or δ, a δ that nothing could use and the lack of one, before anything is looked at."""
    from headcount.budget import amount, probability
    from headcount.request import check_delta

    amount(flags["epsilon"])
    delta = None if flags["delta"] is None else probability(flags["delta"])
    check_delta(delta, flags.get("noise"), selecting=flags["select_items"])


def select_limit_of(flags: dict[str, Any]) -> int | None:
    """Read how many items of a person count for selecting."""
    given = flags["select_limit"]
    return None if given is None else options.whole_number(given, "select-limit")


def show_plan(plan: Any, *, as_json: bool) -> None:
    """Show what a request would promise, cost and be worth."""
    data = plan.to_json()
    if as_json:
        terminal.print_json(data)
        return
    terminal.say("Dry run: nothing was counted, written or charged.")
    click.echo()
    if not plan.guarantee.reason:
        terminal.say(plan.guarantee.sentence(), bullet="Promise  ", indent="         ")
    else:
        terminal.say("NOT PRIVATE. " + plan.guarantee.sentence(), bullet="Promise  ", indent="         ")
    _say_price(plan)
    if plan.selection is not None:
        terminal.say(_how_selected(plan.selection), bullet="Items    ", indent="         ")
    known = [some(number, NOUNS[table]) for table, number in plan.cells.items() if number is not None]
    terminal.say(
        " and ".join(known) or "not known before the items are selected", bullet="Cells    ", indent="         "
    )
    start = "Error    "
    for table in plan.noise if "totals" in plan.cells else plan.cells:
        error = _expected_error(table, data["noise"].get(table), selecting=plan.selection is not None)
        terminal.say(error, bullet=start, indent="         ")
        start = "         "


def _say_price(plan: Any) -> None:
    """Say what a request would cost, and what is left."""
    if plan.ledger is None:
        terminal.say(f"{plan.guarantee.amounts}, charged to no ledger", bullet="Price    ", indent="         ")
        return
    from headcount.ledger.accounting import plain

    found = plan.ledger
    price = f"{found.charge.amounts}, charged to {found.dataset} by {found.analyst}"
    if found.issued is not None:
        price = f"nothing: published already in {terminal.printable(found.issued)}"
    terminal.say(price, bullet="Price    ", indent="         ")
    own = "" if found.account.budget.per_analyst is None else f" for {found.analyst}"
    terminal.say(f"ε = {plain(found.left)}{own}, before this", bullet="Left     ", indent="         ")


def ledger_fields(release: Any) -> dict[str, Any]:
    """Return what a release says of its ledger, and of the folder that it was copied from."""
    fields: dict[str, Any] = {"ledger": release.ledger}
    return fields if release.earlier is None else fields | {"earlier": str(release.earlier.folder)}


def note_price(release: Any, charging: Any, request: Any, log: Any) -> None:
    """Say what was spent, and where it was charged."""
    if release.earlier is not None:
        folder = terminal.printable(str(release.earlier.folder))
        terminal.note(
            f"Nothing was spent: this was published already, in {folder}, and that release is what you "
            "get. For a fresh draw, charged as new, add --again."
        )
        return
    where, price = "not charged to any ledger", release.guarantee
    if charging is not None:
        from headcount.charging import cost

        price = cost(request, log, release.guarantee)
        version = "" if charging.version is None else f"@{charging.version}"
        where = f"charged to {charging.dataset}{version} by {charging.analyst}, entry {release.ledger['entry']}"
    terminal.note(f"{price.amounts} {'were' if price.delta else 'was'} spent, {where}.")


def _how_selected(selection: dict[str, Any]) -> str:
    """Say how items will be selected."""
    from headcount.guarantee import in_short

    delta = in_short(Decimal(selection["delta"]))
    return (
        f"selected with ε = {selection['epsilon']} and δ = {delta} of it: those that "
        f"{selection['threshold']:,} people or more have, noise included, where at most "
        f"{some(selection['limit'], 'item')} of each person count"
    )


def _expected_error(table: str, law: dict[str, Any] | None, *, selecting: bool = False) -> str:
    if law is None and selecting:
        return f"each {NOUNS[table]}: not known before the items are selected"
    if law is None and table == "ranking":
        return "which items are chosen; counts, if any, are as noisy as the data will tell"
    if law is None:
        return f"each {NOUNS[table]}: not known before the data is read"
    noise = "discrete Gaussian noise of " if law["law"] == "discrete-gaussian" else ""
    reach = f"{noise}standard deviation {law['deviation']:,.1f}, and 95% lie within ±{law['half_width_95']:,.0f}"
    if table in ("users", "records", "sum"):
        return f"{law.get('on', f'the number of {table}')}: {reach}"
    if table == "answers":
        return f"a query over one cell: {reach}; over s cells, about √s times that"
    if "on" in law:
        of = "" if noise else "noise of "
        return f"{NOUNS[table]}s: {of}{reach}, on {law['on']}; how large their errors become depends on the data"
    if table in ("model/tags", "model/resources"):
        wide = f"{noise}standard deviation {law['deviation']:,.2f}"
        return f"each {NOUNS[table]}: {wide}, where one person adds 1 at most"
    what = "the count of each place" if table == "ranking" else f"each {NOUNS[table]}"
    return f"{what}: {reach} of what people were allowed to add"


def note_what_was_met(tally: Any, log: Any) -> None:
    """Tell the curator what was left out: never in the release, nor in JSON."""
    if tally is None:
        return
    nulls, roles = dict(tally.nulls), log.roles
    nobodys = sum(nulls.pop(name, 0) for name in dict.fromkeys((roles.user, roles.item)))
    notes = [
        (
            tally.outside_catalogue,
            f"of items {'not selected' if log.selects else 'outside the catalogue'}",
            "dropped",
        ),
        (
            tally.unknown_context,
            "with a context outside its domain, or that cannot be read,",
            "counted as unknown",
        ),
        (nobodys, "without user or item", "dropped"),
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


def _checking(log: Any) -> str:
    """Say how to look at what would not be counted; the command knows no tables of people and no tags."""
    from headcount.events.tagged import TagLog

    in_python = isinstance(log, TagLog) or log.roles.item == log.roles.user
    return "hc.check(log), in Python," if in_python else "`headcount check`, with the same event flags,"
