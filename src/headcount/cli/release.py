"""``headcount release``: from an event log to a folder of private counts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from headcount.answers.words import some
from headcount.cli import options, terminal
from headcount.errors import UsageError

_NOUNS = {"items": "item count", "edges": "item-by-context count", "ranking": "place"}


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
    type=click.Choice(["items", "edges", "both"]),
    help="Which counts.  [default: both if there is a context, else items]",
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
        from headcount.curator import Curator, refuse_ledger
        from headcount.engines.local import LocalEngine

        refuse_ledger()
        request.build()
        log = options.event_log(flags)
        if target is not None and not flags["dry_run"]:
            engine = LocalEngine(progress=bar)
            release = Curator(engine=engine).run(request, log)
            bar("writing the release", 0, None)
            release.save(target, force=flags["force"])
    if target is None or flags["dry_run"]:
        show_plan(Curator().plan(request, log), as_json=flags["as_json"])
        return
    if not flags["quiet"]:
        note_what_was_met(engine)
        terminal.note(f"{release.guarantee.amounts} was spent, not charged to any ledger.")
    if flags["as_json"]:
        terminal.print_json(
            {
                "out": str(target),
                "method": release.method,
                "guarantee": release.guarantee.to_json(),
                "ledger": None,
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


def _request(flags: dict[str, Any]) -> Any:
    limit = flags["limit"]
    given = options.pairs(flags["options"], "--option") or {}
    from headcount.api import request_of
    from headcount.request import ReleaseRequest

    return request_of(
        ReleaseRequest,
        epsilon=flags["epsilon"],
        delta=flags["delta"],
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
    terminal.say(f"{plan.guarantee.amounts}, charged to no ledger", bullet="Price    ", indent="         ")
    cells = " and ".join(some(number, _NOUNS[table]) for table, number in plan.cells.items())
    terminal.say(cells, bullet="Cells    ", indent="         ")
    start = "Error    "
    for table in plan.cells:
        terminal.say(_expected_error(table, data["noise"].get(table)), bullet=start, indent="         ")
        start = "         "


def _expected_error(table: str, law: dict[str, Any] | None) -> str:
    if law is None and table == "ranking":
        return "which items are chosen; no counts are released"
    if law is None:
        return f"each {_NOUNS[table]}: not known before the data is read"
    noise = "discrete Gaussian noise of " if law["law"] == "discrete-gaussian" else ""
    reach = f"{noise}standard deviation {law['deviation']:,.1f}, and 95% lie within ±{law['half_width_95']:,.0f}"
    if "on" in law:
        return f"{_NOUNS[table]}s: noise on {law['on']} of {reach}; how much smoothing costs depends on the data"
    what = "the count of each place" if table == "ranking" else f"each {_NOUNS[table]}"
    return f"{what}: {reach} of what people were allowed to add"


def _show_release(release: Any, target: Path, *, quiet: bool) -> None:
    made = " and ".join(some(table.num_rows, _NOUNS[name]) for name, table in release.tables.items())
    if not release.is_private:
        terminal.say("NOT PRIVATE: for research alone.")
    terminal.say(f"{made}, of {release.bounded}: {target}")
    terminal.say(release.guarantee.sentence())
    if not quiet:
        folder = str(target)
        best = ["headcount", "top", folder]
        best += ["--context", release.contexts[0]] if "items" not in release.tables else []
        page = ["headcount", "report", folder, "--to", f"{target.name or 'release'}.html"]
        terminal.note_commands("\nNext:", best, ["headcount", "explain", folder], page)


def note_what_was_met(engine: Any) -> None:
    """Tell the curator what was left out: never in the release, nor in JSON."""
    tally = engine.tally
    if tally is None:
        return
    notes = [
        (tally.outside_catalogue, "of items outside the catalogue", "dropped"),
        (tally.unknown_context, "with a context outside its domain", "counted as unknown"),
        (sum(tally.nulls.values()), "without user or item", "dropped"),
    ]
    for number, which, fate in notes:
        if number:
            verb = "was" if number == 1 else "were"
            terminal.note(f"For the curator only: {some(number, 'record')} {which} {verb} {fate}.")
    if tally.rows and 2 * tally.outside_catalogue > tally.rows:
        terminal.note("That is more than half of the log: check --items and --item.")
