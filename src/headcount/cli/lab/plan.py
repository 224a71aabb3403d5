"""``headcount plan``: predict the errors of each method from public figures, without any data.

The prediction for the top K (``-k``) is in ``forecast``.
"""

from __future__ import annotations

from typing import Any

import click

from headcount._internal.parameters import read_whole_number
from headcount.cli import options, terminal
from headcount.cli.lab.compare import listed
from headcount.cli.options import Flags
from headcount.errors import Parameter, UsageError, param


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
        from headcount.cli.lab.forecast import forecast

        k, kth_count = read_whole_number(flags["k"], param.k), _whole(flags["kth"], "kth")
        forecast(figures, epsilons, k, kth_count, delta, as_json=flags["as_json"])
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
    terminal.say(
        "MAE: how far a count is off on average; MSE: the mean of the squares; each over all cells. Each method "
        "stands with the limit of its smallest MAE; --limits and --json show others. The noise is exact, the rest "
        "a model: on public logs at ε = 1 an MAE came out between half and twice what is predicted here, while an "
        "MSE hangs on how popular the most popular items are and may be far smaller (docs/plan.md). Whether the "
        "top 20 will be right: add -k 20."
    )


def _check_question(flags: Flags) -> None:
    """Refuse what is of no use for the question that is asked."""
    if flags["k"] is None and flags["kth"] is not None:
        raise UsageError("--kth is given without -k", remedy="add -k 20, or leave it out")
    if flags["k"] is not None and flags["limits"] is not None:
        raise UsageError("--limits is of no use with -k", remedy="leave it out: what is best is worked out")


_NOUNS = {"items": "Item counts", "edges": "Item-by-context counts"}


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
    columns = [
        ("method", "left"),
        ("limit", "right"),
        ("MAE", "right"),
        ("MSE", "right"),
        ("what is known", "left"),
    ]
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
    terminal.print_table(columns, rows)
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
    from headcount.lab.plan.predicted_errors import public_figures, released_figures

    given = {name: flags[name] for name in ("users", "items", "contexts", "median", "most")}
    if flags["activity"] is not None:
        useless = [name for name in ("median", "most") if given[name] is not None]
        if useless:
            raise UsageError("--median and --max are of no use beside --activity", remedy="leave them out")
        from headcount.releases.release import load

        numbers = {name: _whole(given[name], name) for name in ("users", "items", "contexts")}
        return released_figures(load(flags["activity"]), counting=flags["count"], **numbers)
    for name, flag in (("users", "users"), ("items", "items"), ("median", "median"), ("most", "max")):
        if given[name] is None:
            raise UsageError(
                f"--{flag} is missing", remedy="give --users, --items, --median and --max, or --activity RELEASE"
            )
    users, items, most = (read_whole_number(given[name], Parameter(name)) for name in ("users", "items", "most"))
    width = 1 + (_whole(given["contexts"], "contexts") or 0)
    median = read_whole_number(given["median"], param.median)
    return public_figures(users, items, median, most, width=width, distinct=flags["count"] == "users")


def _whole(text: str | None, name: str) -> int | None:
    return None if text is None else read_whole_number(text, Parameter(name))
