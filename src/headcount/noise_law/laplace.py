"""Discrete Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

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
    def alpha(self) -> float:
        """The ratio of neighbouring probabilities, exp(-step / scale)."""
        return math.exp(-self.step / self.scale)

    @cached_property
    def variance(self) -> float:
        """The exact variance, 2α / (1 - α)² steps squared."""
        return 2 * self.alpha / math.expm1(-self.step / self.scale) ** 2 * float(self.step) ** 2

    def times(self, factor: Fraction) -> DiscreteLaplace:
        """Return the law of the noise on counts that are multiplied by a positive number."""
        return DiscreteLaplace(self.scale * factor, self.step * factor)

    def divided(self, by: int) -> DiscreteLaplace:
        """Return the law of the noise divided by a whole number."""
        return self.times(Fraction(1, by))

    def cdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P(X <= x), for real x."""
        below = np.floor(np.asarray(x, dtype=np.float64) / float(self.step))
        steps = np.abs(np.where(below >= 0, below + 1, below))
        tail = np.exp(-steps * float(self.step / self.scale)) / (1 + self.alpha)
        return np.where(below >= 0, 1 - tail, tail)

    def log_ratio(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln P(x) - ln P(0), for multiples x of the step."""
        return np.asarray(-np.abs(x) / float(self.scale))

    def half_width(self, level: float) -> float:
        """Return the smallest multiple w of the step with P(abs(X) <= w) >= level."""
        # in steps, P(|X| > w) = 2 α^(w+1) / (1 + α)
        w = math.log((1 - level) * (1 + self.alpha) / 2) * -float(self.scale / self.step) - 1
        return max(0, math.ceil(w - 1e-9)) * float(self.step)

    def in_words(self) -> str:
        """Say which noise it is, and how much.

        >>> DiscreteLaplace(Fraction(20)).in_words()
        'discrete Laplace noise of scale 20 (standard deviation 28.28)'
        """
        deviation = f"standard deviation {self.variance**0.5:.4g}"
        return f"discrete Laplace noise of scale {float(self.scale):.4g} ({deviation})"

    def to_json(self) -> dict[str, Any]:
        """Return the law as plain data."""
        return {"law": "discrete-laplace", "scale": str(self.scale), **where(self.step, self.on)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DiscreteLaplace:
        """Read back what :meth:`to_json` wrote."""
        return cls(Fraction(data["scale"]), Fraction(data.get("step", 1)), data.get("on", "counts"))


def where(step: Fraction, on: str) -> dict[str, Any]:
    """Return what a law says beside its spread, where that is not the usual."""
    return ({} if step == 1 else {"step": str(step)}) | ({} if on == "counts" else {"on": on})
