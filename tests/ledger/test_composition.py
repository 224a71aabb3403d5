"""Costs add up exactly, conversions round up, and the two filters refuse what does not fit."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.accounting.charges import Charge, Spent, plain
from headcount.accounting.guarantee import Guarantee
from headcount.accounting.zcdp import epsilon_for, rho_for
from headcount.errors import RefusedError, UsageError
from headcount.ledger.composition import Budget

EPSILONS = st.decimals("0.001", "20", places=3)


def _fits(budget: Budget, spent: Spent, charge: Charge) -> bool:
    try:
        budget.check(spent, spent, charge, dataset="visits", analyst="ann")
    except RefusedError:
        return False
    return True


@given(st.lists(EPSILONS, min_size=1, max_size=20))
def test_sums_are_exact(epsilons: list[Decimal]) -> None:
    budget, spent = Budget.of("1000"), Spent()
    for epsilon in epsilons:
        spent += budget.cost_of(Charge(epsilon)) if epsilon else Spent()
    assert spent.loss == sum(epsilons)
    for epsilon in epsilons:
        spent -= budget.cost_of(Charge(epsilon))
    assert spent == Spent()


def test_the_last_cent_can_be_spent_and_no_more() -> None:
    budget = Budget.of("0.3")
    spent = budget.cost_of(Charge(Decimal("0.1"))) + budget.cost_of(Charge(Decimal("0.1")))
    assert _fits(budget, spent, Charge(Decimal("0.1")))
    assert not _fits(budget, spent, Charge(Decimal("0.1000000000000000000000000000000000000001")))


def test_many_gaussian_requests_cost_less_than_their_sum() -> None:
    budget, spent, taken = Budget.of("3", delta="1e-6", filter="zcdp"), Spent(), 0
    charge = Charge(Decimal("0.3"), Decimal("1e-7"), rho_for(Decimal("0.3"), Decimal("1e-7")))
    while _fits(budget, spent, charge):
        spent, taken = spent + budget.cost_of(charge), taken + 1
    assert taken > 50  # ten by sum
    assert budget.epsilon_of(spent) <= 3


def test_a_gaussian_request_fits_a_budget_of_twice_its_delta() -> None:
    for epsilon, delta, double in (("1", "1e-6", "2e-6"), ("0.1", "1e-9", "2e-9"), ("8", "1e-5", "2e-5")):
        charge = Charge(Decimal(epsilon), Decimal(delta), rho_for(Decimal(epsilon), Decimal(delta)))
        assert _fits(Budget.of(epsilon, delta=double, filter="zcdp"), Spent(), charge)
        assert not _fits(Budget.of(epsilon, delta=delta, filter="zcdp"), Spent(), charge)  # half is for slack


def test_slack_has_its_own_half_of_delta() -> None:
    budget = Budget.of("3", delta="1e-6", filter="zcdp")
    threshold = Charge.of_stages(threshold=[(Decimal("0.2"), Decimal("2e-7"))])
    assert (threshold.rho, threshold.slack) == (Decimal("0.02"), Decimal("2e-7"))
    once = budget.cost_of(threshold)
    assert budget.epsilon_of(once) == epsilon_for(Decimal("0.02"), Decimal("5e-7"))
    assert _fits(budget, once, threshold)
    assert not _fits(budget, once + once, threshold)  # slack would be 6e-7
    exactly = Charge(Decimal("0.1"), Decimal("5e-7"), Decimal("0.005"), Decimal("5e-7"))
    assert _fits(budget, Spent(), exactly)


@given(st.lists(st.decimals("0.0001", "0.05", places=4), min_size=1, max_size=30))
def test_what_the_filter_takes_never_exceeds_epsilon(rhos: list[Decimal]) -> None:
    budget, spent = Budget.of("1.5", delta="1e-6", filter="zcdp"), Spent()
    for rho in rhos:
        charge = Charge(Decimal("0.5"), Decimal("1e-7"), rho, Decimal("1e-8"))
        if _fits(budget, spent, charge):
            spent += budget.cost_of(charge)
            assert epsilon_for(spent.loss, Decimal("5e-7")) <= Decimal("1.5")
            assert spent.delta <= Decimal("5e-7")
        else:
            assert spent.loss + rho > rho_for(Decimal("1.5"), Decimal("5e-7"))


def test_gaussian_stages_of_one_request_are_converted_together() -> None:
    epsilon, delta = Decimal("0.5"), Decimal("5e-7")
    table = epsilon, delta, rho_for(epsilon, delta)
    both = Charge.of_stages(gaussian=[table, table])
    assert both.epsilon == epsilon_for(2 * table[2], 2 * delta) < Decimal("0.8")
    assert (both.delta, both.slack) == (2 * delta, Decimal(0))
    beside = Charge.of_stages(pure=[Decimal("0.01")], gaussian=[table, table])
    assert beside.epsilon < both.epsilon + Decimal("0.01")  # as ρ it is less
    large = Charge.of_stages(pure=[Decimal(3)], gaussian=[table, table])
    assert large.epsilon == both.epsilon + 3  # as ρ it would be more
    alone = Charge.of_stages(pure=[Decimal("0.4")], threshold=[(Decimal("0.6"), Decimal("1e-6"))])
    assert (alone.epsilon, alone.delta, alone.slack) == (Decimal(1), Decimal("1e-6"), Decimal("1e-6"))


def test_delta_without_rho_counts_as_slack() -> None:
    budget = Budget.of("3", delta="1e-6", filter="zcdp")
    assert budget.cost_of(Charge(Decimal("0.2"), Decimal("1e-7"))) == Spent(Decimal("0.02"), Decimal("1e-7"))


def test_by_sum_delta_adds_up_and_pure_budgets_take_none() -> None:
    budget = Budget.of("3", delta="1e-6")
    half = Charge(Decimal("0.1"), Decimal("5e-7"))
    assert _fits(budget, budget.cost_of(half), half)
    assert not _fits(budget, budget.cost_of(half) + budget.cost_of(half), half)
    with pytest.raises(RefusedError, match="pure ε"):
        Budget.of("3").cost_of(half)


def test_per_analyst_budgets_hold_within_the_budget() -> None:
    budget = Budget.of("3", per_analyst="1")
    with pytest.raises(RefusedError, match=r"ann on visits has spent ε = 0\.5 of 1"):
        budget.check(
            Spent(Decimal(2)), Spent(Decimal("0.5")), Charge(Decimal("0.6")), dataset="visits", analyst="ann"
        )
    budget.check(Spent(Decimal(2)), Spent(), Charge(Decimal(1)), dataset="visits", analyst="bob")
    with pytest.raises(RefusedError, match=r"visits has spent ε = 2\.5 of 3"):
        budget.check(Spent(Decimal("2.5")), Spent(), Charge(Decimal(1)), dataset="visits", analyst="bob")


def test_budgets_and_charges_round_trip() -> None:
    budget = Budget.of("3.50", delta="1e-6", per_analyst=1, filter="zcdp")
    assert Budget.from_json(budget.to_json()) == budget
    assert Budget.from_json(Budget.of(3).to_json()) == Budget.of(3)
    charge = Charge(Decimal("0.10"), Decimal("1e-7"), Decimal("0.02"), Decimal("1e-8"))
    assert Charge.from_json(charge.to_json()) == charge
    assert plain(Decimal("1e-9")) == "0.000000001"


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": "0"},
        {"epsilon": "1", "filter": "zcdp"},
        {"epsilon": "20000", "delta": "1e-6", "filter": "zcdp"},
        {"epsilon": "1", "filter": "best"},
        {"epsilon": "1", "per_analyst": "2"},
        {"epsilon": "1", "delta": "1"},
        {"epsilon": "1", "delta": "1e-200"},
    ],
)
def test_budgets_that_make_no_sense_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Budget.of(**given)


@pytest.mark.parametrize("bad", ["0", "-1", "NaN", "Infinity", "1e-200", "1e13"])
def test_charges_that_make_no_sense_are_refused(bad: str) -> None:
    with pytest.raises(UsageError):
        Charge(Decimal(bad))


def test_a_charge_cannot_have_more_slack_than_delta_nor_a_rho_of_nothing() -> None:
    with pytest.raises(UsageError):
        Charge(Decimal(1), Decimal("1e-6"), Decimal(1), Decimal("1e-5"))
    with pytest.raises(UsageError):
        Charge(Decimal(1), rho=Decimal(0))


def test_another_unit_is_refused() -> None:
    with pytest.raises(RefusedError, match="per person"):
        Charge.of(Guarantee(epsilon=Decimal(1), unit="add-or-remove-record"))
    assert Charge.of(Guarantee(epsilon=Decimal(1))) == Charge(Decimal(1))
