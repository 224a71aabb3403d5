"""The views that a release offers (tables, contexts, heat map, topics, tags) and their titles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headcount.methods.registry import family_releasing, table
from headcount.methods.tags.recommend import topic_lists
from headcount.reports.parts.part import Part, part_of
from headcount.studio.services.exploration.item_contexts import has_item_contexts
from headcount.studio.services.exploration.opened_release import OpenedRelease

TOPIC_TAGS = 12

_TITLES = {
    "items": "Ranking",
    "edges": "By context",
    "ranking": "Ranking",
    "answers": "Answers",
    "synthetic": "Synthetic rows",
    "totals": "Totals",
    "groups": "Totals of groups",
    "quantiles": "Quantiles",
    "activity": "How active people are",
    "model/items": "Items",
    "model/edges": "Items by context",
    "model/pairs": "Pairs",
    "model/neighbours": "Neighbours",
    "model/factors": "Factors",
    "model/predictions": "Predictions",
    "model/tags": "Tags",
    "model/resources": "Resources",
    "model/topics": "Topics, tag by tag",
    "model/together": "Tags together",
    "model/people": "People",
    "model/assignments": "Synthetic tags",
}
"""What tables are called; one that is not listed is called by its name."""


@dataclass(frozen=True)
class View:
    """One way to look at a release: its address below that of the release, and what it is called."""

    address: str
    title: str


@dataclass(frozen=True)
class TableSummary:
    """A table of a release."""

    name: str
    title: str
    rows: int


def title_of(name: str) -> str:
    """Return what a table is called.

    >>> title_of("items"), title_of("model/odd_things")
    ('Ranking', 'Odd things')
    """
    return _TITLES.get(name) or name.rpartition("/")[2].replace("_", " ").capitalize()


def table_summaries(opened: OpenedRelease) -> list[TableSummary]:
    """Return all tables, the one that the release is about first."""
    tables = opened.release.tables
    names = sorted(tables, key=lambda name: name != opened.main)
    return [TableSummary(name, title_of(name), tables[name].num_rows) for name in names]


def views(opened: OpenedRelease) -> list[View]:
    """Return the ways to look at a release beside its tables."""
    release = opened.release
    offered = {
        View("contexts", "Contexts"): bool(release.contexts) and opened.context_table is not None,
        View("heat", "Heat map"): has_item_contexts(release),
        View("related", "Related items"): opened.model is not None and not opened.model.predicts_named,
        View("topics", "Topics"): "model/topics" in release.tables,
        View("tags", "Tags of a resource"): opened.tags is not None,
    }
    return [view for view, is_offered in offered.items() if is_offered]


def part(opened: OpenedRelease) -> Part:
    """Return what a release is called and how it begins; what has a page all of its own gets a plain beginning."""
    own = opened.cached("part", lambda: part_of(opened.release))
    if isinstance(own, Part):
        return own
    family = family_releasing(opened.release.tables)
    first = next(iter(opened.release.tables), "")
    return Part(f"A model of {family.name}" if family else table(first).noun, opened.release.bounded)


def topics(opened: OpenedRelease) -> Sequence[dict[str, Any]]:
    """Return the topics of a model of tags, with the tags that make up most of each."""
    return opened.cached("topics", lambda: topic_lists(opened.release, TOPIC_TAGS))
