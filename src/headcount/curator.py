"""The curator: the only place where data, method and budget meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headcount.budget import Grant
from headcount.charging import Charging, Outlook, begin_reading, charged, cost_in_the_end, withheld
from headcount.engines.engine import Engine
from headcount.engines.local import LocalEngine
from headcount.errors import GrantError, RefusedError
from headcount.events.log import EventLog
from headcount.events.readers import assumptions_of
from headcount.guarantee import Guarantee
from headcount.method import check_engine
from headcount.noise import NoiseSource, OperatingSystemNoise
from headcount.noise_law import Law
from headcount.prepared import Prepared, prepared
from headcount.releases import Release
from headcount.request import Spending
from headcount.selection import Selection, empty_release, told


@dataclass(frozen=True)
class Plan:
    """What a request will promise and cost, and how noisy each table will be: known without reading events."""

    guarantee: Guarantee
    cells: Mapping[str, int | None]
    noise: Mapping[str, Law]
    selection: Mapping[str, Any] | None = None
    ledger: Outlook | None = None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain data; a half-width holds before items and edges are reconciled."""
        noise = {
            table: {**law.to_json(), "deviation": law.variance**0.5, "half_width_95": law.half_width(0.95)}
            for table, law in self.noise.items()
        }
        promise = self.guarantee.to_json()
        price = {"epsilon": promise["epsilon"], "delta": promise["delta"]}
        cells, ledger = dict(self.cells), None if self.ledger is None else self.ledger.to_json()
        plan: dict[str, Any] = {
            "guarantee": promise,
            "price": price,
            "cells": cells,
            "noise": noise,
            "ledger": ledger,
        }
        if self.notes:
            plan["notes"] = list(self.notes)
        return plan if self.selection is None else plan | {"selection": dict(self.selection)}


@dataclass
class Curator:
    """Runs requests over logs, with real randomness alone; with ``charging``, none that the ledger does not grant.

    The order is always the same: everything is validated, the cost is reserved, then events are read, then the
    release is written and noted as published. A crash anywhere leaves the cost spent.

    >>> from headcount.counts.request import ReleaseRequest
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

    def prepare(self, request: Spending, log: EventLog) -> Prepared:
        """Validate everything that can be validated without reading an event, and build the method once."""
        ready = prepared(request, log)
        check_engine(ready.method.name, ready.method.bounds, self.engine, log)
        if ready.selection is not None:
            check_engine("--select-items", ready.selection.bounds, self.engine, log)
        return ready

    def plan(self, ready: Prepared) -> Plan:
        """Say what would happen; with a ledger, what it would cost there, and what is left."""
        outlook = None if self.charging is None else self.charging.outlook(ready)
        promised = ready.guarantee if outlook is None else ready.guarantee.within(outlook.account.budget.windows)
        return Plan(promised, ready.cells, ready.laws, ready.selecting, outlook, ready.notes)

    def run(self, ready: Prepared) -> Release:
        """Release what is asked for; the grant must be spent exactly.

        With a ledger, what was published for the same request before is returned, at no cost.
        """
        if self.charging is None:
            return self._run(ready)
        made = self.charging.reserve(ready)
        if isinstance(made, Release):
            return made
        begin_reading(made, ready.log)
        release = withheld(lambda: self._run(ready))
        return charged(release, made, self.charging, cost_in_the_end(ready, release))

    def _run(self, ready: Prepared) -> Release:
        grant, request = ready.request.grant(), ready.request
        if ready.selection is None:
            release = ready.method.release(ready.log, grant, self.noise, self.engine)
        else:
            release = self._select(ready, ready.selection, grant)
        if not grant.is_spent:
            raise GrantError(f"method {release.method} left a part of its grant unspent")
        asked = request.model_dump(mode="json", exclude_defaults=True)
        promised = release.guarantee.assuming(*assumptions_of(ready.log.source))
        told_of = {"events": ready.log.requested(), request.command: asked}
        return replace(release, guarantee=promised, request=told_of)

    def _select(self, ready: Prepared, selection: Selection, grant: Grant) -> Release:
        """Select the items, and release what is asked for with what is left of the grant."""
        first, rest = selection.split(grant)
        found, selected = selection.select(ready.log, first, self.noise, self.engine)
        items = len(found.catalogue.ids)
        if items:
            release = ready.request.build_for(items).release(found, rest, self.noise, self.engine)
        else:
            release = empty_release(ready.method, found, rest, self.noise, ready.columns, selected)
        promised = selection.promised(release.guarantee, ready.log, grant)
        return told(replace(release, guarantee=promised), selected)
