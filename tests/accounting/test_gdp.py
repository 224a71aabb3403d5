"""Tails and μ: on the safe side of what SciPy says, and hardly beyond it."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from scipy.stats import norm

from headcount.accounting.gdp import delta_for, lower_tail, mu_for, quantile_above, upper_tail

PRICES = [("1", "1e-6"), ("0.2", "1e-10"), ("0.001", "1e-12"), ("12", "0.05"), ("100", "1e-3")]


@pytest.mark.parametrize("x", ["0.3", "1", "2.5", "5", "8", "30"])
def test_tails_lie_on_both_sides(x: str) -> None:
    low, high, exact = lower_tail(Decimal(x)), upper_tail(Decimal(x)), float(norm.sf(float(x)))
    assert low < high
    assert float(low) <= exact * (1 + 1e-12)
    assert float(high) >= exact * (1 - 1e-12)
    if Decimal(x) > 2:
        assert high - low < high * Decimal("1e-12")


@pytest.mark.parametrize("chance", ["0.1", "1e-3", "1e-9", "1e-40", "1e-120"])
def test_quantiles_pay(chance: str) -> None:
    x = quantile_above(Decimal(chance))
    assert upper_tail(x) <= Decimal(chance)
    assert float(x) == pytest.approx(float(norm.isf(float(chance))), rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), PRICES)
def test_mu_pays_and_is_hardly_too_small(epsilon: str, delta: str) -> None:
    mu = mu_for(Decimal(epsilon), Decimal(delta))
    assert delta_for(mu, Decimal(epsilon)) <= Decimal(delta)
    e, m = float(epsilon), float(mu) * (1 + 1e-6)
    more = norm.cdf(m / 2 - e / m) - math.exp(e) * norm.cdf(-m / 2 - e / m)
    assert more > float(delta) * (1 - 1e-6), "a larger μ would do"
