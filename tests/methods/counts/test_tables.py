"""From bounded counts to tables: what is reconciled, what is not, and what is said about it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from headcount.accounting.budget import Grant
from headcount.bounds import SampleRecords
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.methods.counts.hand_picked import HandPicked
from headcount.methods.counts.simple_random import SimpleRandom
from headcount.methods.counts.tables import at_most
from headcount.noise import SeededNoise
from tests.contracts.support.method_checks import town
from tests.reference.engine import ReferenceEngine
from tests.support.small_logs import scale_of


def test_much_epsilon_gives_the_bounded_counts_themselves() -> None:
    """At ε = 1000 the noise is 0: what is released is what was counted, in the catalogue's order."""
    log, noise = town(users=40), SeededNoise(1)
    release = SimpleRandom(limit=2).release(log, Grant("1000"), noise)
    exact = ReferenceEngine().measure(log, SampleRecords(2), SeededNoise(1).key())
    assert np.array_equal(release.items["count"].to_numpy(), exact.items.sensitive_values)
    assert np.array_equal(release.edges["count"].to_numpy(), exact.edges.sensitive_values.ravel())


def test_users_are_not_reconciled() -> None:
    log = replace(town(users=40), counting="users")
    release = SimpleRandom(limit=3).release(log, Grant("1"), SeededNoise(1))
    counts = release.items["count"].to_numpy()
    assert np.array_equal(counts, np.round(counts))
    assert "reconciled" not in release.explain()
    assert release.bounded in release.explain()
    assert "pairs of item and context per person" in release.bounded
    assert release.counts == "users"
    widths = release.items["high"].to_numpy() - counts
    assert set(widths) == {release.noise["items"].half_width(0.95)}


def test_records_are_reconciled_and_the_release_says_so() -> None:
    release = SimpleRandom(limit=3).release(town(users=40), Grant("1"), SeededNoise(1))
    assert "reconciled by weighted least squares" in release.explain()
    assert "ε = 0.5" in release.explain()
    assert "scale 6 " in release.explain()


def test_whole_number_items_stay_whole_numbers() -> None:
    log = EventLog.of([(1, 5), (2, 7)], items=[7, 5, 2**62])
    release = SimpleRandom(limit=1).release(log, Grant("1"), SeededNoise(1))
    assert release.items["item"].to_pylist() == [7, 5, 2**62]


@pytest.mark.parametrize(
    ("limit", "counting", "contexts", "sentence"),
    [
        (1, "records", True, "at most 1 record per person"),
        (1000, "records", False, "at most 1,000 records per person"),
        (1, "users", False, "at most 1 different item per person"),
        (2, "users", False, "at most 2 different items per person"),
        (1, "users", True, "at most 1 different pair of item and context per person"),
        (2, "users", True, "at most 2 different pairs of item and context per person"),
    ],
)
def test_the_contribution_bound_is_described(limit: int, counting: Any, contexts: bool, sentence: str) -> None:
    assert at_most(limit, replace(town(contexts=contexts), counting=counting)) == sentence


def test_planning_leaves_the_grant_alone_and_refuses_what_cannot_be_done() -> None:
    grant = Grant("0.123456789123456789")
    laws = HandPicked(limit=3, what="items").noise_distributions(town(), grant)
    assert list(laws) == ["items"]
    share = Fraction(35, 65)
    assert scale_of(laws["items"]) >= 3 / (grant.exact * share) * (1 - Fraction(1, 10**14))
    assert not grant.is_spent
    with pytest.raises(UsageError, match="more than can be drawn"):
        HandPicked(limit=1000).noise_distributions(town(), Grant("1e-8"))
    with pytest.raises(UsageError, match="more than can be drawn"):
        SimpleRandom(limit=2).noise_distributions(town(), Grant("1e-9"))
    method = SimpleRandom(limit=1).noise_distributions(town(), Grant("1e-9"))
    assert scale_of(method["items"]) < 2**31  # a part may be less than may be asked
