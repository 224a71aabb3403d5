"""Adaptive: what it spends, whom it counts and how, what it releases, and how far off that is.

Worlds and noise are seeded: all figures come out the same in every run, and tolerances say what was measured. Real
logs are looked at where HEADCOUNT_DATA names a folder that holds them.
"""

from __future__ import annotations

import os
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.accounting.budget import Grant
from headcount.accounting.noise_distributions import DiscreteGaussian, DiscreteLaplace
from headcount.adaptive.estimator import NoisyGroupTables
from headcount.adaptive.measure import reconcile_groups
from headcount.adaptive.threshold_choice import LIGHT_AND_HEAVY, MOST_RECORDS
from headcount.bounds import FIXED_POINT, ActivityHistogram, CountTable, Noisy, WeightToThreshold
from headcount.bounds.counts.activity_histogram import BINS, UPPER_ENDS, bin_of, lower_ends
from headcount.bounds.linear_maps import group_sums
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.contexts import weekday
from headcount.events.log import EventLog, read_events
from headcount.lab.synthetic.logs import checkins
from headcount.methods.counts import FAMILY
from headcount.methods.counts.adaptive import Adaptive
from headcount.methods.method import Method
from headcount.methods.registry import build
from headcount.noise import SeededNoise
from headcount.releases.release import Release
from tests.contracts.support.method_checks import amounts_of, recorded_draws, recorded_spending
from tests.contracts.support.method_facts import Special
from tests.reference.engine import ReferenceEngine
from tests.support.small_logs import Case, cases, scale_of, secrets
from tests.support.synthetic_logs import (
    Floats,
    Integers,
    Watching,
    columns_of,
    counts_of,
    log_of,
    town,
    truth,
    watched,
)

# each of at most 36 weights is cut down to a whole multiple of 2^-16
NEARLY = dict.fromkeys([("add", 5), *(("add_gaussian", step) for step in (2, 3, 4))], 1 - 36 / (1 << 16))
# a limit of the closer look that is the same for all logs
AGAIN = {"headcount.adaptive.refinement.estimate.SubsetModel.best_threshold": lambda *_: 2}
SPECIAL = {
    "adaptive": Special({"stages": ("activity", "shares", "first", "items", "edges"), "forced": AGAIN}, NEARLY)
}

What = Literal["items", "edges", "both"]
Counting = Literal["records", "users"]

WHATS = pytest.mark.parametrize("what", ["items", "edges", "both"])
COUNTINGS: tuple[Counting, ...] = ("records", "users")


def released(
    log: EventLog, epsilon: str = "1", *, seed: int = 1, engine: Engine | None = None, **more: Any
) -> Release:
    delta = "1e-6" if more.get("noise") == "gaussian" else None
    return Adaptive(**more).release(log, Grant(epsilon, delta), SeededNoise(seed), engine)


def activity_of(release: Release) -> dict[str, list[float]]:
    """The released bins, of each thing that was measured."""
    table = release.tables["activity"]
    users_by_table: dict[str, list[float]] = {}
    for scope, users in zip(table["of"].to_pylist(), table["users"].to_pylist(), strict=True):
        users_by_table.setdefault(scope, []).append(users)
    return users_by_table


# Worlds


def world(
    users: int, d: int, activity: str, counting: Counting = "users", *, contexts: bool = False, seed: int = 1
) -> EventLog:
    """Users of uneven activity, who draw items by Zipf's law."""
    random = np.random.default_rng(seed)
    if activity == "log-normal":
        drawn = random.lognormal(1.5, 1.0, users)
    elif activity == "pareto":
        drawn = np.minimum(random.pareto(1.3, users) + 0.5, 3_000)
    else:
        drawn = random.geometric(0.15, users).astype(np.float64)
    records = np.ceil(drawn).astype(np.int64)
    law = random.permutation(1 / np.arange(1, d + 1))
    items = random.choice(d, int(records.sum()), p=law / law.sum())
    where = random.choice(3, items.size, p=[0.6, 0.3, 0.1]) if contexts else None
    return log_of(np.repeat(np.arange(users), records), items, d, where, counting)


def covered(release: Release, exact: Floats, table: str = "items") -> float:
    low, high = (release.tables[table][column].to_numpy() for column in ("low", "high"))
    return float(((low <= exact + 1e-9) & (exact - 1e-9 <= high)).mean())


def squared_error(method: Method, log: EventLog, exact: Floats, epsilon: str, runs: int) -> float:
    releases = (method.release(log, Grant(epsilon), SeededNoise(run)) for run in range(runs))
    return float(np.mean([((counts_of(release) - exact) ** 2).mean() for release in releases]))


# What is spent


