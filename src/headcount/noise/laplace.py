"""Discrete Laplace noise on bounded counts, paid for with a grant.

Short vectors are served by OpenDP, the reference; long ones, and seeded tests, by the bulk sampler of
:mod:`headcount.noise.kernels`, which is exact in integers and tested to have the same law. In both cases
OpenDP's own privacy map confirms that the scale pays for the sensitivity before anything is drawn.

Why it is private
    Counts that move by at most Δ in L1, plus independent noise with P(x) ∝ exp(-|x| ε / Δ), are ε-differentially
    private.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.bounding import Bounded, Noisy
from headcount.budget import Grant
from headcount.errors import HeadcountError, UsageError
from headcount.noise.source import NoiseSource, OperatingSystemNoise
from headcount.noise_law import DiscreteLaplace

_MOST = 2**31 - 1  # numerator and denominator of a scale in the integer sampler
_SHORT = 2_000  # below this OpenDP is quick enough
_CHUNK = 1 << 16  # draws per buffer of words
_WORDS_PER_DRAW = 8  # about what one draw uses
_THREADS = 2


def add(bounded: Bounded, grant: Grant, source: NoiseSource) -> Noisy:
    """Spend the grant on discrete Laplace noise for every value, zeros included."""
    if type(bounded) is not Bounded:
        raise TypeError(f"noise is added to Bounded values alone, not to {type(bounded).__name__}")
    law = DiscreteLaplace(scale_for(bounded.sensitivity.l1, grant.exact))
    confirm(law.scale, bounded.sensitivity.l1, grant.exact)
    grant.spend()
    exact = bounded.sensitive_values
    if exact.size < _SHORT and isinstance(source, OperatingSystemNoise):
        values = _opendp_release(exact, law.scale)
    else:
        values = exact + draw(law, exact.size, source).reshape(exact.shape)
    return Noisy(values, law)


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
    if scale > _MOST:
        raise UsageError(
            f"noise of scale {float(scale):.3g} is more than can be drawn",
            remedy="raise epsilon, or lower the limit",
        )
    denominator = 1 << max(0, 30 - math.floor(scale).bit_length())
    return Fraction(math.ceil(scale * denominator), denominator)


def confirm(scale: Fraction, l1: int, epsilon: Fraction) -> None:
    """Let OpenDP's privacy map confirm that ``scale`` pays for ``l1`` at ``epsilon``."""
    granted = math.nextafter(float(epsilon), math.inf)
    if not _opendp_laplace(scale).map(l1) <= granted * (1 + 1e-12):
        raise HeadcountError(f"noise of scale {scale} does not pay for sensitivity {l1} at ε = {epsilon}")


def draw(law: DiscreteLaplace, size: int, source: NoiseSource) -> NDArray[np.int64]:
    """Draw ``size`` values from the law with the bulk sampler."""
    from headcount.noise import kernels

    numerator, denominator = law.scale.numerator, law.scale.denominator
    out = np.empty(size, dtype=np.int64)

    def fill(part: NDArray[np.int64]) -> None:
        left = np.empty(0, dtype=np.uint32)
        filled = 0
        while filled < part.size:
            wanted = min(_WORDS_PER_DRAW * (part.size - filled) + 64, _WORDS_PER_DRAW * _CHUNK)
            words = np.concatenate([left, source.words(wanted)])
            filled, used = kernels.discrete_laplace(numerator, denominator, words, part, filled)
            left = words[used:]

    parts = [out[start : start + _CHUNK] for start in range(0, size, _CHUNK)]
    if source.is_private and len(parts) > 1:
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(fill, parts))
    else:
        for part in parts:
            fill(part)
    return out


def _opendp_laplace(scale: Fraction) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    rounded = float(scale)
    if Fraction(rounded) < scale:
        rounded = math.nextafter(rounded, math.inf)
    return dp.m.make_laplace(*space, scale=rounded)


def _opendp_release(values: NDArray[np.int64], scale: Fraction) -> NDArray[np.int64]:
    noisy = _opendp_laplace(scale)(values.ravel().tolist()) if values.size else []
    return np.asarray(noisy, dtype=np.int64).reshape(values.shape)
