"""How a paper is replicated: claims, settings as trials of a grid, one tidy table, verdicts and sections.

To add a paper
    1. Write down what it claims in ``replicate/claims/NAME.toml`` (see
       :mod:`headcount.lab.replicate.claims.claims`), and commit that before anything is run. The charts of each
       section and the set-up of our run stand in the same file.
    2. Write ``replicate/NAME.py`` with a :class:`Paper`: which settings are run (:attr:`Paper.settings`), what is
       measured of each release (:attr:`Paper.measures`), and what follows from the measured rows
       (:attr:`Paper.derived`).
    3. Add it to ``PAPERS`` in :mod:`headcount.lab.replicate.all_papers`.

The rest is the same for all: data by name, the grid, verdicts by the rules, the page.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from headcount.engines.engine import Progress, silent
from headcount.errors import AbsentError, HeadcountError, UsageError, command_line, render
from headcount.events.log import EventLog
from headcount.lab.compare.comparison import MARK
from headcount.lab.compare.trial_grid import DEFAULT_SEED, TrialGrid, run_grid
from headcount.lab.compare.trials import Measure, Trial
from headcount.lab.datasets.by_name import Dataset, form_of, load, where_to_get
from headcount.lab.datasets.entries import ENTRIES
from headcount.lab.replicate.claims.claims import ALL, Claims, PaperData, read_claims
from headcount.lab.replicate.claims.verdicts import WORDS, Verdict, judge_all
from headcount.lab.replicate.results import Results, Row, table_of

FEWEST_RUNS = 2
FEWEST_COMPARED = 2  # data sets, where claims compare them


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One setting of a paper's experiment: a method on a data set, run several times.

    ``dataset`` is the paper's name of the data, ``method`` what the tidy table calls the method, ``epsilon`` the ε
    of the paper's setting; ``spend`` is what the trial itself gets of it, for one table or for both. ``function``
    names what is run in place of a registered method (see :mod:`headcount.lab.compare.trials`).
    """

    experiment: str
    dataset: str
    method: str
    epsilon: float | None = None
    x: float | None = None
    spend: str = "1"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    run_as: str = ""
    function: str | None = None
    runs: int | None = None

    @property
    def label(self) -> str:
        """A name of its own for each setting."""
        named = [self.experiment, self.method, self.epsilon, self.x, sorted(self.parameters.items()), self.spend]
        return " / ".join(map(str, named))

    def trials(self, runs: int) -> Iterator[Trial]:
        """Return the runs of this setting."""
        for run in range(self.runs or runs):
            yield Trial.for_dataset(
                self.dataset,
                self.run_as or self.method,
                epsilon=self.spend,
                run=run,
                label=self.label,
                function=self.function,
                **self.parameters,
            )


@dataclass(frozen=True)
class Effort:
    """How much is run: ``quick`` lowers runs and grid points, and nothing else."""

    quick: bool
    runs: int


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper as it is run again."""

    name: str
    methods: Mapping[str, str]
    """The paper's name of a method, and how it is run here."""
    runs: int
    quick_runs: int
    pace: float = 1.0
    """About how many seconds a trial takes: for the time that is left of all papers, and nothing else."""
    settings: Callable[[Effort, Mapping[str, Dataset]], Iterable[Setting]]
    measures: Mapping[str, Measure] = field(default_factory=dict)
    log_of: Callable[[Dataset], EventLog] = lambda data: data.log
    """The log as the paper counts it: ``replace(data.log, counting="users", context=None)`` for 0/1 matrices."""
    elsewhere: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    """Another experiment that what is measured belongs to: by the setting's experiment, metric and table."""
    derived: Callable[[Results], Iterable[Row]] = lambda _: ()
    lists: Callable[[pa.Table, str], Sequence[Mapping[str, Any]]] = lambda _, __: ()
    """The tables of words of a section, such as the films of table 5, made from the tidy table."""
    tables: Callable[[pa.Table, str], Sequence[Mapping[str, Any]]] = lambda _, __: ()
    """The tables of a section, each with title, columns, those that hold words, and rows, from the tidy table."""

    @cached_property
    def claims(self) -> Claims:
        """What was written down before anything was run."""
        return read_claims(self.name)


