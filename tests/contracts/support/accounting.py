"""Checks of the accounting: its bounds against an independent numerical composition of mechanisms.

No statistics: each δ here is the exact one of real Gaussian noise, of binary picks, or of both in sequence. An
accountant that allows more than its ε and δ for such a sequence is wrong, whatever its derivation says.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from types import ModuleType

import numpy as np
from scipy import stats

from headcount.accounting import bounded_range, gdp, zcdp
from headcount.accounting.budget import Cost
from headcount.noise import gaussian, laplace
from headcount.noise.selection import exponential_zcdp

_ROUNDING = 1 + 1e-9

AMOUNTS = tuple(
    (Decimal(epsilon), Decimal(delta))
    for epsilon in ("0.05", "0.5", "1", "4")
    for delta in ("1e-3", "1e-6", "1e-9")
)


def gaussian_delta(mu: float, epsilon: float | np.ndarray) -> np.ndarray:
    """Return the exact δ at which one Gaussian release of distance ``mu`` is private at ε."""
    left = np.asarray(epsilon, dtype=np.float64)
    if not mu:
        return np.maximum(-np.expm1(left), 0.0)
    growth = np.exp(np.minimum(left, 700.0))
    delta: np.ndarray = stats.norm.sf(left / mu - mu / 2) - growth * stats.norm.sf(left / mu + mu / 2)
    return delta


def composed_delta(rounds: int, eta: float, mu: float, epsilon: float) -> float:
    """Return the exact δ of Gaussian noise and then picks with two losses, t and t - η; of the worst t tried."""
    worst, many = 0.0, np.arange(rounds + 1)
    for share in (0.42, 0.46, 0.5, 0.54):
        t = share * eta
        chance = (math.exp(eta) - math.exp(t)) / math.expm1(eta)
        left = epsilon - (many * t + (rounds - many) * (t - eta))
        worst = max(worst, float(stats.binom(rounds, chance).pmf(many) @ gaussian_delta(mu, left)))
    return worst


def renyi_of_pick(eta: float, alpha: float) -> float:
    """Return the largest Rényi divergence of a pick with two losses, t and t - η."""
    t = np.linspace(0.02, 0.98, 49) * eta
    chance = (math.exp(eta) - np.exp(t)) / math.expm1(eta)
    powers = chance * np.exp((alpha - 1) * t) + (1 - chance) * np.exp((alpha - 1) * (t - eta))
    return float(np.log(powers).max() / (alpha - 1))


def check_rho_for() -> None:
    """Gaussian noise of the ρ allowed is (ε, δ)-private, and that of twice the ρ is not."""
    for epsilon, delta in AMOUNTS:
        for more, sound in ((1, True), (2, False)):
            mu = math.sqrt(2 * more * float(zcdp.rho_for(epsilon, delta)))
            assert (gaussian_delta(mu, float(epsilon)) <= float(delta)) == sound, (epsilon, delta, more)


def check_epsilon_for() -> None:
    """Gaussian noise of some ρ is private at the ε it is said to imply."""
    for (_, delta), rho in itertools.product(AMOUNTS, ("0.0001", "0.02", "0.7")):
        implied = float(zcdp.epsilon_for(Decimal(rho), delta))
        assert gaussian_delta(math.sqrt(2 * float(rho)), implied) <= float(delta), (rho, delta)


def check_pure_rho() -> None:
    """Randomized response at ε has divergences of at most α ρ."""
    for epsilon, alpha in itertools.product((0.01, 0.3, 1.0, 3.0), (1.01, 2.0, 8.0, 64.0)):
        yes = 1 / (1 + math.exp(-epsilon))
        power = np.logaddexp(
            alpha * math.log(yes) + (1 - alpha) * math.log1p(-yes),
            alpha * math.log1p(-yes) + (1 - alpha) * math.log(yes),
        )
        allowed = alpha * float(zcdp.pure_rho(Decimal(str(epsilon))))
        assert power / (alpha - 1) <= allowed * _ROUNDING, (epsilon, alpha)


def check_gaussian_tails() -> None:
    """Bounds of tails, of δ and of μ enclose the exact ones within a billionth."""
    for x in (3.0, 5.0, 9.0):
        exact = float(stats.norm.sf(x))
        low, high = (float(bound(Decimal(str(x)))) for bound in (gdp.lower_tail, gdp.upper_tail))
        assert exact / _ROUNDING <= high <= exact * _ROUNDING
        assert exact / _ROUNDING <= low <= exact * _ROUNDING
        assert float(stats.norm.sf(float(gdp.quantile_above(Decimal(repr(exact)))))) <= exact * _ROUNDING
    for epsilon, delta in AMOUNTS:
        mu = gdp.mu_for(epsilon, delta)
        assert gaussian_delta(float(mu), float(epsilon)) <= float(delta) * (1 + 1e-6)
        assert gaussian_delta(float(mu) * 1.001, float(epsilon)) > float(delta)
        assert gaussian_delta(float(mu), float(epsilon)) <= float(gdp.delta_for(mu, epsilon)) * (1 + 1e-6)


def check_scales() -> None:
    """Each scale costs at most the amount that it is for, by the textbook rule of its noise."""
    for moved, amount in itertools.product((1, 7, 400), ("0.003", "0.5", "3")):
        exact = Fraction(amount)
        assert moved / laplace.scale_for(moved, exact) <= exact
        assert Fraction(moved) / (2 * gaussian.sigma_for(moved, Decimal(amount)) ** 2) <= exact
        for share in (Fraction(1, 1000), Fraction(1, 3), Fraction(1)):
            within = float(laplace.epsilon_within(exact, share))
            assert math.log1p(float(share) * math.expm1(within)) <= float(exact) * _ROUNDING
        for rounds, alpha in itertools.product((1, 12, 300), (1.05, 2.0, 20.0)):
            eta = moved / float(exponential_zcdp.scale_for_picks(rounds, moved, Decimal(amount)))
            assert rounds * renyi_of_pick(eta, alpha) <= alpha * float(exact) * _ROUNDING


PICKS = tuple(
    (rounds, Decimal(epsilon), Decimal("1e-6"), Decimal(before))
    for rounds, epsilon in ((2, "4"), (12, "1"), (60, "0.5"))
    for before in ("0", "0.3", "0.8")
)
"""How many picks, at which ε and δ, and which share of ρ Gaussian noise spends before them."""


def check_picks() -> None:
    """Gaussian noise and then as many picks as ρ* pays for are (ε, δ)-private; so is what a split price grants."""
    for rounds, epsilon, delta, before in PICKS:
        whole = zcdp.rho_for(epsilon, delta)
        beside, rho = whole * before, whole * (1 - before)
        paid = bounded_range.rho_of_picks(rounds, epsilon, delta, rho, beside, instead=False)
        _check_composed(rounds, epsilon, delta, paid, beside)
        if before:
            shares = {"first": before, "picks": 1 - before}
            price = Cost(epsilon, delta).split_rho(shares)["picks"].for_picks(rounds, instead=False)
            _check_composed(rounds, epsilon, delta, price.rho_of_rounds(rounds), beside)


def _check_composed(rounds: int, epsilon: Decimal, delta: Decimal, paid: Decimal, beside: Decimal) -> None:
    eta, mu = math.sqrt(8 * float(paid) / rounds), math.sqrt(2 * float(beside))
    exact = composed_delta(rounds, eta, mu, float(epsilon))
    stated_delta = bounded_range.delta_of(rounds, eta, float(epsilon), mu)
    assert exact <= float(delta), (
        f"{rounds} picks at ε = {epsilon} after Gaussian noise of ρ = {beside:.3g}: δ = {exact:.3g}, not {delta}"
    )
    assert exact <= stated_delta, (
        f"{rounds} picks, ρ = {beside:.3g} before: δ is {exact:.3g}, but delta_of says {stated_delta:.3g}"
    )


CHECKS: Mapping[str, Callable[[], None]] = {
    "rho_for": check_rho_for,
    "epsilon_for": check_epsilon_for,
    "pure_rho": check_pure_rho,
    "upper_tail": check_gaussian_tails,
    "lower_tail": check_gaussian_tails,
    "quantile_above": check_gaussian_tails,
    "delta_for": check_gaussian_tails,
    "mu_for": check_gaussian_tails,
    "rho_of_picks": check_picks,
    "delta_of": check_picks,
    "scale_for": check_scales,
    "scale_for_picks": check_scales,
    "sigma_for": check_scales,
    "epsilon_within": check_scales,
}
"""The check of each function that turns amounts of privacy into each other, or into noise."""

MODULES: tuple[ModuleType, ...] = (zcdp, gdp, bounded_range, exponential_zcdp, gaussian, laplace)


def accounting_functions() -> Iterator[str]:
    """Yield the public functions that return an amount, a scale or a bound of one."""
    for module in MODULES:
        for name, function in vars(module).items():
            if name.startswith("_") or getattr(function, "__module__", None) != module.__name__:
                continue
            if not callable(function) or isinstance(function, type):
                continue
            if inspect.signature(function).return_annotation in ("Decimal", "Fraction", "float"):
                yield name
