"""``headcount plan -k K``, shown: whether the top K will be right, and which command to use."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from headcount.answers.words import some
from headcount.cli import terminal
from headcount.guarantee import in_short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headcount.lab.comparing.outlook import Expected

_WAYS = {"rank": "rank", "release": "release, then top"}
_ALIKE = 0.5  # items: a smaller difference decides nothing


def show_forecast(found: Sequence[Expected], epsilon: str, delta: str | None = None) -> None:
    """Show what is to be expected at one ε: of items, and of each context."""
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
        terminal.say(_readable(mine[-1], epsilon))
        for sentence in _sentences(mine):
            terminal.say(sentence)
        for command in _commands(better(mine), epsilon, delta):
            click.echo(f"  {command}")
        click.echo()


def _row(each: Expected) -> list[str]:
    readable = "" if each.way == "rank" else _people(each.readable, each.grain)
    low_high = f"{each.low:.0f} to {each.high:.0f}"
    return [_WAYS[each.way], f"{each.right:.1f}", low_high, _people(each.apart, each.grain), readable]


def _readable(counts: Expected, epsilon: str) -> str:
    """Say from how many people on a count of a release tells something."""
    if counts.readable is None:
        return f"At ε = {epsilon} no count of a single item is readable."
    people = some(max(counts.readable, counts.grain), "person", "people")
    return f"At ε = {epsilon}, counts of items that {people} or more have are readable."


def _people(number: int | None, grain: int) -> str:
    """Write from how many people on something holds; where the forecast is no finer, that it may be fewer."""
    if number is None:
        return "–"
    coarse = grain > 1 and number <= 2 * grain
    return f"{'≤ ' if coarse else ''}{some(max(number, grain), 'person', 'people')}"


def better(found: Sequence[Expected]) -> Expected:
    """Return the way to go: where both find about as many, counts, which tell more."""
    rank, release = found
    return release if release.right >= rank.right - _ALIKE else rank


def _sentences(found: Sequence[Expected]) -> list[str]:
    """Say what the table means."""
    chosen = better(found)
    k, right = chosen.k, chosen.right
    if right >= 0.9 * k:
        said = [f"Yes: about {right:.0f} of {k:,} will be right."]
    elif right >= 0.5 * k:
        said = [f"For the most part: about {right:.0f} of {k:,} will be right."]
    else:
        said = [f"No: about {right:.0f} of {k:,} will be right. Ask for fewer, or spend more."]
    if chosen.high - chosen.low > 0.3 * k:
        said[0] += (
            " How popular items are matters much here: with --kth, or from a release (--activity), the range is "
            "smaller."
        )
    return [" ".join([*said, _why(found)])]


def _why(found: Sequence[Expected]) -> str:
    rank, release = found
    if better(found) is rank:
        return "A ranking without counts is the better way:"
    more = "more" if release.right > rank.right + _ALIKE else "as many"
    return f"Counts that are ranked find {more}, and tell more:"


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
    from headcount.lab.comparing.outlook import outlook

    with terminal.Bar(quiet=as_json) as bar:
        found = outlook(figures, epsilons, k, delta=delta, known=known, progress=bar)
    if as_json:
        terminal.print_json([each.to_json() for each in found])
        return
    for epsilon in epsilons:
        show_forecast([each for each in found if each.epsilon == float(epsilon)], epsilon, delta)
    terminal.say(NOTE)
