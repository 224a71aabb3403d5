"""People spread weight over items that nobody lists: alike on every engine, and never more than is declared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headcount as hc
from headcount.bounds import Bound
from headcount.bounds.keys.distinct_items_sign import DistinctItemsSign
from headcount.bounds.keys.key_weights import BoundedKeyWeights, KeyHints, KeyWeights
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from tests.reference.engine import ReferenceEngine

ITEMS = ["tea", "rye", "oat", "fig", ""]
HINTS = KeyHints(pa.array(["fig", "oat", "rye"]), np.array([0, 90, 300]), np.array([500, 1, 2]))
CEILINGS = ((1, 60_000), (2, 50_000), (4, 40_000))
BOUNDS: tuple[Bound[Any], ...] = (
    DistinctItemsSign(),
    KeyWeights("shares"),
    KeyWeights("shares", 2),
    KeyWeights("one"),
    KeyWeights("one", hints=HINTS),
    KeyWeights("roots", 4, CEILINGS),
    KeyWeights("roots", 2, CEILINGS),
    KeyWeights("roots", 3, CEILINGS, HINTS),
)

rows = st.lists(
    st.tuples(st.sampled_from(["ann", "bob", "cy", "di"]), st.sampled_from(ITEMS), st.sampled_from("AP?")),
    max_size=24,
)
secrets = st.binary(min_size=16, max_size=16)


def log_of(visits: list[tuple[str, str, str]], how: str) -> hc.EventLog:
    columns = {name: pa.array([row[at] for row in visits], pa.string()) for at, name in enumerate(("u", "i", "c"))}
    more: dict[str, Any] = {"context": "c", "contexts": "A,P", "context_of": "user"} if how == "own" else {}
    return hc.read_events(pa.table(columns), user="u", item="i", select_items=True, **more)


def shown(engine: Engine, log: hc.EventLog, bound: Bound[Any], secret: bytes) -> dict[Any, int]:
    measured = engine.measure(log, bound, secret)
    if isinstance(measured, BoundedKeyWeights):
        return dict(zip(measured.sensitive_ids.to_pylist(), measured.sensitive_weights.tolist(), strict=True))
    return {"variety": int(measured.sensitive_values[0])}


@pytest.mark.parametrize("how", ["plain", "own"])
@pytest.mark.parametrize("bound", BOUNDS, ids=str)
@settings(max_examples=15)
@given(visits=rows, secret=secrets)
def test_engines_agree_and_one_user_stays_within_the_sensitivity(
    bound: Bound[Any], how: str, visits: list[tuple[str, str, str]], secret: bytes
) -> None:
    whole = shown(LocalEngine(threads=1), log_of(visits, how), bound, secret)
    assert whole == shown(ReferenceEngine(), log_of(visits, how), bound, secret)
    for person in {who for who, _, _ in visits}:
        own = shown(
            LocalEngine(threads=1), log_of([row for row in visits if row[0] == person], how), bound, secret
        )
        rest = shown(
            LocalEngine(threads=1), log_of([row for row in visits if row[0] != person], how), bound, secret
        )
        together = {item: own.get(item, 0) + rest.get(item, 0) for item in own | rest}
        assert isinstance(bound, DistinctItemsSign) or together == whole, "what others add changed"
        _check_sensitivity(bound, own)


def _check_sensitivity(bound: Bound[Any], own: dict[Any, int]) -> None:
    if not isinstance(bound, KeyWeights):
        assert abs(own["variety"]) <= 64
    elif bound.rule == "roots":
        assert sum(weight**2 for weight in own.values()) <= 2**32
        assert len(own) <= bound.most
        assert all(weight <= dict(CEILINGS)[1] for weight in own.values())
    else:
        assert sum(own.values()) <= {"shares": 4096, "one": 1}[bound.rule]


def test_the_same_items_of_a_user_count_in_every_round() -> None:
    """Whoever has more items than count keeps the same ones, whatever the hints say; else T would be of others."""
    log = log_of([("ann", f"item {n}", "A") for n in range(40)], "plain")
    first = LocalEngine().measure(log, KeyWeights("roots", 8, ((8, 40_000),)), bytes(16))
    factors = np.arange(1, 9)
    again = KeyWeights("roots", 8, ((8, 40_000),), KeyHints(first.sensitive_ids, factors))
    second = LocalEngine().measure(log, again, bytes(16))
    assert second.sensitive_ids == first.sensitive_ids
    assert np.argsort(second.sensitive_weights).tolist() == list(range(8)), "more for what the hints speak for"


def test_users_beyond_the_maximum_items_are_sampled_by_secret() -> None:
    log = log_of([("ann", f"item {n}", "A") for n in range(40)], "plain")
    kept = {tuple(shown(LocalEngine(), log, KeyWeights("roots", 8, ((8, 9),)), bytes([n] * 16))) for n in range(9)}
    assert len(kept) > 5


def test_weights_tell_nothing_of_themselves() -> None:
    weights = KeyWeights("shares").seal(pa.array(["tea"]), np.array([3]), [True])
    assert (repr(weights), repr(HINTS)) == ("<BoundedKeyWeights by shares>", "<KeyHints>")
    assert not hasattr(weights, "__len__")
    with pytest.raises(TypeError, match="bounds alone"):
        BoundedKeyWeights(pa.array(["tea"]), np.array([3]), KeyWeights("shares"), object())


@pytest.mark.parametrize(
    "wrong", [{"most": 513, "ceilings": ((513, 1),)}, {"most": 4, "ceilings": ((2, 1),)}, {"most": 4}]
)
def test_roots_need_ceilings_for_all(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="at most 512"):
        KeyWeights("roots", **wrong)
    with pytest.raises(UsageError, match="too large"):
        KeyWeights("roots", 4, CEILINGS, KeyHints(pa.array(["tea"]), np.array([5_000])))
