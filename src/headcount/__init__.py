"""Headcount: publish counts, rankings and models of event logs under user-level differential privacy.

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
    from headcount.accounting.budget import Grant
    from headcount.accounting.guarantee import Guarantee, Standing
    from headcount.api.functions import (
        NeighbourRecommender,
        check,
        fit_neighbours,
        pack,
        query,
        rank,
        release,
        release_tags,
    )
    from headcount.engines.spark.engine import SparkEngine
    from headcount.errors import HeadcountError
    from headcount.events.catalogue import Catalogue
    from headcount.events.contexts import hour, month, weekday
    from headcount.events.log import EventLog, read_events
    from headcount.events.tag_log import read_tags
    from headcount.events.user_table import read_people
    from headcount.lab.api import audit, compare, plan
    from headcount.ledger import Ledger
    from headcount.methods.recommender.recommender import NeighbourModel
    from headcount.releases.release import Release, load
    from headcount.reports.write import export, report
    from headcount.run.query_session import QuerySession
    from headcount.studio.client import Client

_HOMES = {
    "Catalogue": "events.catalogue",
    "Client": "studio.client",
    "EventLog": "events.log",
    "Grant": "accounting.budget",
    "Guarantee": "accounting.guarantee",
    "HeadcountError": "errors",
    "Ledger": "ledger",
    "NeighbourModel": "methods.recommender.recommender",
    "NeighbourRecommender": "api.functions",
    "QuerySession": "run.query_session",
    "Release": "releases.release",
    "SparkEngine": "engines.spark.engine",
    "Standing": "accounting.guarantee",
    "audit": "lab.api",
    "check": "api.functions",
    "compare": "lab.api",
    "export": "reports.write",
    "fit_neighbours": "api.functions",
    "hour": "events.contexts",
    "load": "releases.release",
    "month": "events.contexts",
    "pack": "api.functions",
    "plan": "lab.api",
    "query": "api.functions",
    "rank": "api.functions",
    "read_events": "events.log",
    "read_people": "events.user_table",
    "read_tags": "events.tag_log",
    "release": "api.functions",
    "release_tags": "api.functions",
    "report": "reports.write",
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
        value = importlib.import_module("headcount._internal.python_surface").errors_in_python(value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
