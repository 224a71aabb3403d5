"""Requests, planned and run by a curator."""

from __future__ import annotations

from typing import Any

from headcount.events.log import EventLog
from headcount.methods.request import Spending
from headcount.releases.release import Release
from headcount.run.curator import Curator, Plan


def planned(request: Spending, log: EventLog, **curator: Any) -> Plan:
    """Return what a curator says of a request beforehand."""
    made = Curator(**curator)
    return made.plan(made.prepare(request, log))


def ran(request: Spending, log: EventLog, **curator: Any) -> Release:
    """Return what a curator releases."""
    made = Curator(**curator)
    return made.run(made.prepare(request, log))
