"""The curator runs a prepared request: the only place where data, method and budget meet."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headcount.accounting.budget import Grant
from headcount.accounting.guarantee import Guarantee
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import GrantError, RefusedError, UsageError, param
from headcount.events.log import EventLog
from headcount.methods.method import check_engine
from headcount.methods.request import ChargedRequest
from headcount.noise import NoiseSource, OperatingSystemNoise
from headcount.releases.release import Release, moment
from headcount.run.prepare import Prepared, prepare_request
from headcount.run.withhold import withhold_errors

if TYPE_CHECKING:
    from headcount.ledger import Ledger
    from headcount.run.charge import ChargePreview, Charging

LEDGER_VARIABLE = "HEADCOUNT_LEDGER"


def charging_of(
    ledger: Ledger | str | None, *, dataset: str | None, analyst: str | None, again: bool
) -> Charging | None:
    """Read where requests are charged; without a ledger, given or in the environment, nothing is charged.

    >>> charging_of(None, dataset=None, analyst=None, again=False) is None
    True
    >>> charging_of(None, dataset="visits", analyst=None, again=False)
    Traceback (most recent call last):
    headcount.errors.UsageError: --dataset is given without a ledger; name one with --ledger or HEADCOUNT_LEDGER
    """
    if isinstance(ledger, str) and not ledger:
        raise UsageError(f"{param.ledger} must be a URL", remedy="such as sqlite:///headcount.db")
    place = os.environ.get(LEDGER_VARIABLE) if ledger is None else ledger
    if place:
        from headcount.run.charge import Charging  # the ledger is loaded only where one is charged

        return Charging.open(place, dataset, analyst, again=again)
    for parameter, given in (
        (param.dataset, dataset),
        (param.analyst, analyst),
        (param.again(True), again or None),
    ):
        if given is not None:
            raise UsageError(
                f"{parameter} is given without a ledger",
                remedy=f"name one with {param.ledger} or {LEDGER_VARIABLE}",
            )
    return None


@dataclass(frozen=True)
class Plan:
    """What a request will promise and cost, and how noisy each table will be: known without reading events."""

    guarantee: Guarantee
    cells: Mapping[str, int | None]
    noise: Mapping[str, NoiseDistribution]
    selections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """How that will be selected which has no public list."""
    ledger: ChargePreview | None = None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain data; a half-width holds before items and edges are reconciled."""
        noise = {
            table: {
                **distribution.to_json(),
                "deviation": distribution.variance**0.5,
                "half_width_95": distribution.half_width(0.95),
            }
            for table, distribution in self.noise.items()
        }
        guarantee = self.guarantee.to_json()
        cost = {"epsilon": guarantee["epsilon"], "delta": guarantee["delta"]}
        cells, ledger = dict(self.cells), None if self.ledger is None else self.ledger.to_json()
        plan: dict[str, Any] = {
            "guarantee": guarantee,
            "price": cost,
            "cells": cells,
            "noise": noise,
            "ledger": ledger,
        }
        if self.notes:
            plan["notes"] = list(self.notes)
        return plan | {stage: dict(how) for stage, how in self.selections.items()}


@dataclass
class Curator:
    """Runs requests over logs, with real randomness alone; with ``charging``, none that the ledger does not grant.

    The order is always the same: everything is validated, the cost is reserved, then events are read, then the
    release is written and noted as published. A crash anywhere leaves the cost spent.

    >>> from headcount.methods.counts.request import ReleaseRequest
    >>> log, curator = EventLog.of([("ann", "tea"), ("bob", "tea")], items=["rye", "tea"]), Curator()
    >>> ready = curator.prepare(ReleaseRequest(epsilon="1", method="sra", limit=1), log)
    >>> curator.plan(ready).cells, curator.run(ready).guarantee.short()
    ({'items': 2}, 'ε = 1, privacy: proven, per person')
    """

    engine: Engine = field(default_factory=LocalEngine)
    noise: NoiseSource = field(default_factory=OperatingSystemNoise)
    charging: Charging | None = None

    def __post_init__(self) -> None:
        if not self.noise.is_private:
            raise RefusedError(
                "a seeded noise source protects nobody",
                remedy="seeds are for tests; call the method itself there",
            )

    def prepare(self, request: ChargedRequest, log: EventLog) -> Prepared:
        """Validate everything that can be validated without reading an event, and build the method once."""
        ready = prepare_request(request, log)
        check_engine(ready.method.name, ready.method.bounds, self.engine, log)
        for selection in ready.selections:
            check_engine(selection.of.flag, selection.bounds, self.engine, log)
        return ready

    def plan(self, ready: Prepared) -> Plan:
        """Say what would happen; with a ledger, what it would cost there, and what is left."""
        preview = None if self.charging is None else self.charging.preview_charge(ready)
        guarantee = ready.guarantee if preview is None else ready.guarantee.within(preview.account.budget.windows)
        return Plan(guarantee, ready.cells, ready.noise_distributions, ready.selecting, preview, ready.notes)

    def run(self, ready: Prepared) -> Release:
        """Release what is asked for; the grant must be spent exactly.

        With a ledger, what was published for the same request before is returned, at no cost.
        """
        if self.charging is None:
            return self._run(ready)
        from headcount.run.charge import begin_reading, record_charge

        outcome = self.charging.reserve(ready)
        if isinstance(outcome, Release):
            return outcome
        begin_reading(outcome, ready.log)
        begun = moment()  # a release is dated by it: its end would tell how long the data took
        release = replace(withhold_errors(lambda: self._run(ready)), created=begun)
        return record_charge(release, outcome, self.charging, ready.final_charge(release))

    def _run(self, ready: Prepared) -> Release:
        grant, request = ready.request.grant(), ready.request
        if ready.selections:
            release = self._select(ready, grant)
        else:
            release = ready.method.release(ready.log, grant, self.noise, self.engine)
        if not grant.is_spent:
            raise GrantError(f"method {release.method} left a part of its grant unspent")
        request_data = request.model_dump(mode="json", exclude_defaults=True)
        description = {"events": ready.log.requested(), request.command: request_data}
        return replace(release, guarantee=ready.guarantee, request=description)

    def _select(self, ready: Prepared, grant: Grant) -> Release:
        """Select what has no public list, and release what is asked for with what is left of the grant."""
        from headcount.methods.partition_selection.plan import find_empty_selection, select_all, split_among
        from headcount.methods.partition_selection.release import add_selection_steps, advice, empty_release

        parts, rest = split_among(ready.selections, grant)
        log, selected = select_all(ready.selections, ready.log, parts, self.noise, self.engine)
        nothing = find_empty_selection(selected)
        if nothing is None:
            release = ready.for_selected(log).release(log, rest, self.noise, self.engine)
        else:
            why = advice(nothing, selected[nothing.stage])
            release = empty_release(ready.method, log, rest, self.noise, ready.columns, why)
        return add_selection_steps(release, selected)
