"""Rounds of a selection: thresholds pay for δ, noise for ε, and items of one person alone hardly ever come out."""

from __future__ import annotations

import dataclasses
import math
from unittest import mock

import numpy as np
import pytest
from scipy.stats import binom, norm

import headcount as hc
from headcount.accounting.budget import Cost, Grant
from headcount.accounting.gdp import mu_for
from headcount.bounds.keys.key_weights import KeyWeights
from headcount.engines.local.engine import LocalEngine
from headcount.errors import GrantError, UsageError
from headcount.noise import SeededNoise
from headcount.noise.partition_selection import weighted_rounds
from headcount.noise.partition_selection.weighted_rounds import WeightedSelection, plan_rounds

PRICES = [Cost.of("1", "1e-6"), Cost.of("0.2", "1e-10"), Cost.of("8", "0.01"), Cost.of("0.01", "1e-9")]
AGAIN = np.array([2, 3, 4, 5, 6])


@pytest.mark.parametrize("price", PRICES, ids=str)
def test_the_noise_covers_the_transcript(price: Cost) -> None:
    """In floats, by the formula of the analytic Gaussian mechanism and nothing of ours."""
    mu = math.sqrt(sum(2**32 / (float(sigma) ** 2 - 16) for sigma in plan_rounds(price).sigmas))
    epsilon, delta = float(price.epsilon), 0.7 * float(price.delta)
    exact_delta = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert delta * 0.999 < exact_delta <= delta * (1 + 1e-6)
    assert mu == pytest.approx(float(mu_for(price.epsilon, price.delta * 7 / 10)), rel=1e-6)


@pytest.mark.parametrize("price", PRICES, ids=str)
def test_thresholds_cover_items_of_a_single_user(price: Cost) -> None:
    plan = plan_rounds(price)
    for items, ceiling in plan.ceilings:
        total = 0.0
        for number in range(1, 6):
            again, sigmas = AGAIN[:number], np.array(plan.sigmas[:number], dtype=float)
            beyond = plan.thresholds[number - 1] - again.sum() * (ceiling + 1)
            total += items * norm.sf(beyond / math.sqrt((again**2 * sigmas**2).sum()))
        assert total <= 0.3 * float(price.delta) * (1 + 1e-9), items
        assert ceiling >= min(1, 2 / math.sqrt(items)) * 2**16, "people must be able to give what they have"


def alone(people: int, items: int) -> hc.EventLog:
    """Nobody has an item that anybody else has."""
    return hc.EventLog.of([(n, n * items + m) for n in range(people) for m in range(items)], items=None)


def exposed(people: int, items: int, price: Cost) -> int:
    """Return of how many people an item came out."""
    grant = Grant(price)
    rounds = WeightedSelection(grant, SeededNoise(7))
    assert grant.is_spent
    log, engine = alone(people, items), LocalEngine()
    while rounds.left:
        rounds.take_round(engine.measure(log, rounds.bound, bytes(16)))
    return len({int(item) // items for item in rounds.selected})


def test_items_of_a_single_user_are_released_with_probability_delta_at_most() -> None:
    """With 0.3 δ = 0.06 for each of 150 people; a false alarm has a chance below one in a million."""
    price = Cost.of("1", "0.2")
    most = int(binom.isf(1e-6, 150, 0.06))
    assert 0 < exposed(150, 512, price) <= most
    low = dataclasses.replace(
        plan_rounds(price), thresholds=tuple(int(0.7 * t) for t in plan_rounds(price).thresholds)
    )
    with mock.patch.object(weighted_rounds, "plan_rounds", return_value=low):
        assert exposed(150, 512, price) > most, "the test cannot see a threshold that is too low"


def test_rounds_are_counted_and_take_their_own_bound_alone() -> None:
    rounds, log, engine = WeightedSelection(Grant("1", "1e-6"), SeededNoise(1)), alone(3, 2), LocalEngine()
    with pytest.raises(TypeError, match="its own bound alone"):
        rounds.take_round(engine.measure(log, KeyWeights("shares"), bytes(16)))
    first = engine.measure(log, rounds.bound, bytes(16))
    rounds.take_round(first)
    with pytest.raises(TypeError, match="its own bound alone"):
        rounds.take_round(first)
    while rounds.left:
        rounds.take_round(engine.measure(log, rounds.bound, bytes(16)))
    assert rounds.selected == []
    with pytest.raises(GrantError, match="are over"):
        rounds.take_round(engine.measure(log, rounds.bound, bytes(16)))


def test_what_cannot_be_drawn_or_paid_is_refused() -> None:
    with pytest.raises(GrantError, match="δ above 0"):
        plan_rounds(Cost.of("1"))
    with pytest.raises(UsageError, match="more than can be drawn"):
        plan_rounds(Cost.of("1e-6", "1e-9"))
    spent = Grant("1", "1e-6")
    spent.spend()
    with pytest.raises(GrantError, match="already spent"):
        WeightedSelection(spent, SeededNoise(1))
