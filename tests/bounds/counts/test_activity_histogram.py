"""Ranges of activity: public, rising, and one place for each person."""

from __future__ import annotations

import pytest

from headcount.bounds import ActivityHistogram
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from tests.reference.engine import ReferenceEngine

LOG = EventLog.of([(f"p{n}", item) for n in range(9) for item in ["tea"] * n + ["rye"]], items=["rye", "tea"])
"""Nine people, with 1 to 9 records."""


@pytest.mark.parametrize("engine", [LocalEngine(), ReferenceEngine()], ids=["local", "reference"])
def test_every_user_is_in_one_range_within_the_bound(engine: LocalEngine | ReferenceEngine) -> None:
    for most, expected in ((20, [1, 3, 5]), (9, [1, 3, 5]), (4, [1, 8, 0])):
        bound = ActivityHistogram("items", most, ends=(1, 4))
        measured = engine.measure(LOG, bound, bytes(16))
        assert measured.sensitive_values.tolist() == expected
        assert (measured.sensitivity.l1, measured.sensitivity.linf) == (1, 1)
        assert bound.places == 3


@pytest.mark.parametrize("ends", [(0, 2), (2, 2), (3, 1)])
def test_ranges_that_do_not_rise_are_refused(ends: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="ends must rise"):
        ActivityHistogram("items", 9, ends=ends)
