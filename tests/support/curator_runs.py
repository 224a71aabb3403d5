"""Helpers that plan and run a request with a curator."""

from __future__ import annotations

from typing import Any

from headcount.events.log import EventLog
from headcount.methods.request import ChargedRequest
from headcount.releases.release import Release
from headcount.run.curator import Curator, Plan


def planned(request: ChargedRequest, log: EventLog, **curator: Any) -> Plan:
    """Return what a curator says of a request beforehand."""
    own_curator = Curator(**curator)
    return own_curator.plan(own_curator.prepare(request, log))


def ran(request: ChargedRequest, log: EventLog, **curator: Any) -> Release:
    """Return what a curator releases."""
    own_curator = Curator(**curator)
    return own_curator.run(own_curator.prepare(request, log))
