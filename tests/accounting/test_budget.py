"""Grants: exact amounts, exact splits, spent once."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.accounting.budget import Cost, Grant, amount, probability
from headcount.errors import GrantError, UsageError
from headcount.events.roles import read_range
from headcount.ledger.event_time_windows import Windows
from headcount.methods.totals.quantile_targets import read_quantiles
from headcount.noise.partition_selection.threshold import threshold_for
from tests.support.forks import in_a_fork

BAD = [0, -1, "0", "-0.5", 0.0, math.nan, math.inf, -math.inf, "nan", "inf", "plenty", "", " ", True, False, None,
       "1e", "0x1", Decimal("NaN"), Decimal("Infinity"), [1], b"1"]  # fmt: skip

amounts = st.decimals(min_value=Decimal("0.001"), max_value=Decimal(1000), places=12).filter(bool)


@pytest.mark.parametrize("value", BAD, ids=repr)
def test_what_is_not_a_positive_number_is_refused(value: Any) -> None:
    for read in (amount, Grant, probability):
        with pytest.raises(UsageError, match="must be a positive number"):
            read(value)


@pytest.mark.parametrize("value", ["1e-10", "1000001", 1e7, Decimal("9.99e-10")])
def test_absurd_epsilons_are_refused(value: Any) -> None:
    with pytest.raises(UsageError, match="between 1e-9 and 1e6"):
        amount(value)
    if Decimal(str(value)) > 1:
        with pytest.raises(UsageError, match="between 1e-9 and 1e6"):
            Grant(value)


def test_the_limits_themselves_are_allowed() -> None:
    assert Grant("1e-9").epsilon == Decimal("1e-9")
    assert Grant("1e6").epsilon == Decimal("1e6")


@given(st.floats(min_value=1e-9, max_value=1e6))
def test_a_float_counts_as_its_shortest_decimal(value: float) -> None:
    assert amount(value) == Decimal(repr(value))
    assert float(amount(value)) == value


def test_numbers_of_numpy_are_numbers() -> None:
    """They are what arithmetic in notebooks comes to, and print themselves with their type's name."""
    given: list[tuple[Any, str]] = [(np.float64(0.1), "0.1"), (np.int64(2), "2"), (np.float32(0.5), "0.5")]
    for value, read in given:
        assert amount(value) == Decimal(read)


def test_an_amount_is_read_exactly() -> None:
    assert amount(0.1) == Decimal("0.1")
    assert amount(" 0.30 ") == Decimal("0.3")
    assert Grant("0.123456789012345678901234567890").exact == Fraction("0.123456789012345678901234567890")


@pytest.mark.parametrize("value", [1, "1.0", 2, 1.5])
def test_a_probability_lies_below_one(value: Any) -> None:
    with pytest.raises(UsageError, match="strictly between 0 and 1"):
        probability(value)
    with pytest.raises(UsageError, match="strictly between 0 and 1"):
        Grant(1, value)


def test_a_grant_with_delta() -> None:
    grant = Grant("1", "1e-6")
    with pytest.raises(GrantError, match="δ"):
        grant.split({"a": Decimal(1)})
    assert "delta=0.000001" in repr(grant)
    assert grant.spend() == Cost(Decimal(1), Decimal("1e-6"))


@st.composite
def shares(draw: Any) -> dict[str, Decimal]:
    parts = draw(st.lists(st.integers(1, 10**6), min_size=1, max_size=6))
    places = [Decimal(part).scaleb(-7) + Decimal("0.001") for part in parts[:-1]]
    return {f"stage {n}": share for n, share in enumerate([*places, 1 - sum(places, Decimal(0))])}


@given(shares())
def test_parts_of_rho_add_up_to_no_more_than_the_whole(given_shares: dict[str, Decimal]) -> None:
    whole = Grant("1", "1e-6")
    rho = whole.cost.rho
    parts = whole.split_rho(given_shares)
    total = sum(Fraction(part.cost.rho) for part in parts.values())
    assert Fraction(rho) * (1 - Fraction(1, 10**20)) <= total <= Fraction(rho)
    assert not whole.is_spent
    for part in parts.values():
        part.spend()
    assert whole.is_spent


def test_a_part_of_rho_is_no_amount_of_epsilon() -> None:
    """Whatever is paid with ε and δ refuses it: each part still names the ε of the whole."""
    halves = {"a": Decimal("0.5"), "b": Decimal("0.5")}
    part = Grant("1", "1e-6").split_rho(halves)["a"]
    with pytest.raises(GrantError, match="Gaussian noise or picks"):
        part.split(halves, halves)
    with pytest.raises(GrantError, match="Gaussian noise or picks"):
        threshold_for(1, part.cost)
    with pytest.raises(GrantError, match="uses no δ"):
        part.cost.check_pure("permute-and-flip")
    quarters = part.split_rho(halves)
    assert quarters["a"].cost.rho + quarters["b"].cost.rho <= part.cost.rho


