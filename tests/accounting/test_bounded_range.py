"""How picks compose: bounds against exact laws, adaptive adversaries and Gaussian noise."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from decimal import Decimal
from functools import cache

import numpy as np
import pytest
from scipy import stats

from headcount.accounting import bounded_range
from headcount.accounting.bounded_range import MOST_PICKS, delta_of, rho_of_picks
from headcount.accounting.budget import Cost, Grant
from headcount.accounting.zcdp import rho_for
from headcount.errors import GrantError

Adversary = Callable[[int, float], float]
"""Chooses t for a pick, from how many are left and from what was lost so far."""


def adaptive_delta(rounds: int, eta: float, epsilon: float, choose: Adversary) -> float:
    """Return the exact δ of picks between two losses each, t and t - η, where t hangs on what came before."""
    if not rounds:
        return max(0.0, -math.expm1(epsilon))
    t = choose(rounds, epsilon)
    low = (math.exp(eta) - math.exp(t)) / math.expm1(eta)
    rest = [adaptive_delta(rounds - 1, eta, epsilon - loss, choose) for loss in (t, t - eta)]
    return low * rest[0] + (1 - low) * rest[1]


def same_delta(rounds: int, eta: float, t: float, epsilon: float) -> float:
    """Return the exact δ if all picks have the same t: by binomials."""
    low = (math.exp(eta) - math.exp(t)) / math.expm1(eta)
    many = np.arange(rounds + 1)
    losses = many * t + (rounds - many) * (t - eta)
    return float(stats.binom(rounds, low).pmf(many) @ np.maximum(0.0, -np.expm1(epsilon - losses)))


@pytest.mark.parametrize(
    ("rounds", "eta", "epsilon"), [(1, 0.5, 0.2), (4, 0.4, 0.7), (8, 0.3, 0.5), (8, 0.05, 0.1)]
)
def test_no_adversary_exceeds_the_bound(rounds: int, eta: float, epsilon: float) -> None:
    bound = delta_of(rounds, eta, epsilon)
    for seed in range(12):
        draw = random.Random(seed)
        chosen: dict[tuple[int, float], float] = {}

        def choose(
            left: int, lost: float, draw: random.Random = draw, chosen: dict[tuple[int, float], float] = chosen
        ) -> float:
            return chosen.setdefault((left, lost), draw.choice([0.3, 0.5, 0.6, 1.0]) * eta)

        assert adaptive_delta(rounds, eta, epsilon, choose) <= bound
    deltas = [same_delta(rounds, eta, share * eta, epsilon) for share in np.linspace(0.01, 0.99, 99)]
    assert max(deltas) <= bound


def test_the_bound_is_nearly_that_of_the_best_adversary() -> None:
    """Three picks, each with the best of many t, are within two hundredths of it; less range is noticed."""
    eta, epsilon, shares = 0.5, 0.6, np.linspace(0, 1, 41)

    @cache
    def best(rounds: int, left: float) -> float:
        if not rounds:
            return max(0.0, -math.expm1(left))
        low = (math.exp(eta) - np.exp(shares * eta)) / math.expm1(eta)
        after = [[best(rounds - 1, round(left - t + more, 9)) for t in shares * eta] for more in (0.0, eta)]
        return float(np.max(low * np.array(after[0]) + (1 - low) * np.array(after[1])))

    assert best(3, epsilon) <= delta_of(3, eta, epsilon) <= 1.02 * best(3, epsilon)
    assert best(3, epsilon) > delta_of(3, eta * 0.97, epsilon)


def test_a_hundred_picks_cost_nearly_as_much_as_gaussian_noise() -> None:
    """The limit of small ranges; and a range that is a few per cent larger has more than δ, exactly."""
    epsilon, delta = Decimal("0.5"), Decimal("1e-6")
    rho = rho_for(epsilon, delta)
    paid = rho_of_picks(100, epsilon, delta, rho, Decimal(0), instead=False)
    eta = math.sqrt(8 * float(paid) / 100)
    assert 1.12 < paid / rho < 1.17
    exact = [
        max(same_delta(100, eta * more, share * eta * more, 0.5) for share in (0.48, 0.5, 0.52))
        for more in (1, 1.02)
    ]
    assert exact[0] <= 1e-6 < exact[1]


@pytest.mark.parametrize("rounds", [20, 100])
def test_picks_after_gaussian_noise(rounds: int) -> None:
    """Exactly: the losses of equal picks, each with all losses of real Gaussian noise."""
    eta, mu, epsilon = 0.4 / math.sqrt(rounds), 0.08, 0.6
    low = (math.exp(eta) - math.exp(eta / 2)) / math.expm1(eta)
    many = np.arange(rounds + 1)
    chance, losses = stats.binom(rounds, low).pmf(many), many * eta / 2 - (rounds - many) * eta / 2
    left = epsilon - losses
    tails = stats.norm.sf(left / mu - mu / 2) - np.exp(left) * stats.norm.sf(left / mu + mu / 2)
    exact = float(chance @ tails)
    assert exact <= delta_of(rounds, eta, epsilon, mu) <= 1.5 * exact
    assert exact > delta_of(rounds, eta, epsilon)


def test_discrete_noise_is_no_easier_to_see_through_than_real_noise_of_less_variance() -> None:
    for rho in ("0.2", "0.1", "0.02", "0.001"):
        mu, sigma = float(bounded_range._mu_for_rho(Decimal(rho)) or 0), 1 / math.sqrt(2 * float(rho))
        steps = np.arange(-400, 401)
        law = np.exp(-(steps**2) / (2 * sigma**2))
        law /= law.sum()
        for epsilon in np.linspace(0, 2, 21):
            exact = np.maximum(0.0, law[1:] - math.exp(epsilon) * law[:-1]).sum()
            assert exact <= bounded_range._gaussian(np.array([epsilon]), mu)[0] + 1e-15
    assert bounded_range._mu_for_rho(Decimal("0.25")) is None


def test_both_ways_share_delta() -> None:
    epsilon, delta = Decimal("0.5"), Decimal("1e-6")
    whole = rho_for(epsilon, delta)
    arguments = 20, epsilon, delta, whole * Decimal("0.98"), whole * Decimal("0.02")
    alone, either = (rho_of_picks(*arguments, instead=instead) for instead in (False, True))
    assert arguments[3] < either < alone


def test_it_is_never_less_than_rho_tells() -> None:
    for epsilon, delta, rounds, instead in itertools.product(
        ("0.0001", "0.5", "9"), ("1e-9", "1e-2"), (1, 12, MOST_PICKS + 1), (False, True)
    ):
        price = Cost.of(epsilon, delta)
        paid = price.for_picks(rounds, instead=instead)
        assert paid.rho == price.rho
        assert paid.rho_of_rounds(rounds) >= price.rho
        if rounds > MOST_PICKS or epsilon == "0.0001":
            assert paid.rho_of_rounds(rounds) == price.rho


def test_a_grant_of_picks_pays_for_so_many_of_them_and_for_nothing_else() -> None:
    whole = Grant("0.5", "1e-6")
    picks = whole.for_picks(30, instead=False)
    parts = picks.split_rho({"a": Decimal("0.333333333333333"), "b": Decimal("0.666666666666667")})
    assert [part.cost.rho_of_rounds(rounds) for part, rounds in zip(parts.values(), (10, 20), strict=True)] == [
        pytest.approx(picks.cost.rho_of_rounds(30) * rounds / 30, rel=Decimal("1e-12")) for rounds in (10, 20)
    ]
    with pytest.raises(GrantError, match="pays for 10 picks, not for 11"):
        parts["a"].cost.rho_of_rounds(11)
    with pytest.raises(GrantError, match="pays for 10 picks, and not for noise"):
        parts["a"].cost.check_no_picks()
    with pytest.raises(GrantError, match="cannot be shared so"):
        Grant("0.5", "1e-6").for_picks(30, instead=False).split_rho({"a": Decimal("0.51"), "b": Decimal("0.49")})
    for part in parts.values():
        part.spend()
    assert whole.is_spent
