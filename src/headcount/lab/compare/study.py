"""The base class of comparisons: settings to try on one log, number of runs, and measures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from headcount.accounting.budget import Amount, amount
from headcount.errors import UsageError, param
from headcount.events.log import EventLog
from headcount.lab.compare.trial_grid import DEFAULT_SEED
from headcount.lab.compare.trials import Measure, Trial
from headcount.methods.counts import FAMILY
from headcount.methods.family import needed_by

LIMITS = (1, 3, 10, 30, 100)
EPSILONS = ("0.1", "0.5", "1", "2")
RUNS = 20


@dataclass(frozen=True, kw_only=True)
class Study(ABC):
    """What is tried: ε and limits of any comparison, and how often each setting is run."""

    what: ClassVar[str]
    """What is compared, as the command line calls it."""
    lists: ClassVar[tuple[str, ...]] = ("epsilons", "limits")
    """Which of its fields are lists of what to try."""

    epsilons: Sequence[Amount] = EPSILONS
    limits: Sequence[int] = LIMITS
    runs: int = RUNS
    seed: int = DEFAULT_SEED

    def __post_init__(self) -> None:
        for epsilon in self.epsilons:
            amount(epsilon)
        for name in self.lists:
            given = [str(value) for value in getattr(self, name)]
            if not given or len(set(given)) < len(given):
                raise UsageError(f"{name} must be a list without repetitions", given=",".join(given))

    @abstractmethod
    def compared(self, log: EventLog) -> EventLog:
        """Return the log as it is compared; refuse one that cannot be, before anything is read."""

    @abstractmethod
    def settings(self, dataset: str, log: EventLog) -> Iterator[Trial]:
        """Return the first trial of each setting."""

    @property
    @abstractmethod
    def measures(self) -> Mapping[str, Measure]:
        """What is measured of a release."""

    def trials(self, dataset: str, log: EventLog) -> list[Trial]:
        """Return all trials: every setting as often as it is run."""
        return [replace(trial, run=run) for trial in self.settings(dataset, log) for run in range(self.runs)]

    def exact_epsilons(self) -> list[str]:
        """Return every ε as plain text: noise hangs on it."""
        return [f"{amount(epsilon):f}" for epsilon in self.epsilons]


@dataclass(frozen=True, kw_only=True)
class CountStudy(Study):
    """A study of methods that release counts: one that needs a limit runs at every limit, others as they come."""

    lists: ClassVar[tuple[str, ...]] = ("methods", *Study.lists)

    methods: Sequence[str] = tuple(FAMILY.kinds())

    def __post_init__(self) -> None:
        for name in self.methods:
            FAMILY.kind(name)
        super().__post_init__()

    def parameters(self, method: str) -> list[dict[str, Any]]:
        """Return the parameters that a method is run with."""
        return [{"limit": limit} for limit in self.limits] if needs_limit(method) else [{}]

    def compared(self, log: EventLog) -> EventLog:
        """Refuse a log without a catalogue, and values."""
        if log.selects:
            raise UsageError(
                f"methods are compared over a catalogue, and {param.select_items(True)} has none before it spends",
                remedy=f"list the items with {param.items('FILE')}, or compare {param.what('selection')}",
            )
        return refuse_values(log)


def refuse_values(log: EventLog) -> EventLog:
    """Refuse a value column, which no comparison has a use for, and contexts that nobody lists."""
    if log.selects_contexts:
        raise UsageError(
            f"comparisons are over listed contexts, and {param.select_contexts(True)} has none before it spends",
            remedy=f"list them with {param.contexts}, or leave {param.context} out",
        )
    if log.roles.value is not None:
        raise UsageError(
            f"{param.value} is of no use here", remedy="leave it out: methods are compared by their counts"
        )
    return log


def needs_limit(method: str) -> bool:
    """Say whether a method needs a limit: adaptive and DPSense choose their own.

    >>> needs_limit("sra"), needs_limit("adaptive"), needs_limit("dpsense")
    (True, False, False)
    """
    return "limit" in needed_by(FAMILY.kind(method))
