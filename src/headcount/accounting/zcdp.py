"""Zero-concentrated differential privacy: conversion between ρ and (ε, δ), rounded to the safe side.

Why it is right
    For every α > 1, ρ-zCDP implies (ε, δ)-differential privacy with

        δ = exp((α - 1) (α ρ - ε)) / (α - 1) · (1 - 1/α)^α     (Canonne et al., proposition 12).

    Solved for ρ or for ε, each α allows for some value, and any of them is safe. The best α is looked for in
    floating point, and what it allows for is then computed with many digits and rounded to the safe side.
    ε-differential privacy implies ε²/2-zCDP (Bun and Steinke, proposition 1.4).

Reference
    C. Canonne, G. Kamath, T. Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020.
    M. Bun, T. Steinke. Concentrated Differential Privacy: Simplifications, Extensions, and Lower Bounds. TCC 2016.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from functools import lru_cache

from headcount.errors import UsageError

_DIGITS = 50
_UP = Context(prec=60, rounding=ROUND_CEILING)
_RHO_STEP = Decimal("1e-40")
_EPSILON_STEP = Decimal("1e-12")
_MOST_EPSILON = 10_000
_LEAST_DELTA = Decimal("1e-100")
_LEAST_MORE = 0.01  # α - 1, as in OpenDP: less pays off only for absurd ε and δ
_GOLDEN = (math.sqrt(5) - 1) / 2


@lru_cache(maxsize=4096)
def rho_for(epsilon: Decimal, delta: Decimal) -> Decimal:
    """Return the largest ρ that is known to imply (ε, δ), rounded down.

    >>> f"{rho_for(Decimal(1), Decimal('1e-6')):.6f}"
    '0.024356'
    """
    if epsilon > _MOST_EPSILON:
        raise UsageError(
            f"epsilon must be at most {_MOST_EPSILON} for Gaussian noise and the filter zcdp",
            given=str(epsilon),
            remedy="use less",
        )
    if delta < _LEAST_DELTA:
        raise UsageError("delta must be at least 1e-100", given=str(delta), remedy="for example 1e-6")
    log_delta = float(delta.ln())

    def allowed(log_more: float) -> float:
        more = math.exp(log_more)  # α - 1
        return (float(epsilon) + (log_delta + _slack(more)) / more) / (1 + more)

    def _slack(more: float) -> float:  # ln(α - 1) - α ln(1 - 1/α)
        return (1 + more) * math.log1p(more) - more * math.log(more)

    # ρ as a function of ln(α - 1) has one peak: for fixed ρ the logarithm of δ is convex in α
    low, high = math.log(_LEAST_MORE), math.log(1e18)
    while high - low > 1e-9:
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, right) if allowed(left) > allowed(right) else (left, high)
    with localcontext() as context:
        context.prec = _DIGITS
        more = Decimal(math.exp(low))
        slack = (1 + more) * (1 + more).ln() - more * more.ln()
        rho = (epsilon + (delta.ln() + slack) / more) / (1 + more)
        context.rounding = ROUND_FLOOR
        context.prec = 25
        return rho * (1 - Decimal("1e-20"))


def pure_rho(epsilon: Decimal) -> Decimal:
    """Return ε²/2, rounded up where it has very many digits.

    >>> pure_rho(Decimal("0.1"))
    Decimal('0.005')
    """
    exact = _UP.divide(_UP.multiply(epsilon, epsilon), Decimal(2))
    return exact if exact.as_tuple().exponent >= -40 else exact.quantize(_RHO_STEP, context=_UP)  # type: ignore[operator]


def epsilon_for(rho: Decimal, delta: Decimal) -> Decimal:
    """Return an ε such that ρ-zCDP implies (ε, δ)-DP: the least one known, rounded up.

    >>> epsilon_for(Decimal("0.024356"), Decimal("1e-6"))
    Decimal('1.000000651632')
    """
    if rho == 0:
        return Decimal(0)
    with localcontext() as context:
        context.prec = _DIGITS
        log_delta = delta.ln()
        more = Decimal(_best_more(float(rho), float(log_delta)))  # α - 1
        for _ in range(2):  # Newton's steps, so that what was converted to ρ and is converted back fits its budget
            more -= (rho * more * more + (1 + more).ln() + log_delta) / (2 * rho * more + 1 / (1 + more))
        log_alpha = (1 + more).ln()
        epsilon = (1 + more) * rho - (log_delta + log_alpha) / more + more.ln() - log_alpha
        if epsilon <= 0:
            return Decimal(0)
        context.rounding = ROUND_CEILING
        return (epsilon + Decimal("1e-30") * (1 + rho)).quantize(_EPSILON_STEP)


def _best_more(rho: float, log_delta: float) -> float:
    """Return nearly the best α - 1: where the derivative of ε, ρ + (ln δ + ln α) / (α - 1)², is 0."""
    low, high = 0.0, math.sqrt(-log_delta / rho)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rho * middle * middle + math.log1p(middle) + log_delta < 0 else (low, middle)
    return high
