"""Items that enough people have, out of a private list, one item of each person: for people who have few.

First a glance, with pure ε₀: every person divides one unit of weight among their items, and every item gets
discrete Laplace noise on what it has. Then each person names one item, that whose noisy weight is closest to
what is needed: so that they come together on few, and leave out those that have enough. Else all could leave
an item that they all have, each for one that nobody else does; so one person in four does not mind if an item
has more than enough. Of items that have plenty, those within a factor of three of each other are as good to
anybody: else noise alone would send all who have two such items to one of them. An item that m people name is
released with probability p(m), the largest that ε₁ and δ allow for; with one person, that is δ.

Why it is private
    *The glance.* Take noisy weights of all items there could be as released; nothing is read of an item but by
    people who have it. One person moves all weights by one unit in L1 at most, so that this costs ε₀.

    *The choice.* Given the glance, who names what hangs on each person alone. One person more raises m of one
    item by 1, and all items are decided independently. So it is enough that one item's release is (ε₁,
    δ)-private for m and m + 1 people: with p = p(m) and q = p(m + 1) >= p,

        q <= e^ε₁ p + δ   and   1 - p <= e^ε₁ (1 - q) + δ,

    which is what the recursion below makes of it; the other two directions follow from q >= p. Each value is
    rounded down, to multiples of 2^-k: a smaller q makes both easier, and the next value starts from it. p(0)
    = 0: what nobody names is never released. Both steps together are (ε₀ + ε₁, δ)-private.

    How long it takes hangs on how many items there are, which is private, and must not be shown.

Departures from the paper
    Values are rounded down, and decided exactly; the glance before it is our own.

Reference
    D. Desfontaines, J. Voss, B. Gipson, C. Mandayam. Differentially Private Partition Selection. PoPETs 2022,
    theorem 1, which is best possible for one item of a person.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, localcontext
from functools import lru_cache

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Draws, Flags, Integers
from headcount.accounting.budget import Grant, Price
from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.bounds import Hints, SpreadWeights
from headcount.bounds.keys.key_weights import UNITS
from headcount.errors import GrantError, UsageError
from headcount.noise.laplace import confirm, draw, scale_for
from headcount.noise.randomness import NoiseSource

_DIGITS = 60
_BITS = 96  # of a probability, beyond those of δ
_LONGEST = 200_000  # people that a decision may hang on
_AIM = 0.85  # of the people that release an item half of the time
_STEADY = 0.6  # of that: for steady people an item with more than is needed is never further away
_PLENTY = 3  # times the aim: from there on items are told apart by such factors alone
_STEPS = 20
_FAR = 1 << 40  # beyond any distance that matters


def glance(weights: SpreadWeights, enough: int, grant: Grant, source: NoiseSource) -> Hints:
    """Spend the grant on noisy weights; return how close each item is to what it needs.

    ``enough`` people release an item about half of the time.
    """
    if type(weights) is not SpreadWeights or weights.rule != "shares":
        raise TypeError("a glance is at shares of one unit alone")
    grant.price.check_pure("a glance at items")
    unit = UNITS["shares"]
    law = DiscreteLaplace(scale_for(unit, grant.exact))
    confirm(law.scale, unit, grant.exact)
    grant.spend()
    ids = weights.sensitive_ids
    noisy = weights.sensitive_weights + draw(law, len(ids), source)
    aim = round(_AIM * enough * unit)
    beside = np.abs(_told_apart(noisy, aim) - aim)
    steady = np.where(noisy > aim, np.minimum(beside, round(_STEADY * aim)), beside)
    return Hints(ids, np.maximum(_FAR - beside, 0), np.maximum(_FAR - steady, 0))


def _told_apart(weights: Integers, aim: int) -> Integers:
    """Return weights, those that have plenty as the last power of three times the aim that they reach.

    >>> _told_apart(np.array([-4, 20, 29, 30, 89, 90, 1000]), 10).tolist()
    [-4, 20, 29, 30, 30, 90, 810]
    """
    steps = aim * _PLENTY ** np.arange(1, _STEPS)
    reached = np.searchsorted(steps, weights, side="right")
    return np.where(reached > 0, steps[reached - 1], weights)


def choose_named(named: SpreadWeights, grant: Grant, source: NoiseSource) -> list[str] | list[int]:
    """Spend the grant on the items that enough people name; return their ids, sorted."""
    if type(named) is not SpreadWeights or named.rule != "one":
        raise TypeError("items are chosen by how many people name them alone")
    chances = chances_for(grant.price)
    grant.spend()
    people = named.sensitive_weights
    released = _released(people, chances, draw_bits(people.size, source), source)
    found: list[str] | list[int] = named.sensitive_ids.filter(pa.array(released)).to_pylist()
    found.sort()
    return found


class Chances:
    """How likely an item is released that 0, 1, 2, … people name, in units of 2^-bits; the last for all more."""

    def __init__(self, values: list[int], bits: int) -> None:
        self.values, self.bits = values, bits

    @property
    def half(self) -> int:
        """How many people release an item at least half of the time."""
        return next((at for at, each in enumerate(self.values) if 2 * each >= 1 << self.bits), len(self.values))


@lru_cache(maxsize=64)
def chances_for(price: Price) -> Chances:
    """Return the largest chances that a price allows for.

    >>> made = chances_for(Price.of("1", "1e-6"))
    >>> made.half, [round(each / 2**made.bits, 3) for each in made.values[11:17]]
    (14, [0.035, 0.095, 0.257, 0.7, 0.89, 0.959])
    """
    price.check_whole()
    if not price.delta:
        raise GrantError("items are selected with δ above 0 alone", remedy="give a delta, such as 1e-6")
    bits = _BITS + max(0, -price.delta.adjusted()) * 4
    one = 1 << bits
    with localcontext() as context:
        context.prec = _DIGITS + bits
        grows = int((price.epsilon.exp() * one).to_integral_value(ROUND_FLOOR)) - 1
        fades = int(((-price.epsilon).exp() * one).to_integral_value(ROUND_CEILING)) + 1
        more = int((price.delta * one).to_integral_value(ROUND_FLOOR))
    values = [0]
    while values[-1] < one:
        if len(values) > _LONGEST:
            raise UsageError(
                f"with ε = {price.epsilon:f} for selection, so many people decide on an item that it is more than "
                "can be drawn",
                remedy="raise epsilon, or give --select-limit",
            )
        last = values[-1]
        rest = one - last - more
        values.append(min((grows * last >> bits) + more, one - (-(-fades * rest >> bits) if rest > 0 else 0), one))
        if values[-1] <= last:  # as far as rounding lets it come
            break
    return Chances(values, bits)


def draw_bits(size: int, source: NoiseSource) -> Draws:
    """Draw uniform numbers of 64 bits."""
    words = source.words(2 * size).astype(np.uint64)
    return (words[::2] << np.uint64(32)) | words[1::2]


def _released(people: Integers, chances: Chances, drawn: Draws, source: NoiseSource) -> Flags:
    """Say which items are released: if their uniform number, of which 64 bits are drawn, is below their chance."""
    more = chances.bits - 64
    tops = np.array([min(each >> more, 2**64 - 1) for each in chances.values], dtype=np.uint64)
    places = np.minimum(people, len(chances.values) - 1)
    released = drawn < tops[places]
    for at in np.flatnonzero(drawn == tops[places]).tolist():  # 64 bits do not decide: once in 2^64 times
        rest = int.from_bytes(source.words(-(-more // 32)).tobytes(), "little") >> (-more % 32)
        released[at] = int(drawn[at]) << more | rest < chances.values[places[at]]
    return np.asarray(released & (people >= 1))
