"""The report of a comparison: every method on one log against the truth. Not private, and it says so everywhere.

Made from the tidy table and a few facts about the log, nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from headcount.answers.words import some
from headcount.reports import page
from headcount.reports.curves import curves
from headcount.reports.page import Figure
from headcount.reports.palette import is_claimed
from headcount.reports.tidy import HIGHER_IS_BETTER, Mean, at_one_limit, best_limits, means, places, refusals

NOT_PRIVATE = (
    "These numbers were measured against the true counts of the log, so they tell about the people in it. They "
    "are for whoever may see the log itself, and must not be published or become part of a release."
)
CHOOSING = (
    "A method or limit that is chosen because it did well here is chosen by looking at the log. Their guarantees "
    "take for granted that this was not done: choose on a public log like yours, or with headcount plan."
)
SUBTITLE = "Not private: measured against the truth"

_TITLES = {
    "MSE": ("Mean squared error", "mean squared error, counts²"),
    "MAE": ("Mean absolute error", "mean absolute error, counts"),
    "MRE": ("Mean relative error", "mean relative error, 1 = 100 %"),
    "KL": ("KL divergence", "KL divergence, nats"),
    "precision": ("Precision of the top 10", "share of the true top 10 that is found"),
}
_NOUNS = {"items": "item counts", "edges": "item-by-context counts"}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What was compared: plain figures of the log, and how often."""

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
            f"{_short(self.records / self.items)} an item; counts of {self.counted}. Each setting was run "
            f"{some(self.runs, 'time')}."
        )


def write_comparison_page(table: pa.Table, facts: Facts, path: str | os.PathLike[str]) -> Path:
    """Write the report to one HTML file, whole or not at all."""
    return page.write(comparison_page(table, facts), path)


def comparison_page(table: pa.Table, facts: Facts) -> str:
    """Return the report as one page that needs no network."""
    found = means(table)
    figures = comparison_figures(found)
    return page.render(
        "comparison.html.jinja",
        title=f"Methods compared on {facts.name}",
        figures=figures,
        facts=facts,
        lede=facts.sentence(),
        warnings=[NOT_PRIVATE, CHOOSING],
        summary=summary(found),
        sections=[_section(found, each, figures) for each in _tables(found)],
        refused=[_refusal(each) for each in refusals(table)],
    )


def write_comparison_pictures(table: pa.Table, folder: str | os.PathLike[str]) -> list[Path]:
    """Write every plot as SVG and PNG; each says that it is not private."""
    return page.write_pictures(comparison_figures(means(table)), folder, SUBTITLE)


def comparison_figures(found: Sequence[Mean]) -> list[Figure]:
    """Draw each metric over ε, at each method's best limit, and over the limit, at one ε."""
    figures = []
    for table in _tables(found):
        for metric in _metrics(found, table):
            mine = [each for each in found if (each.table, each.metric) == (table, metric)]
            figures.append(_over_epsilon(mine, table, metric))
            if len({each.limit for each in mine} - {None}) > 1:
                figures.append(_over_limits(mine, table, metric))
    return figures


def summary(found: Sequence[Mean]) -> list[str]:
    """Say in plain words which private methods came out best, overall and at one ε."""
    said = []
    for table in _tables(found):
        private = [each for each in at_one_limit(_of(found, table)) if not is_claimed(each.label)]
        if not private:
            continue
        order = sorted(places(private).items(), key=lambda each: each[1])
        words = f"For {_NOUNS[table]}, over all ε and errors together, {order[0][0]} came out best"
        if len(order) > 1:
            ahead = " and ".join(f"{name} ({place:.1f})" for name, place in order[1:3])
            words += f" of {len(order)} private methods (average place {order[0][1]:.1f}), ahead of {ahead}"
        epsilon = middle({each.epsilon for each in private})
        error = _best(private, epsilon, "MAE")
        if error is not None:
            words += (
                f". At ε = {epsilon:g} the smallest mean absolute error is that of {_at(error)}: its counts are"
            )
            words += f" off by {_short(error.mean)} on average"
        top = _best(best_limits(_of(found, table)), epsilon, "precision")
        if top is not None:
            kind = "items" if table == "items" else "items of each context"
            words += f". Most of the 10 most counted {kind} are found by {_at(top)}: {10 * top.mean:.1f} of them"
        said.append(f"{words}.")
    return said


def _best(found: Sequence[Mean], epsilon: float, metric: str) -> Mean | None:
    """Return the best private method at one ε."""
    entrants = [each for each in found if (each.epsilon, each.metric) == (epsilon, metric)]
    entrants = [each for each in entrants if not is_claimed(each.label)]
    return next((each for each in entrants if not any(other.better_than(each) for other in entrants)), None)


def _at(each: Mean) -> str:
    return each.label if each.limit is None else f"{each.label} at limit {each.limit:,}"


def _of(found: Sequence[Mean], table: str) -> list[Mean]:
    return [each for each in found if each.table == table]


def _average_places(found: Sequence[Mean]) -> dict[str, float]:
    """Return places among the private methods; what is only claimed gets the place it would have among them."""
    private = [each for each in found if not is_claimed(each.label)]
    taken = places(private)
    for label in {each.label for each in found} - set(taken):
        taken[label] = places([*private, *(each for each in found if each.label == label)])[label]
    return taken


