"""Additive noise on bounded values (discrete Laplace or Gaussian), and its distribution for a plan.

Short vectors are served by OpenDP, the reference; long ones, and seeded tests, by bulk samplers, which are exact
in integers and tested to have the same laws. In both cases OpenDP's own privacy map confirms that the noise pays
for the sensitivity before anything is drawn. Why it is private is said by :mod:`headcount.noise.laplace` and
:mod:`headcount.noise.gaussian`.
"""

from __future__ import annotations

from fractions import Fraction

from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import DiscreteGaussian, DiscreteLaplace, NoiseDistribution
from headcount.bounds import Bounded, Noisy, Norm, Sensitivity
from headcount.noise import gaussian, laplace
from headcount.noise.randomness import NoiseSource, OperatingSystemNoise

_SHORT = 2_000  # below this OpenDP is quick enough


def add_noise(bounded: Bounded, grant: Grant, source: NoiseSource, *, at_least: int = 0) -> Noisy:
    """Spend the grant on noise for every value, zeros included: Gaussian if it has δ, else Laplace.

    Laplace noise is what the sensitivity needs, or what one of ``at_least`` would need if that is more.
    """
    if type(bounded) is not Bounded:
        raise TypeError(f"noise is added to Bounded values alone, not to {type(bounded).__name__}")
    distribution = _confirmed(bounded, grant.cost, at_least)
    grant.spend()
    exact = bounded.sensitive_values
    kind = gaussian if isinstance(distribution, DiscreteGaussian) else laplace
    if exact.size < _SHORT and isinstance(source, OperatingSystemNoise):
        values = kind.opendp_release(exact, distribution)
    else:
        values = exact + kind.draw(distribution, exact.size, source).reshape(exact.shape)
    return Noisy(values, distribution.divided(bounded.unit))


def noise_distribution_for(
    sensitivity: Sensitivity, cost: Cost, *, unit: int = 1, on: str = "counts"
) -> NoiseDistribution:
    """Return the noise that numbers which move so far will get at a price; refuse what cannot be drawn.

    They count multiples of 1 / ``unit``, and so does the sensitivity.

    >>> noise_distribution_for(Sensitivity.of_l1(10), Cost.of("0.5"))
    DiscreteLaplace(scale=Fraction(20, 1), step=Fraction(1, 1), on='counts')
    >>> round(float(noise_distribution_for(Sensitivity.of_l1(10), Cost.of("1", "1e-6")).variance) ** 0.5, 3)
    45.309
    """
    step = Fraction(1, unit)
    if cost.delta:
        return DiscreteGaussian(gaussian.sigma_for(sensitivity.l2_squared, cost.rho) * step, step, on)
    return DiscreteLaplace(laplace.scale_for(sensitivity.l1, cost.exact) * step, step, on)


def noise_norm(cost: Cost) -> Norm:
    """Return the norm in which noise pays for a distance: L2 if it is Gaussian, else L1."""
    return "l2" if cost.delta else "l1"


def _confirmed(bounded: Bounded, cost: Cost, at_least: int) -> NoiseDistribution:
    """Return the noise that bounded values need, in whole steps, once OpenDP has confirmed it."""
    sensitivity = bounded.sensitivity
    if cost.delta:
        if bounded.admission != 1 or at_least:
            raise TypeError("Gaussian noise is for values of everyone, not of users that were drawn by lot")
        cost.check_no_picks()
        sigma = gaussian.sigma_for(sensitivity.l2_squared, cost.rho)
        gaussian.confirm(sigma, sensitivity.l2_squared, cost)
        return DiscreteGaussian(sigma)
    within = laplace.epsilon_within(cost.exact, bounded.admission)
    scale = laplace.scale_for(sensitivity.l1, within)
    if at_least > 0:
        scale = max(scale, laplace.scale_for(at_least, cost.exact))
    laplace.confirm(scale, sensitivity.l1, within)
    return DiscreteLaplace(scale)
