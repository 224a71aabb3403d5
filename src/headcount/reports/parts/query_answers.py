"""Query answers on a release's page: tables grouped by SQL statement."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from headcount.methods.queries import ANSWERS
from headcount.releases.formatting import listed, some, whole
from headcount.releases.release import Release
from headcount.reports.parts.part import SHOWN, Excerpt, Part
from headcount.reports.sentences import bound, interval_words, noise_words

NUMBERS = ("answer", "low", "high")
_SMALL = 10  # below, decimals are shown: published methods answer with shares


def part(release: Release) -> Part:
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
            [*(str(row[name]) for name in self.names), *(_number(row[name]) for name in NUMBERS)]
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


def _number(value: Any) -> str:
    """Write a number; one that is not known is a question mark."""
    if value is None:
        return "?"
    return whole(value) if abs(value) >= _SMALL else f"{value:.3g}"
