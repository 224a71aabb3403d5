"""Title and introduction of a release's page of item counts and item-context counts."""

from __future__ import annotations

from headcount.releases.formatting import some
from headcount.releases.release import Release
from headcount.reports.parts.part import Part
from headcount.reports.sentences import across, bound, noise_alone


def part(release: Release) -> Part:
    """Return what the page of counts is about; its charts are drawn by the page."""
    return Part(_title(release), _lede(release))


def _title(release: Release) -> str:
    what = "People" if release.counts == "users" else "Records"
    if "edges" not in release.tables:
        return f"{what} per item"
    both = "item, and per item and" if "items" in release.tables else "item and"
    return f"{what} per {both} {across(release)}"


def _lede(release: Release) -> str:
    sizes = []
    if "items" in release.tables:
        sizes.append(some(release.items.num_rows, "item"))
    if release.contexts:
        sizes.append(some(len(release.contexts), "context"))
    kind = "people" if release.counts == "users" else "records"
    over = f" over {' and '.join(sizes)}" if sizes else ""
    limited = "" if release.interval.covers == "true" else f", of {bound(release)}"
    hides = " that hides what any one person did" if release.is_private else ""
    counts = "Smoothed counts" if release.interval.covers == "smoothed" else "Counts"
    if not noise_alone(release):
        return f"{counts} of {kind}{over}{limited}, estimated from numbers that carry random noise{hides}."
    return f"{counts} of {kind}{over}{limited}. Each carries random noise{hides}."
