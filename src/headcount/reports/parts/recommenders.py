"""Recommender models on a release's page: the first rows of pairs, related items and predictions."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa

from headcount.methods.recommender import ITEMS, PREDICTIONS, VISITS
from headcount.methods.recommender.recommender import NEIGHBOURS, PAIRS, NeighbourModel
from headcount.releases.formatting import some
from headcount.releases.release import Release
from headcount.reports.parts.part import Excerpt, Part
from headcount.reports.sentences import noise_words

SHOWN = 15
RELATED = 3


class _Listing(NamedTuple):
    """The first rows of a table by one column; ``columns`` are headings with the format of their cells."""

    table: str
    by: str
    title: str
    caption: str
    columns: dict[str, str]
    order: str = "descending"


_INTERVAL = {"Low": "{low:,.0f}", "High": "{high:,.0f}"}
_OFFSETS = "How many stars, of 1 to 5, an item gets above its people's own means, drawn toward 0 by noise"
_RATINGS = {"Item": "{item}", "Offset": "{offset:+.2f}", "Ratings, in part": "{support:,.0f}"}
_OF_ALL = (
    _Listing(
        PAIRS, "count", "The pairs that most people have", "Counts of people who have both, of {bounded}",
        {"Item": "{item}", "Other": "{other}", "Count": "{count:,.0f}", **_INTERVAL},
    ),
    _Listing(
        NEIGHBOURS, "similarity", "The nearest neighbours", "As drawn and perturbed",
        {"Item": "{item}", "Neighbour": "{neighbour}", "Similarity": "{similarity:.3f}"},
    ),
    _Listing(
        PREDICTIONS.name, "", "The first predictions",
        "What each person is expected to give, for that person's eyes alone",
        {"Person": "{user}", "Item": "{item}", "Rating": "{rating:.2f}"},
    ),
)  # fmt: skip
_OF_RATINGS = (
    _Listing(ITEMS.name, "offset", "The items liked most", _OFFSETS, _RATINGS),
    _Listing(ITEMS.name, "offset", "The items liked least", _OFFSETS, _RATINGS, "ascending"),
)
_OF_VISITS = (
    _Listing(
        ITEMS.name, "count", "The items that most people have",
        "How many people have an item, somebody with many items counting in part",
        {"Item": "{item}", "Weight": "{count:,.0f}", **_INTERVAL},
    ),
)  # fmt: skip


def part(release: Release) -> Part:
    """Return the page of a model: its best pairs or neighbours, and the items that are liked most."""
    items = release.tables[ITEMS.name]
    lede = (
        f"About {some(items.num_rows, ITEMS.noun)}. Everything in it was made from numbers that carry random "
        f"{noise_words(release)}."
    )
    listings = [listing for listing in _OF_ALL if listing.table in release.tables]
    related: list[Excerpt] = []
    if "offset" in items.column_names:
        title = "A model of ratings"
        listings += _OF_RATINGS
    elif release.method == VISITS:
        title, related = "A model of visits", _related_items(release)
        listings += _OF_VISITS
    elif PREDICTIONS.name in release.tables:
        title = "Ratings predicted for named people"
    else:
        title = "Items that people have together" if "count" in items.column_names else "Neighbours of items"
    return Part(title, lede, [*(_excerpt(release, listing) for listing in listings), *related])


def _excerpt(release: Release, listing: _Listing) -> Excerpt:
    names = {row["item"]: _name(row) for row in release.tables[ITEMS.name].to_pylist()}
    rows: list[tuple[str, ...]] = []
    for row in _first(release.tables[listing.table], listing.by, listing.order):
        items = {str(field): names[row[field]] for field in ("item", "other", "neighbour") if field in row}
        rows.append(tuple(cell.format(**{**row, **items}) for cell in listing.columns.values()))
    texts = sum(":" not in cell for cell in listing.columns.values())
    caption = listing.caption.format(bounded=release.bounded)
    return Excerpt(listing.title, caption, "", tuple(listing.columns), rows, texts)


def _related_items(release: Release) -> list[Excerpt]:
    """Return the items related to the heaviest items, if any stand out of the noise."""
    model, rows = NeighbourModel(release), []
    for row in _first(release.tables[ITEMS.name], "count"):
        places, _ = model.habits.similar(model.place(row["item"]))
        names = release.tables[ITEMS.name].take(pa.array(places[:RELATED])).to_pylist()
        rows += [(_name(row), ", ".join(map(_name, names)))] if names else []
    caption = "Whose factors point the same way, the nearest first"
    return [Excerpt("What belongs together", caption, "", ("Item", "Goes with"), rows, texts=2)] if rows else []


def _first(table: pa.Table, by: str, order: str = "descending") -> list[dict[str, Any]]:
    table = table.sort_by([(by, order)]) if by else table
    rows: list[dict[str, Any]] = table.slice(0, SHOWN).to_pylist()
    return rows


def _name(row: dict[str, Any]) -> str:
    return str(row["label"] or row["item"])
