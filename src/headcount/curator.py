"""The curator: the only place where data, method and budget meet."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headcount.budget import Grant
from headcount.engines.engine import Engine
from headcount.engines.local import LocalEngine
from headcount.errors import GrantError, NotSelectedError, RefusedError, UsageError
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee
from headcount.noise import NoiseSource, OperatingSystemNoise
from headcount.noise_law import Law
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

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain data; a half-width holds before items and edges are reconciled."""
        noise = {
            table: {**law.to_json(), "deviation": law.variance**0.5, "half_width_95": law.half_width(0.95)}
            for table, law in self.noise.items()
        }
        promise = self.guarantee.to_json()
        price = {"epsilon": promise["epsilon"], "delta": promise["delta"]}
        cells = dict(self.cells)
        plan = {"guarantee": promise, "price": price, "cells": cells, "noise": noise, "ledger": None}
        return plan if self.selection is None else plan | {"selection": dict(self.selection)}


@dataclass
class Curator:
    """Runs requests over logs, with real randomness alone.

    >>> from headcount.request import ReleaseRequest
    >>> log = EventLog.of([("ann", "tea"), ("bob", "tea")], items=["rye", "tea"])
    >>> Curator().run(ReleaseRequest(epsilon="1", method="sra", limit=1), log).guarantee.short()
    'ε = 1, proven, per person'
    """

    engine: Engine = field(default_factory=LocalEngine)
    noise: NoiseSource = field(default_factory=OperatingSystemNoise)

    def __post_init__(self) -> None:
        if not self.noise.is_private:
            raise RefusedError(
                "a seeded noise source protects nobody",
                remedy="seeds are for tests; call the method itself there",
            )

    def plan(self, request: Spending, log: EventLog) -> Plan:
        """Validate everything that can be validated without reading an event, and say what would happen."""
        refuse_ledger()
        selection, grant = request.selection(log), request.grant()
        if selection is None:
            method = request.build()
            return Plan(method.guarantee(grant), request.cells(log), method.laws(log, grant))
        method, (first, rest) = request.build(selecting=True), selection.split(grant)
        promised = selection.promised(method.guarantee(rest), log, grant)
        cells = dict.fromkeys(request.columns(log))
        try:
            laws = method.laws(log, rest)
        except NotSelectedError:  # what the noise will be hangs on the number of items
            laws = {}
        return Plan(promised, cells, laws, selection.plan(first))

    def run(self, request: Spending, log: EventLog) -> Release:
        """Release what is asked for; the grant must be spent exactly."""
        self.plan(request, log)
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


def refuse_ledger() -> None:
    """Refuse to spend where the surroundings say that spending is to be charged."""
    if os.environ.get("HEADCOUNT_LEDGER"):
        raise UsageError(
            "HEADCOUNT_LEDGER is set, but this version keeps no ledger",
            remedy="unset it, and keep the account of what is spent yourself",
        )
