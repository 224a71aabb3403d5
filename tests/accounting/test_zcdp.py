"""Conversions between ρ and (ε, δ) round to the safe side, and agree with OpenDP."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.accounting.zcdp import epsilon_for, pure_rho, rho_for

EPSILONS = st.decimals("0.001", "20", places=3)
DELTAS = st.integers(1, 40).map(lambda power: Decimal(10) ** -power)


@given(EPSILONS, DELTAS)
def test_what_is_converted_to_rho_and_back_fits_again(epsilon: Decimal, delta: Decimal) -> None:
    rho = rho_for(epsilon, delta)
    back = epsilon_for(rho, delta)
    assert back <= epsilon
    assert back >= epsilon * Decimal("0.999") or rho <= 0


@given(st.decimals("1e-9", "100", places=9), DELTAS)
def test_conversion_rounds_up_and_is_a_minimum(rho: Decimal, delta: Decimal) -> None:
    epsilon = float(epsilon_for(rho, delta))
    best = min(
        (1 + more) * float(rho) - (float(delta.ln()) + math.log1p(more)) / more + math.log(more / (1 + more))
        for more in (2 ** (step / 8) for step in range(-160, 400))
    )
    assert max(best, 0) * 0.98 - 1e-9 <= epsilon <= max(best, 0) + 1e-9


@given(st.decimals("0.001", "3", places=3), st.decimals("0.001", "3", places=3))
def test_conversion_grows_with_rho(first_rho: Decimal, two: Decimal) -> None:
    small, large = sorted((first_rho, two))
    assert epsilon_for(small, Decimal("1e-6")) <= epsilon_for(large, Decimal("1e-6"))


def test_conversion_agrees_with_opendp() -> None:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    curve = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=2.0)).map(1.0)  # ρ = 1/8
    assert float(epsilon_for(Decimal("0.125"), Decimal("1e-6"))) == pytest.approx(curve.epsilon(1e-6), rel=1e-6)


def test_rho_of_very_many_digits_is_rounded_up() -> None:
    epsilon = Decimal("0.12345678901234567890123456789")
    assert pure_rho(epsilon) >= Decimal("0.00762078936595336076816034135345")
    assert pure_rho(Decimal("1e-100")) == Decimal("1e-40")
