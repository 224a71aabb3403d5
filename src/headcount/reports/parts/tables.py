"""Pages of released tables: item counts, direct rankings, totals with their quantiles, and query answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from headcount.methods.queries import ANSWERS
from headcount.methods.totals import FAMILY as TOTALS
from headcount.methods.totals import GROUPS, QUANTILES
from headcount.releases.formatting import describe_order, listed, some, undecided_contexts, whole
from headcount.releases.release import Release
from headcount.reports import excerpts
from headcount.reports.parts.part import SHOWN, Excerpt, Part
from headcount.reports.sentences import (
    across,
    bound,
    counted_words,
    has_counts,
    interval_words,
    noise_alone,
    noise_words,
)

_HEADINGS = ("Total", "Value", "Low", "High")
NUMBERS = ("answer", "low", "high")
_SMALL = 10  # below, decimals are shown: published methods answer with shares
QUANTILE_HEADINGS = ("Quantile", "Value", "Lowest rank", "Highest rank")


def counts_part(release: Release) -> Part:
    """Return the title and introduction of counts; the page draws their charts."""
    kind = "people" if release.counts == "users" else "records"
    title = f"{kind.capitalize()} per item"
    if "edges" in release.tables:
        both = "item, and per item and" if "items" in release.tables else "item and"
        title = f"{kind.capitalize()} per {both} {across(release)}"
    return Part(title, _introduction(release, kind))


def _introduction(release: Release, kind: str) -> str:
    sizes = [some(release.items.num_rows, "item")] if "items" in release.tables else []
    sizes += [some(len(release.contexts), "context")] if release.contexts else []
    over = f" over {' and '.join(sizes)}" if sizes else ""
    limited = "" if release.interval.covers == "true" else f", of {bound(release)}"
    hides = " that hides what any one person did" if release.is_private else ""
    counts = "Smoothed counts" if release.interval.covers == "smoothed" else "Counts"
    if not noise_alone(release):
        return f"{counts} of {kind}{over}{limited}, estimated from numbers that carry random noise{hides}."
    return f"{counts} of {kind}{over}{limited}. Each carries random noise{hides}."


def ranking_part(release: Release) -> Part:
    """Return the title and introduction of a direct ranking; the page lays its tables out."""
    of_what = "" if release.interval.covers == "true" else f", of {bound(release)}"
    also = "Their counts carry noise as well." if has_counts(release) else "Their counts are not released."
    sentences = [
        f"Ranked by how many people have an item{of_what}.",
        f"The choice was made with random {noise_words(release)}.",
        also,
        *describe_order(release.chosen),
    ]
    silent = undecided_contexts(release.chosen)
    sentences += [f"Nothing can be told of {listed(silent)}, where all is within the noise."] if silent else []
    return Part(ranking_words(release)["title"], " ".join(sentences))


def ranking_words(release: Release) -> dict[str, str]:
    """Return the title of the tables of a direct ranking, and the places and contexts that they leave out."""
    if "ranking" not in release.tables:
        return {}
    places = max(release.ranking["rank"].to_pylist(), default=0)  # of the longest ranking
    contexts, left_out = len(release.contexts or ()), []
    if places > excerpts.PLACES:
        left_out.append(f"Shown are the first {excerpts.PLACES} of {places:,} places.")
    if contexts > excerpts.MOST_CONTEXTS:
        left_out.append(f"Shown are the first {excerpts.MOST_CONTEXTS} of {contexts:,} contexts.")
    title = {0: "The best items", 1: "The best item"}.get(places, f"The {places:,} best items")
    return {
        "title": f"{title} of each {across(release)}" if contexts else title,
        "left_out": " ".join(left_out),
        "counted": counted_words(release) if "count" in release.ranking.column_names else "",
        "by_counts": "by counts" if release.chosen.get("ranking", {}).get("by") == "counts" else "",
    }


def totals_part(release: Release) -> Part:
    """Return the page of totals."""
    lede = (
        f"How many people and records there are, of {bound(release)}. Each number carries random "
        f"{noise_words(release)}."
    )
    more = f"of {bound(release)}; {interval_words(release)}"
    shown = [Excerpt("The totals", "Over all people", more, _HEADINGS, total_rows(release), texts=1)]
    if GROUPS.name in release.tables:
        rows = group_rows(release)[:SHOWN]
        shown.append(Excerpt("By group", "In each group", more, ("Of", *_HEADINGS), rows, texts=2))
    if QUANTILES.name in release.tables:
        more = f"of {bound(release)}; its rank lies between those told with probability 95 %, each by itself"
        rows = quantile_rows(release)[:SHOWN]
        shown.append(Excerpt("Quantiles", "Of the value", more, ("Of", *QUANTILE_HEADINGS), rows, texts=1))
    return Part(TOTALS.tables[0].title, lede, shown)


def total_rows(release: Release) -> list[tuple[str, ...]]:
    """Return the totals as they are shown: a mean with its decimals."""
    return [
        (name, *(f"{value:,.6g}" if name == "mean" else whole(value) for value in values))
        for name, *values in (row.values() for row in release.totals.to_pylist())
    ]


def group_rows(release: Release) -> list[tuple[str, ...]]:
    """Return the totals of groups as they are shown."""
    return [
        (_named(row["of"]), row["total"], *(whole(row[name]) for name in ("value", "low", "high")))
        for row in release.tables[GROUPS.name].to_pylist()
    ]


def quantile_rows(release: Release) -> list[tuple[str, ...]]:
    """Return quantiles as they are shown."""
    template = "{quantile:g}|{value:,.6g}|{rank_low:.3f}|{rank_high:.3f}"
    grouped = GROUPS.name in release.tables
    return [
        (_named(row["of"]) if grouped else "all", *template.format(**row).split("|"))
        for row in release.tables[QUANTILES.name].to_pylist()
    ]


def _named(group: str | None) -> str:
    return "(unknown)" if group is None else group


def answers_part(release: Release) -> Part:
    """Return what the page of answers is about."""
    noise = noise_words(release)
    if release.is_private and release.guarantee.group is not None:
        noise = "noise that hides what all people of a group did"
    lede = (
        f"{some(release.answers.num_rows, 'answer')} to counting queries, of {release.bounded}. All are made from "
        f"numbers that carry random {noise}."
    )
    blocks = answer_blocks(release, SHOWN)
    return Part(ANSWERS.title, lede, [_excerpt(release, block, last=block is blocks[-1]) for block in blocks])


def _excerpt(release: Release, block: Block, *, last: bool) -> Excerpt:
    left = release.answers.num_rows - SHOWN if last else 0
    more = f" {some(left, 'more answer')} in the release." if left > 0 else ""
    subtitle = f"of {bound(release)}; {interval_words(release)}{more}"
    headings = tuple(name.capitalize() if name == "query" else name for name in block.names)
    title = "Counts" if block.statement is None else f"By {listed(block.names)}"
    rows = [tuple(row) for row in block.shown()]
    caption = "Counts of records" if block.statement is None else block.statement
    return Excerpt(title, caption, subtitle, (*headings, "Answer", "Low", "High"), rows, texts=len(headings))


class Block(NamedTuple):
    """Answers that are shown in one table: those of a GROUP BY, or plain counts, which have no one statement."""

    statement: str | None
    names: list[str]
    rows: list[dict[str, Any]]

    def shown(self) -> list[list[str]]:
        """Return the rows as they are written."""
        return [
            [*(str(row[name]) for name in self.names), *(_answer(row[name]) for name in NUMBERS)]
            for row in self.rows
        ]


def answer_blocks(release: Release, most: int) -> list[Block]:
    """Return the first answers in blocks, so that no statement is shown twice."""
    rows = release.answers.slice(0, most).to_pylist()
    own = [name for name in release.answers.column_names if name not in (*ANSWERS.columns, "how")]
    blocks = []
    for statement, alike in groupby(rows, lambda row: None if row["cell"] is None else row["query"]):
        block_rows = list(alike)
        names = ["query"] if statement is None else _grouping_attributes(block_rows[0], own) or ["cell"]
        kept = [{name: row[name] for name in (*names, *NUMBERS)} for row in block_rows]
        blocks.append(Block(statement, names, kept))
    return blocks


def _grouping_attributes(row: dict[str, Any], names: Sequence[str]) -> list[str]:
    """Return the attributes that a statement groups by, in its order.

    >>> row = {"cell": "sex = F, age = 0–17", "age": "0–17", "sex": "F", "job": None}
    >>> _grouping_attributes(row, ["age", "sex", "job"])
    ['sex', 'age']
    """
    there = [name for name in names if row[name] is not None]
    return sorted(there, key=lambda name: row["cell"].find(f"{name} = {row[name]}"))


def _answer(value: Any) -> str:
    """Write a number; one that is not known is a question mark."""
    if value is None:
        return "?"
    return whole(value) if abs(value) >= _SMALL else f"{value:.3g}"
