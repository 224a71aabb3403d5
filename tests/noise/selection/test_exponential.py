"""The exponential mechanism: exactly its law, exactly its price, and one grant for one choice.

Every test of a law is a chi-square test against exact probabilities, rare candidates pooled, at ``laws.LEVEL`` =
1e-7. It is two-sided: the right scale is accepted; half and double of it, and other broken twins, are rejected.
Seeded samples are the same in every run; with randomness of the operating system a false alarm comes once in 10
million tests.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headcount.accounting.budget import Grant
from headcount.bounds import bounded
from headcount.bounds.bounded import MAX_GAP, SEAL, Scored
from headcount.errors import GrantError, HeadcountError, UsageError
from headcount.noise import NoiseSource, OperatingSystemNoise, SeededNoise, scale_for
from headcount.noise.samplers.kernels import exponential as choosing
from headcount.noise.selection import exponential as choice
from headcount.noise.selection.exponential import choose_candidate, confirm, draw
from tests.support.distributions import LEVEL, distribution_of, fits

DRAWS = 12_000
SCALES = [
    Fraction(1),
    Fraction(1, 3),
    Fraction(20, 9),
    Fraction(355, 113),
    scale_for(3, Fraction("0.123456789012345678")),  # rounded up
    Fraction(2**31 - 1, 2**31 - 2),  # the largest parts there are
]
UTILITIES = [
    [0, 1],
    [5, 4, 4, 2],
    [3, 0, 1, 3, 2, 3],
    [0, -(10**6), -1, -(10**12), -2],  # two that are never seen
    [2, 1, *[0] * 30],
]


def scored(utilities: Sequence[int], spread: int = 1) -> Scored:
    return Scored(np.array(utilities, dtype=np.int64), spread, SEAL)


def exponential_distribution(behind: Iterable[int], scale: Fraction) -> dict[int, float]:
    """The exact probabilities, from the definition."""
    weights = [math.exp(-int(gap) / scale) for gap in behind]
    return {index: weight / math.fsum(weights) for index, weight in enumerate(weights)}


def fits_choice(indices: Sequence[int], law: dict[int, float]) -> float:
    """Return the p-value of a chi-square test; the rarest candidates are pooled until every cell expects 20."""
    rare, pooled = set(), 0.0
    for index in sorted(law, key=lambda level: law[level]):
        if law[index] * len(indices) < 20 or 0 < pooled * len(indices) < 20:
            rare.add(index)
            pooled += law[index]
    assert len(rare) < len(law), "too few draws to tell anything"
    cell = {index: -1 if index in rare else index for index in law}
    return fits(
        Counter(cell[index] for index in indices), distribution_of((cell[index], p) for index, p in law.items())
    )


def by_sampler(utilities: Sequence[int], scale: Fraction, source: NoiseSource, draws: int = DRAWS) -> list[int]:
    behind = scored(utilities).sensitive_gaps
    return [draw(behind, scale, source) for _ in range(draws)]


# The law


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_choices_have_the_exact_distribution(scale: Fraction) -> None:
    """Gaps of up to two scales, or one unit where that is more."""
    utilities = [math.ceil(index * scale / 2) for index in (3, 0, -1, 0, 1)]
    law = exponential_distribution(scored(utilities).sensitive_gaps, scale)
    indices = by_sampler(utilities, scale, SeededNoise(1))
    assert fits_choice(indices, law) > LEVEL
    for wrong in (scale / 2, scale * 2):
        assert fits_choice(indices, exponential_distribution(scored(utilities).sensitive_gaps, wrong)) < LEVEL


@pytest.mark.parametrize("utilities", UTILITIES, ids=lambda value: str(value[:6]))
def test_ties_and_candidates_far_behind(utilities: list[int]) -> None:
    scale = Fraction(3, 2)
    indices = by_sampler(utilities, scale, SeededNoise(2))
    assert fits_choice(indices, exponential_distribution(scored(utilities).sensitive_gaps, scale)) > LEVEL
    for wrong in (scale / 2, scale * 2):
        assert fits_choice(indices, exponential_distribution(scored(utilities).sensitive_gaps, wrong)) < LEVEL


def test_equals_are_chosen_alike() -> None:
    indices = by_sampler([7] * 9, Fraction(1), SeededNoise(3))
    assert fits_choice(indices, exponential_distribution([0] * 9, Fraction(1))) > LEVEL
    assert fits_choice([0] * DRAWS, exponential_distribution([0] * 9, Fraction(1))) < LEVEL


def test_every_part_of_a_long_list_is_reached() -> None:
    """300,000 equals, by tenths; a draw that left the last tenth out would be seen."""
    behind = np.zeros(300_000, dtype=np.int32)
    source = SeededNoise(4)
    tenths = [draw(behind, Fraction(1), ShortBuffers(source)) // 30_000 for _ in range(5_000)]
    law = dict.fromkeys(range(10), 0.1)
    assert fits(Counter(tenths), law) > LEVEL
    assert fits(Counter(tenth % 9 for tenth in tenths), law) < LEVEL


class ShortBuffers:
    """Gives a few words at a time, however many are wanted: quick where a choice needs few."""

    is_private = False

    def __init__(self, source: NoiseSource, size: int = 16) -> None:
        self.source, self.size, self.given = source, size, 0

    def words(self, count: int) -> NDArray[np.uint32]:
        self.given += min(count, self.size)
        return self.source.words(min(count, self.size))

    def key(self) -> bytes:
        return self.source.key()


PRICES = [
    ([10, 9, 9, 7, 0], 2, "0.9"),
    ([10, 9, 9, 7, 0], 5, "1.7"),
    ([6, 1, 0, 4], 3, "0.523456789012345678"),
    ([3_000_000, 0, 1_500_001], 10**6, "1"),
    ([3, 2, 1], 0, "0.7"),  # nobody moves one more than another: a choice all the same
]


@pytest.mark.parametrize(("utilities", "spread", "epsilon"), PRICES, ids=str)
def test_choose_has_the_distribution_of_its_grant(
    utilities: list[int], spread: int, epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "confirm", lambda *_: None)  # slow, and tested below
    candidates, source = scored(utilities, spread), SeededNoise(5)
    indices = [choose_candidate(candidates, Grant(epsilon), source) for _ in range(DRAWS)]
    exact = Fraction(max(spread, 1)) / Fraction(epsilon)
    behind = [max(utilities) - utility for utility in utilities]
    assert fits_choice(indices, exponential_distribution(behind, exact)) > LEVEL
    for wrong in (exact / 2, exact * 2):
        assert fits_choice(indices, exponential_distribution(behind, wrong)) < LEVEL


def test_choices_with_real_randomness() -> None:
    """Randomness of the operating system: a false alarm once in 10 million runs."""
    source = OperatingSystemNoise()
    indices = by_sampler([5, 4, 4, 2], Fraction(20, 9), source)
    assert fits_choice(indices, exponential_distribution([0, 1, 1, 3], Fraction(20, 9))) > LEVEL
    grant = Grant("50")
    assert choose_candidate(scored([0, 90, 3]), grant, source) == 1
    assert grant.is_spent


MUTANTS: dict[str, Callable[[NDArray[np.int32], float], NDArray[np.float64]]] = {
    "half the scale": lambda behind, scale: np.exp(-behind / (scale / 2)),
    "double the scale": lambda behind, scale: np.exp(-behind / (scale * 2)),
    "always the best": lambda behind, scale: (behind == 0).astype(np.float64),
    "anyone": lambda behind, scale: np.ones(behind.size),
    "whole part alone": lambda behind, scale: np.exp(-np.floor(behind / scale)),
    "rest alone": lambda behind, scale: np.exp(-(behind % scale) / scale),
    "one place on": lambda behind, scale: np.roll(np.exp(-behind / scale), 1),
    "never the last": lambda behind, scale: np.append(np.exp(-behind[:-1] / scale), 0),
    "cut too early": lambda behind, scale: np.exp(-np.minimum(behind, 2) / scale),
    "squared": lambda behind, scale: np.exp(-((behind / scale) ** 2)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_rejected(name: str) -> None:
    behind, scale = scored([5, 4, 2, 3, 4]).sensitive_gaps, Fraction(20, 9)
    weights = MUTANTS[name](behind, float(scale))
    generator = np.random.default_rng(6)
    right = np.exp(-behind / float(scale))
    for candidate_weights, accepted in ((weights, False), (right, True)):
        indices = generator.choice(behind.size, DRAWS, p=candidate_weights / candidate_weights.sum()).tolist()
        assert (fits_choice(indices, exponential_distribution(behind, scale)) > LEVEL) == accepted


# The price


def worst_loss(utilities: Sequence[int], changes: Iterable[Sequence[int]], scale: Fraction) -> float:
    """The largest log-ratio of a candidate's probabilities before and after any of the changes."""
    before = exponential_distribution(scored(utilities).sensitive_gaps, scale)
    worst = 0.0
    for change in changes:
        moved = [utility + by for utility, by in zip(utilities, change, strict=True)]
        after = exponential_distribution(scored(moved).sensitive_gaps, scale)
        worst = max(worst, *(abs(math.log(before[index] / after[index])) for index in before))
    return worst


