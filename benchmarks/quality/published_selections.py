"""Published mechanisms of private item selection in plain NumPy floats, for comparison; not private.

Each takes who has which items and returns how many items it releases. Gaussian ones get the analytic Gaussian
mechanism at half of δ and the exact threshold at the other half, as Gopi and others do; all are run at several
limits on a person's items, and the best is taken, in hindsight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import numba
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.stats import norm

from headcount.accounting.gdp import mu_for

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

LIMITS = (10, 30, 100, 300)


@dataclass(frozen=True)
class Baskets:
    """Each person's different items, from ``starts`` on, and how often the person has each."""

    starts: Integers
    items: Integers
    own: Integers
    size: int

    @property
    def numbers(self) -> Integers:
        """How many items each person has."""
        return np.diff(self.starts)

    @property
    def users(self) -> Integers:
        """Whose item it is."""
        return np.repeat(np.arange(self.starts.size - 1), self.numbers)

    def part(self, kept: NDArray[np.bool_]) -> Baskets:
        """Return some of the pairs."""
        many = np.bincount(self.users[kept], minlength=self.starts.size - 1)
        return Baskets(np.concatenate([[0], np.cumsum(many)]), self.items[kept], self.own[kept], self.size)

    def capped(self, limit: int, rng: Generator) -> Baskets:
        """Keep so many random items of each person."""
        if self.numbers.max(initial=0) <= limit:
            return self
        order = np.lexsort((rng.random(self.items.size), self.users))
        kept = np.zeros(self.items.size, dtype=np.bool_)
        kept[order[np.arange(self.items.size) - self.starts[self.users] < limit]] = True
        return self.part(kept)


@cache
def noise_for(epsilon: float, delta: float, limit: int) -> tuple[float, float]:
    """Return the deviation of Gaussian noise, and the threshold for at most ``limit`` items of a person."""
    sigma = 1 / float(mu_for(Decimal(repr(epsilon)), Decimal(repr(delta / 2))))
    return sigma, threshold(sigma, delta / 2, limit)


def threshold(sigma: float, delta: float, limit: int) -> float:
    """Return what n items of weight 1/√n reach with probability δ at most, for the worst n."""
    n = np.arange(1, limit + 1)
    return float(np.max(1 / np.sqrt(n) + sigma * norm.isf(-np.expm1(np.log1p(-delta) / n))))


def released(weights: NDArray[Any], noise: Floats, enough: float) -> NDArray[np.bool_]:
    """Say which items that somebody has reach a threshold."""
    return np.asarray((weights > 0) & (weights + noise >= enough))


def weighted_gaussian(log: Baskets, epsilon: float, delta: float, limit: int, rng: Generator) -> int:
    """Gopi and others 2020: weights 1/√n."""
    log = log.capped(limit, rng)
    sigma, enough = noise_for(epsilon, delta, limit)
    weights = np.bincount(log.items, 1 / np.sqrt(log.numbers[log.users]), log.size)
    return int(released(weights, sigma * rng.standard_normal(log.size), enough).sum())


def policy_gaussian(log: Baskets, epsilon: float, delta: float, limit: int, rng: Generator) -> int:
    """Gopi and others 2020: one person after the other fills up what is not yet 3 σ above the threshold.

    The better of their two descents, by the gaps and by as much for each.
    """
    log = log.capped(limit, rng)
    sigma, enough = noise_for(epsilon, delta, limit)
    noise, order = sigma * rng.standard_normal(log.size), rng.permutation(log.starts.size - 1)
    sums = (_filled(log.starts, log.items, order, log.size, enough + 3 * sigma, by) for by in (True, False))
    return max(int(released(sums_of_descent, noise, enough).sum()) for sums_of_descent in sums)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _filled(starts: Integers, items: Integers, order: Integers, size: int, most: float, by_gaps: bool) -> Floats:
    sums = np.zeros(size)
    for user in order:
        mine = items[starts[user] : starts[user + 1]]
        mine = mine[sums[mine] < most]
        if mine.size == 0:
            continue
        gaps = most - sums[mine]
        if by_gaps:
            length = np.sqrt((gaps**2).sum())
            sums[mine] += gaps * min(1.0, length) / length
            continue
        left, sorted_by = 1.0, np.argsort(gaps)
        for at in range(mine.size):
            gap = gaps[sorted_by[at]]
            if gap * gap * (mine.size - at) >= left:
                sums[mine[sorted_by[at:]]] += np.sqrt(left / (mine.size - at))
                break
            sums[mine[sorted_by[at]]] = most
            left -= gap * gap
    return sums


