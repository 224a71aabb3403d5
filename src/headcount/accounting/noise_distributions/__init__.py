"""Noise distributions of released values: public, and used by intervals, reports and releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from headcount.accounting.noise_distributions.gaussian import DiscreteGaussian
from headcount.accounting.noise_distributions.laplace import DiscreteLaplace

__all__ = ["DiscreteGaussian", "DiscreteLaplace", "NoiseDistribution", "NoiseKind", "noise_distribution_from_json"]

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
