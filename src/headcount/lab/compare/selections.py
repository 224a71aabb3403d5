"""Comparison of private item selection: how many items a part of ε selects, and their share of records.

Only items that somebody has can be selected, so there are no false ones to count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from headcount.accounting.budget import Amount, amount, probability
from headcount.accounting.guarantee import format_delta
from headcount.errors import UsageError, param
from headcount.events.log import EventLog
from headcount.lab.compare.study import Study, refuse_values
from headcount.lab.compare.trials import Bench, Measure, Number, Trial
from headcount.methods.counts.request import ReleaseRequest
from headcount.methods.request import request_of

SHARES = ("0.2", "0.5")
DELTAS = ("1e-6",)
METHOD = "selection"
"""What the column ``method`` says, and the table that numbers are of."""


@dataclass(frozen=True, kw_only=True)
class SelectionComparison(Study):
    """Which shares of ε, which δ and which limits are compared by the items that they select.

    Beside the limits, everything is selected without one, as ``--select-items`` does by itself.

    >>> study = SelectionComparison(epsilons=("1",), limits=(3,), shares=("0.5",), runs=1)
    >>> [(trial.label, trial.limit) for trial in study.trials("log", EventLog.of([], items=None))]
    [('0.5 of ε', None), ('0.5 of ε, limited', 3)]
    """

    what: ClassVar[str] = "selection"
    lists: ClassVar[tuple[str, ...]] = (*Study.lists, "shares", "deltas")

    shares: Sequence[Amount] = SHARES
    deltas: Sequence[Amount] = DELTAS

    def __post_init__(self) -> None:
        super().__post_init__()
        for share in self.shares:
            if amount(share, "a share of selection") >= 1:
                raise UsageError(
                    "a share of selection must lie between 0 and 1", given=str(share), remedy="for example 0.2"
                )
        for delta in self.deltas:
            probability(delta)

    def compared(self, log: EventLog) -> EventLog:
        """Refuse a log with a catalogue: nothing would be selected."""
        if not log.selects:
            raise UsageError(
                "nothing is selected where the items are listed",
                remedy=f"leave {param.items} out, or take the raw events",
            )
        return refuse_values(log)

    def settings(self, dataset: str, log: EventLog) -> Iterator[Trial]:  # noqa: ARG002 - as all studies
        """Return every share, δ and limit at every ε."""
        for share in (f"{amount(value):f}" for value in self.shares):
            for delta in (format_delta(probability(value).normalize()) for value in self.deltas):
                named = f"{share} of ε" + (f", δ {delta}" if len(self.deltas) > 1 else "")
                for limit in (None, *self.limits):
                    label = named if limit is None else f"{named}, limited"
                    for epsilon in self.exact_epsilons():
                        parameters: dict[str, Any] = {"share": share} | ({} if limit is None else {"limit": limit})
                        function = f"{__name__}:{selected.__name__}"
                        yield Trial.for_dataset(
                            dataset,
                            METHOD,
                            epsilon=epsilon,
                            delta=delta,
                            label=label,
                            function=function,
                            **parameters,
                        )

    @property
    def measures(self) -> Mapping[str, Measure]:
        """None: a selection is no release."""
        return {}


def selected(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Select items as a release does first of all, and measure how many there are, and what they cover."""
    parameters = dict(trial.parameters)
    request = request_of(
        ReleaseRequest,
        epsilon=trial.epsilon,
        delta=trial.delta,
        select_limit=parameters.get("limit"),
        shares={METHOD: parameters["share"]},
    )
    (selection,) = request.selections(bench.log)
    grant, _ = selection.split(request.grant())
    selected_log, _ = selection.select(bench.log, grant, bench.noise(trial), bench.engine)
    truth, items = bench.truth, set(selected_log.catalogue.ids)
    covered = truth.items[np.fromiter((item in items for item in truth.log.catalogue.ids), dtype=np.bool_)].sum()
    total = truth.items.sum()
    yield Number(metric="selected", table=METHOD, value=float(len(items)))
    yield Number(metric="covered", table=METHOD, value=float(covered / total) if total else float("nan"))
