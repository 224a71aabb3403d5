"""Stages: shares that sum to 1, parts that sum to the price, and a ρ that Gaussian stages share."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import DiscreteGaussian
from headcount.accounting.zcdp import epsilon_for, rho_for
from headcount.bounds import Sensitivity
from headcount.errors import GrantError, UsageError
from headcount.events.log import EventLog
from headcount.ledger import Charge
from headcount.methods.counts.adaptive import Adaptive
from headcount.methods.counts.hand_picked import HandPicked
from headcount.methods.counts.simple_random import SimpleRandom
from headcount.noise.stages import (
    Stage,
    Stages,
    charged_costs,
    noise_distributions_of,
    normalize_split,
    split_among_stages,
    split_evenly,
)

LOG = EventLog.of([("ann", "tea", "a")], items=["rye", "tea"], contexts=["a"], counting="users")

epsilons = st.decimals(Decimal("0.01"), Decimal(50), places=4)
deltas = st.integers(1, 12).map(lambda n: Decimal(3).scaleb(-n))
weights = st.lists(st.integers(1, 1000), min_size=2, max_size=5)


def stages_of(numbers: list[int], *, bells: int, moves: Sensitivity | None = None) -> Stages:
    own = [Stage(f"stage {n}", Decimal(number), sensitivity=moves) for n, number in enumerate(numbers)]
    return normalize_split([replace(stage, gaussian=place < bells) for place, stage in enumerate(own)])


def shares(stages: Stages) -> dict[str, Decimal]:
    return {stage.name: stage.share for stage in stages}


# Shares


def test_shares() -> None:
    assert sum(shares(split_evenly("abc")).values()) == 1
    assert shares(normalize_split([Stage("a", Decimal("0.1"))])) == {"a": 1}
    given_shares: dict[str, Any] = {"b": 0.9, "a": "0.1"}
    assert shares(normalize_split([Stage("a"), Stage("b")], given_shares)) == {
        "a": Decimal("0.1"),
        "b": Decimal("0.9"),
    }
    for wrong in ({"a": 1}, {"a": "0.5", "b": "0.2", "c": "0.3"}):
        with pytest.raises(UsageError, match=r"stages that run: a, b.*--shares a=0\.5,b=0\.5"):
            normalize_split([Stage("a"), Stage("b")], wrong)


# Parts


@given(epsilons, st.one_of(st.none(), deltas), weights, st.integers(0, 5))
def test_parts_of_a_grant_are_those_of_its_cost(
    epsilon: Decimal, delta: Decimal | None, numbers: list[int], bells: int
) -> None:
    """What is planned is what is spent: the same amounts, and together all of it."""
    stages = stages_of(numbers, bells=min(bells, len(numbers)) or 1 if delta else 0)
    price, grant = Cost.of(epsilon, delta), Grant(epsilon, delta)
    planned, granted = split_among_stages(stages, price), split_among_stages(stages, grant)
    assert {name: part.cost for name, part in granted.items()} == planned
    assert not grant.is_spent
    for part in granted.values():
        part.spend()
    assert grant.is_spent


@given(epsilons, deltas, weights, st.integers(1, 5))
def test_the_charge_equals_the_guarantee_and_gaussian_stages_cost_its_rho(
    epsilon: Decimal, delta: Decimal, numbers: list[int], bells: int
) -> None:
    """(ε₁, 0) and (ε₂, δ) make (ε₁ + ε₂, δ), and within ε₂ and δ all parts of ρ are what these allow for."""
    stages, price = stages_of(numbers, bells=bells), Cost.of(epsilon, delta)
    *pure, both = sorted(charged_costs(stages, price), key=lambda part: part.delta)
    assert sum(Fraction(part.epsilon) for part in [*pure, both]) == Fraction(epsilon)
    assert both.delta == delta
    assert not any(part.delta for part in pure)
    parts = split_among_stages(stages, price)
    spent = sum(Fraction(parts[stage.name].rho) for stage in stages if stage.gaussian)
    assert Fraction(both.rho) * (1 - Fraction(1, 10**20)) <= spent <= Fraction(both.rho)
    assert epsilon_for(both.rho, delta) <= both.epsilon + Decimal("1e-11")
    charge = Charge.of_stages(
        pure=[part.epsilon for part in pure], gaussian=[(both.epsilon, both.delta, both.rho)]
    )
    assert charge.epsilon <= epsilon
    assert charge.delta == delta


@given(epsilons, deltas, weights)
def test_no_gaussian_stage_is_noisier_than_with_epsilon_and_delta_of_its_own(
    epsilon: Decimal, delta: Decimal, numbers: list[int]
) -> None:
    """Whatever its share: ρ is convex in ε; what ε = 0 allows for is no more than δ²."""
    stages = stages_of(numbers, bells=len(numbers))
    parts = split_among_stages(stages, Cost.of(epsilon, delta))
    for stage in stages:
        alone = rho_for(epsilon * stage.share, delta / len(stages))
        assert parts[stage.name].rho >= alone - delta**2 * 4


def test_what_has_no_use_for_delta_and_what_needs_it_are_refused() -> None:
    with pytest.raises(GrantError, match="no shares of δ are given"):
        split_among_stages(split_evenly("ab"), Cost.of("1", "1e-6"))
    for bells in (1, 2):
        with pytest.raises(GrantError, match="δ"):
            split_among_stages(stages_of([1, 1], bells=bells), Cost.of("1"))


def test_stages_of_disjoint_users_get_the_whole_budget() -> None:
    apart = tuple(replace(stage, apart=True) for stage in split_evenly("ab"))
    assert set(split_among_stages(apart, Cost.of("1")).values()) == {Cost.of("1")}


# Laws


def test_the_first_of_several_tells_and_all_are_checked() -> None:
    stage = Stage("one", sensitivity=Sensitivity.of_l1(1), tells=("both",))
    whole = normalize_split(
        [stage, Stage("parts", Decimal(3), parts=normalize_split([stage, replace(stage, name="two")]))]
    )
    laws = noise_distributions_of(whole, Cost.of("4"))
    assert laws == noise_distributions_of([stage], Cost.of("1"))
    many = replace(stage, name="many", sensitivity=Sensitivity.of_l1(2**40), tells=())
    with pytest.raises(UsageError, match="more than can be drawn"):
        noise_distributions_of(normalize_split([stage, many]), Cost.of("1"))


@pytest.mark.parametrize(
    ("method", "of_rest", "first"),
    [(SimpleRandom(limit=4, noise="gaussian"), "1", "0"), (HandPicked(limit=4, noise="gaussian"), "0.7", "0"),
     (Adaptive(limit=4, noise="gaussian"), "0.92", "0.08")],
    ids=lambda value: getattr(value, "name", value),
)  # fmt: skip
def test_items_and_item_contexts_share_the_rho_left_by_pure_stages(method: Any, of_rest: str, first: str) -> None:
    """At ε = 1 and δ = 1e-6 that is 29 % less noise than half of ε and of δ for each, but for a closer look."""
    laws = method.noise_distributions(LOG, Cost.of("1", "1e-6"))
    part = 1 - float(first) / float(of_rest)
    together = float(Cost.of(Decimal(of_rest), "1e-6").rho) * part
    alone = float(Cost.of(Decimal(of_rest) / 2, "5e-7").rho) * part
    for table in ("items", "edges"):
        assert isinstance(laws[table], DiscreteGaussian)
        sigma = float(laws[table].sigma)
        assert sigma == pytest.approx((4 / together) ** 0.5, rel=1e-6)
        assert sigma / (2 / alone) ** 0.5 == pytest.approx(0.713, abs=0.003)
