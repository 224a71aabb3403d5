"""``headcount plan``: predict each method's errors, or the recall of the top K, from public figures alone."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from headcount._internal.parameters import read_whole_number
from headcount.accounting.guarantee import format_delta
from headcount.cli import options, terminal
from headcount.cli.lab.compare import listed
from headcount.cli.options import Flags
from headcount.errors import Parameter, UsageError, param
from headcount.releases.formatting import some

if TYPE_CHECKING:
    from headcount.lab.plan.top_k_forecast import Expected

_NOUNS = {"items": "Item counts", "edges": "Item-by-context counts"}
_COMMAND_NAMES = {"rank": "rank", "release": "release, then top"}
_ERRORS_NOTE = (
    "MAE: how far a count is off on average; MSE: the mean of the squares; each over all cells. Each method "
    "stands with the limit of its smallest MAE; --limits and --json show others. The noise is exact, the rest "
    "a model: on public logs at ε = 1 an MAE came out between half and twice what is predicted here, while an "
    "MSE hangs on how popular the most popular items are and may be far smaller (docs/plan.md). Whether the "
    "top 20 will be right: add -k 20."
)
_FORECAST_NOTE = (
    "Right: how many of them are found. Range: over all runs, also on logs whose items are more and less alike, "
    "where that is not known. Told apart: of two items that differ by so many people, 95 % come "
    "out in order. Readable: 95 % of counts of so many people or more are off by at most a half. The commands "
    "themselves were run on made-up logs, so the noise is exact; how active people are and how popular items is a "
    "model (docs/plan.md)."
)


@click.command(
    "plan",
    short_help="Predict errors and rankings from public figures. Needs no data.",
    epilog=options.example(
        "headcount plan --users 500000 --items 17770 \\",
        "  --median 96 --max 17000 --epsilon 1",
    ),
)
@click.option("--users", metavar="N", help="How many people there are, about.")
@click.option("--items", metavar="M", help="How many items the catalogue has.")
@click.option("--contexts", metavar="C", help="How many contexts there are.  [default: none]")
@click.option("--median", metavar="R", help="How many records the median person has, about.")
@click.option("--max", "most", metavar="R", help="How many records the most active person has, about.")
@click.option("--activity", metavar="RELEASE", help="A release with a histogram of activity, in place of figures.")
@click.option("--epsilon", required=True, metavar="E,E", help="The privacy budgets to predict for.")
@click.option("--delta", metavar="D", help="Predict noise with this δ: Gaussian, for methods that have it.")
@click.option("--limits", metavar="L,L", help="Limits to try.  [default: 1, 3, 10, … up to the maximum]")
@click.option(
    "--count",
    type=click.Choice(["records", "users"]),
    help="Count records, or distinct users.  [default: records, or as the release does]",
)
@click.option("-k", metavar="K", help="Will the top K be right? Forecast that, in place of errors.")
@click.option("--kth", metavar="N", help="For -k: how many people have the item at place K, about.")
@options.json_option
def command(**flags: Any) -> None:
    """Predict the errors of each method from public figures, or from a released histogram, without any data.

    The noise is exact; what a limit cuts off is a model: Zipf's law for items, and with --median and --max a
    log-normal law for people. Use only figures that are public: what is read off a private log is not.

    With -k it says how many of the top K will be right, by `rank` and by `release` with `top`, and which to use:
    both are run on made-up logs that are like the figures say.
    """
    from headcount.accounting.budget import amount, probability
    from headcount.lab.plan.predicted_errors import predictions, sensible_limits

    epsilons = [f"{amount(entry):f}" for entry in listed(flags["epsilon"], "epsilon")]
    delta = None if flags["delta"] is None else f"{probability(flags['delta']):f}"
    _check_question(flags)
    figures = _figures(flags)
    if flags["k"] is not None:
        k, kth_count = read_whole_number(flags["k"], param.k), _whole(flags["kth"], "kth")
        _forecast(figures, epsilons, k, kth_count, delta, as_json=flags["as_json"])
        return
    limits = sensible_limits(
        max(float(shape.activity.records.max(initial=1)) for shape in figures.shapes.values())
    )
    if flags["limits"] is not None:
        limits = [read_whole_number(entry, param.limits) for entry in listed(flags["limits"], "limits")]
    predicted = [entry for epsilon in epsilons for entry in predictions(figures, epsilon, limits, delta)]
    if flags["as_json"]:
        terminal.print_json([entry.to_json() for entry in predicted])
        return
    for epsilon in epsilons:
        for table in figures.shapes:
            _show(
                [entry for entry in predicted if (entry.epsilon, entry.table) == (float(epsilon), table)],
                epsilon,
                table,
            )
    terminal.say(_ERRORS_NOTE)


def _check_question(flags: Flags) -> None:
    """Refuse what is of no use for the question that is asked."""
    if flags["k"] is None and flags["kth"] is not None:
        raise UsageError("--kth is given without -k", remedy="add -k 20, or leave it out")
    if flags["k"] is not None and flags["limits"] is not None:
        raise UsageError("--limits is of no use with -k", remedy="leave it out: what is best is worked out")


def _show(predicted: list[Any], epsilon: str, table: str) -> None:
    """Print the best limit of each method, the smallest error first, and what cannot be predicted."""
    best: dict[str, Any] = {}
    for prediction in predicted:
        if prediction.mse is not None and (
            prediction.method not in best or _error(prediction) < _error(best[prediction.method])
        ):
            best[prediction.method] = prediction
    terminal.say(f"{_NOUNS[table]} at ε = {epsilon}")
    click.echo()
    rows = [
        [
            prediction.method,
            f"{prediction.limit:,}",
            "–" if prediction.mae is None else f"{prediction.mae:,.4g}",
            f"{prediction.mse:,.4g}",
            prediction.known,
        ]
        for prediction in sorted(best.values(), key=_error)
    ]
    rows += [
        [prediction.method, "", "–", "–", prediction.known] for prediction in predicted if prediction.mse is None
    ]
    terminal.print_table(("method", "limit", "MAE", "MSE", "what is known"), "lrrrl", rows)
    click.echo()
    by_theorem = {prediction.theorem_2 for prediction in predicted} - {None}
    for max_records in by_theorem:
        terminal.say(
            f"By theorem 2 of Fan and Jin (Eq. 22) the best limit of sra is {max_records:,}, if all people had "
            "the same number of records. They have not, so the table does not follow it (docs/plan.md)."
        )
        click.echo()


def _error(prediction: Any) -> float:
    """What methods and limits are sorted by."""
    return float("inf") if prediction.mae is None else float(prediction.mae)


def _figures(flags: Flags) -> Any:
    from headcount.lab.api import figures_of
    from headcount.releases.release import load

    texts = {"max": flags["most"], **{name: flags[name] for name in ("users", "items", "contexts", "median")}}
    numbers = {name: _whole(text, name) for name, text in texts.items()}
    if flags["activity"] is not None and (numbers["median"] or numbers["max"]):  # before a release is read
        raise UsageError("--median and --max are of no use beside --activity", remedy="leave them out")
    activity = None if flags["activity"] is None else load(flags["activity"])
    return figures_of(flags["count"], activity, **numbers)


def _whole(text: str | None, name: str) -> int | None:
    return None if text is None else read_whole_number(text, Parameter(name))


def _forecast(
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
        _show_forecast([expected for expected in forecasts if expected.epsilon == float(epsilon)], epsilon, delta)
    terminal.say(_FORECAST_NOTE)


def _show_forecast(forecasts: Sequence[Expected], epsilon: str, delta: str | None = None) -> None:
    """Show what is to be expected at one ε: of items, and of each context."""
    from headcount.lab.plan.top_k_forecast import better_command, readable, sentences

    for table in dict.fromkeys(expected.table for expected in forecasts):
        mine = [expected for expected in forecasts if expected.table == table]
        context_words = "" if table == "items" else ", in each context"
        with_delta = "" if delta is None else f" and δ = {format_delta(Decimal(delta))}"
        terminal.say(
            f"Of the {some(mine[0].k, 'item')} that most people have{context_words}, at ε = {epsilon}{with_delta}"
        )
        click.echo()
        headings = ("headcount", "right", "range", "told apart from", "readable from")
        terminal.print_table(headings, "lrrrr", [_forecast_row(expected) for expected in mine])
        click.echo()
        terminal.say(readable(mine[-1], epsilon))
        terminal.say(sentences(mine))
        for command in _commands(better_command(mine), epsilon, delta):
            click.echo(f"  {command}")
        click.echo()


def _forecast_row(expected: Expected) -> list[str]:
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
