"""The overview page of all replications: claims by paper and verdict, each a link."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from headcount.lab.replicate.all_papers import AllReproductions
from headcount.lab.replicate.claims.verdicts import WORDS
from headcount.lab.replicate.pages.page import JUDGING, figures, paper_content, write_plots
from headcount.lab.replicate.paper import Paper
from headcount.reports.lab.reproduction import write_reproduction_page
from headcount.reports.page import Figure


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
