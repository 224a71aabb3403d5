"""Print the finding of an audit of one target: bounds per pair, evidence, verdict.

The sentences that pages and terminal share are in ``reports``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from headcount.accounting.guarantee import Standing
from headcount.cli import terminal
from headcount.releases.formatting import per_cent
from headcount.reports.lab.audit_sentences import (
    COULD_NOT,
    describe_pair,
    settings_in_words,
    verdict,
    verdicts,
    visible_in_words,
)

_BESIDE = 50  # columns of a table that are not the event
_MOST_SHOWN = 12  # items of one person
_USERS_SHOWN = 3
_INDENT = " " * 10


def show(finding: dict[str, Any], *, briefly: bool) -> None:
    """Print what was found about one target, or why it could not be audited."""
    if "error" in finding:
        terminal.say(
            f"{finding['method']}, ε = {finding['epsilon']}: {COULD_NOT}: {finding['message']}", indent="    "
        )
        click.echo()
        return
    settings = [f"ε = {finding['epsilon']}", *filter(None, [settings_in_words(finding)])]
    standing = Standing(finding["standing"]).words
    click.echo(f"{click.style(finding['method'], bold=True)}, {', '.join([*settings, standing])}")
    terminal.say(finding["sentence"], indent="    ")
    if finding["reason"] and finding["violation"]:
        terminal.say(f"As expected, since {finding['reason']}.", indent="    ")
    replayed = "replay" in finding
    if not finding["violation"] and not replayed and visible_in_words(finding):
        terminal.say(visible_in_words(finding), indent="    ")
    if not briefly:
        click.echo()
        (_show_replayed if replayed else _show_pairs)(finding["pairs"])
    if finding["violation"] and not replayed and not (briefly and finding["standing"] == "claimed"):
        click.echo()
        _show_evidence(max(finding["pairs"], key=lambda pair: pair["lower_bound"]))
    if briefly:
        click.echo()


def sum_up(ended: Sequence[dict[str, Any]]) -> None:
    """Print a table of what became of all targets, and the same in words; those that failed with their reason."""
    columns = [("method", "left"), ("standing", "left"), ("ε claimed", "right"), ("ε at least", "right"),
               ("verdict", "left")]  # fmt: skip
    terminal.print_table(columns, [_row(finding) for finding in ended])
    click.echo()
    for sentence in verdicts(ended):
        terminal.say(sentence)


def _row(finding: dict[str, Any]) -> list[str]:
    bound = "–" if finding["lower_bound"] is None else f"{finding['lower_bound']:.2f}"
    return [finding["method"], finding["standing"], finding["epsilon"], bound, verdict(finding)]


def _show_pairs(pairs: Sequence[dict[str, Any]]) -> None:
    rows, room = [], max(30, terminal.width() - _BESIDE)
    for pair in sorted(pairs, key=lambda pair: -pair["lower_bound"]):
        event = pair["evidence"]["event"] if pair["evidence"] else "–"
        event = event if len(event) <= room else event[: room - 1] + "…"
        rows.append([pair["name"], f"{pair['runs']:,}", f"{pair['lower_bound']:.2f}", event])
    columns = [("neighbours", "left"), ("runs", "right"), ("ε at least", "right"), ("best event", "left")]
    terminal.print_table(columns, rows)


def _show_replayed(pairs: Sequence[dict[str, Any]]) -> None:
    """Print how far each person moved what met noise, and what that costs; those who can be told come first."""
    rows = [
        [pair["name"], f"{pair['draws']:,}", per_cent(pair["furthest"]), f"{pair['epsilon']:.2f}",
         "told apart" if pair["violation"] else "alike"]
        for pair in sorted(pairs, key=lambda pair: (pair["violation"] is None, -pair["furthest"]))
    ]  # fmt: skip
    columns = [("neighbours", "left"), ("draws", "right"), ("moved", "right"), ("ε", "right"), ("verdict", "left")]
    terminal.print_table(columns, rows)


def _show_evidence(pair: dict[str, Any]) -> None:
    """Print the pair in words, the event, and how often it happened in either log."""
    evidence = pair["evidence"]
    terminal.say(f"{describe_pair(pair)}.", bullet="Pair      ", indent=_INDENT)
    if "person" in pair:
        terminal.say(
            f"the person has items {_listed(pair['person'])}; the others have "
            f"{_histories_in_words(pair['crowd'])}.",
            bullet="Records   ",
            indent=_INDENT,
        )
    terminal.say(f"{evidence['event']}.", bullet="Event     ", indent=_INDENT)
    hits = [f"{hit:,} of {runs:,} runs" for hit, runs in zip(evidence["hits"], evidence["runs"], strict=True)]
    other = "without" if evidence["likelier"].startswith("with ") else "with"
    terminal.say(
        f"in {hits[0]} {evidence['likelier']}, in {hits[1]} {other}: ε ≥ {evidence['lower_bound']:.2f}.",
        bullet="Happened  ",
        indent=_INDENT,
    )


def _listed(items: Sequence[int]) -> str:
    more = f", … ({len(items):,} in all)" if len(items) > _MOST_SHOWN else ""
    return ", ".join(map(str, items[:_MOST_SHOWN])) + more


def _histories_in_words(histories: Sequence[Sequence[int]]) -> str:
    more = f"; … ({len(histories):,} people)" if len(histories) > _USERS_SHOWN else ""
    return (
        "; ".join(_listed(history) for history in histories[:_USERS_SHOWN]) or "nothing, since there is nobody"
    ) + more
