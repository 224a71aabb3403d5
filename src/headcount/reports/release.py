"""The page of one release: what was counted, its guarantee, charts, tables and steps.

The largest counts are drawn; all can be searched (:mod:`headcount.reports.explorer`). A direct ranking has tables
in place of charts: there may be no counts to draw.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from headcount.accounting.guarantee import Standing
from headcount.accounting.noise_distributions import DiscreteGaussian, NoiseDistribution
from headcount.releases.formatting import per_cent, whole
from headcount.releases.release import Release
from headcount.reports import excerpts, page
from headcount.reports.charts import release_charts
from headcount.reports.explorer import explorer
from headcount.reports.page import Figure
from headcount.reports.parts import activity
from headcount.reports.parts.part import part_of
from headcount.reports.parts.tables import ranking_words
from headcount.reports.sentences import (
    across,
    bound,
    counted_words,
    date_in_words,
    interval_words,
    is_bare_ranking,
    meaning,
    noise_alone,
)

NARROW_CONTEXTS = 9  # from here on, a heat map is moved sideways on a narrow screen
CURVE_FROM = 12  # a curve of fewer items says nothing that the ranking does not


def write_release_page(release: Release, path: str | os.PathLike[str], title: str = "") -> Path:
    """Write the report of a release to one HTML file, whole or not at all."""
    return page.write(release_page(release, title), path)


def release_page(release: Release, title: str = "") -> str:
    """Return the report of a release as one HTML page that needs no network; it may be called as one likes."""
    part = part_of(release)
    if callable(part):
        return part(title)
    pairs = "items" not in release.tables
    ranked = excerpts.ranked(release)
    names = excerpts.contexts(release)
    grid = excerpts.grid(release, names)
    counted = counted_words(release)
    histograms = activity.histograms(release)
    at_zero = "within the noise" if noise_alone(release) else "may be zero"
    warnings = _warnings(release)
    return page.render(
        "release.html.jinja",
        title=title or part.title,
        figures=figures_of(release),
        method=release.method,
        created=date_in_words(release.created),
        lede=part.lede,
        warnings=warnings,
        badge=_badge(release),
        meaning=meaning(release),
        guarantee=release.guarantee.sentence(),
        top={"rows": ranked, "pairs": pairs},
        excerpts=part.excerpts,
        bounded=bound(release),
        rankings=excerpts.rankings(release),
        ranking=ranking_words(release),
        counted=counted,
        sinking=noise_alone(release) and release.interval.covers != "smoothed",
        at_zero=at_zero,
        explorer=explorer(release, names, at_zero),
        interval=interval_words(release),
        across=across(release),
        grid=excerpts.cross_table(grid, names),
        best=excerpts.best(release, names),
        left_out=_left_out(release, names),
        histograms=histograms,
        activity=activity.words(release) if histograms else "",
        sentences=release.sentences(),
        facts=_facts(release),
        request=json.dumps(dict(release.request), indent=2, ensure_ascii=False) if release.request else "",
    )


def figures_of(release: Release) -> list[Figure]:
    """Return the charts of counts: how active people are, the largest, all by size, and those by context."""
    counted, ranked, names = counted_words(release), excerpts.ranked(release), excerpts.contexts(release)
    figures = [histogram.figure for histogram in activity.histograms(release)]
    if ranked:
        figures.append(_ranking_figure(release, ranked, counted))
    if "items" in release.tables and release.items.num_rows >= CURVE_FROM:
        figures.append(_curve_figure(release, counted))
    grid = excerpts.grid(release, names)
    if grid.num_rows and names:
        figures.append(_heat_figure(release, grid, names, counted))
    return figures


def _badge(release: Release) -> dict[str, str]:
    amounts = release.guarantee.amounts
    if release.is_private:
        return {"word": release.guarantee.standing.words, "amounts": f"{amounts}, {release.guarantee.per}"}
    word = "SIMULATED" if release.guarantee.standing is Standing.PROVEN else "CLAIMED"
    return {"word": word, "amounts": f"{amounts}: not private"}


def _warnings(release: Release) -> list[str]:
    sentences = []
    if release.guarantee.standing is Standing.CLAIMED:
        sentences.append(release.guarantee.sentence())
    if release.simulated:
        sentences.append(
            "The noise came from a seeded source, for tests: whoever knows the seed can take it off again."
        )
    return sentences


def _ranking_figure(release: Release, rows: Sequence[excerpts.Row], counted: str) -> Figure:
    is_single = len(rows) == 1
    if "items" in release.tables:
        title = "The one item of the catalogue" if is_single else f"The {len(rows)} most counted items"
    else:
        pairs = "pair" if is_single else f"{len(rows)} pairs"
        title = f"The {pairs} of item and {across(release)} with the largest counts"
    table = excerpts.columns(rows, "name", "count", "low", "high")
    level = per_cent(release.interval.level)
    lines = f"{level} intervals{' of the noise' if noise_alone(release) else ', on average over all rows'}"
    note = f"Bars: {_lower(counted)}. Lines: {lines}; where two overlap, noise may have swapped them."
    if noise_alone(release) and release.interval.covers != "true":
        note += " The limit may have swapped others."
    if release.uncovered is not None:
        note += f" {release.uncovered}"
    if release_charts.interval_cutoff(table) is not None:
        note += " An arrow says that an interval goes on beyond the chart; the table has its end."
    wide, narrow = (
        release_charts.ranking(table, title=title, counted=counted, narrow=is_narrow)
        for is_narrow in (False, True)
    )
    return Figure.from_chart("ranking", wide, note, narrow)


def _curve_figure(release: Release, counted: str) -> Figure:
    items, level = release.items, release.interval.level
    total, above = items.num_rows, release_charts.count_significant(items)
    chance = round(total * (1 - level) / 2)
    title = f"{above:,} of {total:,} items stand clear of the noise"
    note = (
        f"{counted}. An item stands clear when its interval lies above zero; if all {total:,} were empty, "
        f"about {chance:,} would do so by chance. The scale is even inside the grey band, logarithmic beyond."
    )
    if release.interval.covers == "smoothed":  # an interval above zero then says nothing of a single item
        title = f"All {total:,} items"
        note = f"{counted}. The light band is the noise alone: how far smoothing moved an item is not in it."
    elif not noise_alone(release):
        title = f"All {total:,} items"
        note = (
            f"{counted}. The light band goes from low to high of each; {interval_words(release)}. Small counts "
            "were drawn together, since the noise leaves little to tell them apart."
        )
    chart = release_charts.rank_size(
        items, title=title, counted=counted, level=level, noise_alone=noise_alone(release)
    )
    return Figure.from_chart("curve", chart, note)


def _heat_figure(release: Release, grid: pa.Table, names: Sequence[str], counted: str) -> Figure:
    items = len(set(grid["name"].to_pylist()))
    title = (
        f"The {items} most counted items, by {across(release)}" if items > 1 else f"One item, by {across(release)}"
    )
    wide, narrow = (
        release_charts.heat_map(grid, title=title, counted=counted, contexts=names, narrow=is_narrow)
        for is_narrow in (False, True)
    )
    numbered = len(names) < release_charts.MOST_NUMBERED
    note = f"{counted}." + (" Cells without a number cannot be told from zero." if numbered else "")
    note = f"{note} {_left_out(release, names)}".strip()
    return Figure.from_chart("heat", wide, note, narrow if len(names) < NARROW_CONTEXTS else None)


def _left_out(release: Release, names: Sequence[str]) -> str:
    total = len(release.contexts or ())
    return f"Shown are the {len(names)} largest of {total:,} contexts." if total > len(names) > 0 else ""


def _lower(words: str) -> str:
    return words[:1].lower() + words[1:]


def _kind(distribution: NoiseDistribution, on: str) -> str:
    """Name a law and its spread, exactly where that is short."""
    if isinstance(distribution, DiscreteGaussian):
        return f"discrete Gaussian noise{on} of standard deviation {distribution.variance**0.5:,.4g}"
    exact = "" if distribution.scale.denominator == 1 else f" ({distribution.scale})"
    return f"discrete laplace{on}, scale {float(distribution.scale):,.4g}{exact}"


def _facts(release: Release) -> list[tuple[str, str]]:
    level = release.interval.level
    counted = ("Counted", counted_words(release))
    facts = [
        ("Method", release.method),
        ("Created", date_in_words(release.created)),
        ("Ranked by", "how many people have an item") if is_bare_ranking(release) else counted,
    ]
    for name, distribution in release.noise.items():
        on, half_width = (
            "" if distribution.on == "counts" else f" on {distribution.on}",
            whole(distribution.half_width(level)),
        )
        facts.append(
            (f"Noise in {name}", f"{_kind(distribution, on)}; {per_cent(level)} of draws lie within ±{half_width}")
        )
    for name, values in release.chosen.items():
        chosen = ", ".join(f"{parameter} {value}" for parameter, value in values.items())
        privately = " privately" if release.is_private else ""
        facts.append((f"Chosen{privately} for {name}", chosen))
    guarantee = f"{release.guarantee.amounts}: simulated, not private"
    facts.append(("Promise", guarantee if release.simulated else release.guarantee.short()))
    if release.guarantee.assumes:
        facts.append(("Takes for granted", "; ".join(release.guarantee.assumes)))
    facts.append(("Catalogue", release.catalogue or "not recorded"))
    charged = "not charged to any ledger"
    if release.ledger:
        charged = ", ".join(f"{name} {value}" for name, value in release.ledger.items())
    facts.append(("Ledger", charged))
    return facts
