"""Exact laws and all neighbours of small worlds."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.bounds import SampleRecords, Sensitivity, WeightToThreshold
from headcount.engines.local.engine import LocalEngine
from headcount.lab.audit.adjacent_logs import Pair, crafted
from tests.lab.audit.exact import (
    Moved,
    adjacent_pairs,
    counts_distribution,
    exact_loss,
    exact_sensitivity,
    histories,
    worst_ratio,
)

SECRETS = [bytes([number]) * 16 for number in range(2)]


def test_a_small_world_is_whole() -> None:
    assert len(histories(3, 2)) == 1 + 3 + 6
    people = len(histories(2, 2)) - 1
    assert len(list(adjacent_pairs(1, 2, 2))) == people + people * people


@pytest.mark.parametrize("bound", [SampleRecords(1), SampleRecords(2), WeightToThreshold(2)])
def test_no_user_changes_more_than_declared(bound: SampleRecords | WeightToThreshold) -> None:
    moved = exact_sensitivity(LocalEngine(threads=1), bound, adjacent_pairs(1, 2, 3), SECRETS)
    assert not moved.violation
    assert moved.sensitivity.l1 == moved.declared.l1  # the bound is tight: somebody does move that much


@pytest.mark.parametrize("more", [Sensitivity(3, 4, 2), Sensitivity(2, 5, 2), Sensitivity(2, 4, 3)])
def test_more_than_declared_in_any_norm_is_a_violation(more: Sensitivity) -> None:
    declared = Sensitivity(2, 4, 2)
    assert Moved(more, declared, None).violation
    assert not Moved(declared, declared, None).violation


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("name", ["lpa", "sra"])
def test_the_exact_loss_is_what_is_promised(name: str, epsilon: str) -> None:
    losses = [exact_loss(name, 2, Decimal(epsilon), pair) for pair in crafted(2) if pair.items <= 3]
    assert max(losses) == pytest.approx(float(epsilon), rel=1e-9)
    worlds = [exact_loss(name, 1, Decimal(epsilon), pair) for pair in adjacent_pairs(1, 2, 2)]
    assert max(worlds) == pytest.approx(float(epsilon), rel=1e-9)


def test_half_the_noise_doubles_the_exact_loss() -> None:
    pair = crafted(2)[0]
    laws = counts_distribution([pair.person], 2, 2), counts_distribution([], 2, 2)
    assert worst_ratio(*laws, scale=1.0) == pytest.approx(2.0)


def test_sampling_alone_gives_no_more_privacy() -> None:
    """A person with different items: each is kept with a small chance, and still the loss is all of ε."""
    pair = Pair("many", "", 3, (), (0, 1, 2))
    assert exact_loss("sra", 1, Decimal(1), pair) == pytest.approx(1.0)


def test_hpa_as_published_loses_far_more_than_it_claims() -> None:
    """Reading d off the log: a person with one record makes everybody's scores a matter of chance.

    Of ``n`` people with one record each of items 0 and 1, and ``lead`` people with items 0 and 2, item 0 leads
    item 1 by ``lead`` if both records of each count (d = 2). If d is 1, the lead is a sum of coin tosses. Whether
    item 1 wins is seen from its count: everybody keeps their record of the winner. ε = 1 is claimed, 0.1 / 0.55 of
    it for the scores, as HPA splits it for items alone.
    """
    n, lead, share = 20_000, 300, 0.1 / 0.55
    wins = [_item_1_wins(d, n, lead, share) for d in (1, 2)]
    visible = 1 - math.exp(
        -0.45 / 0.55 * n / 2
    )  # the count of item 1 is near n or near 0, half of n away from both
    hidden = math.exp(-0.45 / 0.55 * n / 2)
    loss = math.log(wins[0] * visible) - math.log(wins[1] + hidden)
    assert loss > 14


def _item_1_wins(d: int, n: int, lead: int, epsilon: float) -> float:
    """Return the probability that the noisy score of item 1 is above that of item 0."""
    law = DiscreteLaplace(scale=Fraction(d / epsilon))
    width = int(60 * d / epsilon) + 10
    noise = np.diff(law.cdf(np.arange(-width - 1, width + 1, dtype=np.float64)))
    both = np.convolve(noise, noise)  # the difference of two, from -2 width on
    behind = {lead: 1.0} if d == 2 else _tossed(n, lead)
    below = np.concatenate([[0.0], np.cumsum(both)])

    def above(gap: int) -> float:
        """Return the probability that the difference of the noises is above the gap."""
        start = gap + 1 + 2 * width
        return 0.0 if start >= both.size else float(both[max(0, start) :].sum()) if start > 0 else float(below[-1])

    return math.fsum(p * above(gap) for gap, p in behind.items())


def _tossed(n: int, lead: int) -> dict[int, float]:
    """Return the law of the lead of item 0 if one record of each person counts: of n by a coin, of others half."""
    spread = range(-700, 1000)
    ahead = np.arange(lead + 1)
    chance = stats.binom.pmf(ahead, lead, 0.5)
    distribution: dict[int, float] = {}
    for gap in spread:
        heads = (n + gap - ahead) / 2
        whole = heads == np.floor(heads)
        distribution[gap] = float((chance[whole] * stats.binom.pmf(heads[whole], n, 0.5)).sum())
    return distribution
