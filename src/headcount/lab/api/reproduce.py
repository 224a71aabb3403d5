"""``hc.reproduce``: run a paper's experiments, with a verdict for each claim, as one web page. Not private."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from headcount._internal.parameters import whole_number
from headcount.errors import UnknownNameError
from headcount.lab.compare.trial_grid import DEFAULT_SEED
from headcount.lab.replicate.pages.page import write_page
from headcount.lab.replicate.paper import reproduce as reproduce_paper
from headcount.lab.replicate.registry import PAPERS


def reproduce(
    paper: str,
    to: str | os.PathLike[str],
    *,
    quick: bool = True,
    runs: int | None = None,
    seed: int = DEFAULT_SEED,
    data: str | None = None,
    progress: Callable[[str, int, int | None], None] = lambda *_: None,
) -> dict[str, int]:
    """Run a paper again, write the page of it, and return how many claims have which verdict.

    Parameters:
        paper: One of those that `headcount reproduce` lists.
        to: Where the page goes.
        quick: Fewer runs and grid points, and nothing else.
        runs: How often each setting is run.
        seed: Seed of samples and noise, which are thrown away.
        data: The folder that data sets are looked for in.
        progress: Called with the stage, how much is done and how much there is.
    """
    if paper not in PAPERS:
        raise UnknownNameError.among("paper", paper, PAPERS)
    many = None if runs is None else whole_number(runs, "runs")
    with tempfile.TemporaryDirectory() as parts:
        done = reproduce_paper(
            PAPERS[paper], data, Path(parts), quick=quick, runs=many, seed=seed, processes=1, progress=progress
        )
        write_page(done, to)
    return dict(done.counts)
