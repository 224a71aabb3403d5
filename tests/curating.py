"""Requests, planned and run by a curator."""

from __future__ import annotations

from typing import Any

from headcount.curator import Curator, Plan
from headcount.events.log import EventLog
from headcount.releases import Release
from headcount.request import Spending


def planned(request: Spending, log: EventLog, **curator: Any) -> Plan:
    """Return what a curator says of a request beforehand."""
    made = Curator(**curator)
    return made.plan(made.prepare(request, log))


def ran(request: Spending, log: EventLog, **curator: Any) -> Release:
    """Return what a curator releases."""
    made = Curator(**curator)
    return made.run(made.prepare(request, log))
