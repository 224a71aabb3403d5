"""Picks with δ: the exact law of the exponential mechanism, its exact cost, and a twin that ρ does not pay for.

Samples are held against enumerated laws by chi-square tests at ``laws.LEVEL`` = 1e-7, with fixed seeds; the law of
permute-and-flip is rejected. What a law costs is computed from enumerated laws, without any sampling.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from scipy import stats

from headcount.accounting.budget import Cost, Grant
from headcount.accounting.zcdp import rho_for
from headcount.errors import GrantError, HeadcountError, UsageError
from headcount.noise import SeededNoise
from headcount.noise.selection import exponential_zcdp
from headcount.noise.selection.exponential_zcdp import scale_for_picks
from headcount.noise.selection.top_k import choose_top_k, draw
from headcount.noise.selection.top_k_sparse import draw_top_k_sparse
from tests.noise.selection.test_top_k import (
    Distribution,
    Round,
    exponential,
    fits_peeling,
    peeled,
    permute_and_flip,
    scored,
)
from tests.noise.selection.test_top_k_sparse import sparse
from tests.support.distributions import LEVEL

DRAWS = 6_000
CASES = [
    ([0, 1], 1, Fraction(1)),
    ([5, 4, 4, 2], 2, Fraction(3, 2)),
    ([2, 0, 1], 3, Fraction(1, 3)),
    ([3, 0, 0, 2, 3], 2, Fraction(355, 113)),
    ([2, 1, 0, 10**6], 3, Fraction(2**23 - 1, 2**22)),
]


# The law


@pytest.mark.parametrize(("counts", "k", "scale"), CASES, ids=str)
def test_picks_have_the_distribution_of_the_exponential_mechanism(
    counts: list[int], k: int, scale: Fraction
) -> None:
    own, source = (k, scale.numerator, scale.denominator), SeededNoise(1)
    dense = [tuple(draw(scored(counts).sensitive_gaps, *own, source, anew=True)) for _ in range(DRAWS)]
    held = [tuple(draw_top_k_sparse(sparse(counts), *own, source, anew=True)) for _ in range(DRAWS)]
    for outcomes in (dense, held):
        assert fits_peeling(outcomes, peeled(counts, k, scale, exponential)) > LEVEL
        assert fits_peeling(outcomes, peeled(counts, k, scale)) < LEVEL  # permute-and-flip
        assert fits_peeling(outcomes, peeled(counts, k, scale * 2, exponential)) < LEVEL


def test_k_picks_are_the_k_largest_of_one_draw_of_gumbel_noise() -> None:
    """As the theory says: two picks of three, against the integral over the noise."""
    counts, scale = [2, 0, 1], Fraction(3, 2)
    weights = [math.exp(count / scale) for count in counts]
    # the largest of independent Gumbel variables is the i-th with probability w_i / Σ w, whatever its value is
    law = {
        (i, j): weights[i] / sum(weights) * weights[j] / (sum(weights) - weights[i])
        for i, j in itertools.permutations(range(3), 2)
    }
    assert peeled(counts, 2, scale, exponential) == pytest.approx(law)


@pytest.mark.parametrize("make", [scored, sparse])
def test_peel_has_the_distribution_of_its_rho(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exponential_zcdp, "confirm", lambda *_: None)  # slow, and tested below
    counts, k, source = [3, 0, 0, 1], 2, SeededNoise(5)
    outcomes = [tuple(choose_top_k(make(counts), k, Grant("3", "1e-2"), source)) for _ in range(DRAWS)]
    exact = Fraction(math.sqrt(k / (8 * rho_for(Decimal(3), Decimal("1e-2")))))
    assert fits_peeling(outcomes, peeled(counts, k, exact, exponential)) > LEVEL
    for wrong in (exact / 2, exact * 2):
        assert fits_peeling(outcomes, peeled(counts, k, wrong, exponential)) < LEVEL


def test_no_buffer_changes_the_outcome_and_every_part_of_a_tie_is_reached() -> None:
    behind = scored([0, 3, *range(-40, 0)] * 5).sensitive_gaps
    whole = [draw(behind, 12, 20, 3, SeededNoise(seed), anew=True) for seed in range(40)]
    assert all(len(set(outcome)) == 12 for outcome in whole)
    law = dict.fromkeys(itertools.permutations(range(4)), 1 / 24)
    source = SeededNoise(3)
    ties = [tuple(draw(scored([0] * 4).sensitive_gaps, 4, 1, 1, source, anew=True)) for _ in range(DRAWS)]
    assert fits_peeling(ties, law) > LEVEL


# The cost, exactly


def joins(counts: Sequence[int]) -> Iterator[list[int]]:
    """Yield the counts with one person more, whatever that person has."""
    for more in itertools.product((0, 1), repeat=len(counts)):
        yield [count + added for count, added in zip(counts, more, strict=True)]


def renyi(law: Distribution, other: Distribution, order: float) -> float:
    terms = [order * math.log(p) + (1 - order) * math.log(other[outcome]) for outcome, p in law.items()]
    most = max(terms)
    return (most + math.log(math.fsum(math.exp(term - most) for term in terms))) / (order - 1)


def beyond(law: Distribution, other: Distribution, epsilon: float) -> float:
    """Return the exact δ at an ε: the hockey-stick divergence."""
    return math.fsum(max(0.0, p - math.exp(epsilon) * other[outcome]) for outcome, p in law.items())


def both_ways(
    counts: Sequence[int], k: int, scale: Fraction, round_law: Round
) -> Iterator[tuple[Distribution, Distribution]]:
    before = peeled(counts, k, scale, round_law)
    for with_one_more in joins(counts):
        after = peeled(with_one_more, k, scale, round_law)
        yield before, after
        yield after, before


SMALL = [([0, 0], 1), ([1, 0, 0], 2), ([3, 2, 2, 0], 2), ([2, 1, 0], 3), ([9, 9, 0, 0], 3)]
ORDERS = (1.001, 1.5, 2.0, 8.0, 64.0)


def most_rho(counts: Sequence[int], k: int, scale: Fraction, round_law: Round) -> float:
    """Return the least ρ that all orders allow for, over everybody who may join or leave."""
    pairs = both_ways(counts, k, scale, round_law)
    return max(renyi(*pair, order) / order for pair in pairs for order in ORDERS)


@pytest.mark.parametrize(("counts", "k"), SMALL, ids=str)
def test_picks_cost_no_more_than_their_rho(counts: list[int], k: int) -> None:
    for eta in (Fraction(1, 10), Fraction(1), Fraction(4)):
        assert most_rho(counts, k, 1 / eta, exponential) <= k * float(eta) ** 2 / 8 * (1 + 1e-9)


def test_that_rho_is_nearly_reached_and_permute_and_flip_breaks_it() -> None:
    """Charged as picks are, as once in OpenDP (opendp#2911), permute-and-flip costs up to four times that."""
    one_behind = [1, 0]
    for eta, times in ((Fraction(1, 10), 3.5), (Fraction(1), 2.0)):
        charged = float(eta) ** 2 / 8
        assert most_rho([0, 0], 1, 1 / eta, exponential) > 0.9 * charged
        assert most_rho(one_behind, 1, 1 / eta, permute_and_flip) > times * charged


@pytest.mark.parametrize(("counts", "k"), SMALL, ids=str)
@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "1e-6"), ("1", "1e-3"), ("3", "0.05")])
def test_picks_at_epsilon_and_delta_keep_them(counts: list[int], k: int, epsilon: str, delta: str) -> None:
    price = Cost.of(epsilon, delta)
    for paid in (price, price.for_picks(k, instead=False)):
        pairs = both_ways(counts, k, scale_for_picks(k, 1, paid.rho_of_rounds(k)), exponential)
        assert max(beyond(*pair, float(epsilon)) for pair in pairs) <= float(delta)


