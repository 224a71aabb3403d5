r"""Private item selection (partition selection) with many items per user: weighted rounds of Gaussian noise.

Selection with one item per user is in single_key; a plain noisy threshold is in threshold.

For people who have many items. In every round each person spreads a vector of weights over their items whose
L2 norm is at most 1. Every item gets discrete Gaussian noise on its weight; the noisy weights of all rounds so
far are added up, more of later rounds, and an item whose sum reaches a threshold is found. The sums of the
others tell people where to put their weight in the next round: nothing on what is found, more on what lies
closer below the threshold. So little is wasted on items that are far above it, or hopelessly below. What comes
out is the set of items found; the noisy sums stay inside.

With rounds k = 1 … 5, shares s = A / 20 of μ² for A = 2, 3, 4, 5, 6, and weights in steps of 2^-16: the noise
of round k has σ² = 2^32 / (s μ²) + 16, and an item is found in round r if T = Σ A y over the rounds up to r is
at least t.

Why it is private
    Let D be a log and D' the same with one person more, who keeps n of their items, at most 512, the same ones
    in every round. Take the noisy weights of *all* items there could be, those that nobody has included, as
    the transcript z of the rounds. Nothing is ever read of an item but by people who keep it, so noise on the
    others need not be drawn.

    *The transcript.* Given the rounds before, a person's weights hang on their own items and draws and on z
    alone. So D and D' differ in a round by the person's own vector of weights, of L2 norm at most 2^16 steps.
    Discrete Gaussian noise of variance σ² is what comes out if real Gaussian noise of variance σ² - 16 is
    rounded at random: y becomes the whole number x with probability proportional to exp(-(x - y)² / 32). For
    the sum of that over all x is the same for every y but for a factor within 1 ± 3 e^(-32 π²), and where it
    is the same, the two exponents integrate to exp(-(x - m)² / (2 σ²)) for the mean m. Rounding knows nothing
    of m, so a round is no easier to see through than real Gaussian noise with μ_k = 2^16 / √(σ² - 16), but for
    that factor on each of the n items: less than 10^-130 in all, which the roundings of
    :mod:`headcount.accounting.gdp` outweigh. Rounds whose μ_k² sum to μ² are together as one with μ, though each
    knows those before. Hence for every set S of transcripts P(S) <= e^ε P'(S) + δ₁, and P'(S) <= e^ε P(S) + δ₁,
    where μ implies ε and δ₁.

    *Items of nobody else.* Let N be the items that the person keeps and nobody else does; all others that
    anybody keeps are kept by somebody under D as well. Let B be the transcripts in which some item of N has T
    >= t in some round. The person gives an item at most c(n) in any round, whatever happened before. So T is
    at most Σ A (c(n) + x) with the noise x of the rounds. Such noise is at most real Gaussian noise of the
    same σ plus one step, in law: P(x >= k) = Σ_{j >= k} e^(-j²/2σ²) / Σ_j e^(-j²/2σ²) is at most the integral
    from k - 1 on over √(2π) σ, for k >= 1 since the terms fall and since the sum over all j is at least √(2π)
    σ by Poisson's formula; for k <= 0 by looking at the other side, but for a factor of 1 + e^(-19 σ²). Sums
    of independent numbers keep that order. So P'(T >= t) <= Q((t - Σ A (c(n) + 1)) / √(Σ A² σ²)), which the
    ceilings c are chosen for to be at most δ_r / n in round r. Hence P'(B) <= Σ_r δ_r = δ₂; and P(B) <= δ₂,
    since without the person the weights there are 0.

    *Together.* Outside of B, what is found is the same function of the transcript for D as for D': among items
    kept by others, those that reach the threshold. So with S the transcripts that make an outcome in O under
    D, P(O) = P(S) <= P(S \ B) + δ₂ <= e^ε P'(S \ B) + δ₁ + δ₂ <= e^ε P'(O) + δ, and P'(O) <= P'(S \ B) + δ₂ <=
    e^ε P(O) + δ. This holds for any fixed draws of who keeps what, and so on average.

    How long it takes hangs on how many items there are, which is private, and must not be shown.

Departures from the papers
    Weights by earlier noisy weights as in MAD2R, and rounds as in DP-SIPS; but all rounds count, by adding up.
    The rule for the weights is our own. Discrete noise, exact samplers; μ instead of ρ, which is about a tenth
    tighter.

Reference
    S. Gopi, P. Gulhane, J. Kulkarni, J. H. Shen, M. Shokouhi, S. Yekhanin. Differentially Private Set Union. ICML
    2020.
    M. Swanberg, D. Desfontaines, S. Haney. DP-SIPS: A Simpler, More Scalable Mechanism for Differentially Private
    Partition Selection. PoPETs 2023.
    J. Chen, V. Cohen-Addad, A. Epasto, M. Zadimoghaddam. Scalable Private Partition Selection via Adaptive
    Weighting. ICML 2025.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount._internal.arrays import Integers
from headcount.accounting.budget import Cost, Grant
from headcount.accounting.exclusive import ExclusiveResource
from headcount.accounting.gdp import mu_for, quantile_above, upper_tail
from headcount.accounting.noise_distributions import DiscreteGaussian
from headcount.bounds.keys.key_weights import MAX_HINT, UNITS, BoundedKeyWeights, KeyHints, KeyWeights
from headcount.errors import GrantError, HeadcountError
from headcount.noise import gaussian
from headcount.noise.randomness import NoiseSource

ROUND_SHARES = (2, 3, 4, 5, 6)
"""The shares of μ² that the rounds have, in twentieths: as much counts what each of them saw."""

MAX_ITEMS = 512
"""How many items of one person count."""

_UNIT = UNITS["roots"]
_NUMBERS = tuple(1 << k for k in range(10))  # of items that a ceiling is worked out for; the last is MOST_ITEMS
_ROUNDED = 16  # the variance of the random rounding in the proof, in steps
_DELTA_OF_NEW_ITEMS = Decimal("0.3")  # of δ, for items of one person alone
_DELTA_SPLIT = tuple(Decimal(share) for share in ("0.1", "0.1", "0.1", "0.1", "0.6"))  # of that
_MIN_CEILING = 2.0  # a ceiling for n items is at least so many times 1/√n

# how weights follow the sum of an item, in deviations: e^(x/2), level from near the threshold on
_STEEPNESS, _LEVEL, _LOWEST, _HIGHEST, _FACTOR_UNIT = 0.5, 0.85, -6.0, 6.0, 64


@dataclass(frozen=True)
class SelectionRounds:
    """The noise of each round, the thresholds, and the ceilings of weights: known without data."""

    sigmas: tuple[Fraction, ...]
    thresholds: tuple[int, ...]
    ceilings: tuple[tuple[int, int], ...]

    @property
    def weight(self) -> float:
        """About how much weight lies on an item that is found, if it is the same in all rounds."""
        return self.thresholds[-1] / sum(ROUND_SHARES) / _UNIT

    def deviation(self, number: int) -> Decimal:
        """Return the deviation of the sum after so many rounds, rounded up."""
        return self._deviations[number - 1]

    @cached_property
    def _deviations(self) -> tuple[Decimal, ...]:
        squares = accumulate(Fraction(a) ** 2 * s**2 for a, s in zip(ROUND_SHARES, self.sigmas, strict=True))
        with localcontext() as context:
            context.prec, context.rounding = 40, ROUND_CEILING
            return tuple(_decimal(square).sqrt() * (1 + Decimal("1e-30")) for square in squares)


@lru_cache(maxsize=256)
def plan_rounds(cost: Cost) -> SelectionRounds:
    """Return what the rounds are like at a price.

    >>> made = plan_rounds(Cost.of("1", "1e-6"))
    >>> round(made.weight, 1), [round(weight / 2**16, 2) for _, weight in made.ceilings[-3:]]
    (26.6, [1.0, 0.56, 0.09])
    """
    cost.check_whole()
    if not cost.delta:
        raise GrantError("items are selected with δ above 0 alone", remedy="give a delta, such as 1e-6")
    new = cost.delta * _DELTA_OF_NEW_ITEMS
    mu = mu_for(cost.epsilon, cost.delta - new)
    sigmas = tuple(_sigma(mu, share) for share in ROUND_SHARES)
    noise_only = SelectionRounds(sigmas, (), ())
    chances = [new * share for share in _DELTA_SPLIT]
    thresholds = tuple(
        _threshold(noise_only, number, chances[number - 1]) for number in range(1, len(ROUND_SHARES) + 1)
    )
    with_thresholds = SelectionRounds(sigmas, thresholds, ())
    return SelectionRounds(sigmas, thresholds, tuple((n, _ceiling(with_thresholds, n, chances)) for n in _NUMBERS))


def _sigma(mu: Decimal, share: int) -> Fraction:
    """Return the deviation of a round's noise, in steps, rounded up."""
    with localcontext() as context:
        context.prec = 50
        variance = sum(ROUND_SHARES) * Decimal(_UNIT) ** 2 / (share * mu * mu) + _ROUNDED
        sigma = gaussian.sigma_for(_UNIT**2, Decimal(_UNIT) ** 2 / (2 * variance))
    if sigma**2 < Fraction(variance) * (1 - Fraction(1, 10**30)):
        raise HeadcountError(f"noise of σ = {sigma} is less than {variance} asks for")
    return sigma


