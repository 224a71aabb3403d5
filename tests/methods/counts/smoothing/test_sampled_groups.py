"""GS-S: columns sorted by a noisy sample, groups of neighbours; and what each way of sampling is worth.

Comparisons of errors are on seeded worlds and seeded noise: they come out the same in every run. That they are not
by chance is tested as well, at ``laws.LEVEL`` = 1e-7: with other seeds the averages would be in the wrong order
less than once in a million.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest

from headcount.accounting.budget import Grant
from headcount.bounds import ALL_USERS, Noisy, SampleRecords
from headcount.bounds.counts.sample_records import SampleUsers
from headcount.errors import UsageError
from headcount.methods.counts.smoothing.random_groups import RandomGroups
from headcount.methods.counts.smoothing.sampled_groups import SampledGroups, Sampling, admission
from headcount.noise import SeededNoise
from tests.contracts.support.method_facts import Special
from tests.reference.engine import ReferenceEngine
from tests.support.distributions import LEVEL
from tests.support.small_logs import scale_of
from tests.support.synthetic_logs import (
    Floats,
    Watching,
    by_chance,
    check_averages,
    check_coverage,
    columns_of,
    counts_of,
    errors,
    grouped,
    town,
    truth,
    watched,
    zipf,
)

SPECIAL = {"gs-s": Special({"reconciles": False, "paying": Fraction(1, 2)}, audit_runs=8000)}

WAYS = get_args(Sampling)


# What it computes


@pytest.mark.parametrize("sampling", WAYS)
@pytest.mark.parametrize("counting", ["records", "users"])
@pytest.mark.parametrize("table", ["items", "edges"])
def test_counts_are_noisy_averages_of_neighbours(sampling: Any, table: Any, counting: Any) -> None:
    """Groups of 5 along the noisy sample, equal ones by column; the last group takes in what is left."""
    method, log = SampledGroups(limit=5, sampling=sampling), town(60, 23, 7, counting=counting)
    with watched("methods.counts.smoothing.sampled_groups.add_noise") as sampled:
        grouped_counts = grouped(method, log, "1", table=table)
    check_averages(grouped_counts)
    noisy: Noisy = sampled[0 if table == "items" else 1].result
    values = noisy.values.ravel().tolist()
    assert grouped_counts.groups.order.tolist() == sorted(
        range(len(values)), key=lambda column: (values[column], column)
    )
    d = 23 if table == "items" else 69
    assert [len(members) for members in grouped_counts.members] == [*[5] * (d // 5 - 1), 5 + d % 5]


@pytest.mark.parametrize("sampling", ["column", "none"])
def test_much_epsilon_groups_equals_and_gives_their_counts(sampling: Any) -> None:
    """Three columns of each count, as many as a group has: averaging loses nothing."""
    counts = [7, 50, 1, 19, 50, 7, 1, 19, 19, 50, 1, 7]
    release = SampledGroups(limit=3, sampling=sampling).release(columns_of(counts), Grant("1000"), SeededNoise(1))
    assert counts_of(release).tolist() == counts


def test_fewer_columns_than_the_maximum_are_one_group() -> None:
    for sampling in WAYS:
        for d in (1, 4):
            log = town(60, d, 5)
            grouped_counts = grouped(SampledGroups(limit=5, sampling=sampling, what="items"), log, "1000")
            assert len(grouped_counts.members) == 1
            assert counts_of(grouped_counts.release).tolist() == [truth(log).sum() / d] * d


@pytest.mark.parametrize("sampling", WAYS)
def test_intervals_enclose_the_averages_of_groups(sampling: Any) -> None:
    check_coverage(grouped(SampledGroups(limit=3, sampling=sampling, what="items"), town(900, 6_001, 3), "0.2"))


def test_there_are_three_ways_of_sampling() -> None:
    assert WAYS == ("column", "row", "none")
    with pytest.raises(UsageError, match="column, row or none"):
        SampledGroups(limit=5, sampling="all")  # type: ignore[arg-type]


# What is paid


@pytest.mark.parametrize("limit", [1, 2, 5, 40])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_noise_of_sample_and_sums(limit: int, epsilon: str) -> None:
    """Half of ε for each: 2/ε on a sample of one record, of a few users; 2M/ε on all records and on the sums."""
    half = Fraction(epsilon) / 2
    bounds = {
        "column": SampleRecords(1),
        "row": SampleUsers(limit, admission(half, limit)),
        "none": SampleRecords(limit),
    }
    for sampling in WAYS:
        engine = Watching()
        method = SampledGroups(limit=limit, sampling=sampling, what="items")
        with watched("methods.counts.smoothing.sampled_groups.add_noise") as sampled:
            release = method.release(town(30, 12, 5), Grant(epsilon), SeededNoise(1), engine)
        assert [bound for bound, _ in engine.measured_bounds] == [bounds[sampling], SampleRecords(limit)]
        assert engine.measured_bounds[0][1] != engine.measured_bounds[1][1]
        assert scale_of(sampled[0].result.distribution) == (limit if sampling == "none" else 1) / half
        law = release.noise["items"]
        assert (scale_of(law), law.step, law.on) == (limit / half, Fraction(1), "group sums")


def powers_of_e(x: Fraction, digits: int = 60) -> tuple[Fraction, Fraction]:
    """Return bounds of e^x from its series, in exact fractions: what is left out is below twice the last term."""
    total, term, k = Fraction(0), Fraction(1), 0
    while k < 2 * x or term > Fraction(1, 10**digits):
        total += term
        k += 1
        term *= x / k
    return total, total + 2 * term


@pytest.mark.parametrize("limit", [2, 3, 5, 10, 50])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(3)], ids=str)
def test_admission_pays_and_is_the_most_that_pays(epsilon: Fraction, limit: int) -> None:
    """ln(1 + β (e^(Mε/2) - 1)) <= ε/2, in exact fractions; a millionth more would be too much."""
    beta = Fraction(admission(epsilon / 2, limit), ALL_USERS)
    (_, inside), (outside, _) = powers_of_e(limit * epsilon / 2), powers_of_e(epsilon / 2)
    assert 1 + beta * (inside - 1) <= outside
    more = beta * (1 + Fraction(1, 10**6)) + Fraction(1, ALL_USERS)
    (inside, _), (_, outside) = powers_of_e(limit * epsilon / 2), powers_of_e(epsilon / 2)
    assert 1 + more * (inside - 1) > outside


def test_a_single_record_is_kept_and_a_large_maximum_drops_no_user() -> None:
    assert admission(Fraction(1, 2), 1) == ALL_USERS
    assert admission(Fraction(1, 2), 200) == 0
    engine = Watching()
    SampledGroups(limit=200, sampling="row").release(town(90, 5, 3), Grant("1"), SeededNoise(1), engine)
    sample = ReferenceEngine().measure(town(90, 5, 3), *engine.measured_bounds[0])
    assert not sample.items.sensitive_values.any()


@pytest.mark.parametrize(("limit", "epsilon"), [(10**7, "1"), (10, "1000000")])
def test_a_huge_maximum_can_be_declared(limit: int, epsilon: str) -> None:
    for sampling in WAYS:
        release = SampledGroups(limit=limit, sampling=sampling).release(
            town(9, 5, 3), Grant(epsilon), SeededNoise(1)
        )
        assert np.isfinite(counts_of(release)).all()


# What the ways of sampling are worth

Errors = Mapping[str, Floats]


@pytest.fixture(scope="module")
def by_maximum() -> Mapping[int, Errors]:
    """Errors at ε = 1 on worlds of 4,000 users with 1 to M records, of 2,000 items that follow Zipf's law."""
    errors_by_maximum = {}
    for most in (10, 50, 200):
        log = zipf(np.random.default_rng(5).integers(1, most + 1, 4_000), 2_000)
        exact = truth(log)
        errors_by_maximum[most] = {"gs-r": errors(RandomGroups(limit=most), log, exact, epsilon="1")}
        for sampling in WAYS:
            method = SampledGroups(limit=most, sampling=sampling)
            errors_by_maximum[most][sampling] = errors(method, log, exact, epsilon="1")
    return errors_by_maximum


