"""Scores of candidates: equal to their definitions, and moved by one person within their spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headcount.bounds import Bounded, Scored, Sensitivity
from headcount.bounds.bounded import MAX_GAP, SEAL
from headcount.bounds.counts.record_cap import CappedRecords
from headcount.bounds.linear_maps import walsh_hadamard
from headcount.bounds.scores import candidate_scores
from headcount.bounds.scores.candidate_scores import (
    SCALE_PERCENTS,
    capped_total_scores,
    count_scores,
    scaled_scores,
    tail_scores,
)
from headcount.errors import UsageError

Users = list[list[int]]  # the columns of each user's records

UNIT_SENSITIVITY = Sensitivity(l1=1, l2_squared=1, linf=1)
FINE = 1 << 16
epsilons = st.fractions(Fraction(1, 10), 5, max_denominator=1000)


def assert_behind(scored: Scored, utilities: Sequence[int]) -> None:
    best = max(utilities)
    assert scored.sensitive_gaps.tolist() == [min(best - utility, MAX_GAP) for utility in utilities]


def moved(before: Scored, after: Scored) -> int:
    """Return how differently two candidates were moved, at most; what all gain alike shows in no gap."""
    assert before.spread == after.spread
    assert max(before.sensitive_gaps.max(), after.sensitive_gaps.max()) < MAX_GAP
    change = before.sensitive_gaps.astype(np.int64) - after.sensitive_gaps
    return int(change.max() - change.min())


# DPSense


def activity(users: Sequence[int]) -> Bounded:
    return Bounded(np.array(users, dtype=np.int64), UNIT_SENSITIVITY, SEAL)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.integers(1, 1000), epsilons)
@example([0], 1, Fraction(1))
@example([0, 0, 0], 7, Fraction(1, 3))
@example([5] * 12, 7, Fraction(2**61 + 1, 2**62))  # parts too large for 64 bits
def test_capped_totals_are_what_they_are_defined_to_be(users: list[int], columns: int, epsilon: Fraction) -> None:
    records = [k for k, times in enumerate(users, start=1) for _ in range(times)]
    utilities = [
        sum(min(n, limit) for n in records) - math.floor(columns * limit / epsilon)
        for limit in range(1, len(users) + 1)
    ]
    assert_behind(capped_total_scores(activity(users), columns, epsilon), utilities)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.integers(1, 1000), epsilons)
def test_capped_totals_keep_the_sensitivity(users: list[int], columns: int, epsilon: Fraction) -> None:
    before = capped_total_scores(activity(users), columns, epsilon)
    furthest = 0
    for place in range(len(users)):
        more = [times + (at == place) for at, times in enumerate(users)]
        furthest = max(furthest, moved(before, capped_total_scores(activity(more), columns, epsilon)))
    assert furthest == len(users) - 1 == before.spread or (furthest, before.spread, len(users)) == (0, 1, 1)


def test_a_tiny_epsilon_does_not_overflow() -> None:
    scored = capped_total_scores(activity([3, 4]), 2**40, Fraction(1, 10**18))
    assert scored.sensitive_gaps.tolist() == [4, 0]  # the noise of both is beyond telling
    scored = capped_total_scores(activity([3, 4]), 2**20, Fraction(1, 10**10))
    assert scored.sensitive_gaps.tolist() == [0, MAX_GAP]


@pytest.mark.parametrize("reach", [Sensitivity(2, 2, 1), Sensitivity(2, 4, 2)])
def test_an_activity_that_a_user_moves_further_is_refused(reach: Sensitivity) -> None:
    with pytest.raises(ValueError, match="not a histogram of users"):
        capped_total_scores(Bounded(np.ones(3, dtype=np.int64), reach, SEAL), 3, Fraction(1))
    with pytest.raises(ValueError, match="not a histogram of users"):
        capped_total_scores(Bounded(np.ones((3, 1), dtype=np.int64), UNIT_SENSITIVITY, SEAL), 3, Fraction(1))


# FPA


def transformed(values: Sequence[int], reach: int = 1, unit: int = 1) -> Bounded:
    """What √n times an orthonormal transform might give, with its L2² sensitivity."""
    return Bounded(np.array(values, dtype=np.int64), Sensitivity(10**9, reach, 10**9), SEAL, unit=unit)


@given(
    st.lists(st.integers(-(2**50), 2**50), min_size=1, max_size=12),
    st.integers(2**40, 2**60),
    st.sampled_from([1, 1 << 16]),
    st.data(),
)
@settings(max_examples=200)
def test_tails_are_what_they_are_defined_to_be(
    values: list[int], reach: int, unit: int, data: st.DataObject
) -> None:
    sizes = data.draw(st.lists(st.integers(0, len(values)), min_size=1, max_size=5))
    penalties = [data.draw(st.floats(0, 1e6)) for _ in sizes]
    scored = tail_scores(transformed(values, reach, unit), sizes, penalties)
    one_record = FINE * unit * math.sqrt(len(values) / reach)
    utilities = [
        -math.isqrt(FINE**2 * sum(value**2 for value in values[size:]) // reach) - math.ceil(one_record * penalty)
        for size, penalty in zip(sizes, penalties, strict=True)
    ]
    assert_behind(scored, utilities)


@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=8),
    st.lists(st.integers(-3, 3), min_size=8, max_size=8),
)
@settings(max_examples=300)
def test_tail_scores_keep_the_sensitivity(values: list[int], change: list[int]) -> None:
    change = change[: len(values)]
    reach = max(1, sum(step**2 for step in change))
    after = [value + counts for value, counts in zip(values, change, strict=True)]
    sizes = range(len(values) + 1)
    scored = [tail_scores(transformed(counts, reach), sizes, [0.0] * len(sizes)) for counts in (values, after)]
    assert moved(*scored) <= scored[0].spread


def test_the_spread_of_tails_is_reached_but_for_rounding() -> None:
    """The larger tail grows by 5, the smaller one shrinks by 5, and the L2 distance is √50."""
    scored = [
        tail_scores(transformed(counts, 50), [0, 1], [0.0, 0.0]) for counts in ([10**4, 50], [10**4 + 5, 45])
    ]
    assert 0.99 * scored[0].spread < moved(*scored) <= scored[0].spread
    assert scored[0].spread <= 1.4143 * FINE


def test_energies_use_all_bits() -> None:
    values = np.array([2**62 + 12345678901, -(2**61) - 98765432109, 2**33 - 1, -1, 0], dtype=np.int64)
    energies = candidate_scores._tail_energies(values, [0, 2, 5, 3])
    assert energies == {size: sum(int(value) ** 2 for value in values[size:]) for size in (0, 2, 3, 5)}
    many = np.full(70_000, 2**50 + 1, dtype=np.int64)
    assert candidate_scores._tail_energies(many, [1])[1] == 69_999 * (2**50 + 1) ** 2


def test_penalties_are_in_records_and_norms_orthonormal() -> None:
    """All but the constant left out of n = 4 values 3, 1, 1, 1: a norm of √3; equal with that penalty."""
    for unit in (1, 8):
        values = np.array([3, 1, 1, 1]) * unit
        counts = Bounded(values, Sensitivity(unit, unit**2, unit), SEAL, unit=unit)
        scored = tail_scores(walsh_hadamard(counts), [1, 4], [0.0, math.sqrt(3)])
        assert scored.sensitive_gaps.max() <= 1
        dearer = tail_scores(walsh_hadamard(counts), [1, 4], [0.0, 2 + math.sqrt(3)])
        assert dearer.sensitive_gaps.tolist() == [0, pytest.approx(2 * FINE, abs=2)]


def test_a_penalty_without_end_is_cut() -> None:
    assert tail_scores(transformed([1]), [0, 1], [0.0, math.inf]).sensitive_gaps.tolist() == [0, MAX_GAP]


@pytest.mark.parametrize(("sizes", "penalties"), [([0, 3], [0.0, 0.0]), ([-1], [0.0]), ([0, 1], [0.0])])
def test_sizes_must_fit(sizes: list[int], penalties: list[float]) -> None:
    with pytest.raises(ValueError, match="sizes must lie between 0 and 2"):
        tail_scores(transformed([1, 2]), sizes, penalties)


# DPSense-S


def rows_of(users: Users, width: int, most: int) -> CappedRecords:
    ordered = sorted(users, key=len)
    sums = np.array([len(user) for user in ordered], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sums)]).astype(np.int64)
    columns = np.array([column for user in ordered for column in user], dtype=np.int32)
    return CappedRecords(sums, starts, columns, width=width, most=most)


def furthest_by_one(width: int, most: int) -> int:
    return 100 * 2**16 * most + 200 * min(most, width)


def naive_distance(users: Users, width: int, limit: int, factor: int) -> int:
    """Return Σ_j |a · C_j - 100 · F · c_j|, in Python's integers, user by user."""
    whole, shares, true = [0] * width, [0] * width, [0] * width
    for user in users:
        for column in user:
            true[column] += 1
            if len(user) <= limit:
                whole[column] += 1
            else:
                shares[column] += 2**32 // len(user)
    counts = [2**16 * w + (limit * s >> 16) for w, s in zip(whole, shares, strict=True)]
    return sum(
        abs(factor * count - 100 * 2**16 * true_count) for count, true_count in zip(counts, true, strict=True)
    )