def _threshold(noise_only: SelectionRounds, number: int, chance: Decimal) -> int:
    """Return a threshold that leaves everybody room for at least 2/√n of weight, for n items."""
    deviation, again = noise_only.deviation(number), sum(ROUND_SHARES[:number])
    most = 0
    for items in _NUMBERS:
        max_weight = again * math.ceil(_UNIT * min(1.0, _MIN_CEILING / math.sqrt(items)) + 1)
        high = quantile_above(chance / items) * deviation
        most = max(most, max_weight + int(high.to_integral_value(ROUND_CEILING)))
    return most


def _ceiling(with_thresholds: SelectionRounds, items: int, chances: list[Decimal]) -> int:
    """Return the most that a person with so many items may give one of them, in any round."""
    least = _UNIT
    for number, chance in enumerate(chances, start=1):
        deviation, again = with_thresholds.deviation(number), sum(ROUND_SHARES[:number])
        with localcontext() as context:
            context.prec, context.rounding = 40, ROUND_FLOOR
            room = (
                with_thresholds.thresholds[number - 1] - quantile_above(chance / items) * deviation
            ) / again - 1
        ceiling = min(_UNIT, int(room.to_integral_value(ROUND_FLOOR)))
        beyond = (with_thresholds.thresholds[number - 1] - again * (ceiling + 1)) / deviation
        if ceiling < 1 or upper_tail(beyond) * items > chance:
            raise HeadcountError(f"a threshold of round {number} does not pay for δ = {chance}")
        least = min(least, ceiling)
    return least


