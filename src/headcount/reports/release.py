"""The report of one release: what was counted, what is promised, the largest counts, and how they were made.

Only the largest counts go into the page, so it stays small whatever the size of the catalogue. A direct ranking
has tables in their place, and no charts: there may be no counts to draw.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from headcount.answers.words import some, whole
from headcount.guarantee import Standing, in_short
from headcount.noise_law import DiscreteGaussian, Law
from headcount.releases import Release
from headcount.reports import activity, excerpts, page, plots
from headcount.reports.answers import answer_rows, answers_lede, answers_left_out
from headcount.reports.models import is_model, model_excerpts, model_lede, model_title
from headcount.reports.page import Figure
from headcount.reports.topics import topics_page
from headcount.tags.topic_lists import topic_lists

TOPIC_TAGS = 10  # of each topic of a tag model
CURVE_FROM = 12  # a curve of fewer items says nothing that the ranking does not


def write_release_page(release: Release, path: str | os.PathLike[str]) -> Path:
    """Write the report of a release to one HTML file, whole or not at all."""
    return page.write(release_page(release), path)


def release_page(release: Release) -> str:
    """Return the report of a release as one HTML page that needs no network."""
    if "model/topics" in release.tables:
        return topics_page(topic_lists(release, TOPIC_TAGS), release)
    pairs = "items" not in release.tables
    ranked = excerpts.ranked(release)
    names = excerpts.contexts(release)
    grid = excerpts.grid(release, names)
    counted = counted_words(release)
    histograms = activity.histograms(release)
    figures = [each.figure for each in histograms]
    if ranked:
        figures.append(_ranking_figure(release, ranked, counted))
    if not pairs and release.items.num_rows >= CURVE_FROM:
        figures.append(_curve_figure(release, counted))
    if grid.num_rows and names:
        figures.append(_heat_figure(release, grid, names, counted))
    warnings = _warnings(release)
    return page.render(
        "release.html.jinja",
        title=_title(release),
        figures=figures,
        method=release.method,
        created=date_in_words(release.created),
        lede=_lede(release),
        warnings=warnings,
        badge=_badge(release),
        meaning=meaning(release),
        guarantee=release.guarantee.sentence(),
        top={"rows": ranked, "pairs": pairs},
        totals=_totals(release),
        models=model_excerpts(release),
        answers={"rows": answer_rows(release), "left_out": answers_left_out(release)},
        bounded=_bound(release),
        rankings=excerpts.rankings(release),
        ranking=_ranking_words(release),
        counted=counted,
        sinking=_noise_alone(release) and release.interval.covers != "smoothed",
        at_zero="within the noise" if _noise_alone(release) else "may be zero",
        interval=_interval(release),
        across=_across(release),
        grid=excerpts.cross_table(grid, names),
        best=excerpts.best(release, names),
        left_out=_left_out(release, names),
        histograms=histograms,
        activity=activity.words(release) if histograms else "",
        sentences=release.sentences(),
        facts=_facts(release),
        request=json.dumps(dict(release.request), indent=2, ensure_ascii=False) if release.request else "",
    )


def counted_words(release: Release) -> str:
    """Say what a count counts, and of how much of each person if not of everything.

    Every display of counts carries these words.
    """
    people = release.counts == "users"
    if release.interval.covers == "true":
        return "Count of people" if people else "Count of records"
    count = "Smoothed count" if release.interval.covers == "smoothed" else "Count"
    return f"{count} of people, of {_bound(release)}" if people else f"{count} of {_bound(release)}"


def _interval(release: Release) -> str:
    """Say how sure the intervals of the counts are."""
    level = f"{release.interval.level:.0%}"
    if release.interval.average:
        return f"low and high enclose it in {level} of cases, on average over all rows"
    return f"low and high enclose it with {level} probability, each count on its own"


def _noise_alone(release: Release) -> bool:
    """Say whether intervals are as wide as the noise, all of them, and not estimated for each row."""
    return not release.interval.average


def meaning(release: Release) -> str:
    """Say in one sentence for laypeople what ε means, or that it means nothing here."""
    epsilon = release.guarantee.epsilon
    if not release.is_private:
        return f"ε = {epsilon} is printed on this output, but do not rely on it: handle it like the raw log."
    apart = (
        f", apart from rare outcomes that δ = {in_short(release.guarantee.delta)} allows for"
        if release.guarantee.delta
        else ""
    )
    return (
        f"ε = {epsilon} limits what this page can tell about any one person: somebody who thought the odds "
        f"even that a given person is in the log can be at most {_surest(epsilon)} sure of it after "
        f"reading {'this ranking' if _is_bare_ranking(release) else 'these numbers'}{apart}."
    )


def _surest(epsilon: Decimal) -> str:
    """Return e^ε / (1 + e^ε) in percent, rounded up: how sure even odds can become.

    >>> _surest(Decimal("1")), _surest(Decimal("0.01")), _surest(Decimal("20"))
    ('73.2%', '50.3%', 'all but 100%')
    """
    share = 1 / (1 + (-epsilon).exp())
    percent = (share * 100).quantize(Decimal("0.1"), rounding="ROUND_CEILING")
    return "all but 100%" if percent >= 100 else f"{percent}%"


def _totals(release: Release) -> list[dict[str, str]]:
    """Return the rows of a release of totals as they are shown: a mean with its decimals."""
    if "totals" not in release.tables:
        return []
    return [
        {
            name: each if name == "total" else f"{each:,.6g}" if row["total"] == "mean" else whole(each)
            for name, each in row.items()
        }
        for row in release.totals.to_pylist()
    ]


def _has_counts(release: Release) -> bool:
    """Say whether there are counts at all: a direct ranking may have none."""
    numbers = {"count", "value", "answer"}
    return any(numbers & set(table.column_names) for table in release.tables.values()) or not release.tables


def _is_bare_ranking(release: Release) -> bool:
    """Say whether there is nothing but a ranking without counts."""
    return "ranking" in release.tables and not _has_counts(release)


def _places(release: Release) -> int:
    """Return how many places each ranking has."""
    return int(release.ranking.num_rows // len(release.contexts or (None,)))


def _ranking_words(release: Release) -> dict[str, str]:
    """Return what the tables of a direct ranking are called, and what they leave out."""
    if "ranking" not in release.tables:
        return {}
    places, contexts, left_out = _places(release), len(release.contexts or ()), []
    if places > excerpts.PLACES:
        left_out.append(f"Shown are the first {excerpts.PLACES} of {places:,} places.")
    if contexts > excerpts.MOST_CONTEXTS:
        left_out.append(f"Shown are the first {excerpts.MOST_CONTEXTS} of {contexts:,} contexts.")
    title = "The best item" if places == 1 else f"The {places:,} best items"
    return {
        "title": f"{title} of each {_across(release)}" if contexts else title,
        "left_out": " ".join(left_out),
        "counted": counted_words(release) if "count" in release.ranking.column_names else "",
        "by_counts": "by counts" if release.chosen.get("ranking", {}).get("by") == "counts" else "",
    }


def _title(release: Release) -> str:
    if not {"items", "edges"} & set(release.tables) and "ranking" in release.tables:
        return _ranking_words(release)["title"]
    if "totals" in release.tables:
        return "Totals over all people"
    if is_model(release):
        return model_title(release)
    if "answers" in release.tables:
        return "Answers to queries"
    what = "People" if release.counts == "users" else "Records"
    if "edges" not in release.tables:
        return f"{what} per item"
    both = "item, and per item and" if "items" in release.tables else "item and"
    return f"{what} per {both} {_across(release)}"


def _lede(release: Release) -> str:
    if not {"items", "edges"} & set(release.tables) and "ranking" in release.tables:
        of_what = "" if release.interval.covers == "true" else f", of {_bound(release)}"
        noise = "noise that hides what any one person did" if release.is_private else "noise"
        also = " Their counts carry noise as well." if _has_counts(release) else " Their counts are not released."
        return f"Ranked by how many people have an item{of_what}. The choice was made with random {noise}.{also}"
    if "answers" in release.tables:
        return answers_lede(release)
    if is_model(release):
        return model_lede(release)
    sizes = []
    if "totals" in release.tables:
        hidden = "noise that hides what any one person did" if release.is_private else "noise"
        return f"How many people and records there are, of {_bound(release)}. Each number carries random {hidden}."
    if "items" in release.tables:
        sizes.append(some(release.items.num_rows, "item"))
    if release.contexts:
        sizes.append(some(len(release.contexts), "context"))
    kind = "people" if release.counts == "users" else "records"
    over = f" over {' and '.join(sizes)}" if sizes else ""
    bound = "" if release.interval.covers == "true" else f", of {_bound(release)}"
    hides = " that hides what any one person did" if release.is_private else ""
    counts = "Smoothed counts" if release.interval.covers == "smoothed" else "Counts"
    if not _noise_alone(release):
        return f"{counts} of {kind}{over}{bound}, estimated from numbers that carry random noise{hides}."
    return f"{counts} of {kind}{over}{bound}. Each carries random noise{hides}."


def _bound(release: Release) -> str:
    return release.bounded or "a limited number of records per person"


def _badge(release: Release) -> dict[str, str]:
    amounts = release.guarantee.amounts
    if release.is_private:
        return {"word": "PROVEN", "amounts": f"{amounts}, {release.guarantee.per}"}
    word = "SIMULATED" if release.guarantee.standing is Standing.PROVEN else "CLAIMED"
    return {"word": word, "amounts": f"{amounts}: not private"}


def _warnings(release: Release) -> list[str]:
    said = []
    if release.guarantee.standing is Standing.CLAIMED:
        said.append(release.guarantee.sentence())
    if release.simulated:
        said.append(
            "The noise came from a seeded source, for tests: whoever knows the seed can take it off again."
        )
    return said


def _ranking_figure(release: Release, rows: Sequence[excerpts.Row], counted: str) -> Figure:
    one = len(rows) == 1
    if "items" in release.tables:
        title = "The one item of the catalogue" if one else f"The {len(rows)} most counted items"
    else:
        pairs = "pair" if one else f"{len(rows)} pairs"
        title = f"The {pairs} of item and {_across(release)} with the largest counts"
    table = excerpts.columns(rows, "name", "count", "low", "high")
    level = f"{release.interval.level:.0%}"
    lines = f"{level} intervals{' of the noise' if _noise_alone(release) else ', on average over all rows'}"
    note = f"Bars: {_lower(counted)}. Lines: {lines}; where two overlap, noise may have swapped them."
    if _noise_alone(release) and release.interval.covers != "true":
        note += " The limit may have swapped others."
    if plots.furthest(table) is not None:
        note += " An arrow says that an interval goes on beyond the chart; the table has its end."
    return Figure.of("ranking", plots.ranking(table, title=title, counted=counted), note)


def _curve_figure(release: Release, counted: str) -> Figure:
    items, level = release.items, release.interval.level
    total, above = items.num_rows, plots.clear_of_noise(items)
    chance = round(total * (1 - level) / 2)
    title = f"{above:,} of {total:,} items stand clear of the noise"
    note = (
        f"{counted}. An item stands clear when its interval lies above zero; if all {total:,} were empty, "
        f"about {chance:,} would do so by chance. The scale is even inside the grey band, logarithmic beyond."
    )
    if release.interval.covers == "smoothed":  # an interval above zero then says nothing of a single item
        title = f"All {total:,} items"
        note = f"{counted}. The light band is the noise alone: how far smoothing moved an item is not in it."
    elif not _noise_alone(release):
        title = f"All {total:,} items"
        note = (
            f"{counted}. The light band goes from low to high of each; {_interval(release)}. Small counts were "
            "drawn together, since the noise leaves little to tell them apart."
        )
    chart = plots.rank_size(items, title=title, counted=counted, level=level, noise_alone=_noise_alone(release))
    return Figure.of("curve", chart, note)


def _heat_figure(release: Release, grid: pa.Table, names: Sequence[str], counted: str) -> Figure:
    items = len(set(grid["name"].to_pylist()))
    title = (
        f"The {items} most counted items, by {_across(release)}"
        if items > 1
        else f"One item, by {_across(release)}"
    )
    chart = plots.heat_map(grid, title=title, counted=counted, contexts=names)
    numbered = len(names) < plots.MOST_NUMBERED
    note = f"{counted}." + (" Cells without a number cannot be told from zero." if numbered else "")
    return Figure.of("heat", chart, f"{note} {_left_out(release, names)}".strip())


def _left_out(release: Release, names: Sequence[str]) -> str:
    total = len(release.contexts or ())
    return f"Shown are the {len(names)} largest of {total:,} contexts." if total > len(names) > 0 else ""


def _across(release: Release) -> str:
    return release.context_name or "context"


def _lower(words: str) -> str:
    return words[:1].lower() + words[1:]


def date_in_words(created: str) -> str:
    """Write a moment as a person would; what is none is left as it is."""
    try:
        moment = datetime.fromisoformat(created)
    except ValueError:
        return created
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    return f"{moment.day} {moment:%B %Y, %H:%M} {moment.tzname() or ''}".strip()


def _kind(law: Law, on: str) -> str:
    """Name a law and its spread, exactly where that is short."""
    if isinstance(law, DiscreteGaussian):
        return f"discrete Gaussian noise{on} of standard deviation {law.variance**0.5:,.4g}"
    exact = "" if law.scale.denominator == 1 else f" ({law.scale})"
    return f"discrete laplace{on}, scale {float(law.scale):,.4g}{exact}"


def _facts(release: Release) -> list[tuple[str, str]]:
    level = release.interval.level
    counted = ("Counted", counted_words(release))
    facts = [
        ("Method", release.method),
        ("Created", date_in_words(release.created)),
        ("Ranked by", "how many people have an item") if _is_bare_ranking(release) else counted,
    ]
    for name, law in release.noise.items():
        on, reach = "" if law.on == "counts" else f" on {law.on}", whole(law.half_width(level))
        facts.append((f"Noise in {name}", f"{_kind(law, on)}; {level:.0%} of draws lie within ±{reach}"))
    for name, values in release.chosen.items():
        chosen = ", ".join(f"{parameter} {value}" for parameter, value in values.items())
        privately = " privately" if release.is_private else ""
        facts.append((f"Chosen{privately} for {name}", chosen))
    facts.append(
        ("Promise", release.guarantee.short() + (" — simulated, not private" if release.simulated else ""))
    )
    if release.guarantee.assumes:
        facts.append(("Takes for granted", "; ".join(release.guarantee.assumes)))
    facts.append(("Catalogue", release.catalogue or "not recorded"))
    charged = "not charged to any ledger"
    if release.ledger:
        charged = ", ".join(f"{name} {value}" for name, value in release.ledger.items())
    facts.append(("Ledger", charged))
    return facts
