"""Noise distributions of released values: public, and used by intervals, reports and releases."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class DiscreteLaplace:
    """Whole multiples x of ``step`` with probability proportional to exp(-abs(x) / scale).

    ``on`` says what the noise was added to, where that is not the counts themselves.

    >>> law = DiscreteLaplace(Fraction(10))
    >>> round(law.variance, 2), law.half_width(0.95)
    (199.83, 30.0)
    >>> round(DiscreteLaplace(Fraction(10), step=Fraction(1, 4)).half_width(0.95), 2)
    30.0
    """

    scale: Fraction
    step: Fraction = Fraction(1)
    on: str = "counts"

    @cached_property
    def _floats(self) -> _Figures:
        return _figures(self.scale, self.step)

    @cached_property
    def in_steps(self) -> Fraction:
        """The scale as a number of steps, exactly."""
        return self.scale / self.step

    @property
    def alpha(self) -> float:
        """The ratio of neighbouring probabilities, exp(-step / scale)."""
        return self._floats.alpha

    @property
    def variance(self) -> float:
        """The exact variance, 2α / (1 - α)² steps squared."""
        return self._floats.variance

    def times(self, factor: Fraction) -> DiscreteLaplace:
        """Return the law of the noise on counts that are multiplied by a positive number."""
        return DiscreteLaplace(self.scale * factor, self.step * factor)

    def divided(self, by: int) -> DiscreteLaplace:
        """Return the law of the noise divided by a whole number."""
        return self.times(Fraction(1, by))

    def cdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P(X <= x), for real x."""
        floats = self._floats
        below = np.floor(np.asarray(x, dtype=np.float64) / floats.step)
        steps = np.abs(np.where(below >= 0, below + 1, below))
        tail = np.exp(-steps * floats.falls) / (1 + floats.alpha)
        return np.where(below >= 0, 1 - tail, tail)

    def log_ratio(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln P(x) - ln P(0), for multiples x of the step."""
        return np.asarray(-np.abs(x) / self._floats.scale)

    def half_width(self, level: float) -> float:
        """Return the smallest multiple w of the step with P(abs(X) <= w) >= level."""
        # in steps, P(|X| > w) = 2 α^(w+1) / (1 + α)
        floats = self._floats
        w = math.log((1 - level) * (1 + floats.alpha) / 2) * -floats.steps - 1
        return max(0, math.ceil(w - 1e-9)) * floats.step

    def in_words(self) -> str:
        """Say which noise it is, and how much.

        >>> DiscreteLaplace(Fraction(20)).in_words()
        'discrete Laplace noise of scale 20 (standard deviation 28.28)'
        """
        floats = self._floats
        return (
            f"discrete Laplace noise of scale {floats.scale:.4g} (standard deviation {floats.variance**0.5:.4g})"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the law as plain data."""
        return {"law": "discrete-laplace", "scale": str(self.scale), **where(self.step, self.on)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DiscreteLaplace:
        """Read back what :meth:`to_json` wrote."""
        return cls(Fraction(data["scale"]), Fraction(data.get("step", 1)), data.get("on", "counts"))


class _Figures(NamedTuple):
    """What follows from exact fractions, in floating point; ``steps`` make a scale, and ``falls`` is 1 / that."""

    scale: float
    step: float
    steps: float
    falls: float
    alpha: float
    variance: float


@lru_cache(maxsize=1024)
def _figures(scale: Fraction, step: Fraction) -> _Figures:
    """Work them out once: many releases have the same noise, and fractions are slow."""
    alpha, falls = math.exp(-step / scale), float(step / scale)
    variance = 2 * alpha / math.expm1(-step / scale) ** 2 * float(step) ** 2
    return _Figures(float(scale), float(step), float(scale / step), falls, alpha, variance)


def where(step: Fraction, on: str) -> dict[str, Any]:
    """Return what a law says beside its spread, where that is not the usual."""
    return ({} if step == 1 else {"step": str(step)}) | ({} if on == "counts" else {"on": on})


Reals = NDArray[np.float64]

_SMOOTH = 32  # steps per sigma from which on sums are taken in closed form
_FAR = 40  # sigmas that sums go over: e^-800 lies beyond


@dataclass(frozen=True)
class DiscreteGaussian:
    """Whole multiples x of ``step`` with probability proportional to exp(-x² / (2 sigma²)).

    Its variance is sigma² but for a relative difference below e^(-2π² (sigma / step)²), which vanishes from one
    step per sigma on; below that it is less. ``on`` is as in :class:`DiscreteLaplace`.

    >>> law = DiscreteGaussian(Fraction(10))
    >>> round(law.variance, 6), law.half_width(0.95)
    (100.0, 20.0)
    >>> round(DiscreteGaussian(Fraction(10), step=Fraction(1, 1 << 16)).half_width(0.95), 4)
    19.5996
    >>> round(DiscreteGaussian(Fraction(1, 4)).variance, 6)
    0.00067
    """

    sigma: Fraction
    step: Fraction = Fraction(1)
    on: str = "counts"

    @cached_property
    def variance(self) -> float:
        """The exact variance."""
        steps = float(self.sigma / self.step)
        if steps >= _SMOOTH:
            return float(self.sigma) ** 2
        places, weights = _weights(steps)
        return float(2 * (weights @ places**2) / (2 * weights.sum() + 1)) * float(self.step) ** 2

    def times(self, factor: Fraction) -> DiscreteGaussian:
        """Return the law of the noise on counts that are multiplied by a positive number."""
        return DiscreteGaussian(self.sigma * factor, self.step * factor)

    def divided(self, by: int) -> DiscreteGaussian:
        """Return the law of the noise divided by a whole number."""
        return self.times(Fraction(1, by))

    def cdf(self, x: Reals) -> Reals:
        """Return P(X <= x), for real x; the error is below 1e-13."""
        below = np.floor(np.asarray(x, dtype=np.float64) / float(self.step))
        tail = self._beyond(np.abs(np.where(below >= 0, below + 1, below)))
        return np.where(below >= 0, 1 - tail, tail)

    def log_ratio(self, x: Reals) -> Reals:
        """Return ln P(x) - ln P(0), for multiples x of the step."""
        return np.asarray(-(x**2) / (2 * float(self.sigma) ** 2))

    def half_width(self, level: float) -> float:
        """Return the smallest multiple w of the step with P(abs(X) <= w) >= level."""
        outside = (1 - level) / 2 * (1 + 1e-9)
        low, high = -1, math.ceil(_FAR * self.sigma / self.step)
        while high - low > 1:
            middle = (low + high) // 2
            if self._beyond(np.array([middle + 1.0]))[0] <= outside:
                high = middle
            else:
                low = middle
        return high * float(self.step)

    def in_words(self) -> str:
        """Say which noise it is, and how much.

        >>> DiscreteGaussian(Fraction(20)).in_words()
        'discrete Gaussian noise of standard deviation 20'
        """
        return f"discrete Gaussian noise of standard deviation {self.variance**0.5:.4g}"

    def to_json(self) -> dict[str, Any]:
        """Return the law as plain data."""
        return {"law": "discrete-gaussian", "sigma": str(self.sigma), **where(self.step, self.on)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DiscreteGaussian:
        """Read back what :meth:`to_json` wrote."""
        return cls(Fraction(data["sigma"]), Fraction(data.get("step", 1)), data.get("on", "counts"))

    def _beyond(self, k: Reals) -> Reals:
        """Return P(X >= k steps), for whole k >= 1.

        A plain sum, where there are few steps per sigma. With s steps, s large, the sum of the density f from k on
        is its integral from b = k - 1/2 on plus f₁(b) / 24 - 7 f₃(b) / 5760 + 31 f₅(b) / 967680 - …, with f₁, f₃,
        f₅ its derivatives (Euler and Maclaurin, for the midpoint rule). The next term is below 1e-6 · 16 / s^8:
        2e-17 from s = 32 on; leaving out all of them would be wrong by 0.01 / s². That the density sums to 1 is
        off by 2 e^(-2π² s²), by Poisson's formula: by nothing at all.
        """
        steps = float(self.sigma / self.step)
        if steps < _SMOOTH:
            _, weights = _weights(steps)
            tails = np.append(np.cumsum(weights[::-1])[::-1], 0.0) / (2 * weights.sum() + 1)
            return np.asarray(tails[np.minimum(k - 1, weights.size).astype(np.int64)], dtype=np.float64)
        b = (np.asarray(k, dtype=np.float64) - 0.5) / steps
        density = np.exp(-(b**2) / 2) / math.sqrt(2 * math.pi) / steps**2
        first = -b
        third = -(b**3 - 3 * b) / steps**2
        fifth = -(b**5 - 10 * b**3 + 15 * b) / steps**4
        smooth = np.array([math.erfc(value / math.sqrt(2)) / 2 for value in b.ravel().tolist()]).reshape(b.shape)
        return np.asarray(
            smooth + density * (first / 24 - 7 * third / 5760 + 31 * fifth / 967680), dtype=np.float64
        )


def _weights(steps: float) -> tuple[Reals, Reals]:
    """Return 1, 2, 3, … and how likely each is compared with 0, as far as it matters."""
    places = np.arange(1, math.ceil(_FAR * steps) + 2, dtype=np.float64)
    return places, np.exp(-((places / steps) ** 2) / 2)


NoiseKind = Literal["laplace", "gaussian"]
"""What a caller may ask for; ``gaussian`` needs δ."""

NoiseDistribution = DiscreteLaplace | DiscreteGaussian
"""Any law of noise: what answers, reports and releases work with."""


def noise_distribution_from_json(data: Mapping[str, Any]) -> NoiseDistribution:
    """Read back any law.

    >>> noise_distribution_from_json({"law": "discrete-gaussian", "sigma": "5/2"})
    DiscreteGaussian(sigma=Fraction(5, 2), step=Fraction(1, 1), on='counts')
    """
    kinds: dict[str, type[NoiseDistribution]] = {
        "discrete-laplace": DiscreteLaplace,
        "discrete-gaussian": DiscreteGaussian,
    }
    return kinds[data["law"]].from_json(data)
