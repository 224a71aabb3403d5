"""The page and the charts of a comparison of methods on one log against the true counts. Not private.

Made from the tidy table and a few facts about the log, nothing else. What differs between comparisons of
counts, of rankings and of selected items is in :mod:`headcount.reports.lab.comparison_sentences`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from headcount.releases.formatting import per_cent, some
from headcount.reports import page
from headcount.reports.charts.interval_plots import MOST_LINES, curves, in_turns, lines_of, narrowed
from headcount.reports.charts.styles import is_claimed
from headcount.reports.charts.trial_means import HIGHER_IS_BETTER, Mean, best_limits, means, refusals
from headcount.reports.lab.comparison_sentences import (
    WORDS,
    Words,
    means_of_table,
    measures,
    middle,
    short,
    standings,
    titles,
)
from headcount.reports.page import Figure

NOT_PRIVATE = (
    "These numbers were measured against the true counts of the log, so they tell about the people in it. They "
    "are for whoever may see the log itself, and must not be published or become part of a release."
)
CHOOSING = (
    "A method or limit that is chosen because it did well here is chosen by looking at the log. Their guarantees "
    "take for granted that this was not done: choose on a public log like yours, or with headcount plan."
)
SUBTITLE = "Not private: measured against the truth"


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What was compared: plain figures of the log, and how often."""

    what: str = "counts"
    name: str
    people: int
    records: int
    counted: str
    items: int
    contexts: int
    runs: int
    seed: int
    bound: float

    def sentence(self) -> str:
        """Say what the log is."""
        over = some(self.items, "item") + (f" and {some(self.contexts, 'context')}" if self.contexts else "")
        return (
            f"{some(self.records, 'record')} of {some(self.people, 'person', 'people')} over {over}, on average "
            f"{short(self.records / max(self.items, 1))} an item; counts of {self.counted}. Each setting was run "
            f"{some(self.runs, 'time')}."
        )


def write_comparison_page(table: pa.Table, facts: Facts, path: str | os.PathLike[str]) -> Path:
    """Write the report to one HTML file, whole or not at all."""
    return page.write(comparison_page(table, facts), path)


def comparison_page(table: pa.Table, facts: Facts) -> str:
    """Return the report as one page that needs no network."""
    averages, words = means(table), WORDS[facts.what]
    figures = comparison_figures(averages, facts.what)
    return page.render(
        "comparison.html.jinja",
        title=f"Methods compared on {facts.name}",
        figures=figures,
        facts=facts,
        lede=facts.sentence(),
        warnings=[NOT_PRIVATE, CHOOSING],
        summary=summary(averages, facts.what),
        most_lines=MOST_LINES,
        question=words.question,
        note=words.note,
        measured=words.measured.format(bound=f"{facts.bound:.4g}"),
        sections=[_section(averages, entry, figures, words) for entry in words.tables(averages)],
        refused=[_refusal(entry) for entry in refusals(table)],
    )


def write_comparison_pictures(table: pa.Table, folder: str | os.PathLike[str], what: str = "counts") -> list[Path]:
    """Write every plot as SVG and PNG, as often as it takes to see all lines; each says that it is not private."""
    figures = [turn for figure in comparison_figures(means(table), what) for turn in in_turns(figure)]
    return page.write_pictures(figures, folder, SUBTITLE)


def comparison_figures(means: Sequence[Mean], what: str = "counts") -> list[Figure]:
    """Draw each measure over ε, at each method's best limit, and over the limit, at one ε."""
    figures, words = [], WORDS[what]
    for table in words.tables(means):
        first = shown_first(standings(means_of_table(means, table), words))
        for measure in measures(means_of_table(means, table)):
            mine = [mean for mean in means_of_table(means, table) if mean.measure == measure]
            figures.append(_over_epsilon(mine, words, first))
            if len({mean.limit for mean in mine} - {None}) > 1:
                figures.append(_over_limits(mine, words, first))
    return figures


def shown_first(order: Mapping[str, float]) -> list[str]:
    """Return the methods whose lines are seen at first: the best, private ones before others."""
    return sorted(order, key=lambda label: (is_claimed(label), order[label]))[:MOST_LINES]


def summary(means: Sequence[Mean], what: str = "counts") -> list[str]:
    """Say in plain words what came out."""
    words = WORDS[what]
    return words.summary(words, means)


