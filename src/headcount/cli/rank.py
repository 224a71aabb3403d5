"""``headcount rank``: the best items of an event log, directly, without the counts behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from headcount.cli import options, terminal
from headcount.cli.charged import check_spending, ledger_fields, select_limit_of, spend
from headcount.cli.top import show_table
from headcount.errors import UsageError


@click.command(
    "rank",
    short_help="Release a private ranking from an event log.",
    epilog=options.example(
        "headcount rank visits.parquet --user user --item venue \\",
        "  --items venues.csv --epsilon 0.5 -k 10",
    ),
)
@options.event_options
@options.spend_options
@click.option("-k", "k", required=True, metavar="K", help="How many items.")
@click.option("--per-context", is_flag=True, help="One ranking for each context.")
@click.option("--with-counts", is_flag=True, help="Spend half of ε on noisy counts of the chosen items.")
@click.option("--shares", metavar="STAGE=S,…", help="How the stages share ε, such as ranking=0.7,counts=0.3.")
@options.json_option
@options.quiet_option
def command(**flags: Any) -> None:
    """Release the K items that most people have, under user-level differential privacy.

    Every person counts once per item, so no limit is needed. The ranking is printed, and with --out kept as a
    release. With --per-context and --context-of user each context's ranking gets all of ε.
    """
    spent = spend(flags, _request, needs_out=False)
    if spent is None:
        return
    release, target = spent.release, spent.target
    if flags["as_json"]:
        found: dict[str, Any] = {"guarantee": release.guarantee.to_json(), "ranking": release.ranking.to_pylist()}
        if target is not None:
            found |= {"out": str(target), **spent.timing}
        if target is not None or spent.charging is not None:
            found |= ledger_fields(release)
        terminal.print_json(found)
        return
    contexts = release.contexts or (None,)
    for context in contexts:
        show_table(release, release.top(int(flags["k"]), context), asked=context, last=context == contexts[-1])
    if target is not None and not flags["quiet"]:
        _say_where(release, target)


def _say_where(release: Any, target: Path) -> None:
    """Say where the release is, and what can be done with it."""
    folder = str(target)
    best = ["headcount", "top", folder, *(["--context", release.contexts[0]] if release.contexts else [])]
    page = ["headcount", "report", folder, "--to", f"{target.name or 'ranking'}.html"]
    words, explain = f"\nKept in {terminal.printable(folder)}. Next:", ["headcount", "explain", folder]
    terminal.note_commands(words, *([best, explain, page] if release.ranking.num_rows else [explain]))


def _request(flags: dict[str, Any]) -> Any:
    from headcount.api import request_of
    from headcount.request import RankRequest

    check_spending(flags)
    if flags["options"]:
        raise UsageError(
            "rank takes no options of a method", given=", ".join(flags["options"]), remedy="leave them out"
        )
    if flags["research"]:
        raise UsageError("rank has no method that is only claimed", remedy="leave --research out")
    k = options.whole_number(flags["k"], "k")
    fields = {name: flags[name] for name in ("epsilon", "delta", "per_context", "with_counts")}
    shares = options.pairs(flags["shares"], "--shares")
    return request_of(RankRequest, k=k, shares=shares, select_limit=select_limit_of(flags), **fields)
