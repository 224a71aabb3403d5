"""``headcount rank``: release the top-K items directly, without their counts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headcount.cli import options, terminal
from headcount.cli.charged import charged_options, ledger_fields, spend
from headcount.cli.commands.top import show_table
from headcount.errors import UsageError
from headcount.methods.rankings import FAMILY
from headcount.releases.formatting import undecided_contexts

if TYPE_CHECKING:
    from headcount.releases.release import Release


@click.command(
    "rank",
    short_help=FAMILY.short_help,
    epilog=options.example(
        "headcount rank visits.parquet --user user --item venue \\",
        "  --items venues.csv --epsilon 0.5 -k 10",
    ),
)
@charged_options(FAMILY)
def command(**flags: Any) -> None:
    """Release the K items that most people have, under user-level differential privacy.

    Every person counts once per item, so no limit is needed. The ranking is printed, and with --out kept as a
    release. With --per-context and --context-of user each context's ranking gets all of ε.
    """
    if flags["context"] and not flags["per_context"] and flags["context_of"] != "user":
        raise UsageError(
            "a context changes nothing in a ranking of everything",
            remedy="add --per-context for one ranking each, or leave --context out",
        )
    spent = spend(FAMILY, flags, needs_out=False)
    if spent is None:
        return
    release, target = spent.release, spent.target
    if flags["as_json"]:
        result: dict[str, Any] = {"guarantee": release.guarantee.to_json(), "ranking": release.ranking.to_pylist()}
        if undecided_contexts(release.chosen):
            result["nothing_told"] = list(undecided_contexts(release.chosen))
        if target is not None:
            result |= {"out": str(target), **spent.timing}
        if target is not None or spent.charging is not None:
            result |= ledger_fields(release)
        terminal.print_json(result)
        return
    contexts = release.contexts or (None,)
    for context in contexts:
        show_table(release, release.top(int(flags["k"]), context), context=context, last=context == contexts[-1])
    if target is not None and not flags["quiet"]:
        _say_where(release, target)


def _say_where(release: Release, target: Path) -> None:
    """Say where the release is, and what can be done with it."""
    folder = str(target)
    best = ["headcount", "top", folder, *(["--context", release.contexts[0]] if release.contexts else [])]
    page = ["headcount", "report", folder, "--to", f"{target.name or 'ranking'}.html"]
    words, explain = f"\nKept in {terminal.printable(folder)}. Next:", ["headcount", "explain", folder]
    terminal.note_commands(words, *([best, explain, page] if release.ranking.num_rows else [explain]))
