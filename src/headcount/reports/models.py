"""Models of ratings and of items that people have together, as a page shows them: a few rows of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headcount.answers.words import some
from headcount.releases import Release

SHOWN = 15

_TITLES = {"private": "A model of ratings", "co-counts": "Items that people have together"}


@dataclass(frozen=True)
class Excerpt:
    """Some rows of a table: texts come first, then numbers."""

    title: str
    caption: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    texts: int


def is_model(release: Release) -> bool:
    """Say whether a release is a model of items."""
    return "model/items" in release.tables


def model_title(release: Release) -> str:
    """Return what the page of a model is called."""
    return _TITLES.get(release.method, "Neighbours of items")


def model_lede(release: Release) -> str:
    """Say what a model is about."""
    hides = " that hides what any one person did" if release.is_private else ""
    items = some(release.tables["model/items"].num_rows, "item")
    return f"About {items}. Everything in it was made from numbers that carry random noise{hides}."


def model_excerpts(release: Release) -> list[Excerpt]:
    """Return what a page shows of a model."""
    if not is_model(release):
        return []
    makers = {"model/pairs": _pairs, "model/neighbours": _neighbours}
    found = [make(release) for name, make in makers.items() if name in release.tables]
    if "offset" in release.tables["model/items"].column_names:
        found += [_liked(release, "descending", "most"), _liked(release, "ascending", "least")]
    return found


def _liked(release: Release, order: str, how: str) -> Excerpt:
    table = release.tables["model/items"].sort_by([("offset", order)])
    rows = [(_name(row), f"{row['offset']:+.2f}", f"{row['support']:,.0f}") for row in _first(table)]
    caption = "How many stars, of 1 to 5, an item gets above its people's own means, drawn toward 0 by noise"
    return Excerpt(f"The items liked {how}", caption, ("Item", "Offset", "Ratings, in part"), rows, texts=1)


def _pairs(release: Release) -> Excerpt:
    names = {row["item"]: _name(row) for row in release.tables["model/items"].to_pylist()}
    table = release.tables["model/pairs"].sort_by([("count", "descending")])
    rows = [
        (names[row["item"]], names[row["other"]], *(f"{row[each]:,.0f}" for each in ("count", "low", "high")))
        for row in _first(table)
    ]
    caption = f"Counts of people who have both, of {release.bounded}"
    return Excerpt(
        "The pairs that most people have", caption, ("Item", "Other", "Count", "Low", "High"), rows, texts=2
    )


def _neighbours(release: Release) -> Excerpt:
    names = {row["item"]: _name(row) for row in release.tables["model/items"].to_pylist()}
    table = release.tables["model/neighbours"].sort_by([("similarity", "descending")])
    rows = [(names[row["item"]], names[row["neighbour"]], f"{row['similarity']:.3f}") for row in _first(table)]
    return Excerpt(
        "The nearest neighbours", "As drawn and perturbed", ("Item", "Neighbour", "Similarity"), rows, texts=2
    )


def _first(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.slice(0, SHOWN).to_pylist()
    return rows


def _name(row: dict[str, Any]) -> str:
    return str(row["label"] or row["item"])
