"""``headcount neighbours``: fit a private recommender of ratings or visits, predict and recommend with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from headcount._internal.parameters import read_whole_number
from headcount.cli import options, terminal
from headcount.cli.charged import Charged, Shown, charged_command
from headcount.cli.options import Flags
from headcount.errors import DataError, UsageError, param
from headcount.methods.recommender import FAMILY, ITEMS, PREDICTIONS, VISITS
from headcount.releases.formatting import some

if TYPE_CHECKING:
    from headcount.methods.recommender.recommender import NeighbourModel
    from headcount.releases.release import Release


@click.group(
    "neighbours",
    cls=options.Actions,
    short_help=FAMILY.short_help,
    epilog=options.example(
        "headcount neighbours fit ratings.parquet --user u --item i --value r \\",
        "  --value-range 1,5 --items movies.csv:item,title \\",
        "  --epsilon 4 --delta 1e-6 --out model/",
        'headcount neighbours related model/ "Star Wars" -k 10',
    ),
)
def command() -> None:
    """Fit a model of ratings or visits that no single person can move far, and recommend with it.

    The model may be shared. What it makes of a person's own ratings or items is for that person alone.
    """


@charged_command(
    FAMILY,
    "headcount neighbours fit ratings.parquet --user u --item i --value r \\",
    "  --value-range 1,5 --items movies.csv:item,title \\",
    "  --epsilon 4 --delta 1e-6 --out model/",
    "headcount neighbours fit visits.parquet --user u --item i --items venues.csv \\",
    "  --epsilon 1 --delta 1e-6 --out model/",
    short_help="Fit a private model to a log of ratings or visits.",
)
def fit(spent: Charged, flags: Flags) -> Shown:  # noqa: ARG001
    """Fit a model under user-level differential privacy, and write it as a release.

    With --value and its --value-range it predicts ratings. Without, it learns from visits: which items people
    have, by --context if there is one, and with --delta which belong together. --method co-counts counts which
    items people have together. With --delta the noise is Gaussian, and the model better.

    For research alone: --method pncf-published draws neighbours of items as published, and --method
    pncf-predictions-published predicts the ratings of --asked FILE from the log itself, by items or by people.
    """
    shown = PREDICTIONS if PREDICTIONS.name in spent.release.tables else ITEMS
    many = some(spent.release.tables[shown.name].num_rows, shown.noun)
    summary = many if shown is PREDICTIONS else f"A model of {many}"
    return Shown(summary, _next(spent.release, str(spent.folder)))


command.add_command(fit)

_OWN: Mapping[str, Any] = {
    "metavar": "FILE",
    "help": "A person's own ratings: a CSV file with a header, item and rating first.",
}
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
    listed = None if items is None else [item.strip() for item in items.split(",") if item.strip()]
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
    epilog=options.example(
        "headcount neighbours recommend model/ --user-ratings mine.csv -k 5",
        "headcount neighbours recommend model/ --user-items mine.csv --context Friday",
    ),
)
@click.argument("model")
@click.option("--user-ratings", "own", **_OWN)
@click.option(
    "--user-items",
    "items_path",
    metavar="FILE",
    help="A person's own items: a CSV file with a header, item first.",
)
@click.option("--context", metavar="NAME", help="In this context, of a model of visits that knows contexts.")
@_many
@options.json_option
def recommend(
    model: str, own: str | None, items_path: str | None, context: str | None, k: str, as_json: bool
) -> None:
    """Show the K items that somebody would like best, of those that are not their own.

    A model of ratings goes by a person's ratings, one of visits by their items.
    """
    fitted = _load(model)
    rows = fitted.recommend(_read_user_input(fitted, own, items_path), read_whole_number(k, param.k), context)
    _show(fitted, rows, as_json=as_json)


def _read_user_input(
    fitted: NeighbourModel, own: str | None, items_path: str | None
) -> dict[str, str] | list[str]:
    """Read what a person has or rated, as the model needs it; items stay text, as everywhere in CSV files."""
    from headcount.methods.recommender.request import read_items

    if own is not None and items_path is not None:
        raise UsageError("--user-ratings and --user-items are both given", remedy="leave one of them out")
    if fitted.knows_visits and items_path is None:
        raise UsageError(
            "this model was learnt from visits, and recommends by what a person has",
            remedy="add --user-items FILE" + ("" if own is None else " in place of --user-ratings"),
        )
    if not fitted.knows_visits and own is None:
        raise UsageError("this model was learnt from ratings", remedy="add --user-ratings FILE")
    return read_items(items_path) if items_path is not None else _ratings(str(own))


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
    _show(fitted, fitted.related(item, read_whole_number(k, param.k)), as_json=as_json, is_public=True)


def _load(folder: str) -> Any:
    from headcount.methods.recommender.recommender import NeighbourModel

    return NeighbourModel.load(folder)


def _ratings(path: str) -> dict[str, str]:
    """Read a person's own ratings; items stay text, as everywhere in CSV files."""
    from headcount.methods.recommender.request import read_pairs

    read: dict[str, str] = {}
    for item, rating in read_pairs(path, "item", "rating"):
        if item in read:
            raise DataError(f"{path} rates {item!r} twice", remedy="keep one of both")
        read[item] = rating
    return read


def _show(fitted: NeighbourModel, rows: list[dict[str, Any]], *, as_json: bool, is_public: bool = False) -> None:
    """Print answers, with labels where there are any, and what is promised; all but public ones are somebody's."""
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
    headings = ["" if key == "rank" else key for key in (*keys, number)]
    sides = "".join("r" if key in ("rank", number) else "l" for key in (*keys, number))
    terminal.print_table(headings, sides, [[*(row[key] for key in keys), f"{row[number]:.2f}"] for row in rows])
    click.echo()
    if not fitted.release.is_private:
        terminal.say(terminal.FOR_RESEARCH)
    own = "" if is_public else " What is worked out from what is somebody's own is for their eyes alone."
    terminal.say(f"{fitted.release.guarantee.short()}.{own}")


def _next(release: Release, folder: str) -> list[list[str]]:
    """Return commands to go on with: show what is predicted, recommend, or say what belongs together."""
    from headcount.methods.recommender.recommender import PAIRS

    items, explain = release.tables[ITEMS.name], ["headcount", "explain", folder]
    if PREDICTIONS.name in release.tables:
        return [["headcount", "neighbours", "predict", folder], explain]
    if not items.num_rows:
        return [explain]
    if PAIRS in release.tables:
        return [["headcount", "neighbours", "related", folder, str(items["item"][0].as_py())], explain]
    own = "--user-items" if release.method == VISITS else "--user-ratings"
    return [["headcount", "neighbours", "recommend", folder, own, "mine.csv"], explain]
