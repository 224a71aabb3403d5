"""Recommender models on a release's page: the first rows of pairs, related items and predictions."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from headcount.methods.recommender import ITEMS, PREDICTIONS, VISITS
from headcount.methods.recommender.recommender import NeighbourModel
from headcount.releases.formatting import some
from headcount.releases.release import Release
from headcount.reports.parts.part import Excerpt, Part
from headcount.reports.sentences import noise_words

SHOWN = 15
RELATED = 3


def part(release: Release) -> Part:
    """Return what the page of a model is about: its best pairs or neighbours, and what is liked most."""
    items = release.tables[ITEMS.name]
    lede = (
        f"About {some(items.num_rows, ITEMS.noun)}. Everything in it was made from numbers that carry random "
        f"{noise_words(release)}."
    )
    makers = {"model/pairs": _pairs, "model/neighbours": _neighbours, PREDICTIONS.name: _predictions}
    excerpts = [make(release) for name, make in makers.items() if name in release.tables]
    if "offset" in items.column_names:
        title = "A model of ratings"
        excerpts += [_liked(release, "descending", "most"), _liked(release, "ascending", "least")]
    elif release.method == VISITS:
        title = "A model of visits"
        excerpts += [_heaviest(release), *_together(release)]
    elif PREDICTIONS.name in release.tables:
        title = "Ratings predicted for named people"
    else:
        title = "Items that people have together" if "count" in items.column_names else "Neighbours of items"
    return Part(title, lede, excerpts)


def _liked(release: Release, order: str, how: str) -> Excerpt:
    table = release.tables[ITEMS.name].sort_by([("offset", order)])
    rows = [(_name(row), f"{row['offset']:+.2f}", f"{row['support']:,.0f}") for row in _first(table)]
    caption = "How many stars, of 1 to 5, an item gets above its people's own means, drawn toward 0 by noise"
    return Excerpt(f"The items liked {how}", caption, "", ("Item", "Offset", "Ratings, in part"), rows, texts=1)


def _heaviest(release: Release) -> Excerpt:
    table = release.tables[ITEMS.name].sort_by([("count", "descending")])
    rows = [(_name(row), *(f"{row[column]:,.0f}" for column in ("count", "low", "high"))) for row in _first(table)]
    caption = "How many people have an item, somebody with many items counting in part"
    return Excerpt(
        "The items that most people have", caption, "", ("Item", "Weight", "Low", "High"), rows, texts=1
    )


def _together(release: Release) -> list[Excerpt]:
    """Show what belongs to the heaviest items, if anything stood out of the noise."""
    model, rows = NeighbourModel(release), []
    for row in _first(release.tables[ITEMS.name].sort_by([("count", "descending")])):
        places, _ = model.habits.similar(model.place(row["item"]))
        names = release.tables[ITEMS.name].take(pa.array(places[:RELATED])).to_pylist()
        rows += [(_name(row), ", ".join(map(_name, names)))] if names else []
    caption = "Whose factors point the same way, the nearest first"
    return [Excerpt("What belongs together", caption, "", ("Item", "Goes with"), rows, texts=2)] if rows else []


def _pairs(release: Release) -> Excerpt:
    names = {row["item"]: _name(row) for row in release.tables[ITEMS.name].to_pylist()}
    table = release.tables["model/pairs"].sort_by([("count", "descending")])
    rows = [
        (names[row["item"]], names[row["other"]], *(f"{row[column]:,.0f}" for column in ("count", "low", "high")))
        for row in _first(table)
    ]
    caption = f"Counts of people who have both, of {release.bounded}"
    return Excerpt(
        "The pairs that most people have", caption, "", ("Item", "Other", "Count", "Low", "High"), rows, texts=2
    )


def _neighbours(release: Release) -> Excerpt:
    names = {row["item"]: _name(row) for row in release.tables[ITEMS.name].to_pylist()}
    table = release.tables["model/neighbours"].sort_by([("similarity", "descending")])
    rows = [(names[row["item"]], names[row["neighbour"]], f"{row['similarity']:.3f}") for row in _first(table)]
    return Excerpt(
        "The nearest neighbours", "As drawn and perturbed", "", ("Item", "Neighbour", "Similarity"), rows, texts=2
    )


def _predictions(release: Release) -> Excerpt:
    names = {row["item"]: _name(row) for row in release.tables[ITEMS.name].to_pylist()}
    table = release.tables[PREDICTIONS.name]
    rows = [(row["user"], names[row["item"]], f"{row['rating']:.2f}") for row in _first(table)]
    caption = "What each person is expected to give, for that person's eyes alone"
    return Excerpt("The first predictions", caption, "", ("Person", "Item", "Rating"), rows, texts=2)


def _first(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.slice(0, SHOWN).to_pylist()
    return rows


def _name(row: dict[str, Any]) -> str:
    return str(row["label"] or row["item"])
