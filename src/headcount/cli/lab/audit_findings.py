"""What was found about one target of an audit, as a person reads it in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from headcount.accounting.guarantee import Standing
from headcount.cli import terminal
from headcount.releases.formatting import per_cent
from headcount.reports.lab.audit_sentences import (
    COULD_NOT,
    settings_in_words,
    story_in_words,
    verdict,
    verdicts,
    visible_in_words,
)

_BESIDE = 50  # columns of a table that are not the event
_MOST_SHOWN = 12  # items of one person
_PEOPLE_SHOWN = 3
_INDENT = " " * 10


def show(found: dict[str, Any], *, briefly: bool) -> None:
    """Print what was found about one target, or why it could not be audited."""
    if "error" in found:
        terminal.say(f"{found['method']}, ε = {found['epsilon']}: {COULD_NOT}: {found['message']}", indent="    ")
        click.echo()
        return
    settings = [f"ε = {found['epsilon']}", *filter(None, [settings_in_words(found)])]
    standing = Standing(found["standing"]).words
    click.echo(f"{click.style(found['method'], bold=True)}, {', '.join([*settings, standing])}")
    terminal.say(found["sentence"], indent="    ")
    if found["reason"] and found["violation"]:
        terminal.say(f"As expected, since {found['reason']}.", indent="    ")
    replayed = "replay" in found
    if not found["violation"] and not replayed and visible_in_words(found):
        terminal.say(visible_in_words(found), indent="    ")
    if not briefly:
        click.echo()
        (_show_replayed if replayed else _show_pairs)(found["pairs"])
    if found["violation"] and not replayed and not (briefly and found["standing"] == "claimed"):
        click.echo()
        _show_evidence(max(found["pairs"], key=lambda each: each["lower_bound"]))
    if briefly:
        click.echo()


def sum_up(ended: Sequence[dict[str, Any]]) -> None:
    """Print a table of what became of all targets, and the same in words; those that failed with their reason."""
    columns = [("method", "left"), ("standing", "left"), ("ε claimed", "right"), ("ε at least", "right"),
               ("verdict", "left")]  # fmt: skip
    terminal.print_table(columns, [_row(each) for each in ended])
    click.echo()
    for sentence in verdicts(ended):
        terminal.say(sentence)


def _row(each: dict[str, Any]) -> list[str]:
    bound = "–" if each["lower_bound"] is None else f"{each['lower_bound']:.2f}"
    return [each["method"], each["standing"], each["epsilon"], bound, verdict(each)]


def _show_pairs(pairs: Sequence[dict[str, Any]]) -> None:
    rows, room = [], max(30, terminal.width() - _BESIDE)
    for each in sorted(pairs, key=lambda each: -each["lower_bound"]):
        event = each["evidence"]["event"] if each["evidence"] else "–"
        event = event if len(event) <= room else event[: room - 1] + "…"
        rows.append([each["name"], f"{each['runs']:,}", f"{each['lower_bound']:.2f}", event])
    columns = [("neighbours", "left"), ("runs", "right"), ("ε at least", "right"), ("best event", "left")]
    terminal.print_table(columns, rows)


def _show_replayed(pairs: Sequence[dict[str, Any]]) -> None:
    """Print how far each person moved what met noise, and what that costs; those who can be told come first."""
    rows = [
        [each["name"], f"{each['draws']:,}", per_cent(each["furthest"]), f"{each['epsilon']:.2f}",
         "told apart" if each["violation"] else "alike"]
        for each in sorted(pairs, key=lambda each: (each["violation"] is None, -each["furthest"]))
    ]  # fmt: skip
    columns = [("neighbours", "left"), ("draws", "right"), ("moved", "right"), ("ε", "right"), ("verdict", "left")]
    terminal.print_table(columns, rows)


def _show_evidence(pair: dict[str, Any]) -> None:
    """Print the pair in words, the event, and how often it happened in either log."""
    evidence = pair["evidence"]
    terminal.say(f"{story_in_words(pair)}.", bullet="Pair      ", indent=_INDENT)
    if "person" in pair:
        terminal.say(
            f"the person has items {_listed(pair['person'])}; the others have {_crowd(pair['crowd'])}.",
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


def _crowd(histories: Sequence[Sequence[int]]) -> str:
    more = f"; … ({len(histories):,} people)" if len(histories) > _PEOPLE_SHOWN else ""
    return (
        "; ".join(_listed(each) for each in histories[:_PEOPLE_SHOWN]) or "nothing, since there is nobody"
    ) + more
