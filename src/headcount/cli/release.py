"""``headcount release``: from an event log to a folder of private counts."""

from __future__ import annotations

import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from headcount.answers.words import some, whole
from headcount.cli import options, terminal
from headcount.cli.top import NO_ITEMS
from headcount.errors import UsageError

_NOUNS = {"items": "item count", "edges": "item-by-context count", "ranking": "place", "totals": "total"}

_VALUES = ("value", "low", "high")


@click.command(
    "release",
    short_help="Release private counts from an event log.",
    epilog=options.example(
        "headcount release visits.parquet --user user --item venue \\",
        "  --context weekday:time --items venues.csv \\",
        "  --epsilon 1 --out friday/",
    ),
)
@options.event_options
@options.spend_options
@click.option("--method", metavar="NAME", help="How to release; see `headcount methods`.  [default: adaptive]")
@click.option("--limit", metavar="L", help="The most records (or item and context pairs) one person may add.")
@click.option(
    "--what",
    type=click.Choice(["items", "edges", "both", "totals"]),
    help="Which counts, or totals over all people.  [default: both if there is a context, else items]",
)
@click.option("--shares", metavar="STAGE=S,…", help="How the stages share ε, such as items=0.5,edges=0.5.")
@click.option(
    "--noise",
    type=click.Choice(["laplace", "gaussian"]),
    default="laplace",
    show_default=True,
    help="Kind of noise; gaussian needs --delta.",
)
@options.json_option
@options.quiet_option
def command(**flags: Any) -> None:
    """Release item counts and item-by-context counts under user-level differential privacy.

    EVENTS are Parquet, CSV, JSON lines or Arrow files, globs, folders, URIs, - for standard input, or a packed
    store.
    """
    begin = time.monotonic()
    target = target_of(flags, needed=True)
    with terminal.Bar(quiet=flags["quiet"]) as bar:
        request = _request(flags)
        from headcount.curator import Curator
        from headcount.engines.local import LocalEngine

        with options.charging(flags) as charging:
            request.build(selecting=flags["select_items"])
            log = options.event_log(flags)
            curator = Curator(engine=LocalEngine(progress=bar), charging=charging)
            if target is None or flags["dry_run"]:
                plan = curator.plan(request, log)
            else:
                release = curator.run(request, log)
                bar("writing the release", 0, None)
                release.save(target, force=flags["force"])
    if target is None or flags["dry_run"]:
        show_plan(plan, as_json=flags["as_json"])
        return
    if not flags["quiet"]:
        if charging is None:  # an analyst is told nothing but the release
            note_what_was_met(curator.engine, selected=log.selects)
        note_price(release, charging, request, log)
    if flags["as_json"]:
        terminal.print_json(
            {
                "out": str(target),
                "method": release.method,
                "guarantee": release.guarantee.to_json(),
                **ledger_fields(release),
                "seconds": round(time.monotonic() - begin, 3),
            }
        )
        return
    _show_release(release, target, quiet=flags["quiet"])


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


def _request(flags: dict[str, Any]) -> Any:
    check_spending(flags)
    limit = flags["limit"]
    given = options.pairs(flags["options"], "--option") or {}
    from headcount.api import request_of
    from headcount.request import ReleaseRequest

    return request_of(
        ReleaseRequest,
        epsilon=flags["epsilon"],
        delta=flags["delta"],
        select_limit=select_limit_of(flags),
        method=flags["method"],
        limit=None if limit is None else options.whole_number(limit, "limit"),
        what=flags["what"],
        shares=options.pairs(flags["shares"], "--shares"),
        noise=flags["noise"],
        options={name: options.plain_value(value) for name, value in given.items()},
        research=flags["research"],
    )


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
    known = [some(number, _NOUNS[table]) for table, number in plan.cells.items() if number is not None]
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
    if found.published is not None:
        price = f"nothing: published already in {terminal.printable(found.published)}"
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
        return f"each {_NOUNS[table]}: not known before the items are selected"
    if law is None and table == "ranking":
        return "which items are chosen; counts, if any, are as noisy as the data will tell"
    if law is None:
        return f"each {_NOUNS[table]}: not known before the data is read"
    noise = "discrete Gaussian noise of " if law["law"] == "discrete-gaussian" else ""
    reach = f"{noise}standard deviation {law['deviation']:,.1f}, and 95% lie within ±{law['half_width_95']:,.0f}"
    if table in ("users", "records", "sum"):
        return f"{law.get('on', f'the number of {table}')}: {reach}"
    if "on" in law:
        of = "" if noise else "noise of "
        return f"{_NOUNS[table]}s: {of}{reach}, on {law['on']}; how large their errors become depends on the data"
    what = "the count of each place" if table == "ranking" else f"each {_NOUNS[table]}"
    return f"{what}: {reach} of what people were allowed to add"


def _show_release(release: Any, target: Path, *, quiet: bool) -> None:
    counted = {name: table for name, table in release.tables.items() if name != "activity"}
    made = " and ".join(some(table.num_rows, _NOUNS[name]) for name, table in counted.items())
    beside = ", and a histogram of how active people are" if "activity" in release.tables else ""
    if not release.is_private:
        terminal.say("NOT PRIVATE: for research alone.")
    nothing = not any(table.num_rows for table in counted.values())
    if "totals" in release.tables:
        show_totals(release)
    terminal.say(f"{NO_ITEMS}: {target}" if nothing else f"{made}, of {release.bounded}{beside}: {target}")
    terminal.say(release.guarantee.sentence())
    if not quiet:
        folder = str(target)
        best = ["headcount", "top", folder]
        if "totals" in release.tables:
            best = ["headcount", "export", folder, "--to", f"{target.name or 'totals'}-sheets"]
        elif "items" not in release.tables:
            best += ["--context", release.contexts[0]]
        page = ["headcount", "report", folder, "--to", f"{target.name or 'release'}.html"]
        explain = ["headcount", "explain", folder]
        terminal.note_commands("\nNext:", *([explain] if nothing else [best, explain, page]))


def show_totals(release: Any) -> None:
    """Print totals as a table."""
    columns = [("", "left"), ("value", "right"), ("low", "right"), ("high", "right")]
    rows = [
        [row["total"], *(f"{row[each]:,.6g}" if row["total"] == "mean" else whole(row[each]) for each in _VALUES)]
        for row in release.totals.to_pylist()
    ]
    terminal.print_table(columns, rows)
    click.echo()


def note_what_was_met(engine: Any, *, selected: bool = False) -> None:
    """Tell the curator what was left out: never in the release, nor in JSON."""
    tally = engine.tally
    if tally is None:
        return
    notes = [
        (
            tally.outside_catalogue,
            f"of items {'not selected' if selected else 'outside the catalogue'}",
            "dropped",
        ),
        (tally.unknown_context, "with a context outside its domain", "counted as unknown"),
        (sum(tally.nulls.values()), "without user or item", "dropped"),
    ]
    for number, which, fate in notes:
        if number:
            verb = "was" if number == 1 else "were"
            terminal.note(f"For the curator only: {some(number, 'record')} {which} {verb} {fate}.")
    if tally.rows and not selected and 2 * tally.outside_catalogue > tally.rows:
        terminal.note("That is more than half of the log: check --items and --item.")