class WeightedSelection(ExclusiveResource):
    """Rounds of one selection: all of the grant is spent at the start.

    Ask for the :attr:`bound` of each round, measure it with one secret throughout, and :meth:`take_round` the
    outcome.
    """

    noun = "a selection of items"

    def __init__(self, grant: Grant, source: NoiseSource) -> None:
        super().__init__()
        self._rounds = plan_rounds(grant.cost)
        for sigma in self._rounds.sigmas:
            gaussian.confirm_for_rho(sigma, _UNIT**2, Decimal(_UNIT) ** 2 / (2 * _decimal(sigma) ** 2))
        grant.spend()
        self._source, self._number = source, 0
        self._hints: KeyHints | None = None
        self._ids: pa.Array | None = None
        self._sums: Integers = np.empty(0, dtype=np.int64)
        self._selected: list[Any] = []

    @property
    def left(self) -> int:
        """How many rounds are left."""
        return len(ROUND_SHARES) - self._number

    @property
    def bound(self) -> KeyWeights:
        """What is measured in the next round."""
        return KeyWeights("roots", MAX_ITEMS, self._rounds.ceilings, self._hints)

    @property
    def selected(self) -> list[str] | list[int]:
        """The items found so far, sorted."""
        selected: list[Any] = sorted(self._selected)
        return selected

    def take_round(self, weights: BoundedKeyWeights) -> None:
        """Take in what was measured in a round."""
        if type(weights) is not BoundedKeyWeights or weights.bound != self.bound:
            raise TypeError("a round takes BoundedKeyWeights of its own bound alone")
        with self.exclusively():
            if not self.left:
                raise GrantError("all rounds that were paid for are over")
            number, self._number = self._number, self._number + 1
            ids, distribution = weights.sensitive_ids, DiscreteGaussian(self._rounds.sigmas[number])
            noisy = weights.sensitive_weights + gaussian.draw(distribution, len(ids), self._source)
            sums = ROUND_SHARES[number] * noisy + self._before(ids)
            enough = sums >= self._rounds.thresholds[number]
            self._selected += ids.filter(pa.array(enough)).to_pylist()
            self._ids, self._sums = ids, sums
            self._hints = KeyHints(ids, np.where(enough, 0, self._factors(sums)))

    def _before(self, ids: pa.Array) -> Integers:
        """Return the sums so far of items that are still looked for: all of them came up in every round."""
        if self._ids is None:
            return np.zeros(len(ids), dtype=np.int64)
        places = pc.index_in(ids, value_set=self._ids)
        if places.null_count:
            raise HeadcountError("an item came up that was not there in the round before")
        return np.asarray(self._sums[places.to_numpy()])

    def _factors(self, sums: Integers) -> Integers:
        """Return how much each item is to get in the next round, from its sum alone."""
        done, all_rounds = sum(ROUND_SHARES[: self._number]), sum(ROUND_SHARES)
        deviation = float(self._rounds.deviation(self._number))
        level = _LEVEL * self._rounds.thresholds[self._number - 1] / deviation * math.sqrt(done / all_rounds)
        heights = np.clip(sums / deviation, _LOWEST, min(_HIGHEST, level))
        factors = np.rint(_FACTOR_UNIT * np.exp(_STEEPNESS * heights)).astype(np.int64)
        return np.asarray(np.clip(factors, 1, MAX_HINT))


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
