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
    rows = [
        tuple(
            each if name == "total" else f"{each:,.6g}" if row["total"] == "mean" else whole(each)
            for name, each in row.items()
        )
        for row in release.totals.to_pylist()
    ]
    return Part(TOTALS.tables[0].title, lede, [Excerpt("The totals", *caption, _HEADINGS, rows, texts=1)])