def over_epsilons(means: Sequence[Mean], what: str) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Return tables for a terminal, one for each measure: a title, the ε as headings, and what each came to.

    Each stands at the limit that is best for it at that ε, in hindsight; the best of all comes first.
    """
    words = WORDS[what]
    for table in words.tables(means):
        for measure, sample in measures(means_of_table(means, table)).items():
            mine = best_limits([mean for mean in means_of_table(means, table) if mean.measure == measure])
            epsilons = sorted({mean.epsilon for mean in mine})
            cells: dict[str, dict[float, str]] = {}
            for mean in sorted(mine, key=lambda mean: (-mean.epsilon, -mean.mean)):
                cells.setdefault(mean.label, {})[mean.epsilon] = _cell(mean)
            named = {label: f"{label} (not private)" if is_claimed(label) else label for label in cells}
            rows = [
                [named[label], *(row.get(epsilon, "–") for epsilon in epsilons)] for label, row in cells.items()
            ]
            title = f"{titles(sample)[1]} of {words.nouns[table]}"
            yield title, [f"ε = {epsilon:g}" for epsilon in epsilons], rows


def _cell(mean: Mean) -> str:
    value = per_cent(mean.mean, 1) if mean.metric in ("precision", "covered") else short(mean.mean)
    return value if mean.limit is None else f"{value} (limit {mean.limit:,})"


def _section(means: Sequence[Mean], table: str, figures: Sequence[Figure], words: Words) -> dict[str, Any]:
    mine = means_of_table(means, table)
    best = words.at_one_limit(mine)
    epsilon = middle({mean.epsilon for mean in mine})
    there = measures(mine)
    average = standings(mine, words)
    shown: dict[str, dict[str, Mean]] = {}
    for mean in best:
        if mean.epsilon == epsilon:
            shown.setdefault(mean.label, {})[mean.measure] = mean
    leaders = {measure: _leading(shown, measure) for measure in there}
    rows = []
    for label in filter(shown.__contains__, average):
        own = shown[label]
        cells = [
            {"text": short(own[measure].mean), "best": label in leaders[measure]} if measure in own else None
            for measure in there
        ]
        limit = next((mean.limit for mean in own.values()), None)
        row = {"method": label, "place": average[label], "claimed": is_claimed(label)}
        rows.append({**row, "limit": limit, "cells": cells})
    noun = words.nouns[table]
    return {
        "name": table,
        "title": noun[0].upper() + noun[1:],
        "epsilon": f"{epsilon:g}",
        "headings": [titles(mean)[0] for mean in there.values()],
        "rows": rows,
        "lines": lines_of(list(average), shown_first(average)),
        "figures": [figure for figure in figures if figure.name.startswith(f"{table}-")],
    }


def _leading(shown: Mapping[str, Mapping[str, Mean]], measure: str) -> set[str]:
    """Return the methods that are best at a measure: private ones alone."""
    means = [own[measure] for label, own in shown.items() if measure in own and not is_claimed(label)]
    return {mean.label for mean in means if not any(other.better_than(mean) for other in means)}


def _over_epsilon(means: Sequence[Mean], words: Words, first: Sequence[str]) -> Figure:
    shown = sorted(best_limits(means), key=lambda mean: mean.epsilon)
    note = "Each method at the limit that is best for it at that ε, in hindsight."
    return _drawn(shown, words, first, along="epsilon", title="by ε", axis="ε", note=note)


def _over_limits(means: Sequence[Mean], words: Words, first: Sequence[str]) -> Figure:
    epsilon = middle({mean.epsilon for mean in means})
    shown = sorted((mean for mean in means if mean.epsilon == epsilon), key=lambda mean: mean.limit or 0)
    title, axis = f"by limit, at ε = {epsilon:g}", "limit: the most that one person may add"
    note = "Level lines belong to methods that take no limit."
    return _drawn(shown, words, first, along="limit", title=title, axis=axis, note=note)


def _drawn(
    means: Sequence[Mean], words: Words, first: Sequence[str], *, along: str, title: str, axis: str, note: str
) -> Figure:
    """Draw one measure of one table."""
    first_mean = means[0]
    table, (_, name, value) = str(first_mean.table), titles(first_mean)
    there = {mean.label for mean in means}
    chart = curves(
        [_row(mean, along) for mean in means],
        title=f"{name} of {words.nouns[table]}, {title}",
        x=along,
        x_title=axis,
        y_title=value,
        logarithmic_y=first_mean.metric not in HIGHER_IS_BETTER,
        shown=[label for label in first if label in there],
    )
    top = f"-{first_mean.k}" if first_mean.k is not None and first_mean.metric == words.by else ""
    note = f"{_better(first_mean.metric)} {note} {BARS}"
    return narrowed(Figure.from_chart(f"{table}-{first_mean.metric.lower()}{top}-by-{along}", chart, note))


BARS = (
    "Bars are 95 % intervals of the mean over all runs; many are smaller than the marks. An arrow at an edge says "
    "that a bar goes on beyond it; its ends are in the numbers."
)


def _better(metric: str) -> str:
    return "Higher is better." if metric in HIGHER_IS_BETTER else "Lower is better."


def _row(mean: Mean, x: str) -> dict[str, Any]:
    row: dict[str, Any] = {"method": mean.label, "epsilon": mean.epsilon, "limit": mean.limit}
    row |= {"mean": mean.mean, "low": mean.low, "high": mean.high, "runs": mean.runs}
    return {x: row.pop(x), **row}


def _refusal(refusal: Mapping[str, Any]) -> dict[str, str]:
    limits = ", ".join(f"{limit:,}" for limit in refusal["limits"])
    where = f"ε = {', '.join(f'{epsilon:g}' for epsilon in refusal['epsilons'])}"
    where += f" at limit {limits}" if limits else ""
    return {"method": refusal["method"], "where": where, "reason": refusal["reason"]}
