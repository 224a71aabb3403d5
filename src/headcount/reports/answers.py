"""Answers to queries, as a page shows them."""

from __future__ import annotations

from typing import Any

from headcount.answers.words import some, whole
from headcount.queries import ANSWERS
from headcount.releases import Release
from headcount.reports.part import SHOWN, Excerpt, Part
from headcount.reports.wording import bound, interval_words, noise_words

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
    """Return the first answers as they are shown; what is not known is a question mark."""
    return [
        (
            str(row["query"]) + ("" if row["cell"] is None else f" [{row['cell']}]"),
            *(_number(row[name]) for name in ("answer", "low", "high")),
        )
        for row in release.answers.slice(0, most).to_pylist()
    ]


def _number(value: Any) -> str:
    if value is None:
        return "?"
    return whole(value) if abs(value) >= _SMALL else f"{value:.3g}"
