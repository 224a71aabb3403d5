"""Print the plan of a dry run (``--dry-run``): guarantee, cost and expected errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headcount.cli import terminal

if TYPE_CHECKING:
    from headcount.run.curator import Plan

_INDENT = " " * 9


def show_plan(plan: Plan, *, as_json: bool) -> None:
    """Show what a request would promise, cost and be worth."""
    from headcount.reports.lab.plan_sentences import plan_in_words

    if as_json:
        terminal.print_json(plan.to_json())
        return
    terminal.say("Dry run: nothing was counted, written or charged.")
    click.echo()
    words = plan_in_words(plan)
    _say("Promise", words.promise)
    _say("Price", terminal.printable(words.price))
    if words.left is not None:
        _say("Left", words.left)
    for heading, sentence in words.selected:
        _say(heading, sentence)
    _say("Cells", words.cells)
    for number, error in enumerate(words.errors):
        _say("" if number else "Error", error)
    for note in words.notes:
        _say("Note", note)


def _say(heading: str, sentence: str) -> None:
    terminal.say(sentence, bullet=f"{heading:<9}", indent=_INDENT)
