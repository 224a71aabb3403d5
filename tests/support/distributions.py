"""Exact noise distributions and goodness-of-fit tests, written independently of the product."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

LEVEL = 1e-7
"""The false-alarm rate of every statistical test of the suite: below one in a million, and no retries."""


def laplace_upper_tail(scale: Fraction, k: int) -> float:
    """P(X >= k) of the discrete Laplace law, for k >= 1: α^k / (1 + α)."""
    alpha = math.exp(-1 / scale)
    return math.exp(-k / scale) / (1 + alpha)


def laplace_probabilities(scale: Fraction, cuts: Sequence[int]) -> list[float]:
    """Return the probabilities of (-∞, c0), [c0, c1), …, [c_last, ∞) under the discrete Laplace law."""

    def below(cut: int) -> float:  # P(X < cut)
        return laplace_upper_tail(scale, 1 - cut) if cut <= 0 else 1 - laplace_upper_tail(scale, cut)

    borders = [0.0, *(below(cut) for cut in cuts), 1.0]
    return [high - low for low, high in itertools.pairwise(borders)]


def laplace_cuts(scale: Fraction, draws: int, most: int = 40) -> list[int]:
    """Choose whole-number cuts such that every cell expects at least 20 of ``draws`` values."""
    cells = max(2, min(most, draws // 20))
    wanted = [-float(scale) * math.log(2 * (1 - q)) if q > 0.5 else float(scale) * math.log(2 * q)
              for q in (n / cells for n in range(1, cells))]  # fmt: skip
    cuts = sorted({math.ceil(cut) for cut in wanted} | {0, 1})
    while True:
        expected = [draws * p for p in laplace_probabilities(scale, cuts)]
        smallest = min(range(len(expected)), key=lambda cell: expected[cell])
        if expected[smallest] >= 20 or len(cuts) == 1:
            return cuts
        cuts.pop(min(smallest, len(cuts) - 1))


def fits_laplace(values: NDArray[np.int64], scale: Fraction) -> float:
    """Return the p-value of a chi-square test of the values against the exact law, tails pooled."""
    cuts = laplace_cuts(scale, values.size)
    observed_counts = np.bincount(np.searchsorted(cuts, values, side="right"), minlength=len(cuts) + 1)
    expected = values.size * np.array(laplace_probabilities(scale, cuts))
    return float(stats.chisquare(observed_counts, expected, sum_check=False).pvalue)


def gaussian_below(sigma: Fraction, cuts: Sequence[int]) -> list[float]:
    """Return P(X < cut) under the discrete Gaussian law, for each cut: by summing, or where that is long, smooth.

    The smooth form is off by 0.01 / sigma² (the midpoint rule's error), so it serves from sigma = 10,000 on: what
    is off by 1e-10 shows in no sample.
    """
    s = float(sigma)
    if s >= 10_000:
        return [float(stats.norm.cdf((cut - 0.5) / s)) for cut in cuts]
    reach = math.ceil(40 * s) + 1
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / s) ** 2)
    below = np.concatenate([[0.0], np.cumsum(weights / weights.sum())])
    return [float(below[min(max(cut + reach, 0), below.size - 1)]) for cut in cuts]


def fits_gaussian(values: NDArray[np.int64], sigma: Fraction, most: int = 40) -> float:
    """Return the p-value of a chi-square test of the values against the exact law, tails pooled."""
    cells = max(2, min(most, values.size // 20))
    wanted = stats.norm.ppf(np.arange(1, cells) / cells) * float(sigma)
    cuts = sorted({math.ceil(cut) for cut in wanted.tolist()} | {0, 1})
    while True:
        expected = values.size * np.diff([0.0, *gaussian_below(sigma, cuts), 1.0])
        smallest = int(np.argmin(expected))
        if expected[smallest] >= 20 or len(cuts) == 1:
            break
        cuts.pop(min(smallest, len(cuts) - 1))
    observed_counts = np.bincount(np.searchsorted(cuts, values, side="right"), minlength=len(cuts) + 1)
    return float(stats.chisquare(observed_counts, expected, sum_check=False).pvalue)


def gaussian_epsilon(sigma: float, l2: float, delta: float) -> float:
    """Return the ε of Gaussian noise through zCDP, the best over ever finer grids of α (proposition 12)."""
    rho = (l2 / sigma) ** 2 / 2
    low, high, best = math.log(1e-4), math.log(1e12), math.inf
    for _ in range(4):
        logs = np.linspace(low, high, 2_001)
        more = np.exp(logs)  # α - 1
        loss = (1 + more) * rho - (math.log(delta) + (1 + more) * np.log1p(more) - more * logs) / more
        at, step = int(np.argmin(loss)), logs[1] - logs[0]
        low, high, best = logs[at] - step, logs[at] + step, float(loss[at])
    return best


def fits(outcome_counts: Mapping[Any, int], law: Mapping[Any, float]) -> float:
    """Return the p-value of a chi-square test of outcomes against a finite law; an impossible outcome gives 0."""
    if set(outcome_counts) - {outcome for outcome, p in law.items() if p > 0}:
        return 0.0
    total = sum(outcome_counts.values())
    outcomes = [outcome for outcome, p in law.items() if p > 0]
    if len(outcomes) == 1:
        return 1.0
    observed = [outcome_counts.get(outcome, 0) for outcome in outcomes]
    return float(stats.chisquare(observed, [total * law[outcome] for outcome in outcomes], sum_check=False).pvalue)


def distribution_of(outcomes: Iterable[tuple[Hashable, float]]) -> dict[Hashable, float]:
    """Add up the probabilities of equal outcomes."""
    law: Counter[Hashable] = Counter()
    for outcome, p in outcomes:
        law[outcome] += p  # type: ignore[assignment]
    return dict(law)


def binomial(hits: int, trials: int, p: float) -> float:
    """Return the p-value of an exact two-sided binomial test."""
    return float(stats.binomtest(hits, trials, p).pvalue)


def loses_more_than(epsilon: float, here: Sequence[Hashable], there: Sequence[Hashable]) -> float:
    """Return the p-value of "no event has log-ratio above ε", given outcomes of a mechanism on two neighbours.

    For an event with probabilities p <= e^ε q, of n hits here and m hits there, n given n + m is at most
    binomial(n + m, e^ε / (1 + e^ε)). Every single outcome and every one-sided set of ordered outcomes is such
    an event, either way round; the smallest p-value is corrected for how many there are (Bonferroni), so the
    chance of a value below L is at most L for a mechanism that keeps its promise.
    """
    outcomes = sorted(set(here) | set(there))  # type: ignore[type-var]
    place = {outcome: at for at, outcome in enumerate(outcomes)}
    hits = np.array(
        [np.bincount([place[outcome] for outcome in side], minlength=len(outcomes)) for side in (here, there)]
    )
    events = np.concatenate([hits, np.cumsum(hits, axis=1), np.cumsum(hits[:, ::-1], axis=1)], axis=1)
    most = math.exp(epsilon) / (1 + math.exp(epsilon))
    tails = [stats.binom.sf(events[side] - 1, events.sum(axis=0), most) for side in (0, 1)]
    return float(min(1.0, np.min(tails) * 2 * events.shape[1]))
