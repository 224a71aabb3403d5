"""How active people are: bins that everyone is in once, and what is made of noisy ones.

All noise is seeded, so that tests come out the same in every run; tolerances say what was measured.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headcount.adaptive.activity_histogram import (
    EstimatedActivity,
    clean_histogram,
    estimate_activity,
    estimate_with_upper,
    fit_lognormals,
)
from headcount.bounds.counts.activity_histogram import BINS, LAST_EDGE, UPPER_ENDS, bin_of, lower_ends

Floats = NDArray[np.float64]

noisy_bins = st.lists(st.integers(-300, 3_000), min_size=BINS, max_size=BINS).map(
    lambda values: np.array(values, dtype=np.float64)
)
scales = st.floats(0.5, 100)
mosts = st.one_of(st.none(), st.integers(1, 5_000))


def binned(records: NDArray[np.int64]) -> Floats:
    return np.bincount(bin_of(records), minlength=BINS).astype(np.float64)


def noised(exact: Floats, scale: float, seed: int) -> Floats:
    return exact + np.random.default_rng(seed).laplace(0, scale, exact.size)


def drawn(kind: str, users: int = 8_000) -> NDArray[np.int64]:
    random = np.random.default_rng(3)
    if kind == "log-normal":
        records = random.lognormal(1.5, 1.0, users)
    elif kind == "pareto":
        records = np.minimum(random.pareto(1.5, users) + 0.5, 5_000)
    else:
        records = random.geometric(0.1 if kind == "geometric" else 1.0, users).astype(np.float64)
    return np.ceil(records).astype(np.int64)


KINDS = ("log-normal", "pareto", "geometric", "one each")


# Bins


@given(st.one_of(st.integers(1, 100), st.integers(1, 1 << 40)))
def test_every_number_of_records_is_in_exactly_one_bin(records: int) -> None:
    ends = itertools.zip_longest(lower_ends().tolist(), UPPER_ENDS.tolist())
    inside = [at for at, (low, high) in enumerate(ends) if low <= records and (high is None or records <= high)]
    assert inside == bin_of(np.array([records])).tolist()


def test_bins_are_the_powers_of_two() -> None:
    assert lower_ends().size == BINS == UPPER_ENDS.size + 1
    assert lower_ends()[1:].tolist() == (UPPER_ENDS + 1).tolist()
    assert UPPER_ENDS[-1] == LAST_EDGE


# Tidying


@given(noisy_bins, scales, mosts)
def test_tidied_is_nowhere_negative_and_keeps_the_sum_of_what_it_keeps(
    noisy: Floats, scale: float, most: int | None
) -> None:
    tidy = clean_histogram(noisy, scale, most)
    assert tidy.shape == (BINS,)
    assert (tidy >= 0).all()
    assert not tidy[1:][lower_ends()[1:] > (most or LAST_EDGE * 2)].any(), "more records than anybody can have"
    sums = np.maximum(np.cumsum(noisy), 0.0)
    end = int(np.flatnonzero(tidy)[-1]) + 1 if tidy.any() else 0
    possible = [sums[place - 1] if place > 0 else 0.0 for place in range(end, BINS + 1)]
    assert any(abs(tidy.sum() - bin_sum) < 1e-6 for bin_sum in possible), "not the sum of the first bins"


def best_run(noisy_bins: Floats) -> tuple[float, int, int]:
    """The run that stands out most by 2 scales a bin, by looking at all of them: by how much, first and last."""
    pairs = [(i, j) for i in range(noisy_bins.size) for j in range(i, noisy_bins.size)]
    return max((float((noisy_bins[i : j + 1] - 2).sum()), i, j) for i, j in pairs)


def end_of(noisy_bins: Floats, first: int, last: int) -> int:
    """The last bin that the largest of a run reaches: without a gap, or by 4 scales more than the gap costs."""
    end = first + int(noisy_bins[first : last + 1].argmax())
    for place in range(end + 1, last + 1):
        added = [float(bin_users) - 2 for bin_users in noisy_bins[end + 1 : place + 1]]
        if noisy_bins[place] > 3 and (min(added) >= 0 or sum(added) >= 4):
            end = place
    return end


@pytest.mark.parametrize("seed", range(40))
def test_bins_count_up_to_the_last_that_stands_out_in_the_best_run(seed: int) -> None:
    random = np.random.default_rng(seed)
    noisy = random.normal(20, 60, BINS) + np.where(np.arange(BINS) < random.integers(0, 12), 100, 0)
    noisy = np.minimum(noisy, 90.0)  # what is larger is no noise, wherever it is
    by, first, last = best_run(noisy / 10)
    tidy = clean_histogram(noisy, 10.0)
    if by < 5:
        assert not tidy[4:].any()
        return
    outstanding = end_of(noisy / 10, first, last)
    assert not tidy[outstanding + 1 :].any()
    assert tidy.sum() == pytest.approx(max(noisy[: outstanding + 1].sum(), 0.0))


def test_where_nothing_stands_out_a_few_bins_have_to_do() -> None:
    noisy = np.random.default_rng(1).laplace(0, 40, BINS)
    noisy[15] = 6.5 * 40  # one in a thousand is that large by chance
    assert not clean_histogram(noisy, 40.0)[4:].any()
    noisy[15] = 8 * 40
    assert clean_histogram(noisy, 40.0)[15] > 0


def test_of_all_non_negative_numbers_with_that_sum_the_nearest_are_taken() -> None:
    random = np.random.default_rng(1)
    noisy = np.concatenate([random.normal(30, 60, 8), [500.0], np.full(BINS - 9, -1000.0)])
    tidy = clean_histogram(noisy, 1.0)[:9]
    distance = ((tidy - noisy[:9]) ** 2).sum()
    for _ in range(2_000):
        other = np.maximum(tidy + random.normal(0, random.choice([0.1, 5, 50]), 9), 0)
        other *= tidy.sum() / other.sum()
        assert ((other - noisy[:9]) ** 2).sum() >= distance - 1e-6


def test_a_lone_bin_far_out_is_taken_for_noise() -> None:
    exact = binned(drawn("log-normal"))
    for far in range(12, BINS):
        noisy = exact.copy()
        noisy[far] = 6 * 40.0
        assert estimate_activity(noisy, 40.0).records.max() <= 1 << 10


def test_a_lone_bin_that_is_too_large_for_noise_is_believed() -> None:
    """2,000 people far from all others, at noise of scale 200: ten scales, which noise reaches once in 44,000."""
    noisy = np.random.default_rng(1).laplace(0, 200, BINS)
    noisy[[2, 9]] = 18_000, 2_000
    activity = estimate_activity(noisy, 200.0)
    assert activity.above(256).total_users == pytest.approx(2_000, rel=0.1)


def test_a_bin_beyond_a_gap_has_to_make_up_for_it() -> None:
    """4.4 scales beyond three bins of hardly any: of 14 empty bins, noise makes one so large in 8 of 100 releases.

    As was found on bms-webview-1, where people who are not there had a third of all records.
    """
    noisy_bins = np.zeros(BINS)
    noisy_bins[:10] = 823, 272, 223, 114, 38, 10, 1.6, 1.1, 1.0, 4.4
    assert not clean_histogram(noisy_bins * 40, 40.0)[6:].any()
    noisy_bins[9] = 8.5
    assert clean_histogram(noisy_bins * 40, 40.0)[9] > 0


def test_what_a_lone_bin_shows_may_be_true_before_it_is_believed() -> None:
    """8 scales: noise of one of all bins is that large once in 270 times, and people who are there are often."""
    noisy = np.random.default_rng(1).laplace(0, 200, BINS)
    noisy[[2, 9]] = 18_000, 8 * 200
    assert estimate_activity(noisy, 200.0).above(256).total_users < 50
    assert estimate_with_upper(noisy, 200.0)[1].above(256).total_users >= 8 * 200


def test_where_noise_hides_a_small_crowd_as_many_may_be_there() -> None:
    """300 people, noise of scale 200: their records are allowed for in 97 of 100 releases.

    Of 400: all; 93 of 100 where a law was taken to have as many users as its bins show, which may be none.
    """
    records = np.ceil(np.random.default_rng(3).lognormal(2.5, 1.0, 300)).astype(np.int64)
    exact = binned(records)
    total_records = [
        estimate_with_upper(noised(exact, 200.0, seed), 200.0)[1].total_records for seed in range(400)
    ]
    assert np.mean(np.array(total_records) >= records.sum()) >= 0.97


@pytest.mark.parametrize("kind", KINDS)
def test_noise_seldom_makes_up_records(kind: str) -> None:
    """Of 500 histograms, the number of records is off by a quarter, as a root of the mean square.

    Measured: 7 %, 20 %, 18 % and 1 %; 30 %, 79 %, 31 % and 8 % where bins beyond a gap had not to make up for it.
    """
    records = drawn(kind)
    total_records = [
        estimate_activity(noised(binned(records), 40.0, seed), 40.0).total_records for seed in range(500)
    ]
    assert np.sqrt(np.mean((np.array(total_records) / records.sum() - 1) ** 2)) < (
        0.05 if kind == "one each" else 0.25
    )


@pytest.mark.parametrize("kind", KINDS)
def test_false_far_bins_are_cut(kind: str) -> None:
    """Of 500 histograms, at most 5 have a twentieth of all records beyond 4 times the most active user.

    Measured: 4, of people whose numbers have a shorter tail than is expected; there are few records beyond.
    """
    records = drawn(kind)
    activities = [estimate_activity(noised(binned(records), 40.0, seed), 40.0) for seed in range(500)]
    beyond = np.array([activity.above(4 * int(records.max())).total_records for activity in activities])
    assert np.count_nonzero(beyond > records.sum() / 20) <= 5


# Estimates


@pytest.mark.parametrize("kind", KINDS)
def test_totals_are_recovered(kind: str) -> None:
    """8,000 users, noise of scale 40: within 12 % in each of 50 runs, within 2 % on average (noise: 2 % a run).

    Records within 10 % at the median, as they are taken to be spread evenly over the logarithm in a bin; within
    25 % where few have very many, whom the noise hides (measured: 19 % too few), and where nobody has, which noise
    hides as well (a geometric law, measured: 17 % too many).
    """
    records = drawn(kind)
    activities = [estimate_activity(noised(binned(records), 40.0, seed), 40.0) for seed in range(50)]
    users = np.array([activity.total_users for activity in activities]) / records.size
    assert np.abs(users - 1).max() < 0.12
    assert abs(users.mean() - 1) < 0.02
    total = np.median([activity.total_records for activity in activities]) / records.sum()
    assert abs(total - 1) < (0.25 if kind in ("pareto", "geometric") else 0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_without_noise_every_bin_has_its_users(kind: str) -> None:
    exact = binned(drawn(kind))
    activity = estimate_activity(exact, 1e-9)
    places = bin_of(np.ceil(activity.records - 1e-9).astype(np.int64))
    assert np.allclose(np.bincount(places, weights=activity.users, minlength=BINS), exact)
    if kind == "one each":
        assert activity.records.tolist() == [1.0]
        assert activity.log_variance == 0


@given(noisy_bins, scales, mosts, st.integers(1, 2_000))
def test_there_may_be_more_activity_but_not_less(
    noisy: Floats, scale: float, most: int | None, limit: int
) -> None:
    activity, more = estimate_with_upper(noisy, scale, most)
    assert more.total_users >= activity.total_users
    assert more.total_records >= activity.total_records
    assert more.above(limit).total_records >= activity.above(limit).total_records - 1e-9
    if most is not None:
        assert activity.records.max(initial=0) <= most + 0.5
        assert more.records.max(initial=0) <= most + 0.5


@given(noisy_bins, scales, st.integers(1, 2_000))
def test_a_limit_parts_users_in_two(noisy: Floats, scale: float, limit: int) -> None:
    activity = estimate_activity(noisy, scale)
    light, heavy = activity.within(limit), activity.above(limit)
    assert light.total_users + heavy.total_users == pytest.approx(activity.total_users)
    assert light.total_records + heavy.total_records == pytest.approx(activity.total_records)
    assert (light.records <= limit).all()
    assert (heavy.records > limit).all()


def test_sums_over_users_and_how_sure_they_are() -> None:
    """The deviation is that of the noise, within a tenth, where nothing else is unsure: one each."""
    exact = binned(drawn("one each"))
    sums = []
    for seed in range(2_000):
        noisy = exact.copy()
        noisy[0] += np.random.default_rng(seed).laplace(0, 40.0)
        activity = estimate_activity(noisy, 40.0)
        assert activity.sum_of(activity.records)[0] == pytest.approx(activity.total_records)
        sums.append(activity.total_records)
    deviation = EstimatedActivity(np.array([1.0]), np.array([8_000.0]), 40.0).sum_of(np.ones(1))[1]
    surely = EstimatedActivity(np.array([1.0]), np.array([8_000.0]), 0.0).sum_of(np.ones(1))[1]
    assert np.std(sums) == pytest.approx(deviation - surely, rel=0.1)


def test_an_empty_histogram_estimates_no_users() -> None:
    activity = estimate_activity(np.zeros(BINS), 40.0)
    assert (activity.total_users, activity.total_records, activity.log_variance) == (0, 0, 0)
    assert activity.sum_of(activity.records) == (0, 0)
    assert estimate_with_upper(np.zeros(BINS), 40.0)[1].total_users > 0, "the noise may hide somebody"


def test_unevenness_is_the_variance_of_logarithms() -> None:
    records = np.array([2.0, 8.0, 32.0])
    weights = np.array([1.0, 2.0, 1.0])
    many = np.repeat(np.log(records), weights.astype(np.int64))
    assert EstimatedActivity(records, weights).log_variance == pytest.approx(many.var())
    assert EstimatedActivity(records * 7, weights * 3).log_variance == pytest.approx(many.var())


def lognormal_bins(spread: float, users: int = 20_000) -> Floats:
    records = np.ceil(np.random.default_rng(3).lognormal(1.5, spread, users)).astype(np.int64)
    return np.bincount(bin_of(records), minlength=BINS).astype(np.float64)


@pytest.mark.parametrize("spread", [0.6, 1.0])
def test_users_below_the_noise_are_expected(spread: float) -> None:
    """Bins of fewer than 100 people, after the most: within a scale of noise, which alone is 1.4 of that off."""
    exact, scale = lognormal_bins(spread), 40.0
    random = np.random.default_rng(1)
    expectations = [
        fit_lognormals(exact + random.laplace(0, scale, BINS), scale, UPPER_ENDS).expected() for _ in range(50)
    ]
    few = (exact < 100) & (np.arange(BINS) > exact.argmax())
    assert exact[few].sum() > 0
    assert np.sqrt(((np.array(expectations) - exact) ** 2).mean(axis=0))[few].max() < scale
    assert np.mean(expectations, axis=0)[few].sum() > 0.25 * exact[few].sum()


def test_noise_far_out_is_not_believed() -> None:
    """6 scales, once, where nobody is: of these 240 people less than one is expected."""
    noisy = lognormal_bins(0.8)
    for far in range(14, BINS):
        raised = noisy.copy()
        raised[far] += 240
        assert fit_lognormals(raised, 40.0, UPPER_ENDS).expected()[14:].sum() < 1


@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=BINS, max_size=BINS),
    st.floats(0.01, 1e5),
    st.integers(1, BINS),
)
def test_expected_users_are_finite_for_any_noise(noisy: list[int], scale: float, bins: int) -> None:
    ends = UPPER_ENDS[: min(bins, UPPER_ENDS.size)]
    expectation = fit_lognormals(np.array(noisy[:bins], dtype=np.float64), scale, ends).expected()
    assert expectation.shape == (bins,)
    assert np.isfinite(expectation).all()
    assert (expectation >= 0).all()
