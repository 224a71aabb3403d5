"""``headcount plan -k K``: print the predicted recall of the top K per command."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from headcount.accounting.guarantee import format_delta
from headcount.cli import terminal
from headcount.releases.formatting import some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headcount.lab.plan.top_k_forecast import Expected

_COMMAND_NAMES = {"rank": "rank", "release": "release, then top"}


def show_forecast(forecasts: Sequence[Expected], epsilon: str, delta: str | None = None) -> None:
    """Show what is to be expected at one ε: of items, and of each context."""
    from headcount.lab.plan.forecast_sentences import better_command, readable, sentences

    for table in dict.fromkeys(expected.table for expected in forecasts):
        mine = [expected for expected in forecasts if expected.table == table]
        context_words = "" if table == "items" else ", in each context"
        with_delta = "" if delta is None else f" and δ = {format_delta(Decimal(delta))}"
        terminal.say(
            f"Of the {some(mine[0].k, 'item')} that most people have{context_words}, at ε = {epsilon}{with_delta}"
        )
        click.echo()
        columns = [
            ("headcount", "left"),
            ("right", "right"),
            ("range", "right"),
            ("told apart from", "right"),
            ("readable from", "right"),
        ]
        terminal.print_table(columns, [_row(expected) for expected in mine])
        click.echo()
        terminal.say(readable(mine[-1], epsilon))
        terminal.say(sentences(mine))
        for command in _commands(better_command(mine), epsilon, delta):
            click.echo(f"  {command}")
        click.echo()


def _row(expected: Expected) -> list[str]:
    readable = "" if expected.way == "rank" else _users_in_words(expected.readable, expected.grain)
    low_high = f"{expected.low:.0f} to {expected.high:.0f}"
    return [
        _COMMAND_NAMES[expected.way],
        f"{expected.right:.1f}",
        low_high,
        _users_in_words(expected.apart, expected.grain),
        readable,
    ]


def _users_in_words(number: int | None, grain: int) -> str:
    """Write from how many people on something holds; where the forecast is no finer, that it may be fewer."""
    if number is None:
        return "–"
    coarse = grain > 1 and number <= 2 * grain
    return f"{'≤ ' if coarse else ''}{some(max(number, grain), 'person', 'people')}"


def _commands(chosen: Expected, epsilon: str, delta: str | None) -> list[str]:
    """Return the command to use, as far as it is known."""
    cost_flags = f"--epsilon {epsilon}" + ("" if delta is None else f" --delta {format_delta(Decimal(delta))}")
    gaussian = "" if delta is None else " --noise gaussian"
    context = " --context …" if chosen.table == "edges" else ""
    if chosen.way == "rank":
        per_context_flag = " --per-context" if context else ""
        return [f"headcount rank EVENTS …{context}{per_context_flag} -k {chosen.k} {cost_flags}"]
    return [
        f"headcount release EVENTS …{context} --count users{gaussian} {cost_flags} --out DIR",
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
    figures: Any,
    epsilons: Sequence[str],
    k: int,
    kth_count: int | None,
    delta: str | None = None,
    *,
    as_json: bool,
) -> None:
    """Forecast the top K from public figures, and show it."""
    from headcount.lab.plan.top_k_forecast import forecast_top_k

    with terminal.Bar(quiet=as_json) as bar:
        forecasts = forecast_top_k(figures, epsilons, k, delta=delta, kth_count=kth_count, progress=bar)
    if as_json:
        terminal.print_json([expected.to_json() for expected in forecasts])
        return
    for epsilon in epsilons:
        show_forecast([expected for expected in forecasts if expected.epsilon == float(epsilon)], epsilon, delta)
    terminal.say(NOTE)
