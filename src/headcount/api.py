"""The Python functions, with the same words as the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ValidationError

from headcount.budget import Amount
from headcount.curator import Curator
from headcount.engines.local import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.releases import Release
from headcount.request import ReleaseRequest


def release(
    log: EventLog,
    *,
    epsilon: Amount,
    method: str | None = None,
    limit: int | None = None,
    what: Literal["items", "edges", "both"] | None = None,
    shares: Mapping[str, Amount] | None = None,
    research: bool = False,
    ledger: None = None,
    **options: Any,
) -> Release:
    """Release item counts, item-by-context counts or both, under user-level differential privacy.

    >>> log = EventLog.of([("ann", "tea"), ("bob", "tea")], items=["rye", "tea"])
    >>> release(log, epsilon="1", method="sra", limit=1).items.column_names
    ['item', 'label', 'count', 'low', 'high']
    """
    if not isinstance(log, EventLog):
        raise UsageError(
            f"log must be an EventLog, not {type(log).__name__}", remedy="make one with headcount.read_events"
        )
    if ledger is not None:
        raise UsageError("this version keeps no ledger", given=ledger, remedy="leave ledger out, or None")
    request = request_of(
        epsilon=epsilon,
        method=method,
        limit=limit,
        what=what,
        shares=shares,
        options=options,
        research=research,
    )
    return Curator(engine=LocalEngine()).run(request, log)


def request_of(**fields: Any) -> ReleaseRequest:
    """Make a request, turning what is wrong with it into one clear sentence."""
    try:
        return ReleaseRequest(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{name}: {first['msg'].lower()}", given=first.get("input")) from error
