"""Answers to queries, as a page shows them."""

from __future__ import annotations

from typing import Any

from headcount.answers.words import some, whole
from headcount.releases import Release

SHOWN = 200
"""So many answers are on the page; all are in the release."""

_SMALL = 10  # below, decimals are shown: published methods answer with shares


def answer_rows(release: Release) -> list[dict[str, str]]:
    """Return the first answers as they are shown; what is not known is a question mark."""
    if "answers" not in release.tables:
        return []
    return [
        {
            "query": str(row["query"]) + ("" if row["cell"] is None else f" [{row['cell']}]"),
            **{name: _number(row[name]) for name in ("answer", "low", "high")},
        }
        for row in release.answers.slice(0, SHOWN).to_pylist()
    ]


def answers_left_out(release: Release) -> str:
    """Say how many answers are not shown."""
    more = release.answers.num_rows - SHOWN if "answers" in release.tables else 0
    return f"{some(more, 'more answer')} in the release." if more > 0 else ""


def answers_lede(release: Release) -> str:
    """Say what the answers are."""
    hides = " that hides what any one person did" if release.is_private else ""
    if release.is_private and release.guarantee.group is not None:
        hides = " that hides what all people of a group did"
    return (
        f"{some(release.answers.num_rows, 'answer')} to counting queries, of {release.bounded}. All are made from "
        f"numbers that carry random noise{hides}."
    )


def _number(value: Any) -> str:
    if value is None:
        return "?"
    return whole(value) if abs(value) >= _SMALL else f"{value:.3g}"
