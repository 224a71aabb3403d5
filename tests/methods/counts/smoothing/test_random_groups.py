"""GS-R: columns dealt at random to groups of the declared maximum, one noisy average for each."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from headcount.accounting.budget import Grant
from headcount.methods.counts.smoothing.random_groups import RandomGroups
from headcount.noise import SeededNoise
from tests.contracts.support.method_facts import Special
from tests.reference.engine import ReferenceEngine
from tests.support.small_logs import scale_of
from tests.support.synthetic_logs import (
    Watching,
    check_averages,
    check_coverage,
    counts_of,
    grouped,
    log_of,
    town,
    truth,
)

SPECIAL = {"gs-r": Special({"reconciles": False})}


@pytest.mark.parametrize("counting", ["records", "users"])
@pytest.mark.parametrize("table", ["items", "edges"])
@pytest.mark.parametrize(("d", "limit", "groups"), [(23, 5, [5, 5, 5, 8]), (20, 5, [5] * 4), (7, 7, [7])])
def test_counts_are_noisy_averages_of_groups(
    d: int, limit: int, groups: list[int], table: Any, counting: Any
) -> None:
    """The last group takes in what is left; edges are grouped for themselves, three columns an item."""
    grouped_counts = grouped(RandomGroups(limit=limit), town(60, d, 7, counting=counting), "1", table=table)
    check_averages(grouped_counts)
    if table == "items":
        assert [len(members) for members in grouped_counts.members] == groups
    else:
        assert {len(members) for members in grouped_counts.members[:-1]} <= {limit}
        assert sum(len(members) for members in grouped_counts.members) == 3 * d
        assert limit <= len(grouped_counts.members[-1]) < 2 * limit


@pytest.mark.parametrize("counting", ["records", "users"])
def test_much_epsilon_gives_the_averages_themselves(counting: Any) -> None:
    """Nobody has more than 5 records: what is averaged is everything, and the noise is 0."""
    log = town(60, 23, 5, counting=counting)
    grouped_counts = grouped(RandomGroups(limit=5), log, "10000")
    exact = truth(log)
    for at, members in enumerate(grouped_counts.members):
        assert grouped_counts.of("count")[at].tolist() == [exact[members].sum() / len(members)] * len(members)
    assert counts_of(grouped_counts.release).sum() == pytest.approx(exact.sum())
    assert grouped_counts.release.items["low"].equals(grouped_counts.release.items["high"])


def test_the_maximum_is_enforced() -> None:
    """Of a user's 50 records 5 are kept."""
    log = log_of(np.zeros(50, np.int64), np.arange(50) % 23, 23)
    grouped_counts = grouped(RandomGroups(limit=5), log, "10000")
    assert grouped_counts.counts.sensitive_values.sum() == 5
    assert counts_of(grouped_counts.release).sum() == pytest.approx(5)
    assert grouped_counts.counts.sensitivity.l1 == 5


def test_fewer_columns_than_the_maximum_are_one_group() -> None:
    for d in (1, 4):
        log = town(60, d, 5)
        grouped_counts = grouped(RandomGroups(limit=5, what="items"), log, "1")
        check_averages(grouped_counts)
        assert len(grouped_counts.members) == 1
        assert len(set(counts_of(grouped_counts.release))) == 1
        exact = grouped(RandomGroups(limit=5, what="items"), log, "10000")
        assert counts_of(exact.release).tolist() == [truth(log).sum() / d] * d


def test_groups_are_random_and_do_not_depend_on_the_log() -> None:
    method, logs = RandomGroups(limit=5, what="items"), (town(60, 23, 5), town(0, 23, 5), town(400, 23, 9, seed=2))
    orders = [grouped(method, log, "1").groups.order.tolist() for log in logs]
    assert orders[0] == orders[1] == orders[2]
    assert grouped(method, logs[0], "1", seed=2).groups.order.tolist() != orders[0]


@pytest.mark.parametrize(("what", "scale"), [("items", Fraction(50)), ("both", Fraction(100))])
def test_sums_get_noise_of_scale_limit_by_epsilon(what: Any, scale: Fraction) -> None:
    grouped_counts = grouped(RandomGroups(limit=5, what=what), town(60, 23, 5), "0.1")
    law = grouped_counts.release.noise["items"]
    assert (scale_of(law), law.step, law.on) == (scale, Fraction(1), "group sums")
    assert scale_of(grouped_counts.sums.distribution) == scale
    assert np.array_equal(grouped_counts.sums.values, grouped_counts.sums.values.astype(np.int64))


def test_counts_and_groups_use_separate_secrets() -> None:
    engine = Watching()
    RandomGroups(limit=5).release(town(60, 23, 5), Grant("1"), SeededNoise(1), engine)
    (items, first), (edges, second) = engine.measured_bounds
    assert items.limit == edges.limit == 5
    assert first != second


def test_intervals_enclose_the_averages_of_groups() -> None:
    check_coverage(grouped(RandomGroups(limit=3, what="items"), town(900, 6_001, 3), "0.1"))


def test_the_last_larger_group_has_a_narrower_interval() -> None:
    grouped_counts = grouped(RandomGroups(limit=5, what="items"), town(60, 23, 5), "0.1")
    widths = [
        high[0] - count[0]
        for high, count in zip(grouped_counts.of("high"), grouped_counts.of("count"), strict=True)
    ]
    assert widths[0] == widths[1] == widths[2] == grouped_counts.sums.distribution.half_width(0.95) / 5
    assert widths[3] == grouped_counts.sums.distribution.half_width(0.95) / 8


def test_what_it_says() -> None:
    release = RandomGroups(limit=5).release(town(60, 23, 5), Grant("1"), SeededNoise(1), ReferenceEngine())
    assert "dealt at random to groups of 5" in release.explain()
    assert "its average stands for each column of the group" in release.explain()
    assert release.bounded == "at most 5 records per person"
    assert release.chosen == {}
