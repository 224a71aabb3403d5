"""Audits of the private models: mistakes in them are found, and they themselves stand.

An audit of a sound method accuses it with probability below 0.001; the seeds are fixed. The long audit of all
methods, these among them, is in ``test_methods``.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from headcount.bounds import Bound, Measured_co
from headcount.bounds.ratings.rating_covariance import RatingCovariance
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from headcount.lab.audit.audit import audit
from headcount.lab.audit.targets import pairs_for, target


class ForgetsToShorten(LocalEngine):
    """Counts all of a person's pairs, however many there are."""

    def measure(self, log: EventLog, bound: Bound[Measured_co], secret: bytes) -> Measured_co:
        """Count everything, and say that it was bounded."""
        if not isinstance(bound, RatingCovariance):
            return super().measure(log, bound, secret)
        longer = replace(bound, limit=10**5)
        cooccurrences: Any = bound.seal(super().measure(log, longer, secret).sensitive_values.copy())
        measured: Measured_co = cooccurrences
        return measured


@pytest.mark.slow
def test_a_forgotten_contribution_bound_is_detected() -> None:
    pairs = [pair for pair in pairs_for("co-counts", 2) if pair.name == "many items"]
    sound = target("co-counts", 2, Decimal(1))
    broken = audit(replace(sound, engine=ForgetsToShorten), pairs, 400)
    assert broken.violation, broken.sentence()
    result = audit(sound, pairs, 200)
    assert not result.violation, result.sentence()


@pytest.mark.parametrize("name", ["private", pytest.param("visits", marks=pytest.mark.slow)])
def test_a_model_of_ratings_or_visits_stands(name: str) -> None:
    """What a person adds is spread over so many numbers that even a forgotten limit is hard to see.

    That nobody adds more than the limit is checked from inside, without chance, in ``tests/engines`` and
    ``tests/bounding``.
    """
    result = audit(target(name, 2, Decimal(1)), pairs_for(name, 2)[:2], 300)
    assert not result.violation, result.sentence()


@pytest.mark.slow
def test_one_pair_of_items_shows_as_much_as_it_may() -> None:
    """A person's only pair moves one number by all that one person may: 0.9 ε at most."""
    pairs = [pair for pair in pairs_for("co-counts", 2) if pair.name == "two items"]
    result = audit(target("co-counts", 2, Decimal(3)), pairs, 1_000)
    assert not result.violation
    assert result.lower_bound > 0.5 * 0.9 * 3