def naive_utilities(users: Users, width: int, most: int, epsilon: Fraction) -> list[int]:
    coarse = furthest_by_one(width, most) // FINE
    noise = float(2**16 * width / epsilon)
    return [
        (-naive_distance(users, width, limit, factor) - min(math.floor(limit * factor * noise), 2**61)) // coarse
        for limit in range(1, most + 1)
        for factor in SCALE_PERCENTS
    ]


@st.composite
def logs(draw: st.DrawFn) -> tuple[Users, int, int]:
    width, most = draw(st.integers(1, 5)), draw(st.integers(1, 8))
    user = st.lists(st.integers(0, width - 1), min_size=0, max_size=most)
    return draw(st.lists(user, max_size=8)), width, most


@given(logs(), epsilons, st.integers(1, 5))
@settings(max_examples=200, deadline=None)
@example(([], 3, 4), Fraction(1), 1)  # nobody
@example(([[0]], 1, 1), Fraction(1), 1)
@example(([[0, 0, 0, 0]] * 3, 1, 4), Fraction(1), 2)  # all above every limit but the last, d = 1
@example(([[0, 2]] * 5, 4, 8), Fraction(1), 1)  # all alike, columns nobody has, most limits cut nothing
@example(([[0], [1, 1, 1, 1, 1, 1, 1, 1]], 2, 8), Fraction(5), 3)
def test_scaled_scores_are_what_they_are_defined_to_be(
    log: tuple[Users, int, int], epsilon: Fraction, at_once: int
) -> None:
    users, width, most = log
    with mock.patch.object(candidate_scores, "_LIMITS_AT_ONCE", at_once):
        scored = scaled_scores(rows_of(users, width, most), epsilon)
    assert_behind(scored, naive_utilities(users, width, most, epsilon))


