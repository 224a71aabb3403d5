"""Direct top-K: the exact law of permute-and-flip round by round, its exact price, and one grant for all of it.

The law is enumerated from its definition: all orders in which a round may go through the candidates. Every test of
it is a chi-square test against exact probabilities, rare outcomes pooled, at ``laws.LEVEL`` = 1e-7, and rejects
broken twins. Seeded samples are the same in every run; with randomness of the operating system a false alarm comes
once in 10 million tests.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from headcount.accounting.budget import Grant
from headcount.bounds.bounded import MAX_GAP, SEAL, Scored
from headcount.errors import GrantError, HeadcountError, UsageError
from headcount.noise import NoiseSource, OperatingSystemNoise, SeededNoise, scale_for
from headcount.noise.samplers.kernels import exponential as choosing
from headcount.noise.selection import top_k
from headcount.noise.selection.top_k import choose_top_k, draw
from tests.support.distributions import LEVEL, distribution_of, fits

DRAWS = 12_000
Distribution = dict[tuple[int, ...], float]
Round = Callable[[Sequence[int], Fraction], list[float]]


def scored(utilities: Sequence[int], rise: int | None = 1) -> Scored:
    return Scored(np.array(utilities, dtype=np.int64), rise or 1, SEAL, rise=rise)


def permute_and_flip(utilities: Sequence[int], scale: Fraction) -> list[float]:
    """The exact probabilities of one round, from the definition: every order is as likely as any other."""
    size, best = len(utilities), max(utilities)
    stays = [math.exp(-(best - utility) / scale) for utility in utilities]
    chosen = [0.0] * size
    for order in itertools.permutations(range(size)):
        reached = 1 / math.factorial(size)
        for index in order:
            chosen[index] += reached * stays[index]
            reached *= 1 - stays[index]
    return chosen


def exponential(utilities: Sequence[int], scale: Fraction) -> list[float]:
    """What the exponential mechanism would choose."""
    weights = [math.exp((utility - max(utilities)) / scale) for utility in utilities]
    return [weight / math.fsum(weights) for weight in weights]


def peeled(utilities: Sequence[int], k: int, scale: Fraction, round_law: Round = permute_and_flip) -> Distribution:
    """The exact probabilities of all ordered outcomes: a round, and then the same with one candidate fewer."""
    law: Distribution = {(): 1.0}
    for _ in range(k):
        longer: Distribution = {}
        for taken, p in law.items():
            left = [index for index in range(len(utilities)) if index not in taken]
            chances = round_law([utilities[index] for index in left], scale)
            longer |= {(*taken, index): p * chance for index, chance in zip(left, chances, strict=True)}
        law = longer
    return law


def with_the_first_best(utilities: Sequence[int], k: int, scale: Fraction) -> Distribution:
    """A broken twin: all rounds count from the best of the first, going round and round until one stays."""
    best = max(utilities)
    stays = [math.exp(-(best - utility) / scale) for utility in utilities]
    law: Distribution = {(): 1.0}
    for _ in range(k):
        longer: Distribution = {}
        for taken, p in law.items():
            left = [index for index in range(len(utilities)) if index not in taken]
            chosen, nobody = dict.fromkeys(left, 0.0), 0.0
            for order in itertools.permutations(left):
                reached = 1 / math.factorial(len(left))
                for index in order:
                    chosen[index] += reached * stays[index]
                    reached *= 1 - stays[index]
                nobody += reached
            longer |= {(*taken, index): p * chance / (1 - nobody) for index, chance in chosen.items()}
        law = longer
    return law


def with_replacement(utilities: Sequence[int], k: int, scale: Fraction) -> Distribution:
    """A broken twin: whoever is taken may be taken again."""
    chances = permute_and_flip(utilities, scale)
    places = range(len(utilities))
    return {
        outcome: math.prod(chances[index] for index in outcome) for outcome in itertools.product(places, repeat=k)
    }


def fits_peeling(outcomes: Sequence[tuple[int, ...]], law: Distribution) -> float:
    """Return the p-value of a chi-square test; the rarest outcomes are pooled until every cell expects 20."""
    rare, pooled = set(), 0.0
    for outcome in sorted(law, key=lambda outcome: law[outcome]):
        if law[outcome] * len(outcomes) < 20 or 0 < pooled * len(outcomes) < 20:
            rare.add(outcome)
            pooled += law[outcome]
    assert len(rare) < len(law), "too few draws to tell anything"
    cell = {outcome: () if outcome in rare else outcome for outcome in law}
    observed = Counter(cell.get(outcome, outcome) for outcome in outcomes)
    return fits(observed, distribution_of((cell[outcome], p) for outcome, p in law.items()))


def by_sampler(
    utilities: Sequence[int], k: int, scale: Fraction, source: NoiseSource, draws: int = DRAWS
) -> list[tuple[int, ...]]:
    behind = scored(utilities).sensitive_gaps
    return [tuple(draw(behind, k, scale.numerator, scale.denominator, source)) for _ in range(draws)]


def drawn_from(law: Distribution, seed: int) -> list[tuple[int, ...]]:
    """Draw from an exact law by other means."""
    outcomes = list(law)
    places = np.random.default_rng(seed).choice(len(outcomes), DRAWS, p=[law[outcome] for outcome in outcomes])
    return [outcomes[place] for place in places]


# The law


CASES = [
    ([0, 1], 1, Fraction(1)),
    ([0, 1], 2, Fraction(1)),
    ([5, 4, 4, 2], 1, Fraction(3, 2)),
    ([5, 4, 4, 2], 2, Fraction(3, 2)),
    ([3, 9, 8, 5], 3, Fraction(20, 9)),
    ([2, 0, 1], 3, Fraction(1, 3)),
    ([1, 3, 0, 2, 3], 2, Fraction(355, 113)),
    ([2, 1, 0, -(10**6)], 3, Fraction(2**31 - 1, 2**31 - 2)),  # one that is seen when nobody else is left
    ([4, 2, 1, 0, 3], 5, scale_for(2, Fraction("0.523456789012345678"))),  # all of them, rounded up
]


@pytest.mark.parametrize(("utilities", "k", "scale"), CASES, ids=str)
def test_outcomes_have_the_exact_distribution(utilities: list[int], k: int, scale: Fraction) -> None:
    outcomes = by_sampler(utilities, k, scale, SeededNoise(1))
    assert fits_peeling(outcomes, peeled(utilities, k, scale)) > LEVEL
    for wrong in (scale / 2, scale * 2):
        assert fits_peeling(outcomes, peeled(utilities, k, wrong)) < LEVEL


def test_the_enumerated_distribution_sums_to_one() -> None:
    """And one round of it is noisy max with exponential noise: for two, P(the worse) = e^(-gap / scale) / 2."""
    for utilities, k, scale in CASES:
        assert math.fsum(peeled(utilities, k, scale).values()) == pytest.approx(1, rel=1e-12)
    assert peeled([3, 0], 1, Fraction(2))[(1,)] == pytest.approx(math.exp(-3 / 2) / 2, rel=1e-12)


def test_one_round_is_never_worse_than_the_exponential_mechanism() -> None:
    for utilities, _, scale in CASES:
        behind = [max(utilities) - utility for utility in utilities]
        ours, theirs = permute_and_flip(utilities, scale), exponential(utilities, scale)
        assert np.dot(ours, behind) <= np.dot(theirs, behind) + 1e-12


MUTANTS: dict[str, Callable[[Sequence[int], int, Fraction], Distribution]] = {
    "the exponential mechanism": lambda utilities, k, scale: peeled(utilities, k, scale, exponential),
    "the best of the first round": with_the_first_best,
    "with replacement": with_replacement,
    "half the scale": lambda utilities, k, scale: peeled(utilities, k, scale / 2),
    "double the scale": lambda utilities, k, scale: peeled(utilities, k, scale * 2),
    "the scale of one round": lambda utilities, k, scale: peeled(utilities, k, scale / k),
    "worst first": lambda utilities, k, scale: peeled([-utility for utility in utilities], k, scale),
    "one place on": lambda utilities, k, scale: peeled([*utilities[1:], utilities[0]], k, scale),
    "last taken in front": lambda utilities, k, scale: {
        outcome[::-1]: p for outcome, p in peeled(utilities, k, scale).items()
    },
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_rejected(name: str) -> None:
    utilities, k, scale = [9, 6, 5, 3], 2, Fraction(20, 9)
    law = peeled(utilities, k, scale)
    assert fits_peeling(drawn_from(MUTANTS[name](utilities, k, scale), 6), law) < LEVEL
    assert fits_peeling(drawn_from(law, 6), law) > LEVEL
    assert (
        fits_peeling(by_sampler(utilities, k, scale, SeededNoise(7)), MUTANTS[name](utilities, k, scale)) < LEVEL
    )


def test_equals_come_in_any_order() -> None:
    outcomes = by_sampler([7] * 4, 4, Fraction(1), SeededNoise(3))
    law = dict.fromkeys(itertools.permutations(range(4)), 1 / 24)
    assert fits_peeling(outcomes, law) > LEVEL
    assert fits_peeling([tuple(sorted(outcome)) for outcome in outcomes], law) < LEVEL


def test_every_part_of_a_long_list_is_reached() -> None:
    """300,000 equals, by tenths; a draw that left the last tenth out would be seen."""
    behind = np.zeros(300_000, dtype=np.int32)
    source = ShortBuffers(SeededNoise(4))
    tenths = [index // 30_000 for _ in range(100) for index in draw(behind, 50, 1, 1, source)]
    law = dict.fromkeys(range(10), 0.1)
    assert fits(Counter(tenths), law) > LEVEL
    assert fits(Counter(tenth % 9 for tenth in tenths), law) < LEVEL


class ShortBuffers:
    """Gives a few words at a time, however many are wanted: quick where few are needed."""

    is_private = False

    def __init__(self, source: NoiseSource, size: int = 256) -> None:
        self.source, self.size = source, size

    def words(self, count: int) -> NDArray[np.uint32]:
        return self.source.words(min(count, self.size))

    def key(self) -> bytes:
        return self.source.key()


PRICES = [
    ([10, 9, 9, 7], 1, 1, "0.9"),
    ([10, 9, 9, 7], 2, 1, "1.7"),
    ([6, 1, 0, 4], 3, 2, "2.523456789012345678"),
    ([3_000_000, 0, 1_500_001], 2, 10**6, "1"),
]


@pytest.mark.parametrize(("utilities", "k", "rise", "epsilon"), PRICES, ids=str)
def test_peel_has_the_distribution_of_its_grant(
    utilities: list[int], k: int, rise: int, epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(top_k, "confirm", lambda *_: None)  # slow, and tested elsewhere
    candidates, source = scored(utilities, rise), SeededNoise(5)
    outcomes = [tuple(choose_top_k(candidates, k, Grant(epsilon), source)) for _ in range(DRAWS)]
    exact = Fraction(k * rise) / Fraction(epsilon)
    assert fits_peeling(outcomes, peeled(utilities, k, exact)) > LEVEL
    for wrong in (exact / 2, exact * 2):
        assert fits_peeling(outcomes, peeled(utilities, k, wrong)) < LEVEL


def test_peeling_with_real_randomness() -> None:
    """Randomness of the operating system: a false alarm once in 10 million runs."""
    source = OperatingSystemNoise()
    outcomes = by_sampler([5, 4, 4, 2], 2, Fraction(20, 9), source, draws=4_000)
    assert fits_peeling(outcomes, peeled([5, 4, 4, 2], 2, Fraction(20, 9))) > LEVEL
    grant = Grant("50")
    assert choose_top_k(scored([0, 90, 3, 50]), 2, grant, source) == [1, 3]
    assert grant.is_spent


# The price


def worst_loss(utilities: Sequence[int], k: int, scale: Fraction, most: int = 1) -> float:
    """The largest log-ratio of any ordered outcome's probabilities, over all who raise any of the utilities."""
    before, worst = peeled(utilities, k, scale), 0.0
    for change in itertools.product(range(most + 1), repeat=len(utilities)):
        after = peeled([utility + by for utility, by in zip(utilities, change, strict=True)], k, scale)
        worst = max(worst, *(abs(math.log(before[outcome] / after[outcome])) for outcome in before))
    return worst


