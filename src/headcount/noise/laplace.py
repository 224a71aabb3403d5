"""Discrete Laplace noise: which scale pays for a distance in L1 at an ε.

Why it is private
    Counts that move by at most Δ in L1, plus independent noise with P(x) ∝ exp(-|x| ε / Δ), are ε-differentially
    private. Where each user was taken into account with probability β only, by a lot that nobody knows, the loss
    with noise that pays for ε' is ln(1 + β (e^ε' - 1)): noise for that larger ε' is enough.

Reference
    N. Li, W. Qardaji, D. Su. On Sampling, Anonymization, and Differential Privacy. ASIACCS 2012, theorem 1.
"""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.errors import HeadcountError, UsageError
from headcount.noise import opendp_doorway
from headcount.noise.randomness import NoiseSource
from headcount.noise.samplers import draws

_MOST = 2**31 - 1  # numerator and denominator of a scale in the integer sampler
_WORDS_PER_DRAW = 8  # about what one draw uses
_PRECISION = 60  # digits; the result is rounded down to 9 decimals


def epsilon_within(epsilon: Fraction, admission: Fraction) -> Fraction:
    """Return the ε' that the users taken into account may lose, where each is with probability ``admission``.

    ε' = ln(1 + (e^ε - 1) / β), rounded down; nobody taken loses nothing, whatever the noise.

    >>> epsilon_within(Fraction(1), Fraction(1))
    Fraction(1, 1)
    >>> 2.87 < epsilon_within(Fraction(1), Fraction(1, 10)) < 2.91
    True
    """
    if admission == 1:
        return epsilon
    if admission == 0:
        return Fraction(_MOST)
    with localcontext() as context:
        context.prec = _PRECISION
        grows = _decimal(epsilon).exp() - 1
        within = (1 + grows / _decimal(admission)).ln()
        return max(epsilon, Fraction(within.quantize(Decimal(10) ** -9, rounding=ROUND_DOWN)))


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def scale_for(l1: int, epsilon: Fraction) -> Fraction:
    """Return the scale l1 / ε, rounded up where its parts would not fit the integer sampler.

    >>> scale_for(10, Fraction("0.45"))
    Fraction(200, 9)
    >>> scale_for(1, Fraction("0.123456789012345678")) > 1 / Fraction("0.123456789012345678")
    True
    """
    scale = Fraction(l1) / epsilon
    if scale.numerator <= _MOST and scale.denominator <= _MOST:
        return scale
    if not can_draw(l1, epsilon):
        raise UsageError(
            f"noise of scale {float(scale):.3g} is more than can be drawn",
            remedy="raise epsilon, or lower the limit",
        )
    denominator = 1 << max(0, 30 - math.floor(scale).bit_length())
    return Fraction(math.ceil(scale * denominator), denominator)


def can_draw(l1: int, epsilon: Fraction) -> bool:
    """Say whether noise that pays for ``l1`` at ``epsilon`` fits the integer sampler.

    >>> can_draw(10, Fraction(1)), can_draw(10**12, Fraction(1))
    (True, False)
    """
    return l1 <= max_drawable_l1(epsilon)


def max_drawable_l1(epsilon: Fraction) -> int:
    """Return the largest L1 that noise can be drawn for.

    >>> max_drawable_l1(Fraction(1, 1000))
    2147483
    """
    return math.floor(_MOST * epsilon)


@lru_cache(maxsize=1024)
def confirm(scale: Fraction, l1: int, epsilon: Fraction) -> None:
    """Let OpenDP's privacy map confirm that ``scale`` pays for ``l1`` at ``epsilon``."""
    granted = math.nextafter(float(epsilon), math.inf)
    if not _opendp_laplace(scale).map(l1) <= granted * (1 + 1e-12):
        raise HeadcountError(f"noise of scale {scale} does not pay for sensitivity {l1} at ε = {epsilon}")


def draw(distribution: DiscreteLaplace, size: int, source: NoiseSource) -> NDArray[np.int64]:
    """Draw ``size`` values from the law, in steps, with the bulk sampler."""
    return draws(distribution.in_steps, None, size, source, _WORDS_PER_DRAW)


def _opendp_laplace(scale: Fraction) -> Any:
    rounded = float(scale)
    if Fraction(rounded) < scale:
        rounded = math.nextafter(rounded, math.inf)
    return opendp_doorway.laplace(rounded)


def opendp_release(values: NDArray[np.int64], distribution: DiscreteLaplace) -> NDArray[np.int64]:
    """Let OpenDP draw the noise on whole values."""
    noisy = _opendp_laplace(distribution.scale)(values.ravel().tolist()) if values.size else []
    return np.asarray(noisy, dtype=np.int64).reshape(values.shape)