def test_scaled_scores_of_many_users_are_what_they_are_defined_to_be() -> None:
    """Counts that are no round numbers, many limits, and one user far above all others."""
    random = np.random.default_rng(5)
    users = [random.integers(0, 7, size).tolist() for size in random.geometric(0.05, 60).clip(1, 80)]
    users.append([6] * 150)
    most = 160
    scored = scaled_scores(rows_of(users, 8, most), Fraction(3))
    utilities = np.array(naive_utilities(users, 8, most, Fraction(3)))
    assert np.array_equal(scored.sensitive_gaps, utilities.max() - utilities)


def test_users_with_as_many_records_may_be_taken_together() -> None:
    """As engines hand them over: one slice for all users with the same number of records."""
    apart = rows_of([[0], [1], [2, 0], [1, 1], [0, 1, 2]], 3, 4)
    sums, starts = np.array([1, 2, 3]), np.array([0, 2, 6, 9])
    together = CappedRecords(sums, starts, apart.columns, width=3, most=4)
    split, other = (scaled_scores(rows, Fraction(2)).sensitive_gaps for rows in (apart, together))
    assert np.array_equal(split, other)


def test_a_share_of_a_record_may_be_too_small_to_count() -> None:
    """One of 70,000 records under the limit 1 is less than 2^-16: the column counts 0, whatever the factor."""
    users, most = [[0] * 69_999 + [1], [0]], 70_000
    scored = scaled_scores(rows_of(users, 2, most), Fraction(10**9))
    coarse, noise = furthest_by_one(2, most) // FINE, float(Fraction(2**17, 10**9))
    candidates = [(limit, factor) for limit in (1, 2, 35_000, 69_999, 70_000) for factor in (100, 143, 200)]
    utilities = [
        (-naive_distance(users, 2, limit, factor) - math.floor(limit * factor * noise)) // coarse
        for limit, factor in candidates
    ]
    gaps = [int(scored.sensitive_gaps[(limit - 1) * 101 + factor - 100]) for limit, factor in candidates]
    assert gaps == [max(utilities) - utility for utility in utilities]


@given(logs(), st.data(), epsilons)
@settings(max_examples=200, deadline=None)
def test_scaled_scores_keep_the_sensitivity(
    log: tuple[Users, int, int], data: st.DataObject, epsilon: Fraction
) -> None:
    users, width, most = log
    user = data.draw(st.lists(st.integers(0, width - 1), max_size=most))
    before, after = (scaled_scores(rows_of(rows, width, most), epsilon) for rows in (users, [*users, user]))
    assert moved(before, after) <= before.spread


