"""One item of each person: chances are the largest that ε and δ allow for, and are what is drawn with."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from headcount._internal.arrays import Words
from headcount.accounting.budget import Cost, Grant
from headcount.bounds.keys.key_weights import KeyWeights
from headcount.errors import GrantError, UsageError
from headcount.noise import SeededNoise
from headcount.noise.partition_selection.single_key import (
    release_key_hints,
    release_probabilities_for,
    select_keys,
)

PRICES = [Cost.of("1", "1e-6"), Cost.of("0.2", "1e-10"), Cost.of("0.05", "0.01"), Cost.of("3", "1e-40")]


@pytest.mark.parametrize("price", PRICES, ids=str)
def test_one_more_user_changes_no_probability_by_more_than_epsilon_and_delta_allow(price: Cost) -> None:
    """Exactly, in fractions; e^ε is taken from below, and from above where that is stricter."""
    computed, delta = release_probabilities_for(price), Fraction(price.delta)
    with localcontext() as context:
        context.prec = 120
        growth = Fraction(price.epsilon.exp()) * (1 - Fraction(1, 10**100))
    chances = [Fraction(numerator, 1 << computed.bits) for numerator in computed.values]
    assert chances[0] == 0
    assert chances[-1] == 1
    for low, high in itertools.pairwise(chances):
        assert low <= high <= growth * low + delta
        assert 1 - low <= growth * (1 - high) + delta


@pytest.mark.parametrize("price", PRICES, ids=str)
def test_chances_are_the_best_possible_ones(price: Cost) -> None:
    """Desfontaines and others, theorem 1, in its closed form."""
    computed, (epsilon, delta) = release_probabilities_for(price), (float(price.epsilon), float(price.delta))
    chances = [numerator / (1 << computed.bits) for numerator in computed.values]
    turn = 1 + int(math.log((math.exp(epsilon) + 2 * delta - 1) / ((math.exp(epsilon) + 1) * delta)) / epsilon)
    below = [delta * math.expm1(n * epsilon) / math.expm1(epsilon) for n in range(turn + 1)]
    assert chances[: turn + 1] == pytest.approx(below, rel=1e-9)
    rest = 1 + delta / math.expm1(epsilon)
    for n in range(turn + 1, len(chances) - 1):
        fade = math.exp(-(n - turn) * epsilon)
        assert chances[n] == pytest.approx(min(1, (1 - fade) * rest + fade * below[-1]), rel=1e-9)


def test_items_are_released_as_often_as_their_chances_say() -> None:
    """Two-sided, with a false alarm once in a million for each number of people; half a person off would show."""
    price, runs = Cost.of("1", "0.01"), 20_000
    computed = release_probabilities_for(price)
    for people in (1, 2, 3, 4, 6):
        named = KeyWeights("one").seal(pa.array(range(runs)), np.full(runs, people), np.ones(runs, bool))
        released = len(select_keys(named, Grant(price), SeededNoise(people)))
        chance = computed.values[people] / (1 << computed.bits)
        assert binom.ppf(5e-7, runs, chance) <= released <= binom.isf(5e-7, runs, chance)
        wrong = (chance + computed.values[people + 1] / (1 << computed.bits)) / 2
        assert (
            not binom.ppf(5e-7, runs, wrong) <= released <= binom.isf(5e-7, runs, wrong) or wrong - chance < 0.02
        )


def test_bits_that_do_not_decide_are_followed_by_more() -> None:
    """A uniform number whose first 64 bits are those of the chance is looked at further: once in 2^64 times."""
    computed = release_probabilities_for(Cost.of("1", "1e-6"))

    top = computed.values[5] >> (computed.bits - 64)

    class Fixed(SeededNoise):
        calls = 0
        more = 0

        def words(self, count: int) -> Words:
            self.calls += 1
            drawn = [top >> 32, top & 0xFFFFFFFF] if self.calls == 1 else [self.more] * count
            return np.array(drawn, dtype=np.uint32)

    named = KeyWeights("one").seal(pa.array(["tea"]), np.array([5]), [True])
    for more, expected in ((0, ["tea"]), (0xFFFFFFFF, [])):
        source = Fixed(1)
        source.more = more
        assert select_keys(named, Grant("1", "1e-6"), source) == expected
        assert source.calls == 2


def test_what_has_just_enough_comes_first() -> None:
    weights = KeyWeights("shares").seal(
        pa.array(["far", "near", "none"]), np.array([4096 * 5000, 4096 * 12, 0]), [True] * 3
    )
    ids = pa.array(["none", "near", "far"])
    hints = release_key_hints(weights, 14, Grant("1000"), SeededNoise(1))
    none, near, far = hints.factors_of(ids).tolist()
    assert near > none > far, "most leave what has far more than enough"
    none, near, far = hints.steady_of(ids).tolist()
    assert near > far > none, "and some do not"


def test_a_user_does_not_move_between_items_that_are_released_anyway() -> None:
    """Noise alone would tell them apart, and all who have both would come together on one of them."""
    weights = KeyWeights("shares").seal(
        pa.array(["tea", "rye", "oat"]), np.array([4096 * 150, 4096 * 170, 4096 * 900]), [True] * 3
    )
    hints = release_key_hints(weights, 35, Grant("1000"), SeededNoise(1))
    tea, rye, oat = hints.factors_of(pa.array(["tea", "rye", "oat"])).tolist()
    assert tea == rye > oat


def test_what_does_not_fit_is_refused() -> None:
    shares = KeyWeights("shares").seal(pa.array(["tea"]), np.array([5]), [True])
    with pytest.raises(TypeError, match="name them alone"):
        select_keys(shares, Grant("1", "1e-6"), SeededNoise(1))
    with pytest.raises(TypeError, match="shares"):
        release_key_hints(
            KeyWeights("one").seal(pa.array(["tea"]), np.array([5]), [True]),
            3,
            Grant("1"),
            SeededNoise(1),
        )
    with pytest.raises(GrantError, match="uses no δ"):
        release_key_hints(shares, 3, Grant("1", "1e-6"), SeededNoise(1))
    with pytest.raises(GrantError, match="δ above 0"):
        release_probabilities_for(Cost.of("1"))
    with pytest.raises(UsageError, match="more than can be drawn"):
        release_probabilities_for(Cost(Decimal("1e-6"), Decimal("1e-9")))