def changes_of(size: int, spread: int) -> list[tuple[int, ...]]:
    """All changes that differ by at most ``spread``, whatever they have in common."""
    return [
        change
        for common in (-spread - 2, -spread, 0, 3)
        for change in itertools.product(range(common, common + spread + 1), repeat=size)
    ]


@pytest.mark.parametrize("spread", [1, 2, 3])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "0.123456789012345678", "2.5"])
@pytest.mark.parametrize("furthest", [MAX_GAP, 4])
def test_no_change_within_the_spread_loses_more_than_epsilon(
    spread: int, epsilon: str, furthest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In closed form, over all small neighbours, with the gaps cut and not; the worst comes close to ε."""
    monkeypatch.setattr(bounded, "MAX_GAP", furthest)
    scale = scale_for(spread, Fraction(epsilon))
    worst = 0.0
    for utilities in ([0, 0, 0], [2, 1, 0], [0, 4, 1], [0, 5, 9]):
        worst = max(worst, worst_loss(utilities, changes_of(3, spread), scale))
        assert worst <= float(epsilon) * (1 + 1e-12)
    assert worst > float(epsilon) * 0.6


@pytest.mark.parametrize("epsilon", ["0.1", "1", "2.5"])
def test_the_cost_is_tight(epsilon: str) -> None:
    """A hopeless candidate, of two, that gains all the spread: its probability grows by a factor close to e^ε."""
    scale = scale_for(2, Fraction(epsilon))
    hopeless = [0, math.ceil(20 * scale)]
    assert 0.999 * float(epsilon) < worst_loss(hopeless, changes_of(2, 2), scale) <= float(epsilon) * (1 + 1e-12)
    assert worst_loss(hopeless, changes_of(2, 3), scale) > 1.4 * float(epsilon)  # a spread understated
    assert worst_loss(hopeless, changes_of(2, 2), scale / 2) > 1.9 * float(epsilon)  # a scale too small


@given(
    st.integers(1, 10**6),
    st.decimals(min_value=Decimal("0.001"), max_value=Decimal(100), places=9),
)
def test_opendp_confirms_every_scale_and_refuses_a_smaller_one(spread: int, epsilon: Decimal) -> None:
    confirm(scale_for(spread, Fraction(epsilon)), spread, Fraction(epsilon))
    exact = spread / Fraction(epsilon)
    for smaller in (exact / 2, exact * Fraction(999_999, 10**6), exact * (1 - Fraction(1, 10**10))):
        with pytest.raises(HeadcountError, match="does not pay"):
            confirm(smaller, spread, Fraction(epsilon))
    with pytest.raises(HeadcountError, match="does not pay"):
        confirm(exact, spread + 1, Fraction(epsilon))


@pytest.mark.parametrize(
    ("spread", "epsilon"), [(1, "1e6"), (2**31 - 1, "1"), (2, "1e-9"), (1, "0.123456789012345678")]
)
def test_opendp_confirms_the_outermost_scales(spread: int, epsilon: str) -> None:
    confirm(scale_for(spread, Fraction(epsilon)), spread, Fraction(epsilon))


# The grant


class Failing:
    """A source that fails when it is asked for words."""

    is_private = False

    def words(self, count: int) -> Any:
        raise OSError("no randomness left")

    def key(self) -> bytes:
        return bytes(16)


@pytest.mark.parametrize("source", [OperatingSystemNoise(), SeededNoise(1)], ids=lambda s: str(type(s).__name__))
@pytest.mark.parametrize("size", [1, 2, 5_000])
def test_choose_spends_the_grant_once(source: Any, size: int) -> None:
    candidates, grant = scored([0] * size), Grant("0.5")
    index = choose_candidate(candidates, grant, source)
    assert type(index) is int
    assert 0 <= index < size
    assert grant.is_spent
    with pytest.raises(GrantError, match="already spent"):
        choose_candidate(candidates, grant, source)


def test_a_grant_is_spent_even_if_drawing_fails() -> None:
    grant = Grant("1")
    with pytest.raises(OSError, match="no randomness"):
        choose_candidate(scored([1, 2]), grant, Failing())
    assert grant.is_spent


def test_a_spent_grant_draws_nothing() -> None:
    grant = Grant("1")
    grant.spend()
    with pytest.raises(GrantError):
        choose_candidate(scored([1, 2]), grant, Failing())  # never asked for words


def test_nothing_is_spent_when_the_scale_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    grant = Grant("1e-9")
    with pytest.raises(UsageError, match="more than can be drawn"):
        choose_candidate(scored([1, 2], spread=100), grant, SeededNoise(1))
    assert not grant.is_spent
    grant = Grant("1")
    monkeypatch.setattr(choice, "scale_for", lambda spread, epsilon: Fraction(spread) / epsilon / 2)
    with pytest.raises(HeadcountError, match="does not pay"):
        choose_candidate(scored([1, 2]), grant, SeededNoise(1))
    assert not grant.is_spent


class Lookalike:
    """Duck typing must not open a second door."""

    spread, size = 1, 2
    sensitive_gaps = np.array([0, 1], dtype=np.int32)


class Heir(Scored):
    """Nor must a class that could override what the score declared."""


@pytest.mark.parametrize(
    "forgery",
    [np.array([1, 2]), [1, 2], None, Lookalike(), Heir(np.array([1, 2]), 1, SEAL)],
    ids=lambda value: type(value).__name__,
)
def test_a_choice_accepts_nothing_but_scored_candidates(forgery: Any) -> None:
    grant = Grant("1")
    with pytest.raises(TypeError, match="Scored candidates alone"):
        choose_candidate(forgery, grant, SeededNoise(1))
    assert not grant.is_spent


def test_scored_candidates_come_from_scores_alone() -> None:
    with pytest.raises(TypeError, match=r"made by headcount\.bounds alone"):
        Scored(np.array([1, 2]), 1, object())


# Cutting the stream of words into buffers


def fed(behind: NDArray[np.int32], scale: Fraction, words: NDArray[np.uint32], sizes: list[int]) -> list[int]:
    """Feed the kernel with the stream in buffers of the given sizes, over and over, choice after choice."""
    indices: list[int] = []
    buffer, at, turn = words[:0], 0, 0
    while True:
        index, used = choosing.exponential_choice(behind, scale.numerator, scale.denominator, buffer)
        assert 0 <= used <= buffer.size
        buffer = buffer[used:]
        if index >= 0:
            indices.append(int(index))
            continue
        if at >= words.size:
            return indices
        size = sizes[turn % len(sizes)]
        buffer, at, turn = np.concatenate([buffer, words[at : at + size]]), at + size, turn + 1


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(200, 9), Fraction(10**6)], ids=str)
def test_the_size_of_the_buffers_does_not_change_the_choices(scale: Fraction) -> None:
    behind = scored([math.ceil(level * scale) for level in (5, 4, 1, 0, 3, 5, -9)]).sensitive_gaps
    words = SeededNoise(3).words(8_000)
    whole = fed(behind, scale, words, [words.size])
    assert len(whole) > 300
    assert len(set(whole)) > 3
    for sizes in ([1], [2], [3, 1, 7], [13], [1_000, 1]):
        assert fed(behind, scale, words, sizes) == whole


@pytest.mark.parametrize("size", [5, 17, 1_000])
def test_choose_resumes_where_a_buffer_ended(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    candidates = scored([0, 3, *range(-40, 0)] * 5)
    whole = [choose_candidate(candidates, Grant("0.7"), SeededNoise(seed)) for seed in range(100)]
    assert len(set(whole)) > 5
    monkeypatch.setattr(choice, "_BUFFER", size)
    assert [choose_candidate(candidates, Grant("0.7"), SeededNoise(seed)) for seed in range(100)] == whole


def test_a_stream_of_equal_words_does_not_end_the_program() -> None:
    """Degenerate words make degenerate choices, in finite time, and never more words than there are."""
    behind = scored([5, 4, 1]).sensitive_gaps
    for word in (0, 1, 2**31, 2**32 - 1):
        index, used = choosing.exponential_choice(behind, 200, 9, np.full(500, word, dtype=np.uint32))
        assert -1 <= index < 3
        assert 0 <= used <= 500


def test_the_best_of_two_million_candidates_is_selected() -> None:
    """A try takes 1 + e = 3.7 words on average, and two million tries are expected; the seed fixes both."""
    utilities = np.full(2_000_000, -MAX_GAP, dtype=np.int64)
    utilities[1_234_567] = 0
    source = ShortBuffers(SeededNoise(7), size=1 << 18)
    assert choose_candidate(Scored(utilities, 1, SEAL), Grant("1"), source) == 1_234_567
    assert source.given < 10 * 3.7 * utilities.size


def test_the_largest_exponent_fits() -> None:
    """2^31 - 1 behind at the smallest scale there is: e^(-2^62) never happens."""
    behind = scored([0, -MAX_GAP, -MAX_GAP]).sensitive_gaps
    assert behind.tolist() == [0, MAX_GAP, MAX_GAP]
    smallest, source = Fraction(1, 2**31 - 1), SeededNoise(8)
    assert {draw(behind, smallest, source) for _ in range(500)} == {0}
