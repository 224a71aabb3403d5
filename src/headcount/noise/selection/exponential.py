"""The exponential mechanism: one candidate, with pure ε.

Top-k choices are in top_k; choices at a ρ are in exponential_zcdp.

Each candidate i is chosen with probability proportional to exp(-ε · behind_i / spread), exactly: the sampler of
:mod:`headcount.noise.samplers.kernels.exponential` works in integers, on a scale spread / ε that is rounded up
where it must be. Before anything is drawn, OpenDP's privacy map for choosing the best confirms that the scale
pays for it.

Why it is private
    One person joining or leaving changes the utility u_i of candidate i by Δ_i, and all Δ_i lie between some a and
    a + spread. The weight w_i = exp(u_i / scale) changes by a factor between e^(a / scale) and
    e^((a + spread) / scale), and so does the sum of all weights. So the probability w_i / Σ_j w_j changes by a
    factor between e^(-spread / scale) and e^(spread / scale), and spread / scale <= ε. What all candidates gain
    alike, a, cancels, and so does the best utility: counting from it changes no probability.

    Gaps are cut at ``FURTHEST_BEHIND`` = F, which puts max(u_i, max_j u_j - F) in place of u_i. Both terms change
    by something between a and a + spread, so their maximum does too, and the argument stands.

    The promise is about what is chosen, not about how long it takes: tries are repeated until one is accepted,
    the more often the fewer good candidates there are. The time depends on the data and must not be shown.

Departures from the paper
    ε / spread in the exponent instead of ε / 2Δ: where all utilities move in one direction this is twice as sharp.

Reference
    F. McSherry, K. Talwar. Mechanism Design via Differential Privacy. FOCS 2007.
    J. Dong, D. Durfee, R. Rogers. Optimal Differential Privacy Composition for Exponential Mechanisms. ICML 2020,
    for the spread ("range") in place of twice the sensitivity.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from headcount.accounting.budget import Grant
from headcount.bounds import Scored
from headcount.errors import HeadcountError
from headcount.noise import opendp_doorway
from headcount.noise.laplace import scale_for
from headcount.noise.randomness import NoiseSource

_BUFFER = 1 << 18  # words asked for at a time, at most
_WORDS_PER_TRY = 4  # about what one try uses


def choose_candidate(scored: Scored, grant: Grant, source: NoiseSource) -> int:
    """Spend the grant on the choice of one candidate; return its index."""
    if type(scored) is not Scored:
        raise TypeError(f"a choice is made from Scored candidates alone, not from {type(scored).__name__}")
    grant.cost.check_pure("the exponential mechanism")
    spread = max(scored.spread, 1)
    scale = scale_for(spread, grant.exact)
    confirm(scale, spread, grant.exact)
    grant.spend()
    return draw(scored.sensitive_gaps, scale, source)


@lru_cache(maxsize=1024)
def confirm(scale: Fraction, spread: int, epsilon: Fraction) -> None:
    """Let OpenDP's privacy map confirm that a choice at ``scale`` pays for ``spread`` at ``epsilon``.

    Utilities that all move in one direction, by at most ``spread``, are what OpenDP calls monotonic.
    """
    rounded = float(scale)
    if Fraction(rounded) < scale:
        rounded = math.nextafter(rounded, math.inf)
    granted = math.nextafter(float(epsilon), math.inf)
    if not opendp_doorway.noisy_max("max_divergence", rounded).map(spread) <= granted * (1 + 1e-12):
        raise HeadcountError(f"a choice at scale {scale} does not pay for a spread of {spread} at ε = {epsilon}")


def draw(behind: NDArray[np.int32], scale: Fraction, source: NoiseSource) -> int:
    """Draw an index with probability proportional to exp(-behind / scale)."""
    from headcount.noise.samplers.kernels import exponential

    wanted = min(_WORDS_PER_TRY * behind.size + 64, _BUFFER)
    left = np.empty(0, dtype=np.uint32)
    while True:
        words = np.concatenate([left, source.words(wanted)])
        index, used = exponential.exponential_choice(behind, scale.numerator, scale.denominator, words)
        if index >= 0:
            return int(index)
        left = words[used:]
