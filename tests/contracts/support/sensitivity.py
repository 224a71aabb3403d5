"""Check of the sensitivity: one user stays within it and affects no other user's records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis.strategies import SearchStrategy

from headcount.bounds import Bound, Bounded
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from tests.reference.engine import ReferenceEngine
from tests.support.small_logs import Case, cases, secrets


def check_reach(
    bound: Bound[Bounded],
    engines: Sequence[Engine] = (ReferenceEngine(), LocalEngine()),
    logs: SearchStrategy[Case] | None = None,
) -> None:
    """Take every person of many small logs away, one at a time; both engines must say the same of each log."""

    @given(cases() if logs is None else logs, secrets)
    def exhaustive(case: Case, secret: bytes) -> None:
        whole = _measured(case, bound, engines, secret)
        reach = whole.sensitivity
        for user in case.everyone:
            rest, own = (_measured(part, bound, engines, secret) for part in (case.without(user), case.only(user)))
            step = whole.sensitive_values - rest.sensitive_values
            assert np.array_equal(step, own.sensitive_values), "what others add changed"
            assert np.abs(step).sum() <= reach.l1, "L1"
            assert (step**2).sum() <= reach.l2_squared, "L2"
            assert np.abs(step).max(initial=0) <= reach.linf, "L∞"
            assert rest.sensitivity == reach, "the sensitivity hangs on the log"

    exhaustive()


def _measured(case: Case, bound: Bound[Bounded], engines: Sequence[Engine], secret: bytes) -> Bounded:
    first, *others = (engine.measure(case.log(), bound, secret) for engine in engines)
    for other in others:
        assert np.array_equal(first.sensitive_values, other.sensitive_values), "engines differ"
        assert first.sensitivity == other.sensitivity, "engines declare different sensitivities"
    return first