@pytest.mark.parametrize("most", [10, 50, 200])
def test_column_sampling_beats_row_sampling(by_maximum: Mapping[int, Errors], most: int) -> None:
    """Of each user one record tells more than all records of next to nobody: MAE 7.6, 43, 207 to 14.3, 65, 253."""
    errors_by_sampling = by_maximum[most]
    assert by_chance(errors_by_sampling["column"], errors_by_sampling["row"]) < LEVEL
    assert errors_by_sampling["column"].mean() < 0.85 * errors_by_sampling["row"].mean()
    assert by_chance(errors_by_sampling["column"], errors_by_sampling["none"]) < LEVEL


def test_row_sampling_degrades_to_random_groups(by_maximum: Mapping[int, Errors]) -> None:
    """β falls exponentially with M: from M = 10 on, 0.004 of users and fewer tell nothing."""
    assert admission(Fraction(1, 2), 10) / ALL_USERS < 0.0045
    away = {
        most: abs(errors_by_method["row"].mean() / errors_by_method["gs-r"].mean() - 1)
        for most, errors_by_method in by_maximum.items()
    }
    assert away[10] < 0.04  # half of ε was paid for nothing
    assert away[50] < 0.01
    assert away[200] < 0.005
    for errors_by_method in by_maximum.values():  # whereas a sample of columns tells something
        assert by_chance(errors_by_method["column"], errors_by_method["gs-r"]) < LEVEL
        assert errors_by_method["column"].mean() < 0.85 * errors_by_method["gs-r"].mean()


def test_without_much_to_hide_row_sampling_still_helps() -> None:
    """At M = 2 a lot of 0.38 takes enough users to sort the columns."""
    log = zipf(np.random.default_rng(5).integers(1, 3, 4_000), 2_000)
    row, random = (
        errors(method, log, truth(log), epsilon="1", runs=30)
        for method in (SampledGroups(limit=2, sampling="row"), RandomGroups(limit=2))
    )
    assert by_chance(row, random) < LEVEL


def test_no_sampling_wins_where_counts_are_far_above_its_noise() -> None:
    """200 items, a median of 48 and a mean of 137, noise of 2M/ε = 6.7: one record a user tells less."""
    log = zipf(np.random.default_rng(5).integers(1, 11, 5_000), 200)
    exact = truth(log)
    assert np.median(exact) > 7 * 20 / 3
    none, column, row = (
        errors(SampledGroups(limit=10, sampling=sampling), log, exact, epsilon="3", runs=20)
        for sampling in ("none", "column", "row")
    )
    assert by_chance(none, column) < LEVEL
    assert by_chance(column, row) < LEVEL
    assert none.mean() < 0.95 * column.mean()
