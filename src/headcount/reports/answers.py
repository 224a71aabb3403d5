"""Answers to queries, as a page shows them."""

from __future__ import annotations

from itertools import groupby
from typing import Any, NamedTuple

from headcount.answers.words import some, whole
from headcount.queries import ANSWERS
from headcount.releases import Release
from headcount.reports.part import SHOWN, Excerpt, Part
from headcount.reports.wording import bound, interval_words, noise_words

NUMBERS = ("answer", "low", "high")
_SMALL = 10  # below, decimals are shown: published methods answer with shares


def part(release: Release) -> Part:
    """Return what the page of answers is about."""
    left = release.answers.num_rows - SHOWN
    more = f" {some(left, 'more answer')} in the release." if left > 0 else ""
    of = f"of {bound(release)}; {interval_words(release)}{more}"
    headings = ("Query", "Answer", "Low", "High")
    shown = Excerpt("The answers", "Counts of records", of, headings, answer_rows(release), texts=1)
    noise = noise_words(release)
    if release.is_private and release.guarantee.group is not None:
        noise = "noise that hides what all people of a group did"
    lede = (
        f"{some(release.answers.num_rows, 'answer')} to counting queries, of {release.bounded}. All are made from "
        f"numbers that carry random {noise}."
    )
    return Part(ANSWERS.title, lede, [shown] if release.answers.num_rows else [])


def answer_rows(release: Release, most: int = SHOWN) -> list[tuple[str, ...]]:
    """Return the first answers as they are shown; a statement stands before the first cell of its GROUP BY."""
    shown, before = [], None
    for row in release.answers.slice(0, most).to_pylist():
        cell = "" if row["cell"] is None else f"[{row['cell']}]"
        goes_on = cell and row["query"] == before
        before = row["query"]
        shown.append((cell if goes_on else f"{row['query']} {cell}".rstrip(), *_numbers(row)))
    return shown


class Block(NamedTuple):
    """Answers that are shown in one table: those of a GROUP BY, or plain counts, which have no one statement."""

    statement: str | None
    names: list[str]
    rows: list[list[str]]


def answer_blocks(release: Release, most: int) -> list[Block]:
    """Return the first answers in blocks, so that no statement is shown twice."""
    rows = release.answers.slice(0, most).to_pylist()
    own = [name for name in release.answers.column_names if name not in (*ANSWERS.columns, "how")]
    blocks = []
    for statement, alike in groupby(rows, lambda row: None if row["cell"] is None else row["query"]):
        found = list(alike)
        names = ["query"]
        if statement is not None:
            names = [name for name in own if found[0][name] is not None] or ["cell"]
        shown = [[*(str(row[name]) for name in names), *_numbers(row)] for row in found]
        blocks.append(Block(statement, names, shown))
    return blocks


def _numbers(row: dict[str, Any]) -> list[str]:
    return [_number(row[name]) for name in NUMBERS]


def _number(value: Any) -> str:
    """Write a number; one that is not known is a question mark."""
    if value is None:
        return "?"
    return whole(value) if abs(value) >= _SMALL else f"{value:.3g}"
