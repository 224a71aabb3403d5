"""Replication of all papers in sequence, resumable after an interruption.

A paper of which no data are at hand is left out, with the reason. What is finished of each paper stays in the
folder of unfinished work until all of them are done.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from headcount.engines.engine import Progress, silent
from headcount.errors import AbsentError
from headcount.lab.compare.comparison import MARK
from headcount.lab.compare.trial_grid import DEFAULT_SEED, RUNNING, clear
from headcount.lab.replicate.cim import CIM
from headcount.lab.replicate.claims.verdicts import WORDS
from headcount.lab.replicate.dpsense import DPSENSE
from headcount.lab.replicate.fan_jin import FAN_JIN
from headcount.lab.replicate.kellaris import KELLARIS
from headcount.lab.replicate.paper import Paper, Prepared, Reproduction, prepare
from headcount.lab.replicate.pncf import PNCF
from headcount.lab.replicate.pritop import PRITOP

PAPERS: Mapping[str, Paper] = {paper.name: paper for paper in (FAN_JIN, KELLARIS, DPSENSE, PNCF, PRITOP, CIM)}


@dataclass(frozen=True)
class AllReproductions:
    """What came out of all papers, in their order, and why some could not be run."""

    papers: Mapping[str, Paper]
    done: Mapping[str, Reproduction]
    absent: Mapping[str, str]
    quick: bool
    seed: int
    seconds: float

    @property
    def counts(self) -> dict[str, int]:
        """How many claims of the papers that were run have each verdict."""
        return {word: sum(reproduction.counts[word] for reproduction in self.done.values()) for word in WORDS}

    @property
    def table(self) -> pa.Table:
        """The tidy tables of all papers in one, with the paper as first column."""
        return pa.concat_tables(
            reproduction.table.add_column(
                0, pa.field("paper", pa.string()), pa.array([name] * reproduction.table.num_rows)
            )
            for name, reproduction in self.done.items()
        )

    def summary(self) -> dict[str, Any]:
        """Return what every file carries: that it is not private, and how it was made."""
        return {
            **MARK,
            "paper": "all",
            "quick": self.quick,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "verdicts": self.counts,
            "absent": dict(self.absent),
            "papers": {name: reproduction.summary() for name, reproduction in self.done.items()},
        }

    def document(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {
            **self.summary(),
            "papers": {name: reproduction.document() for name, reproduction in self.done.items()},
        }


def reproduce_all(
    folder: str | os.PathLike[str] | None,
    parts: Path,
    *,
    papers: Mapping[str, Paper] = PAPERS,
    quick: bool = False,
    runs: int | None = None,
    seed: int = DEFAULT_SEED,
    processes: int | None = None,
    progress: Progress = silent,
    keep: bool = False,
) -> AllReproductions:
    """Run the experiments of all papers on what data there are, and judge their claims.

    ``parts`` is the folder of unfinished work, which ``keep`` leaves there until :func:`clear_all`: after an
    interruption the same call goes on where it was.
    """
    begin = time.monotonic()
    progress("reading the data", 0, None)
    ready, absent = _prepared(papers, folder, quick=quick, runs=runs)
    shares = {name: prepared.paper.pace * len(prepared.trials) for name, prepared in ready.items()}
    done: dict[str, Reproduction] = {}
    for name, prepared in ready.items():
        before = sum(shares[earlier] for earlier in done)
        paper_progress = _overall_progress(
            progress, f"{name} ({len(done) + 1} of {len(ready)})", before, shares[name], sum(shares.values())
        )
        done[name] = prepared.run(parts / name, seed=seed, processes=processes, progress=paper_progress, keep=True)
    if not keep:
        clear_all(parts)
    return AllReproductions(papers, done, absent, quick, seed, time.monotonic() - begin)


def clear_all(parts: Path) -> None:
    """Remove what is finished, of one paper or of all, and the folders of it."""
    for folder in (*(parts / name for name in PAPERS), parts):
        clear(folder)


def _prepared(
    papers: Mapping[str, Paper], folder: str | os.PathLike[str] | None, *, quick: bool, runs: int | None
) -> tuple[dict[str, Prepared], dict[str, str]]:
    """Return the papers of which there are data, and why others have none."""
    ready: dict[str, Prepared] = {}
    absent: dict[str, str] = {}
    last: AbsentError | None = None
    for name, paper in papers.items():
        try:
            ready[name] = prepare(paper, folder, quick=quick, runs=runs)
        except AbsentError as error:
            absent[name], last = str(error), error
    if not ready and last is not None:
        raise AbsentError("no data of any paper are at hand", remedy=last.remedy)
    return ready, absent


def _overall_progress(progress: Progress, name: str, before: float, share: float, total: float) -> Progress:
    """Return the progress of one paper as that of all, in the seconds that they should take.

    >>> _overall_progress(lambda *progress: print(progress), "cim (6 of 6)", 300.0, 100.0, 400.0)(RUNNING, 5, 10)
    ('cim (6 of 6): running trials', 350, 400)
    """

    def report(stage: str, done: int, steps: int | None) -> None:
        part = done / steps if stage == RUNNING and steps else 0.0
        progress(f"{name}: {stage}", round(before + share * part), round(total))

    return report
