"""Gaussian differential privacy: bounds of normal tails, and conversion between μ and (ε, δ).

Why it is right
    Q(x) is the upper tail of the standard normal law, φ its density. For x > 0

        Q(x) = φ(x) / (x + 1/(x + 2/(x + 3/(x + …)))),

    and cutting the fraction after an even number of levels makes it too large, after an odd number too small
    (Laplace; the convergents of a fraction with positive terms lie on both sides in turns). Both are computed with
    60 digits, and rounded away from what they bound by far more than that.

    A mechanism that is as hard to see through as telling N(0, 1) from N(μ, 1), and any sequence of such whose
    squares sum to μ², each knowing what the others told, is (ε, δ)-differentially private for every ε with

        δ = Q(ε/μ - μ/2) - e^ε Q(ε/μ + μ/2)     (Dong et al., corollaries 1 and 2 with theorem 4).

Reference
    J. Dong, A. Roth, W. Su. Gaussian Differential Privacy. Journal of the Royal Statistical Society B, 2022.
    B. Balle, Y.-X. Wang. Improving the Gaussian Mechanism for Differential Privacy. ICML 2018.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import lru_cache

_DIGITS = 60
_LEVELS = 120
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
_SLACK = Decimal("1e-45")
_MOST = 40.0  # deviations that a quantile is looked for within: Q is below 1e-340 there


def upper_tail(x: Decimal) -> Decimal:
    """Return a bound from above of Q(x), for x > 0.

    >>> f"{upper_tail(Decimal(5)):.12e}"
    '2.866515718792e-7'
    """
    with localcontext() as context:
        context.prec = _DIGITS
        return _tail(x, _LEVELS) * (1 + _SLACK)


def lower_tail(x: Decimal) -> Decimal:
    """Return a bound from below of Q(x), for x > 0."""
    with localcontext() as context:
        context.prec = _DIGITS
        return _tail(x, _LEVELS + 1) * (1 - _SLACK)


def _tail(x: Decimal, levels: int) -> Decimal:
    fraction = x
    for level in range(levels, 0, -1):
        fraction = x + level / fraction
    return (-x * x / 2).exp() / (2 * _PI).sqrt() / fraction


@lru_cache(maxsize=4096)
def quantile_above(chance: Decimal) -> Decimal:
    """Return an x > 0 with Q(x) <= ``chance``, hardly larger than need be.

    >>> f"{quantile_above(Decimal('1e-6')):.6f}"
    '4.753424'
    """
    low, high, logarithm = 0.0, _MOST, float(chance.ln())
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _log_tail(middle) > logarithm else (low, middle)
    x, step = Decimal(high), Decimal("1e-12")
    while upper_tail(max(x, step)) > chance:  # what floating point found is held against the bound
        x, step = x + step, 2 * step
    return max(x, step)


def _log_tail(x: float) -> float:
    tail = math.erfc(x / math.sqrt(2)) / 2
    return math.log(tail) if tail > 1e-300 else -x * x / 2 - math.log(x * math.sqrt(2 * math.pi))


def delta_for(mu: Decimal, epsilon: Decimal) -> Decimal:
    """Return a bound from above of the δ at which μ implies ε; μ must be below √(2 ε)."""
    with localcontext() as context:
        context.prec = _DIGITS
        near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
        if near <= 0:
            return Decimal(1)
        return upper_tail(near) - epsilon.exp() * lower_tail(far)


@lru_cache(maxsize=1024)
def mu_for(epsilon: Decimal, delta: Decimal) -> Decimal:
    """Return a μ that implies (ε, δ), hardly smaller than the largest one.

    >>> f"{mu_for(Decimal(1), Decimal('1e-6')):.6f}"
    '0.236704'
    """
    with localcontext() as context:
        context.prec = _DIGITS
        low, high = Decimal(0), (2 * epsilon).sqrt()
        for _ in range(45):
            middle = (low + high) / 2
            low, high = (middle, high) if delta_for(middle, epsilon) <= delta else (low, middle)
        return low