@dataclass(frozen=True)
class Reproduction:
    """What came out: the tidy table, a verdict for every claim, and which data were used."""

    paper: Paper
    claims: Claims
    """With the data that were taken for those of the paper."""
    table: pa.Table
    verdicts: Sequence[Verdict]
    datasets: Mapping[str, Dataset]
    absent: Mapping[str, str]
    effort: Effort
    seed: int
    seconds: float

    @property
    def counts(self) -> dict[str, int]:
        """How many claims have each verdict."""
        counted = Counter(verdict.verdict for verdict in self.verdicts)
        return {word: counted[word] for word in WORDS}

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The tidy table, row by row."""
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows

    def summary(self) -> dict[str, Any]:
        """Return what every file of a reproduction carries: that it is not private, and how it was made."""
        return {
            **MARK,
            "paper": self.paper.name,
            "quick": self.effort.quick,
            "runs": self.effort.runs,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "datasets": {
                name: {
                    "name": dataset.name,
                    "same": self.claims.data(name).same,
                    "kind": dataset.kind,
                    "scale": dataset.scale,
                    "provenance": dataset.provenance,
                }
                for name, dataset in self.datasets.items()
            },
            "absent": dict(self.absent),
        }

    def document(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        claims = [verdict.to_json() for verdict in self.verdicts]
        return {**self.summary(), "claims": claims, "table": self.rows}


@dataclass(frozen=True)
class Prepared:
    """A paper that is ready to be run: the data there are, and every setting on them."""

    paper: Paper
    claims: Claims
    """With the data that are taken for those of the paper."""
    effort: Effort
    datasets: Mapping[str, Dataset]
    absent: Mapping[str, str]
    settings: Sequence[Setting]

    @cached_property
    def trials(self) -> Sequence[Trial]:
        """All runs of all settings."""
        return [trial for setting in self.settings for trial in setting.trials(self.effort.runs)]

    def run(
        self, parts: Path, *, seed: int, processes: int | None, progress: Progress, keep: bool = False
    ) -> Reproduction:
        """Run everything, and judge the claims; ``parts`` and ``keep`` are those of the grid."""
        begin = time.monotonic()
        paper, claims = self.paper, self.claims
        logs = {name: paper.log_of(dataset) for name, dataset in self.datasets.items()}
        grid = TrialGrid(logs=logs, trials=self.trials, measures=paper.measures, seed=seed)
        measured = run_grid(grid, parts, processes=processes, progress=progress, keep=keep)
        rows = list(tidy(measured, self.settings, paper.elsewhere))
        table = table_of([*rows, *paper.derived(Results(table_of(rows)))])
        stand_ins = [name for name, dataset in self.datasets.items() if dataset.kind == "stand-in"]
        verdicts = judge_all(claims, Results(table), self.absent, stand_ins)
        seconds = time.monotonic() - begin
        return Reproduction(paper, claims, table, verdicts, self.datasets, self.absent, self.effort, seed, seconds)


def prepare(
    paper: Paper, folder: str | os.PathLike[str] | None, *, quick: bool = False, runs: int | None = None
) -> Prepared:
    """Look for the data of a paper, and list what is to be run."""
    effort = Effort(quick, runs or (paper.quick_runs if quick else paper.runs))
    if effort.runs < FEWEST_RUNS:
        raise UsageError(f"runs must be at least {FEWEST_RUNS}: fewer have no intervals", given=effort.runs)
    claims = at_hand(paper.claims, folder)
    datasets, absent = gather(claims, folder)
    claims = claims.with_parts([name for name, dataset in datasets.items() if not dataset.as_published])
    return Prepared(paper, claims, effort, datasets, absent, list(paper.settings(effort, datasets)))


def reproduce(
    paper: Paper,
    folder: str | os.PathLike[str] | None,
    parts: Path,
    *,
    quick: bool = False,
    runs: int | None = None,
    seed: int = DEFAULT_SEED,
    processes: int | None = None,
    progress: Progress = silent,
    keep: bool = False,
) -> Reproduction:
    """Run the experiments of a paper on what data there are, and judge its claims.

    ``parts`` is the folder of unfinished work, which ``keep`` leaves there (see
    :func:`headcount.lab.compare.trial_grid.run_grid`).
    """
    progress("reading the data", 0, None)
    prepared = prepare(paper, folder, quick=quick, runs=runs)
    return prepared.run(parts, seed=seed, processes=processes, progress=progress, keep=keep)


def at_hand(claims: Claims, folder: str | os.PathLike[str] | None) -> Claims:
    """Take the paper's own data, or what comes nearer to them, wherever they are at hand."""
    return claims.at_hand(lambda name: form_of(name, folder))


