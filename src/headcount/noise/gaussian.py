"""Discrete Gaussian noise: which sigma pays for a distance in L2 at a ρ, and so at ε and δ.

Why it is private
    Whole numbers that move by at most Δ in L2, plus independent noise with P(x) ∝ exp(-x² / (2 σ²)), are ρ-zero-
    concentrated differentially private for ρ = Δ² / (2 σ²): exactly as continuous Gaussian noise would make them,
    in any number of dimensions (theorem 14 of the reference). Which ρ implies (ε, δ) is said by
    :mod:`headcount.accounting.zcdp`, rounded down; sigma is rounded up.

Reference
    C. Canonne, G. Kamath, T. Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.accounting.budget import Cost
from headcount.accounting.noise_distributions import DiscreteGaussian
from headcount.errors import HeadcountError, UsageError
from headcount.noise import opendp_doorway
from headcount.noise.randomness import NoiseSource
from headcount.noise.samplers import draws

_MOST = 2**31 - 1  # sigma in steps, for the integer sampler
_FINE = 1 << 23  # numerator and denominator of sigma where it is no whole number
_WORDS_PER_DRAW = 16  # about what one draw uses
_DIGITS = 50


def sigma_for(l2_squared: int, rho: Decimal) -> Fraction:
    """Return sigma = Δ / √(2 ρ), rounded up to what the integer sampler can draw: by less than 1 in 4 million.

    It is n / m with n and m below 2^23 where it is no whole number, m a power of two.

    >>> round(float(sigma_for(100, Cost.of("1", "1e-6").rho)), 3)
    45.309
    """
    with localcontext() as context:
        context.prec = _DIGITS
        exact = (Decimal(l2_squared) / (2 * rho)).sqrt()
        context.rounding = ROUND_CEILING
        sigma = Fraction(exact * (1 + Decimal("1e-20")))
    if sigma > _MOST:
        raise UsageError(
            f"noise of standard deviation {float(sigma):.3g} is more than can be drawn",
            remedy="raise epsilon or delta, or lower the limit",
        )
    denominator = _FINE
    while denominator > 1 and sigma * denominator > _FINE:
        denominator //= 2
    return Fraction(math.ceil(sigma * denominator), denominator)


@lru_cache(maxsize=1024)
def confirm(sigma: Fraction, l2_squared: int, cost: Cost) -> None:
    """Let OpenDP's privacy maps confirm that ``sigma`` pays for the sensitivity at a price's ρ, hence ε and δ."""
    moved = math.sqrt(l2_squared)
    if Fraction(moved) ** 2 < l2_squared:
        moved = math.nextafter(moved, math.inf)
    noise = _opendp_gaussian(sigma)
    curve = opendp_doorway.approximate(noise).map(moved)
    epsilon, rho = curve.epsilon(float(cost.delta)), noise.map(moved)
    if not (epsilon <= float(cost.epsilon) * (1 + 1e-9) and rho <= float(cost.rho) * (1 + 1e-9)):
        raise HeadcountError(f"noise of σ = {sigma} does not pay for L2² = {l2_squared} at {cost}")


@lru_cache(maxsize=1024)
def confirm_for_rho(sigma: Fraction, l2_squared: int, rho: Decimal) -> None:
    """Let OpenDP's privacy map confirm that ``sigma`` pays for the sensitivity at a ρ."""
    moved = math.nextafter(math.sqrt(l2_squared), math.inf)
    if not _opendp_gaussian(sigma).map(moved) <= float(rho) * (1 + 1e-9):
        raise HeadcountError(f"noise of σ = {sigma} does not pay for L2² = {l2_squared} at ρ = {rho}")


def draw(distribution: DiscreteGaussian, size: int, source: NoiseSource) -> NDArray[np.int64]:
    """Draw ``size`` values from the law, in steps, with the bulk sampler."""
    scale, *shape = sampler_integers(distribution.sigma / distribution.step)
    return draws(Fraction(scale), tuple(shape), size, source, _WORDS_PER_DRAW)


def sampler_integers(sigma: Fraction) -> tuple[int, int, int, int, int]:
    """Return t, t m², n², n and m t for sigma = n / m: what the sampler decides with, or the same reduced.

    A proposal is at most (2^14 + 1) t, so that all numbers stay below 2^14 · (3/2 · 2^23)² < 2^62. For a whole
    sigma, t is sigma, and everything is divided by it: the numbers stay below 2^14 · 2^31.

    >>> sampler_integers(Fraction(5, 2)), sampler_integers(Fraction(1000))
    ((2, 8, 25, 5, 4), (1000, 1, 1000, 1000, 1))
    """
    n, m = sigma.numerator, sigma.denominator
    if m == 1 and n <= _MOST:
        return n, 1, n, n, 1
    if max(n, m) > _FINE:
        raise UsageError(f"sigma = {sigma} cannot be drawn", remedy=f"its parts must be at most {_FINE}")
    t = max(1, round(sigma))
    return t, t * m * m, n * n, n, m * t


def _opendp_gaussian(sigma: Fraction) -> Any:
    return opendp_doorway.gaussian(float(sigma))  # exactly: a power of two divides it


def opendp_release(values: NDArray[np.int64], distribution: DiscreteGaussian) -> NDArray[np.int64]:
    """Let OpenDP draw the noise on whole values."""
    noisy = _opendp_gaussian(distribution.sigma)(values.ravel().tolist()) if values.size else []
    return np.asarray(noisy, dtype=np.int64).reshape(values.shape)
