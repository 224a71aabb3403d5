"""The curator: the only place where data, method and budget meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headcount.budget import Grant
from headcount.charging import Charging, Outlook, begin_reading, charged, withheld
from headcount.engines.engine import Engine
from headcount.engines.local import LocalEngine
from headcount.errors import GrantError, NotSelectedError, RefusedError
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee
from headcount.method import check_engine
from headcount.noise import NoiseSource, OperatingSystemNoise
from headcount.noise_law import Law
from headcount.releases import Release
from headcount.request import Spending
from headcount.selection import STAND_INS, Selection, empty_release, stand_in, told


@dataclass(frozen=True)
class Plan:
    """What a request will promise and cost, and how noisy each table will be: known without reading events."""

    guarantee: Guarantee
    cells: Mapping[str, int | None]
    noise: Mapping[str, Law]
    selection: Mapping[str, Any] | None = None
    ledger: Outlook | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain data; a half-width holds before items and edges are reconciled."""
        noise = {
            table: {**law.to_json(), "deviation": law.variance**0.5, "half_width_95": law.half_width(0.95)}
            for table, law in self.noise.items()
        }
        promise = self.guarantee.to_json()
        price = {"epsilon": promise["epsilon"], "delta": promise["delta"]}
        cells, ledger = dict(self.cells), None if self.ledger is None else self.ledger.to_json()
        plan = {"guarantee": promise, "price": price, "cells": cells, "noise": noise, "ledger": ledger}
        return plan if self.selection is None else plan | {"selection": dict(self.selection)}


@dataclass
class Curator:
    """Runs requests over logs, with real randomness alone; with ``charging``, none that the ledger does not grant.

    The order is always the same: everything is validated, the cost is reserved, then events are read, then the
    release is written and noted as published. A crash anywhere leaves the cost spent.

    >>> from headcount.request import ReleaseRequest
    >>> log = EventLog.of([("ann", "tea"), ("bob", "tea")], items=["rye", "tea"])
    >>> Curator().run(ReleaseRequest(epsilon="1", method="sra", limit=1), log).guarantee.short()
    'ε = 1, proven, per person'
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

    def plan(self, request: Spending, log: EventLog) -> Plan:
        """Validate everything that can be validated without reading an event, and say what would happen."""
        plan = self._plan(request, log)
        if self.charging is None:
            return plan
        return replace(plan, ledger=self.charging.outlook(request, log, plan.guarantee))

    def _plan(self, request: Spending, log: EventLog) -> Plan:
        selection, grant = request.selection(log), request.grant()
        method = request.build(selecting=selection is not None)
        check_engine(method, self.engine)
        if selection is None:
            return Plan(method.guarantee(grant), request.cells(log), method.laws(log, grant))
        first, rest = selection.split(grant)
        promised = selection.promised(method.guarantee(rest), log, grant)
        cells = dict.fromkeys(request.columns(log))
        try:
            laws = method.laws(log, rest)
        except NotSelectedError:
            # what the noise will be hangs on the number of items: refuse what could be drawn for none
            request.build_for(STAND_INS).laws(stand_in(log), rest)
            laws = {}
        return Plan(promised, cells, laws, selection.plan(first))

    def run(self, request: Spending, log: EventLog) -> Release:
        """Release what is asked for; the grant must be spent exactly.

        With a ledger, what was published for the same request before is returned, at no cost.
        """
        plan = self._plan(request, log)
        if self.charging is None:
            return self._run(request, log)
        made = self.charging.reserve(request, log, plan.guarantee)
        if isinstance(made, Release):
            return made
        begin_reading(made, log)
        return charged(withheld(lambda: self._run(request, log)), made, self.charging)

    def _run(self, request: Spending, log: EventLog) -> Release:
        grant, selection = request.grant(), request.selection(log)
        if selection is None:
            release = request.build().release(log, grant, self.noise, self.engine)
        else:
            release = self._select(request, log, selection, grant)
        if not grant.is_spent:
            raise GrantError(f"method {release.method} left a part of its grant unspent")
        asked = request.model_dump(mode="json", exclude_defaults=True)
        return replace(release, request={"events": log.describe(), request.command: asked})

    def _select(self, request: Spending, log: EventLog, selection: Selection, grant: Grant) -> Release:
        """Select the items, and release what is asked for with what is left of the grant."""
        first, rest = selection.split(grant)
        found, selected = selection.select(log, first, self.noise, self.engine)
        items = len(found.catalogue.ids)
        if items:
            release = request.build_for(items).release(found, rest, self.noise, self.engine)
        else:
            method = request.build(selecting=True)
            release = empty_release(method, found, rest, self.noise, request.columns(log))
        return told(replace(release, guarantee=selection.promised(release.guarantee, log, grant)), selected)
