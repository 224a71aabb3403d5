"""Title and introduction of a release's page of direct rankings."""

from __future__ import annotations

from headcount.releases.formatting import describe_order, listed, undecided_contexts
from headcount.releases.release import Release
from headcount.reports import excerpts
from headcount.reports.parts.part import Part
from headcount.reports.sentences import across, bound, counted_words, has_counts, noise_words


def part(release: Release) -> Part:
    """Return what the page of a ranking is about; its tables are laid out by the page."""
    of_what = "" if release.interval.covers == "true" else f", of {bound(release)}"
    also = " Their counts carry noise as well." if has_counts(release) else " Their counts are not released."
    choice = f"The choice was made with random {noise_words(release)}."
    sentences = [
        f"Ranked by how many people have an item{of_what}. {choice}{also}",
        *describe_order(release.chosen),
    ]
    silent = undecided_contexts(release.chosen)
    sentences += [f"Nothing can be told of {listed(silent)}, where all is within the noise."] if silent else []
    lede = " ".join(sentences)
    return Part(ranking_words(release)["title"], lede)


def _places(release: Release) -> int:
    """Return how many places the longest ranking has: there are none where nothing can be told."""
    places: list[int] = release.ranking["rank"].to_pylist()
    return max(places, default=0)


def ranking_words(release: Release) -> dict[str, str]:
    """Return what the tables of a direct ranking are called, and what they leave out."""
    if "ranking" not in release.tables:
        return {}
    places, contexts, left_out = _places(release), len(release.contexts or ()), []
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