COUNTS = [[0, 0, 0], [2, 1, 0], [4, 4, 1], [0, 0, 5, 9], [3, 2, 2, 1], [0, 1, 0, 1]]


@pytest.mark.parametrize("epsilon", ["0.1", "1", "2.5"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_privacy_loss_of_a_user_is_at_most_epsilon(k: int, epsilon: str) -> None:
    """In closed form, over all who may join small logs, and so over all who may leave."""
    scale = scale_for(k, Fraction(epsilon))
    for utilities in COUNTS:
        assert worst_loss(utilities, k, scale) <= float(epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "2.5"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_cost_is_tight(k: int, epsilon: str) -> None:
    """Hopeless candidates who win all the same: each gains a factor close to e^(ε/K) from somebody who joins."""
    scale = scale_for(k, Fraction(epsilon))
    hopeless = [*[math.ceil(20 * scale)] * 2, *[0] * k]
    assert 0.95 * float(epsilon) < worst_loss(hopeless, k, scale) <= float(epsilon) * (1 + 1e-9)
    assert worst_loss(hopeless, k, scale / 2) > 1.5 * float(epsilon)  # a scale too small
    assert worst_loss(hopeless, k, scale, most=2) > 1.5 * float(epsilon)  # a rise understated


def test_scores_that_go_both_ways_would_lose_more() -> None:
    """Why a rise is asked for: somebody who lowers the rivals of a hopeless candidate costs twice as much."""
    scale = scale_for(1, Fraction(1))
    before = permute_and_flip([20, 0], scale)
    after = permute_and_flip([19, 1], scale)
    assert math.log(after[1] / before[1]) > 1.9


# The grant


@pytest.mark.parametrize("source", [OperatingSystemNoise(), SeededNoise(1)], ids=lambda s: str(type(s).__name__))
@pytest.mark.parametrize(("size", "k"), [(1, 1), (2, 1), (2, 2), (5_000, 1), (5_000, 40), (700, 700)])
def test_peel_spends_the_grant_once(source: Any, size: int, k: int) -> None:
    candidates, grant = scored([0] * size), Grant("0.5")
    taken = choose_top_k(candidates, k, grant, source)
    assert len(set(taken)) == len(taken) == k
    assert {type(index) for index in taken} == {int}
    assert set(taken) <= set(range(size))
    assert grant.is_spent
    with pytest.raises(GrantError, match="already spent"):
        choose_top_k(candidates, k, grant, source)


class Failing:
    """A source that fails when it is asked for words."""

    is_private = False

    def words(self, count: int) -> Any:
        raise OSError("no randomness left")

    def key(self) -> bytes:
        return bytes(16)


def test_a_grant_is_spent_even_if_drawing_fails() -> None:
    grant = Grant("1")
    with pytest.raises(OSError, match="no randomness"):
        choose_top_k(scored([1, 2]), 1, grant, Failing())
    assert grant.is_spent


def test_a_spent_grant_draws_nothing() -> None:
    grant = Grant("1")
    grant.spend()
    with pytest.raises(GrantError):
        choose_top_k(scored([1, 2]), 1, grant, Failing())  # never asked for words


@pytest.mark.parametrize("k", [0, -1, 4, 10**9])
def test_as_many_as_there_are_at_most(k: int) -> None:
    grant = Grant("1")
    with pytest.raises(UsageError, match="k must lie between 1 and 3, the number of candidates"):
        choose_top_k(scored([1, 2, 3]), k, grant, SeededNoise(1))
    assert not grant.is_spent


def test_scores_that_a_joining_user_lowers_cannot_be_peeled() -> None:
    grant = Grant("1")
    with pytest.raises(ValueError, match="may lower"):
        choose_top_k(scored([1, 2, 3], rise=None), 1, grant, SeededNoise(1))
    assert not grant.is_spent


def test_nothing_is_spent_when_the_scale_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    grant = Grant("1e-9")
    with pytest.raises(UsageError, match="more than can be drawn"):
        choose_top_k(scored([1, 2, 3]), 3, grant, SeededNoise(1))
    assert not grant.is_spent
    grant = Grant("1")
    monkeypatch.setattr(top_k, "scale_for", lambda rise, epsilon: Fraction(rise) / epsilon / 2)
    with pytest.raises(HeadcountError, match="does not pay"):
        choose_top_k(scored([1, 2, 3]), 2, grant, SeededNoise(1))
    assert not grant.is_spent


class Heir(Scored):
    """A class that could override what the score declared."""


@pytest.mark.parametrize(
    "forgery",
    [np.array([1, 2]), [1, 2], None, Heir(np.array([1, 2]), 1, SEAL, rise=1)],
    ids=lambda value: type(value).__name__,
)
def test_peeling_accepts_nothing_but_scored_candidates(forgery: Any) -> None:
    grant = Grant("1")
    with pytest.raises(TypeError, match="Scored candidates alone"):
        choose_top_k(forgery, 1, grant, SeededNoise(1))
    assert not grant.is_spent


# Cutting the stream of words into buffers


@pytest.mark.parametrize("size", [1, 5, 17, 1_000])
def test_the_size_of_the_buffers_does_not_change_the_outcome(size: int) -> None:
    behind = scored([0, 3, *range(-40, 0)] * 5).sensitive_gaps
    whole = [draw(behind, 12, 20, 3, SeededNoise(seed)) for seed in range(60)]
    assert len(set(map(tuple, whole))) > 50
    assert [draw(behind, 12, 20, 3, ShortBuffers(SeededNoise(seed), size)) for seed in range(60)] == whole


def test_a_stream_of_equal_words_does_not_end_the_program() -> None:
    """Degenerate words make degenerate choices, in finite time, and never more words than there are."""
    behind = scored([5, 4, 1]).sensitive_gaps
    for word in (0, 1, 2**31, 2**32 - 1):
        words = np.full(500, word, dtype=np.uint32)
        order = np.arange(3, dtype=np.int64)
        index, at, used = choosing.permute_and_flip(behind, 0, 200, 9, order, 0, 0, words)
        assert -1 <= index < 3
        assert 0 <= at < 3
        assert 0 <= used <= 500
        assert sorted(order.tolist()) == [0, 1, 2]


def test_the_best_of_two_million_come_out() -> None:
    utilities = np.full(2_000_000, -MAX_GAP, dtype=np.int64)
    utilities[[1_234_567, 7]] = [0, -1000]
    assert choose_top_k(Scored(utilities, 1, SEAL, rise=1), 2, Grant("1"), SeededNoise(7)) == [1_234_567, 7]


def test_the_largest_exponent_fits() -> None:
    """2^31 - 1 behind at the smallest scale there is: e^(-2^62) never happens while somebody better is left."""
    behind = scored([0, -MAX_GAP, -2 * MAX_GAP]).sensitive_gaps
    source = SeededNoise(8)
    outcomes = {tuple(draw(behind, 3, 1, 2**31 - 1, source)) for _ in range(300)}
    assert outcomes == {(0, 1, 2), (0, 2, 1)}  # what lies beyond the cut is all alike
