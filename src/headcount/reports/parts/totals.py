"""Totals, group totals and quantiles on a release's page."""

from __future__ import annotations

from headcount.methods.totals import FAMILY as TOTALS
from headcount.methods.totals import GROUPS, QUANTILES
from headcount.releases.formatting import whole
from headcount.releases.release import Release
from headcount.reports.parts.part import SHOWN, Excerpt, Part
from headcount.reports.sentences import bound, interval_words, noise_words

_HEADINGS = ("Total", "Value", "Low", "High")
QUANTILE_HEADINGS = ("Quantile", "Value", "Lowest rank", "Highest rank")


def part(release: Release) -> Part:
    """Return what the page of totals is about."""
    lede = (
        f"How many people and records there are, of {bound(release)}. Each number carries random "
        f"{noise_words(release)}."
    )
    caption = ("Over all people", f"of {bound(release)}; {interval_words(release)}")
    shown = [Excerpt("The totals", *caption, _HEADINGS, total_rows(release), texts=1)]
    if GROUPS.name in release.tables:
        of_groups = ("In each group", caption[1])
        shown.append(Excerpt("By group", *of_groups, ("Of", *_HEADINGS), group_rows(release)[:SHOWN], texts=2))
    if QUANTILES.name in release.tables:
        certain = "its rank lies between those told with probability 95 %, each by itself"
        ranks = ("Of the value", f"of {bound(release)}; {certain}")
        rows = quantile_rows(release)[:SHOWN]
        shown.append(Excerpt("Quantiles", *ranks, ("Of", *QUANTILE_HEADINGS), rows, texts=1))
    return Part(TOTALS.tables[0].title, lede, shown)


def total_rows(release: Release) -> list[tuple[str, ...]]:
    """Return the totals as they are shown: a mean with its decimals."""
    return [
        tuple(
            value if name == "total" else f"{value:,.6g}" if row["total"] == "mean" else whole(value)
            for name, value in row.items()
        )
        for row in release.totals.to_pylist()
    ]


def group_rows(release: Release) -> list[tuple[str, ...]]:
    """Return the totals of groups as they are shown."""
    return [
        (_named(row["of"]), row["total"], *(whole(row[name]) for name in ("value", "low", "high")))
        for row in release.tables[GROUPS.name].to_pylist()
    ]


def quantile_rows(release: Release) -> list[tuple[str, ...]]:
    """Return quantiles as they are shown."""
    grouped = GROUPS.name in release.tables
    return [
        (
            _named(row["of"]) if grouped else "all",
            f"{row['quantile']:g}",
            f"{row['value']:,.6g}",
            f"{row['rank_low']:.3f}",
            f"{row['rank_high']:.3f}",
        )
        for row in release.tables[QUANTILES.name].to_pylist()
    ]


def _named(group: str | None) -> str:
    return "(unknown)" if group is None else group