def middle(epsilons: set[float]) -> float:
    """Return the ε that tables and plots over the limit are shown for: 1 if it was run, else the middle one.

    >>> middle({0.1, 1.0, 2.0}), middle({0.1, 0.5, 3.0})
    (1.0, 0.5)
    """
    ordered = sorted(epsilons)
    return 1.0 if 1.0 in epsilons else ordered[(len(ordered) - 1) // 2]


def _section(found: Sequence[Mean], table: str, figures: Sequence[Figure]) -> dict[str, Any]:
    mine = _of(found, table)
    best = at_one_limit(mine)
    epsilon = middle({each.epsilon for each in mine})
    metrics = _metrics(found, table)
    average = _average_places(best)
    shown: dict[str, dict[str, Mean]] = {}
    for each in best:
        if each.epsilon == epsilon:
            shown.setdefault(each.label, {})[each.metric] = each
    leaders = {metric: _leading(shown, metric) for metric in metrics}
    rows = [
        {
            "method": label,
            "place": average[label],
            "claimed": is_claimed(label),
            "limit": next((each.limit for each in shown[label].values()), None),
            "cells": [
                {"text": _short(shown[label][metric].mean), "best": label in leaders[metric]}
                if metric in shown[label]
                else None
                for metric in metrics
            ],
        }
        for label in sorted(shown, key=lambda label: average[label])
    ]
    return {
        "name": table,
        "title": _NOUNS[table][0].upper() + _NOUNS[table][1:],
        "epsilon": f"{epsilon:g}",
        "metrics": metrics,
        "rows": rows,
        "figures": [figure for figure in figures if figure.name.startswith(f"{table}-")],
    }


def _leading(shown: Mapping[str, Mapping[str, Mean]], metric: str) -> set[str]:
    """Return the methods that are best at a metric: private ones alone."""
    entrants = {label: each[metric] for label, each in shown.items() if metric in each and not is_claimed(label)}
    return {
        label
        for label, each in entrants.items()
        if not any(other.better_than(each) for other in entrants.values())
    }


def _over_epsilon(found: Sequence[Mean], table: str, metric: str) -> Figure:
    shown = sorted(best_limits(found), key=lambda each: each.epsilon)
    note = "Each method at the limit that is best for it at that ε, in hindsight."
    return _drawn(shown, table, metric, along="epsilon", title="by ε", axis="ε", note=note)


def _over_limits(found: Sequence[Mean], table: str, metric: str) -> Figure:
    epsilon = middle({each.epsilon for each in found})
    shown = sorted((each for each in found if each.epsilon == epsilon), key=lambda each: each.limit or 0)
    title, axis = f"by limit, at ε = {epsilon:g}", "limit: the most that one person may add"
    note = "Level lines belong to methods that take no limit."
    return _drawn(shown, table, metric, along="limit", title=title, axis=axis, note=note)


def _drawn(
    shown: Sequence[Mean], table: str, metric: str, *, along: str, title: str, axis: str, note: str
) -> Figure:
    name, value = _TITLES.get(metric, (metric, metric))
    chart = curves(
        [_row(each, along) for each in shown],
        title=f"{name} of {_NOUNS[table]}, {title}",
        x=along,
        x_title=axis,
        y_title=value,
        logarithmic_y=metric not in HIGHER_IS_BETTER,
    )
    return Figure.of(f"{table}-{metric.lower()}-by-{along}", chart, f"{_better(metric)} {note} {_BARS}")


_BARS = (
    "Bars are 95 % intervals of the mean over all runs; many are smaller than the marks. What lies far beyond the "
    "private methods is cut off, and is in the numbers."
)


def _better(metric: str) -> str:
    return "Higher is better." if metric in HIGHER_IS_BETTER else "Lower is better."


def _row(each: Mean, x: str) -> dict[str, Any]:
    row: dict[str, Any] = {"method": each.label, "epsilon": each.epsilon, "limit": each.limit}
    row |= {"mean": each.mean, "low": each.low, "high": each.high, "runs": each.runs}
    return {x: row.pop(x), **row}


def _tables(found: Sequence[Mean]) -> list[str]:
    return [table for table in _NOUNS if any(each.table == table for each in found)]


def _metrics(found: Sequence[Mean], table: str) -> list[str]:
    there = {each.metric for each in found if each.table == table}
    return [metric for metric in _TITLES if metric in there]


def _refusal(each: Mapping[str, Any]) -> dict[str, str]:
    at = f" at limit {', '.join(f'{limit:,}' for limit in each['limits'])}" if each["limits"] else ""
    epsilons = ", ".join(f"{epsilon:g}" for epsilon in each["epsilons"])
    return {"method": each["method"], "where": f"ε = {epsilons}{at}", "reason": each["reason"]}


def _short(number: float) -> str:
    """Write a number with three digits that matter.

    >>> [_short(each) for each in (0.01234, 12.345, 1234.5, 7_654_321.0, 0.0)]
    ['0.0123', '12.3', '1,234', '7.65 million', '0']
    """
    for unit, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if abs(number) >= unit:
            return f"{number / unit:.3g} {word}"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"
