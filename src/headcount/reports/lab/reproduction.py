"""The page of a paper's replication: each claim beside what was measured, with a verdict.

Everything on the page comes from the tidy table of the experiments and from what was written down of the paper;
the caller (:mod:`headcount.lab.replicate.pages.page`) has put both into words. Not private, and it says so.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headcount.reports import page
from headcount.reports.charts.interval_plots import MOST_LINES, curves, dots, lines_of, narrowed
from headcount.reports.charts.styles import in_order
from headcount.reports.page import Figure

NOT_PRIVATE = (
    "These numbers were measured against the true counts of the data, with seeded noise. They are for research: "
    "handle them like the data themselves, and let nothing of them become part of a release."
)
BARS = (
    "Bars are 95 % intervals of the mean over all runs; many are smaller than the marks. An arrow at an edge says "
    "that a bar goes on beyond it."
)


def picture(name: str, rows: Sequence[dict[str, Any]], kind: str, note: str, words: Mapping[str, Any]) -> Figure:
    """Draw rows as dots or curves; ``words`` are the titles and scales that the chart takes."""
    note = f"{note} {BARS}".strip()
    if kind == "dots":
        return Figure.from_chart(name, dots(rows, **words), note)
    figure = narrowed(Figure.from_chart(name, curves(rows, x="x", **words), note))
    names = in_order(row["method"] for row in rows)
    lines = lines_of(names, names[:MOST_LINES])
    return replace(figure, lines=lines, most_lines=MOST_LINES)


def write_reproduction_page(
    content: Mapping[str, Any], figures: Sequence[Figure], path: str | os.PathLike[str]
) -> Path:
    """Write the report to one HTML file, whole or not at all; a content with several papers has them all."""
    return page.write(reproduction_page(content, figures), path)


def reproduction_page(content: Mapping[str, Any], figures: Sequence[Figure]) -> str:
    """Return the report as one page that needs no network."""
    template = "reproductions.html.jinja" if "papers" in content else "reproduction.html.jinja"
    return page.render(template, figures=figures, warning=NOT_PRIVATE, **content)
