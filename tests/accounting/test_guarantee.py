"""The promise: what it says, and that it survives being written down."""

from __future__ import annotations

import dataclasses
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.accounting.guarantee import UNIT, Guarantee, Standing, format_delta

amounts = st.decimals(min_value=Decimal("1e-9"), max_value=Decimal(10**6), places=9).filter(bool)

guarantees = st.builds(
    Guarantee,
    epsilon=amounts,
    delta=st.sampled_from([Decimal(0), Decimal("1e-6"), Decimal("0.01")]),
    standing=st.sampled_from(list(Standing)),
    assumes=st.lists(st.text(max_size=20), max_size=3).map(tuple),
    reason=st.none() | st.text(max_size=20),
)


@given(guarantees)
def test_a_guarantee_round_trips_through_json(guarantee: Guarantee) -> None:
    assert Guarantee.from_json(json.loads(json.dumps(guarantee.to_json()))) == guarantee


@given(guarantees)
def test_every_guarantee_says_its_amount_and_its_standing(guarantee: Guarantee) -> None:
    for sentence in (guarantee.sentence(), guarantee.short()):
        assert str(guarantee.epsilon) in sentence
        assert ("claimed" in sentence) is (guarantee.standing is Standing.CLAIMED)
    if guarantee.standing is Standing.CLAIMED:
        assert "not private" in guarantee.sentence()
        assert "differential privacy" not in guarantee.sentence()
    elif guarantee.delta:
        assert f"δ = {format_delta(guarantee.delta)}" in guarantee.sentence()
        assert "pure" not in guarantee.sentence()
    else:
        assert "pure" in guarantee.sentence()


@pytest.mark.parametrize(
    ("epsilon", "factor"), [("1", "2.72"), ("0.1", "1.11"), ("10", "2.2e+04"), ("0.000001", "1")]
)
def test_the_factor_is_e_to_the_epsilon(epsilon: str, factor: str) -> None:
    assert f"≈ {factor} (" in Guarantee(epsilon=Decimal(epsilon)).sentence()


def test_defaults_are_the_strict_ones() -> None:
    guarantee = Guarantee(epsilon=Decimal(1))
    assert guarantee.standing is Standing.PROVEN
    assert guarantee.unit == UNIT == "add-or-remove-user"
    assert guarantee.delta == 0
    frozen: Any = guarantee
    with pytest.raises(dataclasses.FrozenInstanceError):
        frozen.epsilon = Decimal("0.1")


@pytest.mark.parametrize("missing", ["unit", "standing", "epsilon", "delta", "assumes", "reason"])
def test_a_guarantee_with_a_part_missing_is_not_read(missing: str) -> None:
    data = Guarantee(epsilon=Decimal(1)).to_json()
    del data[missing]
    with pytest.raises(KeyError):
        Guarantee.from_json(data)
    with pytest.raises(ValueError, match="trusted"):
        Guarantee.from_json({**Guarantee(epsilon=Decimal(1)).to_json(), "standing": "trusted"})
