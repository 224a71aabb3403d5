"""HPA: popularity by a private estimate, then the records about the most popular items."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from headcount.bounding import BoundedCounts, CountBound, Noisy, Pick, Sample
from headcount.budget import Grant
from headcount.counts.hand_picked import DEFAULT_SHARES, PUBLISHED_SHARES, HandPicked, popularity
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.noise import SeededNoise
from tests.cases import LAW, scale_of
from tests.contracts.method_checks import recorded_spending, town
from tests.contracts.special import Special
from tests.in_parts import InParts

SPECIAL = {"hpa": Special({"stages": ("scores", "items", "edges")})}


class Watching(InParts):
    """The reference engine, remembering what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[CountBound, bytes]] = []

    def count(self, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
        self.asked.append((bound, secret))
        return super().count(log, bound, secret)


def test_two_stages_with_a_fresh_secret_each() -> None:
    engine = Watching()
    HandPicked(limit=3, d=2).release(town(), Grant("1"), SeededNoise(1), engine)
    (sample, first), (pick, second) = engine.asked
    assert sample == Sample(2)
    assert isinstance(pick, Pick)
    assert pick.limit == 3
    assert (pick.scores.values >= 0).all()
    assert first != second


def test_the_scores_cost_their_share() -> None:
    """Noise of scale d / ε₀ on the scores: by default 0.3 of ε, 0.1 as published."""
    for shares, scale in ((DEFAULT_SHARES, Fraction(20, 3)), (PUBLISHED_SHARES, Fraction(20))):
        engine = Watching()
        with recorded_spending() as spent:
            HandPicked(limit=3, d=2, shares=dict(shares)).release(town(), Grant("1"), SeededNoise(1), engine)
        bound = engine.asked[1][0]
        assert isinstance(bound, Pick)
        assert scale_of(bound.scores.law) == scale
        assert [str(each.epsilon) for each in spent] == list(shares.values())


@pytest.mark.parametrize(("what", "first"), [("items", "0.4615"), ("edges", "0.4615"), ("both", "0.3")])
def test_default_shares_are_renormalised_over_the_stages_that_run(what: str, first: str) -> None:
    with recorded_spending() as spent:
        HandPicked(limit=3, what=what).release(town(), Grant("1"), SeededNoise(1))  # type: ignore[arg-type]
    assert str(spent[0].epsilon).startswith(first)
    assert sum(each.epsilon for each in spent) == 1


def test_popularity_ties_all_that_is_not_popular() -> None:
    scores = popularity(Noisy(np.array([-5, 0, 3, -1, 3]), LAW))
    assert scores.values.tolist() == [0, 0, 3, 0, 3]
    assert Pick(1, scores).ranks is not None
    assert Pick(1, scores).ranks.tolist() == [1, 1, 0, 1, 0]  # type: ignore[union-attr]


def test_popular_items_survive_the_limit() -> None:
    rows = [(f"u{n}", item) for n in range(200) for item in ("tea", f"rare{n % 20}", f"odd{n % 10}")]
    items = ["tea", *(f"rare{n}" for n in range(20)), *(f"odd{n}" for n in range(10))]
    log = EventLog.of(rows, items=items)
    counts = HandPicked(limit=1).release(log, Grant("40"), SeededNoise(1)).items["count"].to_pylist()
    assert counts[0] > 190
    assert max(counts[1:]) < 20


@pytest.mark.parametrize("d", [0, -1, 1.5, True])
def test_d_is_a_positive_whole_number(d: int) -> None:
    with pytest.raises(UsageError, match="d must be a whole number"):
        HandPicked(limit=1, d=d)
