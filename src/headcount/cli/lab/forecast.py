"""``headcount plan -k K``, shown: whether the top K will be right, and which command to use."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from headcount.accounting.guarantee import in_short
from headcount.cli import terminal
from headcount.releases.formatting import some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headcount.lab.plan.top_k_forecast import Expected

_WAYS = {"rank": "rank", "release": "release, then top"}


def show_forecast(found: Sequence[Expected], epsilon: str, delta: str | None = None) -> None:
    """Show what is to be expected at one ε: of items, and of each context."""
    from headcount.lab.plan.forecast_sentences import better, readable, sentences

    for table in dict.fromkeys(each.table for each in found):
        mine = [each for each in found if each.table == table]
        of_each = "" if table == "items" else ", in each context"
        with_delta = "" if delta is None else f" and δ = {in_short(Decimal(delta))}"
        terminal.say(
            f"Of the {some(mine[0].k, 'item')} that most people have{of_each}, at ε = {epsilon}{with_delta}"
        )
        click.echo()
        columns = [
            ("headcount", "left"),
            ("right", "right"),
            ("range", "right"),
            ("told apart from", "right"),
            ("readable from", "right"),
        ]
        terminal.print_table(columns, [_row(each) for each in mine])
        click.echo()
        terminal.say(readable(mine[-1], epsilon))
        terminal.say(sentences(mine))
        for command in _commands(better(mine), epsilon, delta):
            click.echo(f"  {command}")
        click.echo()


def _row(each: Expected) -> list[str]:
    readable = "" if each.way == "rank" else _people(each.readable, each.grain)
    low_high = f"{each.low:.0f} to {each.high:.0f}"
    return [_WAYS[each.way], f"{each.right:.1f}", low_high, _people(each.apart, each.grain), readable]


def _people(number: int | None, grain: int) -> str:
    """Write from how many people on something holds; where the forecast is no finer, that it may be fewer."""
    if number is None:
        return "–"
    coarse = grain > 1 and number <= 2 * grain
    return f"{'≤ ' if coarse else ''}{some(max(number, grain), 'person', 'people')}"


def _commands(chosen: Expected, epsilon: str, delta: str | None) -> list[str]:
    """Return the command to use, as far as it is known."""
    paid = f"--epsilon {epsilon}" + ("" if delta is None else f" --delta {in_short(Decimal(delta))}")
    gaussian = "" if delta is None else " --noise gaussian"
    context = " --context …" if chosen.table == "edges" else ""
    if chosen.way == "rank":
        each = " --per-context" if context else ""
        return [f"headcount rank EVENTS …{context}{each} -k {chosen.k} {paid}"]
    return [
        f"headcount release EVENTS …{context} --count users{gaussian} {paid} --out DIR",
        f"headcount top DIR{context} -k {chosen.k}",
    ]


NOTE = (
    "Right: how many of them are found. Range: over all runs, also on logs whose items are more and less alike, "
    "where that is not known. Told apart: of two items that differ by so many people, 95 % come "
    "out in order. Readable: 95 % of counts of so many people or more are off by at most a half. The commands "
    "themselves were run on made-up logs, so the noise is exact; how active people are and how popular items is a "
    "model (docs/plan.md)."
)


def forecast(
    figures: Any, epsilons: Sequence[str], k: int, known: int | None, delta: str | None = None, *, as_json: bool
) -> None:
    """Forecast the top K from public figures, and show it."""
    from headcount.lab.plan.top_k_forecast import outlook

    with terminal.Bar(quiet=as_json) as bar:
        found = outlook(figures, epsilons, k, delta=delta, known=known, progress=bar)
    if as_json:
        terminal.print_json([each.to_json() for each in found])
        return
    for epsilon in epsilons:
        show_forecast([each for each in found if each.epsilon == float(epsilon)], epsilon, delta)
    terminal.say(NOTE)
