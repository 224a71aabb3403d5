"""Engines that record the kinds of bounds they measure, or that lack one kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import pytest

from headcount.bounds import NO_SECRET, Bound, Measured_co
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.methods.method import Method
from headcount.methods.partition_selection.plan import Selection
from headcount.methods.request import ChargedRequest
from headcount.run.curator import Curator

Kind = type[Bound[Any]]


@dataclass
class Asking:
    """An engine, and the kinds of bounds that it was asked to measure."""

    engine: Engine = field(default_factory=LocalEngine)
    kinds: set[Kind] = field(default_factory=set)

    def can(self, kind: Kind) -> bool:
        """Say what the engine says."""
        return self.engine.can(kind)

    def measure(self, log: EventLog, bound: Bound[Measured_co], secret: bytes) -> Measured_co:
        """Remember the kind, and measure."""
        self.kinds.add(type(bound))
        assert not bound.draws or secret != NO_SECRET, f"{bound} draws with a secret that everybody knows"
        return self.engine.measure(log, bound, secret)

    def check_declared(self, method: Method, *, selecting: bool = False) -> None:
        """See that nothing was asked for but what the method declares, and the selection if there is one."""
        declared = (*method.bounds, *(Selection.bounds if selecting else ()))
        requested = sorted(kind.__name__ for kind in self.kinds.difference(declared))
        assert not requested, f"{method.name} asks for {', '.join(requested)}, which it does not declare"


@dataclass(frozen=True)
class Lacking:
    """The local engine, without one kind of bounds; it must not be asked to measure anything."""

    kind: Kind

    def can(self, kind: Kind) -> bool:
        """Say no of that kind."""
        return kind is not self.kind

    def measure(self, log: EventLog, bound: Bound[Measured_co], secret: bytes) -> Measured_co:
        """Refuse to be asked."""
        raise AssertionError("an engine that cannot is asked")


def check_engine_validates_before_reading(request: ChargedRequest, log: EventLog) -> None:
    """An engine that lacks what is needed is refused before a ledger is asked for anything."""
    selections = request.selections(log)
    selecting = Selection.bounds if selections else ()
    for kind in (*request.build(selecting=bool(selections)).bounds, *selecting):
        charging = mock.Mock()
        with pytest.raises(UsageError, match=f"cannot measure {kind.__name__}, which"):
            Curator(engine=Lacking(kind), charging=charging).prepare(request, log)
        assert not charging.mock_calls
