"""GS-R, GS-S, GS and FPA as published: what they read from the data, and that this gives users away."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headcount.accounting.budget import Grant
from headcount.accounting.guarantee import Standing
from headcount.events.catalogue import Catalogue
from headcount.events.log import EventLog
from headcount.events.roles import Roles
from headcount.events.sources.source import TableSource
from headcount.lab.as_published.smoothing import (
    FourierPerturbationPublished,
    RandomGroupsPublished,
    SampledGroupsPublished,
    TunedGroupsPublished,
)
from headcount.methods.counts.smoothing.random_groups import RandomGroups
from headcount.methods.counts.smoothing.sampled_groups import SampledGroups
from headcount.methods.counts.smoothing.tuned_groups import TunedGroups
from headcount.methods.counts.walsh_hadamard import WalshHadamardPerturbation
from headcount.methods.method import Method
from headcount.noise import SeededNoise
from headcount.releases.release import Release
from tests.contracts.support.method_facts import Special
from tests.methods.counts.smoothing.test_tuned_groups import TUNED
from tests.support.small_logs import scale_of
from tests.support.synthetic_logs import columns_of, counts_of, log_of, town, truth


def _reach(release: Release, table: str, cells: int) -> Fraction:
    """√m · M in units of 2^-16, with √d of them for rounding, for M = 5."""
    reach = (5 << 16) + math.isqrt(cells - 1) + 1
    return Fraction(math.isqrt(release.chosen[table]["coefficients"] * reach**2 - 1) + 1, 1 << 16)


SMOOTH: dict[str, Any] = {"reconciles": False}
HALVED: dict[str, Any] = {**SMOOTH, "reach": 5, "paying": Fraction(1, 2)}
ALL = {"headcount.lab.as_published.smoothing.best_number": lambda transformed, _: transformed.size}
SPECIAL = {
    "fpa-published": Special({**SMOOTH, "reach_of": _reach, "forced": ALL}),
    "gs-r-published": Special({**SMOOTH, "reach": 5}),
    "gs-s-published": Special({**HALVED, "parameters": {"sampling": "column"}}),
    "gs-published": Special({**HALVED, "parameters": {"sampling": "none"}, "forced": TUNED}),
}

GROUPS: list[tuple[Method, Any]] = [
    (RandomGroupsPublished(what="items"), RandomGroups),
    (SampledGroupsPublished(what="items"), SampledGroups),
    (SampledGroupsPublished(what="items", sampling="row"), SampledGroups),
    (TunedGroupsPublished(what="items", sampling="none"), TunedGroups),
]
EVERY: list[Method] = [*(method for method, _ in GROUPS), FourierPerturbationPublished(what="items")]


def neighbours() -> tuple[EventLog, EventLog]:
    """40 users with one record each, and the same with Ann, who has one of each of 9 items of 12."""
    users, columns = np.arange(40), np.arange(40) % 12
    ann = np.full(9, 99), np.arange(9)
    return (
        log_of(np.concatenate([users, ann[0]]), np.concatenate([columns, ann[1]]), 12),
        log_of(users, columns, 12),
    )


def released(method: Method, log: EventLog, seed: int = 1, epsilon: str = "1") -> Release:
    return method.release(log, Grant(epsilon), SeededNoise(seed))


# What is read from the data


@pytest.mark.parametrize("counting", ["records", "users"])
@pytest.mark.parametrize(
    ("method", "proven"), GROUPS, ids=lambda method_case: str(getattr(method_case, "name", ""))
)
def test_with_what_was_read_declared_the_output_is_the_same(method: Method, proven: Any, counting: Any) -> None:
    """Nobody has more than 7 records, or than some number of different items."""
    log = town(60, 23, 7, counting=counting)
    most, noise = 7, SeededNoise(1)
    if counting == "users":
        table = log.source.table  # type: ignore[attr-defined]
        pairs = {
            (user, item)
            for user, item in zip(*(table[name].to_pylist() for name in ("user", "item")), strict=True)
        }
        most = max(sum(user == user_id for user, _ in pairs) for user_id in range(60))
        noise.key()  # reading what users have takes one
    own = {"sampling": method.sampling} if hasattr(method, "sampling") else {}
    declared = proven(limit=most, what="items", **own).release(log, Grant("1"), noise)
    result = released(method, log)
    assert result.items.equals(declared.items)
    assert result.noise == declared.noise
    assert result.chosen == declared.chosen
    assert result.guarantee.standing is Standing.CLAIMED
    assert declared.guarantee.standing is Standing.PROVEN


@pytest.mark.parametrize("method", EVERY, ids=repr)
def test_the_noise_gives_the_most_active_user_away(method: Method) -> None:
    """The scale is in the release. It is the same in every run, and never what it is without Ann: no finite ε."""
    with_ann, without = (
        {scale_of(released(method, log, seed).noise["items"]) for seed in range(20)} for log in neighbours()
    )
    assert not with_ann & without
    assert len(without) == 1


@pytest.mark.parametrize(
    "method", [RandomGroupsPublished(), SampledGroupsPublished(), SampledGroupsPublished(sampling="row")]
)
def test_the_counts_alone_give_the_most_active_user_away(method: Method) -> None:
    """Without Ann groups have one column, and all counts are whole numbers: others are impossible, at any ε.

    With her there is a single group of 12, and its average is a whole number once in 12 times: of 20 runs,
    more than 15 whole ones would come less than once in 10 billion (and the seeds are fixed).
    """
    with_ann, without = neighbours()
    fractions = [counts_of(released(method, with_ann, seed)) % 1 for seed in range(20)]
    assert sum(bool(fraction.any()) for fraction in fractions) >= 5
    for seed in range(20):
        assert len(set(counts_of(released(method, with_ann, seed)))) == 1
        assert not (counts_of(released(method, without, seed)) % 1).any()


def test_a_declared_maximum_reveals_no_user() -> None:
    """The proven methods have the same noise with Ann and without her."""
    for method in (RandomGroups(limit=3), SampledGroups(limit=3), TunedGroups(limit=3)):
        scales = {
            scale_of(released(method, log, seed).noise["items"]) for log in neighbours() for seed in range(5)
        }
        assert len(scales) == 1


def test_on_an_empty_log_the_maximum_is_one() -> None:
    for method in EVERY:
        for counting in ("records", "users"):
            log = replace(town(0, 12, 3), counting=counting)
            release = released(method, log)
            assert np.isfinite(counts_of(release)).all()
            assert release.guarantee.standing is Standing.CLAIMED
            assert method.guarantee(Grant("1")).reason is not None


# FPA


def fourier_functions(d: int) -> list[np.ndarray[Any, Any]]:
    """The constant, and pairs of cosine and sine, each of norm 1."""
    at = np.arange(d)
    rows = [np.ones(d)]
    for turns in range(1, d // 2 + 1):
        rows += [np.cos(2 * np.pi * turns * at / d), np.sin(2 * np.pi * turns * at / d)]
    return [row / np.linalg.norm(row) for row in rows[:d]]


@pytest.mark.parametrize("epsilon", ["0.5", "1", "5", "50", "100000"])
@pytest.mark.parametrize("d", [12, 13])
def test_fpa_keeps_the_best_number_of_coefficients_for_the_data(epsilon: str, d: int) -> None:
    """Squared errors of what is left out and of the noise, from the definition: no noise is in the choice."""
    counts = [int(80 + 70 * np.cos(2 * np.pi * at / d) + 9 * (at % 3)) for at in range(d)]
    log = columns_of(counts)
    rows = fourier_functions(d)
    cost = {}
    for kept in sorted({*range(1, d + 1, 2), d}):
        left_out = sum(float(row @ counts) ** 2 for row in rows[kept:])
        cost[kept] = left_out + 2 * kept * (kept**0.5 / float(epsilon)) ** 2
    best = min(cost, key=lambda kept: cost[kept])
    chosen_counts = {
        released(FourierPerturbationPublished(), log, seed, epsilon).chosen["items"]["coefficients"]
        for seed in range(5)
    }
    assert chosen_counts == {best}


def test_fpa_gives_away_by_the_number_of_coefficients_too() -> None:
    """One user more, and another number is kept, in every run: a certain outcome becomes an impossible one."""
    base = [20, 20, 20, 20, 20, 20, 20, 20]
    numbers = []
    for more in range(40):
        log = columns_of([20 + more, *base[1:]])
        numbers.append(released(FourierPerturbationPublished(), log, 1, "1").chosen["items"]["coefficients"])
    assert len(set(numbers)) > 1
    turn = next(at for at in range(1, 40) if numbers[at] != numbers[at - 1])
    logs = [columns_of([20 + more, *base[1:]]) for more in (turn - 1, turn)]
    coefficients = [
        {released(FourierPerturbationPublished(), log, seed).chosen["items"]["coefficients"] for seed in range(20)}
        for log in logs
    ]
    assert not coefficients[0] & coefficients[1]
    proven = [
        {
            released(WalshHadamardPerturbation(limit=1), log, seed).chosen["items"]["coefficients"]
            for seed in range(20)
        }
        for log in logs
    ]
    assert proven[0] & proven[1]


@pytest.mark.parametrize("d", [1, 13])
def test_fpa_with_much_epsilon_gives_the_counts_themselves(d: int) -> None:
    log = columns_of([30 + at**2 for at in range(d)])
    release = released(FourierPerturbationPublished(), log, 1, "100000")
    assert release.chosen["items"] == {"coefficients": d}
    assert np.allclose(counts_of(release), truth(log), atol=0.01)


def _costs(log: EventLog, **reaches: float) -> None:
    """√m Δ₂/ε on m coefficients, with an equal part of ε = 2 for each table, and a little for rounding."""
    release = released(FourierPerturbationPublished(), log, 1, "2")
    assert set(release.noise) == set(reaches)
    for table, reach in reaches.items():
        law = release.noise[table]
        wanted = release.chosen[table]["coefficients"] ** 0.5 * reach * len(reaches) / 2
        assert wanted <= scale_of(law) <= wanted * 1.0001
        assert (law.step, law.on) == (Fraction(1, 1 << 16), "coefficients")


@pytest.mark.parametrize("counting", ["users", "records"])
def test_fpa_costs_what_was_published(counting: Any) -> None:
    """Δ₂ = √M where nobody is in a cell twice, whatever is counted: Ann has one of each of 9 items."""
    _costs(replace(neighbours()[0], counting=counting), items=3.0)


@pytest.mark.parametrize("folded", [False, True], ids=["row by row", "as times"])
def test_fpa_costs_more_for_returning_users(folded: bool) -> None:
    """Δ₂ = M where somebody is in a cell twice and records are counted, be it another than the most active."""
    rows = [("ann", item, 1) for item in range(9)] + ([("bob", 0, 2)] if folded else [("bob", 0, 1)] * 2)
    users, items, times = zip(*rows, strict=True)
    table = pa.table({"user": users, "item": items, "times": times})
    roles = Roles("user", "item", "times" if folded else None)
    log = EventLog(source=TableSource(table), roles=roles, catalogue=Catalogue.of(range(12)))
    _costs(log, items=9.0)
    _costs(replace(log, counting="users"), items=3.0)


def test_fpa_uses_the_cells_of_every_table() -> None:
    """Bob has tea twice, on different days: one item, two edges. With one day for each person it is one record."""
    visits = [("bob", "tea", "Mon"), ("bob", "tea", "Tue"), ("ann", "rye", "Mon"), ("ann", "tea", "Mon")]
    log = EventLog.of(visits, items=["rye", "tea"], contexts=["Mon", "Tue"])
    _costs(log, items=2.0, edges=2**0.5)
    _costs(replace(log, context_of="user"), items=2**0.5, edges=2**0.5)
