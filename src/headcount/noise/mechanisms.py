"""Noise on bounded numbers, Laplace or Gaussian by what pays for it; and, for plans, which noise that will be.

Short vectors are served by OpenDP, the reference; long ones, and seeded tests, by bulk samplers, which are exact
in integers and tested to have the same laws. In both cases OpenDP's own privacy map confirms that the noise pays
for the sensitivity before anything is drawn. Why it is private is said by :mod:`headcount.noise.laplace` and
:mod:`headcount.noise.gaussian`.
"""

from __future__ import annotations

from fractions import Fraction

from headcount.accounting.budget import Grant, Price
from headcount.accounting.noise_distributions import DiscreteGaussian, DiscreteLaplace, Law
from headcount.bounds import Bounded, Noisy, Norm, Sensitivity
from headcount.noise import gaussian, laplace
from headcount.noise.randomness import NoiseSource, OperatingSystemNoise

_SHORT = 2_000  # below this OpenDP is quick enough


def add(bounded: Bounded, grant: Grant, source: NoiseSource, *, at_least: int = 0) -> Noisy:
    """Spend the grant on noise for every value, zeros included: Gaussian if it has δ, else Laplace.

    Laplace noise is what the sensitivity needs, or what one of ``at_least`` would need if that is more.
    """
    if type(bounded) is not Bounded:
        raise TypeError(f"noise is added to Bounded values alone, not to {type(bounded).__name__}")
    law = _confirmed(bounded, grant.price, at_least)
    grant.spend()
    exact = bounded.sensitive_values
    kind = gaussian if isinstance(law, DiscreteGaussian) else laplace
    if exact.size < _SHORT and isinstance(source, OperatingSystemNoise):
        values = kind.opendp_release(exact, law)
    else:
        values = exact + kind.draw(law, exact.size, source).reshape(exact.shape)
    return Noisy(values, law.divided(bounded.unit))


def law_of(moved: Sensitivity, price: Price, *, unit: int = 1, on: str = "counts") -> Law:
    """Return the noise that numbers which move so far will get at a price; refuse what cannot be drawn.

    They count multiples of 1 / ``unit``, and so does the sensitivity.

    >>> law_of(Sensitivity.of_l1(10), Price.of("0.5"))
    DiscreteLaplace(scale=Fraction(20, 1), step=Fraction(1, 1), on='counts')
    >>> round(float(law_of(Sensitivity.of_l1(10), Price.of("1", "1e-6")).variance) ** 0.5, 3)
    45.309
    """
    step = Fraction(1, unit)
    if price.delta:
        return DiscreteGaussian(gaussian.sigma_for(moved.l2_squared, price.rho) * step, step, on)
    return DiscreteLaplace(laplace.scale_for(moved.l1, price.exact) * step, step, on)


def norm_of(price: Price) -> Norm:
    """Return the norm in which noise pays for a distance: L2 if it is Gaussian, else L1."""
    return "l2" if price.delta else "l1"


def _confirmed(bounded: Bounded, price: Price, at_least: int) -> Law:
    """Return the noise that bounded values need, in whole steps, once OpenDP has confirmed it."""
    moved = bounded.sensitivity
    if price.delta:
        if bounded.admission != 1 or at_least:
            raise TypeError("Gaussian noise is for values of everyone, not of users that were drawn by lot")
        price.check_no_picks()
        sigma = gaussian.sigma_for(moved.l2_squared, price.rho)
        gaussian.confirm(sigma, moved.l2_squared, price)
        return DiscreteGaussian(sigma)
    within = laplace.epsilon_within(price.exact, bounded.admission)
    scale = laplace.scale_for(moved.l1, within)
    if at_least > 0:
        scale = max(scale, laplace.scale_for(at_least, price.exact))
    laplace.confirm(scale, moved.l1, within)
    return DiscreteLaplace(scale)
