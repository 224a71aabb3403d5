"""Lower confidence bounds on ε from how often an event happens with and without one user.

If an algorithm is (ε, δ)-differentially private, P(event | one log) ≤ e^ε P(event | its neighbour) + δ. Both
probabilities are enclosed by Clopper and Pearson's exact interval, so that the bound on ε holds with the stated
confidence, whatever the algorithm does.

Reference
    C. Clopper, E. Pearson. The use of confidence or fiducial limits illustrated in the case of the binomial.
    Biometrika 1934.
"""

from __future__ import annotations

import math

_ENOUGH = 1e-15
_WIDTH = 1e-10  # of the interval that a quantile is enclosed in, relatively
_MOST_TERMS = 20_000


def lower_probability(hits: int, runs: int, risk: float) -> float:
    """Return what a probability is at least, wrong with a chance of at most ``risk``.

    >>> f"{lower_probability(50, 100, 0.025):.4f}", lower_probability(0, 100, 0.025)
    ('0.3983', 0.0)
    """
    if not hits:
        return 0.0
    return _solved(hits, runs - hits + 1, risk, up=False)


def upper_probability(hits: int, runs: int, risk: float) -> float:
    """Return what a probability is at most, wrong with a chance of at most ``risk``.

    >>> f"{upper_probability(0, 100, 0.025):.4f}"
    '0.0362'
    """
    if hits >= runs:
        return 1.0
    return _solved(hits + 1, runs - hits, 1 - risk, up=True)


def least_epsilon(hits: tuple[int, int], runs: tuple[int, int], delta: float, risk: float) -> float:
    """Return what ε is at least, if an event happened that often with one log and with its neighbour.

    >>> round(least_epsilon((5000, 1500), (10_000, 10_000), 0.0, 0.001), 3)
    1.093
    >>> least_epsilon((10, 11), (100, 100), 0.0, 0.001)
    0.0
    """
    often = lower_probability(hits[0], runs[0], risk / 2) - delta
    rarely = upper_probability(hits[1], runs[1], risk / 2)
    return max(0.0, math.log(often / rarely)) if often > 0 else 0.0


def _solved(a: float, b: float, chance: float, *, up: bool) -> float:
    """Return the quantile of the beta law with parameters a and b, rounded to the safe side."""
    low, high = 0.0, 1.0
    while high - low > _WIDTH * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _beta_cdf(middle, a, b) < chance else (low, middle)
    return high if up else low


def _beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function, by its continued fraction."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1) / (a + b + 2):
        return math.exp(front) * _fraction(x, a, b) / a
    return 1 - math.exp(front) * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """Evaluate the continued fraction from its front (Lentz's way)."""
    tiny = 1e-300
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or tiny)
    value = d
    for m in range(1, _MOST_TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + term * d or tiny)
            c = 1 + term / c or tiny
            value *= c * d
        if abs(c * d - 1) < _ENOUGH:
            return value
    raise ArithmeticError(f"the beta law with {a:g} and {b:g} was not worked out")
