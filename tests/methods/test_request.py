"""Requests: exact amounts, a JSON round trip, and one clear sentence for what is wrong."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.accounting.guarantee import Standing
from headcount.errors import UsageError
from headcount.methods.counts.request import ReleaseRequest
from headcount.methods.request import request_of


@pytest.mark.parametrize(
    ("given", "echoed"),
    [
        ("1", "1"),
        (1, "1"),
        (0.1, "0.1"),
        (Decimal("1.50"), "1.50"),
        ("1e-3", "0.001"),
        (1e3, "1000"),
        ("1e3", "1000"),
    ],
)
def test_epsilon_is_exact_and_echoed(given: Any, echoed: str) -> None:
    request = request_of(ReleaseRequest, epsilon=given, method="sra", limit=1)
    assert request.epsilon == Decimal(echoed)
    assert str(request.guarantee().epsilon) == echoed
    assert request.model_dump(mode="json")["epsilon"] == echoed


@given(
    st.decimals("0.000001", "1000", allow_nan=False, places=6),
    st.integers(1, 10**6),
    st.sampled_from([None, "items", "edges", "both"]),
    st.sampled_from([None, {"items": "0.25", "edges": "0.75"}]),
)
def test_a_request_survives_json(epsilon: Decimal, limit: int, what: Any, shares: Any) -> None:
    request = request_of(
        ReleaseRequest, epsilon=epsilon, method="hpa", limit=limit, what=what, shares=shares, options={"d": 2}
    )
    assert ReleaseRequest.model_validate_json(request.model_dump_json()) == request
    short = request.model_dump(mode="json", exclude_defaults=True)
    assert ReleaseRequest(**short) == request


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"epsilon": 0}, "epsilon must be a positive number"),
        ({"epsilon": float("nan")}, "epsilon must be a positive number"),
        ({"epsilon": None}, "epsilon must be a positive number"),
        ({"epsilon": True}, "epsilon must be a positive number"),
        ({"limit": 0}, "limit must be a whole number of at least 1, not 0"),
        ({"limit": 1.5}, "limit must be a whole number of at least 1, not 1.5"),
        ({"limit": "10"}, "limit must be a whole number of at least 1, not '10'"),
        ({"limit": True}, "limit must be a whole number of at least 1, not True"),
        ({"what": "all"}, "what: .*'items', 'edges', 'both' or 'totals'"),
        ({"method": 3}, "method: "),
        ({"shares": "items"}, "shares must name each stage"),
        ({"shares": {"items": "x"}}, "the share of items must be a positive number, not 'x'"),
        ({"shares": {"items": -1}}, "the share of items must be a positive number, not -1"),
        ({"options": {"limit": 3}}, "limit is no option of a method"),
        ({"options": {"shares": 3}}, "shares is no option of a method"),
        ({"budget": 3}, "budget: "),
        ({"epsilon": {}}, "epsilon must be a positive number"),
    ],
)
def test_invalid_fields_are_refused_in_one_sentence(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        request_of(ReleaseRequest, **{"epsilon": "1", "method": "sra", "limit": 2, **fields})
    assert "\n" not in str(caught.value)


def test_a_limit_may_come_from_numpy() -> None:
    assert request_of(ReleaseRequest, epsilon=1, method="sra", limit=np.int64(7)).limit == 7


def test_research_must_be_declared() -> None:
    with pytest.raises(UsageError, match="add --research"):
        request_of(ReleaseRequest, epsilon=1, method="hpa-published", limit=1).build()
    declared = request_of(ReleaseRequest, epsilon=1, method="hpa-published", limit=1, research=True)
    assert declared.guarantee().standing is Standing.CLAIMED


def test_every_call_gives_a_fresh_grant() -> None:
    request = request_of(ReleaseRequest, epsilon=1, method="sra", limit=1)
    request.grant().spend()
    assert not request.grant().is_spent


def test_a_request_is_frozen() -> None:
    request = request_of(ReleaseRequest, epsilon=1, method="sra", limit=1)
    with pytest.raises(ValueError, match="frozen"):
        request.epsilon = Decimal(2)
