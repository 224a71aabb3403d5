"""Private item selection (partition selection) with one item per user, after noisy hints.

Selection with many items per user is in weighted_rounds; a plain noisy threshold is in threshold.

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
from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.bounds.keys.key_weights import UNITS, BoundedKeyWeights, KeyHints
from headcount.errors import GrantError, UsageError, param
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


def release_key_hints(weights: BoundedKeyWeights, enough: int, grant: Grant, source: NoiseSource) -> KeyHints:
    """Spend the grant on noisy weights; return how close each item is to what it needs.

    ``enough`` people release an item about half of the time.
    """
    if type(weights) is not BoundedKeyWeights or weights.rule != "shares":
        raise TypeError("a glance is at shares of one unit alone")
    grant.cost.check_pure("a glance at items")
    unit = UNITS["shares"]
    distribution = DiscreteLaplace(scale_for(unit, grant.exact))
    confirm(distribution.scale, unit, grant.exact)
    grant.spend()
    ids = weights.sensitive_ids
    noisy = weights.sensitive_weights + draw(distribution, len(ids), source)
    aim = round(_AIM * enough * unit)
    distance_to_aim = np.abs(_coarsen_large_weights(noisy, aim) - aim)
    steady = np.where(noisy > aim, np.minimum(distance_to_aim, round(_STEADY * aim)), distance_to_aim)
    return KeyHints(ids, np.maximum(_FAR - distance_to_aim, 0), np.maximum(_FAR - steady, 0))


def _coarsen_large_weights(weights: Integers, aim: int) -> Integers:
    """Return weights, those that have plenty as the last power of three times the aim that they reach.

    >>> _coarsen_large_weights(np.array([-4, 20, 29, 30, 89, 90, 1000]), 10).tolist()
    [-4, 20, 29, 30, 30, 90, 810]
    """
    steps = aim * _PLENTY ** np.arange(1, _STEPS)
    reached = np.searchsorted(steps, weights, side="right")
    return np.where(reached > 0, steps[reached - 1], weights)


def select_keys(named: BoundedKeyWeights, grant: Grant, source: NoiseSource) -> list[str] | list[int]:
    """Spend the grant on the items that enough people name; return their ids, sorted."""
    if type(named) is not BoundedKeyWeights or named.rule != "one":
        raise TypeError("items are chosen by how many people name them alone")
    probabilities = release_probabilities_for(grant.cost)
    grant.spend()
    users_by_item = named.sensitive_weights
    released = _released(users_by_item, probabilities, draw_bits(users_by_item.size, source), source)
    selected: list[str] | list[int] = named.sensitive_ids.filter(pa.array(released)).to_pylist()
    selected.sort()
    return selected


class ReleaseProbabilities:
    """How likely an item is released that 0, 1, 2, … people name, in units of 2^-bits; the last for all more."""

    def __init__(self, values: list[int], bits: int) -> None:
        self.values, self.bits = values, bits

    @property
    def half(self) -> int:
        """How many people release an item at least half of the time."""
        return next((at for at, value in enumerate(self.values) if 2 * value >= 1 << self.bits), len(self.values))


@lru_cache(maxsize=64)
def release_probabilities_for(cost: Cost) -> ReleaseProbabilities:
    """Return the largest chances that a price allows for.

    >>> made = release_probabilities_for(Cost.of("1", "1e-6"))
    >>> made.half, [round(each / 2**made.bits, 3) for each in made.values[11:17]]
    (14, [0.035, 0.095, 0.257, 0.7, 0.89, 0.959])
    """
    cost.check_whole()
    if not cost.delta:
        raise GrantError("items are selected with δ above 0 alone", remedy="give a delta, such as 1e-6")
    bits = _BITS + max(0, -cost.delta.adjusted()) * 4
    certainty = 1 << bits
    with localcontext() as context:
        context.prec = _DIGITS + bits
        grows = int((cost.epsilon.exp() * certainty).to_integral_value(ROUND_FLOOR)) - 1
        fades = int(((-cost.epsilon).exp() * certainty).to_integral_value(ROUND_CEILING)) + 1
        more = int((cost.delta * certainty).to_integral_value(ROUND_FLOOR))
    values = [0]
    while values[-1] < certainty:
        if len(values) > _LONGEST:
            raise UsageError(
                f"with ε = {cost.epsilon:f} for selection, so many people decide on an item that it is more than "
                "can be drawn",
                remedy=f"raise epsilon, or give {param.select_limit}",
            )
        last = values[-1]
        rest = certainty - last - more
        values.append(
            min(
                (grows * last >> bits) + more, certainty - (-(-fades * rest >> bits) if rest > 0 else 0), certainty
            )
        )
        if values[-1] <= last:  # as far as rounding lets it come
            break
    return ReleaseProbabilities(values, bits)


def draw_bits(size: int, source: NoiseSource) -> Draws:
    """Draw uniform numbers of 64 bits."""
    words = source.words(2 * size).astype(np.uint64)
    return (words[::2] << np.uint64(32)) | words[1::2]


def _released(
    users_by_item: Integers, probabilities: ReleaseProbabilities, drawn: Draws, source: NoiseSource
) -> Flags:
    """Say which items are released: if their uniform number, of which 64 bits are drawn, is below their chance."""
    more = probabilities.bits - 64
    tops = np.array([min(value >> more, 2**64 - 1) for value in probabilities.values], dtype=np.uint64)
    places = np.minimum(users_by_item, len(probabilities.values) - 1)
    released = drawn < tops[places]
    for at in np.flatnonzero(drawn == tops[places]).tolist():  # 64 bits do not decide: once in 2^64 times
        rest = int.from_bytes(source.words(-(-more // 32)).tobytes(), "little") >> (-more % 32)
        released[at] = int(drawn[at]) << more | rest < probabilities.values[places[at]]
    return np.asarray(released & (users_by_item >= 1))
