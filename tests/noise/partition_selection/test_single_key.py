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
from headcount.accounting.budget import Grant, Price
from headcount.bounds import Spread, certify_spread
from headcount.errors import GrantError, UsageError
from headcount.noise import SeededNoise, chances_for, choose_named, glance

PRICES = [Price.of("1", "1e-6"), Price.of("0.2", "1e-10"), Price.of("0.05", "0.01"), Price.of("3", "1e-40")]


@pytest.mark.parametrize("price", PRICES, ids=str)
def test_one_person_more_changes_no_chance_by_more_than_is_paid_for(price: Price) -> None:
    """Exactly, in fractions; e^ε is taken from below, and from above where that is stricter."""
    made, delta = chances_for(price), Fraction(price.delta)
    with localcontext() as context:
        context.prec = 120
        growth = Fraction(price.epsilon.exp()) * (1 - Fraction(1, 10**100))
    chances = [Fraction(each, 1 << made.bits) for each in made.values]
    assert chances[0] == 0
    assert chances[-1] == 1
    for low, high in itertools.pairwise(chances):
        assert low <= high <= growth * low + delta
        assert 1 - low <= growth * (1 - high) + delta


@pytest.mark.parametrize("price", PRICES, ids=str)
def test_chances_are_the_best_possible_ones(price: Price) -> None:
    """Desfontaines and others, theorem 1, in its closed form."""
    made, (epsilon, delta) = chances_for(price), (float(price.epsilon), float(price.delta))
    chances = [each / (1 << made.bits) for each in made.values]
    turn = 1 + int(math.log((math.exp(epsilon) + 2 * delta - 1) / ((math.exp(epsilon) + 1) * delta)) / epsilon)
    below = [delta * math.expm1(n * epsilon) / math.expm1(epsilon) for n in range(turn + 1)]
    assert chances[: turn + 1] == pytest.approx(below, rel=1e-9)
    rest = 1 + delta / math.expm1(epsilon)
    for n in range(turn + 1, len(chances) - 1):
        fade = math.exp(-(n - turn) * epsilon)
        assert chances[n] == pytest.approx(min(1, (1 - fade) * rest + fade * below[-1]), rel=1e-9)


def test_items_are_released_as_often_as_their_chances_say() -> None:
    """Two-sided, with a false alarm once in a million for each number of people; half a person off would show."""
    price, runs = Price.of("1", "0.01"), 20_000
    made = chances_for(price)
    for people in (1, 2, 3, 4, 6):
        named = certify_spread(pa.array(range(runs)), np.full(runs, people), np.ones(runs, bool), Spread("one"))
        found = len(choose_named(named, Grant(price), SeededNoise(people)))
        chance = made.values[people] / (1 << made.bits)
        assert binom.ppf(5e-7, runs, chance) <= found <= binom.isf(5e-7, runs, chance)
        wrong = (chance + made.values[people + 1] / (1 << made.bits)) / 2
        assert not binom.ppf(5e-7, runs, wrong) <= found <= binom.isf(5e-7, runs, wrong) or wrong - chance < 0.02


def test_bits_that_do_not_decide_are_followed_by_more() -> None:
    """A uniform number whose first 64 bits are those of the chance is looked at further: once in 2^64 times."""
    made = chances_for(Price.of("1", "1e-6"))

    top = made.values[5] >> (made.bits - 64)

    class Fixed(SeededNoise):
        asked = 0
        more = 0

        def words(self, count: int) -> Words:
            self.asked += 1
            drawn = [top >> 32, top & 0xFFFFFFFF] if self.asked == 1 else [self.more] * count
            return np.array(drawn, dtype=np.uint32)

    named = certify_spread(pa.array(["tea"]), np.array([5]), [True], Spread("one"))
    for more, expected in ((0, ["tea"]), (0xFFFFFFFF, [])):
        source = Fixed(1)
        source.more = more
        assert choose_named(named, Grant("1", "1e-6"), source) == expected
        assert source.asked == 2


def test_what_has_just_enough_comes_first() -> None:
    weights = certify_spread(
        pa.array(["far", "near", "none"]), np.array([4096 * 5000, 4096 * 12, 0]), [True] * 3, Spread("shares")
    )
    ids = pa.array(["none", "near", "far"])
    hints = glance(weights, 14, Grant("1000"), SeededNoise(1))
    none, near, far = hints.of(ids).tolist()
    assert near > none > far, "most leave what has far more than enough"
    none, near, far = hints.steady_of(ids).tolist()
    assert near > far > none, "and some do not"


def test_nobody_leaves_an_item_that_has_plenty_for_another_that_has_as_much() -> None:
    """Noise alone would tell them apart, and all who have both would come together on one of them."""
    weights = certify_spread(
        pa.array(["tea", "rye", "oat"]),
        np.array([4096 * 150, 4096 * 170, 4096 * 900]),
        [True] * 3,
        Spread("shares"),
    )
    hints = glance(weights, 35, Grant("1000"), SeededNoise(1))
    tea, rye, oat = hints.of(pa.array(["tea", "rye", "oat"])).tolist()
    assert tea == rye > oat


def test_what_does_not_fit_is_refused() -> None:
    shares = certify_spread(pa.array(["tea"]), np.array([5]), [True], Spread("shares"))
    with pytest.raises(TypeError, match="name them alone"):
        choose_named(shares, Grant("1", "1e-6"), SeededNoise(1))
    with pytest.raises(TypeError, match="shares"):
        glance(
            certify_spread(pa.array(["tea"]), np.array([5]), [True], Spread("one")), 3, Grant("1"), SeededNoise(1)
        )
    with pytest.raises(GrantError, match="uses no δ"):
        glance(shares, 3, Grant("1", "1e-6"), SeededNoise(1))
    with pytest.raises(GrantError, match="δ above 0"):
        chances_for(Price.of("1"))
    with pytest.raises(UsageError, match="more than can be drawn"):
        chances_for(Price(Decimal("1e-6"), Decimal("1e-9")))