def gather(claims: Claims, folder: str | os.PathLike[str] | None) -> tuple[dict[str, Dataset], dict[str, str]]:
    """Load what can be had of a paper's data, and say of the rest why it cannot.

    A stand-in is made only for claims that it can decide. Without any real data there is nothing to run.
    """
    claims = at_hand(claims, folder)
    shape_alone = {case.dataset for claim in claims.claim if claim.shape_alone for case in claim.cases}
    datasets: dict[str, Dataset] = {}
    absent: dict[str, str] = {}
    last: AbsentError | None = None
    for data in claims.dataset:
        if data.name == ALL:
            continue
        kind = form_of(data.name, folder) if data.name in ENTRIES else None
        if kind == "stand-in" and data.paper not in shape_alone:
            absent[data.paper] = f"{data.note}, which cannot decide it{_better(data)}"
        elif data.name not in ENTRIES:
            absent[data.paper] = f"{data.note}{_better(data)}"
        else:
            try:
                datasets[data.paper] = load(data.name, folder)
            except AbsentError as error:
                absent[data.paper], last = f"{data.name} is not at hand ({error.remedy}){_better(data)}", error
    if ALL in {data.paper for data in claims.dataset} and (last is not None or len(datasets) < FEWEST_COMPARED):
        absent[ALL] = "data sets are compared, and not all that this takes are at hand"
    if last is not None and all(dataset.kind == "stand-in" for dataset in datasets.values()):
        raise AbsentError(
            f"none of the data of {claims.paper.name} is at hand: {last.problem}", remedy=last.remedy
        )
    return datasets, absent


def _better(data: PaperData) -> str:
    """Say where to get what would be taken first."""
    places = [render(where_to_get(candidate.name), command_line) for candidate in data.first]
    return "".join(
        f"; for {'the data of the paper' if candidate.same else candidate.name} {place}"
        for candidate, place in zip(data.first, places, strict=True)
    )


def tidy(
    measured: pa.Table, settings: Sequence[Setting], elsewhere: Mapping[tuple[str, str, str], str]
) -> Iterator[Row]:
    """Turn the rows of the grid into those of the paper; a method that refused is a mistake of ours."""
    by_label = {(setting.dataset, setting.label): setting for setting in settings}
    if len(by_label) < len(settings):
        raise ValueError("two settings on one data set differ in nothing that the tidy table shows")
    for row in measured.to_pylist():
        setting = by_label[row["dataset"], row["label"]]
        if row["refused"] is not None:
            raise HeadcountError(f"{setting.label} on {setting.dataset} was refused: {row['refused']}")
        if row["value"] is None:
            continue
        table, x = row["table"] or "items", setting.x if setting.x is not None else row["k"]
        yield Row(
            experiment=elsewhere.get((setting.experiment, row["metric"], table), setting.experiment),
            dataset=setting.dataset,
            method=setting.method,
            table=table,
            epsilon=setting.epsilon,
            x=None if x is None else float(x),
            metric=row["metric"],
            key=row["key"],
            run=row["run"],
            value=row["value"],
        )