@WHATS
@pytest.mark.parametrize(
    ("counting", "more"),
    [
        ("records", {}),
        ("users", {}),
        ("records", {"limit": 3}),
        ("users", {"limit": 2}),
        ("users", {"noise": "gaussian"}),
        ("users", {"noise": "gaussian", "limit": 3}),
        ("records", {"noise": "gaussian"}),
        ("records", {"at_most": 9}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value) or "plain",
)
def test_the_grant_is_spent_exactly(what: What, counting: Counting, more: dict[str, Any]) -> None:
    """Over all stages, for an ε that does not divide: each histogram, each table and the shares."""
    delta = "3e-7" if "noise" in more else None
    grant, log = Grant("0.7000000000000001", delta), town(60, 8, 5, counting=counting)
    with recorded_spending() as spent:
        Adaptive(what=what, **more).release(log, grant, SeededNoise(1))
    assert grant.is_spent
    assert amounts_of(spent) == (grant.exact, Fraction(grant.delta))
    tables = 2 if what == "both" else 1
    histograms = 2 if what == "both" and counting == "users" else 1
    looks = 0 if what == "edges" else 2  # a histogram of few items, and their counts
    assert len(spent) == histograms + tables + 1 + looks
    steering, rest = spent[:histograms], spent[histograms:]
    counts, shares, again = rest[:tables], rest[tables], rest[tables + 1 :]
    assert sum(grant.exact for grant in steering) == pytest.approx(grant.exact * Fraction(5, 100))
    assert shares.exact == pytest.approx(grant.exact * Fraction(3, 100))
    assert [grant.delta > 0 for grant in (*counts, *again)] == [delta is not None] * (tables + looks)
    assert not any(grant.delta for grant in (*steering, shares)), "δ is for counts alone"
    if again and delta is None:
        assert [grant.exact for grant in again] == pytest.approx(
            [grant.exact * Fraction(part, 100) for part in (2, 6)]
        )


@WHATS
@pytest.mark.parametrize("counting", COUNTINGS)
def test_every_histogram_is_paid_for(what: What, counting: Counting) -> None:
    """A user is in one bin of each: with noise of scale s, k histograms cost k / s of the twentieth for them."""
    release = released(town(60, 8, 5, counting=counting), "2", what=what)
    assert len(activity_of(release)) / scale_of(release.noise["activity"]) == Fraction(2, 20)


def test_shares_can_be_given() -> None:
    shares = {"activity": "0.2", "shares": "0.1", "first": "0.08", "items": "0.4", "edges": "0.22"}
    with (
        watched("adaptive.measure.add_noise") as added,
    ):
        release = released(town(60, 8, 5), "2", limit=3, shares={name: Decimal(shares[name]) for name in shares})
    assert scale_of(release.noise["activity"]) == 1 / (2 * Fraction(2, 10))
    assert scale_of(added[-3].result.distribution) == 1 / (2 * Fraction(1, 10))
    assert [call.given[1].exact for call in added[-2:]] == [2 * Fraction(2, 100), 2 * Fraction(6, 100)]
    assert scale_of(release.noise["items"]) == 3 / (2 * Fraction(4, 10))
    assert scale_of(release.noise["edges"]) == 3 / (2 * Fraction(22, 100))


# How active people are


@given(cases(), secrets, st.sampled_from(("items", "edges")))
def test_the_bins_part_users(case: Case, secret: bytes, table: CountTable) -> None:
    """The exact bins sum to the number of users who have a record in the catalogue; each user moves one by 1."""
    labels, ends = bin_of(np.arange(1, MOST_RECORDS + 1)), tuple(UPPER_ENDS.tolist())
    engine = ReferenceEngine()

    def bins(case: Case) -> Integers:
        sums = group_sums(engine.measure(case.log(), ActivityHistogram(table, MOST_RECORDS), secret), labels, BINS)
        users = engine.measure(case.log(), ActivityHistogram(table, MOST_RECORDS, ends=ends), secret)
        assert (users.sensitivity.l1, users.sensitivity.linf) == (1, 1)
        assert users.sensitive_values.tolist() == sums.sensitive_values.tolist()
        return users.sensitive_values

    everyone = bins(case)
    alone = [bins(case.only(user)) for user in case.everyone]
    assert all(own.sum() in (0, 1) for own in alone)
    assert np.array_equal(everyone, np.sum(alone, axis=0) if alone else np.zeros(BINS))


@given(st.integers(1, MOST_RECORDS))
def test_every_number_of_records_has_one_bin(records: int) -> None:
    labels = bin_of(np.arange(1, MOST_RECORDS + 1))
    assert labels[records - 1] == np.flatnonzero(lower_ends() <= records)[-1]


def test_the_activity_table_lists_users_by_records() -> None:
    """1 to 5 records, 20 people each; noise of scale 1/50 is nothing."""
    log = log_of(np.repeat(np.arange(100), 1 + np.arange(100) % 5), np.arange(300) % 8, 8)
    table = released(log, "1000").tables["activity"]
    assert table.column_names == ["from", "to", "users", "low", "high", "of"]
    assert table["from"].to_pylist() == lower_ends().tolist()
    assert table["to"].to_pylist() == [*(lower_ends()[1:] - 1).tolist(), None]
    assert table["users"].to_pylist() == [20, 20, 40, 20, *[0] * 18]
    assert set(table["of"].to_pylist()) == {"records"}


def test_where_users_are_counted_in_contexts_there_are_two_histograms() -> None:
    """Different items, and different pairs: 50 people have one item in both contexts, 30 have two in one."""
    users = np.concatenate([np.repeat(np.arange(50), 2), np.repeat(50 + np.arange(30), 2)])
    items = np.concatenate([np.zeros(100, np.int64), np.tile([1, 2], 30)])
    where = np.concatenate([np.tile([0, 1], 50), np.zeros(60, np.int64)])
    log = log_of(users, items, 4, where, "users")
    histograms = activity_of(released(log, "1000"))
    assert list(histograms) == ["items", "pairs"]
    assert histograms["items"][:3] == [50, 30, 0]
    assert histograms["pairs"][:3] == [0, 80, 0]
    assert list(activity_of(released(log, "1000", what="items"))) == ["items"]
    assert list(activity_of(released(log, "1000", what="edges"))) == ["pairs"]
    assert list(activity_of(released(log_of(users, items, 4, where), "1000"))) == ["records"]


def test_activity_costs_a_twentieth_and_gets_noise_for_one_user() -> None:
    for seed in range(3):
        with watched("adaptive.measure.add_noise") as added:
            release = released(town(60, 8, 5, counting="users"), "2", what="items", seed=seed)
        bounded, grant, _ = added[0].given
        assert bounded.sensitivity.l1 == 1
        assert grant.exact == Fraction(2, 20)
        noisy = added[0].result
        assert release.noise["activity"] == noisy.distribution == DiscreteLaplace(Fraction(10))
        assert activity_of(release)["items"] == noisy.counts.tolist()


# The limit, and who is counted how


def test_a_given_limit_is_used() -> None:
    engine = Watching()
    with watched("adaptive.threshold_choice.choose_threshold") as chosen:
        release = released(town(60, 8, 5), "3", limit=7, engine=engine)
    assert not chosen
    assert [bound for bound, _ in engine.measured_bounds if bound.among is None] == [
        WeightToThreshold(7, apart=True)
    ]
    assert release.chosen == {}
    assert scale_of(release.noise["items"]) == 7 / (3 * Fraction(84, 200))
    assert "The limit of 7 was given." in release.explain()
    assert "the limit of 7 was chosen without looking at the log" in release.explain()


@pytest.mark.parametrize("counting", COUNTINGS)
def test_a_chosen_limit_is_used_and_recorded(counting: Counting) -> None:
    for epsilon in ("0.1", "2", "1000"):
        engine = Watching()
        with watched("adaptive.threshold_choice.choose_threshold") as chosen:
            release = released(town(400, 8, 5, counting=counting), epsilon, engine=engine)
        limit = chosen[0].result
        assert [bound for bound, _ in engine.measured_bounds if bound.among is None] == [
            WeightToThreshold(limit, apart=True)
        ]
        assert release.chosen == {"items": {"limit": limit}, "edges": {"limit": limit}}
        assert scale_of(release.noise["edges"]) == pytest.approx(limit / (Fraction(epsilon) * Fraction(84, 200)))
        assert f"a limit of {limit:,} was chosen" in release.explain()


def test_a_large_epsilon_clips_no_user() -> None:
    release = released(town(400, 8, 5), "10000")
    assert release.chosen["items"]["limit"] >= 5
    assert counts_of(release) == pytest.approx(truth(town(400, 8, 5)), abs=0.5)


def test_the_choice_sees_released_numbers_alone() -> None:
    """Logs that differ, and noise that makes their histograms equal: the same limit."""
    chosen = set()
    for log in (town(60, 8, 5), town(300, 8, 2, seed=4)):
        noisy = Noisy(np.array([50, 40, 30, 10, *[0] * 18]), DiscreteLaplace(Fraction(2)))
        with mock.patch("headcount.methods.counts.adaptive.release_histogram", return_value=noisy):
            chosen.add(released(log).chosen["items"]["limit"])
    assert len(chosen) == 1


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_heavy_users_are_scaled_up(noise: Literal["laplace", "gaussian"]) -> None:
    """2,000 people have 5 to 64 of 200 items: with a limit of 4 they come out in full, with hardly any noise.

    All within 25 %, and their sum within 10 %, where they weigh less than a quarter.
    """
    random = np.random.default_rng(1)
    sizes = np.floor(5 * 13 ** random.random(2_000)).astype(np.int64)
    items = np.concatenate([random.choice(200, size, replace=False) for size in sizes])
    log = log_of(np.repeat(np.arange(2_000), sizes), items, 200, counting="users")
    exact = truth(log)
    release = released(log, "1000", limit=4, noise=noise)
    assert counts_of(release) == pytest.approx(exact, rel=0.25)
    assert counts_of(release).sum() == pytest.approx(exact.sum(), rel=0.1)
    assert covered(release, exact) >= 0.95


def test_light_users_count_in_full_whatever_heavy_ones_do() -> None:
    """200 people have one item; 100 others have all of 40: with a limit of 1, the item has its 200 and theirs."""
    users = np.concatenate([np.arange(200), np.repeat(200 + np.arange(100), 40)])
    items = np.concatenate([np.full(200, 7), np.tile(np.arange(40), 100)])
    log = log_of(users, items, 40, counting="users")
    counts = counts_of(released(log, "1000", limit=1))
    assert counts[7] == pytest.approx(300, abs=20)
    others = np.delete(counts, 7)
    assert others == pytest.approx(np.full(39, 100.0), rel=0.25)


def test_both_groups_get_noise_that_pays_for_the_limit() -> None:
    """In whole numbers for light users, whose records count whole, and in fractions for heavy ones."""
    with (
        watched("adaptive.measure.add_noise") as added,
        watched("adaptive.estimator.shrink_groups") as drafts,
    ):
        release = released(town(60, 8, 5), "3", limit=3, what="items")
    _, heavy, light, *_ = added
    for call, unit in ((light, 1), (heavy, FIXED_POINT)):
        bounded, grant, _ = call.given
        assert bounded.sensitive_values.shape == (8,)
        assert (bounded.unit, bounded.sensitivity.l1) == (unit, 3 * unit)
        assert grant.exact == 3 * Fraction(84, 100)
        assert call.result.distribution == DiscreteLaplace(3 / grant.exact, Fraction(1, unit))
    law = heavy.result.distribution
    assert release.noise["items"] == DiscreteLaplace(law.scale, law.step, LIGHT_AND_HEAVY)
    noisy = drafts[0].given[0]
    assert (noisy.distribution, noisy.light) == (law, light.result.distribution)
    assert noisy.values[0].tolist() == (light.result.values * FIXED_POINT).tolist()
    assert noisy.values[1].tolist() == heavy.result.values.tolist()


@pytest.mark.parametrize("counting", COUNTINGS)
def test_gaussian_noise_pays_for_the_root_of_the_limit(counting: Counting) -> None:
    with watched("adaptive.measure.add_noise") as added:
        release = released(town(60, 8, 5, counting=counting), "3", limit=3, noise="gaussian")
    counts = [call for call in added if call.given[1].delta]
    for table, calls in zip(("items", "edges"), (counts[:2], counts[2:4]), strict=True):
        for call, unit in zip(calls, (FIXED_POINT, 1), strict=True):
            bounded, grant, _ = call.given
            assert (bounded.unit, bounded.sensitivity.l2_squared) == (unit, 3 * unit**2)
            assert (grant.epsilon, grant.delta) == (Decimal("2.76"), Decimal("1e-6"))
            assert grant.cost.share_of_rho == pytest.approx(Decimal("0.42") / Decimal("0.92"))
        law = release.noise[table]
        assert isinstance(law, DiscreteGaussian)
        assert law.sigma == calls[0].result.distribution.sigma
    assert isinstance(release.noise["activity"], DiscreteLaplace)
    assert release.guarantee.delta == Decimal("1e-6")
    assert "δ = 1e-6" in release.guarantee.short()


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_zero_counts_come_from_the_drawn_noise_alone(noise: Literal["laplace", "gaussian"]) -> None:
    """All of the noise, neither less nor more: that draws have the declared law, the contract says."""
    log = town(0, 200, 3, counting="users")
    for table in ("items", "edges"):
        with recorded_draws() as draws, watched("adaptive.estimator.shrink_groups") as drafts:
            released(log, limit=3, noise=noise, what=table)
        *_, of_heavy, of_light, of_shares = draws if table == "edges" else draws[:-2]  # items are looked at again
        light, heavy = drafts[0].given[0].values
        assert heavy.ravel().tolist() == of_heavy.tolist()
        assert light.ravel().tolist() == (of_light * FIXED_POINT).tolist(), "noise in whole numbers"
        assert of_shares.size == 21, "one class of nobody, at every size"


def test_noisy_tables_of_records_are_reconciled_before_anything_else() -> None:
    """In each group by itself, by weighted least squares: edges sum to items but for rounding, with less error."""
    random = np.random.default_rng(1)
    law = DiscreteLaplace(Fraction(3), Fraction(1, 1 << 16))
    edges = random.integers(0, 50 << 16, (2, 400, 3))
    items = edges.sum(axis=2)
    noisy = [
        NoisyGroupTables(values + np.rint(random.laplace(0, 3 << 16, values.shape)).astype(np.int64), law, law)
        for values in (items, edges)
    ]
    items_after, two = reconcile_groups(*noisy)
    assert np.abs(two.values.sum(axis=2) - items_after.values).max() <= 2
    for exact, before, after in zip((items, edges), noisy, (items_after, two), strict=True):
        assert after.distribution == law
        assert after.values.shape == before.values.shape
        assert ((after.values - exact) ** 2).mean() < ((before.values - exact) ** 2).mean()


# What is released


@pytest.mark.parametrize(
    ("counting", "more"),
    [
        ("records", {}),
        ("users", {}),
        ("users", {"noise": "gaussian"}),
        ("records", {"integers": True}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value) or "plain",
)
def test_counts_are_plausible(counting: Counting, more: dict[str, Any]) -> None:
    """Nothing is negative, every count is in its interval; where records count, edges sum to items."""
    log = world(1_000, 60, "log-normal", counting, contexts=True)
    for seed in range(3):
        release = released(log, "0.5", seed=seed, **more)
        for table in ("items", "edges"):
            count, low, high = (release.tables[table][name].to_numpy() for name in ("count", "low", "high"))
            assert (low >= 0).all()
            assert ((low <= count) & (count <= high)).all()
            assert np.isfinite(high).all()
        sums = counts_of(release, "edges").reshape(-1, 3).sum(axis=1)
        if counting == "records" and "integers" not in more:
            assert np.allclose(sums, counts_of(release))
        assert release.interval.average
        assert release.interval.covers == "true"


def test_whole_numbers_on_request() -> None:
    log = world(1_000, 60, "log-normal", contexts=True)
    plain, whole = released(log, "0.5"), released(log, "0.5", integers=True)
    for table in ("items", "edges"):
        before, after = (
            {name: release.tables[table][name].to_numpy() for name in ("count", "low", "high")}
            for release in (plain, whole)
        )
        assert np.array_equal(after["count"], np.rint(before["count"]))
        assert np.array_equal(after["low"], np.floor(before["low"]))
        assert np.array_equal(after["high"], np.ceil(before["high"]))
        assert (before["count"] % 1 != 0).any()
    assert "rounded to whole ones" in whole.explain()


def test_contexts_of_users_bound_what_intervals_cover() -> None:
    log = town(60, 8, 5)
    assert released(replace(log, context_of="user")).interval.covers == "bounded"


def test_a_cap_bounds_what_intervals_cover() -> None:
    log = town(60, 8, 5)
    capped, also_in_one = (released(case_log, at_most=7) for case_log in (log, replace(log, context_of="user")))
    assert capped.interval.covers == also_in_one.interval.covers == "bounded"
    assert capped.bounded == "at most 7 records per person"
    assert "encloses the exact count of at most 7 records per person" in capped.explain()
    assert also_in_one.bounded.startswith("at most 7 records per person, of what each person did in the")


def test_gaussian_noise_for_records_brings_repeats_back() -> None:
    """2,000 people with 5 records of each of 1 to 12 items, 4 squares at most: within 25 %, with hardly any noise.

    A person of k items weighs 2/√k an item, which scaling up makes 5 again: all together within 10 %.
    """
    random = np.random.default_rng(1)
    sizes = random.integers(1, 13, 2_000)
    items = np.concatenate([np.repeat(random.choice(30, size, replace=False), 5) for size in sizes])
    log = log_of(np.repeat(np.arange(2_000), 5 * sizes), items, 30)
    release = released(log, "1000", limit=4, noise="gaussian")
    assert counts_of(release) == pytest.approx(truth(log), rel=0.25)
    assert counts_of(release).sum() == pytest.approx(truth(log).sum(), rel=0.1)


@pytest.mark.parametrize("integers", [1, "yes", None])
def test_integers_is_true_or_false(integers: Any) -> None:
    with pytest.raises(UsageError, match="integers must be true or false"):
        Adaptive(integers=integers)


@pytest.mark.parametrize("counting", COUNTINGS)
@pytest.mark.parametrize("more", [{}, {"limit": 1}, {"noise": "gaussian"}], ids=lambda m: str([*m]))
def test_small_logs(counting: Counting, more: dict[str, Any]) -> None:
    """Nobody, one person, one item, one item in no context: always the whole catalogue, and finite numbers."""
    nobody = np.empty(0, np.int64)
    zeros = np.zeros(1, np.int64)
    logs = [
        log_of(nobody, nobody, 1, None, counting),
        log_of(nobody, nobody, 5, nobody, counting),
        log_of(zeros, zeros, 1, None, counting),
        log_of(zeros, zeros, 1, zeros, counting),
        log_of(np.zeros(500, np.int64), np.arange(500) % 3, 3, np.full(500, 2), counting),
        log_of(np.arange(500), np.zeros(500, np.int64), 1, None, counting),
    ]
    for epsilon in ("0.01", "100"):
        for log in logs:
            release = released(log, epsilon, **more)
            for table in set(release.tables) - {"activity"}:
                assert release.tables[table].num_rows == len(log.catalogue.ids) * (
                    log.width if table == "edges" else 1
                )
                for name in ("count", "low", "high"):
                    assert np.isfinite(release.tables[table][name].to_numpy()).all()
                    assert (release.tables[table][name].to_numpy() >= 0).all()
    exact = released(log_of(np.arange(500), np.zeros(500, np.int64), 1, None, counting), "100", **more)
    assert counts_of(exact)[0] == pytest.approx(500, rel=0.05)


@settings(max_examples=25)
@given(cases(), st.integers(0, 1 << 30), st.sampled_from((None, 1, 2)))
def test_any_small_log_is_released_alike_by_all_engines(case: Case, seed: int, limit: int | None) -> None:
    local, two = (
        Adaptive(limit=limit).release(case.log(), Grant("1"), SeededNoise(seed), engine)
        for engine in (ReferenceEngine(), LocalEngine(threads=2))
    )
    assert local.chosen == two.chosen
    assert all(local.tables[name].equals(two.tables[name]) for name in local.tables)


# A public cap


def test_bots_count_as_the_cap_says() -> None:
    """1,000 people with 6 of 40 items, and bots with 100,000 records of the first: 20 of each bot's, or all."""
    random = np.random.default_rng(1)
    for bots in (1, 20):
        users = np.append(np.repeat(np.arange(1_000), 6), np.repeat(1_000 + np.arange(bots), 100_000 // bots))
        items = np.append(random.integers(0, 40, 6_000), np.zeros(100_000, np.int64))
        log = log_of(users, items, 40)
        with watched("adaptive.measure.add_noise") as added:
            release = released(log, "20", at_most=20)
        expected = truth(log)
        expected[0] += 20 * bots - 100_000
        assert counts_of(release) == pytest.approx(expected, rel=0.25)
        assert counts_of(release).sum() == pytest.approx(expected.sum(), rel=0.03)
        people = added[0].given[0].sensitive_values.tolist()
        assert people[bin_of(np.array([20]))[0]] == bots, "bots are not where the cap is"
        assert sum(people) == 1_000 + bots
    assert "A person with more than 20 records counted as if so many of them were all" in release.explain()
    assert "the cap of 20 records per person was fixed without looking at the log" in release.explain()
    assert counts_of(released(log, "20"))[0] > 50_000, "without a cap they do not count in full"


@pytest.mark.parametrize("at_most", [2, 3, 4, 5, 8, 9, 16, 17, 64])
@pytest.mark.parametrize("limit", [None, 1])
def test_a_cap_drops_no_user(at_most: int, limit: int | None) -> None:
    """1,000 people with 10 records each, of whom so many count: within 10 %, also where the cap is a limit."""
    items = np.random.default_rng(1).integers(0, 20, 10_000)
    release = released(log_of(np.repeat(np.arange(1_000), 10), items, 20), "5", at_most=at_most, limit=limit)
    assert counts_of(release).sum() == pytest.approx(1_000 * min(at_most, 10), rel=0.1)


def test_a_cap_takes_hidden_heavy_users_out_of_intervals() -> None:
    log = world(2_000, 200, "log-normal", "users")
    plain, capped = (released(log, "0.2", limit=4, at_most=most) for most in (None, 16))
    widths = [
        np.median(release.items["high"].to_numpy() - release.items["low"].to_numpy())
        for release in (plain, capped)
    ]
    assert widths[1] < 0.8 * widths[0]


def test_under_a_cap_intervals_cover_a_user_with_one_item() -> None:
    """Of 2,000 people, one has an item 900 times that nobody else has. Noise hides that; the interval still holds.

    Without a cap no interval that ends somewhere can allow for such a person, and ours does not hold.
    """
    items = np.random.default_rng(1).integers(1, 200, 20_000)
    users = np.concatenate([np.repeat(np.arange(2_000), 10), np.full(900, 2_000)])
    log = log_of(users, np.concatenate([items, np.zeros(900, dtype=np.int64)]), 200)
    for most, holds in ((1_000, True), (None, False)):
        highs = [
            released(log, "2", seed=seed, limit=1, at_most=most).items["high"][0].as_py() for seed in range(3)
        ]
        assert [high >= 900 for high in highs] == [holds] * 3


def test_a_cap_must_make_sense() -> None:
    for at_most in (0, -1, 1.5, "3", True):
        with pytest.raises(UsageError, match="at_most must be a whole number of at least 1"):
            Adaptive(at_most=at_most)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="at_most must be at least 2") as raised:
        Adaptive(at_most=1)
    assert "--method sra --limit 1" in str(raised.value)
    with pytest.raises(UsageError, match="limit must be less than at_most, not 5") as raised:
        Adaptive(at_most=5, limit=5)
    assert "leave limit out" in str(raised.value)
    with pytest.raises(UsageError, match="at_most cannot be used with gaussian noise") as raised:
        Adaptive(at_most=5, noise="gaussian")
    assert "leave one of them out" in str(raised.value)


@pytest.mark.parametrize("method", sorted(set(FAMILY.methods) - {"adaptive"}))
def test_other_methods_refuse_a_cap(method: str) -> None:
    with pytest.raises(UsageError, match=f"method {method} cannot use at_most") as raised:
        build(method, {"at_most": 5})
    assert "it takes" in str(raised.value)


# How far off it is


@pytest.mark.parametrize(
    ("activity", "counting"),
    [
        ("log-normal", "users"),
        ("log-normal", "records"),
        ("geometric", "users"),
        ("geometric", "records"),
        ("pareto", "users"),
        pytest.param(
            "pareto",
            "records",
            marks=pytest.mark.xfail(
                reason="one in 5,000 has a twentieth of all records: noise hides them", strict=True
            ),
        ),
    ],
)
@pytest.mark.slow
def test_intervals_hold_for_the_largest_counts(activity: str, counting: Counting) -> None:
    """Of the true top 20, and of the published one, 93 % are covered over 12 releases.

    Measured: 98.7 % and more, with a deviation of at most 2.2 % from release to release. So 93 % is 9 deviations
    of the mean off: a false alarm is far rarer than one in a million (and the seeds are fixed). Intervals of an
    eighth of the width would be seen.
    """
    log = world(5_000, 800, activity, counting)
    exact = truth(log)
    releases = [released(log, "0.5", seed=seed) for seed in range(12)]
    for narrowed, enough in ((1.0, True), (1 / 8, False)):
        for largest in (
            [np.argsort(-exact)[:20]] * 12,
            [np.argsort(-counts_of(release))[:20] for release in releases],
        ):
            held = []
            for release, top in zip(releases, largest, strict=True):
                low, high = (release.items[name].to_numpy()[top] for name in ("low", "high"))
                middle = counts_of(release)[top]
                low, high = (middle + narrowed * (ends - middle) for ends in (low, high))
                held.append(((low <= exact[top]) & (exact[top] <= high)).mean())
            assert (np.mean(held) >= 0.93) == enough, (narrowed, np.mean(held))


@pytest.mark.slow
@pytest.mark.parametrize("counting", COUNTINGS)
def test_intervals_cover_with_two_kinds_of_users(counting: Counting) -> None:
    """9 of 10 have 4 records, the others 400: of the true top 20, 93 % are covered over 8 releases.

    Most cover all of them; one of eight covers three quarters where people are counted. Where people are within
    their bins was taken for granted once, and 70 % were covered.
    """
    random = np.random.default_rng(7)
    records = np.where(random.random(20_000) < 0.9, 4, 400)
    users, shares = np.repeat(np.arange(20_000), records), 1 / np.arange(1, 5_001)
    log = log_of(users, random.choice(5_000, users.size, p=shares / shares.sum()), 5_000, counting=counting)
    exact = truth(log)
    top = np.argsort(-exact)[:20]
    held = []
    for seed in range(8):
        release = released(log, "2", seed=seed)
        low, high = (release.items[name].to_numpy()[top] for name in ("low", "high"))
        held.append(((low <= exact[top]) & (exact[top] <= high)).mean())
    assert np.mean(held) >= 0.93


@pytest.mark.slow
def test_the_first_counts_of_the_demo(tmp_path: Path) -> None:
    """Its first ten counts, over 8 releases: off by 13 % at most on average, intervals 1.4 times as wide as they.

    Over 24 seeds they are off by 13 %, in 6 of 24 all by more than a fifth, and all are enclosed.
    """
    city = checkins(tmp_path)
    log = read_events(city.visits, user="user", item="venue", context=weekday("time"), items=city.venues)
    exact = truth(log)
    top = np.argsort(-exact)[:10]
    errors, widths = [], []
    for seed in range(8):
        items = released(log, seed=seed).items
        count, low, high = (items[name].to_numpy()[top] / exact[top] for name in ("count", "low", "high"))
        assert (low <= 1).all()
        assert (high >= 1).all()
        errors.append(np.abs(count - 1).mean())
        widths.append(np.median(high - low))
    assert np.mean(errors) < 0.13
    assert np.mean(widths) < 1.4


def test_intervals_are_wide_where_no_user_is_observed() -> None:
    """300 people, whom noise of 200 a bin hides: of the true top 20, 93 % are covered over 4 releases.

    Intervals once ended where the noise of people with one record does, and half were covered.
    """
    log = world(300, 500, "log-normal")
    exact = truth(log)
    top = np.argsort(-exact)[:20]
    held = []
    for seed in range(4):
        release = released(log, "0.1", seed=seed)
        low, high = (release.items[name].to_numpy()[top] for name in ("low", "high"))
        held.append(((low <= exact[top]) & (exact[top] <= high)).mean())
    assert np.mean(held) >= 0.93


WORLDS = pytest.mark.parametrize(
    ("activity", "users", "counting"),
    [
        ("log-normal", 5_000, "users"),
        ("pareto", 5_000, "users"),
        ("geometric", 5_000, "users"),
        ("log-normal", 5_000, "records"),
        ("pareto", 20_000, "records"),
        ("log-normal", 600, "users"),
    ],
)


@WORLDS
def test_intervals_hold_on_average(activity: str, users: int, counting: Counting) -> None:
    """95 % of the true counts of 800 items and 2,400 edges, over 3 seeds (deviations of 0.45 % and 0.26 %).

    They are said to hold 95 times in 100; all were measured to hold more often, and none may hold less.
    """
    log = world(users, 800, activity, counting, contexts=True)
    exact = {table: truth(log, table) for table in ("items", "edges")}
    releases = [released(log, "0.5", seed=seed) for seed in range(3)]
    for table, values in exact.items():
        assert np.mean([covered(release, values, table) for release in releases]) >= 0.95


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_intervals_of_users_are_of_use(noise: Literal["laplace", "gaussian"]) -> None:
    """At the median they reach no further than 5 times the root of the mean squared error (measured: 3)."""
    log = world(5_000, 800, "log-normal")
    for seed in range(3):
        release = released(log, "0.5", seed=seed, noise=noise)
        low, high = (release.items[name].to_numpy() for name in ("low", "high"))
        root_error = ((counts_of(release) - truth(log)) ** 2).mean() ** 0.5
        assert np.median(high - low) / 2 <= 5 * root_error


def test_intervals_of_records_are_of_use() -> None:
    """40 records an item on average: an interval should not reach to thousands at the median."""
    log = world(5_000, 800, "log-normal", "records")
    release = released(log, "0.5")
    low, high = (release.items[name].to_numpy() for name in ("low", "high"))
    assert np.median(high - low) < 1_000


def test_a_small_log_of_records_is_not_blown_up() -> None:
    """600 people with 4,352 records: 20 times that is not an estimate, and happens once in 13 releases."""
    log = world(600, 1_000, "log-normal", "records")
    totals = [counts_of(released(log, "0.5", seed=seed)).sum() for seed in range(40)]
    assert max(totals) < 20 * truth(log).sum()


def test_where_users_are_alike_it_is_no_worse_than_sampling() -> None:
    """Everybody has 5 records, at the lower end of a bin of 5 to 8."""
    random = np.random.default_rng(1)
    shares = 1 / np.arange(1, 1_001)
    log = log_of(np.repeat(np.arange(5_000), 5), random.choice(1_000, 25_000, p=shares / shares.sum()), 1_000)
    exact = truth(log)
    sampled = squared_error(build("sra", {"limit": 5}), log, exact, "0.5", 3)
    assert squared_error(Adaptive(), log, exact, "0.5", 3) < 2 * sampled


@pytest.mark.parametrize("counting", COUNTINGS)
def test_it_beats_sampling_at_its_best_limit(counting: Counting) -> None:
    """In mean squared error over 5 seeds at ε = 0.5, without being told a limit (measured: 0.2 of it)."""
    log = world(5_000, 1_000, "log-normal", counting)
    exact = truth(log)
    best = min(squared_error(build("sra", {"limit": limit}), log, exact, "0.5", 5) for limit in (1, 2, 5, 10, 30))
    assert squared_error(Adaptive(), log, exact, "0.5", 5) < 0.5 * best


def test_a_log_of_single_records_costs_little() -> None:
    """Everybody has one record: nothing is scaled. The 0.16 for what steers makes 1.42 times the variance.

    Altogether at most 1.5 times the error of sampling, which was told the limit (measured: 1.41).
    """
    log = columns_of(np.random.default_rng(1).geometric(0.02, 500).tolist())
    exact = truth(log)
    release = released(log, "0.5")
    assert release.chosen["items"]["limit"] == 1
    assert squared_error(Adaptive(), log, exact, "0.5", 5) < 1.5 * squared_error(
        build("sra", {"limit": 1}), log, exact, "0.5", 5
    )


# Real logs

DATA = Path(os.environ.get("HEADCOUNT_DATA", "."))


def real(name: str) -> tuple[EventLog, Floats]:
    """A public log of different pairs of user and item, and how many people each item has."""
    path = DATA / f"{name}.parquet"
    if not path.exists():
        pytest.skip("HEADCOUNT_DATA names no folder with this log")
    pairs = pq.read_table(path, columns=["user", "item"]).drop_null().group_by(["user", "item"]).aggregate([])
    users, items = (
        np.unique(pairs[name].to_numpy(zero_copy_only=False), return_inverse=True)[1] for name in ("user", "item")
    )
    log = log_of(users.astype(np.int64), items.astype(np.int64), int(items.max()) + 1, counting="users")
    return log, np.bincount(items).astype(np.float64)


@pytest.mark.parametrize("name", ["uci-online-retail", "kosarak-prefix"])
def test_intervals_hold_on_real_logs(name: str) -> None:
    log, exact = real(name)
    assert np.mean([covered(released(log, "0.5", seed=seed), exact) for seed in range(3)]) >= 0.95


def divergence(exact: Floats, counts: Floats) -> float:
    """KL as Fan and Jin have it: counts of zero or less are replaced by 0.01."""
    p, q = (np.where(values <= 0, 0.01, values) for values in (exact, counts))
    return float((p / p.sum() * np.log(p / p.sum() / (q / q.sum()))).sum())


def test_it_beats_published_methods_on_a_real_log() -> None:
    """Each at its best limit in hindsight, over 5 seeds: at most 0.85 of the MSE and 0.5 of KL.

    Measured: 0.65 and 0.32.
    """
    log, exact = real("uci-online-retail")

    def errors(name: str, parameters: dict[str, Any]) -> tuple[float, float]:
        method = build(name, parameters)
        releases = [counts_of(method.release(log, Grant("0.5"), SeededNoise(seed))) for seed in range(5)]
        return (
            float(np.mean([((counts - exact) ** 2).mean() for counts in releases])),
            float(np.mean([divergence(exact, counts) for counts in releases])),
        )

    published = [errors(name, {"limit": limit}) for name in ("sra", "hpa") for limit in (1, 2, 5, 10, 30, 100)]
    published.append(errors("dpsense", {}))
    ours = errors("adaptive", {})
    assert ours[0] <= 0.85 * min(estimates[0] for estimates in published)
    assert ours[1] <= 0.5 * min(estimates[1] for estimates in published)
