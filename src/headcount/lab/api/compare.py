"""``hc.compare``: measure the errors of every method on a log. Not private."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from headcount._internal.parameters import whole_number
from headcount._internal.python_surface import class_errors_in_python
from headcount.accounting.budget import Amount
from headcount.errors import Parameter, UsageError, param
from headcount.events.log import EventLog, check_log
from headcount.lab.compare.comparison import Comparison
from headcount.lab.compare.comparison import compare as compare_by
from headcount.lab.compare.rankings import RankingComparison
from headcount.lab.compare.selections import SelectionComparison
from headcount.lab.compare.study import RUNS, Study
from headcount.lab.compare.trial_grid import DEFAULT_SEED

if TYPE_CHECKING:
    import pandas as pd

    from headcount.reports.lab.comparison import Facts

_STUDIES: tuple[type[Study], ...] = (Comparison, RankingComparison, SelectionComparison)
_FIELDS = {"epsilon": "epsilons", "delta": "deltas", "k": "tops"}  # of a study, where they have another name


@class_errors_in_python
@dataclass(frozen=True)
class Compared:
    """What a comparison found, for the curator alone: a tidy table of all runs, and the log's exact figures."""

    table: pa.Table = field(repr=False)
    facts: Facts = field(repr=False)

    def sentences(self) -> list[str]:
        """Say in plain words what came out."""
        from headcount.reports.charts.tidy_table import means
        from headcount.reports.lab.comparison import summary

        return summary(means(self.table), self.facts.what)

    def to_pandas(self) -> pd.DataFrame:
        """Return all measured numbers as a pandas frame."""
        frame: pd.DataFrame = self.table.to_pandas()
        return frame

    def report(self, to: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write plots, a ranking and a summary as one web page, and return its path."""
        if Path(to).exists() and not force:
            raise UsageError.taken(to, param.report)
        from headcount.reports.lab.comparison import write_comparison_page

        return write_comparison_page(self.table, self.facts, to)

    def __repr__(self) -> str:
        return (
            f"<Compared {self.facts.what}, NOT PRIVATE: {self.table.num_rows:,} numbers of {self.facts.runs} runs>"
        )


def compare(
    log: EventLog,
    *,
    what: Literal["counts", "rankings", "selection"] = "counts",
    methods: Sequence[str] | None = None,
    epsilon: Sequence[Amount] | None = None,
    limits: Sequence[int] | None = None,
    k: Sequence[int] | None = None,
    shares: Sequence[Amount] | None = None,
    delta: Sequence[Amount] | None = None,
    runs: int = RUNS,
    seed: int = DEFAULT_SEED,
    processes: int = 1,
) -> Compared:
    """Run every method on a log, and measure its counts against the truth. This is NOT PRIVATE.

    What it returns is for the curator's eyes. Choose no method or limit by it for a release of this same log.

    >>> log = EventLog.of([("ann", "tea"), ("bob", "tea"), ("bob", "rye")], items=["rye", "tea"])
    >>> comparison = compare(log, methods=["sra", "lpa"], epsilon=[1], limits=[1], runs=2)
    >>> comparison
    <Compared counts, NOT PRIVATE: 20 numbers of 2 runs>

    Parameters:
        log: The log to compare on.
        what: Counts; rankings by people, of `rank` and of counts; or the selection of items.
        methods: Which methods of counts; by default all.
        epsilon: Privacy budgets to try; by default 0.1, 0.5, 1 and 2.
        limits: Limits to try; by default 1, 3, 10, 30 and 100.
        k: For rankings: how many places; by default 10 and 20.
        shares: For selection: shares of ε that it takes; by default 0.2 and 0.5.
        delta: For selection: δ to try; by default 1e-6. For rankings: one δ, or none.
        runs: How often each setting is run.
        seed: Seed of samples and noise, which are thrown away.
        processes: Worker processes; more than one need a main module that can be imported.
    """
    check_log(log)
    given = {"methods": methods, "epsilon": epsilon, "limits": limits, "k": k, "shares": shares, "delta": delta}
    study = _study(what, {name: values for name, values in given.items() if values is not None}, runs, seed)
    with tempfile.TemporaryDirectory() as folder:
        parts, workers = Path(folder) / "parts", whole_number(processes, "processes")
        return Compared(*compare_by(log, study, parts, name=log.source.name, processes=workers))


def _study(what: str, given: dict[str, Sequence[Any]], runs: int, seed: int) -> Study:
    """Return what is compared; a list that it has no use for is refused."""
    kinds = {study_class.what: study_class for study_class in _STUDIES}
    if what not in kinds:
        raise UsageError(f"{param.what} must be {' or '.join(kinds)}", given=what, allowed=tuple(kinds))
    field_names = {study_field.name for study_field in fields(kinds[what])}
    lists: dict[str, Any] = {}
    for name, values in given.items():
        if _FIELDS.get(name, name) not in field_names:
            raise UsageError(f"{Parameter(name)} is of no use with {param.what(what)}", remedy="leave it out")
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise UsageError(f"{name} must be a list", given=values, remedy=f"such as [{values!r}]")
        lists[_FIELDS.get(name, name)] = tuple(values)
    return kinds[what](**lists, runs=whole_number(runs, "runs"), seed=seed)
