"""Comparison of count methods on one log, and the function that runs any comparison.

Not private: see :mod:`headcount.reports.lab.comparison`, which says so on everything that comes of it. Rankings
are compared by :mod:`headcount.lab.compare.rankings`, and the selection of items by
:mod:`headcount.lab.compare.selections`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from headcount.engines.engine import Progress, silent
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from headcount.lab.compare.cached_logs import with_every_item
from headcount.lab.compare.metrics import USUAL, sanity_bound
from headcount.lab.compare.study import CountStudy, Study
from headcount.lab.compare.trial_grid import TrialGrid, run_grid
from headcount.lab.compare.trials import Measure, Trial, Truth
from headcount.reports.lab.comparison import Facts

MARK: dict[str, Any] = {
    "private": False,
    "warning": "measured against the true counts of the log: not for publication, and never part of a release",
}
"""What every file of a comparison carries."""


@dataclass(frozen=True, kw_only=True)
class Comparison(CountStudy):
    """Which methods are compared by their counts, at which ε and limits, and how often.

    >>> log = EventLog.of([("ann", "tea")], items=["rye", "tea"])
    >>> comparison = Comparison(methods=("sra", "dpsense"), epsilons=("1",), limits=(1, 3), runs=2)
    >>> [(trial.method, trial.limit, trial.run) for trial in comparison.trials("drinks", log)]
    [('sra', 1, 0), ('sra', 1, 1), ('sra', 3, 0), ('sra', 3, 1), ('dpsense', None, 0), ('dpsense', None, 1)]
    """

    what: ClassVar[str] = "counts"

    def settings(self, dataset: str, log: EventLog) -> Iterator[Trial]:  # noqa: ARG002 - as all studies
        """Return every method with its parameters, at every ε."""
        for method in self.methods:
            for parameters in self.parameters(method):
                for epsilon in self.exact_epsilons():
                    yield Trial.for_dataset(dataset, method, epsilon=epsilon, **parameters)

    @property
    def measures(self) -> Mapping[str, Measure]:
        """Errors of all cells, and the precision of the top 10."""
        return USUAL


def compare(
    log: EventLog,
    study: Study,
    parts: Path,
    *,
    name: str = "log",
    processes: int | None = None,
    progress: Progress = silent,
) -> tuple[pa.Table, Facts]:
    """Run a comparison, and return its tidy table and what a report says of the log."""
    log = study.compared(log)
    grid = TrialGrid(logs={name: log}, trials=study.trials(name, log), measures=study.measures, seed=study.seed)
    table = run_grid(grid, parts, processes=processes, progress=progress)
    truth = Truth.count(with_every_item(log), LocalEngine(progress=progress))
    facts = Facts(
        what=study.what,
        name=name,
        people=truth.users,
        records=int(truth.records),
        counted=truth.described,
        items=truth.items.size,
        contexts=0 if log.context is None else log.context.size,
        runs=study.runs,
        seed=study.seed,
        bound=sanity_bound(truth.users),
    )
    return table, facts