def test_disjoint_groups_get_all_of_rho() -> None:
    part = Grant("1", "1e-6").split_rho({"a": Decimal("0.5"), "b": Decimal("0.5")})["a"]
    groups = part.for_disjoint_users("xy").values()
    assert [grant.spend().rho for grant in groups] == [part.cost.rho] * 2
    assert part.is_spent


def test_rho_needs_delta() -> None:
    with pytest.raises(GrantError, match="needs δ"):
        Grant("1").split_rho({"a": Decimal(1)})


@given(amounts, shares())
def test_parts_sum_to_the_whole_exactly(epsilon: Decimal, given_shares: dict[str, Decimal]) -> None:
    whole = Grant(epsilon)
    parts = whole.split(given_shares)
    assert list(parts) == list(given_shares)
    assert sum(part.exact for part in parts.values()) == whole.exact
    for name, part in parts.items():
        assert abs(part.exact - whole.exact * Fraction(given_shares[name])) <= Fraction(len(parts), 10**18)


@given(st.text("0123456789", min_size=30, max_size=120))
def test_amounts_of_any_length_are_split_exactly(digits: str) -> None:
    epsilon = Decimal("1." + digits)
    parts = Grant(epsilon).split({"a": Decimal("0.3"), "b": Decimal("0.3"), "c": Decimal("0.4")})
    assert sum(part.exact for part in parts.values()) == Fraction(epsilon)


@pytest.mark.parametrize(
    "wrong",
    [{}, {"a": "0.5"}, {"a": "0.5", "b": "0.6"}, {"a": "1.5", "b": "-0.5"}, {"a": "1", "b": "0"}],
    ids=repr,
)
def test_shares_that_do_not_sum_to_one_are_refused(wrong: dict[str, str]) -> None:
    grant = Grant(1)
    with pytest.raises(GrantError, match="sum to 1"):
        grant.split({name: Decimal(share) for name, share in wrong.items()})
    assert grant.spend().epsilon == 1  # a refusal costs nothing


def test_a_part_too_small_to_spend_is_refused_and_costs_nothing() -> None:
    grant = Grant("1e-9")
    with pytest.raises(UsageError, match="positive number"):
        grant.split({"a": Decimal("1e-10"), "b": 1 - Decimal("1e-10")})
    assert not grant.is_spent
    parts = grant.split({"a": Decimal("0.5"), "b": Decimal("0.5")})
    assert parts["a"].spend().epsilon == Decimal("5e-10"), "a part may be smaller than what may be asked for"


def test_a_grant_is_spent_when_all_its_parts_are() -> None:
    whole = Grant("1")
    halves = whole.split({"a": Decimal("0.5"), "b": Decimal("0.5")})
    quarters = halves["b"].split({"c": Decimal("0.5"), "d": Decimal("0.5")})
    states = []
    for part in (halves["a"], quarters["c"], quarters["d"]):
        states.append(whole.is_spent)
        part.spend()
    assert [*states, whole.is_spent] == [False, False, False, True]
    assert halves["b"].is_spent
    assert "spent=True" in repr(whole)


@given(amounts, st.integers(1, 8))
def test_disjoint_groups_get_all_of_epsilon(epsilon: Decimal, groups: int) -> None:
    whole = Grant(epsilon)
    parts = list(whole.for_disjoint_users(map(str, range(groups))).values())
    assert [part.epsilon for part in parts] == [epsilon] * groups
    assert len({id(part) for part in parts}) == groups
    for part in parts:
        assert not whole.is_spent
        part.spend()
    assert whole.is_spent


def test_a_group_may_split_its_own_amount() -> None:
    whole = Grant("1")
    first, second = whole.for_disjoint_users("ab").values()
    halves = first.split({"a": Decimal("0.5"), "b": Decimal("0.5")})
    second.spend()
    halves["a"].spend()
    assert not whole.is_spent
    halves["b"].spend()
    assert whole.is_spent


def test_disjoint_groups_get_all_of_delta() -> None:
    whole = Grant("1", "1e-6")
    parts = whole.for_disjoint_users("ab").values()
    assert [part.spend() for part in parts] == [Cost(Decimal(1), Decimal("1e-6"))] * 2
    assert whole.is_spent


