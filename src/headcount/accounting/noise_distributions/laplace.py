"""Discrete Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

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
