"""``headcount release``: from an event log to a folder of private counts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from headcount.cli import options, terminal
from headcount.errors import UsageError


@click.command("release", short_help="Release private counts from an event log.")
@options.event_options
@options.spend_options
@click.option("--method", metavar="NAME", help="How to release; see `headcount methods`.")
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
    help="Kind of noise.",
)
@options.json_option
@options.quiet_option
def command(**flags: Any) -> None:
    r"""Release item counts and item-by-context counts under user-level differential privacy.

    EVENTS are Parquet, CSV, JSON lines or Arrow files, globs, folders, URIs, or - for standard input.

    \b
    Example:
      headcount release visits.parquet --user user --item venue --context weekday:time \\
        --items venues.csv --epsilon 1 --method hpa --limit 10 --out friday/
    """
    begin = time.monotonic()
    request = _request(flags)
    target = None if flags["out"] is None else Path(flags["out"])
    if target is None and not flags["dry_run"]:
        raise UsageError("no folder is given for the release", remedy="add --out DIR, or --dry-run")
    from headcount.curator import Curator  # noqa: PLC0415
    from headcount.engines.local import LocalEngine  # noqa: PLC0415
    from headcount.releases import refuse_existing  # noqa: PLC0415

    if target is not None:
        refuse_existing(target, force=flags["force"])
    log = options.event_log(flags)
    if flags["dry_run"]:
        _show_plan(Curator().plan(request, log), as_json=flags["as_json"])
        return
    assert target is not None  # noqa: S101  (refused above)
    with terminal.Bar(quiet=flags["quiet"]) as bar:
        engine = LocalEngine(progress=bar)
        release = Curator(engine=engine).run(request, log)
        release.save(target, force=flags["force"])
    if not flags["quiet"]:
        _note_what_was_met(engine)
        terminal.note("Not charged to any ledger.")
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
    click.echo(f"{target}: {', '.join(f'{name} ({table.num_rows:,})' for name, table in release.tables.items())}")
    click.echo(f"Counts of {release.bounded}. {release.guarantee.sentence()}")
    if not flags["quiet"]:
        terminal.note(
            f"Next: headcount top {target} · headcount explain {target} · headcount report {target} --to x.html"
        )


def _request(flags: dict[str, Any]) -> Any:
    from headcount.api import request_of  # noqa: PLC0415
    from headcount.budget import amount, probability  # noqa: PLC0415

    amount(flags["epsilon"])
    if flags["delta"] is not None:
        probability(flags["delta"])
        raise UsageError(
            "--delta is of no use here: the methods of this version are pure ε", remedy="leave it out"
        )
    if flags["noise"] == "gaussian":
        raise UsageError("gaussian noise is not available in this version", remedy="use --noise laplace")
    limit = flags["limit"]
    if limit is not None and not limit.strip().lstrip("+-").isdigit():
        raise UsageError("limit must be a whole number of at least 1", given=limit, remedy="try --limit 10")
    given = options.pairs(flags["options"], "--option") or {}
    return request_of(
        epsilon=flags["epsilon"],
        method=flags["method"],
        limit=None if limit is None else int(limit),
        what=flags["what"],
        shares=options.pairs(flags["shares"], "--shares"),
        options={name: int(value) if value.lstrip("-").isdigit() else value for name, value in given.items()},
        research=flags["research"],
    )


def _show_plan(plan: Any, *, as_json: bool) -> None:
    data = plan.to_json()
    if as_json:
        terminal.print_json(data)
        return
    click.echo("Dry run: no event was read and nothing was charged.")
    click.echo(plan.guarantee.sentence())
    click.echo(f"Cells: {plan.cells:,}.")
    for table, law in data["noise"].items():
        click.echo(
            f"Noise on {table}: standard deviation {law['deviation']:,.1f}; 95 % of counts lie within "
            f"± {law['half_width_95']:,} of what people were allowed to add."
        )


def _note_what_was_met(engine: Any) -> None:
    """Tell the curator what was left out: never in the release, nor in JSON."""
    tally = engine.tally
    if tally is None:
        return
    notes = [
        (tally.outside_catalogue, "records of items outside the catalogue were dropped"),
        (tally.unknown_context, "records have a context outside its domain and count as unknown"),
        (sum(tally.nulls.values()), "rows without user or item were dropped"),
    ]
    for number, text in notes:
        if number:
            terminal.note(f"For the curator only: {number:,} {text}.")
