"""Every method on one log against the truth: which trials that takes, and what is known of the log afterwards.

Not private: see :mod:`headcount.reports.comparison`, which says so on everything that comes of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from headcount.budget import Amount, amount
from headcount.counts import FAMILY
from headcount.engines.engine import Progress, silent
from headcount.engines.local import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.family import needed_by
from headcount.lab.comparing.grid import DEFAULT_SEED, TrialGrid, run_grid
from headcount.lab.comparing.measures import USUAL
from headcount.lab.comparing.metrics import sanity_bound
from headcount.lab.comparing.trials import Trial, Truth
from headcount.reports.comparison import Facts

LIMITS = (1, 3, 10, 30, 100)
EPSILONS = ("0.1", "0.5", "1", "2")
RUNS = 20

MARK: dict[str, Any] = {
    "private": False,
    "warning": "measured against the true counts of the log: not for publication, and never part of a release",
}
"""What every file of a comparison carries."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Which methods are compared, at which ε and limits, and how often.

    >>> Comparison(methods=("sra", "dpsense"), epsilons=("1",), limits=(1, 3), runs=2).trials("log")[1].parameters
    (('limit', 1),)
    """

    methods: Sequence[str] = tuple(FAMILY.kinds())
    epsilons: Sequence[Amount] = EPSILONS
    limits: Sequence[int] = LIMITS
    runs: int = RUNS
    seed: int = DEFAULT_SEED

    def __post_init__(self) -> None:
        for name in self.methods:
            FAMILY.kind(name)
        for epsilon in self.epsilons:
            amount(epsilon)
        for what in ("methods", "epsilons", "limits"):
            given = [str(each) for each in getattr(self, what)]
            if not given or len(set(given)) < len(given):
                raise UsageError(f"{what} must be a list without repetitions", given=",".join(given))

    def trials(self, dataset: str) -> list[Trial]:
        """Return the trials: a method that needs a limit at every limit, others as they come."""
        return [
            Trial.of(dataset, method, epsilon=f"{amount(epsilon):f}", run=run, **parameters)
            for method in self.methods
            for parameters in self._parameters(method)
            for epsilon in self.epsilons
            for run in range(self.runs)
        ]

    def _parameters(self, method: str) -> list[dict[str, Any]]:
        return [{"limit": limit} for limit in self.limits] if needs_limit(method) else [{}]


def needs_limit(method: str) -> bool:
    """Say whether a method needs a limit: adaptive and DPSense choose their own.

    >>> needs_limit("sra"), needs_limit("adaptive"), needs_limit("dpsense")
    (True, False, False)
    """
    return "limit" in needed_by(FAMILY.kind(method))


def compare(
    log: EventLog,
    comparison: Comparison,
    parts: Path,
    *,
    name: str = "log",
    processes: int | None = None,
    progress: Progress = silent,
) -> tuple[pa.Table, Facts]:
    """Run a comparison, and return its tidy table and what a report says of the log."""
    refuse(log)
    trials = comparison.trials(name)
    grid = TrialGrid(logs={name: log}, trials=trials, measures=USUAL, seed=comparison.seed)
    table = run_grid(grid, parts, processes=processes, progress=progress)
    truth = Truth.of(log, LocalEngine(progress=progress))
    facts = Facts(
        name=name,
        people=truth.users,
        records=int(truth.records),
        counted=truth.described,
        items=truth.items.size,
        contexts=0 if log.context is None else log.context.size,
        runs=comparison.runs,
        seed=comparison.seed,
        bound=sanity_bound(truth.users),
    )
    return table, facts


def refuse(log: EventLog) -> None:
    """Refuse logs that no count method is compared on, before anything is read."""
    if log.selects:
        raise UsageError(
            "methods are compared over a catalogue, and --select-items has none before it spends",
            remedy="list the items with --items FILE",
        )
    if log.roles.value is not None:
        raise UsageError("--value is of no use here", remedy="leave it out: methods are compared by their counts")
