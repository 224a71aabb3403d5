"""``headcount neighbours``: fit a private model of ratings, and use it where somebody's own ratings are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from headcount.answers.words import some
from headcount.cli import options, terminal
from headcount.cli.charged import charged_options, show, spend
from headcount.cli.groups import Actions
from headcount.errors import DataError, UsageError
from headcount.flags import whole_text
from headcount.neighbours import FAMILY, ITEMS, PREDICTIONS

if TYPE_CHECKING:
    from headcount.neighbours.model import NeighbourModel
    from headcount.releases import Release


@click.group(
    "neighbours",
    cls=Actions,
    short_help=FAMILY.short_help,
    epilog=options.example(
        "headcount neighbours fit ratings.parquet --user u --item i --value r \\",
        "  --value-range 1,5 --items movies.csv:item,title \\",
        "  --epsilon 4 --delta 1e-6 --out model/",
        'headcount neighbours related model/ "Star Wars" -k 10',
    ),
)
def command() -> None:
    """Fit a model of ratings that no single person can move far, and recommend with it.

    The model may be shared. What it says of a person's own ratings is for that person alone.
    """


@command.command(
    "fit",
    short_help="Fit a private model to a log of ratings.",
    epilog=options.example(
        "headcount neighbours fit ratings.parquet --user u --item i --value r \\",
        "  --value-range 1,5 --items movies.csv:item,title \\",
        "  --epsilon 4 --delta 1e-6 --out model/",
    ),
)
@charged_options(FAMILY)
def fit(**flags: Any) -> None:
    """Fit a model under user-level differential privacy, and write it as a release.

    By default it predicts ratings, from --value and its --value-range. With --method co-counts it counts which
    items people have together, and needs no ratings. With --delta its noise is Gaussian, and the model better.

    For research alone: --method pncf-published draws neighbours of items as published, and --method
    pncf-predictions-published predicts the ratings of --asked FILE from the log itself, by items or by people.
    """
    spent = spend(FAMILY, flags)
    if spent is None:
        return
    shown = PREDICTIONS if PREDICTIONS.name in spent.release.tables else ITEMS
    many = some(spent.release.tables[shown.name].num_rows, shown.noun)
    made = many if shown is PREDICTIONS else f"A model of {many}"
    show(spent, flags, made, *_next(spent.release, str(spent.folder)))


_OWN: Mapping[str, Any] = {
    "metavar": "FILE",
    "help": "A person's own ratings: a CSV file with a header, item and rating first.",
}
_own = click.option("--user-ratings", "own", required=True, **_OWN)
_many = click.option("-k", "k", default="10", show_default=True, metavar="K", help="How many.")


@command.command(
    "predict",
    short_help="Predict a person's other ratings.",
    epilog=options.example("headcount neighbours predict model/ --user-ratings mine.csv --items 260,1196"),
)
@click.argument("model")
@click.option("--user-ratings", "own", **_OWN)
@click.option("--user", metavar="NAME", help="For this person alone, of those that were named with fit --asked.")
@click.option("--items", metavar="A,B", help="For these items alone, by id or label.  [default: all not rated]")
@options.json_option
def predict(model: str, own: str | None, user: str | None, items: str | None, as_json: bool) -> None:
    """Predict what somebody with these ratings would give to other items.

    A model that was fitted with --asked holds predictions for named people instead; these are shown.
    """
    fitted = _load(model)
    listed = None if items is None else [each.strip() for each in items.split(",") if each.strip()]
    if own is not None and user is not None:
        raise UsageError("--user names somebody who is in the log", remedy="leave it or --user-ratings out")
    if own is not None:
        rows = fitted.predict(_ratings(own), listed)
    elif user is None and not fitted.predicts_named:
        raise UsageError("no ratings are given to predict from", remedy="add --user-ratings FILE")
    else:
        rows = fitted.predictions(user, listed)
    _show(fitted, rows, as_json=as_json)


@command.command(
    "recommend",
    short_help="Recommend items to a person.",
    epilog=options.example("headcount neighbours recommend model/ --user-ratings mine.csv -k 5"),
)
@click.argument("model")
@_own
@_many
@options.json_option
def recommend(model: str, own: str, k: str, as_json: bool) -> None:
    """Show the K items that somebody with these ratings would like best, of those not rated yet."""
    fitted = _load(model)
    _show(fitted, fitted.recommend(_ratings(own), whole_text(k, "-k")), as_json=as_json)


@command.command(
    "related",
    short_help="Show which items belong to one.",
    epilog=options.example('headcount neighbours related model/ "Star Wars" -k 10'),
)
@click.argument("model")
@click.argument("item")
@_many
@options.json_option
def related(model: str, item: str, k: str, as_json: bool) -> None:
    """Show the K items that belong most to ITEM, an id or a label."""
    fitted = _load(model)
    _show(fitted, fitted.related(item, whole_text(k, "-k")), as_json=as_json)


def _load(folder: str) -> Any:
    from headcount.neighbours.model import NeighbourModel

    return NeighbourModel.load(folder)


def _ratings(path: str) -> dict[str, str]:
    """Read a person's own ratings; items stay text, as everywhere in CSV files."""
    from headcount.neighbours.pair_files import pairs_in

    read: dict[str, str] = {}
    for item, rating in pairs_in(path, "item", "rating"):
        if item in read:
            raise DataError(f"{path} rates {item!r} twice", remedy="keep one of both")
        read[item] = rating
    return read


def _show(fitted: NeighbourModel, rows: list[dict[str, Any]], *, as_json: bool) -> None:
    """Print answers, with labels where there are any, and what is promised."""
    if as_json:
        if not fitted.release.is_private:
            terminal.note(terminal.FOR_RESEARCH)
        terminal.print_json(rows)
        return
    if not rows:
        terminal.say("There is nothing to show.")
        return
    labelled = any(row["label"] for row in rows)
    number = next(name for name in ("rating", "score") if name in rows[0])
    keys = [key for key in ("rank", "user", "item", "label") if key in rows[0] and (key != "label" or labelled)]
    columns = [("", "right") if key == "rank" else (key, "left") for key in keys] + [(number, "right")]
    terminal.print_table(columns, [[*(row[key] for key in keys), f"{row[number]:.2f}"] for row in rows])
    click.echo()
    if not fitted.release.is_private:
        terminal.say(terminal.FOR_RESEARCH)
    own = " What is predicted from somebody's ratings is for their eyes alone." if number == "rating" else ""
    terminal.say(f"{fitted.release.guarantee.short()}.{own}")


def _next(release: Release, folder: str) -> list[list[str]]:
    """Return commands to go on with: show what is predicted, recommend, or say what belongs together."""
    from headcount.neighbours.model import PAIRS

    items, explain = release.tables[ITEMS.name], ["headcount", "explain", folder]
    if PREDICTIONS.name in release.tables:
        return [["headcount", "neighbours", "predict", folder], explain]
    if not items.num_rows:
        return [explain]
    if PAIRS not in release.tables:
        return [["headcount", "neighbours", "recommend", folder, "--user-ratings", "mine.csv"], explain]
    return [["headcount", "neighbours", "related", folder, str(items["item"][0].as_py())], explain]
