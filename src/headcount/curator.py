"""The curator: the only place where data, method and budget meet."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

from headcount.engines.engine import Engine
from headcount.engines.local import LocalEngine
from headcount.errors import GrantError, RefusedError, UsageError
from headcount.events.log import EventLog
from headcount.noise import NoiseSource, OperatingSystemNoise
from headcount.releases import Release
from headcount.request import ReleaseRequest


@dataclass
class Curator:
    """Runs requests over logs, with real randomness alone.

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

    def check(self, request: ReleaseRequest, log: EventLog) -> None:
        """Validate everything that can be validated without reading an event."""
        if os.environ.get("HEADCOUNT_LEDGER"):
            raise UsageError(
                "HEADCOUNT_LEDGER is set, but this version keeps no ledger",
                remedy="unset it, and keep the account of what is spent yourself",
            )
        request.build().check(log)

    def run(self, request: ReleaseRequest, log: EventLog) -> Release:
        """Release what is asked for; the grant must be spent exactly."""
        self.check(request, log)
        grant = request.grant()
        release = request.build().release(log, grant, self.noise, self.engine)
        if not grant.is_spent:
            raise GrantError(f"method {request.method} left a part of its grant unspent")
        asked = request.model_dump(mode="json", exclude_defaults=True)
        return replace(release, request={"events": log.describe(), "release": asked})
