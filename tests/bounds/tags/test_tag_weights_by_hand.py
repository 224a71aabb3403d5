"""Weights of tags by the local engine are those of plain Python, whatever was tagged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.bounds import FIXED_POINT, NO_SECRET, Norm
from headcount.bounds.tags.tag_weights import Taggers, TagMarginals, TagPairs, TagWeights
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.events.tag_log import TagLog, read_tags
from tests.reference.engine import ReferenceEngine

RESOURCES = [f"r{place}" for place in range(6)]
WORDS = [f"t{place}" for place in range(5)]

Row = tuple[str | None, str | None, str | None]

rows = st.lists(
    st.tuples(
        st.sampled_from(("ann", "ann", "ann", "bob", "", "Zoë", None)),
        st.sampled_from((*RESOURCES, "unlisted", None)),
        st.sampled_from((*WORDS, "unlisted", None)),
    ),
    max_size=60,
)
resources = st.lists(st.integers(0, 5), unique=True, max_size=6)
words = st.lists(st.integers(0, 4), unique=True, max_size=5)


def log_of(rows: Sequence[Row], *, chunk: int | None = None, **more: Any) -> TagLog:
    names = ("user", "resource", "tag")
    table = pa.table({name: pa.array([row[at] for row in rows], pa.string()) for at, name in enumerate(names)})
    if chunk is not None:
        table = pa.Table.from_batches(table.to_batches(max_chunksize=chunk), table.schema)
    lists: dict[str, Any] = {"resources": RESOURCES, "vocabulary": WORDS}
    return read_tags(table, user="user", resource="resource", tag="tag", **lists | more)


Weights = list[list[int]]


def weights(engine: Engine, log: TagLog, some: Sequence[int], others: Sequence[int], norm: Norm) -> Weights:
    chosen = np.array(some, dtype=np.int64), np.array(others, dtype=np.int64)
    bounds = (Taggers(), TagWeights(norm), TagMarginals(norm), TagPairs(*chosen, norm))
    measured = [engine.measure(log, bound, NO_SECRET).sensitive_values for bound in bounds]
    assert all(sums.dtype == np.int64 for sums in measured)
    return [sums.tolist() for sums in measured]


def local(log: TagLog, some: Sequence[int], others: Sequence[int], norm: Norm) -> Weights:
    return weights(LocalEngine(threads=1), log, some, others, norm)


def plain(log: TagLog, some: Sequence[int], others: Sequence[int], norm: Norm) -> Weights:
    return weights(ReferenceEngine(), log, some, others, norm)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@given(rows=rows, some=resources, others=words, how=st.sampled_from(({}, {"where": "tag != t1"})))
def test_weights_are_those_of_plain_python(
    norm: Norm, rows: list[Row], some: list[int], others: list[int], how: dict[str, Any]
) -> None:
    slow = plain(log_of(rows, **how), some, others, norm)
    assert local(log_of(rows, **how), some, others, norm) == slow
    assert local(log_of(rows[::-1], chunk=3, **how), some, others, norm) == slow


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_one_who_tags_a_great_deal(norm: Norm) -> None:
    """More pairs than weights can be told apart in L1: their weights are rounded down to nothing."""
    places, many = [f"p{n:03}" for n in range(300)], [f"w{n:03}" for n in range(300)]
    rows: Sequence[Row] = [("ann", place, word) for place in places for word in many] + [
        ("bob", "p000", "w001")
    ] * 3
    log = log_of(rows, resources=places, vocabulary=many)
    some, others = list(range(0, 300, 2)), list(range(0, 300, 3))
    slow = plain(log, some, others, norm)
    assert local(log, some, others, norm) == slow
    assert slow[0] == [2]
    whole = plain(log, range(300), range(300), norm)[3]
    assert whole[2] == {"l1": 0, "l2": math.isqrt(FIXED_POINT**2 // 90_000)}[norm]
    assert local(log, range(300), range(300), norm)[3] == whole


def test_an_empty_log_has_zero_weights() -> None:
    assert plain(log_of([]), [0], [1, 2], "l2") == local(log_of([]), [0], [1, 2], "l2")
    assert plain(log_of([]), [], [], "l1") == local(log_of([]), [], [], "l1")