@given(
    shares(),
    st.one_of(
        st.decimals(min_value=Decimal("1e-12"), max_value=Decimal("0.9"), places=40).filter(bool),
        st.integers(1, 90).map(lambda n: Decimal(7).scaleb(-n)),
    ),
    st.data(),
)
def test_parts_of_delta_sum_to_the_whole_exactly(
    given_shares: dict[str, Decimal], delta: Decimal, data: Any
) -> None:
    some = data.draw(st.lists(st.sampled_from(list(given_shares)), min_size=1, unique=True))
    third = Decimal("0.33333333333333") if len(some) > 2 else Decimal("0.4")
    third = third if len(some) < 4 else Decimal("0.1")
    own = dict.fromkeys(some[:-1], third)
    own[some[-1]] = 1 - sum(own.values(), Decimal(0))
    whole = Grant(1, delta)
    parts = whole.split(given_shares, delta=own)
    assert sum(Fraction(part.delta) for part in parts.values()) == Fraction(delta)
    assert {name for name, part in parts.items() if part.delta} == set(some)
    for name in some:
        assert abs(Fraction(parts[name].delta) - Fraction(delta) * Fraction(own[name])) <= Fraction(delta) / 10**15


@pytest.mark.parametrize(
    ("delta", "own", "words"),
    [
        ("1e-6", None, "no shares of δ are given"),
        ("1e-6", {}, "no shares of δ are given"),
        (None, {"a": "1"}, "no δ that could be shared"),
        ("1e-6", {"a": "0.5"}, "shares of δ must be positive and sum to 1"),
        ("1e-6", {"a": "1.5", "b": "-0.5"}, "shares of δ must be positive and sum to 1"),
        ("1e-6", {"c": "1"}, "must name stages that run: a, b"),
    ],
)
def test_wrong_shares_of_delta_are_refused(delta: str | None, own: dict[str, str] | None, words: str) -> None:
    grant = Grant(1, delta)
    given_shares = None if own is None else {name: Decimal(share) for name, share in own.items()}
    with pytest.raises(GrantError, match=words):
        grant.split({"a": Decimal("0.5"), "b": Decimal("0.5")}, delta=given_shares)
    assert grant.spend().epsilon == 1  # a refusal costs nothing


@given(amounts)
def test_spent_once(epsilon: Decimal) -> None:
    for first in ("spend", "split", "groups"):
        for second in ("spend", "split", "groups"):
            grant = Grant(epsilon)
            _use(grant, first)
            with pytest.raises(GrantError, match="already spent"):
                _use(grant, second)


def _use(grant: Grant, how: str) -> None:
    if how == "spend":
        assert grant.spend() == Cost(grant.epsilon, Decimal(0))
    elif how == "groups":
        grant.for_disjoint_users("ab")
    else:
        grant.split({"all": Decimal(1)})


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, pickle.dumps], ids=lambda function: str(function.__name__)
)
def test_a_grant_cannot_be_copied(duplicate: Any) -> None:
    grant = Grant(1)
    with pytest.raises(GrantError, match="cannot be copied"):
        duplicate(grant)


@pytest.mark.parametrize("how", ["spend", "split", "groups"])
def test_of_racing_threads_exactly_one_wins(how: str) -> None:
    racers = 16
    with ThreadPoolExecutor(racers) as pool:
        for _ in range(20):
            grant, start = Grant(1), threading.Barrier(racers)

            def race(grant: Grant = grant, start: threading.Barrier = start) -> bool:
                start.wait()
                try:
                    _use(grant, how)
                except GrantError:
                    return False
                return True

            wins = [future.result() for future in [pool.submit(race) for _ in range(racers)]]
            assert sum(wins) == 1


@pytest.mark.parametrize("how", ["spend", "split", "groups"])
def test_a_fork_spends_nothing(how: str) -> None:
    grant = Grant(1)
    kind, words = in_a_fork(lambda: _use(grant, how))
    assert kind == "GrantError"
    assert "this is a fork of it" in words
    assert in_a_fork(lambda: _use(Grant(1), how)) is None, "its own grants are its own"
    _use(grant, how)


def test_grants_differ_by_identity() -> None:
    """Two grants of one amount are two grants: equality is identity."""
    assert Grant(1) != Grant(1)


@pytest.mark.parametrize("text", ["1_0", "٣", "１", "0x1", "1e1_0", "1,5", "inf", "nan", "1 0", "+-1", "", "."])
def test_amounts_are_plain_decimal_numbers(text: str) -> None:
    """Python reads some of these as numbers that their writer may not mean."""
    readers: tuple[Callable[[str], object], ...] = (
        amount,
        lambda number: probability(f"1e-{number}"),
        lambda number: read_range("stars", ["0", number]),
        lambda number: read_quantiles([number]),
        lambda number: Windows.parse(f"{number}d", time="time"),
    )
    for read in readers:
        with pytest.raises(UsageError):
            read(text)