@given(logs(), st.data())
@settings(max_examples=100, deadline=None)
def test_distances_keep_the_sensitivity(log: tuple[Users, int, int], data: st.DataObject) -> None:
    """The same before anything is made coarser, where the terms that rounding adds are seen."""
    users, width, most = log
    user = data.draw(st.lists(st.integers(0, width - 1), max_size=most))
    for limit in range(1, most + 1):
        for factor in (100, 101, 150, 199, 200):
            before, after = (naive_distance(rows, width, limit, factor) for rows in (users, [*users, user]))
            assert abs(after - before) <= furthest_by_one(width, most)


def test_the_spread_of_scaled_scores_is_nearly_reached() -> None:
    """A heavy user joins light ones: better where twice a low limit over-counted, worse where nothing is cut."""
    light, heavy = [[0]] * 100, [0] * 40
    before, after = (scaled_scores(rows_of(users, 1, 40), Fraction(5)) for users in (light, [*light, heavy]))
    assert 0.95 * before.spread < moved(before, after) <= before.spread


def test_the_best_factor_corrects_the_undercount() -> None:
    """Users with 10 records each, half of which the limit 5 keeps, four fifths the limit 8."""
    users = [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]] * 50 + [[0, 0, 0, 0, 0, 5, 5, 5, 5, 5]] * 50
    scored = scaled_scores(rows_of(users, 10, 12), Fraction(10**9))
    gaps = scored.sensitive_gaps.reshape(12, 101)
    best = {limit: SCALE_PERCENTS[int(gaps[limit - 1].argmin())] for limit in (1, 5, 8, 10, 12)}
    assert best == {1: 200, 5: 200, 8: 125, 10: 100, 12: 100}


def test_noise_that_is_dear_calls_for_a_low_limit_and_a_factor() -> None:
    """Most are light; a tenth is heavy, and the noise for their sake is not worth it but a factor is."""
    users = [[0, 1]] * 900 + [[0] * 50 + [1] * 50] * 20
    best = int(scaled_scores(rows_of(users, 2, 100), Fraction(1, 50)).sensitive_gaps.argmin())
    limit, factor = best // 101 + 1, SCALE_PERCENTS[best % 101]
    assert limit < 100
    assert factor > 100


def test_too_many_candidates_are_refused() -> None:
    with pytest.raises(
        UsageError, match=r"for each of 1,980,199 limits, more than 200,000,000 in all; use dpsense"
    ):
        scaled_scores(rows_of([], 2_000_000, 1_980_199), Fraction(1))


def test_a_user_with_more_records_than_declared_is_not_scored() -> None:
    with pytest.raises(ValueError, match="hold a user with more records"):
        scaled_scores(rows_of([[0, 0, 0]], 1, 2), Fraction(1))


@pytest.mark.parametrize("given_", [np.zeros(3), None, [1], "rows"], ids=repr)
def test_scores_accept_only_sealed_values(given_: Any) -> None:
    with pytest.raises(TypeError, match="Bounded values alone"):
        capped_total_scores(given_, 1, Fraction(1))
    with pytest.raises(TypeError, match="Bounded values alone"):
        tail_scores(given_, [0], [0.0])
    with pytest.raises(TypeError, match="CappedRecords alone"):
        scaled_scores(given_, Fraction(1))


# Direct top-K


counts_of = st.lists(st.integers(0, 50), min_size=1, max_size=8)


@given(counts_of, st.integers(1, 3), st.data())
def test_items_are_weighed_by_their_counts(counts: list[int], linf: int, data: st.DataObject) -> None:
    """Whoever joins raises some counts by up to L∞ and lowers none, however many those are."""
    reach = Sensitivity(l1=1000, l2_squared=1000, linf=linf)
    scored = count_scores(Bounded(np.array(counts, dtype=np.int64), reach, SEAL))
    assert_behind(scored, counts)
    assert scored.rise == scored.spread == linf
    raised = [count + data.draw(st.integers(0, linf)) for count in counts]
    assert moved(scored, count_scores(Bounded(np.array(raised, dtype=np.int64), reach, SEAL))) <= scored.spread


def test_the_counts_stay_what_they_were() -> None:
    """Scores are worked out in place, so they need a copy."""
    counts = Bounded(np.array([5, 9]), Sensitivity(l1=2, l2_squared=2, linf=1), SEAL)
    count_scores(counts)
    assert counts.sensitive_values.tolist() == [5, 9]


def test_counts_are_weighed_from_bounded_values_alone() -> None:
    class Forged(Bounded):
        """A subclass could say anything of its sensitivity."""

    for given_ in (np.array([1, 2]), [1, 2], None, Forged(np.array([1, 2]), UNIT_SENSITIVITY, SEAL)):
        with pytest.raises(TypeError, match="Bounded values alone"):
            count_scores(given_)  # type: ignore[arg-type]


def test_only_counts_are_monotone() -> None:
    assert capped_total_scores(activity([3, 2]), 2, Fraction(1)).rise is None