def exact_delta(round_law: Round, pairs: int, scale: Fraction, epsilon: float) -> float:
    """Return the δ of a pick from each of many pairs, level with a person and one apart without: by binomials."""
    (_, p), (_, q) = round_law([1, 1], scale), round_law([1, 0], scale)
    wins = range(pairs + 1)
    laws = [stats.binom(pairs, chance).pmf(wins).tolist() for chance in (p, q)]
    growth = math.exp(epsilon)
    return max(
        math.fsum(max(0.0, a - growth * b) for a, b in zip(*both, strict=True)) for both in (laws, laws[::-1])
    )


def test_a_hundred_picks_keep_epsilon_and_delta_and_permute_and_flip_does_not() -> None:
    """A person in a hundred contexts of two items: what is told of all of them, exactly."""
    price = Cost.of("1", "1e-6")
    scale = scale_for_picks(100, 1, price.for_picks(100, instead=False).rho_of_rounds(100))
    ours, theirs = (exact_delta(round_law, 100, scale, 1.0) for round_law in (exponential, permute_and_flip))
    assert 0.5e-6 < ours <= 1e-6
    assert theirs > 1000 * 1e-6
    assert exact_delta(exponential, 100, scale / Fraction(103, 100), 1.0) > 1e-6  # nearly all that there is
    assert exact_delta(exponential, 100, scale_for_picks(100, 1, price.rho), 1.0) < 0.3e-6


# The scale and the grant


def test_the_scale_is_rounded_up_and_grows_with_the_root_of_k() -> None:
    for epsilon, delta, k, rise in (("0.5", "1e-6", 100, 1), ("3", "1e-9", 7, 1), ("0.01", "1e-5", 5_000, 3)):
        rho = Cost.of(epsilon, delta).rho
        exact = Fraction(k * rise**2) / (8 * Fraction(rho))
        assert exact <= scale_for_picks(k, rise, rho) ** 2 <= exact * (1 + Fraction(1, 10**6))


@pytest.mark.parametrize("make", [scored, sparse])
def test_peel_spends_the_grant_once(make: Any) -> None:
    for whole in (
        Grant("1", "1e-6"),
        Grant("1", "1e-6").split_rho({"a": Decimal("0.5"), "b": Decimal("0.5")})["a"],
    ):
        assert len(set(choose_top_k(make([4, 0, 2, 0]), 3, whole, SeededNoise(1)))) == 3
        assert whole.is_spent
        with pytest.raises(GrantError, match="already spent"):
            choose_top_k(make([4, 0, 2, 0]), 3, whole, SeededNoise(1))


def test_nothing_is_spent_when_the_scale_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    grant = Grant("1e-9", "1e-100")
    with pytest.raises(UsageError, match="more than can be drawn"):
        choose_top_k(scored([1, 2, 3]), 3, grant, SeededNoise(1))
    assert not grant.is_spent
    real = exponential_zcdp.scale_for_picks
    monkeypatch.setattr(exponential_zcdp, "scale_for_picks", lambda k, rise, rho: real(k, rise, rho) / 2)
    grant = Grant("1", "1e-6")
    with pytest.raises(HeadcountError, match="do not pay"):
        choose_top_k(scored([1, 2, 3]), 2, grant, SeededNoise(1))
    assert not grant.is_spent
