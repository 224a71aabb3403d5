"""The exact laws of the noise that releases carry: public numbers that every answer may use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class DiscreteLaplace:
    """Integers x with probability proportional to exp(-abs(x) / scale).

    >>> law = DiscreteLaplace(Fraction(10))
    >>> round(law.variance, 2), law.half_width(0.95)
    (199.83, 30)
    """

    scale: Fraction

    @property
    def alpha(self) -> float:
        """The ratio of neighbouring probabilities, exp(-1 / scale)."""
        return math.exp(-1 / self.scale)

    @property
    def variance(self) -> float:
        """The exact variance, 2α / (1 - α)²."""
        return 2 * self.alpha / math.expm1(-1 / self.scale) ** 2

    def cdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P(X <= x), for real x."""
        below = np.floor(np.asarray(x, dtype=np.float64))
        tail = np.exp(-np.abs(np.where(below >= 0, below + 1, below)) / float(self.scale)) / (1 + self.alpha)
        return np.where(below >= 0, 1 - tail, tail)

    def half_width(self, level: float) -> int:
        """Return the smallest whole w with P(abs(X) <= w) >= level."""
        # P(|X| > w) = 2 α^(w+1) / (1 + α)
        w = math.log((1 - level) * (1 + self.alpha) / 2) * -float(self.scale) - 1
        return max(0, math.ceil(w - 1e-9))

    def to_json(self) -> dict[str, Any]:
        """Return the law as plain data."""
        return {"law": "discrete-laplace", "scale": str(self.scale)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DiscreteLaplace:
        """Read back what :meth:`to_json` wrote."""
        return cls(Fraction(data["scale"]))
