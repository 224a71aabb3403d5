"""The pages of replications: a paper's claims beside the measured numbers, and an overview of all papers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headcount.lab.replicate.all_papers import AllReproductions
from headcount.lab.replicate.claims.claims import ALL, Claim, Section
from headcount.lab.replicate.claims.verdicts import WORDS, Verdict
from headcount.lab.replicate.pages.chart_declarations import Picture
from headcount.lab.replicate.paper import Paper, Reproduction
from headcount.lab.replicate.results import Estimate
from headcount.reports.lab.comparison import SUBTITLE
from headcount.reports.lab.reproduction import picture, write_reproduction_page
from headcount.reports.page import Figure, write_pictures

JUDGING = (
    "Each claim and the rule that judges it, with its thresholds, was written down before it was run, and not "
    "changed afterwards. The files of claims say what was added later than the rest.",
    "Every setting is run several times with fresh samples and noise. A mean has a 95 % interval (Student's t "
    "over the runs; runs that all agree give a point).",
    "One number is clearly below another if its interval ends before the other's begins. Where intervals overlap "
    "nothing is decided.",
    "A claim is reproduced if its rule holds in every case that could be tried, not reproduced if it fails in "
    "one, undecided otherwise, and not testable if no case could be tried. Many claims are judged at once, so "
    "that a few of the close ones may have gone the wrong way by chance.",
)


def write_page(done: Reproduction, path: str | os.PathLike[str]) -> Path:
    """Write the report of a reproduction."""
    drawn = figures(done)
    everything = [figure for section_figures in drawn.values() for figure in section_figures]
    return write_reproduction_page(content(done, drawn), everything, path)


def write_plots(done: Reproduction, folder: str | os.PathLike[str]) -> list[Path]:
    """Write every chart as SVG and PNG; each says that it is not private."""
    everything = [figure for section_figures in figures(done).values() for figure in section_figures]
    return write_pictures(everything, folder, SUBTITLE)


def figures(done: Reproduction, prefix: str = "") -> dict[str, list[Figure]]:
    """Draw the charts of each section; the prefix keeps names of several papers apart."""
    sections = done.paper.claims.section
    return {section.name: [_drawn(done, what, prefix) for what in pictures(done, section)] for section in sections}


def pictures(done: Reproduction, section: Section) -> list[Picture]:
    """Return the charts of a section that something was measured for: a quick run has no rows for some."""
    return [picture for picture in section.drawn(done.datasets) if chart_rows(done, picture)]


def content(done: Reproduction, drawn: Mapping[str, list[Figure]]) -> dict[str, Any]:
    """Put everything that the page of one paper says into plain data."""
    it = paper_content(done, drawn)
    head = {"title": it["title"], "lede": it["lede"], "quick": done.effort.quick, "seed": done.seed}
    return {**head, "it": it, "judging": JUDGING}


def paper_content(done: Reproduction, drawn: Mapping[str, list[Figure]], prefix: str = "") -> dict[str, Any]:
    """Put what a page says of a paper into plain data."""
    claims = done.paper.claims
    return {
        "prefix": prefix,
        "title": claims.paper.title,
        "lede": f"{claims.paper.reference} {claims.run.about} {_run(done)}",
        "counts": [{"verdict": word, "number": many} for word, many in done.counts.items()],
        "total": len(done.verdicts),
        "datasets": _datasets(done),
        "methods": list(done.paper.methods.items()),
        "setup": [*claims.run.setup, *_setup(done)],
        "sections": [
            {
                "name": prefix + section.name,
                "title": section.title,
                "reports": section.reports,
                "figures": drawn.get(section.name, []),
                "lists": list(done.paper.lists(done.table, section.name)),
                "tables": list(done.paper.tables(done.table, section.name)),
                "verdicts": [
                    _verdict_content(done, verdict, prefix)
                    for verdict in done.verdicts
                    if section.covers(verdict.claim)
                ],
            }
            for section in claims.section
        ],
    }


def _run(done: Reproduction) -> str:
    return f"Run again here {done.effort.runs} times per setting{' (quick)' if done.effort.quick else ''}."


def _setup(done: Reproduction) -> list[str]:
    sentences = [f"Each setting was run {done.effort.runs} times, with seed {done.seed}."]
    if done.effort.quick:
        sentences.append("This was a quick run: fewer runs and grid points than usual, so more stays undecided.")
    return sentences


def _datasets(done: Reproduction) -> list[dict[str, str]]:
    rows = []
    for dataset in done.claims.dataset:
        used = done.datasets.get(dataset.paper)
        if used is not None:
            words = {"kind": used.kind, "provenance": used.provenance, "licence": used.licence}
        elif dataset.paper in done.absent:
            words = {"kind": "not used", "provenance": done.absent[dataset.paper], "licence": ""}
        else:
            continue
        note = "" if words["provenance"].startswith(dataset.note) else dataset.note
        rows.append({"paper": dataset.paper, "note": note[:1].upper() + note[1:], **words})
    return rows


def _verdict_content(done: Reproduction, verdict: Verdict, prefix: str) -> dict[str, Any]:
    claim = verdict.claim
    return {
        "id": prefix + claim.id,
        "figure": claim.figure,
        "place": claim.place,
        "says": claim.says,
        "verdict": verdict.verdict,
        "rule": claim.judge.statement(),
        "cases": [vars(entry) for entry in verdict.cases],
        "plots": [{"name": prefix + entry.name, "title": entry.title} for entry in plots_of(done, claim)],
    }


def plots_of(done: Reproduction, claim: Claim) -> list[Picture]:
    """Return the charts that show what a claim is judged by, or as near as there are.

    Those of its metric, else those of its experiment, where it may be a ratio of what is drawn, else those of its
    section.
    """
    sections = done.paper.claims.section
    tables, names = {entry.table for entry in claim.cases}, {entry.dataset for entry in claim.cases}
    tried = [
        entry
        for section in sections
        for entry in pictures(done, section)
        if entry.experiment == getattr(claim.judge, "experiment", None)
        and (entry.table in tables or "both" in tables)
        and (not names.isdisjoint(entry.datasets) or ALL in names)
    ]
    own = [entry for section in sections if section.covers(claim) for entry in pictures(done, section)]
    return [entry for entry in tried if entry.metric == getattr(claim.judge, "metric", None)] or tried or own


def _drawn(done: Reproduction, what: Picture, prefix: str) -> Figure:
    rows = chart_rows(done, what)
    if what.kind == "dots":
        words: dict[str, Any] = {"value": what.value, "logarithmic": what.log_value}
    else:
        words = {
            "x_title": what.axis,
            "y_title": what.value,
            "logarithmic_x": what.log_x,
            "logarithmic_y": what.log_value,
            "ticks": what.ticks,
        }
    return picture(
        prefix + what.name, rows, what.kind, what.note, {"title": what.title, "share": what.share, **words}
    )


def chart_rows(done: Reproduction, what: Picture) -> list[dict[str, Any]]:
    """Average the rows of the tidy table that a chart shows."""
    groups: dict[tuple[str, str, float | None], list[float]] = {}
    for row in done.rows:
        chart_key = (what.experiment, what.metric, what.table)
        if (row["experiment"], row["metric"], row["table"]) != chart_key or row["key"] is not None:
            continue
        if row["dataset"] not in what.datasets or (what.x and row["x"] not in what.x):
            continue
        if what.epsilon is None or row["epsilon"] == what.epsilon:
            groups.setdefault((row["dataset"], row["method"], row[what.along]), []).append(row["value"])
    return [_mean_row(what, *key, Estimate.from_runs(values)) for key, values in groups.items()]


def _mean_row(what: Picture, dataset: str, method: str, x: float | None, estimate: Estimate) -> dict[str, Any]:
    place = {"group": dataset} if what.kind == "dots" else {"x": x}
    several = len(estimate.runs) > 1
    low, high = (estimate.low, estimate.high) if several else (None, None)
    return {**place, "method": method, "mean": estimate.mean, "low": low, "high": high, "runs": len(estimate.runs)}


def write_all_pages(done: AllReproductions, path: str | os.PathLike[str]) -> Path:
    """Write the report of all papers, as one page."""
    drawn = {name: figures(entry, _prefix(name)) for name, entry in done.done.items()}
    everything = [figure for sections in drawn.values() for entry in sections.values() for figure in entry]
    return write_reproduction_page(overview(done, drawn), everything, path)


def write_all_plots(done: AllReproductions, folder: str | os.PathLike[str]) -> list[Path]:
    """Write every chart of every paper, each paper's into a folder of its own."""
    return [
        path for name, reproduction in done.done.items() for path in write_plots(reproduction, Path(folder) / name)
    ]