def dp_sips(log: Baskets, epsilon: float, delta: float, limit: int, rng: Generator) -> int:
    """Swanberg and others 2023: three rounds with 5, 15 and 80 % of the budget; what is found drops out."""
    selected = np.zeros(log.size, dtype=np.bool_)
    mu = 1 / noise_for(epsilon, delta, limit)[0]
    for share in (0.05, 0.15, 0.8):
        part = log.part(~selected[log.items]).capped(limit, rng)
        sigma = 1 / (mu * math.sqrt(share))
        weights = np.bincount(part.items, 1 / np.sqrt(part.numbers[part.users]), log.size)
        selected |= released(
            weights, sigma * rng.standard_normal(log.size), threshold(sigma, delta / 2 * share, limit)
        )
    return int(selected.sum())


def mad(log: Baskets, epsilon: float, delta: float, limit: int, rng: Generator) -> int:
    """Chen and others 2025: what is 2 σ above the threshold is given back, for people with up to 50 items."""
    most, log = 50, log.capped(limit, rng)
    sigma, enough = noise_for(epsilon, delta, limit)
    numbers, users, above = log.numbers[log.users], log.users, enough + 2 * sigma
    adapts = numbers <= most
    first = np.bincount(log.items[adapts], 1 / numbers[adapts], log.size)
    excess = np.maximum(first - above, 0) / np.maximum(first, 1e-12)
    back = np.bincount(users[adapts], excess[log.items[adapts]] / numbers[adapts], log.starts.size - 1)
    weights = np.minimum(first, above) + np.bincount(log.items[adapts], back[users[adapts]] / most, log.size)
    weights += np.bincount(log.items, 1 / np.sqrt(numbers) - np.where(adapts, 1 / numbers, 0), log.size)
    return int(released(weights, sigma * rng.standard_normal(log.size), enough).sum())


def greedy(log: Baskets, epsilon: float, delta: float, _: int, rng: Generator) -> int:
    """Carvalho and others 2022: one person after the other fills up their most frequent item; Laplace noise."""
    order = np.lexsort((rng.random(log.items.size), -log.own, log.users))
    enough = 1 - math.log(2 * delta) / epsilon
    people = rng.permutation(log.starts.size - 1)
    sums = _poured(log.starts, log.items[order], people, log.size, max(1.0, enough + 3 / epsilon))
    return int(released(sums, rng.laplace(0, 1 / epsilon, log.size), enough).sum())


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _poured(starts: Integers, items: Integers, order: Integers, size: int, most: float) -> Floats:
    sums = np.zeros(size)
    for user in order:
        left = 1.0
        for item in items[starts[user] : starts[user + 1]]:
            given = min(left, most - sums[item])
            if given > 0:
                sums[item] += given
                left -= given
            if left <= 0:
                break
    return sums


def truncated_geometric(log: Baskets, epsilon: float, delta: float, limit: int, rng: Generator) -> int:
    """Desfontaines and others 2022: the best there is for one item of a person; several share ε and δ."""
    log, e, d = log.capped(limit, rng), epsilon / limit, delta / limit
    chances = [0.0]
    while chances[-1] < 1:
        last = chances[-1]
        chances.append(min(math.exp(e) * last + d, 1 - math.exp(-e) * (1 - last - d), 1.0))
    people = np.bincount(log.items, minlength=log.size)
    return int((rng.random(log.size) < np.array(chances)[np.minimum(people, len(chances) - 1)]).sum())


def laplace(log: Baskets, epsilon: float, delta: float, limit: int, rng: Generator) -> int:
    """Korolova and others 2009, with discrete noise: what `--select-limit` does."""
    log, scale = log.capped(limit, rng), limit / epsilon
    alpha = math.exp(-1 / scale)
    enough = 1 + math.ceil(scale * math.log(limit / (delta * (1 + alpha))))
    noise = rng.geometric(1 - alpha, log.size) - rng.geometric(1 - alpha, log.size)
    people = np.bincount(log.items, minlength=log.size).astype(float)
    return int(released(people, noise.astype(float), enough).sum())


Rival = Callable[[Baskets, float, float, int, Generator], int]

RIVALS: Mapping[str, tuple[Rival, tuple[int, ...]]] = {
    "weighted Gaussian": (weighted_gaussian, LIMITS),
    "policy Gaussian": (policy_gaussian, LIMITS),
    "DP-SIPS": (dp_sips, LIMITS),
    "MAD": (mad, LIMITS),
    "greedy": (greedy, (1,)),
    "truncated geometric": (truncated_geometric, (1, 2, 3)),
    "Laplace": (laplace, (1, 2, 5, 10, 30)),
}
"""What is compared, and at which limits on a person's items."""
