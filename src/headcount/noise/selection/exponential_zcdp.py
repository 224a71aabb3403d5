"""Scale of the exponential mechanism at a ρ (zCDP) for k rounds, by bounded range.

A pick takes candidate i with probability proportional to w_i = exp(u_i / scale), u_i being its utility. That is
the same as adding independent Gumbel noise of that scale to all utilities and taking the largest, and K picks, one
after the other among those that are left, are the K largest of one such draw, in order.

Why it is private
    A user who joins raises every utility by something between 0 and ``rise``. So w_i grows by a factor between 1
    and e^η, where η = rise / scale, and the sum of all weights by some factor c that is the same for all i. The
    probability of i changes by a factor between 1 / c and e^η / c. The loss Z = ln(P'(i) / P(i)) hence lies in an
    interval of length η, with the user and without: the pick has *bounded range* η.

    For λ >= 0 let K(λ) = ln E_P[e^(λ Z)]. K(0) = 0, and K(1) = 0, since E_P[P'/P] = 1. K''(λ) is the variance of Z
    under a law on that interval, hence at most η² / 4 (Popoviciu). So K(λ) - λ (λ - 1) η² / 8 is concave and 0 at
    both 0 and 1, and nowhere above 0 beyond 1. The Rényi divergence of order α > 1 is K(α) / (α - 1), at most
    α η² / 8. Nothing in this tells P from P': the same holds for a user who leaves. The pick is η² / 8-zero-
    concentrated differentially private.

    Given the picks before, which candidates are left is known. So K picks are ρ-zero-concentrated for ρ = K η² / 8
    (adaptive composition: at each order α divergences add up, each at its worst), and scale = rise · √(K / (8 ρ))
    pays for them, rounded up. Which ρ implies (ε, δ) is said by :mod:`headcount.accounting.zcdp`, rounded down.
    OpenDP's privacy map for Gumbel noise confirms the scale.

    None of this holds for permute-and-flip, whose losses do not stay within η of each other: of two candidates,
    one η behind in scales of noise and then level, the range for η = 1 is 1.49, and the divergence of order 1 is
    0.255 where η² / 8 = 0.125. So what is paid with ρ is never permute-and-flip.

    At an ε and a δ, K picks with nothing after them may cost more than the ρ that implies these: they compose
    better (:mod:`headcount.accounting.bounded_range`). The scale is then that of the larger ρ, which is what a
    ledger with the filter ``zcdp`` counts.

Reference
    D. Durfee, R. Rogers. Practical Differentially Private Top-k Selection with Pay-what-you-get Composition.
    NeurIPS 2019, for bounded range and Gumbel noise.
    M. Cesar, R. Rogers. Bounding, Concentrating, and Truncating: Unifying Privacy Loss Composition for Data
    Analytics. ALT 2021, for η² / 8.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from headcount.errors import HeadcountError
from headcount.noise import opendp_doorway
from headcount.noise.gaussian import sigma_for

GUMBEL_DEVIATION = math.pi / math.sqrt(6)
"""The standard deviation of Gumbel noise, in scales."""

SWAP_ONE_IN_SIX = math.log(5)
"""So many scales apart, two candidates are swapped one time in six: with probability 1 / (1 + e^x)."""


def scale_for_picks(k: int, rise: int, rho: Decimal) -> Fraction:
    """Return the scale rise · √(k / (8 ρ)), rounded up to what the integer sampler can draw.

    It is the σ of Gaussian noise that pays for k · rise² in squares at 4 ρ.

    >>> from headcount.accounting.budget import Cost
    >>> round(float(scale_for_picks(100, 1, Cost.of("0.5", "1e-6").rho)), 2)
    43.38
    """
    return sigma_for(k * rise**2, 4 * rho)


@lru_cache(maxsize=1024)
def confirm(scale: Fraction, k: int, rise: int, rho: Decimal) -> None:
    """Let OpenDP's privacy map for Gumbel noise confirm that ``k`` picks at ``scale`` pay for ``rise`` at ρ."""
    pick = opendp_doorway.noisy_max("zero_concentrated_divergence", float(scale))  # float is exact here
    if not k * pick.map(rise) <= float(rho) * (1 + 1e-9):
        raise HeadcountError(f"{k} picks at scale {scale} do not pay for a rise of {rise} at ρ = {rho}")