def overview(done: AllReproductions, drawn: dict[str, dict[str, list[Figure]]]) -> dict[str, Any]:
    """Put everything that the page says into plain data."""
    papers = [_paper(done, name, paper, drawn.get(name, {})) for name, paper in done.papers.items()]
    return {
        "title": "Papers run again",
        "lede": _lede(done),
        "quick": done.quick,
        "seed": done.seed,
        "counts": [{"verdict": word, "number": many} for word, many in done.counts.items()],
        "total": sum(done.counts.values()),
        "matrix": [_row(paper) for paper in papers],
        "papers": papers,
        "judging": JUDGING,
    }


def _paper(done: AllReproductions, name: str, paper: Paper, drawn: dict[str, list[Figure]]) -> dict[str, Any]:
    publication = paper.claims.paper
    words = {
        "name": name,
        "heading": publication.heading,
        "title": publication.title,
        "reference": publication.reference,
    }
    if name in done.absent:
        return {**words, "absent": done.absent[name], "total": len(paper.claims.claim)}
    return {**words, "absent": "", **paper_content(done.done[name], drawn, _prefix(name))}


def _row(paper: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the picture: the claims of a paper by verdict, in the order of the paper."""
    claims = [claim for section in paper.get("sections", []) for claim in section["verdicts"]]
    cells = [
        {"verdict": word, "claims": [claim for claim in claims if claim["verdict"] == word]} for word in WORDS
    ]
    return {**{name: paper[name] for name in ("name", "heading", "absent", "total")}, "cells": cells}


def _lede(done: AllReproductions) -> str:
    held, total = done.counts["reproduced"], sum(done.counts.values())
    left_out = f" {len(done.absent)} could not be run for want of data." if done.absent else ""
    return (
        f"{held} of {total} claims of {len(done.done)} papers hold in our runs.{left_out} Open a paper, or follow "
        "a square, for what it says beside what was measured."
    )


def _prefix(name: str) -> str:
    return f"{name}."
