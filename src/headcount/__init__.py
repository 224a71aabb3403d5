"""Headcount: publish what the crowd does, never what one person did.

Item counts, item-by-context counts, rankings and recommendations from event logs, under user-level differential
privacy.

>>> import headcount as hc
>>> visits = [("ann", "tea"), ("ann", "rye"), ("bob", "tea")]
>>> log = hc.EventLog.of(visits, items=["rye", "tea"])
>>> release = hc.release(log, epsilon="1", method="sra", limit=2)
>>> release.guarantee.short()
'ε = 1, privacy: proven, per person'
"""

from __future__ import annotations

import importlib
from types import FunctionType
from typing import TYPE_CHECKING, Any

from headcount.version import __version__

if TYPE_CHECKING:
    from headcount.api import check, fit_neighbours, pack, query, rank, release, release_tags
    from headcount.budget import Grant
    from headcount.client import Client
    from headcount.engines.spark.engine import SparkEngine
    from headcount.errors import HeadcountError
    from headcount.estimators import NeighbourRecommender
    from headcount.events.catalogue import Catalogue
    from headcount.events.contexts import hour, month, weekday
    from headcount.events.log import EventLog, read_events
    from headcount.events.people import read_people
    from headcount.events.tagged import read_tags
    from headcount.guarantee import Guarantee, Standing
    from headcount.ledger import Ledger
    from headcount.neighbours.model import NeighbourModel
    from headcount.query_session import QuerySession
    from headcount.releases import Release, load
    from headcount.reports.writing import export, report
    from headcount.workbench.auditing import audit
    from headcount.workbench.comparing import compare
    from headcount.workbench.planning import plan

_HOMES = {
    "Catalogue": "events.catalogue",
    "Client": "client",
    "EventLog": "events.log",
    "Grant": "budget",
    "Guarantee": "guarantee",
    "HeadcountError": "errors",
    "Ledger": "ledger",
    "NeighbourModel": "neighbours.model",
    "NeighbourRecommender": "estimators",
    "QuerySession": "query_session",
    "Release": "releases",
    "SparkEngine": "engines.spark.engine",
    "Standing": "guarantee",
    "audit": "workbench.auditing",
    "check": "api",
    "compare": "workbench.comparing",
    "export": "reports.writing",
    "fit_neighbours": "api",
    "hour": "events.contexts",
    "load": "releases",
    "month": "events.contexts",
    "pack": "api",
    "plan": "workbench.planning",
    "query": "api",
    "rank": "api",
    "read_events": "events.log",
    "read_people": "events.people",
    "read_tags": "events.tagged",
    "release": "api",
    "release_tags": "api",
    "report": "reports.writing",
    "weekday": "events.contexts",
}

__all__ = [
    "Catalogue",
    "Client",
    "EventLog",
    "Grant",
    "Guarantee",
    "HeadcountError",
    "Ledger",
    "NeighbourModel",
    "NeighbourRecommender",
    "QuerySession",
    "Release",
    "SparkEngine",
    "Standing",
    "__version__",
    "audit",
    "check",
    "compare",
    "export",
    "fit_neighbours",
    "hour",
    "load",
    "month",
    "pack",
    "plan",
    "query",
    "rank",
    "read_events",
    "read_people",
    "read_tags",
    "release",
    "release_tags",
    "report",
    "weekday",
]


def __getattr__(name: str) -> Any:
    """Import public names when they are first used, so that ``import headcount`` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'headcount' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"headcount.{_HOMES[name]}"), name)
    if isinstance(value, FunctionType):
        value = importlib.import_module("headcount.spelling").speaking_python(value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
