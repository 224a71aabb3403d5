"""Totals over all people, as a page shows them."""

from __future__ import annotations

from headcount.answers.words import whole
from headcount.counts import TOTALS
from headcount.releases import Release
from headcount.reports.part import Excerpt, Part
from headcount.reports.wording import bound, interval_words, noise_words

_HEADINGS = ("Total", "Value", "Low", "High")


def part(release: Release) -> Part:
    """Return what the page of totals is about."""
    lede = (
        f"How many people and records there are, of {bound(release)}. Each number carries random "
        f"{noise_words(release)}."
    )
    caption = ("Over all people", f"of {bound(release)}; {interval_words(release)}")
    shown = Excerpt("The totals", *caption, _HEADINGS, total_rows(release), texts=1)
    return Part(TOTALS.tables[0].title, lede, [shown])


def total_rows(release: Release) -> list[tuple[str, ...]]:
    """Return the totals as they are shown: a mean with its decimals."""
    return [
        tuple(
            each if name == "total" else f"{each:,.6g}" if row["total"] == "mean" else whole(each)
            for name, each in row.items()
        )
        for row in release.totals.to_pylist()
    ]
